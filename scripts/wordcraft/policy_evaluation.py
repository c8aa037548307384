"""`gumption evaluate --policy MODULE:NAME --world wordcraft`: how often an agent that is not ours makes the goal."""

from __future__ import annotations

from typing import Annotated

import typer

from gumption.data.settings import Count, Seed, Whole
from gumption.envs.wordcraft.splits import TrainRatio
from gumption.envs.wordcraft.tasks import Depth
from gumption.scripts.policy_evaluation import PolicyName, Single, WorldName


def evaluate_policy(
    policy: PolicyName,
    world: WorldName = None,
    split: Annotated[str, typer.Option(help="A way of splitting, or a file of `gumption splits wordcraft`.")] = (
        "by_recipe"
    ),
    train_ratio: Annotated[TrainRatio, typer.Option(help="Of a split that is not a file.")] = 0.8,
    split_seed: Annotated[Seed, typer.Option(help="Of a split that is not a file.")] = 0,
    partition: Annotated[str, typer.Option(help="train, test or all.")] = "test",
    draws: Annotated[Count, typer.Option(help="Tables per task.")] = 10,
    distractors: Annotated[Whole, typer.Option(help="Entities on the table that the task does not need.")] = 1,
    depth: Annotated[Depth, typer.Option(help="Mixes that a task needs, 1 to 3.")] = 1,
    alternatives: Annotated[bool, typer.Option("--alternatives", help="Tables may offer other ways.")] = False,
    recipe_book: Annotated[str, typer.Option(help="Name of a shipped recipe book, or a file.")] = "commonsense",
    features: Annotated[str | None, typer.Option(help="Also in the observation: glove, random or onehot.")] = None,
    seed: Annotated[Seed, typer.Option(help="Of the tables.")] = 0,
    single: Single = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play the tasks of a partition with a policy, and tell its success with the interval over tasks.

    Example: gumption evaluate --policy my_agent:act --world wordcraft --split goals.json --partition test
    """
    import json

    from gumption.agents.given_policy import of_module
    from gumption.agents.wordcraft.given import evaluate_policy as measure
    from gumption.scripts.kg.output import working

    function = of_module(policy)
    with working("playing"):
        found = measure(
            function,
            name=policy,
            partition=partition,
            draws=draws,
            seed=seed,
            single=single,
            split=split,
            train_ratio=train_ratio,
            split_seed=split_seed,
            num_distractors=distractors,
            depth=depth,
            alternatives=alternatives,
            recipe_book=recipe_book,
            features=features,
        )
    if as_json:
        print(json.dumps(found))
        return
    spread = "" if found["low"] is None else f" [{found['low']:.1%}, {found['high']:.1%}]"
    print(
        f"{policy}: success {found['success']:.1%}{spread} in {found['episodes']:,} episodes of {found['tasks']:,} "
        f"{partition} tasks ({found['split']['mode']}, {distractors} distractors, depth {depth}); "
        f"lost by selecting one slot twice: {found['same_slot_twice']:.1%}"
    )
