"""What tests of HALMA's agents share: memories, lived through or made by hand."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gumption.agents.halma.acting import Actor, first_percept, next_percept, random_options
from gumption.agents.halma.knowledge import HALMAKnowledge
from gumption.agents.halma.scoring import KnowledgeActor
from gumption.envs.halma import Maze
from gumption.envs.halma.env import HALMAVectorEnv
from gumption.envs.halma.maze import DIRECTIONS
from gumption.envs.halma.memory import REACHED, TRIAL_OVER, VALID, Memory

Panel = Callable[..., list[int]]


def live(actor: Actor, env: HALMAVectorEnv, steps: int, seed: int, explore: float) -> Memory:
    """The memory of so many steps of an actor that draws a share of its options at random."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    percept, episode, records = first_percept(env), 100_000 * seed + np.arange(env.num_envs), []
    for _ in range(steps):
        options = actor.act(percept, rng)
        at_random = rng.random(env.num_envs) < explore
        drawn = random_options(rng, env.num_envs, env.max_opt_len)
        options = np.where(at_random[:, None], drawn, options)
        outcome = env.move(options)
        over = outcome.trial_over | outcome.done
        flags = outcome.valid * VALID + outcome.reached * REACHED + over * TRIAL_OVER
        records.append((outcome.before, options, outcome.after, outcome.maze, outcome.trial, episode.copy(), flags))
        episode[outcome.done] = episode.max() + 1 + np.arange(outcome.done.sum())
        percept = next_percept(env, options, outcome)
    return Memory.of(env.max_opt_len, *map(np.concatenate, zip(*records, strict=True)))


@pytest.fixture(scope="session")
def panel() -> Panel:
    """A panel row of distances by direction's name, the goal's offset, and the direction that the hint shows."""

    def make(
        wall: dict[str, int], crossing: dict[str, int] | None = None, goal: tuple[int, int] = (0, 0), hint: str = ""
    ) -> list[int]:
        parts = (crossing or {}, wall)
        distances = [part.get(direction, 0) for part in parts for direction in DIRECTIONS]
        return [*distances, *goal, 1 + DIRECTIONS.index(hint) if hint else 0]

    return make


@pytest.fixture(scope="session")
def remember() -> Callable[..., Memory]:
    """(panel, direction, primitives, next panel) four by four, how often, and more fields -> a memory of T = 3."""

    def make(*moves: tuple[list[int], str, tuple[int, ...], list[int]], times: int = 1, **fields: object) -> Memory:
        before, names, primitives, after = zip(*(move for move in moves for _ in range(times)), strict=True)
        options = [[DIRECTIONS.index(d), *p, *[0] * (3 - len(p))] for d, p in zip(names, primitives, strict=True)]
        valid = np.any(np.array(before) != np.array(after), axis=1)
        return Memory.of(3, before, options, after, **{"flags": valid * VALID, **fields})

    return make


def nothing(max_opt_len: int) -> Memory:
    """An empty memory."""
    return Memory.of(max_opt_len, *(np.zeros((0, width), dtype=np.int8) for width in (11, 1 + max_opt_len, 11)))


@pytest.fixture(scope="session")
def experienced() -> Callable[[int], Memory]:
    """max_opt_len -> the memory of an agent that began knowing nothing, and twice took in what it had lived through."""
    memories: dict[int, Memory] = {}

    def of(max_opt_len: int) -> Memory:
        if max_opt_len not in memories:
            env, memory = HALMAVectorEnv(64, max_opt_len=max_opt_len, maze_seed=1), nothing(max_opt_len)
            for stage, steps in enumerate((150, 100, 100)):
                actor = KnowledgeActor(HALMAKnowledge.of_memory(memory), max_opt_len)
                new = live(actor, env, steps, stage, explore=0.1)
                memory = replace(new, records=np.concatenate([memory.records, new.records]))
            memories[max_opt_len] = memory
        return memories[max_opt_len]

    return of


@pytest.fixture(scope="session")
def newborn() -> Callable[[int], HALMAKnowledge]:
    """max_opt_len -> what follows from an empty memory."""
    return lambda max_opt_len: HALMAKnowledge.of_memory(nothing(max_opt_len))


@pytest.fixture(scope="session")
def paper_maze() -> Maze:
    """The maze of A.3, as far as the text tells it: right 2, 1, 1, 1, down 1, right 2, down 1."""
    path = [*((x, 0) for x in range(6)), (5, -1), (6, -1), (7, -1), (7, -2)]
    edges = list(itertools.pairwise(path))
    branches = [((0, 0), (0, 1)), ((2, 0), (2, 1)), ((3, 0), (3, 1)), ((4, 0), (4, -1))]
    branches += [((5, -1), (5, -2)), ((7, -1), (8, -1)), ((7, -2), (7, -3))]
    return Maze((0, 0), (7, -2), edges + branches)
