"""What fits where: bytes and rates measured on this machine, and the calculation for large graphs that rests on them.

Training takes memory by the entity (parameters, Adagrad's sums, their gradient, the copy in low precision) and matrix
work by the query and entity: 6 * 2 * rank * N operations for each query, in the three products of complex.py.
Training is measured at two sizes, so that what a process takes for itself falls out. A store takes disk by the fact.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gumption.scripts.results import Condition, Experiment, Job, Kind, made_lines, table

if TYPE_CHECKING:
    import numpy as np

# In a process of its own, because the most memory that a process ever took does not go down again. Linux tells it as
# VmHWM; ru_maxrss there begins with that of the process which started this one.
_TRAIN = """
import json, re, sys, time
from pathlib import Path
import numpy as np
import torch
from gumption.kg.links.complex import ComplExTraining
from gumption.kg.links.training_settings import TrainingSettings
entities, rank, facts, batch_size = map(int, sys.argv[1:])
torch.set_num_threads(1)
draw = np.random.default_rng(0)
ids = np.stack([draw.integers(limit, size=facts) for limit in (entities, 20, entities)], axis=1)
settings = TrainingSettings(rank=rank, batch_size=batch_size, precision="bfloat16")
training = ComplExTraining(ids, entities, 20, settings, torch.device("cpu"))
training.run_epoch()
seconds = []
for _ in range(2):
    started = time.process_time()
    training.run_epoch()
    seconds.append(time.process_time() - started)
peak = 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
print(json.dumps({"peak_bytes": peak, "cpu_s": min(seconds), "queries": len(training.queries)}))
"""


@dataclass(frozen=True)
class Large:
    """A graph from outside: entities and facts as its authors count them."""

    name: str
    entities: int
    facts: int
    source: str


LARGE = (
    Large("Wikidata5M", 4_594_485, 20_614_279, "Wang et al. (2021), KEPLER, Table 1: training part"),
    Large("ConceptNet 5.7, all languages", 28_000_000, 34_000_000, "nodes and assertions of the 5.7 release, rounded"),
)
RANKS = (100, 500)
BATCH = 256
STORED, RELATIONS = 5_000_000, 20  # facts of the store that is measured, and their relations


def measure(scale: int = 1) -> dict[str, Any]:
    """Bytes an entity and a fact, and rates. :param scale: divides the sizes, for tests."""
    facts = 2048 // scale
    training = {}
    for rank in RANKS:
        small, large = 50_000 // scale, 150_000 // scale
        at = {size: _train(size, rank, facts) for size in (small, large)}
        work = 6 * 2 * rank * (at[large]["queries"] * large - at[small]["queries"] * small)
        training[str(rank)] = {
            "bytes_per_entity": (at[large]["peak_bytes"] - at[small]["peak_bytes"]) / (large - small),
            "operations_per_cpu_s": work / max(at[large]["cpu_s"] - at[small]["cpu_s"], 1e-9),
            "sizes": [small, large],
        }
    return {"training": training, "store": _store(STORED // scale)}


def calculate(measured: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each large graph and rank. Queries are taken to be two a fact, the most there can be."""
    rows = []
    for graph in LARGE:
        for rank in RANKS:
            of_rank = measured["training"][str(rank)]
            operations = 6 * 2 * rank * graph.entities * 2 * graph.facts
            rows.append(
                {
                    "graph": graph.name,
                    "entities": graph.entities,
                    "facts": graph.facts,
                    "rank": rank,
                    "training_bytes": graph.entities * of_rank["bytes_per_entity"],
                    "operations_per_epoch": operations,
                    "core_days_per_epoch": operations / of_rank["operations_per_cpu_s"] / 86_400,
                    "hours_at_100_teraflops": operations / 1e14 / 3600,
                    "disk_bytes": graph.facts * measured["store"]["disk_bytes_per_fact"],
                    "load_hours": graph.facts / measured["store"]["facts_per_s"] / 3600,
                    "array_bytes": graph.facts * 24,
                }
            )
    return rows


