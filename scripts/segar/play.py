"""`gumption play segar`: a person pushes the ball, by words, angles or numbers."""

from __future__ import annotations

import re
from functools import partial
from math import cos, inf, isfinite, radians, sin
from typing import Annotated, Any, Literal

import typer

from gumption.data import InputError
from gumption.data.settings import Count, Seed
from gumption.scripts.apps import App
from gumption.scripts.session import ask

app = App(add_completion=False)

TaskName = Literal["PuttPutt", "PuttPuttNegDist", "Invisiball", "Billiards"]
#: Typed -> degrees, counter-clockwise from the right.
TURNS = {
    "right": 0.0,
    "up right": 45.0,
    "up": 90.0,
    "up left": 135.0,
    "left": 180.0,
    "down left": 225.0,
    "down": 270.0,
    "down right": 315.0,
}
INTRODUCTION = """\
You push {actor} (a capital letter is an object, a small one a tile). At each prompt type a direction, and how strong
the push is if it is not the strongest, {bound:g}:
  left, up right, ...   up 0.5     a word or two
  135   135 0.5                    degrees, counter-clockwise from the right
  0.5,-1                           the push along x and y
Enter alone pushes nothing; q stops. What moves goes on moving for a moment after each prompt."""


@app.command("segar", epilog="Example: gumption play segar --level tilesx2-medium/test/0/3")
def play(
    level: Annotated[
        str | None, typer.Option(help="Its name, CONFIGURATION/train|test/SEED/NUMBER.  [default: drawn by the seed]")
    ] = None,
    task: Annotated[TaskName, typer.Option(help="What is to be done in it.")] = "PuttPutt",
    seed: Annotated[Seed, typer.Option(help="Draws the level, where none is given.")] = 0,
    steps: Annotated[Count, typer.Option(help="The longest that the episode may be.")] = 50,
) -> None:
    """Play an episode of SEGAR: bring the ball to the goal, or balls into holes, push by push."""
    from gumption.envs import worlds

    world = worlds.find("segar")
    entry = next(each for each in world.environments if each.id == f"gumption/{task}-v0")
    levels = {"levels": "objectsx2-medium"} if task.startswith("PuttPutt") else {}
    env = world.load(entry.single, "environment")(
        render_mode="ansi", observation="state", partition="test", max_steps=steps, **levels
    )
    play_episode(env, seed, {} if level is None else {"level": level})


def play_episode(env: Any, seed: int, options: dict[str, Any]) -> float | None:
    """Play one episode of a single environment; its return, or None where the player stops.

    :param options: of the reset.
    :raises InputError: the input ends before the episode does.
    """
    bound = env.batch.settings.action_max
    _, info = env.reset(seed=seed, options=options)
    actor = next(one["id"] for one in info["scene"]["entities"] if one["type"] == env.batch.task.actor.__name__)
    print(INTRODUCTION.format(actor=actor, bound=bound))
    print(f"\nlevel {options.get('level', info['level'])}")
    total, steps, terminated, truncated = 0.0, 0, False, False
    while not (terminated or truncated):
        print(env.render(), end="")
        try:
            push = ask(partial(parse_push, bound=bound))
        except EOFError:
            raise InputError(f"the input ended after {steps} steps, before the episode did") from None
        if push is None:
            print(f"Stopped after {steps} steps; return {total:.3g}.")
            return None
        _, reward, terminated, truncated, info = env.step(push)
        steps, total = steps + 1, total + float(reward)
        print(f"reward {float(reward):.3g}, return {total:.3g}, distance {info['distance']:.3f}\n")
    print(env.render(), end="")
    if info["success"]:
        end = "Success: the episode ended"
    elif terminated:
        end = f"The {actor} {'fell into a hole' if info['alive'] else 'was destroyed'}: the episode ended"
    else:
        end = "No steps are left: the episode ended"
    print(f"{end} after {steps} steps; return {total:.3g}.")
    return total


def parse_push(typed: str, bound: float) -> list[float]:
    """The push (x, y) that was typed; see `INTRODUCTION`.

    :param bound: the largest push along an axis, and the strength where none is typed.
    :raises InputError: no push, or one that is too strong.
    """
    words = re.sub(r"\s+|(?<=[a-z])-(?=[a-z])", " ", typed.lower()).strip()
    if not words:
        return [0.0, 0.0]
    if "," in typed:
        push = _numbers(typed.split(","), typed)
        if len(push) != 2:
            raise InputError(f"{typed!r} has {len(push)} numbers; type two, as 0.5,-1: the push along x and y")
        if max(map(abs, push)) > bound:
            raise InputError(f"{typed!r} is too strong: along x and y a push is from {-bound:g} to {bound:g}")
        return push
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
    return [strength * cos(radians(angle)), strength * sin(radians(angle))]


def _numbers(parts: list[str], typed: str) -> list[float]:
    try:
        found = [float(part) for part in parts]
    except ValueError:
        found = [inf]
    if not all(map(isfinite, found)):
        raise InputError(f"{typed!r} is no push; type one as up, down left, 45 0.5 (degrees, strength) or 0.5,-1 (x,y)")
    return found
