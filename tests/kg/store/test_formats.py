"""RDF/XML, N3 and JSON-LD, and compressed files."""

import bz2
import gzip
import lzma
import re

import pytest

from gumption.data import InputError, Note
from gumption.kg import KnowledgeGraph
from gumption.kg.store import files
from gumption.kg.store.shapes import validate

X, XSD = "http://example.org/", "http://www.w3.org/2001/XMLSchema#"
FACTS = [
    (f"{X}fire", f"{X}heat", f'"900"^^<{XSD}integer>'),
    (f"{X}fire", f"{X}makes", f"{X}steam"),
    (f"{X}fire", f"{X}note", '"warm"@en'),
]
HEAD = f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="{X}">\n'
FIRE = f'<rdf:Description rdf:about="{X}fire">\n'
XML = (
    f'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [<!ENTITY at "{X}">]>\n{HEAD}{FIRE}<x:makes rdf:resource="&at;steam"/>\n'
    f'<x:heat rdf:datatype="{XSD}integer">900</x:heat><x:note xml:lang="en">warm</x:note>\n'
    "</rdf:Description></rdf:RDF>\n"
)
N3 = f'@prefix x: <{X}> .\nx:fire x:makes x:steam ; x:heat 900 .\nx:fire x:note "warm"@en .\n'
JSON = f"""{{"@context": {{"@vocab": "{X}", "makes": {{"@type": "@id"}}}},
 "@id": "{X}fire", "makes": "{X}steam", "heat": 900, "note": {{"@value": "warm", "@language": "en"}}}}
"""
TEXTS = {"rdf": XML, "owl": XML, "xml": XML, "n3": N3, "jsonld": JSON}
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("packed", ["", *PACKED])
@pytest.mark.parametrize("ending", TEXTS)
def test_known_content(tmp_path, ending, packed):
    file = tmp_path / f"x.{ending}{packed}"
    content = TEXTS[ending].encode()
    file.write_bytes(PACKED[packed](content) if packed else content)
    graph = KnowledgeGraph.load(file, graph="mine")
    assert list(graph.triples(graph="mine")) == FACTS
    assert graph.load_file(file, graph="mine") == 0


