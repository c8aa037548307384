"""Files and folders that are either whole or not there, because they are written beside their place and then renamed;
and locks, so that one process at a time writes.

The part file is called .NAME.HOST-PID-TOKEN.part. A process that is killed leaves it there; the next writer of the same
name removes it, but not the part file of a living process or of another machine.
"""

import errno
import hashlib
import json
import os
import platform
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks: users have to see to it that one program writes a folder
    fcntl = None

_PART = ".part"
_ATTEMPTS = 100  # at replacing a folder that other writers replace, too
_LONGEST = 120  # bytes of a name that its part file repeats, of the 255 that a system allows
_TAKEN = "another process is writing there; wait for it, or choose another name"
_claimed: dict[Path, int] = {}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, which is renamed to it at the end; folders are made as needed. A device or a
    pipe, such as /dev/stdout, is written to directly.

    After an error the old file is unchanged and nothing is left beside it.

    :raises InputError: an invalid name, text that UTF-8 cannot express, a system error such as a full disk.
    """
    with _written(path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            yield path
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
    """A new folder beside `path` to fill, which replaces it at the end; folders are made as needed.

    After an error the old folder is unchanged and nothing is left beside it. A kill leaves the old or the new folder,
    never a mixture: read what `present_folder` gives. Of several writers the last one wins.

    :param replace: False refuses to replace a folder that is not empty.
    :raises InputError: as `whole_file`.
    """
    with _written(path):
        # One system call: between two another writer may remove the folder.
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
    """Refuse a path that cannot be written, before any work is done for it; nothing is written.

    :param new_folder: False also refuses a file whose folder does not exist.
    :raises InputError: no name, an invalid one, a parent that is a file or is not writable.
    """
    _check_new_name(path)
    with write_errors(path):
        there = next(folder for folder in path.absolute().parents if folder.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no permission to write in {there}")
        if not new_folder and there != path.absolute().parent:
            raise InputError(f"cannot write {path}: there is no folder {path.parent}; make it, or name another")


def check_name(path: Path) -> None:
    """Raise InputError for a name that no file or folder can have, or whose parent is a file."""
    with write_errors(path), suppress(FileNotFoundError):
        try:
            os.lstat(path)
        except ValueError:
            raise InputError(
                f"{str(path)!r} holds a character that no name of a file can have; choose another name"
            ) from None
    with write_errors(path):  # the system looks at a name only where the folder is there
        whole = path.absolute()
        there = next(folder for folder in (whole, *whole.parents) if folder.exists())
        for name in whole.relative_to(there).parts:
            with suppress(FileNotFoundError):
                os.lstat(there / name)


def can_be_named(path: str | os.PathLike[str]) -> bool:
    """Whether the system takes it as a path: it is not empty nor too long and has no invalid character."""
    try:
        os.lstat(path)
    except (ValueError, TypeError):  # an invalid character, or an object that gives no text
        return False
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG and os.fspath(path) != ""
    return True


def present_folder(path: Path) -> Path:
    """The folder, or its predecessor where a kill came between the two renames of `whole_folder`."""
    return old if not path.exists() and (old := _predecessor(path)).exists() else path


def forget_predecessor(path: Path) -> None:
    """Remove the old folder that a killed `whole_folder` left beside the new one."""
    if path.exists():
        shutil.rmtree(_predecessor(path), ignore_errors=True)


def is_part(path: Path) -> bool:
    """Whether this is the part file of a killed writer, which nobody needs."""
    return path.name.startswith(".") and path.name.endswith(_PART)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a `whole_file`."""
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
def write_errors(path: Path) -> Iterator[None]:
    """Raise an InputError for what keeps the block from writing `path`."""
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
    """What `whole_file` and `whole_folder` share: checks, parents, and removal of what killed writers left."""
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
    return path.with_name(f"{_start(path)}{os.getpid()}-{os.urandom(4).hex()}{_PART}")


def _start(path: Path) -> str:
    """The beginning of the names of the part files of a path. Eight digits stand for this machine, because process ids
    mean nothing on another machine that shares the disk."""
    name = os.fsencode(path.name)
    stem = path.name if len(name) <= _LONGEST else hashlib.sha256(name).hexdigest()
    return f".{stem}.{zlib.crc32(platform.node().encode()):08x}-"


def _sweep(path: Path) -> None:
    """Remove the part files that killed writers of this path left on this machine."""
    start = _start(path)
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
        return True  # elsewhere os.kill would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _take_place(beside: Path, path: Path) -> None:
    """Two renames, because one cannot replace a folder that is not empty; they are repeated where another writer came
    in between."""
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


# ---- Locks on files and folders.


def claim(folder: Path) -> None:
    """Keep other processes from claiming a folder, which is made as needed, until `release` or the end of this process.

    :raises InputError: another process has claimed it.
    """
    place = folder.resolve()
    if fcntl is None or place in _claimed:
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise InputError(f"{folder}: {_TAKEN}") from None
    except OSError:  # a network disk may have no locks
        os.close(lock)
        return
    _claimed[place] = lock


def release(folder: Path) -> None:
    """Let other processes claim the folder."""
    lock = _claimed.pop(folder.resolve(), None)
    if lock is not None:
        os.close(lock)


@contextmanager
def sole_writer(path: Path, *, wait: bool) -> Iterator[None]:
    """While the block runs, no other process of this machine runs one for the same path, which need not exist.

    So no process overwrites what another wrote between its read and its write. The lock is a file of the user's in the
    folder for temporary files, because the written file itself is replaced.

    :param wait: for the other process to end; False refuses.
    :raises InputError: another process is writing there.
    """
    if fcntl is None:
        yield
        return
    with ExitStack() as stack:
        try:
            locks = Path(tempfile.gettempdir()) / f"gumption-locks-{os.getuid()}"
            locks.mkdir(mode=0o700, exist_ok=True)
            if locks.is_symlink() or locks.stat().st_uid != os.getuid():
                raise PermissionError(f"{locks} is somebody else's")
            name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
            lock = os.open(locks / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            stack.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{path}: {_TAKEN}") from None
        except OSError:  # no folder of the user's own for a lock, or a disk without locks
            pass
        yield
