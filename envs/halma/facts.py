"""What HALMA states as triples of labels: what an agent has understood, and the truth."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, checked

from .kb_graph import (
    GREATER_THAN,
    INDICATES,
    LEADS_TO,
    PARTS,
    POINTS_TO,
    THRESHOLD,
    Triple,
    affordance_facts,
    binary_facts,
    digit_label,
    goal_digit_label,
    option_labels,
    option_length,
    perceived,
)
from .knowledge_base import KnowledgeBases
from .maze import DIRECTIONS, SHAPES
from .memory import FOLDER, Memory


@checked
def facts(run: str | PathLike[str] | None = None, *, partition: str, threshold: Count = THRESHOLD) -> Iterator[Triple]:
    """The world's binary facts, distinct and sorted.

    Nothing of HALMA is known but from experience. "train" is what the run's agent has understood; without a run it is
    what is plain to see, the value and the colour of each digit, which is all that an agent has before its first move.
    "all" is the truth: every inequality between digits of any two types, what each colour indicates, where hints lead
    and the goal's digits point to, and what affords each option (of the run's max_opt_len, else 5). "test" is what of
    it is not in "train".

    :param run: a run directory with a memory.
    :param partition: "train", "test" or "all".
    :param threshold: visits from which on something counts as understood.
    :raises InputError: an unknown part, a run without a memory.
    """
    if partition not in PARTS:
        raise InputError(f"partition is {partition!r}; name the part whose facts you want: train, test or all")
    known, max_opt_len = perceived(np.ones((10, 4), dtype=bool)), 5
    if run is not None:
        bases = KnowledgeBases.of(Memory.load(Path(run) / FOLDER), threshold)
        known, max_opt_len = set(binary_facts(bases)), bases.max_opt_len
    if partition == "train":
        return iter(sorted(known))
    truth = _truth(max_opt_len)
    return iter(sorted(truth if partition == "all" else truth - known))


def _truth(max_opt_len: int) -> set[Triple]:
    """The binary facts of an agent that has understood everything."""
    triples = perceived(np.ones((10, 4), dtype=bool))
    digits = [(value, d) for value in range(1, 10) for d in range(4)]
    for d1, type1 in digits:
        triples.add((digit_label(d1, type1), INDICATES, DIRECTIONS[type1]))
        triples |= {(digit_label(d1, type1), GREATER_THAN, digit_label(d2, type2)) for d2, type2 in digits if d1 > d2}
    for d, code, _ in option_labels(max_opt_len):
        triples |= affordance_facts(option_length(code), d, code)
    for d, direction in enumerate(DIRECTIONS):
        triples.add((SHAPES[d], LEADS_TO, direction))
        triples |= {(goal_digit_label(value, d), POINTS_TO, direction) for value in range(1, 10)}
    return triples
