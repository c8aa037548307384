"""The measures of a study of generalisation: the gap between training and test levels, their distance, and the mutual
information of features and factors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gumption.agents.evaluation import Player, means
from gumption.data.modules import of_module
from gumption.data.settings import Count, Seed, checked
from gumption.envs.segar.configurations import DIFFICULTIES, Levels
from gumption.envs.segar.measures import w2
from gumption.envs.segar.observations import MISSING, make_observation

from .config import SegarConfig
from .evaluation import begin_levels, make_env, no_action, play_levels, random_player, scripted
from .probe import Information, ProbeSettings, information
from .training import SegarRun, untrained_model

#: Wasserstein-2 distances between sets of levels: how entities are grouped, and whether the random Order counts.
DISTANCES: dict[str, dict[str, Any]] = {
    "factors": {"grouping": "factors", "order": False},
    "factors, Order": {"grouping": "factors", "order": True},
    "types": {"grouping": "type", "order": False},
    "types, Order": {"grouping": "type", "order": True},
}


def harder(levels: str) -> str | None:
    """The same configuration at the next difficulty: "empty-medium" of "empty-easy"; None after the last."""
    kind, _, difficulty = levels.rpartition("-")
    if difficulty not in DIFFICULTIES[:-1]:
        return None
    return f"{kind}-{DIFFICULTIES[DIFFICULTIES.index(difficulty) + 1]}"


def generalisation(run: SegarRun, yardstick: Player | str = scripted) -> dict[str, dict[str, Any]]:
    """Evaluate a trained run on its training levels ("train"), on the test levels of its config ("test"), and, where
    these have the distribution of the training levels, on those of the next difficulty ("harder").

    :param yardstick: a player, or its "module:name", in place of the scripted one.

    :returns: set -> figures: the mean return and success of players; of test levels also "w2", their distances from the
        training levels, and "gap", the training return less the return there, as a share of the difference between the
        scripted and the random player there.
    """
    if isinstance(yardstick, str):
        yardstick = of_module(yardstick, "yardstick")
    config = run.config
    train = config.draw("train")
    found: dict[str, dict[str, Any]] = {"train": played(run, train, {"trained": run.player, "scripted": yardstick})}
    there = {"test": config.draw("test")}
    if config.test is None and (further := harder(config.levels)) is not None:
        there["harder"] = config.draw("test", further)
    for name, levels in there.items():
        players = {"trained": run.player, "scripted": yardstick, "random": random_player}
        if name == "test":
            players |= {"no action": no_action, "untrained": before_training(run)}
        figures: dict[str, Any] = played(run, levels, players)
        span = figures["scripted"]["return"] - figures["random"]["return"]
        figures["gap"] = (found["train"]["trained"]["return"] - figures["trained"]["return"]) / span
        figures["w2"] = {label: w2(train.scenes, levels.scenes, **settings) for label, settings in DISTANCES.items()}
        found[name] = figures
    return found


@checked
def seen_and_true(
    run: SegarRun, levels: Levels, *, observations: Count = 5_000, seed: Seed = 0
) -> tuple[Any, np.ndarray]:
    """Observations of a run's player on levels, and the factors of all entities behind each.

    :returns: (n, ...), (n, k); an episode starts on each level, and later ones on levels drawn at random.
    """
    config = run.config
    env = make_env(config.task, levels, config.seen())
    truth = make_observation(config.truth())
    begin_levels(env, seed)
    pictures, factors = [], []
    everyone = np.arange(env.num_envs)
    for _ in range(-(-observations // env.num_envs)):
        truth.begin(env.state, everyone, everyone.tolist())
        rows: Any = truth.observe(env.state)
        pictures.append(env.observe())
        factors.append(rows.reshape(env.num_envs, -1))
        env.step_arrays(run.player(env, env.episode_begins()))
    numbers = np.concatenate(factors)[:observations]
    return np.concatenate(pictures)[:observations], np.where(numbers == MISSING, 0.0, numbers)


def informed(run: SegarRun, levels: Levels, settings: ProbeSettings, *, observations: int = 5_000) -> Information:
    """The probe of a run's encoder, on observations of its own player on levels."""
    seen, factors = seen_and_true(run, levels, observations=observations, seed=settings.seed)
    return information(run.features(seen), factors, settings=settings)


def before_training(run: SegarRun) -> Player:
    """The player of the same learner before training."""
    return replace(run, final={}, curve=[], run_dir=None, model=untrained_model(run.config)).player


def played(run: SegarRun, levels: Levels, players: Mapping[str, Player]) -> dict[str, dict[str, float]]:
    """Mean return and success of players on levels, with the run's observation."""
    config: SegarConfig = run.config
    return {
        name: means(play_levels(player, make_env(config.task, levels, config.seen())), "return", "success")
        for name, player in players.items()
    }
