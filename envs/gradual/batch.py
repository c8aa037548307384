"""Many streams at once, in arrays, which do what `Stream` does for one.

Between two verdicts a stream only sends the bytes of its text, or waits and gathers what is said. The arrays hold where
each stream is in that. Where answers have a fixed length, the arrays also hold the rounds to come (rounds.py), and the
answers are judged there. At all other events, such as the end of an instance, a stream hears what its column has
played, makes its step, and gives the column back.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from .engine import AHEAD, IN_A_ROW, Life
from .rounds import ROUND, WIDTH
from .stream import FULL_STOP, SPACE, Stream
from .task import Task

_FIRST_WIDTH = 128  # bytes of a text or an answer, before a longer one widens the arrays


class Batch:
    """B streams.

    :ivar byte: (B,) uint8, the byte sent last. :ivar reward: (B,) int8, of the latest step.
    :ivar over: (B,) bool: the last task has been passed.
    :ivar streams: the B streams; their own positions are those of their latest events.
    """

    def __init__(self, size: int) -> None:
        """B empty columns; `begin` fills them."""
        self._each = np.arange(size)
        self.streams: list[Stream | None] = [None] * size
        self.byte = np.full(size, SPACE, dtype=np.uint8)
        self.reward = np.zeros(size, dtype=np.int8)
        self.over = np.zeros(size, dtype=bool)
        self._state = np.zeros((16, size), dtype=np.int32)  # of each row the place of its name in the next lines
        self._position, self._length, self._talk_end, self._turn, self._age, self._limit = self._state[:6]
        self._needed, self._number = self._state[6:8]
        self._mini, self._ended, self._stops_early, self._each_byte = self._state[8:12]  # 1 for true
        # The place of the round in the script, of the one that the stream knows of, and of the one that it judges.
        self._round, self._known, self._last, self._row = self._state[12:]
        self._script = np.zeros(size * AHEAD, dtype=ROUND)
        self._script_bytes = self._script.view(np.uint8)
        self._rights = np.zeros((size, AHEAD), dtype=np.uint8)  # "1" and "0"
        self._penalties = np.zeros(size, dtype=np.int64)
        self._text, self._heard = np.zeros((2, size, _FIRST_WIDTH), dtype=np.uint8)

    def begin(self, columns: Sequence[int], lives: Sequence[Life]) -> None:
        """Put new streams into some columns, and send their first bytes."""
        for i, life in zip(columns, lives, strict=True):
            stream = self.streams[i] = Stream(life)
            self.byte[i] = stream.first()
        self.reward[columns] = 0
        self.over[columns] = False
        self._read(np.asarray(columns))

    def life(self, i: int) -> Life:
        """The life of a stream, which knows all that its column has played."""
        self._write(np.array([i]))
        stream = self.streams[i]
        assert stream is not None
        return stream.life

    def questions(self) -> list[str]:
        """The running question of each stream."""
        self._write(np.flatnonzero(self._round > self._known))
        return [stream.life.question for stream in self.streams if stream is not None]

    def listening(self) -> np.ndarray:
        """(B,) bool: a byte said now is part of an answer."""
        return (self._position >= self._turn) & (self._ended == 0)

    def answers(self) -> list[str]:
        """What each stream has heard of an answer."""
        return [
            row[:number].tobytes().decode("latin-1")
            for row, number in zip(self._heard, self._number.tolist(), strict=True)
        ]

    def step(self, said: np.ndarray, idle: np.ndarray | None = None) -> None:
        """One byte for each stream but the idle ones.

        :param said: (B,) uint8. :param idle: (B,) bool.
        """
        self.reward.fill(0)
        queued = self._position < self._turn
        silent = self._position >= self._talk_end
        stop = said == FULL_STOP
        mini = self._mini > 0
        number = self._number + 1
        # A byte is part of an answer from the agent's turn on; a mini-task listens always.
        done = np.where(self._needed > 0, (number >= self._needed) | (stop & (self._stops_early > 0)), stop)
        due = (self._ended > 0) | (self._age >= self._limit)
        event = ~queued & (due | (done & ~mini) | (self._each_byte > 0))
        event |= mini & stop
        spoken = ~silent & (said != SPACE)
        heard = (~queued | mini) & ~event
        if idle is not None:
            event, spoken, heard = event & ~idle, spoken & ~idle, heard & ~idle
        penalty = spoken & ~mini
        self.reward[penalty] = -1
        self._penalties += penalty
        self._row[penalty] = 0
        rows = np.flatnonzero(heard)
        if len(rows):
            places = self._number[rows]
            if places.max() >= self._heard.shape[1]:
                self._heard = _wider(self._heard, int(places.max()) + 1)
            self._heard[rows, places] = np.where(spoken[rows], SPACE, said[rows])
            self._number[rows] += 1
        rows = np.flatnonzero(event & (self._round < self._last) & ~due)
        if len(rows):
            event[self._judge(rows, said[rows])] = False
        rows = np.flatnonzero(event)
        if len(rows):
            self._write(rows)
            streams = [self.streams[i] for i in rows.tolist()]
            self.reward[rows] = [
                stream.hear(byte)  # pyright: ignore[reportOptionalMemberAccess]
                for stream, byte in zip(streams, said[rows].tolist(), strict=True)
            ]
            self.over[rows] = [stream.over for stream in streams]  # pyright: ignore[reportOptionalMemberAccess]
            self.byte[self.over] = SPACE
            self._read(rows)
        self._send(idle)

    def _judge(self, rows: np.ndarray, said: np.ndarray) -> np.ndarray:
        """Judge answers that end with these bytes, and go on with feedback and question: the columns where that is all.

        In the others, ten answers in a row are right.
        """
        at, places = rows * AHEAD + self._round[rows], self._number[rows]
        now = self._script.take(at)
        self._heard[rows, places] = said
        words = self._heard.view(np.uint64)
        right = places + 1 == now["needed"]
        for word in range(WIDTH // 8):
            right &= words[rows, word] == now["answer"][:, word]
        row = (self._row[rows] + 1) * right
        going = row < IN_A_ROW
        if not going.all():
            rows, at, now, right, row = (each[going] for each in (rows, at, now, right, row))
        following = self._script.take(at + 1)
        words[rows, : WIDTH // 8] = 0
        words = self._text.view(np.uint64)
        words[rows, : WIDTH // 8] = np.where(right[:, None], now["right"], now["wrong"])
        words[rows, WIDTH // 8 : WIDTH // 4] = following["question"]
        begin = WIDTH - np.where(right, now["right_length"], now["wrong_length"]).astype(np.int32)
        talk = begin + np.where(right, now["right_talk"], now["wrong_talk"])
        self._position[rows] = begin
        self._length[rows] = self._turn[rows] = WIDTH + following["length"].astype(np.int32)
        self._talk_end[rows] = np.where(following["talk"] > 0, WIDTH + following["talk"].astype(np.int32), talk)
        self._number[rows] = 0
        self._needed[rows] = following["needed"]
        self._rights[rows, at % AHEAD] = right + ord("0")
        self._round[rows] += 1
        self._row[rows] = row
        self.reward[rows] = 2 * right.view(np.int8) - 1
        return rows

    def _send(self, idle: np.ndarray | None) -> None:
        active = ~self.over if idle is None else ~(self.over | idle)
        queued = self._position < self._length
        places = np.minimum(self._position, self._text.shape[1] - 1)
        sent = np.where(queued, self._text[self._each, places], SPACE)
        self.byte = np.where(active, sent, self.byte).astype(np.uint8)
        self._position += queued & active
        self._age += active

    def _write(self, rows: np.ndarray) -> None:
        """Tell streams where their columns are."""
        numbers = self._number[rows]
        width = int(numbers.max(initial=0))
        block = self._heard[rows, :width].tobytes()
        columns = zip(
            rows.tolist(), self._position[rows].tolist(), self._age[rows].tolist(), numbers.tolist(),
            range(0, width * len(rows), width) if width else repeat(0), self._penalties[rows].tolist(), strict=False,
        )  # fmt: skip
        for i, position, age, number, start, penalties in columns:
            stream = self.streams[i]
            assert stream is not None
            stream.position, stream.age = position, age
            stream.heard = bytearray(block[start : start + number])
            if penalties:
                stream.life.spoke(penalties)
        self._penalties[rows] = 0
        for i in rows[self._round[rows] > self._known[rows]].tolist():
            self._tell(i)

    def _tell(self, i: int) -> None:
        """Tell a stream of the rounds that its column has judged."""
        stream, first, last = self.streams[i], self._known[i], self._round[i]
        assert stream is not None
        stream.life.played(self._rights[i, first:last].tobytes().decode(), int(self._row[i]))
        stream.text = self._text[i, : self._length[i]].tobytes()
        stream.turn, stream.talk_end = len(stream.text), int(self._talk_end[i])
        self._known[i] = last

    def _read(self, rows: np.ndarray) -> None:
        """Put the state of streams into their columns."""
        texts, heard, states = [], [], []
        for i in rows.tolist():
            stream = self.streams[i]
            assert stream is not None
            life = stream.life
            task = life.task
            script = life.script()
            rounds = len(script) // ROUND.itemsize
            begin = i * AHEAD * ROUND.itemsize
            self._script_bytes[begin : begin + len(script)] = np.frombuffer(script, dtype=np.uint8)
            texts.append(stream.text)
            heard.append(stream.heard)
            states.append((
                stream.position, len(stream.text), stream.talk_end, stream.turn, stream.age, task.step_limit,
                life.needed, len(stream.heard), task.cycle == "mini", life.ended, task.early_stop,
                task.letters != "end" or task.reply != "", 0, 0, max(rounds - 1, 0), life.row,
            ))  # fmt: skip
        self._state[:, rows] = np.array(states, dtype=np.int32).T
        self._heard[rows, :WIDTH] = 0
        self._text = _placed(self._text, rows, texts)
        self._heard = _placed(self._heard, rows, heard)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs: arrays and JSON."""
        self.settle()
        streams = json.dumps([None if stream is None else stream.state() for stream in self.streams])
        return {"streams": streams, "byte": self.byte.copy(), "reward": self.reward.copy(), "over": self.over.copy()}

    def restore(self, state: Mapping[str, Any], tasks: Mapping[str, Task], threshold: int) -> None:
        """Go on where a state was taken; `tasks` by name."""
        for i, one in enumerate(json.loads(str(state["streams"]))):
            self.streams[i] = None if one is None else Stream.restored(one, tasks, threshold)
        for name in ("byte", "reward", "over"):
            getattr(self, name)[:] = state[name]
        self._penalties[:] = 0
        self._read(self._filled())

    def _filled(self) -> np.ndarray:
        return np.array([i for i, stream in enumerate(self.streams) if stream is not None], dtype=int)

    def settle(self) -> None:
        """Bring the streams, and the records of their lives, up to date."""
        rows = self._filled()
        if len(rows):
            self._write(rows)
        for i in rows.tolist():
            self.streams[i].settle()  # pyright: ignore[reportOptionalMemberAccess]


def _placed(array: np.ndarray, rows: np.ndarray, texts: Sequence[bytes | bytearray]) -> np.ndarray:
    """The array, widened where it has to be, with texts at the beginning of some rows."""
    width = max(map(len, texts))
    if width:
        if width > array.shape[1]:
            array = _wider(array, width)
        block = b"".join(text.ljust(width, b"\0") for text in texts)
        array[rows, :width] = np.frombuffer(block, dtype=np.uint8).reshape(len(rows), width)
    return array


def _wider(array: np.ndarray, width: int) -> np.ndarray:
    wide = np.zeros((len(array), max(width + -width % 8, 2 * array.shape[1])), dtype=array.dtype)  # whole words
    wide[:, : array.shape[1]] = array
    return wide
