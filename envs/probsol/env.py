"""ProbSol's Gymnasium environment: one table is a batch of one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from gumption.data.settings import Seed
from gumption.envs.native import NativeEnv

from .text import TextFace
from .vector_env import ProbSolVectorEnv


class ProbSolEnv(NativeEnv):
    """Magnets on a table whose mass, magnetism and polarity are hidden (Shi et al., ProbSol Worlds).

    Description: discs lie on a table of 480 x 480 px or in a side bar. The player grabs, places, stores, holds and
    turns them; opposite poles attract, equal ones repel, the table brakes. Six families of tasks: Fishing, Curling
    (tool use), FindTheDiff, FindTheSame (discovery), Building, Modifying (crafting), and Sandbox without a goal.

    Observation: "full" (default) a Dict: "discs" (M, 11), in order stored, grabbed, held, placed, x / 480, y / 480 (0
    unless placed), boundary / 360 (0 unless held), golden, first stored, dx / 480, dy / 480 since the last action;
    "map" (5, 40, 40) uint8: dark, target, block, building, wall; "family" (6,); "constraints" (5, 2): limit / 1000, and
    the present value over the limit, -1 without a limit. "paper": the first seven of each disc, (7 M,); ones when won.

    Actions: "paper" (default) Discrete(3 M + G + 3208), see `gumption.envs.probsol.engine`; "objects"
    MultiDiscrete([7, M, 361]): what to do (place, hold, store, turn, put down, none, check), with which disc, where.
    After each action the world runs until it rests, 20 s at the most; after NONE 0.5 s. An action that the mask closes
    is refused: nothing happens, and `refused` counts it.

    Reward: 1 at the CHECK that finds the goal reached (with a quiz, at its right answer) within all limits, else 0.

    Termination: solved, out of trials, a broken limit, or a wrong answer. Truncation: `max_actions` in a trial.

    Info: `task`, `family`, `goal` (text), `goal_data`, `success`, `solution_rate` (1 - d of the present table),
    `trial_rate` (of the last trial that ended), `constraints` (limit, value, excess of each), `refused`, `trial`,
    `step` (of the physics, 60 a second), `quiz` (open questions), `end` (the reason), `action_mask`.

    Reset options: `task` (a name, a file or its content) and `seed` (which draws the law of laws="shuffled").
    """

    batch: ProbSolVectorEnv

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        """:raises InputError: bad settings; see `ProbSolSettings`."""
        super().__init__(
            ProbSolVectorEnv(1, render_mode=render_mode, autoreset_mode=AutoresetMode.DISABLED, **settings)
        )

    def action_masks(self) -> np.ndarray:
        """(N,) bool: open actions; of the form "objects" the masks of its three parts, one after the other."""
        return self.batch.action_mask()[0]

    def table(self) -> list[dict[str, Any]]:
        """The hidden truth, which no observation shows; see `ProbSolVectorEnv.table`."""
        return self.batch.table(0)

    def quiz(self) -> list[dict[str, Any]]:
        """The questions of the task."""
        return self.batch.quiz(0)

    def answer(self, answers: Sequence[Sequence[str]]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Answer the open quiz, a list of ids for each question; returns what `step` returns."""
        result = self.batch.answer(0, answers)
        self._over = True
        return result

    def save(self) -> dict[str, Any]:
        """The state as data for JSON."""
        return self.batch.save(0)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit for bit; InputError for the state of another task."""
        self.batch.restore(state, 0)
        self._over = False

    def label(self, action: int) -> tuple[Any, ...]:
        """The name of an action, with its arguments: ("place", 10, 12)."""
        return self.batch.label(action, 0)

    def action_index(self, verb: str, *arguments: Any) -> int:
        """The number of an action by its name: action_index("place", 10, 12)."""
        return self.batch.action_index(verb, *arguments, i=0)


def begin(
    *, task: str = "fishing/0", seed: Seed = 0, laws: str | None = None, names: str = "real", rate: bool = False
) -> tuple[ProbSolEnv, TextFace]:
    """Play an episode of ProbSol: solve the task, check, and answer the quiz.

    :param task: A task, a family (one is drawn), or a file.
    :param seed: Draws the task of several, and a shuffled law.
    :param laws: real, counterfactual, inert or shuffled.  [default: the task's]
    :param names: Of colours and names: real, anonymous or shuffled.
    :param rate: Tell how near the goal is after each action.
    """
    env = ProbSolEnv(render_mode="ansi", task=task, laws=laws, names=names)
    env.batch.episodes = []  # keeps the episode
    env.reset(seed=seed)
    return env, TextFace(rate)
