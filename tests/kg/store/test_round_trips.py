"""Random RDF, saved in each format and read again: the same up to the names of blank nodes, or refused by name."""

import re
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from rdflib.compare import to_isomorphic

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from tests.kg.store.drawn_rdf import OWN, Term, X, dataset, isomorphic, oracle, randoms

#: Each format that is written, with one compression.
ENDINGS = ["nq.xz", "trig.bz2", "nt.gz", "ttl", "rdf.gz", "jsonld.xz", "tsv.bz2", "csv.gz"]
WITHOUT_TRIPLE_TERMS = ("jsonld", "tsv", "csv")
WITHOUT_NAMES = ("nt", "ttl", "rdf")
EVERYTHING = "SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }"


def rows(graph: KnowledgeGraph) -> list[list[Term]]:
    return [[row[name] for name in "spog"] for row in graph.query(EVERYTHING, terms=True)]


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=25, derandomize=True)
@given(random=randoms)
def test_what_is_saved_is_read_again(tmp_path_factory, ending, random):
    kind, folder = ending.partition(".")[0], tmp_path_factory.getbasetemp()
    quads = dataset(random)
    if kind in WITHOUT_TRIPLE_TERMS:
        quads = [quad for quad in quads if not isinstance(quad.object, ox.Triple)]
    ox.serialize(quads, str(folder / "drawn.nq"), ox.RdfFormat.N_QUADS)
    graph = KnowledgeGraph.load(folder / "drawn.nq")
    graph.save(folder / f"again.{ending}")
    again = KnowledgeGraph.load(folder / f"again.{ending}")
    # What a store keeps of each term: the value of a number, not its text.
    kept = [list(quad) for quad in oracle(quads)]
    if kind in WITHOUT_NAMES:
        assert again.graphs() == ({"default": len(graph)} if quads else {})
        expected = [[*fact[:3], ox.NamedNode(OWN)] for fact in kept if isinstance(fact[3], ox.DefaultGraph)]
    else:
        expected = [fact for fact in kept if not isinstance(fact[3], ox.DefaultGraph)]
    assert isomorphic(rows(graph), [fact for fact in kept if not isinstance(fact[3], ox.DefaultGraph)])
    assert isomorphic(rows(again), expected)
    if kind not in WITHOUT_NAMES:
        assert again.content_hash() == graph.content_hash()


def refused(folder: Path, fact: str, ending: str, message: str) -> None:
    (folder / "in.nt").write_text(f"<{X}b> <{X}p> <{X}a> .\n{fact} .\n")
    graph = KnowledgeGraph.load(folder / "in.nt")
    with pytest.raises(InputError, match=message):
        graph.save(folder / f"out.{ending}")
    assert {path.name for path in folder.iterdir()} == {"in.nt"}


@pytest.mark.parametrize("ending", ["jsonld", "csv", "tsv", "txt.gz"])
def test_a_format_without_triple_terms_refuses_them(tmp_path, ending):
    fact = f"<{X}says> <{X}that> <<( <{X}a> <{X}p> <{X}b> )>>"
    refused(tmp_path, fact, ending, rf"out\.{re.escape(ending)}: .*triple term.*{X}a")


@pytest.mark.parametrize("relation", [f"{X}1", f"{X}a/", f"{X}p#", "urn:gumption:relation:7"])
def test_rdf_xml_refuses_a_relation_that_is_no_xml_name(tmp_path, relation):
    label = "7" if relation.startswith("urn:gumption") else relation
    refused(tmp_path, f"<{X}a> <{relation}> <{X}b>", "rdf", rf"out\.rdf: .*{label}")


@pytest.mark.parametrize("sign", ["\\u0001", "\\uFFFE"])
def test_rdf_xml_refuses_signs_that_xml_cannot_hold(tmp_path, sign):
    refused(tmp_path, f'<{X}a> <{X}p> "a{sign}"', "rdf", r"out\.rdf: .*http://x.org/p")


