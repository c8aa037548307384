"""Text interface of the world: its rules, a level as text, and pushes typed as words, angles or numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, inf, isfinite, radians, sin
from typing import Any

import numpy as np
from gymnasium import spaces

from gumption.data import InputError
from gumption.data.settings import Count, Seed
from gumption.envs.priors import Laws, Names

from . import env as environments

#: Typed -> degrees, counter-clockwise from the right.
TURNS = {
    "right": 0.0, "up right": 45.0, "up": 90.0, "up left": 135.0, "left": 180.0, "down left": 225.0, "down": 270.0,
    "down right": 315.0,
}  # fmt: skip
OWN = """\
The task is {task}; {actor} is what it is about (a capital letter is an object, a small one a tile). At each prompt type
{action}. Enter alone is zero.

level {level}"""
RULES = """\
You push {actor} (a capital letter is an object, a small one a tile). At each prompt type a direction, and how strong
the push is if it is not the strongest, {bound:g}:
  left, up right, ...   up 0.5     a word or two
  135   135 0.5                    degrees, counter-clockwise from the right
  0.5,-1                           the push along x and y
Enter alone pushes nothing. What moves goes on moving for a moment after each prompt.

level {level}"""


@dataclass
class TextFace:
    """Text interface for players that read and type; `env` is a `SegarEnv` without `directions`.

    :ivar level: name of the level in the reset options.
    """

    level: str = ""

    def rules(self, env: Any) -> str:
        batch = env.unwrapped.batch
        actor = next(one for one in batch.state.scene(0).entities if issubclass(one.type, batch.task.actor))
        told = {"actor": batch.dials.id(actor), "level": batch.describe(0)["level"] or self.level}
        if batch.task.action_space is None:
            return RULES.format(bound=batch.settings.action_max, **told)
        return OWN.format(task=batch.task.name, action=asked(batch.task.action_space), **told)

    def observe(self, env: Any) -> str:
        return env.unwrapped.batch.draw_frame(0, "ansi")

    def parse(self, typed: str, env: Any) -> Any:
        """Parse a push (x, y), or an action of a custom task; raise InputError if it is invalid or too strong."""
        batch = env.unwrapped.batch
        if batch.task.action_space is None:
            return parse_push(typed, batch.settings.action_max)
        return parse_action(typed, batch.task.action_space)

    def told(self, info: Mapping[str, Any], over: bool) -> str:
        """Describe the result of a step from its info; `over` states whether the episode ended."""
        if info["success"]:
            return "the goal is reached" if "distance" in info else "the task is solved"
        if not info.get("alive", True):
            return "the ball is destroyed"
        if "distance" not in info:
            return "the episode is over" if over else "the episode goes on"
        return f"distance {info['distance']:.3f}" + ", the ball is in a hole" * over


FACE = TextFace()


def begin(
    *,
    level: str | None = None,
    task: str = "PuttPutt",
    names: Names = "real",
    laws: Laws = "real",
    seed: Seed = 0,
    steps: Count = 50,
) -> tuple[environments.SegarEnv, TextFace]:
    """Play an episode of SEGAR: bring the ball to the goal, or balls into holes, push by push.

    :param level: Its name, CONFIGURATION/train|test/SEED/NUMBER.  [default: drawn by the seed]
    :param task: PuttPutt, PuttPuttNegDist, Invisiball, Billiards, or MODULE:NAME of your own.
    :param names: Of kinds of things: real, anonymous or shuffled.
    :param laws: Counterfactual: tiles do what other tiles do, and objects what other objects do.
    :param seed: Draws the level, where none is given.
    :param steps: The longest that the episode may be.
    """
    levels = {"levels": "objectsx2-medium"} if task.startswith("PuttPutt") else {}
    settings = {"observation": "state", "partition": "test", "max_steps": steps, "names": names, "laws": laws, **levels}
    env = environments.SegarEnv(render_mode="ansi", task=task, **settings)
    env.reset(seed=seed, options={} if level is None else {"level": level})
    return env, TextFace(level or "")


def asked(space: spaces.Space[Any]) -> str:
    """Describe in words the action that a space expects."""
    if isinstance(space, spaces.Discrete):
        return f"a whole number from {space.start} to {space.start + space.n - 1}"
    count = int(np.prod(space.shape or (1,)))
    return f"{count} number{'s' * (count > 1)}, with commas between"


def parse_action(typed: str, space: spaces.Space[Any]) -> Any:
    """Parse a typed action of a space; raise InputError if it is invalid."""
    size = int(np.prod(space.shape or (1,)))
    numbers = np.array(_numbers(typed.split(","), typed) if typed.strip() else [0.0] * size)
    action = numbers.astype(space.dtype)
    exact = action.dtype.kind == "f" or (action == numbers).all()
    if len(numbers) != size or not exact or not space.contains(action.reshape(space.shape)):
        raise InputError(f"{typed!r} is no action; type {asked(space)}, as of {space}")
    return action.reshape(space.shape)


def parse_push(typed: str, bound: float) -> tuple[float, float]:
    """Parse a push (x, y); see `RULES`. Raise InputError if it is invalid or too strong.

    :param bound: the largest push along an axis, and the default strength.
    """
    words = re.sub(r"\s+|(?<=[a-z])-(?=[a-z])", " ", typed.lower()).strip()
    if not words:
        return 0.0, 0.0
    if "," in typed:
        push = _numbers(typed.split(","), typed)
        if len(push) != 2:
            raise InputError(f"{typed!r} has {len(push)} numbers; type two, as 0.5,-1: the push along x and y")
        if max(map(abs, push)) > bound:
            raise InputError(f"{typed!r} is too strong: along x and y a push is from {-bound:g} to {bound:g}")
        return push[0], push[1]
    direction = max((one for one in TURNS if f"{words} ".startswith(f"{one} ")), key=len, default=None)
    if direction is None:
        angle, *more = _numbers(typed.split(), typed)
    else:
        angle, more = TURNS[direction], _numbers(words[len(direction) :].split(), typed)
    if len(more) > 1:
        raise InputError(f"{typed!r} has too many numbers; type a direction and a strength, as 45 0.5 or up 0.5")
    strength = more[0] if more else bound
    if not 0 <= strength <= bound:
        raise InputError(f"{typed!r}: a strength is from 0 to {bound:g}")
    if not strength:
        other = "" if direction else f"; the push along x and y has a comma: {', '.join(typed.split())}"
        raise InputError(f"{typed!r} is a push of strength 0, which pushes nothing: Enter alone does that{other}")
    return strength * cos(radians(angle)), strength * sin(radians(angle))


def _numbers(parts: list[str], typed: str) -> list[float]:
    try:
        found = [float(part) for part in parts]
    except ValueError:
        found = [inf]
    if not all(map(isfinite, found)):
        raise InputError(f"{typed!r} is no push; type one as up, down left, 45 0.5 (degrees, strength) or 0.5,-1 (x,y)")
    return found
