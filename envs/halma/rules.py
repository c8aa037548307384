"""The rules of a HALMA world that a user may change: the size of its mazes, the content of its panels, its primitives,
and the names and meanings of signs.

A `Rules` object holds them all. The environment builds it from its settings, `Mazes` pass it to panels and the oracle,
and a memory, the knowledge bases and the tests made of it store it. Deviations from the paper's rules are written into
their files and count in their fingerprints; with the paper's rules both are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.modules import of_module
from gumption.data.settings import checked, settings, shown
from gumption.envs.priors import Laws, Names

LARGEST_SIDE = 26  # so that a panel row is one number of 64 bits, see `place_codes`
Side = Annotated[int, Ge(4), Le(LARGEST_SIDE)]
PanelsEqual = Literal["both", "one"]
PAPERS_PRIMITIVES = "0,1,2,3"
OptLen = Annotated[int, Ge(1), Le(100)]

_NAME = re.compile(r"[A-Za-z_]\w*")


class Primitive(NamedTuple):
    """A part of an option: its name, the distance that it uses up, and where it leads.

        def over(mazes):
            return mazes.ahead(2)  # two cells ahead, regardless of walls

        jump = Primitive("jump", 2, over)

    :ivar name: name in labels of options, "right 2+jump"; the number of cells for primitives that walk.
    :ivar digit: the distance that it uses up, at least 1. An option's length is the sum over its primitives.
    :ivar landing: a function that returns for `Mazes` a whole-number array (M, side * side, 4): by maze, cell index and
        direction the index of the cell where it ends, -1 if it is impossible. None for primitives that walk `digit`
        cells through open doors.
    """

    name: str
    digit: int
    landing: Callable[[Any], np.ndarray] | None = None


@settings
class Rules:
    """The rules of a world; the defaults are the paper's.

    :ivar side: mazes fit into a box of so many cells both ways, and the digits of panels go from 1 to side - 1.
    :ivar panels_equal: where the nearest crossing of a direction is as far as its wall, the panel shows "both" digits
        or, as in the paper's example (A.3, f and g), "one", the wall's.
    :ivar primitives: names with commas between: first 0, which moves nothing and fills up short options, then numbers
        of cells that are walked, 1 among them, and "module:name" of a `Primitive` of one's own.
    :ivar names: what digits, colours and shapes look like and are called; `laws`: which directions colours and shapes
        indicate. See signs.py.
    """

    side: Side = 10
    panels_equal: PanelsEqual = "both"
    primitives: str = PAPERS_PRIMITIVES
    names: Names = "real"
    laws: Laws = "real"

    def __post_init__(self) -> None:
        """:raises InputError: invalid primitives, or primitives without 0 at the start or without 1."""
        names = self.primitives.split(",")
        if names[0] != "0" or "1" not in names or len(set(names)) < len(names):
            raise InputError(
                f"primitives are {shown(self.primitives)}; they begin with 0, have 1 among them, so that each distance "
                f"can be walked, and none twice, such as {PAPERS_PRIMITIVES} or {PAPERS_PRIMITIVES},my_halma:jump"
            )
        for name in names:
            if not name.isdecimal() and ":" not in name:
                raise InputError(
                    f"primitives have {shown(name)}; each is a number of cells or MODULE:NAME, such as my_halma:jump"
                )
            if name.isdecimal() and (str(int(name)) != name or int(name) >= LARGEST_SIDE):
                raise InputError(f"primitives have {shown(name)}; a walk is of 0 to {LARGEST_SIDE - 1} cells")

    @property
    def changes(self) -> dict[str, Any]:
        """The deviations from the paper's rules, by name; they are written into files."""
        return {
            name: getattr(self, name)
            for name in ("side", "panels_equal", "primitives", "names", "laws")
            if getattr(self, name) != getattr(RULES, name)
        }

    @cached_property
    def parts(self) -> tuple[Primitive, ...]:
        """The primitives, in the order of their indices in an option.

        :raises InputError: no such module or name, another object than a `Primitive`, or a repeated name.
        """
        found = [Primitive(name, int(name)) if name.isdecimal() else _own(name) for name in self.primitives.split(",")]
        names = [part.name for part in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"primitives have {twice} twice; give each another name")
        return tuple(found)

    @cached_property
    def digits(self) -> np.ndarray:
        """(P,) int64: the distance that each primitive uses up."""
        return np.array([part.digit for part in self.parts], dtype=np.int64)

    @property
    def primitive_names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def plain_signs(self) -> bool:
        """Whether panels look like panel rows: names and laws are "real"."""
        return self.names == self.laws == "real"

    @property
    def walks_only(self) -> bool:
        """Whether every primitive walks the number of cells of its digit."""
        return ":" not in self.primitives

    @property
    def plain(self) -> bool:
        """Whether the index of each primitive is its digit, so that indices can be summed."""
        return self.primitives.split(",") == [str(i) for i in range(self.count)]

    @property
    def count(self) -> int:
        """P, the number of primitives."""
        return self.primitives.count(",") + 1

    @property
    def columns(self) -> int:
        """The columns of a symbolic observation: the values from -(side - 1) to side - 1."""
        return 2 * self.side - 1


