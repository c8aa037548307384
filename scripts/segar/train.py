"""`gumption train segar`: PPO or SAC on pixels or factors, or an agent that knowledge guides among pushes."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import typer

from gumption.agents.segar.config import SegarConfig
from gumption.agents.world_config import WorldConfig
from gumption.scripts.apps import App, from_config, refuse_foreign, was_typed
from gumption.scripts.worlds import Resume, Run, train_and_tell

app = App(add_completion=False)

#: Fields of a `SegarConfig` that an agent with knowledge has, too.
SHARED = ("levels", "num_levels", "level_seed", "test_levels", "total_steps", "eval_interval", "seed", "device")

EPILOG = """Example: gumption train segar --levels empty-hard --observation state --run runs/segar

With knowledge: gumption train segar --levels tilesx2-medium --kg full --steps 200000 --run runs/guided
"""


#: Fields of a `WorldConfig` that have an option here.
OTHERS = tuple(one.name for one in fields(WorldConfig) if one.name not in (*SHARED, "world", "env", "eval_episodes"))


@app.command(epilog=EPILOG)
@from_config(SegarConfig, skip=("world",))
@from_config(
    WorldConfig,
    skip=tuple(one.name for one in fields(WorldConfig) if one.name not in OTHERS),
    make=partial(WorldConfig, "segar"),
    into="guided",
)
def train(
    context: typer.Context,
    config: SegarConfig,
    guided: WorldConfig,
    run: Run = Path("runs/segar"),
    resume: Resume = False,
) -> None:
    """Train an agent, and tell its return and success on the training levels and on test levels.

    With --kg it is one that chooses among 16 pushes of PuttPutt, by V-trace, and is guided by facts about what they
    meet. It sees where the ball, the goal and the tiles are, their heat and friction, but not which tile is a hole.
    """
    if guided.kg != "none":
        foreign = [one.name for one in fields(SegarConfig) if one.name not in (*SHARED, "world")]
        refuse_foreign(context, dict.fromkeys(foreign, "training without --kg"), "", "an agent that a graph guides")
        train_and_tell(_guided(context, config, guided, resume), run, resume)
        return
    refuse_foreign(context, {"overrides": "training with --kg"}, "", "PPO or SAC")
    from gumption.agents.segar.training import train_segar

    final = train_segar(config, run, resume=resume).final
    print(
        f"return {final['train_return']:.2f} and success {final['train_success']:.1%} on the training levels, "
        f"{final['test_return']:.2f} and {final['test_success']:.1%} on test levels; {final['wall_s']:.0f} s, "
        f"{final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )


def _guided(context: typer.Context, config: SegarConfig, guided: WorldConfig, resume: bool) -> WorldConfig:
    """The config with the options that it shares; a run that goes on has its own, but for those that were typed."""
    from gumption.agents.segar.guided import env_settings

    given = [name for name in SHARED if not resume or was_typed(context, name)]
    changes = {name: getattr(config, name) for name in ("total_steps", "eval_interval", "seed", "device")}
    changes = {name: value for name, value in changes.items() if name in given}
    if "test_levels" in given:
        changes["eval_episodes"] = config.test_levels
    if {"levels", "num_levels", "level_seed"}.intersection(given) or (not resume and "seed" in given):
        seed = config.seed if config.level_seed is None else config.level_seed
        changes["env"] = tuple(env_settings(config.levels, level_seed=seed, num_levels=config.num_levels).items())
    return replace(guided, **changes)
