"""`gumption kg load`, `query` and `export` of other people's RDF."""

import json

import pyoxigraph as ox
import pytest

from gumption.kg.vocabulary import ENTITY, RDFS_LABEL

X = "http://x.org/"
SELECT = f"SELECT ?s ?o {{ ?s <{X}p> ?o }}"
CONSTRUCT = f"CONSTRUCT {{ ?o <{X}q> ?s }} WHERE {{ ?s <{X}p> ?o FILTER(!isLiteral(?o)) }}"
RESULTS = {
    "sparql-json": ox.QueryResultsFormat.JSON, "xml": ox.QueryResultsFormat.XML, "tsv": ox.QueryResultsFormat.TSV
}  # fmt: skip


@pytest.fixture
def facts(tmp_path) -> str:
    (tmp_path / "x.ttl").write_text(f'PREFIX : <{X}> :a :p 7 , "fire" , <urn:gumption:entity:fire> , "tea"@en , [] .')
    return "x.ttl"


@pytest.mark.parametrize("name", RESULTS)
def test_an_answer_in_a_standard_format(gumption, facts, name):
    text = gumption.ok("query", facts, SELECT, "--format", name)
    objects = [row["o"] for row in ox.parse_query_results(text.encode(), RESULTS[name])]
    expected = {ox.Literal(7), ox.Literal("fire"), ox.Literal("tea", language="en"), ox.NamedNode(ENTITY + "fire")}
    assert {term for term in objects if not isinstance(term, ox.BlankNode)} == expected
    assert len(objects) == len(expected) + 1
    if name != "tsv":  # which has no form for yes and no
        text = gumption.ok("query", facts, f"ASK {{ ?s <{X}p> 8 }}", "--format", name)
        assert bool(ox.parse_query_results(text.encode(), RESULTS[name])) is False


def test_an_answer_as_csv(gumption, facts):
    head, *rows = gumption.ok("query", facts, SELECT, "--format", "csv").splitlines()
    assert head == "s,o"
    texts = [row.removeprefix(f"{X}a,") for row in rows]
    assert sorted(text for text in texts if not text.startswith("_:")) == ["7", "fire", "tea", f"{ENTITY}fire"]
    assert len(texts) == 5


@pytest.mark.parametrize("name", ["ttl", "nt", "rdf", "jsonld"])
def test_facts_of_an_answer_in_a_standard_format(gumption, facts, name):
    text = gumption.ok("query", facts, CONSTRUCT, "--format", name)
    triples = [quad.triple for quad in ox.parse(text.encode(), ox.RdfFormat.from_extension(name))]
    assert {(triple.predicate.value, triple.object.value) for triple in triples} == {(f"{X}q", f"{X}a")}
    assert sorted(type(triple.subject).__name__ for triple in triples) == ["BlankNode", "NamedNode"]


@pytest.mark.parametrize(
    ("query", "name", "message"),
    [
        (SELECT, "ttl", "sparql-json, csv, tsv, xml"),
        (CONSTRUCT, "csv", "ttl, nt, rdf, jsonld"),
        (SELECT, "nope", "nope"),
    ],
)
def test_a_format_for_another_kind_of_answer_is_refused(gumption, facts, query, name, message):
    code, out, err = gumption("query", facts, query, "--format", name)
    assert (code, out) == (2, "")
    assert message in err


def test_relative_iris_and_a_remote_context(gumption, tmp_path):
    (tmp_path / "x.ttl").write_text(f"<{X}a> <{X}p> <b> .")
    gumption.ok("load", "kg.nq", "x.ttl", "--base", "http://base.org/")
    (tmp_path / "x.jsonld").write_text(f'{{"@context": "{X}c", "@id": "{X}a", "makes": "fire"}}')
    assert "--context" in gumption.refused("load", "kg.nq", "x.jsonld")
    (tmp_path / "c.jsonld").write_text(f'{{"@context": {{"makes": "{X}q"}}}}')
    gumption.ok("load", "kg.nq", "x.jsonld", "--context", "c.jsonld")
    text = gumption.ok("query", "kg.nq", "SELECT ?p ?o { ?s ?p ?o } ORDER BY ?p", "--format", "csv")
    assert text.splitlines() == ["p,o", f"{X}p,http://base.org/b", f"{X}q,fire"]


def test_a_base_for_a_file_that_is_queried_or_mapped(gumption, tmp_path):
    (tmp_path / "x.ttl").write_text("<water> <componentOf> <mud> .")
    rows = gumption.ok("query", "x.ttl", "SELECT ?o { ?s ?p ?o }", "--base", "http://base.org/", "--format", "csv")
    assert rows.splitlines() == ["o", "http://base.org/mud"]
    told = gumption.ok("map", "x.ttl", "wordcraft", "--base", "http://base.org/", "--json")
    assert json.loads(told)["relations"]["componentOf"]["called"] == "http://base.org/componentOf"
    gumption.ok("load", "folder", "x.ttl")
    for command in (("query", "folder", "ASK {}"), ("map", "folder", "wordcraft")):
        assert "a base is for files with relative IRIs" in gumption.refused(*command, "--base", "http://base.org/")
    assert "no absolute IRI" in gumption.refused("query", "x.ttl", "ASK {}", "--base", "here")


@pytest.mark.parametrize("ending", ["rdf", "jsonld"])
def test_an_export_with_and_without_labels(gumption, tmp_path, ending):
    (tmp_path / "x.tsv").write_text("acid rain\tmadeOf\tcloud\n")
    gumption.ok("export", "x.tsv", "--out", f"out.{ending}")
    assert gumption.ok("hash", f"out.{ending}") == gumption.ok("hash", "x.tsv")
    assert len(list(ox.parse(path=f"out.{ending}"))) == 1
    gumption.ok("export", "x.tsv", "--out", f"out.{ending}", "--labels")
    texts = {quad.object.value for quad in ox.parse(path=f"out.{ending}") if quad.predicate.value == RDFS_LABEL}
    assert texts >= {"acid rain", "madeOf", "cloud"}
