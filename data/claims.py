"""Files and folders that one process at a time may write to."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks: there it is left to the user that one program writes a folder
    fcntl = None

_TAKEN = "another process is writing there; wait for it, or choose another name"
_claimed: dict[Path, int] = {}


def claim(folder: Path) -> None:
    """Keep other processes from claiming a folder until `release`, or until this process ends; it is made as needed.

    :raises InputError: another process has it.
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
    """Within it no other process of this machine is within its own block for the same path, which need not exist.

    What is read in the block and written at its end is then lost by nobody. The lock is a file of the user's in the
    folder for temporary files: a written file is replaced, and could not hold it.

    :param wait: until the other one has ended; else it is refused.
    :raises InputError: another process is writing there.
    """
    if fcntl is None:
        yield
        return
    with ExitStack() as stack:
        try:
            lock = _lock_of(path)
            stack.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{path}: {_TAKEN}") from None
        except OSError:  # nowhere to put a lock, or a disk that has none
            pass
        yield


def _lock_of(path: Path) -> int:
    """The descriptor of the file whose lock stands for a path.

    :raises OSError: no folder for it that is the user's own.
    """
    locks = Path(tempfile.gettempdir()) / f"gumption-locks-{os.getuid()}"
    locks.mkdir(mode=0o700, exist_ok=True)
    if locks.is_symlink() or locks.stat().st_uid != os.getuid():
        raise PermissionError(f"{locks} is somebody else's")
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return os.open(locks / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
