"""Files and folders that are either whole or not there: written beside their place, then renamed."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, which is renamed to it at the end; folders are made as needed.

    After an error nothing is left beside it and the old file is what it was. Raises InputError for an error of the
    system, such as a full disk.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        os.replace(beside, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if beside.exists():
            beside.unlink()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new folder beside `path` to fill, which takes its place at the end; folders are made as needed.

    After an error nothing is left beside it and the old folder is what it was. A kill leaves the old one or the new
    one, never a mixture: read what `present_folder` gives. Raises InputError for an error of the system.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
        try:
            beside.chmod(0o755)
            yield beside
            _take_place(beside, path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def present_folder(path: Path) -> Path:
    """The folder itself, or its predecessor where a kill fell between the two renames of `whole_folder`."""
    old = _predecessor(path)
    return old if not path.exists() and old.exists() else path


def _take_place(beside: Path, path: Path) -> None:
    old = _predecessor(path)
    if path.exists():  # two renames: a folder that is not empty cannot be replaced by one
        shutil.rmtree(old, ignore_errors=True)
        os.replace(path, old)
    try:
        os.replace(beside, path)
    except OSError:
        if old.exists():
            os.replace(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _predecessor(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file; InputError as `whole_file`."""
    with whole_file(path) as beside:
        beside.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text as a whole file; InputError as `whole_file`."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON as a whole file; InputError as `whole_file`."""
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")
