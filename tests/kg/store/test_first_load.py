"""Many facts that come first into a store on this machine: they are loaded at once."""

import gc
import gzip
import random
import re

import pyoxigraph as ox
import pytest

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.store import files as files_module
from gumption.kg.store import stores as stores_module
from gumption.kg.store.files import SkippedLines
from gumption.kg.store.stores import LocalStore

pytestmark = pytest.mark.parametrize("home", ["memory", "disk"], indirect=True)

ENT, GUM = "urn:gumption:entity:", "urn:gumption:relation:"
FACTS = sorted((f"thing {i}", f"r{i % 3}", f"thing {i * 7 % 50}") for i in range(50))


def line(fact: tuple[str, str, str]) -> str:
    s, p, o = (part.replace(" ", "%20") for part in fact)
    return f"<{ENT}{s}> <{GUM}{p}> <{ENT}{o}> .\n"


TEXT = "".join(map(line, FACTS))


@pytest.fixture(autouse=True)
def small(monkeypatch) -> None:
    """Everything is large enough."""
    monkeypatch.setattr(stores_module, "LARGE", 1)
    monkeypatch.setattr(stores_module, "MANY", 4)


def union(graph: KnowledgeGraph) -> set[ox.Triple]:
    """What the default graph has."""
    return {quad.triple for quad in graph._store._quads.quads_for_pattern(None, None, None, ox.DefaultGraph())}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.nt", TEXT),
        ("x.nt.gz", TEXT),
        ("x.nt", TEXT + f"<{ENT}a> <{GUM}r0> <{ENT}b> . # a remark .\n"),
        ("x.ttl", TEXT),
        ("x.nt", TEXT + f'<{ENT}a> <{GUM}r0> "5" .\n_:b <{GUM}r0> <{ENT}b> .\n'),
        ("x.nq", TEXT + "".join(map(line, FACTS[:9])).replace(" .\n", " <urn:gumption:graph:b> .\n")),
        ("x.tsv", "".join("\t".join(fact) + "\n" for fact in FACTS)),
    ],
)
def test_a_file_comes_first(graph, tmp_path, monkeypatch, name, content):
    (tmp_path / name).write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
    new = graph.load_file(tmp_path / name, graph="a")
    monkeypatch.setattr(stores_module, "LARGE", 1 << 40)
    other = KnowledgeGraph.load(tmp_path / name, graph="a")
    assert new == sum(other.graphs().values())
    assert graph.graphs() == other.graphs()
    assert set(graph._store._quads) == set(other._store._quads)
    assert len(union(graph)) == len(graph)
    assert graph.load_file(tmp_path / name, graph="a") == 0


@pytest.mark.parametrize("ending", ["nt", "nt.gz", "ttl", "tsv"])
def test_a_file_that_is_broken_at_its_end_leaves_nothing(graph, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(files_module, "BLOCK", 1_000)
    bad = (TEXT if ending != "tsv" else "".join("\t".join(fact) + "\n" for fact in FACTS)) + "oops .\n"
    content = gzip.compress(bad.encode()) if ending == "nt.gz" else bad.encode()
    (tmp_path / f"x.{ending}").write_bytes(content)
    with pytest.raises(InputError, match=re.escape(f"x.{ending}:51: ")):
        graph.load_file(tmp_path / f"x.{ending}")
    assert graph.graphs() == {}
    (tmp_path / "cut.nt.gz").write_bytes(gzip.compress(TEXT.encode())[:-20])
    with pytest.raises(InputError, match=r"cannot read .*cut\.nt\.gz: the compressed file is cut off"):
        graph.load_file(tmp_path / "cut.nt.gz")
    assert graph.graphs() == {}
    assert union(graph) == set()
    (tmp_path / "x.nt").write_text(TEXT + "oops\n")
    with pytest.warns(SkippedLines, match="1 bad line was skipped"):
        assert graph.load_file(tmp_path / "x.nt", skip_bad=1) == 50


def test_whatever_is_done_each_fact_is_in_the_union_once(graph):
    """Random changes beside a model of sets."""
    draw = random.Random(0)
    model: dict[str, set[tuple[str, str, str]]] = {}
    pool = [*FACTS[:8], ("_:n", "r0", "_:m"), ("_:n", "r1", '"tea"@en'), ("_:n", "r2", "<<( _:n <urn:p> _:m )>>")]
    for step in range(150):
        name, facts = draw.choice(["a", "a", "a", "b", "_:g"]), draw.sample(pool, draw.randint(1, 5))
        there = model.setdefault(name, set())
        kind = draw.choice(["add", "add", "remove", "drop", "transaction", "everywhere"])
        if kind == "add":
            assert graph.add(facts, graph=name) == len(set(facts) - there)
            there |= set(facts)
        elif kind == "remove":
            assert graph.remove(facts, graph=name) == len(there & set(facts))
            there -= set(facts)
        elif kind == "everywhere":
            graph.remove(facts[:1])
            for each in model.values():
                each.discard(facts[0])
        elif kind == "transaction":
            other = draw.choice("abc")
            with graph.transaction():
                graph.remove(facts, graph=name)
                graph.add(facts, graph=other)
            there -= set(facts)
            model.setdefault(other, set()).update(facts)
        elif there and step % 3 == 0:
            assert graph.drop(name) == len(there)
            there.clear()
        facts = sorted(set().union(*model.values()))
        assert graph.graphs() == {each: len(some) for each, some in sorted(model.items()) if some}, (step, kind)
        assert list(graph.triples()) == facts, (step, kind)
        assert len(graph) == len(union(graph)) == len(facts)
    assert gc.isenabled()


def test_the_first_of_many_facts_comes_at_once(graph, monkeypatch):
    graph.add(FACTS, graph="a")
    monkeypatch.setattr("gumption.kg.graph.SORTED", 10)
    read = []
    match = LocalStore.match
    monkeypatch.setattr(LocalStore, "match", lambda *args: (read.append(quad) or quad for quad in match(*args)))
    rows = graph.triples()
    assert next(rows) in FACTS
    assert len(read) == 10
    assert len(list(rows)) == 49
    assert sorted(graph.triples()) == FACTS
