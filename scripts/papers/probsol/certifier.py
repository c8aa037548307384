"""Certify seeds: players play the tasks, the solver solves them, and variants of the physics test the solutions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gumption.agents.probsol.players import DoNothing, Naive, Player, Random, play
from gumption.agents.probsol.solvers import solve
from gumption.envs.probsol.certification import OUTCOMES, holding, start_distance
from gumption.envs.probsol.env import ProbSolVectorEnv
from gumption.envs.probsol.generators import generate_many
from gumption.envs.probsol.library import DIGITS, Row
from gumption.envs.probsol.tasks import DISCOVERY, Task

#: Number of random policies, largest share that may succeed; number of naive tries, largest number that may succeed.
RANDOM_POLICIES, MOST_CHANCE = 50, 0.05
NAIVE_TRIES, MOST_NAIVE = 10, 1


def certify(family: str, seeds: Sequence[int]) -> list[Row]:
    """Return the outcome of each seed of a family: the first of `OUTCOMES` that applies, independent of other seeds."""
    made = generate_many(family, seeds)
    tasks = [task for task, _ in made]
    trivial = (start_distance(tasks) == 0.0) | (_share(tasks, DoNothing(), 1) > 0)
    chance = _share(tasks, Random(_numbered(seeds, RANDOM_POLICIES)), RANDOM_POLICIES)
    naive = _share(tasks, Naive(_numbered(seeds, NAIVE_TRIES)), NAIVE_TRIES) * NAIVE_TRIES
    passed = ~trivial & (chance <= MOST_CHANCE + 1e-9) & (naive <= MOST_NAIVE + 1e-9)
    solutions = [solve(task) if may else () for task, may in zip(tasks, passed, strict=True)]
    solved = np.array([bool(solution) for solution in solutions])
    holds = np.zeros(len(tasks), dtype=bool)
    holds[solved] = holding([task for task, ok in zip(tasks, solved, strict=True) if ok], [*filter(None, solutions)])
    applies = np.stack([trivial, chance > MOST_CHANCE + 1e-9, ~passed, ~solved, ~holds])
    first = np.where(applies.any(axis=0), applies.argmax(axis=0), len(OUTCOMES) - 1)
    return [
        Row(family, seed, OUTCOMES[first[k]], decision, solutions[k], task.hash[:DIGITS], round(float(chance[k]), 4))
        for k, (seed, (task, decision)) in enumerate(zip(seeds, made, strict=True))
    ]


def chance(task: Task) -> int:
    """Count the masked random policies, of 50, that solve a task in one trial; certification draws other policies."""
    return round(float(_share([task], Random(_numbered([0], RANDOM_POLICIES)), RANDOM_POLICIES)[0]) * RANDOM_POLICIES)


def _numbered(seeds: Sequence[int], tries: int) -> list[int]:
    """Return a distinct seed for each try of each task, in the order of the tables of `_share`."""
    return [seed * 1000 + k for k in range(tries) for seed in seeds]


def _share(tasks: Sequence[Task], player: Player, tries: int) -> np.ndarray:
    """Return (K,): for each task the share of tries, of one trial each, in which a player solves it.

    The goal of discovery depends only on which discs lie on the table, so it runs without forces, which is faster.
    """
    discs = max(len(task.objects) for task in tasks)
    once = [replace(task, constraints={"trial_number": 1}, quiz=(), max_obj_num=discs) for task in tasks]
    batch = ProbSolVectorEnv(
        len(tasks) * tries,
        task=once,
        order="sequential",
        observation="paper",
        laws="inert" if tasks[0].family in DISCOVERY else None,
        autoreset_mode="Disabled",
    )
    batch.reset(seed=0)
    return play(batch, player).reshape(tries, len(tasks)).mean(axis=0)
