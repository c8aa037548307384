"""Folders that one process at a time may write to."""

import os
from pathlib import Path

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks: there it is left to the user that one program writes a folder
    fcntl = None

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
        raise InputError(f"{folder}: another process is writing there; wait for it, or choose another name") from None
    except OSError:  # a network disk may have no locks
        os.close(lock)
        return
    _claimed[place] = lock


def release(folder: Path) -> None:
    """Let other processes claim the folder."""
    lock = _claimed.pop(folder.resolve(), None)
    if lock is not None:
        os.close(lock)
