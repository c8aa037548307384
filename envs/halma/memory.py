"""MEM: the transitions (s, option, s') of training, as records of one size in a file that is only ever appended to.

RUN/memory/header.json says what a record is; RUN/memory/records.bin is the records, one after another. Each ends with
the CRC-32 (as zlib's) of its other bytes, so that what a crash has cut short or left unwritten is found: `Memory.load`
takes all records before it and says how many were lost.
"""

import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from gumption.data import InputError
from gumption.data.writing import write_json

FOLDER = "memory"  # of a run
SCHEMA = "gumption/halma-memory/1"
HEADER, RECORDS = "header.json", "records.bin"
VALID, REACHED, TRIAL_OVER = 1, 2, 4  # bits of `flags`

_FIELDS = ("before", "option", "after", "maze", "trial", "episode", "flags")

# Records that wait in memory until they are written together: each call of NumPy then serves thousands of them.
BLOCK = 4096
_SLICE = 16_384  # records whose checksums are worked out at once: they fit into the processor's cache


def record_type(max_opt_len: int) -> np.dtype[np.void]:
    """The record of a transition: 38 + max_opt_len bytes, little-endian, without gaps.

    :raises InputError: a max_opt_len below 1.
    """
    if max_opt_len < 1:
        raise InputError(f"max_opt_len is {max_opt_len}; an option has at least one primitive")
    return np.dtype(
        [
            ("before", "i1", (11,)),
            ("option", "i1", (1 + max_opt_len,)),
            ("after", "i1", (11,)),
            ("maze", "<i4"),
            ("trial", "<i2"),
            ("episode", "<i4"),
            ("flags", "u1"),
            ("checksum", "<u4"),
        ]
    )


