"""ComplEx here and in PyKEEN on one data set: the MRR of validation and test facts over the CPU time of training.

Both have the same rank, batch size, learning rate and N3, start from the same distribution, and are ranked by the same
evaluator at the same epochs. Setting up is timed, ranking is not. The figures of the table are those of the best epoch
by validation facts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.provenance import without_folders
from gumption.data.sealed import write_sealed
from gumption.data.settings import settings
from gumption.scripts.kg.fit import read_settings, read_training_facts
from gumption.scripts.kg.parts import rank_part, read_dataset
from gumption.scripts.papers.kg import experiments as of_graphs
from gumption.scripts.papers.kg.experiments import PLACES, LinkPredictionRuns
from gumption.scripts.results import FINAL, Condition, Experiment, Job

if TYPE_CHECKING:
    from gumption.kg.links.predictor import LinkPredictor
    from gumption.kg.links.ranking import Ranks
    from gumption.scripts.kg.fit import TrainingInput

PEER = "pykeen"  # the method of a condition that PyKEEN trains
SHARED = ("rank", "epochs", "batch_size", "learning_rate", "n3", "seed")  # what PyKEEN is told, too
_UNUSED = ("seed", "patience")  # of a file: seeds are the experiment's, and curves go to the end


@settings
class Options:
    """Of the command line, for the comparison alone."""

    dataset: Annotated[
        str | None,
        typer.Option(help="A data set that PyKEEN knows, or a folder of train, valid and test facts (.txt or .tsv)."),
    ] = None
    tuned: Annotated[
        Path | None,
        typer.Option(help="JSON of settings, as best.json of `gumption kg tune`; PyKEEN gets those it has."),
    ] = None


class ComparisonRuns(LinkPredictionRuns):
    """Settings are what `ComplEx.fit` is told, of which PyKEEN gets `SHARED`; `method` says who trains."""

    title = "a comparison with PyKEEN"
    options = Options

    def settings(self, options: Any, device: str) -> dict[str, Any]:
        """The data set and the settings of a file; InputError where either cannot be read, or for a GPU."""
        if options.dataset is None:
            raise InputError("give a data set with --dataset: a name that PyKEEN knows, or a folder")
        if device != "cpu":
            raise InputError(f"--device {device}: CPU time is compared; leave it out")
        tuned = {} if options.tuned is None else read_settings(options.tuned)
        read_dataset(options.dataset)  # is downloaded once, before there are workers
        return {
            "facts": options.dataset,
            "device": device,
            **{name: tuned[name] for name in tuned if name not in _UNUSED},
        }

    def header(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        """PyKEEN's version, and the command as it was typed."""
        command = without_folders(["python", "-m", "tests.bench", *sys.argv[1:]])
        return {"pykeen": version("pykeen"), "command": command}

    def run(self, job: Job, progress: bool) -> None:
        """Train, and rank at each look."""
        facts = read_training_facts(None, job.settings["facts"])
        curve = Curve(facts, job.settings["valid_every"], job.settings["epochs"])
        started = perf_counter()
        (_train_theirs if job.method == PEER else _train_ours)(facts, job, curve.look)
        assert curve.best is not None
        final = {
            "facts": {part: len(rows) for part, rows in facts.parts.items()},
            "facts_sha256": facts.hash(),
            "test": curve.best.figures(),
            "by_side": curve.best.by_side(),
            "by_relation": curve.best.by_relation(),
            "curve": curve.rows,
            "wall_s": round(perf_counter() - started, 1),
            "cpu_s": curve.rows[-1]["cpu_s"],
        }
        write_sealed(job.directory / FINAL, final)

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """The curves over CPU time, those of validation facts and of test facts side by side."""
        from gumption.agents.plots import Line, Panel, Scale, plot_curves

        scale = Scale("MRR", form=".3f", steps="CPU seconds of training")
        panels = []
        for part, figure in (("validation facts", "valid_mrr"), ("test facts", "test_mrr")):
            lines = []
            for row in results["rows"]:
                curves = [run["curve"] for run in row["runs"].values()]
                seconds = [sum(look["cpu_s"] for look in looks) / len(looks) for looks in zip(*curves, strict=True)]
                lines.append(Line(row["condition"], seconds, [[look[figure] for look in curve] for curve in curves]))
            panels.append(Panel(part, lines, scale=scale))
        name = Path(next(iter(results["rows"]))["settings"]["facts"]).name
        return list(plot_curves(panels, directory / "curves", f"{experiment.title}: {name}"))


class Curve:
    """What the looks at a training found.

    :ivar rows: epoch, CPU seconds of the training until then, MRR of validation and of test facts.
    :ivar best: the ranks of the test facts at the best epoch by validation facts.
    """

    def __init__(self, facts: TrainingInput, every: int, last: int) -> None:
        self.facts, self.every, self.last = facts, every, last
        self.rows: list[dict[str, float]] = []
        self.best: Ranks | None = None
        self.seconds = 0.0

    def look(self, epoch: int, seconds: float, model: LinkPredictor) -> None:
        """Rank where it is due.

        :param seconds: of the epoch.
        """
        self.seconds += seconds
        if epoch % self.every and epoch != self.last:
            return
        vocabulary, parts = self.facts.vocabulary, self.facts.parts
        valid = rank_part(model, vocabulary, parts, "valid").figures()["mrr"]
        ranks = rank_part(model, vocabulary, parts)
        if valid > max((row["valid_mrr"] for row in self.rows), default=-1.0):
            self.best = ranks
        found = {"valid_mrr": valid, "test_mrr": ranks.figures()["mrr"]}
        self.rows.append({"epoch": epoch, "cpu_s": round(self.seconds, 4), **found})


def _train_ours(facts: TrainingInput, job: Job, look: Any) -> None:
    from gumption.kg.links.training_settings import TrainingSettings

    from .training import train_timed

    settings = {name: value for name, value in job.settings.items() if name not in PLACES}
    train_timed(facts.vocabulary, facts.train, TrainingSettings(**settings, seed=job.seed), look)


def _train_theirs(facts: TrainingInput, job: Job, look: Any) -> None:
    from .pykeen_peer import train_pykeen

    told = {name: job.settings[name] for name in SHARED}
    train_pykeen(facts.vocabulary, facts.train, **told, look=look)


_SETTINGS = {"rank": 100, "epochs": 50, "batch_size": 256, "learning_rate": 0.1, "n3": 0.05, "valid_every": 5}

EXPERIMENTS = {
    "link-prediction": Experiment(
        "link-prediction",
        "-",
        "ComplEx with N3, here and in PyKEEN",
        ComparisonRuns(),
        {"gumption": Condition(_SETTINGS), "PyKEEN": Condition(_SETTINGS, method=PEER)},
        "none; both are measured here.",
        "Here each fact weighs the same, in PyKEEN's loop (LCWA) each query with all its answers.",
        seeds=3,
    )
}
# The command, and the tests of the saved tables, find it among the experiments on graphs.
of_graphs.EXPERIMENTS.update(EXPERIMENTS)


def main() -> None:
    """`python -m tests.bench link-prediction` has the options of `gumption experiment`."""
    from gumption.scripts.experiment import app

    app(prog_name="python -m tests.bench")
