"""Random RDF, saved in each format and read again: the same up to the names of blank nodes, or refused by name."""

import re
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings

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
