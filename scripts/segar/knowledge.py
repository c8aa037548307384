"""SEGAR's experiment on knowledge, as data: agents that are told what a push leads to, and agents that are not."""

from __future__ import annotations

from typing import Any

from gumption.scripts.experiments import Condition, Experiment

from .knowledge_runs import KIND

LEVELS = {"tilesx3-medium": "tilesx3, medium", "tilesx3-hard": "tilesx3, hard"}
BASE: dict[str, Any] = {"num_levels": 100, "total_steps": 100_000, "eval_interval": 20_000, "eval_episodes": 100}
#: Of PPO; chosen on validation levels as the notes of the experiment tell.
PPO: dict[str, Any] = {}


def _conditions(levels: str, panel: str) -> dict[str, Condition]:
    told: dict[str, Any] = {"levels": levels, "kg": "full"}
    guided = f"trained with knowledge, {panel}"
    rows = {
        "no knowledge": Condition({"levels": levels}),
        "trained with knowledge": Condition(told),
        "trained with the training facts": Condition({**told, "kg": "train"}),
        "knowledge only: scores added up": Condition(told, "kg_only"),
        "knowledge only: weights that people wrote": Condition(told, "by_hand"),
        "untrained network with knowledge": Condition(told, "untrained"),
        "trained, knowledge taken away": Condition(told, "without_kg", of=guided),
        "PPO": Condition({"levels": levels, "ppo": PPO}, "ppo"),
        "PPO, scores in its observation": Condition({**told, "ppo": PPO}, "ppo"),
        "random": Condition({"levels": levels}, "random"),
        "scripted": Condition({"levels": levels}, "scripted"),
    }
    return {
        f"{name}, {panel}": Condition(one.settings, one.method, (panel,), of=one.of) for name, one in rows.items()
    }


EXPERIMENTS = {
    "segar-knowledge": Experiment(
        "segar-knowledge",
        "-",
        "Pushes that knowledge speaks for, on levels with tiles",
        KIND,
        {label: one for levels, panel in LEVELS.items() for label, one in _conditions(levels, panel).items()},
        "",
        "",
        base=BASE,
    )
}
