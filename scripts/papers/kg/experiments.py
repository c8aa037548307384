"""Experiments on graphs: link prediction against published figures, and the resources that large graphs need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gumption.data import InputError
from gumption.data.settings import settings
from gumption.scripts.kg.parts import check_parts, rank_part, read_parts
from gumption.scripts.results import (
    Condition,
    Experiment,
    Job,
    Kind,
    made_lines,
    number,
    table,
)

if TYPE_CHECKING:
    import numpy as np


# ---- Link prediction: a run trains ComplEx on train.txt, keeps the epoch that is best on valid.txt, and ranks the
# facts of test.txt, filtered by all three files.

PLACES = ("facts", "device", "seed")  # settings of a run that are not settings of `ComplEx.fit`


@settings
class Options:
    """Options of the command line for link prediction."""

    facts: Annotated[Path | None, typer.Option(help="Folder of train.txt, valid.txt and test.txt.")] = None


class LinkPredictionRuns(Kind):
    """Link prediction on a data set: settings of `ComplEx.fit` that differ from its defaults, the published MRR as
    `known`, and its source as `expected`."""

    title = "link prediction"
    source = "Published: "
    code = ("kg/links",)
    options = Options

    def settings(self, options: Options, device: str) -> dict[str, Any]:
        """Return the folder of the facts and the device; raise InputError for a missing folder or part."""
        if options.facts is None:
            raise InputError("give the folder of train.txt, valid.txt and test.txt with --facts")
        check_parts(options.facts, "the data set with --facts")
        return {"facts": str(options.facts), "device": device}

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        """Train ComplEx and rank the test facts of a run."""
        from gumption.kg import ComplEx

        settings = {name: value for name, value in job.settings.items() if name not in PLACES}
        folder, device = Path(job.settings["facts"]), job.settings["device"]
        vocabulary, ids = read_parts(folder)
        state = job.directory / "training"
        whole = not state.exists()  # the total time of a resumed run is unknown
        wall, cpu = perf_counter(), process_time()
        train, valid = (vocabulary.ids_to_triples(ids[part]) for part in ("train", "valid"))
        model = ComplEx.fit(
            train, vocabulary=vocabulary, valid=valid, seed=job.seed, device=device, checkpoint=state,
            progress=progress, **settings,
        )  # fmt: skip
        wall, cpu = perf_counter() - wall, process_time() - cpu
        model.save(job.directory / "model")
        ranks = rank_part(model, vocabulary, ids)
        return {
            "facts": {part: len(rows) for part, rows in ids.items()},
            "facts_sha256": model.origin["facts"],
            "test": ranks.figures(),
            "by_side": ranks.by_side(),
            "by_relation": ranks.by_relation(),
            "history": model.origin["history"],
            "wall_s": round(wall, 1) if whole else None,
            "cpu_s": round(cpu, 1) if whole else None,
        }

    def words(self, found: Mapping[str, Any]) -> str:
        return f"test MRR {found['test']['mrr']:.4f}"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the published figure, and the result of each run by seed."""
        return {"published": condition.known, "target": condition.target, "runs": dict(found)}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """Return the table, then the figures by relation."""
        lines = [self.headline(results)]
        for row in results["rows"]:
            first = next(iter(row["runs"].values()))
            relations = (
                [name, str(one["facts"]), f"{one['mrr']:.3f}", f"{one['hits@10']:.3f}"]
                for name, one in first["by_relation"].items()
            )
            heads = ["relation", "test facts", "MRR", "Hits@10"]
            lines += [f"By relation, {row['condition']}, first seed:", "", *table(heads, relations), ""]
            told = ", ".join(f"{name} {value}" for name, value in row["settings"].items() if name not in PLACES)
            lines += [f"Settings: {told}. Facts sha256 {first['facts_sha256'][:12]}.", ""]
        return lines

    def headline(self, results: Mapping[str, Any]) -> str:
        """Return MRR (mean over seeds, lowest and highest) and mean hits of each setting, for the README."""
        hits_at = ("Hits@1", "Hits@3", "Hits@10")
        heads = ["setting", "seeds", "test MRR", *hits_at, "published MRR", "wall time", "CPU time"]
        lines = []
        for row in results["rows"]:
            runs = list(row["runs"].values())
            hits = [f"{fmean(run['test'][name.lower()] for run in runs):.3f}" for name in hits_at]
            known = ([run[name] for run in runs if run[name] is not None] for name in ("wall_s", "cpu_s"))
            times = [f"{fmean(seconds) / 60:.1f} min" if seconds else "-" for seconds in known]
            cells = [row["condition"], str(len(runs)), _mrr(row), *hits, number(row["published"], ".2f"), *times]
            lines.append(cells)
        return "\n".join(table(heads, lines)) + "\n"


