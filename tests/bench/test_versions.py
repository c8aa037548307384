"""`python -m tests.bench kg --against CHECKOUT`: two versions do the same jobs in pairs, and must answer alike."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.scripts.measurement import Measurement
from tests.bench import peers, versions
from tests.bench.versions import HERE

OTHER = """
class KnowledgeGraph:
    def __init__(self, location=None, update=None): pass
    def load_file(self, file): return %s
"""


@pytest.fixture(autouse=True)
def few(monkeypatch) -> None:
    monkeypatch.setattr(versions, "QUADS", 400)


def compare(other: Path) -> Iterator[Measurement]:
    return peers.kg_case(peers.Settings(repeats=1, against=other))


@pytest.mark.slow
def test_versions_are_compared_in_pairs(monkeypatch):
    monkeypatch.setattr(versions, "PAIRS", 2)
    monkeypatch.setattr(versions, "SAMPLE", 0.001)
    rows = list(compare(HERE))
    homes = ("memory", "on disk", "an endpoint on this machine")
    assert [row.section for row in rows] == [f"Graph: {home}" for home in homes for _ in range(13)]
    for row in rows:
        writes = row.what.startswith(("loading", "adding"))
        limit = 2.5 if writes else 1.05
        low, high, ratios = (row.details[name] for name in ("low", "high", "ratios"))
        assert len(ratios) == (1 if writes or row.what == "arrays" else 2)
        assert low <= row.ratio <= high
        assert row.target == f"at most {limit}; 95 % interval {low:.3f} to {high:.3f}"
        assert row.met == (low <= limit)
        assert row.yardstick_median > 0


def test_the_facts_are_as_many_as_asked_for(tmp_path):
    load, *_ = versions.make_jobs(1000, tmp_path / "facts.nq")
    lines = (tmp_path / "facts.nq").read_text().splitlines()
    assert load.what == "loading 1,000 quads from N-Quads"
    assert len(set(lines)) == len(lines) == 1000
    assert len({line.rsplit("<", 1)[0] for line in lines}) == 900, "a tenth of them are in two graphs"
    assert sum("XMLSchema#integer" in line for line in lines) >= 50


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        ("399", "loading 400 quads from N-Quads: the versions differ in their answers: 1 and 1 rows"),
        ("400", "the version in .*other failed at triples"),
    ],
)
def test_versions_that_answer_otherwise_or_fail_are_not_compared(tmp_path, loaded, message):
    package = tmp_path / "other" / "kg"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "graph.py").touch()
    (package / "__init__.py").write_text(OTHER % loaded)
    with pytest.raises(InputError, match=message):
        next(compare(tmp_path / "other"))


def test_another_folder_is_no_version(tmp_path: Path):
    with pytest.raises(InputError, match=r"is no checkout of gumption, it has no kg/graph\.py"):
        next(compare(tmp_path))


def test_without_a_server_the_endpoint_is_passed_over(monkeypatch, capsys):
    monkeypatch.setattr(versions, "oxigraph_server", lambda: None)
    monkeypatch.setattr(versions, "make_jobs", lambda quads, file: [versions.Job("count", "graphs", [([], {})])])
    assert [row.section for row in compare(HERE)] == ["Graph: memory", "Graph: on disk"]
    assert capsys.readouterr().err == "bench kg: no endpoint is measured: the package oxigraph is not installed\n"
