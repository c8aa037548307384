"""`gumption gradual run`: an agent goes through a curriculum, and its progress is drawn while it does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.settings import Count, Seconds, settings
from gumption.envs.gradual.settings import SessionSettings
from gumption.scripts.apps import App, from_config

from .agent_names import AgentName, find_agent

if TYPE_CHECKING:
    from rich.table import Table

    from gumption.envs.gradual.engine import TaskRecord

app = App(add_completion=False)

RESULT, PLOT, KNOWLEDGE = "result.json", "steps", "knowledge.nq"
_SHOWN = 24  # tasks that a terminal has room for
_WIDEST = 30  # characters of a bar


@settings
class RunSettings(SessionSettings):
    """What is played.

    :ivar max_steps: end after so many bytes.
    :ivar max_seconds: end after so long; the challenge gave 24 hours.
    :ivar memory: keep every byte, reply and reward in OUT/memory, for `gumption gradual watch OUT`.
    """

    max_steps: Count | None = 1_000_000
    max_seconds: Seconds | None = None
    memory: bool = False


@app.command("run", epilog="Example: gumption gradual run --agent table --tasks micro1,micro2 --out run")
@from_config(RunSettings, flags={"success_threshold": "threshold"})
def run(*, config: RunSettings, agent: AgentName = "learner", out: Path | None = None) -> None:
    """Run an agent through a curriculum: steps of each task, beside those of a perfect knower.

    Steps are bytes that the environment sends; the fewer, the better (Evaluation criteria 1). What the learner has
    learned is kept as a graph, and a second run can begin with it: --agent knowledge.nq.

    :param out: Folder for result.json, steps.png and steps.svg, and knowledge.nq.
    """
    from rich.console import Console

    from gumption.agents.gradual import GradualLearner
    from gumption.agents.gradual.baselines import play_knower
    from gumption.agents.plots import plot_steps
    from gumption.data.sealed import write_sealed
    from gumption.data.writing import check_writable
    from gumption.envs.gradual import MemoryWriter, Session
    from gumption.envs.memory import FOLDER
    from gumption.kg import KnowledgeGraph

    from .results import ENDS, described

    if out is not None:
        check_writable(out / RESULT)
    elif config.memory:
        raise InputError("--memory keeps the steps in OUT/memory: say with --out where that is")
    curriculum, threshold = config.curriculum(), config.success_threshold
    threshold = curriculum.success_threshold if threshold is None else threshold
    make = find_agent(agent)
    knower = {one.task: one.steps for one in play_knower(curriculum, config.seed, threshold).tasks}
    player = make(config.seed)
    memory = nullcontext()
    if out is not None and config.memory:
        memory = MemoryWriter(out / FOLDER, [task.name for task in curriculum.tasks], keep=0)
    with Progress(knower) as progress, memory as writer:
        result = Session(
            curriculum.tasks, player, success_threshold=threshold, seed=config.seed,
            max_steps=config.max_steps, max_seconds=config.max_seconds, watch=progress.show, memory=writer,
        ).run()  # fmt: skip
    console = Console()
    console.print(progress.table(result.tasks))
    passed = sum(one.passed for one in result.tasks)
    ended = f"{ENDS[result.ended]} after {result.steps:,} steps"
    console.print(f"{passed} of {len(knower)} tasks passed; {ended}; a perfect knower: {sum(knower.values()):,}")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_sealed(out / RESULT, {**described(config), "agent": agent, "knower": knower, **result.figures()})
        if isinstance(player, GradualLearner):
            graph = KnowledgeGraph()
            player.update(graph)
            graph.save(out / KNOWLEDGE)
        plot_steps({agent: {one.task: one.steps for one in result.tasks if one.passed}}, knower, out / PLOT)
    if result.error is not None:
        raise InputError(f"{result.error} (at step {result.steps:,}, in {result.tasks[-1].task})")


class Progress:
    """The tasks so far, drawn anew while an agent plays: in place on a terminal, else a line now and then."""

    def __init__(self, knower: dict[str, int]) -> None:
        """:param knower: task -> steps of a perfect knower."""
        from gumption.data.progress import Bar

        self._knower = knower
        self._live: Any = None
        self._bar: Bar | None = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=8)
        else:
            self._bar = Bar(len(knower), "tasks")

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, steps: int, records: Sequence[TaskRecord]) -> None:
        """What has been reached after so many steps."""
        if self._live is not None:
            self._live.update(self.table(records[-_SHOWN:]))
        elif self._bar is not None:
            self._bar.show(sum(one.passed for one in records), f"{records[-1].task}, {steps:,} steps")

    def table(self, records: Sequence[TaskRecord]) -> Table:
        """A row for each task, with a bar of its steps in units of the knower's."""
        from rich.table import Table

        table = Table("task", "steps", "knower", "times", "instances", "right", "", title="Gradual")
        for one in records:
            knower = self._knower[one.task]
            times = one.steps / knower
            bar = "█" * min(_WIDEST, round(times)) + ("…" if times > _WIDEST else "")
            right = f"{one.right / one.questions:.0%}" if one.questions else "-"
            state = "" if one.passed else " (not passed)"
            table.add_row(
                one.task + state, f"{one.steps:,}", f"{knower:,}", f"{times:.1f}", str(one.instances), right, bar
            )
        return table
