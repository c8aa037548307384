"""Run many streams at once, in arrays.

Between two verdicts a stream only sends the bytes of its text, or collects the bytes of the agent. A compiled loop does
so in arrays, with a column for each stream. If an instance deals its questions from a deck and answers have a fixed
length, the arrays hold all its rounds, and the loop also judges the answers. At all other events, such as the end of an
instance, the `Stream` reads the state of its column, makes its step, and writes the column.
"""

import json
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import lru_cache
from struct import Struct, pack_into
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numba import njit

from .engine import FULL_STOP, GRACE, IN_A_ROW, SPACE, Life, Stream
from .task import FACTOR, INCREMENT, Deal, OptionsLeft, Task

# ---- The bytes between events, and the answers to dealt questions, compiled by numba.
#
# `_judge` does what `Life.verdict` does, `_below` what `Draws.below` does; test_batch.py compares them.

_FACTOR, _INCREMENT = np.uint64(FACTOR), np.uint64(INCREMENT)
_ZERO = ord("0")

# Numba recompiles if this file changes, so all constants of the loops are here.
ROUNDS = 16  # most rounds of an instance; `Life` judges larger instances
CARDS = 256  # most cards of a deck
WIDTH = 16  # most bytes of a text
NOISES = 4  # most values of `Solution.noise`
MOST_OPTIONS = 2**31 - 1  # most options of an `OptionsLeft`

# A round holds four texts, each followed by its length; the count of `Solution.noise` and its numbers; the place of its
# key in `OptionsLeft`, from 1 on, 0 for none; and whether a right answer settles that key.
QUESTION, ANSWER, RIGHT, WRONG, NOISE = range(0, 5 * (WIDTH + 1), WIDTH + 1)
KEY = NOISE + 1 + NOISES
SETTLES = KEY + 1
SIZE = SETTLES + 1

#: The state of a stream and of its task: the fields of `Stream`, `Life` and `Deal` under their names. `number` counts
#: the bytes of the answer, `told` the answers recorded in the `Life`; `right` and `penalties` count right answers and
#: bytes out of turn not yet recorded there. `rounds` is 0 if the `Life` judges; `presumed`: has an `OptionsLeft`.
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
    """Step each stream that is not idle; return the number of events, at which a `Stream` has to make the step.

    Loops neither slice arrays nor pass them on: each new reference to an array costs as much time as a step.

    :param columns: (B,) `COLUMN`. :param rounds: (B, ROUNDS, SIZE) uint8.
    :param left: (B, ROUNDS) int32, of `OptionsLeft`. :param deck: (B, CARDS) uint8, of the `Deal`.
    :param heard, text: (B, any) uint8, the answer so far, and the text. :param byte: (B,) uint8, output.
    :param reward: (B,) int8, all 0, output. :param events: (B,) int64, output: the columns of the events come first.
    :param said: (B,) uint8, the bytes of the agents. :param idle: (B,) bool.
    """
    count, last = 0, len(columns)  # `events` holds answers to judge at its end
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
    """Judge the answers of the streams `rows[first:]`, and write feedback and next question into their texts."""
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
        if column.presumed and not column.soft:  # as in `OptionsLeft.after`
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
        for place in range(WIDTH):  # a copy of fixed size is faster
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
def _below(column: Any, number: Any) -> Any:
    column.state = column.state * _FACTOR + _INCREMENT
    return np.int64(((column.state >> np.uint64(32)) * np.uint64(number)) >> np.uint64(32))


_Column = namedtuple("_Column", COLUMN.names or ())
_PACKED = Struct(f"={len(_Column._fields) - 1}iQ")


