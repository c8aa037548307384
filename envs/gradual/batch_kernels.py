"""The bytes between events, and the answers to dealt questions, compiled by numba; batch.py calls these loops.

`_judge` does what `Life.verdict` does, `_below` what `Draws.below` does. test_batch.py holds them to it.
"""

import numpy as np
from numba import njit

from .draws import FIRST, GAMMA, SECOND
from .engine import GRACE, IN_A_ROW
from .rounds import ANSWER, LENGTHS, NOISE, QUESTION, RIGHT, SETTLES, SLOT, WIDTH, WRONG
from .stream import FULL_STOP, SPACE

_GAMMA, _FIRST, _SECOND = np.uint64(GAMMA), np.uint64(FIRST), np.uint64(SECOND)
_ZERO = ord("0")

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
    columns: np.ndarray, rounds: np.ndarray, left: np.ndarray, deck: np.ndarray, text: np.ndarray, heard: np.ndarray,
    said: np.ndarray, idle: np.ndarray, byte: np.ndarray, reward: np.ndarray, events: np.ndarray,
) -> int:  # fmt: skip
    """Make a step of each stream that is not idle: the number of events, at which streams have to make it themselves.

    :param columns: (B,) `COLUMN`. :param rounds: (B, ROUNDS, SIZE). :param left: (B, ROUNDS) options.
    :param deck: (B, CARDS). :param text, heard: (B, any), to be sent, and of the answer.
    :param byte, reward: (B,), set here. :param events: (B,), set to the columns of events.
    """
    count = 0
    for i in range(len(columns)):
        if idle[i]:
            continue
        column, spoken = columns[i], said[i]
        queued = column.position < column.turn
        event = column.number == heard.shape[1]  # no space for the byte
        if column.mini or not queued:
            stop = spoken == FULL_STOP
            done = stop
            if column.needed:
                done = column.number + 1 >= column.needed or (stop and column.early_stop != 0)
            if column.mini:
                event |= stop
                done = False
            if not queued and (column.ended or column.age >= column.limit):
                event = True
            elif done and column.rounds and not event:
                heard[i, column.number] = spoken
                column.number += 1
                reward[i] = _judge(column, rounds[i], left[i], deck[i], text[i], heard[i])
                if column.ended and column.length == 0:
                    event = True
                if not event:
                    byte[i] = _sent(column, text[i])
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
        byte[i] = _sent(column, text[i])
    return count


@njit(cache=True)
def send(columns: np.ndarray, text: np.ndarray, rows: np.ndarray, byte: np.ndarray) -> None:
    """Send a byte of some streams."""
    for i in rows:
        byte[i] = _sent(columns[i], text[i])


@njit(cache=True)
def _sent(column, text):  # noqa: ANN001, ANN202  (a record has no type of its own)
    column.age += 1
    if column.position < column.length:
        column.position += 1
        return text[column.position - 1]
    return SPACE


@njit(cache=True)
def _judge(column, rounds, left, deck, text, heard):  # noqa: ANN001, ANN202
    """Judge an answer, and put feedback and the next question into the text: the reward."""
    now = rounds[deck[column.place - 1]]
    right = column.number == now[LENGTHS + ANSWER // WIDTH]
    for place in range(column.number):
        right = right and heard[place] == now[ANSWER + place]
    column.asked += 1
    column.right += right
    column.row = column.row + 1 if right else 0
    if column.presumed and not column.soft:
        _presume(column, now, left, right)
    length = 0
    if now[NOISE]:
        for _ in range(now[NOISE + 1 + _below(column, now[NOISE])]):
            text[length] = _ZERO + _below(column, 10)
            length += 1
    length = _put(text, length, now, RIGHT if right else WRONG)
    if column.row >= IN_A_ROW:
        column.ended, column.success = 1, not column.soft or column.asked <= column.soft
    elif column.soft and column.asked > (column.soft + 1) * (1 + column.tolerance):
        column.ended = 1
    else:
        if column.place >= column.dealt:
            column.place = 0
        other = column.place + _below(column, column.cards - column.place)
        deck[other], deck[column.place] = deck[column.place], deck[other]
        following = rounds[deck[column.place]]
        column.place += 1
        column.needed = following[LENGTHS + ANSWER // WIDTH]
        length = _put(text, length, following, QUESTION)
    column.position = column.number = 0
    column.length = column.turn = length
    while length and text[length - 1] == SPACE:
        length -= 1
    column.talk_end = length
    return 1 if right else -1


@njit(cache=True)
def _presume(column, now, left, right):  # noqa: ANN001, ANN202
    """As `OptionsLeft.after`: set the soft limit where the answers should be known."""
    if now[SLOT] and left[now[SLOT] - 1]:
        slot = now[SLOT] - 1
        if left[slot] == 2 or (right and now[SETTLES]):
            left[slot] = 0
            column.unknown -= 1
        elif not right:
            left[slot] -= 1
    if not column.unknown:
        column.soft = column.asked + GRACE


@njit(cache=True)
def _put(text, length, source, begin):  # noqa: ANN001, ANN202
    number = source[LENGTHS + begin // WIDTH]
    for place in range(number):
        text[length + place] = source[begin + place]
    return length + number


@njit(cache=True)
def _below(column, number):  # noqa: ANN001, ANN202
    column.state += _GAMMA
    z = column.state
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(number)) >> np.uint64(32))
