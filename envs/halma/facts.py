"""HALMA's facts as triples of labels: an agent's understanding, the truth, and the facts that support an action."""

from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, checked
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.priors import Laws, Names

from .knowledge_base import (
    AFFORDS,
    GREATER_THAN,
    INDICATES,
    LEADS_TO,
    PARTS,
    POINTS_TO,
    THRESHOLD,
    KnowledgeBases,
    LastPanel,
    Reading,
    Triple,
    affordance_facts,
    digit_label,
    goal_digit_label,
    option_labels,
    perceived,
    primitives_of,
)
from .maze import DIRECTIONS, goal_distances
from .memory import FOLDER, Memory
from .rules import RULES, Rules, spans
from .signs import signs


@checked
def facts(
    run: str | PathLike[str] | None = None,
    *,
    partition: str,
    threshold: Count = THRESHOLD,
    knowledge_base: Reading = "strict",
    last_panel: LastPanel = "counted",
    names: Names = "real",
    laws: Laws = "real",
) -> Iterator[Triple]:
    """Return the world's binary facts, distinct and sorted.

    HALMA's knowledge comes from experience. "train" holds what the run's agent has understood; without a run, what an
    agent sees before its first move: the value and the colour of each digit. "all" holds the truth: every inequality
    between digits of any two types, the direction of each colour, of each hint and of the goal's digits, and the digit
    that affords each option (of the run's max_opt_len, else 5). "test" holds the truth without "train".

    :param run: a run directory with a memory.
    :param partition: "train", "test" or "all".
    :param threshold, knowledge_base, last_panel: when something counts as understood, see `KnowledgeBases.of`.
    :param names, laws: the settings of the world, see `Rules`. A run has its own.
    :raises InputError: an unknown partition, a run without a memory, or a run of other names or laws.
    """
    if partition not in PARTS:
        raise InputError(f"partition is {partition!r}; name the part whose facts you want: train, test or all")
    max_opt_len, rules = 5, Rules(names=names, laws=laws)
    known = perceived(np.ones((RULES.side, 4), dtype=bool), rules)
    if run is not None:
        memory = Memory.load(Path(run) / FOLDER)
        bases = KnowledgeBases.of(memory, threshold, knowledge_base=knowledge_base, last_panel=last_panel)
        for dial, asked, own in (("names", names, bases.rules.names), ("laws", laws, bases.rules.laws)):
            if asked not in ("real", own):
                raise InputError(f"{dial} is {asked!r}, and the run {run} has {own!r}: leave it out, a run has its own")
        known, max_opt_len, rules = set(bases.facts()), bases.max_opt_len, bases.rules
    if partition == "train":
        return iter(sorted(known))
    truth = _truth(max_opt_len, rules)
    return iter(sorted(truth if partition == "all" else truth - known))


def _truth(max_opt_len: int, rules: Rules) -> set[Triple]:
    """Return the binary facts of an agent that has understood everything."""
    triples = perceived(np.ones((rules.side, 4), dtype=bool), rules)
    digits = [(value, d) for value in range(1, rules.side) for d in range(4)]
    labels = {digit: digit_label(*digit, rules) for digit in digits}
    for digit, label in labels.items():
        triples.add((label, INDICATES, DIRECTIONS[digit[1]]))
        triples |= {(label, GREATER_THAN, labels[other]) for other in digits if digit[0] > other[0]}
    for d, code, _ in option_labels(max_opt_len, rules):
        length = int(rules.digits[primitives_of(code, rules)].sum())
        triples |= affordance_facts(length, d, code, rules)
    for d, direction in enumerate(DIRECTIONS):
        triples.add((signs(rules).shape(d), LEADS_TO, direction))
        triples |= {(goal_digit_label(value, d, rules), POINTS_TO, direction) for value in range(1, rules.side)}
    return triples


# ---- The facts that support a direction, and a primitive of an option, at a panel.
#
# For a direction d: (hint, leadsTo, d), (digit of the goal in this direction, pointsTo, d), and (digit of the wall in
# this direction, indicates, d), which exists only if the direction is open. For a primitive: (digit, affords, option).
# The digit is the oracle's nearest stop in the chosen direction (paper, 3.3: the least of crossing, wall, and the goal
# straight ahead). The option is the primitives chosen so far and this one, filled up with the largest primitives to the
# distance of the stop; if they cannot reach it, these primitives alone.

RELATIONS = (LEADS_TO, POINTS_TO, INDICATES, AFFORDS)
MOST_CODES = 4**12  # of an option's primitives
_DIRECTION = np.arange(4)


