"""Read text and JSON files, with errors that name the file."""

import json
from pathlib import Path
from typing import Any

from .errors import InputError


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file; raise InputError with the path if it cannot be read or decoded."""
    try:
        return path.read_text(encoding=encoding)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


def read_json(
    path: Path, *, missing: str = "cannot be read", advice: str = "correct it there, or make it again", **options: Any
) -> Any:
    """Return the content of a JSON file.

    :param missing: the message for a file that cannot be read.
    :param advice: the end of the message for a file that is not JSON.
    :param options: keyword arguments of `json.loads`.
    :raises InputError: a file that cannot be read or is not JSON; the message has the path and the reason.
    """
    try:
        return parse_json(path.read_text(encoding="utf-8"), **options)
    except OSError as error:
        raise InputError(f"{path}: {missing} ({error.strerror or error})") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}); {advice}") from None


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse JSON by `json.loads`; raise ValueError, not RecursionError, if brackets are nested too deep."""
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