BRICK = """
@prefix brick: <https://brickschema.org/schema/Brick#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix site: <http://site.example/one#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

site:ahu a brick:Air_Handler_Unit ; rdfs:label "air handler"@en ; brick:feeds site:vav1 , site:vav2 ;
    brick:hasPoint site:supply .
site:vav1 a brick:Variable_Air_Volume_Box ; brick:feeds site:north ; brick:hasPoint [
        a brick:Zone_Air_Temperature_Sensor ; brick:hasUnit unit:DEG_C ;
        brick:lastKnownValue [ brick:value 21.5 ; brick:timestamp "2026-01-05T08:00:00+01:00" ] ] .
site:vav2 a brick:Variable_Air_Volume_Box ; brick:feeds site:south .
site:north a brick:HVAC_Zone ; brick:hasPart site:room1 , site:room2 .
site:south a brick:HVAC_Zone ; brick:hasPart site:room3 .
site:room1 a brick:Room ; brick:isPartOf site:floor ; brick:area [ brick:value 18 ; brick:hasUnit unit:M2 ] .
site:supply a brick:Supply_Air_Temperature_Sensor ; brick:hasUnit unit:DEG_C .
"""
SCHEMA_TURTLE = """
@prefix schema: <https://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@base <http://kitchen.example/> .

<soup> a schema:Recipe ; schema:name "Pea soup"@en , "Erbsensuppe"@de ; schema:recipeYield "4 bowls" ;
    schema:prepTime "PT15M"^^xsd:duration ; schema:datePublished "2025-11-02"^^xsd:date ;
    schema:author [ a schema:Person ; schema:name "Ada" ] ;
    schema:recipeIngredient "peas" , "water" , "salt" ;
    schema:recipeInstructions ( [ a schema:HowToStep ; schema:text "Boil the peas." ]
        [ a schema:HowToStep ; schema:text "Say \\"when\\", then <stir> & serve." ] ) ;
    schema:nutrition [ a schema:NutritionInformation ; schema:calories "210 calories" ] .
"""
SCHEMA_JSON = """{
  "@context": {"@vocab": "https://schema.org/", "step": {"@id": "recipeInstructions", "@container": "@list"}},
  "@id": "http://kitchen.example/soup",
  "@type": "Recipe",
  "name": [{"@value": "Pea soup", "@language": "en"}, {"@value": "Erbsensuppe", "@language": "de"}],
  "author": {"@type": "Person", "name": "Ada"},
  "recipeIngredient": ["peas", "water", "salt"],
  "step": [{"@type": "HowToStep", "text": "Boil the peas."}, {"@type": "HowToStep", "text": "Stir."}],
  "aggregateRating": {"@type": "AggregateRating", "ratingValue": 4.5, "reviewCount": 12}
}"""
OWL = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:g="http://garden.example/#"
    xml:base="http://garden.example/">
  <owl:Ontology rdf:about=""/>
  <owl:ObjectProperty rdf:about="#eats"><owl:inverseOf rdf:resource="#eatenBy"/></owl:ObjectProperty>
  <owl:Class rdf:about="#Plant"><rdfs:label xml:lang="en">plant</rdfs:label></owl:Class>
  <owl:Class rdf:about="#Snail">
    <rdfs:subClassOf>
      <owl:Restriction>
        <owl:onProperty rdf:resource="#eats"/>
        <owl:someValuesFrom rdf:resource="#Plant"/>
      </owl:Restriction>
    </rdfs:subClassOf>
    <owl:equivalentClass><owl:Class><owl:unionOf rdf:parseType="Collection">
      <rdf:Description rdf:about="#Land_Snail"/><rdf:Description rdf:about="#Pond_Snail"/>
    </owl:unionOf></owl:Class></owl:equivalentClass>
  </owl:Class>
  <g:Land_Snail rdf:about="#turbo"><g:legs rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">0</g:legs></g:Land_Snail>
</rdf:RDF>
"""
FOREIGN = {
    "brick.ttl": (
        BRICK,
        "PREFIX brick: <https://brickschema.org/schema/Brick#> SELECT (SUM(?v) AS ?n) { ?x brick:feeds+/brick:hasPart?/"
        "brick:area/brick:value ?v . ?x a brick:Air_Handler_Unit }",
        18,
    ),
    "soup.ttl": (
        SCHEMA_TURTLE,
        "PREFIX s: <https://schema.org/> SELECT (COUNT(?t) AS ?n) "
        "{ ?r s:recipeInstructions/rdf:rest*/rdf:first/s:text ?t }",
        2,
    ),
    "soup.jsonld": (
        SCHEMA_JSON,
        "PREFIX s: <https://schema.org/> SELECT (xsd:integer(?v * 2) AS ?n) { ?r s:aggregateRating/s:ratingValue ?v }",
        9,
    ),
    "garden.owl": (
        OWL,
        "PREFIX g: <http://garden.example/#> SELECT (COUNT(?c) AS ?n) "
        "{ { g:Snail rdfs:subClassOf/owl:someValuesFrom ?c } "
        "UNION { g:Snail owl:equivalentClass/owl:unionOf/rdf:rest*/rdf:first ?c } }",
        3,
    ),
}
FORMS = {"ttl": "turtle", "nt": "nt", "rdf": "xml", "jsonld": "json-ld", "trig": "trig", "nq": "nquads"}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # within rdflib
def test_a_file_of_other_people_answers_and_comes_back_from_each_format(name: str, tmp_path: Path) -> None:
    text, query, answer = FOREIGN[name]
    (tmp_path / name).write_text(text)
    graph = KnowledgeGraph.load(tmp_path / name)
    assert graph.query(query) == [{"n": answer}]
    theirs = rdflib.Graph().parse(
        data=text, format=FORMS.get(name.split(".")[1], "xml"), publicID=f"file://{tmp_path}/"
    )
    for ending, form in FORMS.items():
        graph.save(tmp_path / f"out.{ending}")
        again = rdflib.Dataset(default_union=True).parse(tmp_path / f"out.{ending}", format=form)
        ours = rdflib.Graph()
        ours += again.triples((None, None, None))
        assert to_isomorphic(ours) == to_isomorphic(theirs), ending
        assert KnowledgeGraph.load(tmp_path / f"out.{ending}").query(query) == [{"n": answer}], ending
