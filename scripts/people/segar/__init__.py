"""SEGAR in a browser: the table from above, and an arrow to pull."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, shown
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.physics.factors import Position, Visible
from gumption.envs.physics.scene import EntityData
from gumption.envs.priors import Laws, Names
from gumption.envs.segar import text
from gumption.envs.segar.env import SegarEnv
from gumption.envs.segar.facts import BALL, Affordances
from gumption.envs.segar.render import COLOURS, SolidColours
from gumption.kg.facts import PLACE
from gumption.scripts.people.web.views import View, as_png

PIXELS = 720  # of a side of the picture
AIMS = {
    "Billiards": "Push the {actor} so that each {Ball} falls into a {Hole}, and it does not.",
    "Invisiball": "Bring the {actor} to the {GoalTile}. It can be seen before the first push alone: watch the others.",
}
PUSHES = """\
Pull an arrow from the {actor}: it is pushed that way, harder the longer the arrow is. What moves goes on moving for a \
moment after each push; Wait lets it move without one.
An episode has {steps} pushes or waits."""


class Face(text.TextFace):
    """The rules in the words of the page, where a push is an arrow; where the ball cannot be seen, how far it is from
    the goal is not told."""

    def __init__(self, level: str, env: SegarEnv) -> None:
        super().__init__(level)
        self._env = env

    def rules(self, env: Any) -> str:
        batch = env.batch
        aim = AIMS.get(batch.task.name, "Bring the {actor} to the {GoalTile}, past what slows or swallows it.")
        kinds = {kind: _in_words(called) for kind, called in batch.dials.called.items()}
        told = f"{aim}\n{PUSHES}"
        return told.format(actor=kinds[batch.task.actor.__name__], steps=batch.settings.max_steps, **kinds)

    def told(self, info: Mapping[str, Any], over: bool) -> str:
        seen = over or _actor(self._env) in {entity.id for entity in _visible(self._env)}
        return super().told(info, over) if seen else ""


def begin(
    *,
    env: Literal[
        "gumption/PuttPutt-v0",
        "gumption/PuttPuttNegDist-v0",
        "gumption/Invisiball-v0",
        "gumption/Billiards-v0",
        "gumption/SEGAR-v0",
    ] = "gumption/PuttPutt-v0",
    level: str | None = None,
    names: Names = "real",
    laws: Laws = "real",
    steps: Count = 50,
    seed: Seed = 0,
) -> tuple[SegarEnv, Face]:
    """Bring the ball to the goal, or balls into holes, push by push.

    :param env: Id of the environment.
    :param level: Its name, CONFIGURATION/train|test/SEED/NUMBER.  [default: drawn by the seed]
    :param names: Of kinds of things: real, anonymous or shuffled.
    :param laws: Counterfactual: tiles do what other tiles do, and objects what other objects do.
    :param steps: The longest that the episode may be.
    :param seed: Draws the level, where none is given.
    """
    task = "PuttPutt" if env == "gumption/SEGAR-v0" else env.removeprefix("gumption/").removesuffix("-v0")
    made, _ = text.begin(level=level, task=task, names=names, laws=laws, seed=seed, steps=steps)
    return made, Face(level or "", made)


def drawing(env: Any) -> dict[str, Any]:
    """The picture; what is visible, by its name, colour and place in shares of the sides from the lower left; where the
    arrow begins, None where the ball is not visible; and the strongest push."""
    state = env.batch.state
    one = state.select(np.array([0]))
    dials = env.batch.dials
    painter = SolidColours(PIXELS, dials=dials)
    painter.begin(one, np.array([0]), [0])
    low, high = (float(wall) for wall in state.walls[:, 0])
    actor, things, start = _actor(env), [], None
    for entity in _visible(env):
        place = [round((float(value) - low) / (high - low), 4) for value in entity.factors[Position]]
        kind = next(each for each in dials.look(entity.type).__mro__ if each in COLOURS)
        colour = "#{:02x}{:02x}{:02x}".format(*COLOURS[kind])
        called = dials.called.get(entity.type.__name__, entity.type.__name__)
        things.append({"name": _in_words(called), "colour": colour, "place": place})
        if entity.id == actor:
            start = place
    told = "; ".join(f"{one['name']} at {one['place'][0]:.0%} right, {one['place'][1]:.0%} up" for one in things)
    return {
        "kind": "table",
        **as_png(painter.draw(one)[0]),
        "alt": f"A table from above: {told}",
        "things": things,
        "start": start,
        "strongest": env.batch.settings.action_max,
        "left": env.batch.settings.max_steps - int(env.batch.steps[0]),
    }


def parse(action: Any, env: Any) -> np.ndarray:
    """The push [x, y], along the sides of the table.

    :raises InputError: something else, or too strong a push.
    """
    bound = env.batch.settings.action_max
    numbers = isinstance(action, list) and len(action) == 2 and all(type(each) in (int, float) for each in action)
    if not numbers or not all(map(isfinite, action)):
        raise InputError(f"the action is {shown(action)}; it is a push [x, y]")
    if max(map(abs, action)) > bound:
        raise InputError(f"{action} is too strong: along x and y a push is from {-bound:g} to {bound:g}")
    return np.array(action, dtype=np.float64)


LOOKS = 72  # directions in which help looks


def helped(env: Any) -> Iterator[tuple[ActionFacts, dict[int, dict[str, Any]]]]:
    """Help speaks of each kind of thing on a straight way of the ball, with the directions that lead there.

    The force of a push and the speed that the ball has follow from its mass, which is hidden: they are left out, and so
    is all of a ball that cannot be seen.
    """
    if _actor(env) not in {entity.id for entity in _visible(env)}:
        return
    batch = env.batch
    turns = 2 * np.pi * np.arange(LOOKS) / LOOKS
    directions = np.stack([np.cos(turns), np.sin(turns)], axis=1)[None]
    state, dials = batch.state, batch.dials
    ahead = Affordances(batch.simulator.rules, dials)(state, state.first(batch.task.actor), directions)
    kinds = np.unique(ahead.subject[ahead.subject > 0])
    ways = [np.flatnonzero((ahead.subject[0] == kind).any(axis=1)) for kind in kinds]
    # What a thing does is the same at each place on the way, so it is asked at the first one.
    ball = batch.vocabulary.index(dials.called[BALL])
    asked = [(kinds if relation.endswith(f"{PLACE}1") else 0, ball, 0) for relation in ahead.relations]
    facts = action_facts(ahead.relations, (1, len(kinds)), asked)
    yield facts, {k: {"label": f"a push at {_arcs(there)}"} for k, there in enumerate(ways)}


def _arcs(there: np.ndarray) -> str:
    """Directions in degrees, neighbours as one arc: "30° to 75°, 100°"."""
    gap = (np.roll(there, -1) - there) % LOOKS
    ends = np.flatnonzero(gap != 1)
    if not len(ends):
        return "any angle"
    starts = there[(np.roll(ends, 1) + 1) % len(there)] * (360 // LOOKS)
    arcs = zip(starts.tolist(), (there[ends] * (360 // LOOKS)).tolist(), strict=True)
    return ", ".join(f"{begin}°" if begin == end else f"{begin}° to {end}°" for begin, end in arcs)


def played(env: Any) -> dict[str, Any]:
    """The settings, levels and task, from which it follows what things do to the ball."""
    settings, task = env.batch.settings, env.batch.task
    levels = task.levels if settings.levels is None else settings.levels
    return {**vars(settings), "levels": levels, "task": task}


def _visible(env: Any) -> list[EntityData]:
    return [
        entity
        for entity in env.batch.state.scene(0).entities
        if Position in entity.factors and entity.factors.get(Visible, True)
    ]


def _actor(env: Any) -> str:
    """The id of the ball that is pushed."""
    state = env.batch.state
    return state.name(int(state.first(env.batch.task.actor)[0]), 0).strip("'")


def _in_words(name: str) -> str:
    """ "GoalTile" -> "goal tile"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def prepare() -> None:
    """Compile what the first push and the first picture need; all environments share it."""
    env, _ = begin()
    env.step(np.zeros(2))
    drawing(env)
    list(helped(env))


VIEW = View(
    begin,
    drawing,
    parse,
    folder=Path(__file__).parent,
    prepare=prepare,
    text=True,
    action="own",
    name=lambda action, env: list(action),
    played=played,
    helped=helped,
    ranked=False,
    word=_in_words,
)
