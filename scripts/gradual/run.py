"""`gumption gradual run`: an agent goes through a curriculum, and its progress is drawn while it does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data.settings import Count, Seconds, Seed
from gumption.scripts.apps import App

from .agent_names import AgentName, find_agent

if TYPE_CHECKING:
    from rich.table import Table

    from gumption.envs.gradual.engine import TaskRecord

app = App(add_completion=False)

SCHEMA = "gumption/gradual-run/1"
Tasks = Annotated[list[str] | None, typer.Option("--task", help="Only this task; may be given again.")]
Quirks = Annotated[bool, typer.Option("--upstream-quirks", help="Behave as the program of 2017, faults included.")]
_SHOWN = 24  # tasks that a terminal has room for


@app.command("run", epilog="Example: gumption gradual run --agent table --task micro1 --task micro2 --out run")
def run(
    agent: AgentName = "table",
    task: Tasks = None,
    threshold: Annotated[Count, typer.Option(help="Solved instances in a row that end a task.")] = 5,
    seed: Annotated[Seed, typer.Option(help="Draws the instances, and what the agent draws.")] = 0,
    max_steps: Annotated[Count | None, typer.Option(help="End after so many bytes.")] = 1_000_000,
    max_seconds: Annotated[Seconds | None, typer.Option(help="End after so long; the challenge gave 24 hours.")] = None,
    upstream_quirks: Quirks = False,
    out: Annotated[Path | None, typer.Option(help="Folder for result.json and steps.png, steps.svg.")] = None,
) -> None:
    """Run an agent through the curriculum: steps of each task, beside those of a perfect knower.

    Steps are bytes that the environment sends; the fewer, the better (Evaluation criteria 1).
    """
    from rich.console import Console

    from gumption.agents.gradual.baselines import play_knower
    from gumption.data.provenance import command_line, hardware, versions
    from gumption.data.writing import check_writable, write_json
    from gumption.envs.gradual import Rules, Session, challenge, of_names

    if out is not None:
        check_writable(out / "result.json")
    rules = Rules(upstream_quirks=upstream_quirks)
    curriculum = challenge(rules) if task is None else of_names(task, rules)
    make = find_agent(agent)
    knower = {one.task: one.steps for one in play_knower(curriculum, seed, threshold).tasks}
    progress = Progress([one.name for one in curriculum.tasks], knower)
    started = perf_counter()
    with progress:
        result = Session(
            curriculum.tasks, make(seed), success_threshold=threshold, seed=seed, max_steps=max_steps,
            max_seconds=max_seconds, watch=progress.show,
        ).run()  # fmt: skip
    seconds = perf_counter() - started
    console = Console()
    console.print(progress.table(result.tasks))
    passed = sum(one.passed for one in result.tasks)
    ended = {"solved": "all tasks were passed", "steps": "the limit of steps", "seconds": "the limit of time"}
    console.print(
        f"{result.steps:,} steps (a perfect knower: {sum(knower.values()):,}), {passed} of {len(knower)} tasks passed; "
        f"ended by {ended.get(result.ended, result.error)}; {seconds:.1f} s"
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / "result.json", {
            "schema": SCHEMA, "agent": agent, "seed": seed, "success_threshold": threshold, "max_steps": max_steps,
            "upstream_quirks": upstream_quirks, "curriculum": curriculum.name, "knower": knower,
            **result.figures(), "wall_s": round(seconds, 2), "command": command_line(sys.argv[1:]),
            "hardware": hardware(), "versions": versions(),
        })  # fmt: skip
        from gumption.agents.gradual.plots import plot_steps

        plot_steps({agent: {one.task: one.steps for one in result.tasks if one.passed}}, knower, out / "steps")
    if result.error is not None:
        raise typer.Exit(2)


class Progress:
    """The tasks so far, drawn anew while an agent plays: in place on a terminal, else a line now and then."""

    def __init__(self, names: Sequence[str], knower: dict[str, int]) -> None:
        from gumption.data.progress import Bar

        self._names, self._knower = names, knower
        self._live: Any = None
        self._bar: Bar | None = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=8)
        else:
            self._bar = Bar(len(names), "tasks")

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
            bar = "█" * min(30, round(times)) + ("…" if times > 30 else "")
            right = f"{one.right / one.questions:.0%}" if one.questions else "-"
            state = "" if one.passed else " (not passed)"
            table.add_row(
                one.task + state, f"{one.steps:,}", f"{knower:,}", f"{times:.1f}", str(one.instances), right, bar
            )
        return table
