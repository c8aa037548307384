"""Exploration of gates, the facts that it yields, and graphs for the comparison of agents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium as gym
import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar.configurations import Split
from gumption.envs.segar.facts import BALL, REACHING, facts
from gumption.envs.segar.memory import Memory, add_memory, memory_facts
from gumption.kg import KnowledgeGraph

#: Share of random pushes in exploration.
RANDOM = 0.2


Facts = list[tuple[str, str, str]]


def explore(env: Any, folder: Path, steps: int, seed: int) -> Memory:
    """Make at least `steps` pushes and return their memory, which remains in the folder. Each ball is pushed at the
    type of thing in its reach that was targeted least often, until it has passed the thing, so that rare types are met
    as often as others. A fifth of the pushes are random."""
    env, rng = RecordMemory(env, folder), np.random.default_rng(seed)
    batch, rows = env.unwrapped, np.arange(env.num_envs)
    aims, visits = np.zeros(len(rows), dtype=np.int64), np.zeros(len(batch.vocabulary))
    env.reset(seed=seed)
    for _ in range(-(-steps // env.num_envs)):
        met = batch.action_facts().things[:, :, 0]
        rarest = met[rows, np.where(met > 0, visits[met] + rng.random(met.shape), np.inf).argmin(axis=1)]
        passed = (met != aims[:, None]).all(axis=1) | (aims == 0)
        aims = np.where(passed, rarest, aims)
        np.add.at(visits, aims[passed], 1)
        wanted = (met == aims[:, None]) | (rng.random(len(rows)) < RANDOM)[:, None]
        env.step(np.where(wanted, rng.random(met.shape), -1.0).argmax(axis=1))
    env.close()
    return Memory.load(folder)


@checked
def live(folder: Path, levels: str, partition: Split, steps: Count, seed: Seed) -> Facts:
    """Explore gates (see `explore`), save the memory (memory/) and its facts (graph.nq), and return the facts.

    :param partition: part whose gate types occur. :param steps: total over 16 environments.
    :param seed: of the levels and pushes; evaluations use test levels with the seed 0.
    """
    if (folder / "memory").exists():
        raise InputError(f"{folder} holds a memory already, and facts would be counted twice: name another folder")
    where = {"task": "Gates", "levels": levels, "partition": partition, "num_levels": 2_000, "level_seed": seed}
    env = gym.make_vec("gumption/SEGAR-v0", num_envs=16, **where)
    memory, graph = explore(env, folder / "memory", steps, seed), KnowledgeGraph()
    add_memory(graph, memory, folder.resolve().name)
    graph.save(folder / "graph.nq")
    return memory_facts(memory)


def lived_facts(steps: int, levels: str, num_levels: int, level_seed: int) -> Facts:
    """Return the training facts, and facts about test types learned by `steps` pushes in levels of another seed."""
    with TemporaryDirectory() as folder:
        lived = live(Path(folder), levels, "test", steps, level_seed + 1)
    return [*facts(partition="train", levels=levels), *lived]


#: Name -> function (levels, num_levels, level_seed) that returns the facts of a graph.
GRAPHS: dict[str, Callable[[str, int, int], Facts]] = {
    "one-fact": lambda *_: [("GoalTile", REACHING, BALL)],
    "exchanged": lambda levels, *_: list(facts(partition="all", levels=levels, names="shuffled")),
    "other-laws": lambda levels, *_: list(facts(partition="all", levels=levels, laws="counterfactual")),
    **{f"lived-{steps}": partial(lived_facts, steps) for steps in (400, 1_600, 6_400)},
}
