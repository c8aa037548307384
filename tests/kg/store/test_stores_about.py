"""What is said about graphs, and the hash of what is in them."""

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

STEAM = [("fire", "componentOf", "steam"), ("water", "componentOf", "steam")]
SAID = {"attribution": "Ann", "license": "CC-BY-4.0", "source": "http://x.org/a", "weights": "none"}


def test_what_is_said_about_a_graph(graph):
    graph.add(STEAM, graph="a")
    assert graph.annotations("a") == {}
    graph.annotate("a", {"license": "MIT", "source": "http://x.org/a"})
    graph.annotate("a", SAID | {"license": 'CC-BY-4.0 "by"\n'})
    graph.annotate("a", {"license": "CC-BY-4.0"})
    graph.annotate("empty", {"title": "not yet"})
    graph.annotate("a", {})
    assert graph.annotations("a") == SAID
    assert graph.annotations("empty") == {"title": "not yet"}
    assert graph.graphs() == {"a": 2}
    assert len(graph) == 2
    assert list(graph.triples()) == STEAM
    assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": 2}]
    assert graph.query("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }") == [{"g": "a"}]


def test_what_cannot_be_said(graph):
    with pytest.raises(InputError, match=re.escape("'two words' cannot be said about a graph: a key is one word")):
        graph.annotate("a", {"two words": "x"})
    with pytest.raises(InputError, match=r"^about is .*; it is a dict of text to text"):
        graph.annotate("a", {"source": "x", "license": 3})
    with pytest.raises(InputError, match="license of the graph 'a' is '': it has to be text"):
        graph.annotate("a", {"source": "x", "license": ""})
    with pytest.raises(InputError, match="the graph 'urn:gumption:about' is reserved"):
        graph.add(STEAM, graph="urn:gumption:about")
    assert graph.annotations("a") == {}


@pytest.mark.parametrize("ending", ["nq", "trig", "ttl", "nt", "tsv", "txt.gz"])
def test_licences_travel_with_the_facts(tmp_path, ending):
    graph = KnowledgeGraph()
    graph.add(STEAM, graph="a")
    graph.add(STEAM, graph="b")
    graph.annotate("a", SAID)
    graph.annotate("b", {"quality": "low"})
    file = tmp_path / f"x.{ending}"
    graph.save(file)
    again = KnowledgeGraph()
    assert again.load_file(file, graph="into") == sum(again.graphs().values())
    assert again.annotations("a") == SAID
    assert again.annotations("b") == {"quality": "low"}
    assert list(again.triples()) == STEAM
    graph.save(file, "b")
    assert KnowledgeGraph.load(file).annotations("a") == {}
    # What two files say is both kept.
    graph.annotate("b", {"quality": "high"})
    graph.save(file)
    again.load_file(file)
    assert again.annotations("b") == {"quality": "high; low"}


def test_dublin_core_is_what_other_programs_read(tmp_path):
    graph = KnowledgeGraph()
    graph.add(STEAM, graph="a")
    graph.annotate("a", {"license": "CC0-1.0"})
    graph.save(tmp_path / "x.trig")
    text = (tmp_path / "x.trig").read_text()
    assert '<urn:gumption:graph:a> <http://purl.org/dc/terms/license> "CC0-1.0"' in text


def test_the_sidecar_of_a_table(tmp_path):
    graph = KnowledgeGraph()
    graph.add(STEAM, graph="a")
    graph.annotate("a", {"license": "CC0-1.0", "title": "two\n lines"})
    graph.save(tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv.license").read_text() == "a\tlicense\tCC0-1.0\na\ttitle\ttwo lines\n"
    # One that says what holds for older content does not stay beside new content.
    other = KnowledgeGraph()
    other.add(STEAM, graph="b")
    with pytest.raises(InputError, match=r"x.tsv.license is there and says what holds for an older x.tsv"):
        other.save(tmp_path / "x.tsv")
    assert KnowledgeGraph.load(tmp_path / "x.tsv").graphs() == {"a": 2}
    (tmp_path / "y.tsv").write_text("a\tb\tc\n")
    (tmp_path / "y.tsv.license").write_text("SPDX-FileCopyrightText: Ann\n\nSPDX-License-Identifier: MIT\n")
    assert KnowledgeGraph.load(tmp_path / "y.tsv").annotations("default") == {}


NUMBERS = [
    ("a", "is", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ("a", "is", '"5"'),
    ("a", "is", '"x\\ty\\n"@en'),
    ("a", "is", '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
    ("a", "is", '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'),
]


def test_the_hash_is_that_of_the_facts(graph, tmp_path):
    here = KnowledgeGraph()
    here.add([*STEAM, *NUMBERS], graph="one")
    graph.add(reversed(NUMBERS), graph="a")
    graph.add(STEAM[::-1], graph="b")
    graph.add(STEAM[:1], graph="c")
    assert graph.content_hash() == here.content_hash() == here.content_hash("one")
    assert graph.content_hash("b") != graph.content_hash()
    graph.annotate("a", {"license": "MIT"})
    assert graph.content_hash() == here.content_hash()
    for ending in ("nq", "nt", "ttl", "trig", "tsv"):
        graph.save(tmp_path / f"x.{ending}")
        (tmp_path / "x.tsv.license").unlink(missing_ok=True)
        assert KnowledgeGraph.load(tmp_path / f"x.{ending}").content_hash() == here.content_hash()
    graph.remove(NUMBERS[:1])
    assert graph.content_hash() != here.content_hash()
    with pytest.raises(InputError, match="unknown graph 'd'"):
        graph.content_hash("d")


def test_the_hash_is_the_one_that_is_documented():
    """Golden: sha256 over the number of facts and the sum of their hashes, each over its terms with tabs between."""
    graph = KnowledgeGraph()
    assert graph.content_hash() == hashlib.sha256(b"0 0").hexdigest()
    graph.add([*STEAM, NUMBERS[0]], graph="a")
    rows = [
        "<urn:gumption:entity:fire>\t<urn:gumption:relation:componentOf>\t<urn:gumption:entity:steam>",
        "<urn:gumption:entity:water>\t<urn:gumption:relation:componentOf>\t<urn:gumption:entity:steam>",
        "<urn:gumption:entity:a>\t<urn:gumption:relation:is>\t" + NUMBERS[0][2],
    ]
    total = sum(int(hashlib.sha256(row.encode()).hexdigest(), 16) for row in rows) % 2**256
    assert graph.content_hash() == hashlib.sha256(f"3 {total}".encode()).hexdigest()


LABEL = st.text(min_size=1, max_size=5)
FACTS = st.lists(st.tuples(LABEL, LABEL, LABEL), max_size=6)


@settings(max_examples=60, deadline=None)
@given(FACTS, FACTS, st.randoms())
def test_equal_hashes_mean_equal_facts(one, other, random):
    hashes = []
    for facts in (one, other, random.sample(one, len(one))):
        graph = KnowledgeGraph()
        for fact in facts:
            graph.add([fact], graph=fact[0])
        hashes.append(graph.content_hash())
    assert hashes[0] == hashes[2]
    assert (hashes[0] == hashes[1]) == (set(one) == set(other))
