"""`gumption train probsol`: MaskablePPO, or with --kg the general learner, which knowledge advises."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.agents.probsol.config import ProbSolConfig
from gumption.scripts.apps import App
from gumption.scripts.options import from_config
from gumption.scripts.own_options import refuse_foreign, was_typed
from gumption.scripts.world_commands import Resume, Run, train_and_tell

app = App(add_completion=False)

FLAGS = {"total_steps": "steps"}
#: Options that are no fields of the config: they ask for the general learner.
OTHERS = ("kg", "kg_only")
#: Options of the config that the general learner reads, too.
SHARED = ("task", "fold", "laws", "max_actions", "total_steps", "eval_interval", "eval_tasks", "seed", "device")

EPILOG = """Example: gumption train probsol --task fishing/generated --steps 100000 --run runs/fishing

With knowledge: gumption train probsol --kg train --steps 20000 --run runs/guided
"""


@app.command(epilog=EPILOG)
@from_config(ProbSolConfig, flags=FLAGS, skip=("world",))
def train(
    context: typer.Context,
    config: ProbSolConfig,
    kg: Annotated[
        str | None,
        typer.Option(
            help="Train the general learner, which chooses among all actions, with this knowledge: train or full (the "
            "world's own facts), a graph, the folder of a link predictor, or none. Without it, MaskablePPO is trained."
        ),
    ] = None,
    kg_only: Annotated[
        bool, typer.Option("--kg-only", help="With --kg: act by the knowledge alone; nothing is learned.")
    ] = False,
    run: Run = Path("runs/probsol"),
    resume: Resume = False,
) -> None:
    """Train an agent on the training part of some tasks, and tell what it solves.

    MaskablePPO acts in three parts (what to do, with which disc, where); what it solves is told of validation tasks:
    those of the test part are for `gumption evaluate`. With --kg the general learner of all worlds is trained, whose
    choices among the paper's actions a graph advises.
    """
    if kg is not None:
        refuse_foreign(context, dict.fromkeys(_of_ppo(), "MaskablePPO"), "", "the general learner (--kg)")
        train_and_tell(_general(context, config, kg, kg_only), run, resume)
        return
    refuse_foreign(context, {"kg_only": "the general learner (--kg)"}, "", "MaskablePPO")
    from gumption.agents.probsol.training import train_probsol

    final = train_probsol(config, run, resume=resume).final
    print(
        f"solved in one trial: {final['train_solved']:.1%} of the training tasks, {final['validation_solved']:.1%} of "
        f"validation tasks; {final['wall_s']:.0f} s, {final['steps_per_s']:,.0f} steps/s; the run is in {run}"
    )


def _of_ppo() -> list[str]:
    return [field.name for field in fields(ProbSolConfig) if field.name not in ("world", *SHARED)]


def _general(context: typer.Context, config: ProbSolConfig, kg: str, kg_only: bool) -> Any:
    """The config of the general learner; it has defaults of its own, fit for its slower steps."""
    from gumption.agents.world_config import WorldConfig

    env: dict[str, Any] = {"task": list(config.task), "partition": "train", "fold": config.fold, "quiz": False}
    env |= {"trial_number": 1, "max_actions": config.max_actions}
    env |= {} if config.laws is None else {"laws": config.laws}
    typed = {name: getattr(config, name) for name in ("total_steps", "eval_interval") if was_typed(context, name)}
    learner = {"kg": kg, "kg_only": kg_only, "eval_episodes": config.eval_tasks, "seed": config.seed}
    learner["device"] = config.device
    return WorldConfig(config.world, env=tuple(env.items()), **learner, **typed)
