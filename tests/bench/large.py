"""A large graph, for the case `large`: CPU seconds and space, loading beside `oxigraph load`."""

from __future__ import annotations

import gc
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.vocabulary import nearest_labels
from gumption.scripts.measurement import BenchSettings, Measurement, compared
from gumption.scripts.papers.kg.experiments import RELATIONS, draw_facts, write_facts

from .stores import oxigraph_server

FULL = 5_000_000  # facts at which the targets hold
PEER = "`oxigraph load`"
ADDED = 20_000
SECTION = "A large graph, on disk where nothing else is said"
#: Times the CPU seconds, or the space, that Oxigraph takes to load the facts; at most.
TARGETS = {"first": 0.01, "arrays": 0.83, "adding": 0.02, "dropping": 0.02, "unknown": 0.01}
LOADING, SPACE = 2.0, 1.5


def large_rows(settings: BenchSettings, facts: int, seed: int = 0) -> Iterator[Measurement]:
    """The table of a graph with so many facts and a fifth as many entities.

    :raises InputError: the binary of Oxigraph is missing.
    """
    binary = oxigraph_server()
    if binary is None:
        raise InputError("the case large compares with `oxigraph load`: pip install oxigraph")
    with TemporaryDirectory(prefix="gumption-bench-") as name:
        folder = Path(name)
        settings.tell(f"{facts:,} facts: drawing them")
        files = _write(facts, folder, seed)
        settings.tell(f"{facts:,} facts: `oxigraph load`")
        yardstick = _oxigraph(binary, files[0], folder / "oxigraph")
        settings.tell(f"{facts:,} facts on disk")
        yield from _on_disk(folder / "graph", files, facts, yardstick)
        gc.collect()
        settings.tell(f"{facts:,} facts in memory")
        yield from _dropping(KnowledgeGraph(), files, facts, "in memory", yardstick[0])


def _write(facts: int, folder: Path, seed: int) -> list[Path]:
    """Files of the facts, and of a fifth as many others."""
    rng = np.random.default_rng(seed)
    entities = max(facts // 5, 10)
    ids = draw_facts(facts + facts // 5, entities, rng)
    names = [f"entity {i}" for i in rng.permutation(entities)]
    files = [folder / "facts.nt", folder / "others.nt"]
    for file, part in zip(files, np.split(ids, [facts]), strict=True):
        write_facts(file, part, names, [f"relation {i}" for i in range(RELATIONS)])
    return files


def _oxigraph(binary: str, file: Path, folder: Path) -> tuple[float, float]:
    """CPU seconds of loading a file into a named graph, and megabytes."""
    before = _child_seconds()
    command = [binary, "load", "--location", folder, "--graph", "urn:gumption:graph:facts", "--file", file]
    subprocess.run(command, check=True, capture_output=True)
    return _child_seconds() - before, _megabytes(folder)


def _on_disk(folder: Path, files: list[Path], facts: int, yardstick: tuple[float, float]) -> Iterator[Measurement]:
    with KnowledgeGraph(folder) as graph:
        seconds = _seconds(lambda: graph.load_file(files[0], graph="facts"))
    space = _megabytes(folder)
    loaded = yardstick[0]
    for what, unit, ours, theirs, most in (
        (f"loading {facts:,} facts from N-Triples", "CPU s", seconds, yardstick[0], LOADING),
        (f"space of {facts:,} facts", "MB", space, yardstick[1], SPACE),
    ):
        yield compared(what, unit, [ours], PEER, [theirs], most, section="On disk")
    with KnowledgeGraph(folder) as graph:
        yield _row("first", f"first of {facts:,} facts", _seconds(lambda: next(graph.triples())), facts, loaded)
        labels: list[str] = []
        seconds = _seconds(lambda: labels.extend(graph.arrays()[0].entities))
        yield _row("arrays", f"arrays of {facts:,} facts", seconds, facts, loaded)
        seconds = _seconds(lambda: nearest_labels("entitty 4711", labels))
        yield _row("unknown", f"unknown label among {len(labels):,}", seconds, facts, loaded)
        new = [(f"new {i}", "relation 1", f"new {i // 2}") for i in range(ADDED)]
        seconds = _seconds(lambda: graph.add(new, graph="facts"))
        yield _row("adding", f"adding {ADDED:,} facts to {facts:,}", seconds, facts, loaded)
    with KnowledgeGraph(folder) as graph:
        yield from _dropping(graph, files[1:], facts, "on disk", loaded)


def _dropping(graph: KnowledgeGraph, files: list[Path], facts: int, where: str, loaded: float) -> Iterator[Measurement]:
    """The last file makes the graph that is dropped."""
    for file in files:
        graph.load_file(file, graph=file.stem)
    number = graph.graphs()[files[-1].stem]
    seconds = _seconds(lambda: graph.drop(files[-1].stem))
    yield _row("dropping", f"dropping {number:,} facts of {facts + number:,} {where}", seconds, facts, loaded)


def _row(name: str, what: str, seconds: float, facts: int, loaded: float) -> Measurement:
    """:param loaded: CPU seconds in which Oxigraph loads the facts."""
    limit = TARGETS[name] if facts >= FULL else None
    return compared(what, "CPU s", [seconds], PEER, [loaded], limit, section=SECTION)


def _seconds(job: Callable[[], object]) -> float:
    started = process_time()
    job()
    return process_time() - started


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