def test_blank_nodes_of_all_formats_are_the_same_each_time(tmp_path):
    texts = {
        "n3": f"@prefix x: <{X}> . x:a x:p [ x:q x:b ] , (x:c x:d) .",
        "rdf": f'{HEAD}{FIRE}<x:p><rdf:Description><x:q rdf:resource="{X}b"/></rdf:Description></x:p>'
        "</rdf:Description></rdf:RDF>",
        "jsonld": f'{{"@id": "{X}a", "{X}p": [{{"{X}q": {{"@id": "{X}b"}}}}, {{"{X}q": "c"}}]}}',
    }
    for ending, text in texts.items():
        (tmp_path / f"x.{ending}").write_text(text)
        graph = KnowledgeGraph.load(tmp_path / f"x.{ending}")
        assert len(graph) > 1
        assert graph.load_file(tmp_path / f"x.{ending}") == 0


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("ending", ["nt", "nq", "ttl", "trig", "tsv", "txt", "csv"])
def test_what_is_written_compressed_is_read_again(tmp_path, ending, packed):
    graph = KnowledgeGraph()
    graph.add(FACTS)
    for name in ("one", "two"):
        graph.save(tmp_path / f"{name}.{ending}{packed}")
    one, two = (tmp_path / f"{name}.{ending}{packed}" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes()[:2] == PACKED[packed](b"")[:2]
    assert list(KnowledgeGraph.load(one).triples()) == FACTS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.rdf", XML[:-11].encode(), "x.rdf:7: "),
        ("x.owl", XML.replace("</x:heat>", "").encode(), "x.owl:7: mismatched tag"),
        ("x.xml", b"", "x.xml:1: no element found"),
        ("x.xml", b"<html><body>hi</body></html>", "x.xml: XML namespaces are required in RDF/XML"),
        ("x.rdf", XML.replace(f'at "{X}"', 'a "b"><!ENTITY at "&a;&a;"').encode(), "x.rdf:2: the entity 'at' is made"),
        ("x.rdf", (HEAD + (FIRE + "<x:p>") * 600).encode(), "x.rdf:502: more than 1,000 elements within each other"),
        ("x.n3", N3.replace("x:steam", "y:steam").encode(), "x.n3:2: "),
        ("x.n3", (N3 + "{ x:a x:b x:c } => { x:a x:d x:c } .").encode(), "x.n3: it has a formula, { ... }"),
        ("x.n3", (N3 + "?who x:b x:c .").encode(), "x.n3: variables are not allowed"),
        ("x.jsonld", JSON[:-4].encode(), "x.jsonld:2: "),
        ("x.nt.bz2", b"plain", "x.nt.bz2: Invalid data stream"),
        ("x.nt.bz2", bz2.compress(b"oops\n"), "x.nt.bz2:1: "),
        ("x.rdf.bz2", bz2.compress(XML.encode())[:-12], "x.rdf.bz2: the compressed file is cut off"),
        ("x.jsonld.xz", lzma.compress(JSON.encode())[:-12], "x.jsonld.xz: the compressed file is cut off"),
        ("x.tsv.xz", b"plain", "x.tsv.xz: Input format not supported by decoder"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    graph = KnowledgeGraph()
    with pytest.raises(InputError, match=re.escape(message)):
        graph.load_file(tmp_path / name)
    assert graph.graphs() == {}


def test_depth_is_not_length(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "DEPTH", 3)
    things = "".join(f'<rdf:Description rdf:about="{X}{i}"><x:p>{i}</x:p></rdf:Description>\n' for i in range(5_000))
    (tmp_path / "x.rdf").write_text(f"{HEAD}{things}</rdf:RDF>")
    assert KnowledgeGraph().load_file(tmp_path / "x.rdf") == 5_000


def test_n3_is_only_read(tmp_path):
    with pytest.raises(
        InputError, match=r"x\.n3\.gz: \.n3 files are only read; a graph is written to \.nq, .* or \.xz"
    ):
        KnowledgeGraph().save(tmp_path / "x.n3.gz")
    assert not (tmp_path / "x.n3.gz").exists()


TERMS = f"<{X}a> <{X}p> " + f"<<( <{X}a> <{X}p> " * 100_000 + '"1"' + " )>>" * 100_000 + " .\n"
DEEP = {
    "x.jsonld": ("[\n" * 100_000, "x.jsonld: too many brackets within each other"),
    "nodes.jsonld": (f'{{"{X}p":' * 100_000 + "1" + "}" * 100_000, "nodes.jsonld: too many brackets within"),
    "x.ttl": (TERMS, "x.ttl: more than 1,000 times << in one fact"),
    "x.trig": (TERMS, "x.trig: more than 1,000 times << in one fact"),
    "x.nt": ("\n" + TERMS, "x.nt:2: more than 1,000 times << in one fact"),
    "x.nq": ("\n" + TERMS, "x.nq:2: more than 1,000 times << in one fact"),
}


@pytest.mark.parametrize("name", DEEP)
def test_nesting_is_bounded(tmp_path, name):
    """Each of these ended the interpreter, or took minutes."""
    text, message = DEEP[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        KnowledgeGraph.load(tmp_path / name)


@pytest.mark.parametrize("ending", ["nt", "ttl"])
def test_many_facts_may_have_the_signs_of_a_triple_term(tmp_path, ending):
    (tmp_path / f"x.{ending}").write_text("".join(f'<{X}{i}> <{X}p> "cout << {i}" .\n' for i in range(3_000)))
    assert len(KnowledgeGraph.load(tmp_path / f"x.{ending}")) == 3_000


@pytest.mark.slow
def test_deep_lists_of_n3_are_read(tmp_path):
    (tmp_path / "x.n3").write_text(f"<{X}a> <{X}p> " + "(" * 100_000 + ")" * 100_000 + " .")
    assert len(KnowledgeGraph.load(tmp_path / "x.n3")) == 199_999


def test_shapes_take_blank_nodes_for_blank_nodes(tmp_path):
    (tmp_path / "x.ttl").write_text("@prefix : <http://x.org/> . :a :has [ :p 1 ] . :a :has :b .")
    (tmp_path / "s.ttl").write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://x.org/> . "
        ":S a sh:NodeShape ; sh:targetObjectsOf :has ; sh:nodeKind sh:BlankNode ."
    )
    graph = KnowledgeGraph.load(tmp_path / "x.ttl")
    assert [each.subject for each in validate(graph, tmp_path / "s.ttl").violations] == ["http://x.org/b"]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.nq", "x.ttl"])
def test_a_file_without_facts_is_told(tmp_path, name):
    (tmp_path / name).write_text("")
    with pytest.warns(Note, match=rf"{name} has no facts"):
        assert KnowledgeGraph().load_file(tmp_path / name) == 0
