"""What a study of generalisation measures of a run: the gap between levels, how far apart the levels are, and how much
the encoder's features tell of the factors."""

from dataclasses import replace
from typing import Any

import numpy as np

from gumption.data.settings import Count, Seed, checked
from gumption.envs.segar.configurations import DIFFICULTIES, Levels, Split
from gumption.envs.segar.measures import w2
from gumption.envs.segar.observations import MISSING, make_observation

from .baselines import BASELINES, no_action, random_player, scripted
from .config import FIRST, THINGS, SegarConfig
from .evaluation import begin_levels, make_env, play_levels
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


def evaluate_levels(run: SegarRun, partition: Split, levels: str | None, num_levels: int | None) -> dict[str, Any]:
    """See `gumption.agents.segar.runs.evaluate`."""
    config = run.config
    count = num_levels or (config.num_levels if partition == "train" else config.test_levels)
    chosen = replace(config, num_levels=count, test_levels=count)
    drawn = chosen.draw(partition, levels)
    players = _played(run, drawn, untrained=_untrained(run).player, **BASELINES)
    told = levels or (config.levels if partition == "train" else config.test or config.levels)
    return {"levels": told, "partition": partition, "num_levels": count, "players": players}


def generalisation(run: SegarRun) -> dict[str, dict[str, Any]]:
    """What a trained run comes to on its training levels, and on each set of test levels: those of its config ("test"),
    and, where these have the distribution of the training levels, those of the next difficulty ("harder").

    :returns: set -> figures: the mean return and success of players that fit there; of a set of test levels also
        "w2", its distances from the training levels, and "gap", the training return less the return there, as a share
        of what lies between the random and the scripted player there.
    """
    config = run.config
    train = config.draw("train")
    found = {"train": _played(run, train, scripted=scripted)}
    there = {"test": config.draw("test")}
    if config.test is None and (further := harder(config.levels)) is not None:
        there["harder"] = config.draw("test", further)
    for name, levels in there.items():
        more = {"no action": no_action, "untrained": _untrained(run).player} if name == "test" else {}
        figures = _played(run, levels, scripted=scripted, random=random_player, **more)
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
    env = make_env(config.task, levels, config.seen(), len(levels))
    truth = make_observation({"kind": "state", "n_things": THINGS, "unique_ids": FIRST})
    seen = begin_levels(env, seed)
    pictures, factors = [], []
    everyone = np.arange(env.num_envs)
    for _ in range(-(-observations // env.num_envs)):
        truth.begin(env.state, everyone, everyone.tolist())
        rows: Any = truth.observe(env.state)
        pictures.append(seen)
        factors.append(rows.reshape(env.num_envs, -1))
        env.step_arrays(run.player(env, seen))
        seen = env.observe()
    told = np.concatenate(factors)[:observations]
    return np.concatenate(pictures)[:observations], np.where(told == MISSING, 0.0, told)


def informed(run: SegarRun, levels: Levels, settings: ProbeSettings, *, observations: int = 5_000) -> Information:
    """How much the features of a run's encoder tell of the factors, on observations of its own player on levels."""
    seen, factors = seen_and_true(run, levels, observations=observations, seed=settings.seed)
    return information(run.features(seen), factors, settings=settings)


def _untrained(run: SegarRun) -> SegarRun:
    """The same learner before its training."""
    return replace(run, final={}, curve=[], run_dir=None, model=untrained_model(run.config))


def _played(run: SegarRun, levels: Levels, **others: Any) -> dict[str, Any]:
    """Mean return and success of the run's player and of others."""
    config: SegarConfig = run.config
    return {
        name: {"return": float(score.returns.mean()), "success": float(score.successes.mean())}
        for name, player in {"trained": run.player, **others}.items()
        if (score := play_levels(player, config.task, levels, config.seen()))
    }