def _own(place: str) -> Primitive:
    found = of_module(place, "primitives", lambda one: isinstance(one, Primitive), "Primitive")
    if not _NAME.fullmatch(found.name) or not 1 <= found.digit < LARGEST_SIDE:
        raise InputError(
            f"primitives {place}: its name is {found.name!r:.40} and its digit {found.digit}; a name is a word, and a "
            f"digit lies between 1 and {LARGEST_SIDE - 1}"
        )
    return found


RULES = Rules()


class Spans(NamedTuple):
    """The reach of walking primitives in options of up to T primitives; the index is a distance from 0 to side - 1.

    :ivar primitives: (side, n) int64: the fewest primitives whose digits sum to the distance, largest first, as indices
        of `Rules.parts`, padded with zeros.
    :ivar fewest: (side,) int64: their number, which may exceed T.
    :ivar first: (side,) int64: the length of the first of the fewest options that cover the distance; the longest such
        length.
    :ivar options: (side,) int64: the number of these options.
    :ivar without_gaps: options have all lengths up to their longest.
    """

    primitives: np.ndarray
    fewest: np.ndarray
    first: np.ndarray
    options: np.ndarray
    without_gaps: bool


@cache
def spans(rules: Rules, max_opt_len: int) -> Spans:
    walks = sorted((int(name), i) for i, name in enumerate(rules.primitives.split(",")) if name.isdecimal())[:0:-1]
    sums: list[list[int]] = [[]]  # primitives of each distance
    for distance in range(1, rules.side):
        ways = [[i, *sums[distance - digit]] for digit, i in walks if digit <= distance]
        sums.append(min(ways, key=len))  # ties go to the largest primitive first
    fewest = np.array([len(way) for way in sums])
    options, first = [0], [0]
    for distance in range(1, rules.side):
        lengths = [length for length in range(distance, 0, -1) if fewest[length] <= max_opt_len]
        best = min(lengths, key=lambda length: options[distance - length])
        options.append(1 + options[distance - best])
        first.append(best)
    primitives = np.zeros((rules.side, int(fewest.max())), dtype=np.int64)
    for distance, way in enumerate(sums):
        primitives[distance, : len(way)] = way
    reached = fewest <= max_opt_len
    return Spans(primitives, fewest, np.array(first), np.array(options), bool(reached[: reached.sum()].all()))


def fewest_options(
    landing: np.ndarray, begin: int, end: int, max_opt_len: int, directions: Sequence[int] = range(4)
) -> list[list[int]]:
    """Return the fewest options (1 + T numbers each) that lead from one cell to another, by breadth-first search.

    :param landing: (P, cells, 4) where each primitive ends, -1 if it is impossible; see `Mazes.landings`.
    :param begin, end: indices of the first and the last cell.
    """
    came: dict[int, tuple[int, list[int]]] = {begin: (begin, [])}
    front = [begin]
    for cell in front:
        for direction in directions:
            ways = {cell: list[int]()}  # the fewest primitives to each cell that one option reaches
            for at in (reached := [cell]):
                for part in range(1, len(landing)):
                    there = int(landing[part, at, direction])
                    if there >= 0 and there not in ways and len(ways[at]) < max_opt_len:
                        ways[there] = [*ways[at], part]
                        reached.append(there)
            for there in reached[1:]:
                if there not in came:
                    came[there] = cell, [direction, *ways[there], *[0] * (max_opt_len - len(ways[there]))]
                    front.append(there)
    options = []
    while end != begin:
        end, option = came[end]
        options.append(option)
    return options[::-1]


@checked
def option_of(rules: Rules, max_opt_len: OptLen, direction: int, length: int) -> list[int]:
    """Return an option (1 + T numbers) that walks `length` cells with the fewest primitives.

    :raises InputError: no option is so long.
    """
    reach = spans(rules, max_opt_len)
    if not 0 < length < rules.side or reach.fewest[length] > max_opt_len:
        raise InputError(f"no option of {max_opt_len} primitives walks {length} cells")
    way = reach.primitives[length, : reach.fewest[length]].tolist()
    return [direction, *way, *[0] * (max_opt_len - len(way))]
