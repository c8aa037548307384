"""Agents as they are named on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gumption.agents.gradual.validation import MakeAgent

AgentName = Annotated[
    str,
    typer.Option(
        "--agent",
        help="learner, silent, echo, random, table, knowledge.nq of an earlier run, the folder of a run of `pretrain`, "
        "or MODULE:NAME of what makes an agent of a seed: (reward, byte) -> byte.",
    ),
]

LEARNER = "learner"


def find_agent(name: str) -> MakeAgent:
    """What makes the agent of a name.

    :raises InputError: no such agent.
    """
    from gumption.agents.gradual.baselines import BASELINES
    from gumption.agents.settings import of_module
    from gumption.data import InputError
    from gumption.data.settings import unknown

    if name == LEARNER or Path(name).is_file():
        from gumption.agents.gradual import GradualLearner
        from gumption.kg import KnowledgeGraph

        if name == LEARNER:
            return lambda seed: GradualLearner()
        graph = KnowledgeGraph.load(name)
        return lambda seed: GradualLearner.from_graph(graph)
    if (Path(name) / "config.json").is_file():
        from gumption.agents.gradual.recurrent import RecurrentAgent

        return RecurrentAgent.load(name)
    if ":" in name:
        return of_module(name, "--agent")
    if name not in BASELINES:
        raise InputError(unknown("gumption", name, (LEARNER, *BASELINES)) + "; an agent of your own is MODULE:NAME")
    return BASELINES[name]
