"""Write whole files and folders: each is written to a part file in the same folder, which is then renamed. Locks let
one process at a time change a path. Symbolic links are followed.

The part file is called .NAME.HOST-PID-TOKEN.part. A killed process leaves it there; the next writer of the same name
removes it, but not the part file of a living process or of another machine.
"""

import errno
import hashlib
import json
import os
import platform
import shutil
import stat
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from pathlib import Path
from threading import get_ident
from typing import Any, BinaryIO

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_PART, _LOCK = ".part", ".lock"
# Process ids mean nothing on another machine that shares the disk.
_MACHINE = f".{zlib.crc32(platform.node().encode()):08x}-"
_LONGEST = 120  # bytes of the longest name that a part file repeats; a system allows 255
_BUSY = "another process is writing there; wait for it, or choose another name"
_AGAIN = 0.05  # seconds between two attempts at a lock
_held: dict[tuple[Path, int], BinaryIO] = {}  # target, thread -> lock


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a part file to write to, which is renamed to `path` at the end. Missing folders are made. A device or a
    pipe, such as /dev/stdout, is written to directly.

    After an error the old file is unchanged and the part file is removed.

    :raises InputError: an invalid name, text that UTF-8 cannot express, a system error such as a full disk.
    """
    with _written(path) as (target, beside):
        if beside == target:
            yield target
            return
        try:
            yield beside
            with suppress(FileNotFoundError):
                shutil.copymode(target, beside)  # a private file stays private
            os.replace(beside, target)
        finally:
            with suppress(FileNotFoundError):
                beside.unlink()


@contextmanager
def whole_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a new folder to fill, which replaces `path` at the end. Missing parents are made.

    After an error the old folder is unchanged and the new one is removed. A kill leaves the old or the new folder,
    never a mixture: read the path that `present_folder` returns. Of several writers the last one wins. All files of
    the folder get one mode: the mode of the old folder, or the mode that the umask gives.

    :param replace: False refuses to replace a folder that is not empty.
    :raises InputError: as `whole_file`.
    """
    with _written(path) as (target, beside):
        # A single system call, because another writer may remove the folder between two calls.
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(target.stat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        beside.mkdir()
        try:
            yield beside
            with suppress(FileNotFoundError):
                shutil.copymode(target, beside)
            for part in beside.rglob("*"):
                if part.is_file():
                    part.chmod(beside.stat().st_mode & 0o666)
            if not replace and target.is_dir():
                target.rmdir()
            (_take_place if replace else os.replace)(beside, target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def check_writable(path: Path, *, new_folder: bool = True) -> None:
    """Refuse a path that cannot be written, before any work is done for it. Nothing is written.

    :param new_folder: False also refuses a file whose folder does not exist.
    :raises InputError: a missing or invalid name, a parent that is a file or is not writable.
    """
    _check_new_name(path)
    with write_errors(path):
        there = next(folder for folder in path.absolute().parents if folder.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no permission to write in {there}")
        if not new_folder and there != path.absolute().parent:
            raise InputError(f"cannot write {path}: there is no folder {path.parent}; make it, or name another")


def check_ending(path: Path, endings: Collection[str]) -> None:
    """Raise InputError for a file name without one of the endings of its format."""
    if path.suffix not in endings:
        raise InputError(f"cannot write {path}: choose a name that ends in {' or '.join(endings)}")


def check_name(path: Path, verb: str = "write") -> None:
    """Raise InputError for a name that no file or folder can have, or whose parent is a file or cannot be read. `verb`
    names the operation in the message."""
    with write_errors(path, verb), suppress(FileNotFoundError):
        try:
            os.lstat(path)
        except ValueError:
            raise InputError(
                f"{str(path)!r} holds a character that no name of a file can have; choose another name"
            ) from None
    with write_errors(path, verb):  # the system checks a name only if its folder exists
        whole = path.absolute()
        there = next(folder for folder in (whole, *whole.parents) if folder.exists())
        for name in whole.relative_to(there).parts:
            with suppress(FileNotFoundError):
                os.lstat(there / name)


def can_be_named(path: str | os.PathLike[str]) -> bool:
    """Return whether the system accepts a path: it is not empty, not too long and has no invalid character."""
    try:
        os.lstat(path)
    except (ValueError, TypeError):  # an invalid character, or an object that is no path
        return False
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG and os.fspath(path) != ""
    return True


def present_folder(path: Path) -> Path:
    """Return the folder, or the previous one if a kill came between the two renames of `whole_folder`."""
    return old if not path.exists() and (old := _predecessor(path)).exists() else path


def forget_predecessor(path: Path) -> None:
    """Remove the previous folder that a killed `whole_folder` left, if the new one exists."""
    if path.exists():
        shutil.rmtree(_predecessor(path), ignore_errors=True)


def is_part(path: Path) -> bool:
    """Return whether a path is a lock or a part file, and so no content of its folder."""
    return path.name.startswith(".") and path.name.endswith((_PART, _LOCK))


def file_sha256(path: Path) -> str:
    """Return the sha256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes as a `whole_file`."""
    with whole_file(path) as beside:
        beside.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text as a `whole_file`."""
    with whole_file(path) as beside:
        beside.write_bytes(text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write JSON as a `whole_file`."""
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


@contextmanager
def write_errors(path: Path, verb: str = "write") -> Iterator[None]:
    """Turn system and encoding errors of the block into an InputError about `path`; `verb` is the failed operation."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot {verb} {path}: {error.strerror or error}") from None
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end + 20]
        raise InputError(
            f"cannot write {path}: {error.object[error.start : error.end]!r} in {near!r} is no character; remove it"
        ) from None


@contextmanager
def _written(path: Path) -> Iterator[tuple[Path, Path]]:
    """Check a path, make its parents, and remove the part files of killed writers; yield the path that symbolic links
    lead to and a new part file. A device is its own part file."""
    with write_errors(path):
        _check_new_name(path)
        with suppress(FileNotFoundError):
            path.stat()  # refuses a link that leads to itself
        target = _target(path)
        if target is None:
            yield path, path
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        start = f"{_hidden(target)}{_MACHINE}"
        for name in os.listdir(target.parent):  # part files of writers that were killed on this machine
            pid = name.removeprefix(start).partition("-")[0]
            if name.startswith(start) and name.endswith(_PART) and pid.isdecimal() and not _is_alive(int(pid)):
                left = target.with_name(name)
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)
        yield target, target.with_name(f"{start}{os.getpid()}-{os.urandom(4).hex()}{_PART}")


def _target(path: Path) -> Path | None:
    """Return the path that symbolic links lead to; None for a device or a pipe."""
    is_device = path.exists() and not (path.is_file() or path.is_dir())
    return None if is_device else Path(os.path.realpath(path))


def _check_new_name(path: Path) -> None:
    check_name(path)
    if path.name in ("", ".."):
        raise InputError(f"{str(path)!r} is a folder that is there already, and no name to write to; give a name")
    if path.is_file() and not os.access(path, os.W_OK):
        raise InputError(f"cannot write {path}: the file is read-only; choose another name")


def _hidden(path: Path) -> str:
    """Return how the names of the hidden files of a path begin."""
    name = os.fsencode(path.name)
    return f".{path.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()}"


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere os.kill would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _take_place(beside: Path, target: Path) -> None:
    """Rename a folder to `target`: by one rename if that is absent or an empty folder, else by two renames under the
    lock. These are repeated if a writer that saw no folder made one in between."""
    old = _predecessor(target)
    with suppress(OSError):
        if not old.exists():
            os.replace(beside, target)
            return
    with sole_writer(target):
        while beside.exists():
            if target.exists():
                shutil.rmtree(old, ignore_errors=True)
                os.replace(target, old)
            try:
                os.replace(beside, target)
            except OSError:
                if target.exists():
                    continue
                if old.exists():
                    os.replace(old, target)
                raise
        shutil.rmtree(old, ignore_errors=True)


def _predecessor(path: Path) -> Path:
    target = Path(os.path.realpath(path))
    return target.with_name(f"{_hidden(target)}.old")


@contextmanager
def sole_writer(path: Path, *, wait: float = inf, busy: str = _BUSY) -> Iterator[None]:
    """Lock a file or folder, which need not exist, against other processes and threads while the block runs. So no
    writer overwrites a change that another made between its read and its write.

    The lock is an empty file .NAME.lock in the folder of the path that symbolic links lead to. It stays there: if it
    were removed, two writers could each hold a lock. Every user may open it, whatever the umask. Blocks of one thread
    may be nested. A process made by `fork` holds none of its parent's locks.

    :param wait: seconds to wait for other writers.
    :param busy: the end of the message if the wait was too short.
    :raises InputError: another writer still holds the lock; no lock can be made there.
    """
    target = _target(path)
    if target is None or (owner := (target, get_ident())) in _held:
        yield
        return
    _check_new_name(target)
    file, until = target.with_name(f"{_hidden(target)}{_LOCK}"), time.monotonic() + wait
    with ExitStack() as stack:
        with write_errors(file):
            if fcntl is None:
                raise OSError(errno.ENOLCK, "this system has no locks on files")
            target.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "rb"))
            with suppress(PermissionError):  # another user made it
                os.fchmod(lock.fileno(), 0o666)
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                if time.monotonic() >= until:
                    raise InputError(f"{path}: {busy}")
                time.sleep(_AGAIN)
        _held[owner] = lock
        stack.callback(_held.pop, owner, None)
        yield


def _forget_locks() -> None:
    """Close this process's copies of its parent's locks; the parent keeps them."""
    while _held:
        _held.popitem()[1].close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