KIND = LinkPredictionRuns()
_WN18RR = {"learning_rate": 0.1, "batch_size": 256, "valid_every": 5, "precision": "bfloat16"}

WN18RR = Experiment(
    "wn18rr",
    "-",
    "ComplEx with weighted N3 on WN18RR",
    KIND,
    {
        "rank 100": Condition({**_WN18RR, "rank": 100, "epochs": 60, "n3": 0.1}, known=0.47, target=0.47),
        "rank 500": Condition({**_WN18RR, "rank": 500, "epochs": 60, "n3": 0.1}, known=0.49, on_demand=True),
    },
    "Lacroix et al. (2018), and the figures by rank in the README of their code, kbc: 0.47 at rank 100 and "
    "0.49 at rank 500. In bfloat16 are the products with all entities; parameters, sums and gradients of "
    "single facts are float32.",
    seeds=3,
)


def _mrr(row: Mapping[str, Any]) -> str:
    mrrs = [run["test"]["mrr"] for run in row["runs"].values()]
    return f"{fmean(mrrs):.4f}" + (f" ({min(mrrs):.4f} to {max(mrrs):.4f})" if len(mrrs) > 1 else "")


# ---- Resources: bytes and rates measured on this machine, and a calculation for large graphs.
#
# Training takes memory per entity (parameters, Adagrad's sums, gradient, copy in low precision) and matrix work per
# query and entity: 6 * 2 * rank * N operations per query, in the three products of complex.py. It is measured at two
# sizes, so that the constant part of a process cancels. A store takes disk space per fact.

# Runs in a separate process, since peak memory never falls. Linux reports it as VmHWM; ru_maxrss includes the peak of
# the parent process.
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


class Large(NamedTuple):
    """A published graph with the counts by its authors."""

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
STORED, RELATIONS = 5_000_000, 20  # numbers of facts and relations of the measured store


def measure(scale: int = 1) -> dict[str, Any]:
    """Measure bytes per entity and per fact, and rates; `scale` divides the sizes, for tests."""
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
    """Return a row for each large graph and rank, at two queries per fact, the maximum."""
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
    """A measurement of this machine, and the calculated times and bytes of large graphs."""

    title = "kg-scale"
    code = ("kg/links", "kg/store")

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        return measure(job.settings["scale"])

    def words(self, found: Mapping[str, Any]) -> str:
        return f"{found['store']['disk_bytes_per_fact']:,.0f} bytes a fact on disk"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the measurement, and the rows of the calculation."""
        [measured] = found.values()
        return {"measured": measured, "large": calculate(measured)}

    def headline(self, results: Mapping[str, Any]) -> str:
        """Return the calculation, the measurement, and the sources of the sizes."""
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
        return "\n".join([self.headline(results), *self.age_lines(results)])


_COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "graph": lambda row: row["graph"],
    "entities": lambda row: f"{row['entities']:,}",
    "facts": lambda row: f"{row['facts']:,}",
    "rank": lambda row: str(row["rank"]),
    "memory of training": lambda row: _size(row["training_bytes"]),
    "processes of 80 GB": lambda row: str(-int(-row["training_bytes"] // 72e9)),  # a tenth stays free for other uses
    "matrix work an epoch": lambda row: f"{row['operations_per_epoch']:.1e}",
    "here, one core": lambda row: f"{row['core_days_per_epoch']:,.1f} days",
    "at 100 TFLOP/s": lambda row: f"{row['hours_at_100_teraflops']:.2f} h",
    "store on disk": lambda row: _size(row["disk_bytes"]),
    "loading it": lambda row: f"{row['load_hours']:.1f} h",
}

SCALE = Experiment(
    "kg-scale",
    "-",
    "What of a graph fits where, from bytes and rates measured here",
    ScaleRuns(),
    {"this machine": Condition({"scale": 1})},
    seeds=1,
)


EXPERIMENTS = {one.name: one for one in (WN18RR, SCALE)}


def _train(entities: int, rank: int, facts: int) -> dict[str, float]:
    command = [sys.executable, "-c", _TRAIN, *map(str, (entities, rank, facts, BATCH))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def _store(facts: int) -> dict[str, float]:
    """Measure disk space and time of loading a file of facts into a store, with a fifth as many entities as facts."""
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
    """Draw (number, 3) int64 ids of distinct facts over 20 relations; a few entities occur in very many facts."""
    import numpy as np

    keys = np.empty(0, dtype=np.int64)
    while len(keys) < number:
        # The probability of the entity of rank i is proportional to i ** (-2 / 3).
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
