"""JSON files, with errors that name the file."""

import json
from pathlib import Path
from typing import Any

from .errors import InputError


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file; InputError with the path where it cannot be read, or is no text of this encoding."""
    try:
        return path.read_text(encoding=encoding)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None


def read_json(
    path: Path, *, missing: str = "cannot be read", advice: str = "correct it there, or make it again", **options: Any
) -> Any:
    """The content of a JSON file.

    :param missing: the message for a file that cannot be read.
    :param advice: the end of the message for a file that is not JSON.
    :param options: of `json.loads`.
    :raises InputError: one of these, with the path and the reason.
    """
    try:
        return parse_json(path.read_text(encoding="utf-8"), **options)
    except OSError as error:
        raise InputError(f"{path}: {missing} ({error.strerror or error})") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}); {advice}") from None


def parse_json(text: str | bytes, **options: Any) -> Any:
    """`json.loads`, with ValueError instead of RecursionError for brackets that are nested too deep."""
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
