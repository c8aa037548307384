"""JSON that carries the sha256 of its content, so that a changed byte is seen when it is read.

An object has the key "sha256" at its end. Of a file of JSON Lines, each line has one, which covers the line and all
lines before it: lines are appended, and a file that was cut short between two lines is whole up to there. Files from
before the seals are read as they are.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from .errors import InputError
from .reading import parse_json, read_json
from .writing import write_json

SHA256 = "sha256"
_SEAL = re.compile(r',\s*"sha256": "[0-9a-f]{64}"')
_verifying: ContextVar[bool] = ContextVar("verifying", default=True)


@contextmanager
def unverified() -> Iterator[None]:
    """Within it files are read whose content is not what their sha256 says, as `gumption --no-verify` does."""
    token = _verifying.set(False)
    try:
        yield
    finally:
        _verifying.reset(token)


def stop_verifying() -> None:
    """From now on in this process, as `unverified`."""
    _verifying.set(False)


def damaged(where: str | Path, what: str) -> None:
    """Tell of a file that is not what was written, unless nobody wants to know.

    :param what: is wrong with it.
    :raises InputError: always, except when reading `unverified`.
    """
    if _verifying.get():
        advice = "make it again, restore it from a copy, or read it as it is with `gumption --no-verify ...`"
        raise InputError(f"{where}: {what}; {advice}")


def content_hash(content: Any, before: str = "") -> str:
    """sha256 (hex) of what is read again when this was written as JSON, whatever the order of its keys.

    :param before: the hash of what stands before it.
    """
    as_read = json.loads(json.dumps(content))  # keys that are numbers become text
    return hashlib.sha256((before + json.dumps(as_read, sort_keys=True)).encode()).hexdigest()


def sealed(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The content with its sha256 at the end."""
    return {**content, SHA256: content_hash(content, before)}


def unsealed(content: Any, where: str | Path, before: str = "") -> Any:
    """The content without its sha256.

    :param where: for the message.
    :raises InputError: it is not what was sealed.
    """
    if not isinstance(content, dict) or not content:
        return content
    name, told = next(reversed(content.items()))
    rest = {key: value for key, value in content.items() if key != name}
    # Also where only the key was changed, so that it does not look like one from before the seals.
    if name != SHA256 and SHA256 not in content and told != content_hash(rest, before):
        return content
    if name != SHA256 or told != content_hash(rest, before):
        damaged(where, "its content does not match its sha256, so it was changed or damaged")
        return {key: value for key, value in content.items() if key != SHA256}
    return rest


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """As `write_json`, with the content's sha256."""
    write_json(path, sealed(content))


def read_sealed(path: Path, **told: str) -> Any:
    """As `read_json`, of what `write_sealed` wrote, without the sha256.

    :raises InputError: as `read_json`, and where the content is not what was written.
    """
    return unsealed(read_json(path, **told), path)


def sealed_lines(lines: Iterable[Mapping[str, Any]], before: str = "") -> tuple[str, str]:
    """JSON Lines that are sealed, and the last seal.

    :param before: the last seal of the lines that these follow.
    """
    text = []
    for line in lines:
        content = sealed(line, before)
        before = content[SHA256]
        text.append(json.dumps(content) + "\n")
    return "".join(text), before


def unsealed_lines(text: str, path: Path) -> tuple[list[Any], str]:
    """The lines without their seals, and the last seal, "" for lines from before the seals.

    :param path: for messages.
    :raises InputError: a line that is not JSON, or not what was sealed.
    """
    lines, before, any_sealed = [], "", False
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{path}:{number}"
        try:
            content = parse_json(line)
        except ValueError as error:
            raise InputError(f"{where}: not valid JSON ({error})") from None
        rest = unsealed(content, where, before)
        is_sealed = isinstance(content, dict) and SHA256 in content
        if any_sealed and not is_sealed:
            damaged(where, "it has no sha256, and the lines before it have one, so it was changed or damaged")
        any_sealed |= is_sealed
        before = content[SHA256] if is_sealed else before
        lines.append(rest)
    return lines, before


def without_seals(text: str) -> str:
    """The text of a file as it was before the seals."""
    return _SEAL.sub("", text)