class HALMAFacts:
    """The vocabulary of options of up to T primitives, and the facts about them.

    :ivar vocabulary: labels; index 0 is the empty label, which stands for no entity.
    """

    def __init__(self, max_opt_len: int, rules: Rules = RULES) -> None:
        """:raises InputError: too many options to label each."""
        self.max_opt_len, self.rules = max_opt_len, rules
        longest = self._longest = rules.side - 1  # distances are digits: longer options use up none
        if rules.count ** min(max_opt_len, longest) > MOST_CODES:
            raise InputError(
                f"options of {max_opt_len} out of {rules.count} primitives, up to {longest} cells long, are too many "
                "to have facts each: take a lesser max_opt_len"
            )
        labels = (digit_label, goal_digit_label)
        digits = [label(v, d, rules) for label in labels for d in range(4) for v in range(1, rules.side)]
        shapes = [signs(rules).shape(d) for d in range(4)]
        options = option_labels(max_opt_len, rules)
        # The id of a digit of value v in direction d is _digit + longest * d + v; a digit of the goal has _goal + ...
        self._digit = len(DIRECTIONS) + len(shapes)
        self._goal = self._digit + 4 * longest
        self._options = self._goal + 4 * longest + 1
        self._option_labels = options
        self.vocabulary: tuple[str, ...] = ("", *DIRECTIONS, *shapes, *digits, *(label for _, _, label in options))

    @cached_property
    def _option(self) -> np.ndarray:
        """(4, P**n) int64: the id of an option by direction and code; 0 if it is longer than any distance."""
        table = np.zeros((4, self.rules.count ** min(self.max_opt_len, self._longest)), dtype=np.int64)
        for place, (direction, code, _) in enumerate(self._option_labels):
            table[direction, code] = self._options + place
        return table

    def facts(self, rows: np.ndarray, chosen: np.ndarray | None) -> ActionFacts:
        """Return the facts that support each candidate at panels (B, 11): A = 4 directions, or the P next primitives of
        the parts of options chosen so far (B, t), direction first."""
        if chosen is None or chosen.shape[1] == 0:
            return self._directions(rows.astype(np.int64))
        return self._primitives(rows.astype(np.int64), chosen)

    def _directions(self, rows: np.ndarray) -> ActionFacts:
        hint, wall, away = rows[:, 10:], rows[:, 4:8], goal_distances(rows)
        shape = np.where(hint > 0, len(DIRECTIONS) + hint, 0)
        direction = 1 + _DIRECTION
        pointing = np.where(away > 0, self._goal + self._longest * _DIRECTION + away, 0)
        way = np.where(wall > 0, self._digit + self._longest * _DIRECTION + wall, 0)
        facts = [(shape, direction, 0), (pointing, direction, 0), (way, direction, 0), (0, 0, 0)]
        return action_facts(RELATIONS, (len(rows), 4), facts)

    def _primitives(self, rows: np.ndarray, chosen: np.ndarray) -> ActionFacts:
        each, direction = np.arange(len(rows)), chosen[:, 0]
        crossing, wall = rows[each, direction], rows[each, 4 + direction]
        along = goal_distances(rows)[each, direction]
        straight = (np.count_nonzero(rows[:, 8:10], axis=1) == 1) & (along > 0)
        stop = np.where(crossing > 0, crossing, wall)
        stop = np.where(straight & (along < stop), along, stop)[:, None]
        base, digits = self.rules.count, self.rules.digits
        candidates = np.tile(np.arange(base), (len(rows), 1))[..., None]
        primitives = np.concatenate([np.repeat(chosen[:, None, 1:], base, 1), candidates], 2)
        length, left = digits[primitives].sum(2), self.max_opt_len - primitives.shape[2]
        walk = spans(self.rules, self.max_opt_len)
        rest = np.clip(stop - length, 0, self._longest)
        rest = np.where((length <= stop) & (walk.fewest[rest] <= left), rest, 0)
        code = np.zeros_like(length)
        count = np.zeros_like(length)
        for part in [*np.moveaxis(primitives, 2, 0), *walk.primitives[rest].transpose(2, 0, 1)]:
            code = np.where((part > 0) & (count < self._longest), base * code + part, code)
            count += part > 0
        total = length + rest
        option = np.where(
            (total > 0) & (total <= self._longest), self._option[direction[:, None], code % self._option.shape[1]], 0
        )
        digit = np.where(stop > 0, self._digit + self._longest * direction[:, None] + stop, 0)
        return action_facts(RELATIONS, length.shape, [(0, 0, 0)] * 3 + [(digit, option, 0)])
