"""Files and folders that are either whole or not there: written beside their place, then renamed.

What lies beside while it is written is called .NAME.HOST-PID-TOKEN.part. A process that is killed leaves it there; the
next writer of the same name removes it, and leaves alone what a living process or another machine writes.
"""

import errno
import hashlib
import json
import os
import platform
import shutil
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import InputError

_PART = ".part"
_ATTEMPTS = 100  # to take the place of a folder that other writers replace, too
_LONGEST = 120  # bytes of a name that its part file repeats: a system allows 255, and the owner needs some


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, which is renamed to it at the end; folders are made as needed. A device or a
    pipe, such as /dev/stdout, is written to as it is.

    After an error nothing is left beside it and the old file is what it was. Raises InputError for a name that no file
    can have, for text that UTF-8 cannot express, and for an error of the system, such as a full disk.
    """
    with _written(path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            yield path  # a device or a pipe, which is written to and not replaced
            return
        beside = _new_part(path)
        try:
            yield beside
            os.replace(beside, path)
        finally:
            with suppress(FileNotFoundError):
                beside.unlink()


@contextmanager
def whole_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """A new folder beside `path` to fill, which takes its place at the end; folders are made as needed.

    After an error nothing is left beside it and the old folder is what it was. A kill leaves the old one or the new
    one, never a mixture: read what `present_folder` gives. Of several writers the last one wins. InputError as
    `whole_file`.

    :param replace: False raises InputError where a folder with something in it is there at the end.
    """
    with _written(path):
        # Asked once: between two questions another writer may have taken the folder away.
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(path.stat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        beside = _new_part(path)
        beside.mkdir()
        try:
            yield beside
            if not replace and path.is_dir():
                path.rmdir()
            (_take_place if replace else os.replace)(beside, path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def check_writable(path: Path, *, new_folder: bool = True) -> None:
    """Refuse a place where nothing can be written, before any work is done for it. Nothing is written.

    :param new_folder: False refuses a file in a folder that is not there, too.
    :raises InputError: no name, one that the system does not take, a folder that is a file or may not be written to.
    """
    _check_new_name(path)
    with write_errors(path):
        there = next(folder for folder in path.absolute().parents if folder.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no permission to write in {there}")
        if not new_folder and there != path.absolute().parent:
            raise InputError(f"cannot write {path}: there is no folder {path.parent}; make it, or name another")


def check_name(path: Path) -> None:
    """Refuse what is no name of a file or folder.

    :raises InputError: no name, one that the system does not take, or a parent that is a file.
    """
    with write_errors(path), suppress(FileNotFoundError):
        try:
            os.lstat(path)
        except ValueError:
            raise InputError(
                f"{str(path)!r} holds a character that no name of a file can have; choose another name"
            ) from None


def can_be_named(path: str | os.PathLike[str]) -> bool:
    """Whether the system takes it as a path: not without characters, with too many, or with some that no name has."""
    try:
        os.lstat(path)
    except (ValueError, TypeError):  # a character that no name has, or an object that gives no text
        return False
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG and os.fspath(path) != ""
    return True


def present_folder(path: Path) -> Path:
    """The folder itself, or its predecessor where a kill fell between the two renames of `whole_folder`."""
    old = _predecessor(path)
    return old if not path.exists() and old.exists() else path


def forget_predecessor(path: Path) -> None:
    """Remove the old folder that a kill in `whole_folder` left beside the new one."""
    if path.exists():
        shutil.rmtree(_predecessor(path), ignore_errors=True)


def is_part(path: Path) -> bool:
    """Whether this is what a writer that was killed has left, and nothing that anybody needs."""
    return path.name.startswith(".") and path.name.endswith(_PART)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file; InputError as `whole_file`."""
    with whole_file(path) as beside:
        beside.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text as a whole file; InputError as `whole_file`."""
    with whole_file(path) as beside:
        beside.write_bytes(text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON as a whole file; InputError as `whole_file`."""
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """What keeps a path from being written within it, as an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end + 20]
        raise InputError(
            f"cannot write {path}: {error.object[error.start : error.end]!r} in {near!r} is no character; remove it"
        ) from None


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """What the writers of files and folders share: checks, parents, and the left-overs of those that were killed."""
    with write_errors(path):
        _check_new_name(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        yield


def _check_new_name(path: Path) -> None:
    check_name(path)
    if path.name in ("", ".."):
        raise InputError(f"{str(path)!r} is a folder that is there already, and no name to write to; give a name")


def _new_part(path: Path) -> Path:
    return path.with_name(f"{_stem(path)}{_here()}-{os.getpid()}-{os.urandom(4).hex()}{_PART}")


def _stem(path: Path) -> str:
    """What the names of all parts of a file or folder begin with."""
    name = os.fsencode(path.name)
    return f".{path.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()}."


def _here() -> str:
    """This machine in eight digits: numbers of processes mean nothing on another one that shares the disk."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _sweep(path: Path) -> None:
    """Remove what writers of this path have left that were killed on this machine."""
    start = f"{_stem(path)}{_here()}-"
    for name in os.listdir(path.parent):
        if name.startswith(start) and name.endswith(_PART):
            pid = name.removeprefix(start).partition("-")[0]
            if pid.isdecimal() and not _is_alive(int(pid)):
                left = path.with_name(name)
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # there this question would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _take_place(beside: Path, path: Path) -> None:
    """Two renames, because a folder that is not empty cannot be replaced by one; again where another writer was
    quicker between them."""
    old = _predecessor(path)
    for left in reversed(range(_ATTEMPTS)):
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
            with suppress(OSError):
                os.replace(path, old)
        try:
            os.replace(beside, path)
            break
        except OSError:
            if left and path.exists():
                continue
            if old.exists() and not path.exists():
                os.replace(old, path)
            raise
    shutil.rmtree(old, ignore_errors=True)


def _predecessor(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")
