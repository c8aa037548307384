"""Names on the command line: what a graph calls a thing, wherever a command takes a label, and `gumption kg map`."""

import json
import random
import re
from pathlib import Path

import pytest

from gumption.envs.wordcraft import facts, recipe_facts
from gumption.kg import ComplEx, KnowledgeGraph
from gumption.kg.vocabulary import RDFS_LABEL

E = "http://example.org/"
TURTLE = """
@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:e1 rdfs:label "steam"@en , "Dampf"@de ; ex:isMadeFrom ex:e2 , ex:e3 .
ex:e2 rdfs:label "fire" . ex:e3 rdfs:label "water" . ex:e4 rdfs:label "water" .
ex:e1 a <https://schema.org/Thing> .
"""
QUERY = "SELECT ?what { ?thing ?how ?what }"


@pytest.fixture
def turtle(gumption) -> str:
    Path("my.ttl").write_text(TURTLE)
    return "my.ttl"


def test_names_are_bound_in_a_query(gumption, turtle: str) -> None:
    for thing, how in (("steam", "isMadeFrom"), ("Dampf", E + "isMadeFrom"), (E + "e1", "isMadeFrom")):
        rows = json.loads(
            gumption.ok("query", turtle, QUERY, "--bind", f"thing={thing}", "--bind", f"how={how}", "--json")
        )
        assert [row["what"] for row in rows] == [E + "e2", E + "e3"]
    assert "schema:Thing" in gumption.ok("query", turtle, QUERY, "--bind", "thing=steam", "--bind", "how=rdf:type")
    literal = gumption.ok("query", turtle, "ASK { ?x ?y ?word }", "--bind", 'word="nowhere"')
    assert literal.strip() == "no"


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("thing=steem", "--bind thing: unknown entity 'steem': did you mean 'steam'"),
        ("how=isMadeform", "--bind how: unknown relation 'isMadeform': did you mean 'isMadeFrom'"),
        ("thing=water", "--bind thing: 'water' names 2 entities, http://example.org/e3, http://example.org/e4: give"),
        ("place=nowhere", "unknown variable 'place'"),
    ],
)
def test_an_unknown_name_in_a_query_is_told(gumption, turtle: str, bound: str, told: str) -> None:
    """Once the answer was empty."""
    assert told in gumption.refused("query", turtle, QUERY, "--bind", bound)


def test_an_unknown_graph_in_a_query_is_told(gumption, turtle: str) -> None:
    told = gumption.refused("query", turtle, "ASK { GRAPH ?g { ?s ?r ?o } }", "--bind", "g=defaults")
    assert "unknown graph 'defaults': did you mean 'default'" in told


def test_queries_declare_prefixes(gumption, turtle: str) -> None:
    query = "SELECT ?x { ?x a schema:Thing FILTER NOT EXISTS { ?x owl:sameAs|skos:prefLabel ?y FILTER(?y = xsd:int) } }"
    assert json.loads(gumption.ok("query", turtle, query, "--json")) == [{"x": E + "e1"}]


def test_things_are_named_wherever_a_command_takes_them(gumption, turtle: str) -> None:
    assert "drawn to steam.svg" in gumption.ok("draw", turtle, "--around", "steam", "--out", "steam.svg")
    assert "schema:Thing" in Path("steam.svg").read_text()
    steps = json.loads(gumption.ok("path", turtle, "--from", "fire", "--to", "ex:e3".replace("ex:", E), "--json"))[
        "steps"
    ]
    assert [fact[1] for [fact] in steps] == [E + "isMadeFrom"] * 2
    assert "did you mean 'steam'" in gumption.refused("draw", turtle, "--around", "steem", "--out", "no.svg")
    assert "rdf:type" in gumption.ok("stats", turtle)
    gumption.ok("remove", turtle, "--subject", "Dampf", "--relation", "isMadeFrom")
    left = KnowledgeGraph.load(turtle)
    assert not list(left.triples(relation=E + "isMadeFrom"))
    assert list(left.triples(relation=RDFS_LABEL))


def test_a_predictor_is_asked_by_local_names(gumption) -> None:
    made = [(E + s, E + "isMadeFrom", E + o) for s, o in (("steam", "fire"), ("steam", "water"), ("ice", "water"))]
    ComplEx.fit(made, rank=2, epochs=1, device="cpu").save("model")
    rows = json.loads(
        gumption.ok("predict", "model", "--subject", "steam", "--relation", "isMadeFrom", "-k", "2", "--json")
    )
    assert len(rows) == 2
    assert "did you mean 'isMadeFrom'" in gumption.refused(
        "predict", "model", "--subject", "ice", "--relation", "madeFrom"
    )


def labelled(triples: list[tuple[str, str, str]], place: str) -> dict[str, str]:
    """Write facts under IRIs of one's own, with rdfs:label; entity -> IRI."""
    labels = sorted({part for s, _, o in triples for part in (s, o)})
    random.Random(0).shuffle(labels)
    iri = {label: f"{E}n{number}" for number, label in enumerate(labels)}
    kinds = {relation: f"{E}r{number}" for number, relation in enumerate(sorted({r for _, r, _ in triples}))}
    graph = KnowledgeGraph()
    graph.add((iri[o], kinds[r], iri[s]) for s, r, o in triples)
    graph.add((iri[label], RDFS_LABEL, f'"{label}"@en') for label in labels if "+" not in label)
    graph.save(place)
    return iri


def test_labels_are_linked(gumption) -> None:
    """Once 0 of 832 entities of a world had a partner among IRIs with these labels."""
    iri = labelled(list(facts(partition="all")), "theirs.ttl")
    gumption.ok("link", "wordcraft", "theirs.ttl", "--methods", "exact", "--out", "links.nq")
    shown = json.loads(gumption.ok("link", "wordcraft", "theirs.ttl", "--methods", "exact", "--json"))
    assert shown["coverage"]["exact"] == shown["targets"] == len(iri) == 832
    assert {each["label"]: each["target"] for each in shown["links"]} == iri
    assert len(KnowledgeGraph.load("links.nq").arrays("links/wordcraft/theirs")[1]) == 832


def test_a_map_of_a_graph_is_printed_and_written(gumption) -> None:
    labelled([*facts(partition="train"), *recipe_facts(partition="train")], "theirs.ttl")
    told = gumption.ok("map", "theirs.ttl", "wordcraft", "--out", "map.toml")
    assert re.search(r"componentOf +│ \^http://example.org/r1 +│ 3896 +│ 100% +│ 3896 ", told)
    assert "4 of 4 relations mapped; 831 of 832 entities are known" in told
    assert "choices can be ranked by combinesWith, componentOf, makes" in told
    stated = json.loads(gumption.ok("leaks", "theirs.ttl", "--world", "wordcraft", "--kg-map", "map.toml", "--json"))
    assert stated["train"]["stated"] == stated["train"]["of"]
    assert stated["test"]["stated"] == 0
    gumption.ok("remove", "theirs.ttl", "--object", "steam")
    told = gumption.refused("leaks", "theirs.ttl", "--world", "wordcraft", "--kg-map", "map.toml")
    assert "is for a graph with the hash" in told


def test_what_a_world_and_a_graph_do_not_share_is_told(gumption, turtle: str) -> None:
    told = gumption.ok("map", turtle, "wordcraft")
    assert "0 of 4 relations mapped; 2 of 832 entities are known" in told
    assert "choices can be ranked by nothing" in told
    assert "left out, for it names 2 entities of the graph: water" in told
    assert "has no 'nothing'" in gumption.refused("map", turtle, "wordcraft", "--setting", "nothing=1")