@dataclass(frozen=True, eq=False)
class Memory:
    """The transitions of a run. Those of one environment stand in the order in which they happened; `episode` numbers
    episodes over the whole run, so the moves of a trial are the records of one (episode, trial), in order.

    :ivar records: (n,) of `record_type(max_opt_len)`; each field is also a property.
    :ivar lost: records lost at a torn end, those included of which only a part is there.
    :ivar lost_bytes: how many bytes of the file they are.
    :ivar source: the file, "" for a memory that was not loaded.
    """

    records: np.ndarray
    max_opt_len: int
    lost: int = 0
    lost_bytes: int = 0
    source: str = ""

    @classmethod
    def of(
        cls,
        max_opt_len: int,
        before: Any,
        option: Any,
        after: Any,
        maze: Any = 0,
        trial: Any = 0,
        episode: Any = 0,
        flags: Any = VALID,
    ) -> "Memory":
        """A memory of the given transitions that is in no file.

        :param before, after: (n, 11) panel rows of s and s' (see `panel_row`).
        :param option: (n, 1 + max_opt_len) direction and primitives.
        :param maze, trial, episode, flags: (n,), or one for all.
        """
        records = np.zeros(len(before), dtype=record_type(max_opt_len))
        fields = (before, option, after, maze, trial, episode, flags)
        for name, values in zip(_FIELDS, fields, strict=True):
            records[name] = values
        records["checksum"] = _checksums(records)
        return cls(records, max_opt_len)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Memory":
        """The memory in a folder (RUN/memory), up to its last whole record.

        :raises InputError: no memory there, one of another schema, or a damaged record before whole ones.
        """
        folder = Path(folder)
        max_opt_len = _read_header(folder)
        path, kind = folder / RECORDS, record_type(max_opt_len)
        content = _read(path)
        records = np.frombuffer(content, dtype=kind, count=len(content) // kind.itemsize)
        whole = _whole(path, records)
        torn = len(content) - whole * kind.itemsize
        return cls(records[:whole], max_opt_len, -(-torn // kind.itemsize), torn, str(path))

    def __len__(self) -> int:
        return len(self.records)

    @property
    def before(self) -> np.ndarray:
        """(n, 11) int8 panel rows of s."""
        return self.records["before"]

    @property
    def option(self) -> np.ndarray:
        """(n, 1 + max_opt_len) int8: direction and primitives."""
        return self.records["option"]

    @property
    def after(self) -> np.ndarray:
        """(n, 11) int8 panel rows of s', the state where the move ended (of a trial's last move, where it landed)."""
        return self.records["after"]

    @property
    def maze(self) -> np.ndarray:
        """(n,) int32 index of the maze in the set of mazes."""
        return self.records["maze"]

    @property
    def trial(self) -> np.ndarray:
        """(n,) int16 index of the trial in its episode."""
        return self.records["trial"]

    @property
    def episode(self) -> np.ndarray:
        """(n,) int32 number of the episode in the run."""
        return self.records["episode"]

    @property
    def flags(self) -> np.ndarray:
        """(n,) uint8 bits: VALID, REACHED (the goal), TRIAL_OVER."""
        return self.records["flags"]

    @property
    def valid(self) -> np.ndarray:
        """(n,) bool: the move was carried out."""
        return (self.flags & VALID) != 0

    @property
    def direction(self) -> np.ndarray:
        """(n,) int64 index of the option's direction."""
        return self.option[:, 0].astype(np.int64)

    @property
    def length(self) -> np.ndarray:
        """(n,) int64 length of the move: the sum of the option's primitives."""
        return self.option[:, 1:].sum(1, dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """sha256 (hex) of the records."""
        return hashlib.sha256(f"{SCHEMA} {self.max_opt_len} ".encode() + self.records.tobytes()).hexdigest()

    @property
    def warning(self) -> str | None:
        """What a command tells of a torn end; None where nothing was lost."""
        if not self.lost:
            return None
        return (
            f"{self.source}: the end was cut short, as by a crash; records lost: {self.lost} ({self.lost_bytes} bytes "
            f"left of them), whole records kept: {len(self)}"
        )


class MemoryWriter:
    """Appends transitions to the memory of a run. What was appended is safe from a crash of the program once the next
    `flush` is over (records go to the file in blocks, also before), and from one of the machine too.

    :param folder: RUN/memory; it is made.
    :param keep: go on after this many records of a memory that is there, and drop the rest: the number that a
        checkpoint kept of `count`. None begins a new memory.
    :raises InputError: without `keep` a memory that is there already; with it fewer whole records, or another
        max_opt_len.
    """

    def __init__(self, folder: str | os.PathLike[str], max_opt_len: int, *, keep: int | None = None) -> None:
        folder = Path(folder)
        kind = record_type(max_opt_len)
        path = folder / RECORDS
        if keep is None:
            if path.exists():
                raise InputError(f"{folder} holds a memory already; go on with it (keep=...), or choose another folder")
        elif keep:
            _check_kept(folder, max_opt_len, keep)
        write_json(folder / HEADER, _header(max_opt_len))
        self._path = path
        self._block = np.zeros(BLOCK, dtype=kind)
        self._fields = [self._block[name] for name in _FIELDS]  # views, made once: an append is seven assignments
        self._waiting = 0
        self._written = keep or 0
        try:
            self._file = path.open("r+b" if path.exists() else "w+b", buffering=0)
            self._file.truncate(self._written * kind.itemsize)
        except OSError as error:
            raise self._unwritable(error) from None

    @property
    def count(self) -> int:
        """Records of the memory, those included that wait to be written."""
        return self._written + self._waiting

    def append(
        self,
        before: np.ndarray,
        option: np.ndarray,
        after: np.ndarray,
        maze: np.ndarray,
        trial: np.ndarray,
        episode: np.ndarray,
        flags: np.ndarray,
    ) -> None:
        """Add n transitions: (n, 11), (n, 1 + max_opt_len), (n, 11) and four of (n,), any integers; see `Memory`."""
        fields = (before, option, after, maze, trial, episode, flags)
        done, total = 0, len(before)
        while done < total:
            taken = min(total - done, BLOCK - self._waiting)
            place = slice(self._waiting, self._waiting + taken)
            for into, field in zip(self._fields, fields, strict=True):
                into[place] = field[done : done + taken]
            self._waiting += taken
            done += taken
            if self._waiting == BLOCK:
                self._write()

    def flush(self) -> None:
        """Write what waits, and wait until the disk has it."""
        self._write()
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Flush and let go of the file; may be called again."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self) -> None:
        records = self._block[: self._waiting]
        records["checksum"] = _checksums(records)
        rest = memoryview(records.tobytes())
        try:
            self._file.seek(self._written * records.itemsize)  # over what a write that failed has left
            while rest:  # a system may take a part at a time
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise self._unwritable(error) from None
        self._written += self._waiting
        self._waiting = 0

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"cannot write {self._path}: {error.strerror or error}")


def _header(max_opt_len: int) -> dict[str, Any]:
    kind = record_type(max_opt_len)
    fields = [[name, *rest] for name, *rest in kind.descr]
    return {"schema": SCHEMA, "max_opt_len": max_opt_len, "record_bytes": kind.itemsize, "fields": fields}


def _read_header(folder: Path) -> int:
    """The max_opt_len of a memory."""
    path = folder / HEADER
    if not path.is_file():
        raise InputError(
            f"{folder}: no memory of a run's transitions there ({HEADER} is missing); train the run again with "
            "`gumption train halma`, which writes one"
        )
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); restore it from a copy, or train the run again") from None
    schema = header.get("schema") if isinstance(header, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{path}: a memory of schema {schema!r}, and this gumption reads {SCHEMA!r}")
    try:
        max_opt_len = int(header["max_opt_len"])
        fits = header["record_bytes"] == record_type(max_opt_len).itemsize
    except (KeyError, TypeError, ValueError):
        fits, max_opt_len = False, 0
    if not fits:
        raise InputError(f"{path}: max_opt_len and record_bytes do not fit together; restore it from a copy")
    return max_opt_len


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # a crash right after the header was written
        return b""
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def _whole(path: Path, records: np.ndarray) -> int:
    """How many whole records there are; what comes after the last of them is a torn end."""
    good = records["checksum"] == _checksums(records)
    whole = len(good) - int(np.argmax(good[::-1])) if good.any() else 0
    if not good[:whole].all():
        number = int(np.argmin(good))
        size = records.dtype.itemsize
        raise InputError(
            f"{path}: record {number} (bytes {number * size} to {(number + 1) * size - 1}) is damaged, and whole ones "
            "follow, so no crash has cut the file short there; restore it from a copy, or train the run again"
        )
    return whole


def _check_kept(folder: Path, max_opt_len: int, keep: int) -> None:
    """InputError unless a memory has `keep` whole records to go on from."""
    memory = Memory.load(folder)
    if memory.max_opt_len != max_opt_len:
        raise InputError(f"{folder}: a memory of max_opt_len {memory.max_opt_len}, not {max_opt_len}; train a new run")
    if keep > len(memory):
        raise InputError(
            f"{folder}: the checkpoint goes on from record {keep}, and the memory has {len(memory)} whole ones; "
            "train a new run"
        )


def _checksums(records: np.ndarray) -> np.ndarray:
    """(n,) uint32: zlib.crc32 of the bytes of each record before its checksum.

    CRC is linear over bits: that of a message is that of zeros, xor what each byte changes by its value and place.
    """
    width = records.dtype.itemsize - 4
    table = _crc_changes(width)
    checksums = np.full(len(records), zlib.crc32(bytes(width)), dtype=np.uint32)
    content = np.ascontiguousarray(records).view(np.uint8).reshape(len(records), records.dtype.itemsize)
    for start in range(0, len(records), _SLICE):
        part = content[start : start + _SLICE]
        into = checksums[start : start + _SLICE]
        for place in range(width):
            into ^= table[place][part[:, place]]
    return checksums


@lru_cache
def _crc_changes(width: int) -> np.ndarray:
    """(width, 256) uint32: what a byte changes in the CRC-32 of `width` zeros, by its place and value."""
    zeros = zlib.crc32(bytes(width))
    single = bytearray(width)
    table = np.empty((width, 256), dtype=np.uint32)
    for place in range(width):
        for value in range(256):
            single[place] = value
            table[place, value] = zlib.crc32(single) ^ zeros
        single[place] = 0
    return table
