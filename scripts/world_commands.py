"""The commands of a world that offers none of its own: they need nothing but its environments, facts and contract."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.data.settings import Count, Seed
from gumption.scripts.apps import App

from .apps import from_config

Run = Annotated[Path, typer.Option(help="Folder of the run; it must be new, unless --resume is given.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where a stopped run was.")]


def general_train(world: Any) -> typer.Typer:
    """`gumption train WORLD`."""
    from gumption.agents.world_config import WorldConfig

    app = App(add_completion=False)

    def config_of(**settings: Any) -> Any:
        return WorldConfig(world=world.name, **settings)

    @app.command(help=f"Train an agent: {world.about}")
    @from_config(WorldConfig, skip=("world",), make=config_of)
    def train(config: Any, run: Run = Path("runs") / world.name, resume: Resume = False) -> None:
        train_and_tell(config, run, resume)

    return app


def train_and_tell(config: Any, run: Path, resume: bool) -> None:
    """Train by a `WorldConfig`, and say what came of it."""
    from gumption.agents.impala import train_impala

    final = train_impala(config, run_dir=run, resume=resume).final
    print(
        f"success {final['test_success']:.1%} on what was held out, {final['train_success']:.1%} in training, "
        f"{final['random_success']:.1%} at random; {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; "
        f"the run is in {run}"
    )


def general_evaluate(world: Any) -> typer.Typer:
    """`gumption evaluate RUN`."""
    app = App(add_completion=False)

    @app.command(help="Play what training did not show, the best action always.")
    def evaluate(
        run: Annotated[Path, typer.Argument(help="Folder of a run, as `gumption train` leaves it.")],
        episodes: Annotated[Count, typer.Option(help="How many are played.")] = 500,
        seed: Annotated[Seed, typer.Option(help="Of the episodes.")] = 0,
        device: Annotated[str | None, typer.Option(help="Other than in training: auto, cpu or cuda.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        import json

        import gymnasium as gym

        from gumption.agents.world_setup import load_policy, success_rate

        config, policy = load_policy(run, device=device)
        entry = world.environments[0]
        settings = {**dict(config.env), **entry.held_out}
        env = gym.make_vec(entry.id, num_envs=min(episodes, 512), **settings).unwrapped
        found = {
            "success": success_rate(policy, env, episodes, seed),
            "random": success_rate(None, env, episodes, seed),
            "episodes": episodes,
            "seed": seed,
        }
        if as_json:
            print(json.dumps(found))
        else:
            told = f"success {found['success']:.1%} in {episodes:,} episodes that were held out"
            print(f"{told}; {found['random']:.1%} at random")

    return app