class ScaleRuns(Kind):
    """A measurement of this machine, and the calculation that rests on it."""

    title = "kg-scale"

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        """Measure, by the "scale" of the settings."""
        return measure(job.settings["scale"])

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{found['store']['disk_bytes_per_fact']:,.0f} bytes a fact on disk"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """What was measured, and the rows of the calculation."""
        [measured] = found.values()
        return {"measured": measured, "large": calculate(measured)}

    def headline(self, results: Mapping[str, Any]) -> str:
        """The calculation, what was measured, and from where the sizes are."""
        [row] = results["rows"]
        measured, store = row["measured"], row["measured"]["store"]
        lines = [*table(list(_COLUMNS), [[told(one) for told in _COLUMNS.values()] for one in row["large"]])]
        lines += ["", "Measured here:", ""]
        for rank, one in measured["training"].items():
            low, high = one["sizes"]
            rate = f"{one['operations_per_cpu_s'] / 1e9:,.0f} GFLOP/s on a core"
            lines.append(
                f"- training at rank {rank} with bfloat16 products and batches of {BATCH} queries, {low:,} and "
                f"{high:,} entities: {one['bytes_per_entity']:,.0f} bytes an entity, {rate};"
            )
        sources = "; ".join(f"{one.name}: {one.source}" for one in LARGE)
        lines += [
            f"- a graph on disk, {store['facts']:,} facts: {store['disk_bytes_per_fact']:,.0f} bytes a fact, "
            f"{store['facts_per_s']:,.0f} facts/s loaded from a file.",
            "",
            "Two queries a fact are assumed, the most there can be; facts that share a query make it less. Processes "
            "share the entities, and with them memory and work. Rates of other machines are not measured: the column "
            f"at 100 TFLOP/s is what a card that sustains as much would take. Sizes: {sources}.",
            "",
            *made_lines(results),
        ]
        return "\n".join(lines) + "\n"

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """What a page shows."""
        return self.headline(results)


_COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "graph": lambda row: row["graph"],
    "entities": lambda row: f"{row['entities']:,}",
    "facts": lambda row: f"{row['facts']:,}",
    "rank": lambda row: str(row["rank"]),
    "memory of training": lambda row: _size(row["training_bytes"]),
    "processes of 80 GB": lambda row: str(-int(-row["training_bytes"] // 72e9)),  # a tenth is left for the rest
    "matrix work an epoch": lambda row: f"{row['operations_per_epoch']:.1e}",
    "here, one core": lambda row: f"{row['core_days_per_epoch']:,.1f} days",
    "at 100 TFLOP/s": lambda row: f"{row['hours_at_100_teraflops']:.2f} h",
    "store on disk": lambda row: _size(row["disk_bytes"]),
    "loading it": lambda row: f"{row['load_hours']:.1f} h",
}

EXPERIMENTS = {
    "kg-scale": Experiment(
        "kg-scale",
        "-",
        "What of a graph fits where, from bytes and rates measured here",
        ScaleRuns(),
        {"this machine": Condition({"scale": 1})},
        seeds=1,
    )
}


def _train(entities: int, rank: int, facts: int) -> dict[str, float]:
    command = [sys.executable, "-c", _TRAIN, *map(str, (entities, rank, facts, BATCH))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def _store(facts: int) -> dict[str, float]:
    """Disk and time of a store that is loaded from a file with so many facts and a fifth as many entities."""
    import numpy as np

    from gumption.kg import KnowledgeGraph

    entities = max(facts // 5, 10)
    ids = draw_facts(facts, entities, np.random.default_rng(0))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "facts.nt"
        write_facts(path, ids, [f"thing {i}" for i in range(entities)], [f"relation {i}" for i in range(RELATIONS)])
        started = perf_counter()
        with KnowledgeGraph(Path(folder) / "graph") as graph:
            count = graph.load_file(path, graph="random")
        seconds = perf_counter() - started
        size = sum(file.stat().st_size for file in (Path(folder) / "graph").rglob("*") if file.is_file())
    return {"facts": count, "disk_bytes_per_fact": size / count, "facts_per_s": count / seconds}


def draw_facts(number: int, entities: int, rng: np.random.Generator) -> np.ndarray:
    """(number, 3) int64 ids of distinct facts over 20 relations, a few of the entities in very many of them."""
    import numpy as np

    keys = np.empty(0, dtype=np.int64)
    while len(keys) < number:
        # The entity of rank i comes with a probability proportional to i ** (-2 / 3).
        subjects, objects = (entities * rng.random((2, number)) ** 3).astype(np.int64)
        drawn = (subjects * RELATIONS + rng.integers(0, RELATIONS, number)) * entities + objects
        keys = np.unique(np.concatenate([keys, drawn]))
    keys = rng.permutation(keys)[:number]
    return np.stack([keys // (RELATIONS * entities), keys // entities % RELATIONS, keys % entities], axis=1)


def write_facts(file: Path, ids: np.ndarray, names: list[str], relations: list[str]) -> None:
    """Write (n, 3) ids of facts as N-Triples."""
    from gumption.kg.vocabulary import ENTITY, RELATION, label_to_iri

    subjects = [f"<{label_to_iri(name, ENTITY)}>" for name in names]
    predicates = [f"<{label_to_iri(name, RELATION)}>" for name in relations]
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{subjects[s]} {predicates[p]} {subjects[o]} .\n" for s, p, o in ids.tolist())


def _size(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
