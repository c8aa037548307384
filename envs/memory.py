"""Store an agent's transitions: records of equal size, appended to a file.

FOLDER/header.json describes a record, by the `Layout` of its world; FOLDER/records.bin holds the records, one after
another. Each record ends with the CRC-32 (as zlib's) of its other bytes. It shows where a crash cut the file short or
left a part unwritten: all records before that place are loaded, and the number of lost records is reported.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self

import numpy as np

from gumption.data import InputError
from gumption.data.sealed import damaged, read_sealed, write_sealed
from gumption.data.settings import Whole, checked_methods, shown

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

try:
    import fcntl
except ImportError:  # Windows has no such locks: there the user must let only one program write a memory
    fcntl = None

FOLDER = "memory"  # in the folder of a run
HEADER, RECORDS = "header.json", "records.bin"
CHECKSUM = "checksum"
EVIDENCE = "/evidence"  # end of the name of the graph that holds the evidence for a run's facts
OF_RUN = "ofRun"  # the role that names the run in a node of evidence

Triple = tuple[str, str, str]

# Records buffered before they are written, so that each NumPy call handles thousands of records.
BLOCK = 4096
_SLICE = 16_384  # records whose checksums are computed at once; they fit into the processor's cache


@dataclass(frozen=True)
class Layout:
    """The format of the records of a memory.

    :ivar schema: names the world and the version, such as "gumption/halma-memory/1".
    :ivar fields: of NumPy's structured types, little-endian, without gaps: [(name, type), (name, type, shape), ...].
    :ivar settings: settings on which the fields depend, by name; further entries of the header.
    """

    schema: str
    fields: list[Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, *_ in self.fields)

    @property
    def record_type(self) -> np.dtype[np.void]:
        """NumPy type of a record: the fields and a checksum."""
        return np.dtype([*self.fields, (CHECKSUM, "<u4")])

    def header(self) -> dict[str, Any]:
        """Return the content of header.json."""
        kind = self.record_type
        fields = [[name, *rest] for name, *rest in kind.descr]
        return {"schema": self.schema, **self.settings, "record_bytes": kind.itemsize, "fields": fields}

    def records(self, count: int, **fields: Any) -> np.ndarray:
        """Return `count` records with these fields, (count, ...) or one value for all; other fields are zero."""
        records = np.zeros(count, dtype=self.record_type)
        for name, values in fields.items():
            try:
                records[name] = values
            except (TypeError, ValueError, OverflowError):
                kind, shape = records[name].dtype, records[name].shape
                raise InputError(f"{name} is {shown(values)}; it is an array {shape} of {kind}, or one value") from None
        records[CHECKSUM] = _checksums(records)
        return records


@checked_methods
@dataclass(frozen=True, eq=False)
class TransitionMemory:
    """Transitions, loaded from a folder or made in memory. A world's own memory class derives from this.

    :cvar SCHEMA, LAYOUT: schema of the layout; the function that makes a layout from the settings in a header.
    :ivar records: (n,) of `layout.record_type`, in the order in which they were written.
    :ivar lost: number of records lost at a torn end, partial ones included; `lost_bytes` is their part of the file.
    :ivar source: the file, "" for a memory that was not loaded.
    """

    SCHEMA: ClassVar[str]
    LAYOUT: ClassVar[Callable[..., Layout]]

    records: np.ndarray
    layout: Layout
    lost: int = 0
    lost_bytes: int = 0
    source: str = ""

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Load the memory in a folder, up to its last whole record.

        :raises InputError: no memory, a memory of another schema, or a damaged record before whole records.
        """
        folder = Path(folder)
        header = _read_header(folder, cls.SCHEMA)
        settings = _settings(header)
        try:
            layout = cls.LAYOUT(**settings)
            fits = header["record_bytes"] == layout.record_type.itemsize
        except (KeyError, TypeError, ValueError):
            layout, fits = None, False
        if layout is None or not fits:
            raise InputError(
                f"{folder / HEADER}: its settings and record_bytes do not fit together; restore it from a copy"
            )
        return cls.read(folder, layout)

    @classmethod
    def read(cls, folder: str | os.PathLike[str], layout: Layout) -> Self:
        """Load the memory in a folder as `load`, with a known layout.

        :raises InputError: as `load`; also for a memory of other settings.
        """
        folder = Path(folder)
        found = _settings(_read_header(folder, layout.schema))
        if found != layout.settings:
            there, mine = (", ".join(f"{k} {v}" for k, v in each.items()) for each in (found, layout.settings))
            raise InputError(f"{folder}: a memory of {there}, not {mine}; choose another folder")
        path, kind = folder / RECORDS, layout.record_type
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # a crash right after the header was written
            content = b""
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from None
        records = np.frombuffer(content, dtype=kind, count=len(content) // kind.itemsize)
        whole = _whole(path, records)
        torn = len(content) - whole * kind.itemsize
        return cls(records[:whole], layout, -(-torn // kind.itemsize), torn, str(path))

    def __len__(self) -> int:
        return len(self.records)

    @property
    def fingerprint(self) -> str:
        """sha256 (hex) of schema, settings and records."""
        named = " ".join([self.layout.schema, *map(str, self.layout.settings.values())])
        return hashlib.sha256(f"{named} ".encode() + self.records.tobytes()).hexdigest()

    @property
    def warning(self) -> str | None:
        """A sentence that reports lost records; None if none were lost."""
        if not self.lost:
            return None
        return (
            f"{self.source}: the end was cut short, as by a crash; records lost: {self.lost} ({self.lost_bytes} bytes "
            f"left of them), whole records kept: {len(self)}"
        )


class Field:
    """A field of the records as a property of a memory: `before = Field("(n, 11) int8 panel rows.")`."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, memory: Any, owner: type) -> np.ndarray:
        return self if memory is None else memory.records[self._name]  # pyright: ignore[reportReturnType]


def integer(number: int) -> str:
    """Return the label of a literal of type xsd:integer."""
    return f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def state_facts(
    graph: "KnowledgeGraph",
    name: str,
    facts: Sequence[Triple],
    evidence: Sequence[Triple],
    about: Mapping[str, str],
    others: Mapping[str, Sequence[Triple]] | None = None,
) -> dict[str, int]:
    """Replace the facts of a run's memory in the named graphs NAME and NAME/evidence.

    :param about: annotations of each named graph.
    :param others: ending of the name of a further named graph -> its facts.
    :returns: name of each named graph -> number of facts.
    """
    more = {name + ending: triples for ending, triples in (others or {}).items()}
    stated = {name: facts, **more, name + EVIDENCE: evidence}
    old = {each: dict.fromkeys(graph.triples(graph=each)) for each in stated}
    with graph.transaction():
        for each, triples in stated.items():  # only changes are written, because a growing memory is stored often
            now = set(triples)
            graph.remove([fact for fact in old[each] if fact not in now], graph=each)
            graph.add([fact for fact in triples if fact not in old[each]], graph=each)
            graph.annotate(each, dict(about))
    return {each: len(triples) for each, triples in stated.items()}


def memory_of(folder: Path) -> TransitionMemory:
    """Load the memory in a folder, of any world, with the layout in its header.

    :raises InputError: as `TransitionMemory.load`.
    """
    header = _read_header(folder)
    try:
        fields = [tuple(tuple(part) if isinstance(part, list) else part for part in one) for one in header["fields"]]
        layout = Layout(header["schema"], fields[:-1], _settings(header))
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{folder / HEADER}: not the header of a memory; restore it from a copy") from None
    return TransitionMemory.read(folder, layout)


@checked_methods
class TransitionWriter:
    """Appends transitions to a memory. Records go to the file in blocks; after a `flush` all appended records survive a
    crash of the program and of the machine.

    :param folder: RUN/memory, or any other folder; it is made.
    :param keep: continue an existing memory after this many records, such as the `count` in a checkpoint, and drop the
        rest. None begins a new memory.
    :raises InputError: without `keep`, an existing memory; with it, fewer whole records or another layout; a memory
        that another writer has open.
    """

    def __init__(self, folder: str | os.PathLike[str], layout: Layout, *, keep: Whole | None = None) -> None:
        folder = Path(folder)
        kind = layout.record_type
        path = folder / RECORDS
        if keep is None:
            if path.exists():
                raise InputError(f"{folder} holds a memory already; go on with it (keep=...), or choose another folder")
        elif keep:
            whole = len(TransitionMemory.read(folder, layout))
            if keep > whole:
                raise InputError(
                    f"{folder}: the checkpoint goes on from record {keep}, and the memory has {whole} whole ones; "
                    "train a new run"
                )
        is_new = not path.exists()
        if is_new:
            write_sealed(folder / HEADER, layout.header())
        self._path = path
        self._block = np.zeros(BLOCK, dtype=kind)
        self._fields = [self._block[name] for name in layout.names]  # views, made once, so that an append only assigns
        self._waiting = 0
        self._written = keep or 0
        try:
            self._file = path.open("w+b" if is_new else "r+b", buffering=0)
            _claim(self._file, folder)
            self._file.truncate(self._written * kind.itemsize)
        except OSError as error:
            raise self._unwritable(error) from None
        if not is_new:  # last: records of another layout are dropped now, and no other writer has the file open
            write_sealed(folder / HEADER, layout.header())

    @property
    def count(self) -> int:
        """Number of records of the memory, including records not yet written."""
        return self._written + self._waiting

    def append(self, *fields: np.ndarray) -> None:
        """Append n transitions: the fields of the layout in its order, (n, ...) each.

        :raises InputError: other fields.
        """
        if len(fields) != len(self._fields):
            raise InputError(f"a record has {len(self._fields)} fields, and {len(fields)} are given")
        done, total = 0, len(fields[0]) if isinstance(fields[0], np.ndarray) and fields[0].ndim else 0
        while done < total:
            taken = min(total - done, BLOCK - self._waiting)
            place = slice(self._waiting, self._waiting + taken)
            try:
                for into, values in zip(self._fields, fields, strict=True):
                    into[place] = values[done : done + taken]
            except (TypeError, ValueError, IndexError, OverflowError) as error:
                raise InputError(f"not the fields of {total} records: {error}") from None
            self._waiting += taken
            done += taken
            if self._waiting == BLOCK:
                self.write()

    def write(self) -> None:
        """Write buffered records to the file, so that they survive a crash of the program."""
        records = self._block[: self._waiting]
        records[CHECKSUM] = _checksums(records)
        rest = memoryview(records.tobytes())
        try:
            self._file.seek(self._written * records.itemsize)  # overwrites the rest of a failed write
            while rest:  # the system may write only a part
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise self._unwritable(error) from None
        self._written += self._waiting
        self._waiting = 0

    def flush(self) -> None:
        """Write buffered records, and wait until they are on the disk."""
        self.write()
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Flush and close the file; further calls have no effect."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"cannot write {self._path}: {error.strerror or error}")


def _claim(file: BinaryIO, folder: Path) -> None:
    """Lock the file against other writers until it is closed or the program ends."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise InputError(f"{folder}: another writer has this memory open; give each environment its own") from None


def _read_header(folder: Path, schema: str | None = None) -> dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        raise InputError(
            f"{folder}: no memory of transitions there ({HEADER} is missing); "
            "RecordMemory(env, folder) writes one while an agent acts"
        )
    header = read_sealed(path, advice="restore it from a copy, or make the memory anew")
    found = header.get("schema") if isinstance(header, dict) else None
    if schema is not None and found != schema:
        raise InputError(f"{path}: a memory of schema {found!r}, and {schema!r} is read here")
    return header


def _settings(header: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in header.items() if name not in ("schema", "record_bytes", "fields")}


def _whole(path: Path, records: np.ndarray) -> int:
    """Return the number of records up to the last whole record; raise InputError if a record before it is damaged."""
    good = records[CHECKSUM] == _checksums(records)
    whole = len(good) - int(np.argmax(good[::-1])) if good.any() else 0
    if not good[:whole].all():
        number = int(np.argmin(good))
        size = records.dtype.itemsize
        place = f"record {number} (bytes {number * size} to {(number + 1) * size - 1})"
        damaged(path, f"{place} is damaged, and whole ones follow, so no crash has cut the file short there")
    return whole


def _checksums(records: np.ndarray) -> np.ndarray:
    """Return (n,) uint32: zlib.crc32 of the bytes of each record before its checksum.

    CRC is linear over bits: the CRC of a message is the CRC of zeros, xor the change by each byte's value and place.
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
    """Return (width, 256) uint32: the change of the CRC-32 of `width` zeros by a byte, by its place and value."""
    zeros = zlib.crc32(bytes(width))
    ends = [bytes(width - place - 1) for place in range(width)]
    single = [
        [zlib.crc32(bytes([*bytes(place), value]) + end) for value in range(256)] for place, end in enumerate(ends)
    ]
    return np.array(single, dtype=np.uint32).reshape(width, 256) ^ np.uint32(zeros)
