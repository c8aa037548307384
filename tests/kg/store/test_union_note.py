"""gumption-union, the note in a folder that says whether its default graph is known to be the union of the others."""

import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from gumption.kg import KnowledgeGraph
from gumption.kg.store.stores import LocalStore

FACTS = [(f"e{i}", "r", f"e{i + 1}") for i in range(20)]
ENT, GUM = "urn:gumption:entity:", "urn:gumption:relation:"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with FACTS in the graph "a" and some of them in "b"."""
    with KnowledgeGraph(tmp_path / "kg") as graph:
        graph.add(FACTS, graph="a")
        graph.add(FACTS[:5], graph="b")
    return tmp_path / "kg"


@pytest.fixture
def renewed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gets an entry each time that a union is made anew."""
    made: list[str] = []
    renew = LocalStore._renew
    monkeypatch.setattr(LocalStore, "_renew", lambda store, **how: (made.append("renewed"), renew(store, **how)))
    return made


def check_union(graph: KnowledgeGraph, expected: set[tuple[str, str, str]]) -> None:
    assert set(graph.triples()) == expected
    assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": len(expected)}]


def test_a_folder_that_only_gumption_opens_is_not_made_anew(folder: Path, renewed: list[str]) -> None:
    for _ in range(2):
        with KnowledgeGraph(folder) as graph:
            assert len(graph) == 20
            with KnowledgeGraph(folder, read_only=True) as reader:
                assert reader._store._path == folder, "nothing is copied into memory"
    with KnowledgeGraph(folder) as graph:
        graph.add([("x", "r", "y")])
    with KnowledgeGraph(folder, read_only=True) as reader:
        assert len(reader) == 21
    assert renewed == []


def test_a_folder_in_which_another_program_wrote(folder: Path) -> None:
    def quad(number: int, graph: str) -> ox.Quad:
        s, p, o = FACTS[number]
        name = ox.NamedNode(f"urn:gumption:graph:{graph}") if graph else ox.DefaultGraph()
        return ox.Quad(ox.NamedNode(ENT + s), ox.NamedNode(GUM + p), ox.NamedNode(ENT + o), name)

    store = ox.Store(str(folder))
    store.remove(quad(0, "a"))  # "b" has it still
    store.remove(quad(9, "a")), store.remove(quad(9, ""))
    store.remove(quad(10, "a"))  # it stays in the default graph
    tea = ox.Quad(ox.BlankNode("n"), ox.NamedNode(GUM + "r"), ox.Literal("tea"), ox.NamedNode("http://x.org/g"))
    store.add(tea)
    store.flush()
    del store
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    expected = {*FACTS, ("_:n", "r", '"tea"')} - {FACTS[9]}
    counts = {"a": 17, "b": 5, "default": 1, "http://x.org/g": 1}
    with KnowledgeGraph(folder, read_only=True) as graph:
        check_union(graph, expected)
        assert graph.query("ASK { ?s gum:r 'tea' }", timeout=30) is True
        assert graph.graphs() == counts
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with KnowledgeGraph(folder) as graph:
        check_union(graph, expected)
        assert graph.graphs() == counts
        assert list(graph.triples(graph="default")) == [FACTS[10]]


# A process that ends in the middle of a change of several transactions.

ENDING = """
import os, sys
import pyoxigraph as ox
from gumption.kg import KnowledgeGraph
from gumption.kg.store import stores

class Ending:
    def __init__(self, store):
        self.store, self.removed = store, 0

    def __getattr__(self, name):
        return getattr(self.store, name)

    def bulk_load(self, stream, form):
        self.store.extend(list(ox.parse(stream, form))[:7])  # their copies come later
        os._exit(9)

    def remove(self, quad):
        if self.removed == 3:  # the copies went before
            os._exit(9)
        self.removed += 1
        self.store.remove(quad)

stores.LARGE = 1
graph = KnowledgeGraph(sys.argv[1])
graph._store._open = Ending(graph._store._open)
"""
CHANGES = {
    "load": ("graph.load_file(sys.argv[2], graph='a')", {"a": 7}),
    "drop": ("graph.drop('a')", {"a": 17, "b": 5}),
    "rdflib": (
        "graph.dataset.get_context('urn:gumption:graph:c').update('INSERT DATA { <urn:a> <urn:b> <urn:c> }')",
        {"a": 20, "b": 5, "c": 1},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_whose_change_was_interrupted(folder: Path, tmp_path: Path, change: str) -> None:
    file = tmp_path / "x.nt"
    file.write_text("".join(f"<{ENT}{s}> <{GUM}{p}> <{ENT}{o}> .\n" for s, p, o in FACTS))
    place = tmp_path / "new" if change == "load" else folder
    text, counts = CHANGES[change]
    program = f"{ENDING}\n{text}\nos._exit(9)"
    done = subprocess.run([sys.executable, "-c", program, place, file], capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    for read_only in (True, False, True):
        with KnowledgeGraph(place, read_only=read_only) as graph:
            assert graph.graphs() == counts
            check_union(graph, {fact for name in counts for fact in graph.triples(graph=name)})
    with KnowledgeGraph(place) as graph:
        graph.load_file(file, graph="a")
        assert graph.graphs() == {**counts, "a": 20}
