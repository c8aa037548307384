"""Files that are either whole or not there: written beside their place, then renamed."""

import json
import os
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
