"""Link prediction against published figures: the settings as data, the runs, and the table and curves made of them.

A run trains ComplEx on train.txt, keeps the best epoch by valid.txt and is ranked on test.txt, filtered by all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.settings import settings
from gumption.scripts.parts import check_parts, rank_part, read_parts
from gumption.scripts.results import Condition, Experiment, Job, Kind, number, table

PLACES = ("facts", "device", "seed")  # settings of a run that `ComplEx.fit` is not told as they are


@settings
class Options:
    """Of the command line, for link prediction alone."""

    facts: Annotated[Path | None, typer.Option(help="Folder of train.txt, valid.txt and test.txt.")] = None


class LinkPredictionRuns(Kind):
    """Link prediction on a data set: settings are what `ComplEx.fit` is told beside its defaults, `known` the published
    MRR, and `expected` says where it is from."""

    title = "link prediction"
    source = "Published: "
    options = Options

    def settings(self, options: Options, device: str) -> dict[str, Any]:
        """The folder of the facts, and the device; InputError where it is missing or has not all of them."""
        if options.facts is None:
            raise InputError("give the folder of train.txt, valid.txt and test.txt with --facts")
        check_parts(options.facts, "the data set with --facts")
        return {"facts": str(options.facts), "device": device}

    def measure(self, job: Job, progress: bool) -> dict[str, Any]:
        return fit_and_rank(job, progress)

    def words(self, found: Mapping[str, Any]) -> str:
        return f"test MRR {found['test']['mrr']:.4f}"

    def figures(self, condition: Condition, found: Mapping[str, Any]) -> dict[str, Any]:
        """The published figure, and all that each run has written, by its seed."""
        return {"published": condition.known, "target": condition.target, "runs": dict(found)}

    def body(self, experiment: Experiment, results: Mapping[str, Any]) -> list[str]:
        """The table, and the figures by relation."""
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
        """MRR and hits of each setting, mean over seeds with the lowest and highest: what the README shows."""
        heads = [
            "setting",
            "seeds",
            "test MRR",
            "Hits@1",
            "Hits@3",
            "Hits@10",
            "published MRR",
            "wall time",
            "CPU time",
        ]
        lines = []
        for row in results["rows"]:
            runs = list(row["runs"].values())
            hits = [f"{_mean([run['test'][name] for run in runs]):.3f}" for name in ("hits@1", "hits@3", "hits@10")]
            times = [_minutes([run[name] for run in runs]) for name in ("wall_s", "cpu_s")]
            cells = [row["condition"], str(len(runs)), _mrr(row), *hits, number(row["published"], ".2f"), *times]
            lines.append(cells)
        return "\n".join(table(heads, lines)) + "\n"


KIND = LinkPredictionRuns()
_WN18RR = {"learning_rate": 0.1, "batch_size": 256, "valid_every": 5, "precision": "bfloat16"}

EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment(
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
        ),
    )
}


def fit_and_rank(job: Job, progress: bool) -> dict[str, Any]:
    """Train and rank one run."""
    from gumption.kg import ComplEx

    settings = {name: value for name, value in job.settings.items() if name not in PLACES}
    folder, device = Path(job.settings["facts"]), job.settings["device"]
    vocabulary, ids = read_parts(folder)
    state = job.directory / "training"
    whole = not state.exists()  # a resumed run cannot tell how long it took
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


def _mrr(row: Mapping[str, Any]) -> str:
    """Mean over the runs, with the lowest and highest."""
    mrrs = [run["test"]["mrr"] for run in row["runs"].values()]
    return f"{_mean(mrrs):.4f}" + (f" ({min(mrrs):.4f} to {max(mrrs):.4f})" if len(mrrs) > 1 else "")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _minutes(seconds: Sequence[float | None]) -> str:
    told = [one for one in seconds if one is not None]
    return f"{_mean(told) / 60:.1f} min" if told else "-"
