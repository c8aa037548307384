"""What an agent's own moves taught it beyond the knowledge bases, as facts counted from MEM.

They stand beside the facts of the knowledge bases (envs/halma/facts.py) in the graph halma/RUN/knowledge:

    change:yellow 6>yellow 3:right 1+2   fellFrom yellow 6, fellTo yellow 3, fellThrough right 1+2
    right        lowers          yellow      each move to the right lowered yellow, or used it up
    left         raises          yellow
    right        stoppedWithout  yellow      where no yellow was shown, no move to the right was carried out
    purple       goneAt          goal        it is shown on the way, and was gone wherever a trial reached the goal
    circle       leadsTo         left        the last way out of a panel with a circle, in trials that reached the goal
    lesser digit shows           hint        a move that used up the lesser of two digits of a colour ended at a hint
    dice 3+3+3+3 endsAs          stopped     whatever the direction, it was never carried out

A change is stated from the third time it was met, as in the knowledge bases. The others are generalisations: they are
stated when they held in all of at least `LAW` cases, except leadsTo, which is stated for the direction that was taken
at two thirds of the panels or more (a move can jump over a crossing and come back).
"""

from itertools import combinations_with_replacement, permutations
from typing import NamedTuple

import numpy as np

from gumption.envs.halma.facts import HAS_DIRECTION, HAS_PRIMITIVES, LEADS_TO, Triple
from gumption.envs.halma.maze import COLOURS, DIRECTIONS, GOAL_COLOURS, SHAPES
from gumption.envs.halma.memory import REACHED, Memory

ALL_COLOURS = (*COLOURS, *GOAL_COLOURS)
LAW = 10  # cases that a generalisation takes

FELL_FROM, FELL_TO, FELL_THROUGH = "fellFrom", "fellTo", "fellThrough"
LOWERS, RAISES, STOPPED_WITHOUT = "lowers", "raises", "stoppedWithout"
GONE_AT, GOAL = "goneAt", "goal"
SHOWS, LESSER, HINT = "shows", "lesser digit", "hint"
ENDS_AS, STOPPED = "endsAs", "stopped"

_DIGITS = 10
_SIGNED = 19  # values -9 to 9 of a place in a row


