"""The runs of SEGAR's experiments: train a learner, then measure it on training levels and on test levels.

Each run directory has what training leaves and, last, study.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data.sealed import read_sealed, write_sealed
from gumption.data.settings import settings
from gumption.scripts.experiments import Condition, Experiment, Job, Kind

from . import report

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Fields of a config at the size of the paper: pixels, and the parameters of its Table 1.
PAPER: dict[str, Any] = {
    "observation": "rgb",
    "resolution": 64,
    "total_steps": 1_000_000,
    "eval_interval": 100_000,
    "num_envs": None,
    "normalise_rewards": False,
    "learning_rate": 1e-4,
    "gamma": 0.999,
    "n_steps": 30,
    "minibatches": 4,
    "epochs": 1,
}
#: Observations with which a probe is trained and measured.
PROBED = 5_000


@settings
class Options:
    """Of the command line, for SEGAR's experiments alone."""

    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's size: 64 x 64 pixels, Table 1's parameters, 1,000,000 steps.")
    ] = False


class GapRuns(Kind):
    """How the gap between training and test levels goes with the distance between them."""

    title = "SEGAR's experiments"
    options = Options
    last = "study.json"

    def settings(self, options: Options, device: str) -> dict[str, Any]:
        """The device, and the paper's size where it is asked for."""
        return {"device": device, **(PAPER if options.paper else {})}

    def run(self, job: Job, progress: bool) -> None:
        """Train and measure."""
        from gumption.agents.segar.study import generalisation

        write_sealed(job.directory / self.last, generalisation(_trained(job, progress)))

    def told(self, job: Job) -> str:
        """Returns, and the gap."""
        found = read_sealed(job.directory / self.last)
        train, test = found["train"]["trained"], found["test"]["trained"]
        return f"return {train['return']:.2f}, on test levels {test['return']:.2f}, gap {found['test']['gap']:.3f}"

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """What each run was measured at."""
        found = {str(seed): report.rounded(read_sealed(run / self.last)) for seed, run in runs.items()}
        return {"panels": list(condition.panels), "runs": found}

    def more(self, rows: Sequence[Mapping[str, Any]], directory: Path) -> dict[str, Any]:
        """The correlations."""
        return {"correlations": report.correlations(self.relations(rows))}

    def joined(
        self, results: Mapping[str, Any], saved: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """The same of all rows."""
        return {"correlations": report.correlations(self.relations(rows))}

    def relations(self, rows: Sequence[Mapping[str, Any]]) -> list[report.Relation]:
        """Gap against distances, over all cells and cell by cell, and on harder levels."""
        return report.gap_relations(rows)

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """Correlations, conditions, and where they are from."""
        return report.markdown(results)

    def headline(self, results: Mapping[str, Any]) -> str:
        """The correlations."""
        return report.headline(results)

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> RenderableType:
        """The correlations."""
        return report.overview(results)

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Points and lines of best fit."""
        return report.plots(self.relations(results["rows"]), results["title"], directory)


class InformationRuns(GapRuns):
    """How the gap goes with what the encoder's features tell of the factors."""

    def run(self, job: Job, progress: bool) -> None:
        """Train, measure, and probe the encoder on training levels and on test levels."""
        from gumption.agents.segar.probe import ProbeSettings
        from gumption.agents.segar.study import generalisation, informed

        run = _trained(job, progress)
        found: dict[str, Any] = generalisation(run)
        for part in ("train", "test"):
            told = informed(run, run.config.draw(part), ProbeSettings(seed=job.seed), observations=PROBED)
            found[part]["information"] = told._asdict()
        write_sealed(job.directory / self.last, found)

    def relations(self, rows: Sequence[Mapping[str, Any]]) -> list[report.Relation]:
        """Gap against the accuracy of the probe, for each panel."""
        return report.information_relations(rows)


class CurveRuns(GapRuns):
    """How fast learners learn."""

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """The figures of each run, and the curves."""
        from gumption.agents.run_folder import read_metrics

        lines = [read_metrics(run) for run in runs.values()]
        names = ("step", "train_return", "train_success", "test_return", "test_success")
        curve = {name: [[report.rounded(line[name]) for line in run] for run in lines] for name in names}
        return {**super().row(condition, runs), "curve": curve}

    def relations(self, rows: Sequence[Mapping[str, Any]]) -> list[report.Relation]:
        """None: these are curves."""
        return []

    def headline(self, results: Mapping[str, Any]) -> str:
        """Returns and successes at the end."""
        return report.conditions_table(results)

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> RenderableType:
        """Returns and successes at the end."""
        return report.overview(results, self.headline(results))

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Success on the training levels over steps, a panel for each learner."""
        return report.plot_learning(results, directory)


def _trained(job: Job, progress: bool) -> Any:
    from gumption.agents.segar.config import SegarConfig
    from gumption.agents.segar.training import train_segar

    return train_segar(SegarConfig(**job.settings), job.directory, resume=True, progress=progress)
