"""The signs on panels and their names: the settings `names` and `laws` in HALMA.

A panel shows a distance by a digit, and a direction by the digit's colour or by the shape of a hint. Panel rows, in
arrays and in memories, hold the truth (see `panel_row`). `Signs.panels` returns how they look.

- `laws="counterfactual"`: colours and shapes indicate other directions: red indicates a direction other than left.
- `names="shuffled"`: each digit, colour and shape is shown, and named, as another of its kind: a panel may show 7 for a
  wall 5 away. `names="anonymous"`: the same exchange, and no sign looks like or is named as a known thing.

Primitives and directions are an agent's own actions. They keep their names.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from gumption.envs.priors import codes, deranged, deranged_unlike

from .maze import ALL_COLOURS, DIRECTIONS, SHAPES, Digit, goal_distances, row_digits
from .rules import Rules
from .visual import OTHER_RGB, RGB

_WALL, _GOAL, _SHAPE, _VALUE = slice(0, 4), slice(4, 8), slice(8, 12), slice(12, None)
# The two goal colours of an axis share a row of symbols, so they move only as a pair: a quarter turn.
_TURNED = (np.arange(4) + 1) % 4


@dataclass(frozen=True)
class Signs:
    """The signs of a world.

    :ivar colours, goal_colours, shapes: (4,) int64 by direction: the index in COLOURS, GOAL_COLOURS and SHAPES of the
        sign for that direction.
    :ivar values: (side,) int64 by distance: the digit that shows it. 0, which is not shown, stays.
    :ivar labels: the names of the eight colours, the four shapes and the digits from 1 on.
    :ivar anonymous: whether signs look like no known thing.
    """

    colours: np.ndarray
    goal_colours: np.ndarray
    shapes: np.ndarray
    values: np.ndarray
    labels: tuple[str, ...]
    anonymous: bool

    def colour(self, direction: int) -> str:
        """Return the name of the colour for distances to walls and crossings in a direction."""
        return self.labels[self.colours[direction]]

    def goal_colour(self, direction: int) -> str:
        """Return the name of the colour for the goal's distance in a direction."""
        return self.labels[4 + self.goal_colours[direction]]

    def shape(self, direction: int) -> str:
        """Return the name of the shape of a hint that leads in a direction."""
        return self.labels[8 + self.shapes[direction]]

    def value(self, distance: int) -> str:
        """Return the name of the digit that shows a distance."""
        return self.labels[11 + self.values[distance]]

    def read(self, digit: str) -> tuple[int, int]:
        """Return the distance and the direction of a label of a wall's or crossing's digit, such as "red 5".

        :raises ValueError: no such label.
        """
        colour, _, value = digit.partition(" ")
        return self._distances.index(value), self._colours.index(colour)

    @cached_property
    def _colours(self) -> list[str]:
        return [self.colour(direction) for direction in range(4)]

    @cached_property
    def _distances(self) -> list[str]:
        return ["", *(self.value(distance) for distance in range(1, len(self.values)))]

    @property
    def rgb(self) -> list[tuple[int, int, int]]:
        """The RGB values of the eight colours."""
        return [*OTHER_RGB] if self.anonymous else [RGB[colour] for colour in ALL_COLOURS]

    @property
    def told(self) -> dict[str, str]:
        """Signs of left, up, right and down, in words: the colours of "walls" and "goals", the shapes of "hints"."""
        kinds = {"walls": self.colour, "goals": self.goal_colour, "hints": self.shape}
        return {kind: ", ".join(map(called, range(4))) for kind, called in kinds.items()}

    def digits(self, row: np.ndarray) -> list[Digit]:
        """Return the digits of a panel row (11,) as its panel shows them, with the value and the colour of the signs.
        The value of an anonymous digit is its code; direction and kind are the truth."""
        found = []
        for digit in row_digits(row):
            called = self.goal_colour if digit.kind == "goal" else self.colour
            colour = called(DIRECTIONS.index(digit.direction))
            value: Any = self.value(digit.value)
            found.append(Digit(value if self.anonymous else int(value), colour, digit.direction, digit.kind))
        return found

    def hint(self, row: np.ndarray) -> str | None:
        """Return the name of the shape of a panel row's (11,) hint; None without a hint."""
        return self.shape(row[10] - 1) if row[10] else None

    def items(self, panel: np.ndarray) -> list[tuple[str, str]]:
        """Return class and colour of the items of a panel (11,) from `panels`, in the order of its non-zero places."""
        labels = self.labels
        items = [(labels[11 + digit.value], labels[ALL_COLOURS.index(digit.colour)]) for digit in row_digits(panel)]
        return [*items, (labels[7 + panel[10]], "grey")] if panel[10] else items

    def panels(self, rows: np.ndarray) -> np.ndarray:
        """Return how panel rows (..., 11) look; digits stand in the places of their colours."""
        return self._exchanged(rows, self.colours, self.goal_colours, self.shapes, self.values)

    def truth(self, panels: np.ndarray) -> np.ndarray:
        """Invert `panels`: return the panel rows (..., 11) of panels."""
        back = (np.argsort(part) for part in (self.colours, self.goal_colours, self.shapes, self.values))
        return self._exchanged(panels, *back)

    @staticmethod
    def _exchanged(
        rows: np.ndarray, colours: np.ndarray, goal_colours: np.ndarray, shapes: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        shown = np.zeros_like(rows)
        shown[..., colours] = values[rows[..., :4]]
        shown[..., 4 + colours] = values[rows[..., 4:8]]
        away = np.zeros_like(rows[..., :4])
        away[..., goal_colours] = values[goal_distances(rows)]
        shown[..., 8], shown[..., 9] = away[..., 2] - away[..., 0], away[..., 1] - away[..., 3]
        shown[..., 10] = np.append(0, 1 + shapes)[rows[..., 10]]
        return shown


@cache
def signs(rules: Rules) -> Signs:
    """Return the signs of a world with these rules."""
    groups = ["colour"] * 4 + ["x", "y"] * 2 + ["shape"] * 4 + ["digit"] * (rules.side - 1)
    real = (*ALL_COLOURS, *SHAPES, *map(str, range(1, rules.side)))
    sign, other, labels = np.arange(len(groups)), deranged(groups), real
    if rules.laws == "counterfactual":
        sign[_GOAL] = 4 + _TURNED
        back = np.argsort(np.concatenate([other[_WALL], other[_SHAPE] - 4]))  # colours, then shapes
        drawn = deranged_unlike(["colour"] * 4 + ["shape"] * 4, back.tolist())
        sign[_WALL], sign[_SHAPE] = drawn[:4], drawn[4:] + 4
    if rules.names != "real":
        sign = other[sign]
    if rules.names == "anonymous":
        labels = codes(len(real), real)
    values = np.append(0, sign[_VALUE] - 11)
    return Signs(sign[_WALL], sign[_GOAL] - 4, sign[_SHAPE] - 8, values, labels, rules.names == "anonymous")
