"""Stores for the case `kg`: the same facts in memory, on disk and at an endpoint, beside rdflib's own graph."""

from __future__ import annotations

import gc
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import rdflib
from rdflib.plugins.sparql import prepareQuery

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.vocabulary import ENTITY, RELATION, label_to_iri
from gumption.scripts.measurement import BenchSettings, Measurement, compared
from gumption.scripts.papers.kg.experiments import RELATIONS, draw_facts, write_facts

LOOK_UPS, STARTS = 1000, 20
ARRAYS, ARRAYS_TRIPLES = 1.5, 500_000  # times rdflib's seconds, at most; at least so many facts
START_SECONDS = 60.0
LONG_SECONDS = 10.0  # a job that has taken as long is not repeated


@dataclass(frozen=True)
class Work:
    """What every store is asked.

    :ivar file: the facts, N-Triples.
    :ivar pairs: (subject, relation) labels of the look-ups, drawn from the facts.
    :ivar starts: entities where the joins begin.
    """

    file: Path
    triples: int
    pairs: list[tuple[str, str]]
    starts: list[str]


@dataclass(frozen=True)
class Figures:
    """Seconds of each repeat by the name of the job, and how many rows each job gave."""

    seconds: dict[str, list[float]]
    rows: dict[str, int]


def make_work(triples: int, folder: Path, seed: int = 0) -> Work:
    """Distinct facts over a tenth as many entities and 20 relations."""
    rng = np.random.default_rng(seed)
    entities = max(triples // 10, 10)
    ids = draw_facts(triples, entities, rng)
    names = [f"entity {i}" for i in rng.permutation(entities)]
    relations = [f"relation {i}" for i in range(RELATIONS)]
    file = folder / "facts.nt"
    write_facts(file, ids, names, relations)
    asked = ids[rng.integers(0, triples, LOOK_UPS)]
    begin = rng.permutation(np.unique(ids[ids[:, 1] == 0, 0]))[:STARTS]
    return Work(file, triples, [(names[s], relations[p]) for s, p, _ in asked.tolist()], [names[i] for i in begin])


def store_rows(settings: BenchSettings, triples: int) -> Iterator[Measurement]:
    """One table for each store: loading, look-ups, joins, arrays."""
    with TemporaryDirectory(prefix="gumption-bench-") as name:
        folder = Path(name)
        settings.tell(f"{triples:,} facts in rdflib")
        work = make_work(triples, folder)
        yardstick = _rdflib(work, settings.repeats)
        gc.collect()
        settings.tell(f"{triples:,} facts in memory")
        yield from _rows("memory", _ours(KnowledgeGraph(), work, settings.repeats), yardstick, work)
        settings.tell(f"{triples:,} facts on disk")
        with KnowledgeGraph(folder / "graph") as graph:
            yield from _rows("on disk", _ours(graph, work, settings.repeats), yardstick, work)
        binary = oxigraph_server()
        if binary is None:
            print("bench kg: no endpoint is measured: the package oxigraph is not installed", file=sys.stderr)
            return
        settings.tell(f"{triples:,} facts at an endpoint")
        with serving(binary, folder / "server") as address:
            graph = KnowledgeGraph(f"{address}/query", update=f"{address}/update")
            yield from _rows("an endpoint on this machine", _ours(graph, work, settings.repeats), yardstick, work)


def oxigraph_server() -> str | None:
    """The server's binary: beside this Python, else on the path."""
    return shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which("oxigraph")


@contextmanager
def serving(binary: str, folder: Path) -> Iterator[str]:
    """The address of an Oxigraph server with its store in a new folder, killed at the end.

    :raises InputError: it does not answer within a minute.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [binary, "serve", "--location", str(folder), "--bind", address]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"http://{address}/"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise InputError(f"the SPARQL server {binary} did not start: try {' '.join(command)}")
            time.sleep(0.05)
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except OSError:
        return False
    return True


def hops_query(number: int) -> str:
    """The entities so many steps from ?x0, each step another relation, once for each way."""
    steps = (f"?x{i} <{label_to_iri(f'relation {i}', RELATION)}> ?x{i + 1}" for i in range(number))
    return f"SELECT ?x{number} {{ {' . '.join(steps)} }}"


def _ours(graph: KnowledgeGraph, work: Work, repeats: int) -> Figures:
    def hops(number: int) -> int:
        query = hops_query(number)
        return sum(len(graph.query(query, x0=start)) for start in work.starts)

    return _measure(
        lambda: graph.load_file(work.file),
        {
            "look-ups": lambda: sum(len(list(graph.triples(subject=s, relation=p))) for s, p in work.pairs),
            "2 hops": lambda: hops(2),
            "3 hops": lambda: hops(3),
            "arrays": lambda: len(graph.arrays()[1]),
        },
        repeats,
    )


def _rdflib(work: Work, repeats: int) -> Figures:
    graph = rdflib.Graph()
    pairs = [(_term(s, ENTITY), _term(p, RELATION), None) for s, p in work.pairs]
    starts = [_term(start, ENTITY) for start in work.starts]

    def hops(number: int) -> int:
        query = prepareQuery(hops_query(number))
        return sum(len(list(graph.query(query, initBindings={"x0": start}))) for start in starts)

    def arrays() -> int:
        entities: dict[Any, int] = {}
        relations: dict[Any, int] = {}
        rows = [
            (
                entities.setdefault(s, len(entities)),
                relations.setdefault(p, len(relations)),
                entities.setdefault(o, len(entities)),
            )
            for s, p, o in graph
        ]
        return len(np.array(rows, dtype=np.int64))

    return _measure(
        lambda: len(graph.parse(work.file, format="nt")),
        {
            "look-ups": lambda: sum(len(list(graph.triples(pair))) for pair in pairs),
            "2 hops": lambda: hops(2),
            "3 hops": lambda: hops(3),
            "arrays": arrays,
        },
        repeats,
    )


def _term(label: str, namespace: str) -> rdflib.URIRef:
    return rdflib.URIRef(label_to_iri(label, namespace))


def _measure(load: Callable[[], int], jobs: dict[str, Callable[[], int]], repeats: int) -> Figures:
    """Load once, then do the other jobs in turn, as often as asked for, long ones less often."""
    started = perf_counter()
    rows = {"load": load()}
    seconds = {"load": [perf_counter() - started], **{name: [] for name in jobs}}
    for _ in range(repeats):
        for name, job in jobs.items():
            if sum(seconds[name]) >= LONG_SECONDS:
                continue
            started = perf_counter()
            rows[name] = job()
            seconds[name].append(perf_counter() - started)
    return Figures(seconds, rows)


def _rows(store: str, ours: Figures, theirs: Figures, work: Work) -> Iterator[Measurement]:
    if ours.rows != theirs.rows:
        raise RuntimeError(f"the store {store} answers with {ours.rows} rows, rdflib with {theirs.rows}")
    names = {
        "load": f"loading {work.triples:,} facts from N-Triples",
        "look-ups": f"{len(work.pairs):,} look-ups by subject and relation",
        "2 hops": f"joins of 2 steps from {len(work.starts)} entities",
        "3 hops": f"joins of 3 steps from {len(work.starts)} entities",
        "arrays": f"arrays of {work.triples:,} facts",
    }
    for name, what in names.items():
        more: dict[str, Any] = {"details": {"rows": ours.rows[name]}, "section": f"Store: {store}"}
        judged = name == "arrays" and work.triples >= ARRAYS_TRIPLES and not store.startswith("an endpoint")
        limit = ARRAYS if judged else None
        yield compared(what, "s", ours.seconds[name], "rdflib in memory", theirs.seconds[name], limit, **more)
