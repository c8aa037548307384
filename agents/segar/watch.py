"""A trained agent of SEGAR to watch, level by level."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from gumption.agents.settings import WorldConfig
from gumption.agents.watch import SHOWN, Candidate, Choice, Player, PolicyPlayer
from gumption.envs.segar.configurations import Split
from gumption.envs.segar.env import SegarVectorEnv
from gumption.envs.segar.text import FACE

from . import guided
from .runs import general_settings, read_run

if TYPE_CHECKING:
    from .training import SegarRun


def watch(run: Path, *, partition: Split = "test", level: str | None = None) -> Player:
    """The agent of a run on a level.

    :param partition: Which levels: train, those of its training, or test.
    :param level: A level by its name, as tilesx3-hard/test/0/7.  [default: drawn by the seed]
    """
    loaded = read_run(run, "cpu")
    options = {} if level is None else {"level": level}
    if isinstance(loaded.config, WorldConfig):
        settings = general_settings(loaded.config, partition, None, None)
        env: Any = gym.make_vec(guided.ID, 1, **SHOWN, **settings).unwrapped
        turns = (f"{360 * turn / env.settings.directions:g} degrees" for turn in range(env.settings.directions))
        shown = {"question": "push", "labels": ["none", *turns], "outcome": told}
        return PolicyPlayer(loaded.policy, env, options=options, **shown)
    levels, seen = loaded.config.draw(partition), loaded.config.seen()
    env = gym.make_vec("gumption/SEGAR-v0", 1, **SHOWN, task=loaded.config.task, levels=levels, observation=seen)
    return ForcePlayer(loaded, env.unwrapped, options)


def told(env: SegarVectorEnv) -> str:
    """The result of the first environment's latest step, in words."""
    return FACE.told(env.describe(0), bool(env.results()[1][0]))


class ForcePlayer:
    """Plays the most probable forces, or actions of an own task, of a run of PPO or SAC, without candidates beside."""

    def __init__(self, run: "SegarRun", env: SegarVectorEnv, options: dict[str, Any]) -> None:
        """:param options: of each reset."""
        self._run, self.env, self._options = run, env, options

    def begin(self, seed: int) -> None:
        self.env.reset(seed=seed, options=self._options)

    def decide(self) -> tuple[np.ndarray, tuple[Choice, ...]]:
        actions = self._run.player(self.env, self.env.episode_begins())
        numbers = np.ravel(actions[0])
        words = ", ".join(f"{each:.2f}" if actions.dtype.kind == "f" else str(each) for each in numbers)
        question = "action" if self.env.task.action_space is not None else "force"
        return actions, (Choice(question, (Candidate(words, 1.0),), 0),)

    def outcome(self, infos: dict[str, Any]) -> tuple[str, bool]:
        return told(self.env), bool(infos["success"][0])
