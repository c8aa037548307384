"""Link prediction against published figures: the settings as data, the runs, and the table and curves made of them.

A run trains ComplEx on train.txt, keeps the best epoch by valid.txt and is ranked on test.txt, filtered by all three.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from gumption.data import InputError
from gumption.data.provenance import command_line, hardware, versions
from gumption.data.writing import write_json, write_text

from .jobs import FINAL, Job, read_json, run_jobs, slug
from .parts import check_parts, read_parts

RESULTS = "results.json"
TABLE = "table.md"


@dataclass(frozen=True)
class Setting:
    """One row: what `ComplEx.fit` is told beside its defaults, the published MRR and ours to reach."""

    fit: Mapping[str, Any]
    published: float | None = None
    target: float | None = None


@dataclass(frozen=True)
class LinkPrediction:
    """A data set with its settings by label; `source` says where the published figures are from."""

    name: str
    title: str
    source: str
    settings: Mapping[str, Setting]
    seeds: int = 3


_WN18RR = {"learning_rate": 0.1, "batch_size": 256, "valid_every": 5, "precision": "bfloat16"}

LINK_PREDICTION = {
    one.name: one
    for one in (
        LinkPrediction(
            "wn18rr",
            "ComplEx with weighted N3 on WN18RR",
            "Lacroix et al. (2018), and the figures by rank in the README of their code, kbc: 0.47 at rank 100 and "
            "0.49 at rank 500. In bfloat16 are the products with all entities; parameters, sums and gradients of "
            "single facts are float32.",
            {
                "rank 100": Setting({**_WN18RR, "rank": 100, "epochs": 60, "n3": 0.1}, 0.47, 0.47),
                "rank 500": Setting({**_WN18RR, "rank": 500, "epochs": 60, "n3": 0.1}, 0.49),
            },
        ),
    )
}


def run(
    experiment: LinkPrediction, labels: Sequence[str], facts: Path, seeds: Sequence[int], device: str, workers: int,
    out: Path,
) -> Iterator[tuple[Job, float]]:  # fmt: skip
    """Run what is not complete, each run in OUT/SETTING/seed-N; a stopped one goes on where it was.

    :param facts: the folder of train.txt, valid.txt and test.txt.
    """
    if unknown := [label for label in labels if label not in experiment.settings]:
        raise InputError(f"{experiment.name} has no setting {unknown[0]!r}; it has {', '.join(experiment.settings)}")
    check_parts(facts, f"{experiment.name} with --facts")
    jobs = [
        Job(label, seed, "train", {**experiment.settings[label].fit, "facts": str(facts), "device": device},
            out / slug(label) / f"seed-{seed}")
        for label in labels
        for seed in seeds
    ]  # fmt: skip
    return run_jobs(jobs, workers, fit_and_rank)


def fit_and_rank(job: Job, progress: bool) -> None:
    """Train and rank one run; its final.json is the last thing written."""
    from gumption.kg import ComplEx
    from gumption.kg.ranking import filtered_ranks

    settings = dict(job.settings)
    folder, device = Path(settings.pop("facts")), settings.pop("device")
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
    ranks = filtered_ranks(model, (vocabulary, ids["test"]), known=[(vocabulary, part) for part in ids.values()])
    final = {
        "facts": {part: len(rows) for part, rows in ids.items()},
        "facts_sha256": model.origin["facts"],
        "test": ranks.figures(),
        "by_side": ranks.by_side(),
        "by_relation": ranks.by_relation(),
        "history": model.origin["history"],
        "wall_s": round(wall, 1) if whole else None,
        "cpu_s": round(cpu, 1) if whole else None,
    }
    write_json(job.directory / FINAL, final)


def gather(experiment: LinkPrediction, out: Path, device: str, workers: int) -> dict[str, Any]:
    """The complete runs under `out` as the content of results.json; InputError where there is none."""
    rows = []
    for label, setting in experiment.settings.items():
        runs = {int(path.parent.name.removeprefix("seed-")): read_json(path)
                for path in (out / slug(label)).glob(f"seed-*/{FINAL}")}  # fmt: skip
        if runs:
            ordered = dict(sorted(runs.items()))
            rows.append({"label": label, **asdict(setting), "runs": ordered})
    if not rows:
        raise InputError(f"{out}: no run of {experiment.name} is complete yet")
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "command": command_line(sys.argv[1:]),
        "versions": versions(),
        "hardware": hardware(device),
        "workers": workers,
        "rows": rows,
    }


def write_report(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write results.json and table.md; returns their paths."""
    write_json(folder / RESULTS, results)
    write_text(folder / TABLE, markdown(results))
    return [folder / RESULTS, folder / TABLE]


def markdown(results: Mapping[str, Any]) -> str:
    """The table of the results, with what the figures come from below it."""
    machine = results["hardware"]
    lines = [f"# {results['experiment']}: {results['title']}", "", *headline(results).splitlines(), ""]
    for row in results["rows"]:
        first = next(iter(row["runs"].values()))
        lines += [f"By relation, {row['label']}, first seed:", "", "| relation | test facts | MRR | Hits@10 |"]
        lines.append("| --- | ---: | ---: | ---: |")
        lines += [
            f"| {name} | {one['facts']} | {one['mrr']:.3f} | {one['hits@10']:.3f} |"
            for name, one in first["by_relation"].items()
        ]
        told = ", ".join(f"{name} {value}" for name, value in row["fit"].items())
        lines += ["", f"Settings: {told}. Facts sha256 {first['facts_sha256'][:12]}.", ""]
    lines += [f"Published: {results['source']}", "", f"Command: `{results['command']}`", ""]
    lines.append(
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {results['workers']} run(s) at a time. Versions: "
        + ", ".join(f"{name} {version}" for name, version in results["versions"].items())
        + "."
    )
    return "\n".join(lines) + "\n"


def headline(results: Mapping[str, Any]) -> str:
    """MRR and hits of each setting, mean over seeds with the lowest and highest: what the README shows."""
    lines = ["| setting | seeds | test MRR | Hits@1 | Hits@3 | Hits@10 | published MRR | wall time | CPU time |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in results["rows"]:
        runs = list(row["runs"].values())
        mrrs = [run["test"]["mrr"] for run in runs]
        spread = f" ({min(mrrs):.4f} to {max(mrrs):.4f})" if len(mrrs) > 1 else ""
        hits = [f"{_mean([run['test'][name] for run in runs]):.3f}" for name in ("hits@1", "hits@3", "hits@10")]
        times = [_minutes([run[name] for run in runs]) for name in ("wall_s", "cpu_s")]
        published = "-" if row["published"] is None else f"{row['published']:.2f}"
        cells = [row["label"], str(len(runs)), f"{_mean(mrrs):.4f}{spread}", *hits, published, *times]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _minutes(seconds: Sequence[float | None]) -> str:
    told = [one for one in seconds if one is not None]
    return f"{_mean(told) / 60:.1f} min" if told else "-"
