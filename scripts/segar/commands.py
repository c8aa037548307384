"""SEGAR's commands: `gumption train segar` and `gumption live segar`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from gumption.agents.segar.config import SegarConfig
from gumption.data.settings import Count, Seed
from gumption.scripts.apps import from_config
from gumption.scripts.worlds import Resume, Run


@from_config(SegarConfig, skip=("world",))
def train(config: SegarConfig, run: Run = Path("runs/segar"), resume: Resume = False) -> None:
    """Train an agent, and tell its return and success on the training levels and on test levels.

    With --kg PPO chooses among 16 pushes, and mixes into its logits what a graph states of the things that each push
    meets. It sees the names of gates; of tiles it sees place, heat and friction, but not which tile is a hole.

    Example: gumption train segar --levels empty-hard --observation state --run runs/segar

    With knowledge: gumption train segar --levels gates-3 --kg full --scores edges --run runs/guided
    """
    from gumption.agents.segar.training import train_segar

    final = train_segar(config, run, resume=resume).final
    print(
        f"return {final['train_return']:.2f} and success {final['train_success']:.1%} on the training levels, "
        f"{final['test_return']:.2f} and {final['test_success']:.1%} on test levels; {final['wall_s']:.0f} s, "
        f"{final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )


def live(
    run: Annotated[Path, typer.Option(help="Folder of the memory and the graph; new.")] = Path("runs/life"),
    levels: str = "gates-2",
    partition: Literal["train", "test"] = "test",
    steps: Count = 6_400,
    seed: Seed = 1,
) -> None:
    """Push at gates, at the rarest first, remember it, and make a graph of what the memory shows: RUN/graph.nq.

    Example: gumption live segar --steps 6400 --run runs/life

    :param levels: Of the task Gates: gates-2 or gates-3.
    :param partition: Whose types of gates are met.
    :param steps: Of 16 environments together.
    :param seed: Of levels and pushes; the levels of an evaluation have the seed 0.
    """
    from gumption.agents.segar.lives import live as lived

    facts = lived(run, levels, partition, steps, seed)
    print(f"{steps:,} steps show {len(facts)} facts: {run / 'graph.nq'}")
