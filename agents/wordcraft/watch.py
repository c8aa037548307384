"""A WordCraft agent to look at."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gumption.agents.run_folder import load_policy, resumed_config
from gumption.agents.watch import SHOWN, Candidate, Choice, Player, PolicyPlayer
from gumption.data import InputError
from gumption.envs.wordcraft import LittleAlchemyVectorEnv, WordCraftVectorEnv

from .living import Explorer, LifeConfig, chapter_end, remembered

MOST = 24  # pairs of a choice that are shown


class GoalPlayer(PolicyPlayer):
    """Plays tasks of one goal; where there are several, the seed decides."""

    tasks: np.ndarray

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.env.set_tasks(self.env.np_random.choice(self.tasks, 1))


class LifePlayer:
    """Plays a life again from its memory, as far as it has come, and shows what the agent expected of each pair."""

    def __init__(self, run: Path, config: LifeConfig) -> None:
        game: dict[str, Any] = {"recipe_book": config.recipe_book, "names": config.names, **SHOWN}
        self.memory = remembered(run, LittleAlchemyVectorEnv(1, **game))
        if not len(self.memory):
            raise InputError(f"{run}: this life has no mix yet; let it begin first")
        self.env = LittleAlchemyVectorEnv(1, max_steps=len(self.memory), **game)
        self.explorer = Explorer(config, self.env)

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self.explorer.forget()
        self.mixes, self.ends = 0, chapter_end(0)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        thing = int(self.memory.records["action"][int(self.env.steps[0])])
        first = int(self.env.selection[0])
        if first:
            label = self.env.book.entities[thing]
            return np.array([thing]), (Choice(f"{self.env.book.label(first)} with", (Candidate(label, 1.0),), 0),)
        other = int(self.memory.records["action"][int(self.env.steps[0]) + 1])
        return np.array([thing]), (self._choice(thing, other),)

    def _choice(self, first: int, second: int) -> Choice:
        """The pairs that were expected to be worth most, and the one that was mixed."""
        at_hand, worth = self.explorer.values()
        names, flat = self.env.book.entities, worth.ravel()
        row, column = np.searchsorted(at_hand, sorted((first, second)))
        chosen = int(row * len(at_hand) + column)
        order = [int(pair) for pair in np.argsort(-flat, kind="stable")[:MOST] if np.isfinite(flat[pair])]
        if chosen not in order:
            order[-1] = chosen
        equals = int((flat == flat.max()).sum())
        candidates = tuple(
            Candidate(
                f"{names[at_hand[pair // len(at_hand)]]} + {names[at_hand[pair % len(at_hand)]]}",
                1 / equals if flat[pair] == flat.max() else 0.0,
                float(flat[pair]),
            )
            for pair in order
        )
        return Choice(f"mix {self.mixes + 1}: which pair", candidates, order.index(chosen), own="worth")

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        if self.env.selection[0]:
            return "selected", False
        self.mixes += 1
        part = replace(self.memory, records=self.memory.records[: 2 * self.mixes])
        (pairs, made), seen = part.mixes, part.sightings
        first, second = pairs[-1].tolist()
        self.explorer.saw(first, second, made[-1][made[-1] >= 0])
        if self.mixes == self.ends:
            self.explorer.learn(seen)
            self.ends = chapter_end(self.mixes)
        recipes = int((seen[:, 2] >= 0).sum())
        told = f"{self.env.last_mix(0)}; it knows {recipes} recipes and {len(seen) - recipes} pairs that make nothing"
        return told, bool(self.env.found[0].any())


def watch(
    run: Path, *, partition: str | None = None, goal: str | None = None, recipe_book: str | None = None
) -> Player:
    """The agent of a run, on tasks of a partition; a life of `gumption live` from its beginning.

    :param partition: Part of the run's split: train, validation, test or all.  [default: test]
    :param goal: Play a task of this goal.  [default: drawn by the seed]
    :param recipe_book: File of the run's book, if it does not ship.
    """
    life = resumed_config(run, LifeConfig, {"recipe_book": recipe_book})
    if life is not None:
        if partition or goal:
            raise InputError(f"{run} is a life, which has no goals and no parts: leave out --partition and --goal")
        return LifePlayer(run, life)
    return _of_run(run, partition or "test", goal, recipe_book)


def _of_run(run: Path, partition: str, goal: str | None, recipe_book: str | None) -> PolicyPlayer:
    """The agent of a trained run."""
    config, policy = load_policy(run, recipe_book=recipe_book, device="cpu")
    env = WordCraftVectorEnv(1, **SHOWN, **config.env_settings(partition))
    told = {"question": "what to select", "outcome": lambda env: env.last_mix(0) or "selected"}
    if goal is None:
        return PolicyPlayer(policy, env, **told)
    player = GoalPlayer(policy, env, **told)
    env.book.entity_id(goal)
    tasks = env.split.tasks(partition)
    player.tasks = np.array([task for task in tasks.tolist() if env.tasks[task].goal == goal], dtype=np.int64)
    if not len(player.tasks):
        some = ", ".join(sorted({env.tasks[task].goal for task in tasks.tolist()})[:5])
        raise InputError(f"no {partition} task has the goal {goal!r}; some that there are: {some}")
    return player
