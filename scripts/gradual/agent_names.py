"""Agents as they are named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gumption.agents.gradual.validation import MakeAgent

AgentName = Annotated[
    str,
    typer.Option(
        "--agent",
        help="gradual (the learner), silent, echo, random, table, or MODULE:NAME of what makes an agent of a seed: "
        "(reward, byte) -> byte.",
    ),
]


def find_agent(name: str) -> MakeAgent:
    """What makes the agent of a name.

    :raises InputError: no such agent.
    """
    from gumption.agents.gradual import GradualLearner
    from gumption.agents.gradual.baselines import BASELINES
    from gumption.data import InputError
    from gumption.data.settings import unknown
    from gumption.scripts.policy_evaluation import load_policy

    if ":" in name:
        return load_policy(name, "--agent")
    known = {"gradual": lambda seed: GradualLearner(), **BASELINES}
    if name not in known:
        raise InputError(unknown("gumption", name, known) + "; an agent of your own is MODULE:NAME")
    return known[name]
