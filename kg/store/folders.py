"""Folders of graphs on disk: made whole, opened, or refused in a sentence.

The engine keeps a checksum of each block of its files and checks those that it reads; what it has not yet put into
blocks stands in a log, whose end it drops where a checksum is wrong. So a graph is flushed when it is closed: after
that a changed byte is told as soon as it is read, and nothing more has to be read to find it.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.writing import check_name, whole_folder

_CURRENT = "CURRENT"  # a file that each folder of the engine has


def open_folder(path: Path, read_only: bool) -> ox.Store:
    """The store in a folder, which is made where there is none.

    :raises InputError: something else there, nothing there to read, a store that is in use or damaged.
    """
    check_name(path)
    if path.is_file():
        raise InputError(f"{path} is a file: read it with KnowledgeGraph.load; a graph on disk is a folder")
    ours = (path / _CURRENT).exists()
    if not ours and path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} holds other files and no knowledge graph: choose a new or an empty folder")
    if read_only and not ours:
        raise InputError(f"there is no knowledge graph at {path} to be read")
    with told(path, "open"):
        if read_only:
            return ox.Store.read_only(str(path.resolve()))
        if not ours:
            _make(path.resolve() if path.is_symlink() else path)
        # Resolved, because within one process the lock is on the path as it is written.
        return ox.Store(path.resolve())


def _make(path: Path) -> None:
    """An empty store; made beside its place, because the engine cannot open what a kill leaves while it makes one."""
    try:
        with whole_folder(path, replace=False) as beside:
            ox.Store(beside.resolve())
    except InputError:
        if not (path / _CURRENT).exists():  # else another process was quicker
            raise


@contextmanager
def told(path: Path | None, what: str) -> Iterator[None]:
    """What goes wrong in the engine, as an InputError.

    :param what: was to be done with the graph.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        text = " ".join(str(error).split())
        broken = "Corruption" in text or "No such file" in text or "Column family" in text
        if isinstance(error, RuntimeError) and not broken:
            raise  # a query that cannot be evaluated
        if broken:
            text += "; the folder is damaged: restore it from a copy, or make the graph anew"
        elif what == "open" and "lock" in text.lower():
            text = "it is in use: close it there first, or open it with read_only=True"
        raise InputError(f"cannot {what} the knowledge graph {path or 'in memory'}: {text}") from None


@contextmanager
def undone_if_new(folder: Path) -> Iterator[None]:
    """Take away the folder of a graph that is made within, where that ends with an InputError and nothing in it.

    It stays where another process, which was quicker to make it, holds it.
    """
    new = not folder.exists()
    try:
        yield
    except InputError:
        if new and (folder / _CURRENT).exists():
            with suppress(OSError):  # somebody else holds it
                held = ox.Store(folder.resolve())
                if not len(held):
                    shutil.rmtree(folder)
        raise
