"""Bench of graph scores as a part of the observation: one environment, a batch, and a batch in Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

from gumption.scripts.measurement import CartPoleRandom, Measurement

from .bench_settings import Settings

NUM_ENVS = 1024
SB3_ENVS = 64
PIECE = 32  # steps between two looks at the clock


def kg_scores_case(settings: Settings) -> Iterator[Measurement]:
    """Random valid actions with and without the scores of a graph of the training facts, against CartPole-v1."""
    plays = _plays(settings)
    pole = CartPoleRandom()
    rates: dict[str, list[float]] = {name: [] for name in (*plays, "pole")}
    for play in (*plays.values(), pole):
        play(0.2)  # first calls pay for imports, caches and memory
    for _ in range(settings.repeats):  # in turn, so that a busy moment of the machine hits all
        for name, play in {**plays, "pole": pole}.items():
            rates[name].append(play(0.5))
    found = {name: median(each) for name, each in rates.items()}
    plain = {"one": "one without", "batch": "batch without", "adapter": "one env each"}
    names = {
        "one": ("KGScores on one WordCraft environment", "the same environment without scores"),
        "batch": (f"KGScores on a batch of {NUM_ENVS}", "the same batch without scores"),
        "adapter": (f"SB3VecEnv on a batch of {SB3_ENVS} with KGScores", f"DummyVecEnv of {SB3_ENVS} with KGScores"),
    }
    for name, (what, yardstick) in names.items():
        if name not in found:
            continue
        yield Measurement(
            what,
            "steps/s",
            found[name],
            max(rates[name]),
            yardstick,
            found[plain[name]],
            found[name] / found[plain[name]],
            details={"cartpole": found["pole"], "times_cartpole": found[name] / found["pole"]},
        )


def _plays(settings: Settings) -> dict[str, Callable[[float], float]]:
    import numpy as np

    from gumption.agents import Advice
    from gumption.envs.kg_wrapper import KGScores
    from gumption.envs.wordcraft import WordCraftEnv, WordCraftVectorEnv, facts
    from gumption.kg import KnowledgeGraph

    world: dict[str, Any] = {"recipe_book": settings.recipe_book, "depth": 1, "num_distractors": 8, "features": None}
    graph = KnowledgeGraph()
    graph.add(facts(settings.recipe_book, partition="train"))
    plain = WordCraftEnv(**world)
    advice = Advice(graph, plain.vocabulary, plain.relations)
    draws = np.random.default_rng(0).random(PIECE).tolist()

    def single(env: Any) -> Callable[[], None]:
        here = [env.reset(seed=0)[1]]

        def play() -> None:
            for draw in draws:
                _, _, terminated, truncated, info = env.step(int(draw * len(here[0]["table"])))
                if terminated or truncated:
                    _, info = env.reset()
                here[0] = info

        return play

    def batch(env: Any, actions: Callable[[], Any]) -> Callable[[], None]:
        env.reset()

        def play() -> None:
            for _ in range(PIECE):
                env.step(actions())

        return play

    def vector(num_envs: int) -> WordCraftVectorEnv:
        return WordCraftVectorEnv(num_envs, autoreset_mode="SameStep", **world)

    without, scored = vector(NUM_ENVS), vector(NUM_ENVS)
    plays = {
        "one": _timed(single(KGScores(WordCraftEnv(**world), advice)), PIECE),
        "one without": _timed(single(plain), PIECE),
        "batch": _timed(batch(KGScores(scored, advice), scored.random_actions), PIECE * NUM_ENVS),
        "batch without": _timed(batch(without, without.random_actions), PIECE * NUM_ENVS),
    }
    if find_spec("stable_baselines3") is None:  # an extra
        return plays
    from stable_baselines3.common.vec_env import DummyVecEnv

    from gumption.envs.sb3_adapter import SB3VecEnv

    small = vector(SB3_ENVS)
    dummy = DummyVecEnv([lambda: KGScores(WordCraftEnv(**world), advice)] * SB3_ENVS)
    actions = np.zeros(SB3_ENVS, dtype=np.int64)
    return plays | {
        "adapter": _timed(batch(SB3VecEnv(KGScores(small, advice)), small.random_actions), PIECE * SB3_ENVS),
        "one env each": _timed(batch(dummy, lambda: actions), PIECE * SB3_ENVS),
    }


def _timed(play: Callable[[], None], steps: int) -> Callable[[float], float]:
    """Steps per second over about so many seconds of calls to `play`, each of which takes so many steps."""

    def rate(seconds: float) -> float:
        started, taken = perf_counter(), 0
        while (passed := perf_counter() - started) < seconds:
            play()
            taken += steps
        return taken / passed

    return rate
