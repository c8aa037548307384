"""JSON that carries the sha256 of its content, so that a reader sees a changed byte.

An object has the key "sha256" at its end. In a file of JSON Lines each line has one, which covers the line and all
lines before it: lines are appended, and a file that was cut short between two lines is whole up to there.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from .errors import InputError
from .reading import parse_json, read_json
from .writing import write_json

SHA256 = "sha256"
_verifying: ContextVar[bool] = ContextVar("verifying", default=True)


@contextmanager
def unverified() -> Iterator[None]:
    """Within the block files are read without a check of their sha256, as by `gumption --no-verify`."""
    token = _verifying.set(False)
    try:
        yield
    finally:
        _verifying.reset(token)


def stop_verifying() -> None:
    """Read files `unverified` in this process from now on."""
    _verifying.set(False)


def damaged(where: str | Path, what: str) -> None:
    """Raise InputError for a file that is not what was written, unless files are read `unverified`.

    :param what: what is wrong with it.
    """
    if _verifying.get():
        advice = "make it again, restore it from a copy, or read it as it is with `gumption --no-verify ...`"
        raise InputError(f"{where}: {what}; {advice}")


def content_hash(content: Any, before: str = "") -> str:
    """sha256 (hex) of JSON content, independent of the order of its keys.

    :param before: the hash of the lines before it.
    """
    as_read = json.loads(json.dumps(content))  # numbers become text where they are keys
    return hashlib.sha256((before + json.dumps(as_read, sort_keys=True)).encode()).hexdigest()


def sealed(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The content with its sha256 at the end."""
    return {**content, SHA256: content_hash(content, before)}


def unsealed(content: Any, where: str | Path, before: str = "") -> Any:
    """The content without its sha256.

    :param where: the place for the message.
    :raises InputError: an object without sha256, or with that of other content.
    """
    if not isinstance(content, dict):
        return content
    rest = {key: value for key, value in content.items() if key != SHA256}
    if SHA256 not in content:
        damaged(where, "it has no sha256, so it was changed or damaged")
    elif content[SHA256] != content_hash(rest, before):
        damaged(where, "its content does not match its sha256, so it was changed or damaged")
    return rest


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """As `write_json`, with the content's sha256."""
    write_json(path, sealed(content))


def read_sealed(path: Path, *, advice: str = "remove it and make it again, or restore a copy", **told: str) -> Any:
    """As `read_json`, of what `write_sealed` wrote, without the sha256.

    :raises InputError: as `read_json`, and where the content is not what was written.
    """
    return unsealed(read_json(path, advice=advice, **told), path)


def sealed_lines(lines: Iterable[Mapping[str, Any]], before: str = "") -> tuple[str, str]:
    """JSON Lines with their sha256, and the last sha256.

    :param before: the last sha256 of the lines that these follow.
    """
    text = []
    for line in lines:
        content = sealed(line, before)
        before = content[SHA256]
        text.append(json.dumps(content) + "\n")
    return "".join(text), before


def unsealed_lines(text: str, path: Path) -> tuple[list[Any], str]:
    """The lines without their sha256, and the last sha256. Lines that others wrote have none: then it is "".

    :param path: for messages.
    :raises InputError: a line that is not JSON, or not what was sealed.
    """
    lines, before = [], ""
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{path}:{number}"
        try:
            content = parse_json(line)
        except ValueError as error:
            raise InputError(f"{where}: not valid JSON ({error})") from None
        is_sealed = isinstance(content, dict) and SHA256 in content
        if before and not is_sealed:
            damaged(where, "it has no sha256, and the lines before it have one, so it was changed or damaged")
        lines.append(unsealed(content, where, before) if is_sealed else content)
        before = content[SHA256] if is_sealed else before
    return lines, before
