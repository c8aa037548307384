"""For the case `kg`: the speed of graphs here beside that of another version of gumption, on the same facts.

Each version works in processes of its own, which do the same jobs right after each other, in alternating order: a busy
moment of the machine hits both. Answers that differ are an error.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gumption.agents.statistics import bootstrap_interval
from gumption.data import InputError
from gumption.kg.vocabulary import ENTITY, GRAPH, RELATION, label_to_iri
from gumption.scripts.measurement import BenchSettings, Measurement, compared
from gumption.scripts.papers.kg.experiments import RELATIONS, draw_facts

from .stores import hops_query, oxigraph_server, serving

HERE = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("version_worker.py")
PAIRS = 5  # of samples of a job, in each of the repeats
SAMPLE = 0.05  # seconds at least
QUERY, BULK = 1.05, 2.5  # limits of the ratio
QUADS, GRAPHS = 200_000, 3
MEMORY, DISK, ENDPOINT = "memory", "on disk", "an endpoint on this machine"
Call = tuple[list[Any], dict[str, Any]]
Worker = Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Job:
    """Calls of a method of a graph; a sample is as many of them, again and again, as last long enough.

    :ivar limit: of the ratio to the other version.
    :ivar once: whether a graph does it once only, because it takes long or changes the graph.
    """

    what: str
    method: str
    calls: list[Call]
    limit: float = QUERY
    once: bool = False


def version_rows(settings: BenchSettings, other: Path) -> Iterator[Measurement]:
    """Loading, look-ups, joins, counts, filters, OPTIONAL, arrays and adding: in memory, on disk, at an endpoint.

    :param other: a checkout of the other version.
    :raises InputError: a folder that is no checkout, versions whose answers differ.
    """
    if not (other / "kg" / "graph.py").is_file():
        raise InputError(f"--against {other}: that is no checkout of gumption, it has no kg/graph.py")
    name, binary = _commit(other), oxigraph_server()
    if binary is None:
        print("bench kg: no endpoint is measured: the package oxigraph is not installed", file=sys.stderr)
    with TemporaryDirectory(prefix="gumption-bench-") as folder:
        jobs = make_jobs(QUADS, Path(folder) / "facts.nq")
        for home in (MEMORY, DISK, ENDPOINT) if binary else (MEMORY, DISK):
            pairs: dict[str, list[tuple[float, float]]] = {job.what: [] for job in jobs}
            for repeat in range(settings.repeats):
                with TemporaryDirectory(dir=folder) as place, ExitStack() as stack:
                    workers = [stack.enter_context(working(checkout)) for checkout in (HERE, other)]
                    for number, worker in enumerate(workers):
                        worker({"open": _place(home, Path(place) / str(number), binary, stack)})
                    for job in jobs:
                        settings.tell(f"{home}, {job.what}, {repeat + 1} of {settings.repeats}")
                        pairs[job.what] += _pairs(job, workers, "wall" if home == ENDPOINT else "cpu", repeat)
            for job in jobs:
                yield _row(home, job, name, pairs[job.what])


def make_jobs(quads: int, file: Path) -> list[Job]:
    """Write so many quads, and make the jobs, of which the first loads them.

    Three quarters are distinct facts over 20 relations and a tenth as many entities, in three graphs; some are in a
    second graph, too. Each entity has a name, every second one a size.
    """
    rng = np.random.default_rng(0)
    entities, facts = max(quads // 10, 10), quads * 3 // 4
    ids = draw_facts(facts, entities, rng)

    def iris(kind: str, namespace: str, number: int) -> list[str]:
        return [f"<{label_to_iri(f'{kind} {i}', namespace)}>" for i in range(number)]

    names, relations = iris("entity", ENTITY, entities), iris("relation", RELATION, RELATIONS)
    graphs = iris("part", GRAPH, GRAPHS)
    rows = [(f"{names[s]} {relations[p]} {names[o]}", (s + o) % GRAPHS) for s, p, o in ids.tolist()]
    rows += [(f'{name} <{RELATION}name> "item {i} of shelf {i % 97}"', i % GRAPHS) for i, name in enumerate(names)]
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    for i in range(0, entities, 2):
        rows.append((f'{names[i]} <{RELATION}size> "{i * 7919 % 1000}"^^<{integer}>', i % GRAPHS))
    rows += [(fact, (graph + 1) % GRAPHS) for fact, graph in rows[: quads - len(rows)]]
    file.write_text("".join(f"{fact} {graphs[graph]} .\n" for fact, graph in rows), encoding="utf-8")

    asked = ids[rng.integers(0, facts, 100), :2].tolist()
    starts = [f"entity {i}" for i in rng.permutation(np.unique(ids[ids[:, 1] == 0, 0]))[:20]]
    new = [(f"new {i}", f"relation {i % RELATIONS}", f"entity {i % entities}") for i in range(quads // 20)]

    def query(what: str, sparql: str, **labels: str) -> Job:
        return Job(what, "query", [([sparql], labels)])

    def hops(number: int) -> Job:
        calls: list[Call] = [([hops_query(number)], {"x0": start}) for start in starts]
        return Job(f"joins of {number} steps", "query", calls)

    step, large = f"?x {relations[0]} ?y", "?x gum:size ?z FILTER(?z > 900)"
    return [
        Job(f"loading {quads:,} quads from N-Quads", "load_file", [([str(file)], {})], BULK, once=True),
        Job(
            "look-ups by subject and relation",
            "triples",
            [([], {"subject": f"entity {s}", "relation": f"relation {p}"}) for s, p in asked],
        ),
        hops(2),
        hops(3),
        query("count of all facts", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"),
        query("count of a join", f"SELECT (COUNT(*) AS ?n) {{ {large} {step} }}"),
        query("counts by relation", "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p"),
        query("FILTER by number", f"SELECT ?x {{ {large} }}"),
        query("FILTER by text", 'SELECT ?x { ?x gum:name ?n FILTER(CONTAINS(?n, "shelf 77")) }'),
        query("OPTIONAL", f"SELECT ?x ?y {{ {large} OPTIONAL {{ {step} }} }}"),
        query("join within GRAPH", f"SELECT ?x ?z {{ GRAPH ?g {{ {step} . ?x gum:size ?z }} }}", g="part 1"),
        Job("arrays", "arrays", [([], {})], once=True),
        Job(f"adding {len(new):,} facts", "add", [([new], {})], BULK, once=True),
    ]


@contextmanager
def working(checkout: Path) -> Iterator[Worker]:
    """A process that imports gumption from this checkout; the function gives it a task and returns the reply."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "gumption").symlink_to(checkout.resolve())
        places = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-P", str(WORKER)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
            tasks, replies = process.stdin, process.stdout
            assert tasks is not None
            assert replies is not None

            def work(task: Mapping[str, Any]) -> dict[str, Any]:
                print(json.dumps(task), file=tasks, flush=True)
                if not (reply := replies.readline()):
                    raise InputError(f"the version in {checkout} failed at {task.get('method', 'opening a graph')}")
                return json.loads(reply)

            try:
                yield work
            finally:
                process.kill()


