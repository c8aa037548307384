"""`gumption gradual validate`: does an agent learn gradually, and does it forget?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data.settings import Count
from gumption.scripts.apps import App

from .agent_names import AgentName, find_agent

if TYPE_CHECKING:
    from gumption.agents.gradual.validation import Chain

app = App(add_completion=False)

SCHEMA = "gumption/gradual-validation/1"
Chains = Annotated[
    list[str] | None,
    typer.Option("--chain", help="TASK,...>TASK: what is learned first, and what builds on it; may be given again."),
]


@app.command("validate", epilog="Example: gumption gradual validate --agent table --chain 'micro1>micro2' --seeds 3")
def validate(
    agent: AgentName = "table",
    chain: Chains = None,
    forget: Annotated[
        list[str] | None, typer.Option("--again", help="Play this task again after all; may be given again.")
    ] = None,
    seeds: Annotated[Count, typer.Option(help="Runs of either arm of a chain.")] = 5,
    max_steps: Annotated[Count, typer.Option(help="Of each task.")] = 200_000,
    threshold: Annotated[Count, typer.Option(help="Solved instances in a row that end a task.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON.")] = None,
) -> None:
    """Compare the steps on a task after its prerequisites with those of the same agent without them.

    Without --chain these are the dependencies that the challenge's document names. With --again tasks are learned in
    the given order and then played again (Evaluation criteria 2 and 3).
    """
    from rich.console import Console
    from rich.table import Table

    from gumption.agents.gradual.validation import CHAINS, gradual_learning, not_forgetting
    from gumption.data.provenance import command_line, hardware, versions
    from gumption.data.writing import check_writable, write_json

    if out is not None:
        check_writable(out)
    make = find_agent(agent)
    chosen = CHAINS if chain is None else [read_chain(text) for text in chain]
    console = Console()
    found = []
    with Console(stderr=True).status("validating") as status:

        def tell(text: str) -> None:
            status.update(text)

        settings: dict[str, Any] = {"seeds": seeds, "max_steps": max_steps, "success_threshold": threshold}
        for one in gradual_learning(make, chosen, tell=tell, **settings) if chosen else ():
            found.append(one)
        again = not_forgetting(make, forget, tell=tell, **settings) if forget else []
    table = Table("chain", "steps after", "steps alone", "ratio", "at most", "p", "passed", title="Gradual learning")
    for one in found:
        table.add_row(one.chain, _steps(one.after), _steps(one.alone), f"{one.ratio:.2f}", f"{one.at_most:.2f}",
                      f"{one.p:.3f}", "yes" if one.passed else "no")  # fmt: skip
    console.print(table)
    if again:
        table = Table("task", "steps when new", "steps again", "kept", title="Not forgetting")
        for one in again:
            table.add_row(one.task, _steps(one.first), _steps(one.again), "yes" if one.kept else "no")
        console.print(table)
    if out is not None:
        write_json(out, {
            "schema": SCHEMA, "agent": agent, **settings,
            "chains": [one.figures() for one in found], "again": [one.figures() for one in again],
            "command": command_line(sys.argv[1:]), "hardware": hardware(), "versions": versions(),
        })  # fmt: skip


def read_chain(text: str) -> Chain:
    """The chain in "micro1,micro2>micro3".

    :raises InputError: another form.
    """
    from gumption.agents.gradual.validation import Chain
    from gumption.data import InputError

    first, arrow, target = text.partition(">")
    names = tuple(name.strip() for name in first.split(",") if name.strip())
    if not (arrow and names and target.strip()):
        raise InputError(f"--chain is {text!r}; it has the form micro1,micro2>micro3")
    return Chain(names, target.strip())


def _steps(steps: tuple[int | None, ...]) -> str:
    """The median and how many runs passed."""
    from statistics import median

    passed = sorted(one for one in steps if one is not None)
    if not passed:
        return f"none of {len(steps)} passed"
    told = f"{median(passed):,.0f}"
    return told if len(passed) == len(steps) else f"{told} ({len(passed)} of {len(steps)} passed)"
