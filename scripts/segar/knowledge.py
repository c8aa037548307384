"""SEGAR's experiment on knowledge, as data: agents that are told what a push leads to, and agents that are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gumption.scripts.experiments import Condition, Experiment

from .knowledge_runs import EVERYTHING, KIND

LEVELS = {"tilesx3-medium": "tilesx3, medium", "tilesx3-hard": "tilesx3, hard"}
BASE: dict[str, Any] = {
    "num_levels": 100,
    "total_steps": 150_000,
    "eval_interval": 50_000,
    "eval_episodes": 100,
    "overrides": (("entropy_cost", 0.1),),
}
PPO: dict[str, Any] = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.01}


def _conditions(levels: str, panel: str) -> dict[str, Condition]:
    told: dict[str, Any] = {"levels": levels, "kg": "full"}
    guided = f"trained with knowledge, {panel}"
    rows = {
        "no knowledge": Condition({"levels": levels}),
        "trained with knowledge": Condition(told),
        "trained with the training facts": Condition({**told, "kg": "train"}, on_demand=True),
        "trained, every fact is said to hold": Condition({**told, "kg": EVERYTHING}, on_demand=True),
        "knowledge only: scores added up": Condition(told, "kg_only"),
        "knowledge only: weights that people wrote": Condition(told, "by_hand"),
        "untrained network with knowledge": Condition(told, "untrained"),
        "trained, knowledge taken away": Condition(told, "without_kg", of=guided),
        "PPO": Condition({"levels": levels, "ppo": PPO}, "ppo"),
        "PPO, scores in its observation": Condition({**told, "ppo": PPO}, "ppo"),
        "random": Condition({"levels": levels}, "random"),
        "scripted": Condition({"levels": levels}, "scripted"),
    }
    return {f"{name}, {panel}": replace(one, panels=(panel,)) for name, one in rows.items()}


_EXPECTED = (
    "Nobody has published such figures. What is compared: the same learner with and without knowledge, and PPO of "
    "Stable-Baselines3 with the same 17 pushes, observations and number of steps."
)
_NOTES = """\
Figures are interquartile means over seeds with 95 % bootstrap intervals. Each seed has 100 training levels and 100 test
levels of its own; each level is played once, and a trained agent takes its most probable push. Falling into a hole ends
an episode without a penalty, so a return says little about success.

What an agent is told. The observation: place, velocity and mass of the ball, the place of the goal, and place, heat and
friction of the tiles; it does not say which tile is a hole. Knowledge: for each push, the facts about what the ball
meets then, and about the goal where the way leads over its middle. Prior knowledge in these questions: the type of each
thing, what a push does to the velocity, and that a ball rolls straight on. The graph knows what types afford: on these
levels every tile burns and slows, which it says of magma alone (fire: burns, sand: slows).

The rows:

- Knowledge only, scores added up: the push with the most facts, one of the best at random. Nothing is learned, and to
  burn counts as much as to reach the goal.
- Knowledge only, weights that people wrote: reaching 2, burning -1, falling in -3, others 0. This strategy is people's.
- Untrained network with knowledge: the network with which training begins; every score weighs 1.
- Trained, knowledge taken away: the trained network reads 0 for every score.
- PPO: that of Stable-Baselines3; rewards are scaled by their running deviation.
- Scripted: people wrote it. It takes the push after which the velocity is nearest to 15/s times the way to the goal,
  whatever lies there.

Only run where --setting names them:

- Trained with the training facts: the graph lacks one affordance in five, among them that magma and fire burn.
- Every fact is said to hold: the answer is always yes. What helps this agent is what is asked about (where the goal is,
  that something lies ahead), not what is known.

Nothing was chosen on test levels, but on training levels: what facts are about, among six ways to ask (along the
direction or along the way after the push; the goal only if it is met first, or on the whole way; as wide as its tile,
or its middle), on those of the seeds 0, 1 and 100; and on those of seed 200, hard ones, after 100,000 steps, one seed:
entropy cost 0.1 of 0.01, 0.1 and 0.5 and learning rate 0.003 of 0.001, 0.003 and 0.01 of our learner; the parameters of
PPO, its scaled rewards and the bound of its scores among eight settings. The constant 15 of the scripted agent is the
best of eight on those of seed 100.
"""

KNOWLEDGE = {
    "segar-knowledge": Experiment(
        "segar-knowledge",
        "-",
        "Pushes that knowledge speaks for, on levels with tiles",
        KIND,
        {label: one for levels, panel in LEVELS.items() for label, one in _conditions(levels, panel).items()},
        _EXPECTED,
        _NOTES.strip(),
        base=BASE,
    )
}