def _place(home: str, store: Path, binary: str | None, stack: ExitStack) -> tuple[str | None, str | None]:
    """The location and the update address of an empty graph."""
    if home == ENDPOINT and binary is not None:
        address = stack.enter_context(serving(binary, store))
        return f"{address}/query", f"{address}/update"
    return (str(store) if home == DISK else None), None


def _pairs(job: Job, workers: list[Worker], clock: str, turn: int) -> list[tuple[float, float]]:
    """Seconds a call, here and in the other version, which is the first to work every second time.

    :raises InputError: their answers differ.
    """

    def sample(calls: list[Call], turn: int, check: bool = False) -> list[dict[str, Any]]:
        order = (0, 1) if turn % 2 else (1, 0)
        replies = {each: workers[each]({"method": job.method, "calls": calls, "check": check}) for each in order}
        return [replies[0], replies[1]]

    ours, theirs = sample(job.calls, turn, check=True)
    if ours["digest"] != theirs["digest"]:
        raise InputError(f"{job.what}: the versions differ in their answers: {ours['rows']} and {theirs['rows']} rows")
    if job.once:
        return [(ours[clock], theirs[clock])]
    seconds = min(reply[clock] for reply in sample(job.calls, turn))  # when caches are warm
    number = math.ceil(SAMPLE * len(job.calls) / seconds)
    calls = list(islice(cycle(job.calls), number))
    samples = [sample(calls, turn + i) for i in range(PAIRS)]
    return [(ours[clock] / number, theirs[clock] / number) for ours, theirs in samples]


def _row(home: str, job: Job, name: str, pairs: list[tuple[float, float]]) -> Measurement:
    """The medians, and the median ratio of the pairs with its 95 % interval, whose lower end is within the limit."""
    ratios = [ours / theirs for ours, theirs in pairs]
    estimate = bootstrap_interval(ratios, "median")
    low, high = (estimate.value if math.isnan(end) else end for end in estimate[1:])
    unit = "s" if home == ENDPOINT else "CPU s"
    row = compared(
        job.what,
        unit,
        [ours for ours, _ in pairs],
        name,
        [theirs for _, theirs in pairs],
        target=f"at most {job.limit:g}; 95 % interval {low:.3f} to {high:.3f}",
        met=low <= job.limit,
        details={"low": low, "high": high, "ratios": ratios},
        section=f"Graph: {home}",
    )
    return replace(row, ratio=median(ratios))


def _commit(checkout: Path) -> str:
    """The commit of a checkout, else the name of its folder."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"commit {found.stdout.strip()}" if found.returncode == 0 else checkout.resolve().name
