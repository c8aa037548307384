"""HALMA in a browser: the panel as a table of coloured digits, a direction, and primitives that add up to a move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, shown
from gumption.envs.halma import HALMAEnv
from gumption.envs.halma.knowledge_base import AFFORDS
from gumption.envs.halma.maze import DIRECTIONS, MeanBranches, MeanDepth
from gumption.envs.halma.rules import OptLen
from gumption.envs.priors import Laws, Names
from gumption.scripts.people.web.views import View

if TYPE_CHECKING:
    from gumption.envs.action_facts import ActionFacts
    from gumption.envs.halma.signs import Signs

RULES = """\
You stand in a maze that you do not see. What you see are coloured digits, none of them zero.
{walls}: how far it is to the left, up, right, down to a wall; where a colour has two digits, the \
lesser one is the way to the nearest crossing.
{goals}: how far the goal lies to the left, up, right, down.
A {hints} is a hint: go left, up, right, down.
Choose a direction and up to {most} of {parts}, which add up to a move. It is made as a whole, or not at all where a \
wall is in the way or the sum is zero; it counts either way. {trials}"""
ONE_TRIAL = "There is one trial in this maze."
MORE_TRIALS = "There are {} trials in this maze; the first one explores, the others can take what you know by then."


@dataclass(frozen=True)
class Face:
    """An episode in words; `env` is the one it is about."""

    env: HALMAEnv

    def rules(self, env: Any) -> str:
        batch = env.batch
        *others, last = batch.rules.primitive_names
        parts = f"{', '.join(others)} and {last}"
        count = batch.settings.trials
        trials = ONE_TRIAL if count == 1 else MORE_TRIALS.format(count)
        walls, goals, hints = (batch.signs.told[kind] for kind in ("walls", "goals", "hints"))
        return RULES.format(
            most=batch.max_opt_len,
            parts=parts,
            trials=trials,
            walls=walls.capitalize(),
            goals=goals.capitalize(),
            hints=" or ".join(hints.rsplit(", ", 1)),
        )

    def observe(self, env: Any) -> str:
        """The panel alone, what a player may see of the maze; before it the maze, where the environment renders it."""
        signs = env.batch.signs
        items = signs.items(env.batch.seen[0])
        lines = [
            (name, sorted(item for item, colour in items if colour == name)) for name in (*signs.labels[:8], "grey")
        ]
        shown = (f"{'hint' if name == 'grey' else name}: {', '.join(values)}\n" for name, values in lines if values)
        return (f"{env.render()}\n" if env.render_mode == "ansi" else "") + "".join(shown)

    def parse(self, typed: str, env: Any) -> Any:
        return parse(typed, env)

    def told(self, info: Mapping[str, Any], over: bool) -> str:
        blocked = "not carried out, but counted: a wall is in the way, or the sum is zero"
        move = "" if info["success"] else "moved" if info["valid_move"] else blocked
        if not info["trial_over"]:
            return move
        trials = self.env.batch.settings.trials
        result = "the goal is reached" if info["success"] else f"{move}; no steps are left in this trial"
        return result if over else f"{result}; trial {info['trial'] + 1} of {trials} begins"


def begin(
    *,
    trials: Count = 10,
    max_opt_len: OptLen = 5,
    mean_depth: MeanDepth = 2,
    mean_branches: MeanBranches = 5,
    names: Names = "real",
    laws: Laws = "real",
    seed: Seed = 0,
) -> tuple[HALMAEnv, Face]:
    """Find the goal of a hidden maze by its panels, trial after trial.

    :param trials: Trials in the maze.
    :param max_opt_len: Numbers in a move.
    :param mean_depth: Of dead ends, in cells.
    :param mean_branches: Dead ends of the maze.
    :param names: Real digits, colours and shapes; anonymous ones; or shuffled among their kind.
    :param laws: real, or counterfactual: colours and shapes indicate other directions.
    :param seed: Draws the maze.
    """
    made = HALMAEnv(
        num_mazes=1,
        maze_seed=seed,
        trials=trials,
        max_opt_len=max_opt_len,
        mean_depth=mean_depth,
        mean_branches=mean_branches,
        names=names,
        laws=laws,
    )
    made.reset(seed=seed)
    return made, Face(made)


def drawing(env: Any) -> dict[str, Any]:
    """The panel (per colour its direction and digits), the hint, the trial, and what moves are made of."""
    batch = env.batch
    settings, row = batch.settings, batch.rows[0]
    return {
        "kind": "panel",
        "panel": _panel(row, batch.signs),
        "hint": batch.signs.hint(row),
        "trial": min(int(batch.trial[0]) + 1, settings.trials),
        "trials": settings.trials,
        "moves": int(batch.trial_steps[0]),
        "stopped": bool(batch.steps[0] and not batch.valid[0]),
        "primitives": [
            {"name": name, "digit": int(digit)}
            for name, digit in zip(batch.rules.primitive_names, batch.rules.digits, strict=True)
        ],
        "most": batch.max_opt_len,
    }


def parse(action: Any, env: Any) -> np.ndarray:
    """The option of {"direction": "right", "primitives": ["1", "3"]}, or of a text such as "right 1+3".

    :raises InputError: another form, direction or primitive, or too many of them.
    """
    batch = env.batch
    if isinstance(action, dict) and set(action) == {"direction", "primitives"}:
        direction, parts = action["direction"], action["primitives"]
        if isinstance(direction, str) and isinstance(parts, list) and all(isinstance(part, str) for part in parts):
            action = f"{direction} {'+'.join(parts)}"
    if not isinstance(action, str):
        raise InputError(f'the action is {shown(action)}; it is {{"direction": "right", "primitives": ["1", "3"]}}')
    return np.array(parse_option(action, batch.max_opt_len, batch.rules.primitive_names))


def parse_option(typed: str, max_opt_len: int, names: Sequence[str] = ("0", "1", "2", "3")) -> list[int]:
    """A direction and `max_opt_len` primitives of these names, from such as "right 2+3" or "r 2+3"; InputError for
    other texts."""
    way, _, rest = typed.strip().lower().partition(" ")
    directions = [d for d, direction in enumerate(DIRECTIONS) if way in (direction, direction[0])]
    parts = [part.strip() for part in rest.split("+")]
    if not directions or len(parts) > max_opt_len or any(part not in names for part in parts):
        raise InputError(
            f"{typed!r} is no move: left, up, right or down (or l, u, r, d), then 1 to {max_opt_len} of "
            f"{', '.join(names)} with + between them, such as right {names[-1]}+1; q stops"
        )
    return [directions[0], *map(names.index, parts), *[0] * (max_opt_len - len(parts))]


def helped(env: Any) -> Iterator[tuple[ActionFacts, dict[int, dict[str, Any]]]]:
    """Help speaks of the directions, then in each of options that use up the nearest digit: one by each first part."""
    world = env.unwrapped
    yield world.action_facts(), {d: {"label": name} for d, name in enumerate(DIRECTIONS)}
    for d in range(len(DIRECTIONS)):
        facts = world.action_facts(np.array([[d]]))
        options = [world.vocabulary[each] for each in facts.object[0, :, facts.relations.index(AFFORDS)]]
        first = {option: p for p, option in reversed([*enumerate(options)]) if option}  # 0 and another part can be one
        yield facts, {p: {"label": option, "action": option} for option, p in sorted(first.items(), key=itemgetter(1))}


def _panel(row: np.ndarray, signs: Signs) -> list[dict[str, Any]]:
    """The digits of the panel by colour, and what the colour is called and, unless it looks as it is called, looks
    like: a third lighter than on pictures, so that text of it can be read on the dark panel."""
    digits, looks = signs.digits(row), dict.fromkeys(signs.labels)
    for name, rgb in zip(signs.labels, signs.rgb if signs.anonymous else (), strict=False):
        looks[name] = f"rgb{tuple(part + (255 - part) // 3 for part in rgb)}"
    return [
        {"colour": colour, "look": looks[colour], "direction": direction, "about": about, "values": values}
        for about, called in (("wall", signs.colour), ("goal", signs.goal_colour))
        for colour, direction in zip(map(called, range(4)), DIRECTIONS, strict=True)
        if (values := sorted(digit.value for digit in digits if digit.colour == colour))
    ]


def name(action: Any, env: Any) -> dict[str, Any]:
    """The option of an agent, as the page puts it together."""
    direction, *parts = action
    names = env.batch.rules.primitive_names
    return {"direction": DIRECTIONS[direction], "primitives": [names[part] for part in parts]}


VIEW = View(begin, drawing, parse, folder=Path(__file__).parent, text=True, action="own", name=name, helped=helped)
