import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.vocabulary import ABOUT

LABEL = st.one_of(
    st.text(min_size=1),
    st.sampled_from(
        [
            "\ufefffire",
            "\\t",
            "\\\\n",
            "a\tb",
            "a\r\nb",
            'a,"b',
            "subject",
            "relation",
            "head",
            "s",
            "p",
            "o",
            "\x85",
            "<mailto:a@b.org>",
            "http://x.org/a",
        ]
    ),
    st.builds('"{}"@en'.format, st.sampled_from(["eau", "", "x y"])),
)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        LABEL.filter(lambda name: name not in {ABOUT}),
        st.lists(st.tuples(LABEL, LABEL, LABEL), min_size=1, max_size=3),
        max_size=3,
    ),
    st.sampled_from(["nq", "trig", "tsv", "csv", "ttl"]),
)
def test_any_labels_survive_a_file(tmp_path_factory, contents, suffix):
    graph = KnowledgeGraph()
    for name, facts in contents.items():
        graph.add(facts, graph=name)
    path = tmp_path_factory.getbasetemp() / f"round_trip.{suffix}"
    graph.save(path)
    again = KnowledgeGraph.load(path)
    assert list(again.triples()) == list(graph.triples())
    if suffix != "ttl":
        assert again.graphs() == graph.graphs()


def test_turtle_is_for_reading(tmp_path):
    graph = KnowledgeGraph()
    graph.add([("cloud", "componentOf", "acid rain")], graph="a")
    graph.save(tmp_path / "x.ttl")
    text = (tmp_path / "x.ttl").read_text()
    assert "ent:cloud gum:componentOf ent:acid" in text
    assert KnowledgeGraph.load(tmp_path / "x.ttl").graphs() == {"default": 1}


def test_tsv_is_three_or_four_columns(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_bytes("\ufefffire\tcomponentOf\tsteam\r\n\nfire\tcomponentOf\tash\tmore\n".encode())
    graph = KnowledgeGraph.load(path)
    assert list(graph.triples(graph="default")) == [("fire", "componentOf", "steam")]
    assert list(graph.triples(graph="more")) == [("fire", "componentOf", "ash")]
    graph.save(path)
    assert path.read_text() == "fire\tcomponentOf\tsteam\nfire\tcomponentOf\tash\tmore\n"


def test_a_blank_node_of_a_saved_graph_is_the_same_one(tmp_path):
    (tmp_path / "x.ttl").write_text("""
        @prefix x: <http://example.org/> .
        x:fire a x:Element ; x:part [ x:name "flame" ] . <tag:example.org,2026:ice> x:near x:fire .
    """)
    graph = KnowledgeGraph.load(tmp_path / "x.ttl")
    facts = list(graph.triples())
    assert re.fullmatch("_:b[0-9a-f]{18}-0", facts[1][0])
    assert facts[0][0] == "<tag:example.org,2026:ice>"
    for suffix in ("nq", "tsv", "trig", "ttl"):
        graph.save(tmp_path / f"again.{suffix}")
        assert list(KnowledgeGraph.load(tmp_path / f"again.{suffix}").triples()) == facts


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.tsv", b"a\tb\tc\na\tb\n", "x.tsv:2: expected subject, relation, object and perhaps a graph"),
        ("x.tsv", b"a\tb\tc\n\na\t\tc\n", "x.tsv:3: expected subject"),
        ("x.tsv", b"a\tb\tc\td\te\n", "x.tsv:1: expected subject"),
        ("x.tsv", b"a\tb\tc\n\xff\tb\tc\n", "x.tsv:2: the text is not UTF-8"),
        ("x.nq", b"<urn:a> <urn:b> <urn:c> .\n<urn:a> oops .\n", "x.nq:2: "),
        ("x.ttl", b"@prefix x: <urn:x:> .\nx:a x:b y:c .\n", "x.ttl:2: "),
        ("x.trig", b"<urn:g> {\n", "x.trig:"),
        (
            "x.xlsx",
            b"a,b,c\n",
            "a graph's file ends in .nq, .nt, .trig, .ttl, .jsonld, .rdf, .owl, .xml, .n3, .graphml, .gexf, .tsv, .txt "
            "or .csv, each also with .gz, .bz2 or .xz; this one ends in",
        ),
    ],
)
def test_a_bad_file_is_named_and_nothing_is_written(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add([("fire", "componentOf", "steam")])
    with pytest.raises(InputError, match=re.escape(message)):
        KnowledgeGraph.load(tmp_path / name, tmp_path / "kg")
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert list(graph.triples()) == [("fire", "componentOf", "steam")]


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none.nq: No such file"):
        KnowledgeGraph.load(tmp_path / "none.nq")
    with pytest.raises(InputError, match=r"a graph's file ends in .*; this one ends in ''"):
        KnowledgeGraph().save(tmp_path / "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*file/x.nq: (Not a directory|File exists)"):
        KnowledgeGraph().save(tmp_path / "file" / "x.nq")


def test_saving_replaces_the_file_at_once(tmp_path, monkeypatch):
    graph = KnowledgeGraph()
    graph.add([("fire", "componentOf", "steam")])
    graph.save(tmp_path / "x.nq")
    before = (tmp_path / "x.nq").read_bytes()
    graph.add([("fire", "componentOf", "ash")])

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(InputError, match=r"cannot write .*x.nq: No space left on device"):
        graph.save(tmp_path / "x.nq")
    assert (tmp_path / "x.nq").read_bytes() == before
    assert set(os.listdir(tmp_path)) == {"x.nq", ".x.nq.lock"}