class Options:
    """Options as bags of their primitives 1 to 3: a 0 only fills up an option that is shorter than the longest.

    :ivar bags: ascending primitives of each option, shortest first; the first is empty.
    :ivar names: what the knowledge graph calls each, "dice 2+3".
    :ivar extended: (options, 4) int64: the option that one more primitive makes of each; 0 where it is too long.
    """

    def __init__(self, max_opt_len: int) -> None:
        self.max_opt_len = max_opt_len
        sizes = range(max_opt_len + 1)
        self.bags: list[tuple[int, ...]] = [
            bag for size in sizes for bag in combinations_with_replacement((1, 2, 3), size)
        ]
        self.names = [self.name(bag) for bag in self.bags]
        base = max_opt_len + 1
        self._weights = np.array([0, 1, base, base * base])
        self._index = np.zeros(base**3, dtype=np.int64)
        self._index[[sum(self._weights[p] for p in bag) for bag in self.bags]] = np.arange(len(self.bags))
        longer = [[tuple(sorted((*bag, p))) if p else bag for p in range(4)] for bag in self.bags]
        place = {bag: i for i, bag in enumerate(self.bags)}
        self.extended = np.array([[place.get(bag, 0) for bag in row] for row in longer])

    def __len__(self) -> int:
        return len(self.bags)

    @staticmethod
    def name(primitives: tuple[int, ...]) -> str:
        return "dice " + ("+".join(map(str, primitives)) or "0")

    @staticmethod
    def orders(bag: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The other orders of a bag's primitives."""
        return sorted(set(permutations(bag)) - {bag})

    def of(self, primitives: np.ndarray) -> np.ndarray:
        """(..., t) primitives 0 to 3, t <= max_opt_len -> (...) int64 index of the bag they are."""
        return self._index[self._weights[primitives].sum(-1)]


def place_codes(rows: np.ndarray) -> np.ndarray:
    """(..., 11) panel rows -> (...) int64, equal where the panels are: how an agent knows a place again."""
    weights = _SIGNED ** np.arange(rows.shape[-1], dtype=np.int64)
    return (rows.astype(np.int64) + _DIGITS - 1) @ weights


def shown_digits(rows: np.ndarray) -> np.ndarray:
    """(..., 11) panel rows -> (..., 8, 2) int8: the digits of each colour, 0 where fewer than two are shown.

    Which of the two is the crossing's is not told by this, only by which is the lesser.
    """
    shown = np.zeros((*rows.shape[:-1], 8, 2), dtype=np.int8)
    shown[..., :4, 0], shown[..., :4, 1] = rows[..., :4], rows[..., 4:8]
    dx, dy = rows[..., 8], rows[..., 9]
    for colour, offset in enumerate((-dx, dy, dx, -dy)):  # left, up, right, down
        shown[..., 4 + colour, 0] = np.maximum(offset, 0)
    return shown


def experience_facts(memory: Memory, options: Options, threshold: int = 3) -> list[Triple]:
    """The facts above, sorted.

    :param threshold: how often a change has to be met.
    """
    moves = _Moves.of(memory, options)
    falls = moves.fell.all_of(LAW) & moves.still_shown(threshold)
    return sorted(
        [
            *_related(LOWERS, DIRECTIONS, ALL_COLOURS, falls),
            *_related(RAISES, DIRECTIONS, ALL_COLOURS, moves.rose.all_of(LAW)),
            *_related(STOPPED_WITHOUT, DIRECTIONS, ALL_COLOURS, moves.stopped_without.all_of(LAW)),
            *_related(LEADS_TO, SHAPES, DIRECTIONS, _led(memory, threshold)),
            *((ALL_COLOURS[c], GONE_AT, GOAL) for c in np.flatnonzero(_gone_at_goal(memory, moves))),
            *([(LESSER, SHOWS, HINT)] if _lesser_shows_hint(memory, moves, falls) else []),
            *((options.names[o], ENDS_AS, STOPPED) for o in np.flatnonzero(moves.option_stopped.all_of(LAW))),
            *_changes(moves, falls, options, threshold),
        ]
    )


class _Law(NamedTuple):
    """How often something was the case of how many cases, both of one shape."""

    held: np.ndarray
    cases: np.ndarray

    def all_of(self, least: int) -> np.ndarray:
        return (self.cases >= least) & (self.held == self.cases)


class _Moves(NamedTuple):
    """MEM by direction and colour.

    :ivar most, most_after: (n, 8) int8 the greatest digit of each colour in s and in s', 0 for none.
    :ivar pair: (n, 8) int8 the lesser of two different digits of a colour in s, 0 where there are not two.
    :ivar option: (n,) int64 index of the option.
    :ivar fell, rose, stopped_without: (4, 8) laws; `option_stopped` (options,).
    """

    valid: np.ndarray
    direction: np.ndarray
    length: np.ndarray
    option: np.ndarray
    most: np.ndarray
    most_after: np.ndarray
    pair: np.ndarray
    fell: _Law
    rose: _Law
    stopped_without: _Law
    option_stopped: _Law

    @classmethod
    def of(cls, memory: Memory, options: Options) -> "_Moves":
        valid, direction = memory.valid, memory.direction
        before, after = shown_digits(memory.before), shown_digits(memory.after)
        most, most_after = before.max(-1), after.max(-1)
        least = before.min(-1)
        option = options.of(memory.option[:, 1:])
        moved = valid[:, None] & (most > 0)
        without = most == 0
        each = np.bincount(option, minlength=len(options))
        return cls(
            valid, direction, memory.length, option, most, most_after, np.where(least < most, least, 0),
            _Law(_by_direction(moved & (most_after < most), direction), _by_direction(moved, direction)),
            _Law(_by_direction(moved & (most_after > most), direction), _by_direction(moved, direction)),
            _Law(_by_direction(without & ~valid[:, None], direction), _by_direction(without, direction)),
            _Law(np.bincount(option[~valid], minlength=len(options)), each),
        )  # fmt: skip

    def still_shown(self, threshold: int) -> np.ndarray:
        """(4, 8) bool: the digit was seen falling to another one, not only being used up."""
        seen = self.valid[:, None] & (self.most > 0) & (self.most_after > 0)
        return _by_direction(seen, self.direction) >= threshold


def _by_direction(cases: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(n, 8) bool, (n,) -> (4, 8) counts."""
    return np.stack([cases[direction == d].sum(0) for d in range(4)])


def _related(relation: str, subjects: tuple[str, ...], objects: tuple[str, ...], table: np.ndarray) -> list[Triple]:
    return [(subjects[i], relation, objects[j]) for i, j in np.argwhere(table).tolist()]


def _led(memory: Memory, threshold: int) -> np.ndarray:
    """(4, 4) bool: the shape of a hint leads to a direction.

    Whoever reaches the goal has left each place for the last time towards it, for a maze has one way from any cell.
    """
    trial = memory.episode.astype(np.int64) * (1 + int(memory.trial.max(initial=0))) + memory.trial
    successful = np.isin(trial, trial[(memory.flags & REACHED) != 0])
    shown = np.flatnonzero(successful & memory.valid & (memory.before[:, 10] > 0))[::-1]
    _, last = np.unique(np.stack([trial[shown], place_codes(memory.before[shown])], axis=1), axis=0, return_index=True)
    left = shown[last]
    shape, direction = memory.before[left, 10] - 1, memory.direction[left]
    # Each panel counts once: the tenth trial of an episode repeats what was done in the second.
    _, once = np.unique(np.stack([place_codes(memory.before[left]), direction], axis=1), axis=0, return_index=True)
    counts = np.zeros((4, 4), dtype=np.int64)
    np.add.at(counts, (shape[once], direction[once]), 1)
    return (counts >= threshold) & (3 * counts >= 2 * counts.sum(1, keepdims=True))


def _gone_at_goal(memory: Memory, moves: _Moves) -> np.ndarray:
    """(8,) bool: a colour that panels show, and none of at least `LAW` different panels at the goal."""
    reached = np.flatnonzero((memory.flags & REACHED) != 0)
    if len(np.unique(place_codes(memory.after[reached]))) < LAW:
        return np.zeros(8, dtype=bool)
    return ((moves.most[reached] > 0).sum(0) >= LAW) & ~(moves.most_after[reached] > 0).any(0)


def _lesser_shows_hint(memory: Memory, moves: _Moves, falls: np.ndarray) -> bool:
    """Whether moves as long as the lesser of two digits of the colour that their direction lowers ended at a hint."""
    own = falls[moves.direction] & (moves.pair == moves.length[:, None]) & (moves.pair > 0)
    landed = own.any(1) & moves.valid & ((memory.flags & REACHED) == 0)
    return int(landed.sum()) >= LAW and bool((memory.after[landed, 10] > 0).all())


def _changes(moves: _Moves, falls: np.ndarray, options: Options, threshold: int) -> list[Triple]:
    """Digits that a move in the direction that lowers their colour left with another value."""
    shown = falls[moves.direction] & moves.valid[:, None] & (moves.most > 0) & (moves.most_after > 0)
    row, colour = np.nonzero(shown)
    parts = (moves.direction[row], colour, moves.most[row, colour], moves.most_after[row, colour], moves.option[row])
    sizes = (4, 8, _DIGITS, _DIGITS, len(options))
    kinds, counts = np.unique(np.ravel_multi_index(parts, sizes), return_counts=True)
    facts: list[Triple] = []
    for d, c, high, low, o in np.stack(np.unravel_index(kinds[counts >= threshold], sizes), axis=1).tolist():
        move = options.names[o].replace("dice", DIRECTIONS[d])
        before, after = f"{ALL_COLOURS[c]} {high}", f"{ALL_COLOURS[c]} {low}"
        node = f"change:{before}>{after}:{move}"
        facts += [
            (node, FELL_FROM, before),
            (node, FELL_TO, after),
            (node, FELL_THROUGH, move),
            (move, HAS_DIRECTION, DIRECTIONS[d]),
            (move, HAS_PRIMITIVES, options.names[o]),
        ]
    return sorted(set(facts))