class Batch:
    """Run B streams.

    :ivar byte: (B,) uint8, the byte sent last. :ivar reward: (B,) int8, of the latest step.
    :ivar over: (B,) bool: the last task has been passed.
    :ivar streams: B streams, made by `begin`; their states date from their latest events.
    """

    def __init__(self, size: int) -> None:
        self.streams: list[Stream | None] = [None] * size
        self.byte = np.full(size, SPACE, dtype=np.uint8)
        self.reward = np.zeros(size, dtype=np.int8)
        self.over = np.zeros(size, dtype=bool)
        self._columns = np.zeros(size, dtype=COLUMN)
        self._rounds = np.zeros((size, ROUNDS, SIZE), dtype=np.uint8)
        self._left = np.zeros((size, ROUNDS), dtype=np.int32)
        self._deck = np.zeros((size, CARDS), dtype=np.uint8)
        arrays = (self._columns, self._rounds, self._left, self._deck)
        self._memory = [array.view(np.uint8).reshape(-1).data for array in arrays]
        self._text, self._heard = np.zeros((2, size, 128), dtype=np.uint8)  # longer texts widen them
        self._events = np.zeros(size, dtype=np.int64)

    def begin(self, columns: Sequence[int], lives: Sequence[Life]) -> None:
        """Start new streams in the columns, and send their first bytes."""
        for i, life in zip(columns, lives, strict=True):
            stream = self.streams[i] = Stream(life)
            self.byte[i] = stream.first()
        self.reward[columns] = 0
        self.over[columns] = False
        self._read(np.asarray(columns))

    def life(self, i: int) -> Life:
        """Update the life of a stream and return it; ResetNeeded if the stream has not begun."""
        if (stream := self.streams[i]) is None:
            raise ResetNeeded("the stream has not begun: call reset")
        self._write(np.array([i]))
        return stream.life

    def questions(self) -> list[str]:
        """Return the current question of each stream, "" if the stream has not begun."""
        self._write(np.flatnonzero(self._columns["asked"] > self._columns["told"]))
        return ["" if stream is None else stream.life.question for stream in self.streams]

    def listening(self) -> np.ndarray:
        """Return (B,) bool: the next byte of the agent is part of an answer."""
        return (self._columns["position"] >= self._columns["turn"]) & (self._columns["ended"] == 0)

    def answers(self) -> list[str]:
        """Return the answer so far in each stream."""
        return [
            row[:number].tobytes().decode("latin-1")
            for row, number in zip(self._heard, self._columns["number"].tolist(), strict=True)
        ]

    def step(self, said: np.ndarray, idle: np.ndarray | None = None) -> None:
        """Step each stream that is not idle, (B,) bool, with a byte of its agent, (B,) uint8."""
        self.reward.fill(0)
        self.byte = self.byte.copy()  # a caller may keep the array of the step before
        idle = self.over if idle is None else self.over | idle
        number = play(
            self._columns, self._rounds, self._left, self._deck, self._heard, self._text, self.byte, self.reward,
            self._events, said, idle,
        )  # fmt: skip
        if not number:
            return
        rows = self._events[:number]
        self._write(rows)
        for i, byte in zip(rows.tolist(), said[rows].tolist(), strict=True):
            stream = self.streams[i]
            assert stream is not None
            if reward := stream.hear(byte):  # 0 if its column has judged the byte
                self.reward[i] = reward
            if stream.over:
                self.over[i] = True
        self._read(rows)
        going = ~self.over[rows]
        self.byte[rows[~going]] = SPACE
        send(self._columns, self._text, self.byte, rows[going])

    def _write(self, rows: np.ndarray) -> None:
        """Copy the state of columns to their streams."""
        columns, _, _, decks = self._memory
        for i in rows.tolist():
            stream = self.streams[i]
            assert stream is not None
            column = _Column._make(_PACKED.unpack_from(columns, i * _PACKED.size))
            stream.position, stream.age = column.position, column.age
            stream.heard = bytearray(self._heard[i, : column.number].tobytes() if column.number else b"")
            if column.rounds:
                rest = None
                if not column.ended:
                    rest = column.state, column.place, self._deck[i, : column.cards].tolist(), self._left[i].tolist()
                stream.life.resume(
                    column.asked, column.right, column.penalties, column.row, column.soft, bool(column.ended),
                    bool(column.success), decks[i * CARDS + column.place - 1], rest,
                )  # fmt: skip
                stream.text = self._text[i, : column.length].tobytes() if column.length else b""
                stream.turn = column.turn
            elif column.penalties:
                stream.life.spoke(column.penalties)
        self._columns["penalties"][rows] = self._columns["right"][rows] = 0
        self._columns["told"][rows] = self._columns["asked"][rows]

    def _read(self, rows: np.ndarray) -> None:
        """Copy the state of streams to their columns."""
        columns, all_rounds, left, decks = self._memory
        texts, heard = [], []
        for i in rows.tolist():
            stream = self.streams[i]
            assert stream is not None
            life = stream.life
            task, deal = life.task, life.deal
            rounds = b"" if deal is None else packed_rounds(life, *deal)
            dealt = (0, 0, 0, 0, 0, 0)
            if deal is not None and rounds:
                questions, known = deal
                all_rounds[i * ROUNDS * SIZE : i * ROUNDS * SIZE + len(rounds)] = rounds
                decks[i * CARDS : i * CARDS + len(questions.deck)] = bytes(questions.deck)
                if known is not None:
                    pack_into(f"{len(known.left)}i", left, i * ROUNDS * 4, *known.left.values())
                dealt = (
                    known is not None, 0 if known is None else known.unknown, questions.place, len(questions.deck),
                    questions.dealt, questions.draws.state,
                )  # fmt: skip
            _PACKED.pack_into(
                columns, i * _PACKED.size, stream.position, len(stream.text), stream.talk_end, stream.turn, stream.age,
                task.step_limit, life.needed, len(stream.heard), task.cycle == "mini", task.early_stop,
                task.letters != "end" or task.reply != "", 0, len(rounds) // SIZE, life.asked, life.asked, 0, life.row,
                life.soft, min(task.tolerance, task.step_limit), life.ended, life.success, *dealt,
            )  # fmt: skip
            texts.append(stream.text)
            heard.append(stream.heard)
        self._text = _placed(self._text, rows, texts)
        self._heard = _placed(self._heard, rows, heard)

    def state(self) -> dict[str, Any]:
        """Return arrays and JSON for `restore`."""
        self.settle()
        streams = json.dumps([None if stream is None else stream.state() for stream in self.streams])
        return {"streams": streams, "byte": self.byte.copy(), "reward": self.reward.copy(), "over": self.over.copy()}

    def restore(self, state: Mapping[str, Any], tasks: Mapping[str, Task], threshold: int) -> None:
        """Resume from a state; `tasks` maps names to tasks."""
        for i, one in enumerate(json.loads(str(state["streams"]))):
            self.streams[i] = None if one is None else Stream.restored(one, tasks, threshold)
        for name in ("byte", "reward", "over"):
            getattr(self, name)[:] = state[name]
        self._read(self._filled())

    def _filled(self) -> np.ndarray:
        return np.array([i for i, stream in enumerate(self.streams) if stream is not None], dtype=int)

    def settle(self) -> None:
        """Update the streams and their records."""
        rows = self._filled()
        if len(rows):
            self._write(rows)
        for i in rows.tolist():
            self.streams[i].settle()  # pyright: ignore[reportOptionalMemberAccess]


