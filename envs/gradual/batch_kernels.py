"""The bytes between events, and the answers to dealt questions, compiled by numba; batch.py calls these loops.

`_judge` does what `Life.verdict` does, `_below` what `Draws.below` does. test_batch.py holds them to it.
"""

from typing import Any

import numpy as np
from numba import njit

from .draws import FACTOR, INCREMENT
from .engine import GRACE, IN_A_ROW
from .stream import FULL_STOP, SPACE

_FACTOR, _INCREMENT = np.uint64(FACTOR), np.uint64(INCREMENT)
_ZERO = ord("0")

# Numba compiles anew when this file changes, so what loops and the rounds of batch.py agree on is here.
ROUNDS = 16  # of an instance, at most; one with more is judged by its `Life`
CARDS = 256  # of a deck, at most
WIDTH = 16  # bytes of a text, at most
NOISES = 4  # numbers of random digits, at most
MOST_OPTIONS = 2**31 - 1  # of an `OptionsLeft`

# What is in a round: four texts, each with its length behind it; how many numbers of random digits there are, then
# these numbers; the key of `OptionsLeft` that it counts for, by its place from 1 on, 0 for none; and whether a right
# answer makes that one known.
QUESTION, ANSWER, RIGHT, WRONG, NOISE = range(0, 5 * (WIDTH + 1), WIDTH + 1)
KEY = NOISE + 1 + NOISES
SETTLES = KEY + 1
SIZE = SETTLES + 1

#: Where a stream is, and how its task is judged: the fields of `Stream`, `Life` and `Deal` under their names.
#: `needed` is 0 where a full stop ends the answer, `number` counts the bytes heard, `told` the answers that the `Life`
#: knows of, `right` the right ones since then, and `penalties` bytes said out of turn. `rounds` is 0 where the `Life`
#: judges; `presumed` says whether it has an `OptionsLeft`.
COLUMN = np.dtype([
    *((name, np.int32) for name in (
        "position", "length", "talk_end", "turn", "age", "limit", "needed", "number", "mini", "early_stop", "each_byte",
        "penalties", "rounds", "asked", "told", "right", "row", "soft", "tolerance", "ended", "success", "presumed",
        "unknown", "place", "cards", "dealt",
    )),
    ("state", np.uint64),
])  # fmt: skip


@njit(cache=True)
def play(
    columns: np.ndarray, rounds: np.ndarray, left: np.ndarray, deck: np.ndarray, heard: np.ndarray, text: np.ndarray,
    byte: np.ndarray, reward: np.ndarray, events: np.ndarray, said: np.ndarray, idle: np.ndarray,
) -> int:  # fmt: skip
    """Make a step of each stream that is not idle: the number of events, at which streams have to make it themselves.

    Arrays are neither sliced nor handed on within the loops: each new reference to one costs as much time as a step.

    :param columns: (B,) `COLUMN`. :param rounds: (B, ROUNDS, SIZE) uint8, see batch.py.
    :param left: (B, ROUNDS) int32, of `OptionsLeft`. :param deck: (B, CARDS) uint8, of the `Deal`.
    :param heard, text: (B, any) uint8, the answer so far, and what is said. :param byte: (B,) uint8, sent last.
    :param reward: (B,) int8, 0 and set here. :param events: (B,) int64, its beginning is set to the
        columns of events.
    :param said: (B,) uint8. :param idle: (B,) bool.
    """
    count, last = 0, len(columns)  # answers to be judged are noted from the end of `events` on
    for i in range(len(columns)):
        if idle[i]:
            continue
        column: Any = columns[i]
        spoken = said[i]
        queued = column.position < column.turn
        event = column.number == heard.shape[1]  # no space for the byte
        if column.mini or not queued:
            stop = spoken == FULL_STOP
            done = stop
            if column.needed:
                done = column.number + 1 >= column.needed or (stop and column.early_stop != 0)
            if not queued and (column.ended or column.age >= column.limit):
                event = True
            elif column.mini:
                event |= stop
            elif done and column.rounds:
                heard[i, column.number] = spoken
                last -= 1
                events[last] = i
                continue
            else:
                event |= done or column.each_byte != 0
            if event:
                events[count] = i
                count += 1
                continue
        if spoken != SPACE and column.position < column.talk_end:
            spoken = SPACE
            if not column.mini:
                reward[i] = -1
                column.penalties += 1
                column.row = 0
        if column.mini or not queued:
            heard[i, column.number] = spoken
            column.number += 1
        _send(columns, text, byte, i)
    _judge(columns, rounds, left, deck, heard, text, reward, events, last)
    for place in range(last, len(events)):
        i = events[place]
        judged: Any = columns[i]
        if judged.ended and not judged.length:
            events[count] = i
            count += 1
        else:
            _send(columns, text, byte, i)
    return count


