"""What a guided agent learns from its own moves, as facts counted in MEM; nothing else of MEM guides it.

They are in the graph halma/RUN/knowledge:

    yellow 6     greaterThan     yellow 3    a pair of KB_S (envs/halma/knowledge_base.py)
    change:yellow 6>yellow 3:right 1+2       fellFrom yellow 6, fellTo yellow 3, fellThrough right 1+2
    yellow 3     affords         right 1+2   the move left no yellow digit of the one that the panel showed
    right        lowers          yellow      each move to the right lowered yellow, or left none of it
    left         raises          yellow
    right        stoppedWithout  yellow      where no yellow was shown, no move to the right was carried out
    purple       reaches         goal        moves to the right that ended on the goal used up the purple digit
    circle       leadsTo         left        the last way out of a panel with a circle, in trials that reached the goal
    lesser digit shows           hint        a move that used up the lesser of two digits of a colour ended at a hint
    dice 3+3+3+3 endsAs          stopped     it was never carried out, in whatever direction

Panels count as they look (see envs/halma/signs.py).

Only what the agent observed counts. It does not observe the panel on which a trial's last move ended, the goal's
included; it knows from its reward that it reached the goal, and whether a move was carried out. KB_C and KB_A count
such panels, and add up the primitives of options to find the digit that an option used up; the tests are made from
them, but they guide no agent. Here that digit is the one of a colour that was shown before the move and not after it
(`affords`); what other options measure follows by rules.json.

The evidence that each fact takes was chosen on memories of random moves in training mazes:

    a change or a use  as many cases as the threshold of the knowledge bases
    stoppedWithout     if moves without the colour were carried out as often as moves with it, the probability that
                       none of them was is less than `CHANCE`
    leadsTo            the direction was taken at more than half of the panels with the shape, by the lower end of
                       Wilson's interval: a move can jump over a crossing and come back (a quarter of them did)
    reaches            all of at least `GOALS` different panels, and no move needs the colour (half of the goals lie at
                       a wall)
    the others         all of at least `LAW` cases
"""

from dataclasses import replace
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from gumption.agents.statistics import wilson_interval
from gumption.data.settings import Count, checked
from gumption.envs.halma.knowledge_base import (
    AFFORDS,
    GREATER_THAN,
    HAS_DIRECTION,
    HAS_PRIMITIVES,
    LEADS_TO,
    KnowledgeBases,
    Triple,
    digit_label,
)
from gumption.envs.halma.maze import ALL_COLOURS, DIRECTIONS, SHAPES, goal_distances, place_codes
from gumption.envs.halma.memory import REACHED, Memory
from gumption.envs.halma.signs import signs

LAW = 30  # cases that a generalisation takes
GOALS = 10  # different panels from which a goal was reached in one direction
CHANCE = 0.001
NORMAL = 2.5758  # standard deviations of Wilson's interval: 99 %

FELL_FROM, FELL_TO, FELL_THROUGH = "fellFrom", "fellTo", "fellThrough"
LOWERS, RAISES, STOPPED_WITHOUT = "lowers", "raises", "stoppedWithout"
REACHES, GOAL = "reaches", "goal"
SHOWS, LESSER, HINT = "shows", "lesser digit", "hint"
ENDS_AS, STOPPED = "endsAs", "stopped"

_DIGITS = 10


class OptionBags:
    """Options as bags of their primitives 1 to 3; zeros only fill up short options.

    :ivar bags: ascending primitives of each option, shortest first; the first is empty.
    :ivar names: the label of each in the knowledge graph, "dice 2+3".
    :ivar extended: (options, 4) int64: the option with one more primitive; 0 where it is too long.
    """

    def __init__(self, max_opt_len: int) -> None:
        self.max_opt_len = max_opt_len
        self.bags: list[tuple[int, ...]] = []
        for size in range(max_opt_len + 1):
            self.bags += combinations_with_replacement((1, 2, 3), size)
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

    def move(self, direction: int, option: int) -> str:
        """The label of an option in a direction, "right 2+3"."""
        return self.names[option].replace("dice", DIRECTIONS[direction])

    def made_of(self, direction: int, option: int) -> list[Triple]:
        """The direction and the primitives of such an option, as facts."""
        move = self.move(direction, option)
        return [(move, HAS_DIRECTION, DIRECTIONS[direction]), (move, HAS_PRIMITIVES, self.names[option])]

    def of(self, primitives: np.ndarray) -> np.ndarray:
        """(..., t) primitives 0 to 3, t <= max_opt_len -> (...) int64 index of their bag."""
        return self._index[self._weights[primitives].sum(-1)]


def shown_digits(rows: np.ndarray) -> np.ndarray:
    """(..., 11) panel rows -> (..., 8, 2) int8: the digits of each colour, 0 where fewer than two are shown."""
    shown = np.zeros((*rows.shape[:-1], 8, 2), dtype=np.int8)
    shown[..., :4, 0], shown[..., :4, 1] = rows[..., :4], rows[..., 4:8]
    shown[..., 4:, 0] = goal_distances(rows)
    return shown