def _placed(array: np.ndarray, rows: np.ndarray, texts: Sequence[bytes | bytearray]) -> np.ndarray:
    """Write texts at the start of rows and return the array, widened if the texts are longer."""
    width = max(map(len, texts))
    if width:
        if width > array.shape[1]:
            wide = np.zeros((len(array), max(width + -width % 8, 2 * array.shape[1])), dtype=array.dtype)  # whole words
            wide[:, : array.shape[1]] = array
            array = wide
        block = b"".join(text.ljust(width, b"\0") for text in texts)
        array[rows, :width] = np.frombuffer(block, dtype=np.uint8).reshape(len(rows), width)
    return array


# ---- Rounds of question, answer and feedback for the compiled loop.


def packed_rounds(life: Life, deal: Deal, presumption: OptionsLeft | None) -> bytes:
    """Pack the rounds of an instance; b"" if they do not fit, or a verdict needs more than a comparison."""
    if len(deal.questions) > ROUNDS or len(deal.deck) > CARDS:
        return b""
    slots = {} if presumption is None else {key: place for place, key in enumerate(presumption.left, 1)}
    if len(slots) > ROUNDS or (presumption is not None and max(presumption.left.values(), default=0) > MOST_OPTIONS):
        return b""
    counted = {} if presumption is None else presumption.counted
    rounds, before, rest = [], None, b""
    for question in deal.questions:
        solution = life.task.solve(question, life.hidden)
        if solution is not before:  # questions may share a solution
            before, key = solution, solution.key
            name = counted.get(key, key)
            rest = _packed(solution.answer, solution.right, solution.wrong, solution.noise)
            if not rest or solution.accepts is not None or solution.opens is not None:
                return b""
            rest += bytes((slots.get(name, 0), name == key))
        if len(question) > WIDTH:
            return b""
        rounds += _text(question), rest
    return b"".join(rounds)


@lru_cache(maxsize=1 << 14)  # instances share many solutions
def _packed(answer: str, right: Sequence[str], wrong: Sequence[str], noise: Sequence[int]) -> bytes:
    """Pack the part of a round from the answer to the random digits; b"" if it does not fit or feedback is drawn."""
    texts = [answer, "".join(right), "".join(wrong)]
    noises = () if noise == (0,) else noise
    if (
        max(len(right), len(wrong)) > 1 or not answer or max(map(len, texts)) > WIDTH or len(noises) > NOISES
        or max(noises, default=0) > WIDTH or (noises and not (right and wrong))  # no text, no random digits
    ):  # fmt: skip
        return b""
    return b"".join(map(_text, texts)) + bytes((len(noises), *noises, *[0] * (NOISES - len(noises))))


@lru_cache(maxsize=1 << 12)
def _text(text: str) -> bytes:
    return text.ljust(WIDTH).encode("latin-1") + bytes((len(text),))
