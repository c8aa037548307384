"""Read compressed files within bounds: gzip, bzip2, xz and zip archives.

A few kilobytes can expand to terabytes, and one line of a file can be larger than memory. So a file may expand to
EXPANDED bytes or RATIO times its size, whichever is more; a line may have LINE bytes and an archive MEMBERS files. The
files of an archive are never unpacked to disk.
"""

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from .errors import InputError

EXPANDED, RATIO = 1 << 30, 200
LINE = 1 << 24
MEMBERS = 10_000

_BUFFER, _PIECE = 1 << 18, 1 << 16
_KINDS: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    ".gz": (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    ".bz2": (b"BZh", bz2.BZ2File),
    ".xz": (b"\xfd7zXZ\x00", lzma.LZMAFile),
}


class Damaged(OSError):
    """Compressed data that is broken or cut off."""


class PackedFile(io.BufferedReader):
    """A file whose content is read unpacked; `place` is the position in its packed bytes."""

    @property
    def place(self) -> int:
        return cast("_Bounded", self.raw).packed.tell()


def open_packed(path: Path, member: str | None = None, *, lines: bool = True, by_name: bool = False) -> PackedFile:
    """Open a file, plain or packed; its first bytes decide. Reading raises Damaged, or InputError beyond a bound.

    :param member: the name of a file in the zip archive `path`.
    :param by_name: choose the compression by the ending of the file's name instead.
    :param lines: whether to bound lines; False for formats without lines.
    :raises OSError: also for a file that the archive does not have.
    :raises InputError: an archive beyond the bounds.
    """
    packed = path.open("rb")
    if member is not None:
        try:
            unpacked = open_archive(packed, str(path)).open(member)
        except BaseException as error:
            packed.close()
            if isinstance(error, KeyError):
                raise OSError(error.args[0]) from None
            if isinstance(error, (NotImplementedError, RuntimeError)):  # an unknown method, a password
                raise Damaged(str(error)) from None
            raise
        return PackedFile(_Bounded(packed, unpacked, f"{path}/{member}", lines), _BUFFER)
    first = packed.read(6)
    packed.seek(0)
    starts = [ending for ending, (start, _) in _KINDS.items() if first.startswith(start)]
    ending = path.suffix if by_name else next(iter(starts), "")
    unpacked = _KINDS[ending][1](packed) if ending in _KINDS else packed
    return PackedFile(_Bounded(packed, unpacked, str(path), lines), _BUFFER)


def open_archive(source: Path | IO[bytes], name: str) -> zipfile.ZipFile:
    """Open a zip archive within the bounds; none of its files yields more bytes than the archive's directory states.

    :param name: its name in messages.
    :raises Damaged: not a zip archive.
    :raises InputError: an archive beyond the bounds.
    """
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise Damaged(str(error)) from None
    files = archive.infolist()
    if len(files) > MEMBERS:
        archive.close()
        raise InputError(f"{name}: the archive has {len(files):,} files, and no more than {MEMBERS:,} are read")
    assert archive.fp is not None
    if sum(file.file_size for file in files) > _most(archive.fp):
        archive.close()
        raise InputError(_too_large(name))
    return archive


def _most(packed: IO[bytes]) -> int:
    place = packed.tell()
    size = packed.seek(0, os.SEEK_END)
    packed.seek(place)
    return max(EXPANDED, RATIO * size)


def _too_large(name: str) -> str:
    return (
        f"{name}: it expands to more than {RATIO} times its size and {EXPANDED / 1e9:.1f} GB, as files do that are "
        "made to fill memory or disk; where it is meant to, unpack it first"
    )


class _Bounded(io.RawIOBase):
    """The unpacked content of a file, within the bounds."""

    def __init__(self, packed: IO[bytes], unpacked: Any, name: str, lines: bool) -> None:
        self.packed = packed
        self._unpacked, self._name = unpacked, name
        self._left = None if unpacked is packed else _most(packed)
        self._lines, self._line = lines, 0  # bytes since the last line break

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count = self._unpacked.readinto(buffer)
        except EOFError:
            raise Damaged("the compressed file is cut off") from None
        except (zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            raise Damaged(str(error)) from None
        except OSError as error:
            if error.errno is None:  # gzip and bz2 raise it for their data
                raise Damaged(str(error)) from None
            raise
        if self._left is not None:
            self._left -= count
            if self._left < 0:
                raise InputError(_too_large(self._name))
        if self._lines:
            for start in range(0, count, _PIECE):
                self._measure(bytes(buffer[start : min(start + _PIECE, count)]))
        return count

    def _measure(self, piece: bytes) -> None:
        end = piece.find(b"\n")
        self._line += len(piece) if end < 0 else end
        if self._line > LINE:
            raise InputError(f"{self._name}: a line is longer than {LINE / 1e6:.0f} MB; is it a file of lines?")
        if end >= 0:
            self._line = len(piece) - 1 - piece.rfind(b"\n")

    def close(self) -> None:
        if not self.closed:
            self._unpacked.close()
            self.packed.close()
        super().close()