@checked
def experience_facts(memory: Memory, options: OptionBags, threshold: Count = 3) -> list[Triple]:
    """The facts above, sorted.

    :param threshold: cases that a pair, a change or a use takes.
    """
    rules = memory.rules
    pairs = np.argwhere(KnowledgeBases.of(memory, threshold).s).tolist()  # KB_S needs s alone
    memory = _as_seen(memory)
    moves = _Moves.of(memory, options)
    left = moves.seen[:, None] & (moves.most > 0) & (moves.most_after > 0)
    falls = moves.fell.all_of(LAW) & (_by_direction(left, moves.direction) >= threshold)
    ways = falls & moves.stopped_without
    uses = _uses(moves, ways, options, threshold)
    measured = _measured(uses, options)[moves.option]
    reaches = _reaches_goal(memory, moves, falls, measured) & ~ways.any(0)
    return sorted(
        [
            *((digit_label(d1, d, rules), GREATER_THAN, digit_label(d2, d, rules)) for d1, d2, d in pairs),
            *_changes(moves, left & falls[moves.direction], options, threshold),
            *_affordances(uses, options),
            *_related(LOWERS, DIRECTIONS, ALL_COLOURS, falls),
            *_related(RAISES, DIRECTIONS, ALL_COLOURS, moves.rose.all_of(LAW)),
            *_related(STOPPED_WITHOUT, DIRECTIONS, ALL_COLOURS, moves.stopped_without),
            *_related(LEADS_TO, SHAPES, DIRECTIONS, _led(memory)),
            *((ALL_COLOURS[c], REACHES, GOAL) for c in np.flatnonzero(reaches)),
            *([(LESSER, SHOWS, HINT)] if _lesser_shows_hint(memory, moves, falls, measured) else []),
            *((options.names[o], ENDS_AS, STOPPED) for o in np.flatnonzero(moves.option_stopped.all_of(LAW))),
        ]
    )


def _as_seen(memory: Memory) -> Memory:
    """The memory with panels as they look in place of panel rows."""
    if memory.rules.plain_signs:
        return memory
    looks, records = signs(memory.rules), memory.records.copy()
    records["before"], records["after"] = looks.panels(memory.before), looks.panels(memory.after)
    return replace(memory, records=records)


class _Law(NamedTuple):
    held: np.ndarray
    cases: np.ndarray

    def all_of(self, least: int) -> np.ndarray:
        return (self.cases >= least) & (self.held == self.cases)


class _Moves(NamedTuple):
    """MEM by direction and colour.

    :ivar seen: (n,) bool: the move was carried out, and the agent saw where it ended.
    :ivar most, most_after: (n, 8) int8 the greatest digit of each colour in s and in s', 0 for none.
    :ivar lesser: (n, 8) int8 the lesser of two different digits of a colour in s, 0 without two.
    :ivar option: (n,) int64 index of the option.
    :ivar fell, rose: (4, 8) [direction, colour]; `option_stopped` (options,).
    :ivar stopped_without: (4, 8) bool: without the colour no move was carried out, and that is not by chance.
    """

    seen: np.ndarray
    direction: np.ndarray
    option: np.ndarray
    most: np.ndarray
    most_after: np.ndarray
    lesser: np.ndarray
    fell: _Law
    rose: _Law
    option_stopped: _Law
    stopped_without: np.ndarray

    @classmethod
    def of(cls, memory: Memory, options: OptionBags) -> "_Moves":
        valid, direction = memory.valid, memory.direction
        seen = valid & memory.seen_after
        before, after = shown_digits(memory.before), shown_digits(memory.after)
        most, most_after = before.max(-1), after.max(-1)
        least = before.min(-1)
        option = options.of(memory.option[:, 1:])
        moved = seen[:, None] & (most > 0)
        cases = _by_direction(moved, direction)
        return cls(
            seen, direction, option, most, most_after, np.where(least < most, least, 0),
            _Law(_by_direction(moved & (most_after < most), direction), cases),
            _Law(_by_direction(moved & (most_after > most), direction), cases),
            _Law(*(np.bincount(part, minlength=len(options)) for part in (option[~valid], option))),
            _stopped_without(most > 0, valid, direction),
        )  # fmt: skip