@njit(cache=True)
def send(columns: np.ndarray, text: np.ndarray, byte: np.ndarray, rows: np.ndarray) -> None:
    """Send a byte of some streams."""
    for i in rows:
        _send(columns, text, byte, i)


@njit(cache=True)
def _send(columns: np.ndarray, text: np.ndarray, byte: np.ndarray, i: int) -> None:
    column: Any = columns[i]
    column.age += 1
    if column.position < column.length:
        byte[i] = text[i, column.position]
        column.position += 1
    else:
        byte[i] = SPACE


@njit(cache=True)
def _judge(
    columns: np.ndarray, rounds: np.ndarray, left: np.ndarray, deck: np.ndarray, heard: np.ndarray, text: np.ndarray,
    reward: np.ndarray, rows: np.ndarray, first: int,
) -> None:  # fmt: skip
    """Judge the answers of the streams `rows[first:]`, and put feedback and the next question into their texts."""
    for row in range(first, len(rows)):
        i = rows[row]
        column: Any = columns[i]
        now = deck[i, column.place - 1]
        number = column.number + 1
        right = number == rounds[i, now, ANSWER + WIDTH]
        for place in range(number):
            right = right and heard[i, place] == rounds[i, now, ANSWER + place]
        reward[i] = 1 if right else -1
        column.asked += 1
        column.right += right
        column.row = column.row + 1 if right else 0
        if column.presumed and not column.soft:  # as `OptionsLeft.after` has it
            key = np.int64(rounds[i, now, KEY]) - 1
            if key >= 0 and left[i, key]:
                if left[i, key] == 2 or (right and rounds[i, now, SETTLES]):
                    left[i, key] = 0
                    column.unknown -= 1
                elif not right:
                    left[i, key] -= 1
            if not column.unknown:
                column.soft = column.asked + GRACE
        length = 0
        noises = rounds[i, now, NOISE]
        if noises:
            for _ in range(rounds[i, now, NOISE + 1 + _below(column, noises)]):
                text[i, length] = _ZERO + _below(column, 10)
                length += 1
        said = RIGHT if right else WRONG
        for place in range(WIDTH):  # a fixed number of bytes is copied at once
            text[i, length + place] = rounds[i, now, said + place]
        length += rounds[i, now, said + WIDTH]
        if column.row >= IN_A_ROW:
            column.ended, column.success = 1, column.soft == 0 or column.asked <= column.soft
        elif column.soft and column.asked > (column.soft + 1) * (1 + column.tolerance):
            column.ended = 1
        else:
            start = column.place if column.place < column.dealt else 0
            other = start + _below(column, column.cards - start)
            card = deck[i, other]
            deck[i, other] = deck[i, start]
            deck[i, start] = card
            column.place = start + 1
            column.needed = rounds[i, card, ANSWER + WIDTH]
            for place in range(WIDTH):
                text[i, length + place] = rounds[i, card, QUESTION + place]
            length += rounds[i, card, QUESTION + WIDTH]
        column.position = column.number = 0
        column.length = column.turn = length
        while length and text[i, length - 1] == SPACE:
            length -= 1
        column.talk_end = length


@njit(cache=True)
def _below(column: Any, number: int) -> Any:
    column.state = column.state * _FACTOR + _INCREMENT
    return np.int64(((column.state >> np.uint64(32)) * np.uint64(number)) >> np.uint64(32))
