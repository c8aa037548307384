"""`gumption evaluate --policy MODULE:NAME --splits DIR`: an agent that is not ours in HALMA's diagnostic tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gumption.data.settings import Count
from gumption.scripts.policy_evaluation import PolicyName, Single, WorldName


def evaluate_policy(
    policy: PolicyName,
    splits: Annotated[Path, typer.Option(help="Folder of tests, as `gumption splits halma` makes it.")],
    world: WorldName = None,
    seeds: Annotated[Count, typer.Option(help="How often each test is played, seeds 0, 1, ...")] = 3,
    observation: Annotated[str, typer.Option(help="What it sees: symbolic or visual.")] = "symbolic",
    images: Annotated[str, typer.Option(help="Handwriting of visual panels in training: train or train-full.")] = (
        "train"
    ),
    single: Single = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play every test with a policy, and tell the paper's measures with their intervals.

    Example: gumption evaluate --policy my_agent:act --splits splits/mine
    """
    import json

    from gumption.agents.given_policy import of_module
    from gumption.agents.halma.evaluation import columns, evaluate_splits
    from gumption.agents.halma.given import GivenAgent
    from gumption.envs.halma.splits import load_splits
    from gumption.scripts.kg.output import working

    tests = load_splits(splits)
    agent = GivenAgent(
        of_module(policy),
        name=policy,
        observation=observation,  # pyright: ignore[reportArgumentType]
        images=images,  # pyright: ignore[reportArgumentType]
        single=single,
    )
    with working(f"playing the tests in {splits}"):
        found = evaluate_splits(agent, tests, seeds=range(seeds))
    if as_json:
        print(json.dumps(found))
        return
    from rich.console import Console

    from .table import Overview

    Console().print(Overview(columns([found]), paper=False), highlight=False)
