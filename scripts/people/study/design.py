"""Conditions, orders and tasks of each participant, as pure functions of the study's content and participant's place.

The place is the number of the participant, from 0. No clock and no stateful generator is used, so that a restarted
server, a simulation and the report compute the same design.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from .files import Block, Order, Study


@dataclass(frozen=True)
class Task:
    """An episode to play: settings by keyword and a seed, for the `begin` of the world."""

    world: str
    settings: Mapping[str, Any]
    seed: int


@dataclass(frozen=True)
class Played:
    """A block as one participant plays it.

    :ivar levels: condition that acts on the block -> level.
    :ivar tasks: tasks in the order of play; `numbers` are their numbers in the file, from 0.
    """

    block: Block
    levels: Mapping[str, str]
    tasks: Sequence[Task]
    numbers: Sequence[int]
    practice: bool


@dataclass(frozen=True)
class Design:
    """The conditions and blocks of one participant.

    :ivar condition: condition between participants -> level.
    """

    condition: Mapping[str, str]
    blocks: Sequence[Played] = field(default_factory=tuple)


def design(study: Study, place: int) -> Design:
    """Return the conditions, the order of blocks, and the tasks of the participant at a place."""
    between = [one for one in study.conditions if one.between]
    count = prod(len(one.levels) for one in between)
    # Each run of `count` consecutive participants contains each combination of levels once.
    row, cell = divmod(place, count)
    cell = shuffled(count, study.hash, "between", row)[cell]
    condition = {}
    for one in between:
        cell, level = divmod(cell, len(one.levels))
        condition[one.name] = list(one.levels)[level]
    rows = _Rows(row)
    order = [study.blocks[k] for k in _ordered(study.block_order, len(study.blocks), rows, study.hash, place, "blocks")]
    played = [
        one
        for block in (*study.practice, *order)
        for one in _blocks(study, place, block, condition, rows, block in study.practice)
    ]
    return Design(condition, tuple(played))


def _blocks(
    study: Study, place: int, block: Block, condition: Mapping[str, str], rows: _Rows, practice: bool
) -> list[Played]:
    """Return the block once for each combination of levels of its conditions within participants."""
    acting = study.acting_on(block)
    levels: list[list[str]] = []
    for one in acting:
        names = list(one.levels)
        if one.between:
            levels.append([condition[one.name]])
        else:
            key = (study.hash, place, block.name, one.name)
            levels.append([names[k] for k in _ordered(one.order, len(names), rows, *key)])
    size = block.count // block.sets
    part = rows.take(block.sets)
    numbers = [part + k * block.sets for k in range(size)]
    found = []
    for combination in product(*levels):
        chosen = dict(zip((one.name for one in acting), combination, strict=True))
        key = (study.hash, place, block.name, *combination)
        order = [numbers[k] for k in _ordered(block.order, size, rows, *key)]
        settings = dict(block.settings)
        for one in acting:
            settings |= one.levels[chosen[one.name]]
        tasks = tuple(_task(study, place, block, settings, number, combination) for number in order)
        found.append(Played(block, chosen, tasks, tuple(order), practice))
    return found


def _task(
    study: Study, place: int, block: Block, settings: Mapping[str, Any], number: int, levels: Sequence[str]
) -> Task:
    own = {**settings, **{name: values[number] for name, values in block.each.items()}}
    if block.drawn:
        # All drawn blocks share one seed, so that the parts of a world's protocol fit together.
        seed = seed_of(study.hash, place, "drawn") if block.seed is None else block.seed
        own |= {"tasks": block.count, "number": number}
    else:
        seed = seed_of(study.hash, place, block.name, *levels, number) if block.seed is None else block.seed + number
    return Task(block.world, own, own.pop("seed", seed))


# ---- Orders


def latin_square(size: int, row: int) -> list[int]:
    """Return a row of Williams' balanced square: over `square_rows(size)` rows, each item is at each place equally
    often, and directly before each other item equally often."""
    row %= square_rows(size)
    zigzag = [(k + 1) // 2 if k % 2 else (size - k // 2) % size for k in range(size)]  # 0, 1, n - 1, 2, n - 2, ...
    found = [(one + row) % size for one in zigzag]
    return found[::-1] if row >= size else found


def square_rows(size: int) -> int:
    """Return the number of rows after which the square is balanced: odd sizes need each row and its reverse."""
    return 2 * size if size % 2 and size > 1 else size


def shuffled(size: int, *key: Any) -> list[int]:
    """Return the numbers below `size` in an order determined by the key."""
    return sorted(range(size), key=lambda k: _digest(*key, k))


def seed_of(*key: Any) -> int:
    """Return a seed determined by the key, of 53 bits, so that every JSON parser reads it exactly."""
    return int.from_bytes(_digest(*key)[:8], "big") >> 11


def _digest(*key: Any) -> bytes:
    return hashlib.sha256(repr(key).encode()).digest()


def _ordered(order: Order, size: int, rows: _Rows, *key: Any) -> list[int]:
    if order == "latin square":
        return latin_square(size, rows.take(square_rows(size)))
    return shuffled(size, *key) if order == "random" else list(range(size))


class _Rows:
    """Splits a row number among several balanced orders, so that their combinations are balanced, too.

    With orders of P and Q rows, P Q rows give each pair of rows once: the second order advances with the first, and is
    shifted by one after each full cycle of the first.
    """

    def __init__(self, row: int) -> None:
        self._row, self._period = row, 1

    def take(self, size: int) -> int:
        """Return the row of the next order, which has `size` rows."""
        round_, within = divmod(self._row, self._period)
        self._period *= size
        return (round_ + within) % size
