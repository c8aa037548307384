"""What an experiment is, in every world: its conditions as data, and its kind, which knows how one becomes a run.

`jobs.py` plans and runs an experiment and `report.py` collects and writes its results, both for every kind alike. A
world offers its experiments as "experiments" in its entry of envs/worlds.py: name -> Experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data.settings import settings

if TYPE_CHECKING:
    from rich.console import RenderableType

FINAL = "final.json"  # of a run, written last, unless its kind names another file


@dataclass(frozen=True)
class Condition:
    """One row of an experiment.

    :ivar settings: fields of a run's config in which it differs from the defaults.
    :ivar method: how its figures come about: by training, or in another way that the kind knows.
    :ivar panels: the parts of the table and of the plots that it is in.
    :ivar of: the condition that this one looks into. It runs after that one, is given the run with the same seed, and
        is drawn in the same colour.
    :ivar known: a figure of the paper or of another code; `target` what this project holds itself to.
    :ivar on_demand: run only where --setting names it.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    method: str = "train"
    panels: tuple[str, ...] = ()
    of: str | None = None
    known: float | None = None
    target: float | None = None
    on_demand: bool = False


@dataclass(frozen=True)
class Job:
    """One condition with one seed: the fields of the config to run it with, and where its run directory is.

    :ivar source: the run directory, with the same seed, of the condition that this one looks into.
    :ivar last: the file that a run writes last.
    """

    label: str
    seed: int
    method: str
    settings: Mapping[str, Any]
    directory: Path
    source: Path | None = None
    last: str = FINAL

    @property
    def complete(self) -> bool:
        """Whether the last thing that a run does is done."""
        return (self.directory / self.last).is_file()


@settings
class NoOptions:
    """A kind without options of its own."""


class Kind:
    """What is particular to the experiments of one world, or to another kind of experiment.

    :cvar title: whose they are, in messages: "WordCraft's experiments".
    :cvar options: a dataclass of the command line's options that these experiments alone read.
    :cvar last: the file that a run writes last.
    :cvar fixed: what `header` tells that must be the same for all runs of a folder.
    """

    title: str = ""
    options: type[Any] = NoOptions
    last: str = FINAL
    fixed: tuple[str, ...] = ()

    def settings(self, options: Any, device: str) -> dict[str, Any]:
        """The fields of the config that the command line sets for every condition.

        :raises InputError: an option that is missing.
        """
        return {"device": device}

    def header(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        """What plan.json tells beside command, versions, hardware and workers: names and hashes of the data."""
        return {}

    def prepare(self, jobs: Sequence[Job], out: Path) -> list[Job]:
        """The jobs, once what several of them need is made in the folder `out`."""
        return list(jobs)

    def run(self, job: Job, progress: bool) -> None:
        """Do the work of one job; `last` is written when it is complete."""
        raise NotImplementedError

    def told(self, job: Job) -> str:
        """What a complete run came to, in a few words."""
        raise NotImplementedError

    def row(self, condition: Condition, runs: Mapping[int, Path]) -> dict[str, Any]:
        """The figures of a condition.

        :param runs: its complete run directories by seed.
        """
        raise NotImplementedError

    def more_rows(
        self, options: Any, plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Rows that are not of runs."""
        return []

    def more(self, rows: Sequence[Mapping[str, Any]], directory: Path) -> dict[str, Any]:
        """What results.json has beside its rows."""
        return {}

    def joined(
        self, results: Mapping[str, Any], saved: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """`more` of results together with saved ones, whose rows are `rows`."""
        return {}

    def markdown(self, experiment: Experiment, results: Mapping[str, Any]) -> str:
        """The whole table, with what it comes from: table.md."""
        raise NotImplementedError

    def headline(self, results: Mapping[str, Any]) -> str:
        """The short table that a page shows."""
        raise NotImplementedError

    def overview(self, results: Mapping[str, Any], experiment: Experiment) -> RenderableType:
        """The table for a terminal."""
        raise NotImplementedError

    def plots(self, experiment: Experiment, results: Mapping[str, Any], directory: Path) -> list[Path]:
        """Draw the results into the folder; the pictures that were written."""
        return []


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    :ivar figure: what it is called in its paper.
    :ivar conditions: by label, in the order of the table.
    :ivar expected: what the paper says comes out.
    :ivar notes: what to know when reading the result.
    :ivar seeds: runs of each condition, with the seeds 0, 1, ...
    :ivar base: settings of all conditions.
    :ivar varied: the setting over which agents are drawn, and what it is called on the axis.
    :ivar finish: called with the runs of the first seed by condition, and the folder, when all is complete; what it
        gives is told line by line.
    """

    name: str
    figure: str
    title: str
    kind: Kind
    conditions: Mapping[str, Condition]
    expected: str = ""
    notes: str = ""
    seeds: int = 5
    base: Mapping[str, Any] = field(default_factory=dict)
    varied: tuple[str, str] | None = None
    finish: Callable[[Mapping[str, Path], Path], Sequence[str]] | None = None