def _by_direction(cases: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(n, 8) bool, (n,) -> (4, 8) counts."""
    return np.stack([cases[direction == d].sum(0) for d in range(4)])


def _stopped_without(shown: np.ndarray, valid: np.ndarray, direction: np.ndarray) -> np.ndarray:
    # Early on most moves are stopped, whatever is shown: the number of cases alone is no evidence.
    done = _by_direction(shown & valid[:, None], direction) / np.maximum(1, _by_direction(shown, direction))
    without = _by_direction(~shown, direction)
    none = _by_direction(~shown & valid[:, None], direction) == 0
    return none & (without >= LAW) & ((1 - done) ** without < CHANCE)


def _related(relation: str, subjects: tuple[str, ...], objects: tuple[str, ...], table: np.ndarray) -> list[Triple]:
    return [(subjects[i], relation, objects[j]) for i, j in np.argwhere(table).tolist()]


def _uses(moves: _Moves, ways: np.ndarray, options: OptionBags, threshold: int) -> np.ndarray:
    """(k, 4) int64 rows direction, colour, digit, option: often enough the digit was the only one of the colour, none
    was shown after the option, and it is a colour without which no move is carried out."""
    used = ways[moves.direction] & moves.seen[:, None] & (moves.most > 0) & (moves.lesser == 0)
    row, colour = np.nonzero(used & (moves.most_after == 0))
    parts = moves.direction[row], colour, moves.most[row, colour], moves.option[row]
    return _often(parts, (4, 8, _DIGITS, len(options)), threshold)


def _often(parts: tuple[np.ndarray, ...], sizes: tuple[int, ...], threshold: int) -> np.ndarray:
    """(k, m) int64 sorted distinct rows of m arrays (n,) of indices below `sizes` that occur often enough."""
    kinds, counts = np.unique(np.ravel_multi_index(parts, sizes), return_counts=True)
    return np.stack(np.unravel_index(kinds[counts >= threshold], sizes), axis=1)


def _affordances(uses: np.ndarray, options: OptionBags) -> list[Triple]:
    facts: set[Triple] = set()
    for d, c, digit, o in uses.tolist():
        move = options.move(d, o)
        facts |= {(f"{ALL_COLOURS[c]} {digit}", AFFORDS, move), *options.made_of(d, o)}
    return sorted(facts)


def _measured(uses: np.ndarray, options: OptionBags) -> np.ndarray:
    """(options,) int64: the digit that an option used up, 0 for none or several."""
    table = np.zeros((len(options), _DIGITS), dtype=bool)
    table[uses[:, 3], uses[:, 2]] = True
    return np.where(table.sum(1) == 1, table.argmax(1), 0)


def _led(memory: Memory) -> np.ndarray:
    """(4, 4) bool: the shape of a hint leads to a direction.

    A successful trial leaves each place for the last time towards the goal: a maze is a tree.
    """
    trial = memory.episode.astype(np.int64) * (1 + int(memory.trial.max(initial=0))) + memory.trial
    successful = np.isin(trial, trial[(memory.flags & REACHED) != 0])
    shown = np.flatnonzero(successful & memory.valid & (memory.before[:, 10] > 0))[::-1]
    _, last = np.unique(np.stack([trial[shown], place_codes(memory.before[shown])], axis=1), axis=0, return_index=True)
    left = shown[last]
    shape, direction = memory.before[left, 10] - 1, memory.direction[left]
    # Each panel counts once: later trials of an episode repeat its second one.
    _, once = np.unique(np.stack([place_codes(memory.before[left]), direction], axis=1), axis=0, return_index=True)
    counts = np.zeros((4, 4), dtype=np.int64)
    np.add.at(counts, (shape[once], direction[once]), 1)
    return wilson_interval(counts, counts.sum(1, keepdims=True), NORMAL)[0] > 0.5


def _reaches_goal(memory: Memory, moves: _Moves, falls: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """(8,) bool: every move that lowers the colour and ended on the goal used up its only digit.

    :param measured: (n,) the digit that the option of each move uses up, 0 where that is unknown.
    """
    reached = np.flatnonzero(((memory.flags & REACHED) != 0) & (measured > 0))
    direction = moves.direction[reached]
    about = falls[direction]  # (k, 8)
    used = (moves.most[reached] == measured[reached, None]) & (moves.lesser[reached] == 0)
    panels = np.stack([place_codes(memory.before[reached]), direction], axis=1)
    found = np.zeros(8, dtype=bool)
    for colour in range(8):
        mine = about[:, colour]
        found[colour] = len(np.unique(panels[mine], axis=0)) >= GOALS and bool(used[mine, colour].all())
    return found


def _lesser_shows_hint(memory: Memory, moves: _Moves, falls: np.ndarray, measured: np.ndarray) -> bool:
    """Whether all moves that used up the lesser of two digits, of the colour that they lower, ended at a hint."""
    own = falls[moves.direction] & (moves.lesser == measured[:, None]) & (moves.lesser > 0)
    landed = own.any(1) & moves.seen
    return int(landed.sum()) >= LAW and bool((memory.after[landed, 10] > 0).all())


def _changes(moves: _Moves, left: np.ndarray, options: OptionBags, threshold: int) -> list[Triple]:
    """Digits that a move turned into others.

    :param left: (n, 8) bool: a move in the direction that lowers the colour left a digit of it.
    """
    row, colour = np.nonzero(left)
    parts = (moves.direction[row], colour, moves.most[row, colour], moves.most_after[row, colour], moves.option[row])
    facts: list[Triple] = []
    for d, c, high, low, o in _often(parts, (4, 8, _DIGITS, _DIGITS, len(options)), threshold).tolist():
        move = options.move(d, o)
        before, after = f"{ALL_COLOURS[c]} {high}", f"{ALL_COLOURS[c]} {low}"
        node = f"change:{before}>{after}:{move}"
        facts += [(node, FELL_FROM, before), (node, FELL_TO, after), (node, FELL_THROUGH, move)]
        facts += options.made_of(d, o)
    return sorted(set(facts))
