"""Many streams at once, in arrays: what happens at a verdict is `Stream`'s, all other bytes are array operations.

Between two verdicts a stream only sends the bytes of its text, or waits and gathers what is said. The arrays hold where
each stream is in that; at an event, one stream takes over from its column, makes its step, and gives the column back.
"""

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from .engine import Life
from .stream import FULL_STOP, SPACE, Stream

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
        self._state = np.zeros((11, size), dtype=np.int32)  # of each row the place of its name in the next lines
        self._position, self._length, self._talk_end, self._age, self._limit, self._needed, self._number = self._state[
            :7
        ]
        self._mini, self._ended, self._stops_early, self._each_byte = self._state[7:]  # 1 for true
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

    def listening(self) -> np.ndarray:
        """(B,) bool: a byte said now is part of an answer."""
        return (self._position >= self._length) & (self._ended == 0)

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
        queued = self._position < self._length
        silent = self._position >= self._talk_end
        stop = said == FULL_STOP
        mini = self._mini > 0
        number = self._number + 1
        # A byte is part of an answer when nothing is left to be sent; a mini-task listens always.
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
        rows = np.flatnonzero(heard)
        if len(rows):
            places = self._number[rows]
            if places.max() >= self._heard.shape[1]:
                self._heard = _wider(self._heard, int(places.max()) + 1)
            self._heard[rows, places] = np.where(spoken[rows], SPACE, said[rows])
            self._number[rows] += 1
        rows = np.flatnonzero(event)
        if len(rows):
            self._write(rows)
            streams = [self.streams[i] for i in rows.tolist()]
            self.reward[rows] = [
                stream.hear(byte)  # pyright: ignore[reportOptionalMemberAccess]
                for stream, byte in zip(streams, said[rows].tolist(), strict=True)
            ]
            self.over[rows] = [stream.over for stream in streams]  # pyright: ignore[reportOptionalMemberAccess]
            self._read(rows)
        self._send(idle)

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
        width = int(numbers.max())
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

    def _read(self, rows: np.ndarray) -> None:
        """Put the state of streams into their columns."""
        texts, heard, states = [], [], []
        for i in rows.tolist():
            stream = self.streams[i]
            assert stream is not None
            life = stream.life
            task = life.task
            texts.append(stream.text)
            heard.append(stream.heard)
            states.append((
                stream.position, len(stream.text), stream.talk_end, stream.age, task.step_limit, life.needed,
                len(stream.heard), task.cycle == "mini", life.ended, task.early_stop, task.letters != "end",
            ))  # fmt: skip
        self._state[:, rows] = np.array(states, dtype=np.int32).T
        self._text = _placed(self._text, rows, texts)
        self._heard = _placed(self._heard, rows, heard)

    def settle(self) -> None:
        """Bring the streams, and the records of their lives, up to date."""
        rows = np.array([i for i, stream in enumerate(self.streams) if stream is not None])
        self._write(rows)
        for i in rows.tolist():
            self.streams[i].settle()  # pyright: ignore[reportOptionalMemberAccess]


def _placed(array: np.ndarray, rows: np.ndarray, texts: Sequence[bytes | bytearray]) -> np.ndarray:
    """The array, widened where it has to be, with texts at the beginning of some rows."""
    width = max(map(len, texts))
    if width:
        if width > array.shape[1]:
            array = _wider(array, width)
        block = b"".join(text.ljust(width) for text in texts)
        array[rows, :width] = np.frombuffer(block, dtype=np.uint8).reshape(len(rows), width)
    return array


def _wider(array: np.ndarray, width: int) -> np.ndarray:
    wide = np.zeros((len(array), max(width, 2 * array.shape[1])), dtype=array.dtype)
    wide[:, : array.shape[1]] = array
    return wide
