"""Files that carry the sha256 of their content, so that a reader sees a changed byte.

An object of JSON has the key "sha256" at its end. In a file of JSON Lines each line has one, which covers the line and
all lines before it: lines are appended, and a file that was cut short between two lines is whole up to there. A text
whose comments begin with # has it in its first line (`HASH_LINE`); of any other file it is in NAME.sha256 beside it
(`hashed_file`), a line that the program sha256sum reads, too.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from .errors import Changed, InputError
from .manifest import file_sha256
from .packed import PackedFile
from .reading import parse_json, read_json
from .writing import whole_file, write_json, write_text

SHA256 = "sha256"
HASH_ENDING = f".{SHA256}"
#: The comment before a text, with its sha256.
HASH_LINE = re.compile(rb"# sha256 ([0-9a-f]{64})\n")
_LINE_BYTES = 74
_MARKED = re.compile(rb"# sha256 |.{8,10}[0-9a-f]{63}", re.DOTALL)  # also a line of which one byte was changed
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
        raise Changed(f"{where}: {what}; {advice}")


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


# ---- Hashes of other files


def check_hash_line(stream: PackedFile, where: str | Path) -> bool:
    """Whether a text begins with a `HASH_LINE`; Changed where that is another one's."""
    line = stream.read(_LINE_BYTES)
    mark = HASH_LINE.fullmatch(line)
    if not _MARKED.match(line):
        return False
    if mark is None or hashlib.file_digest(stream, SHA256).hexdigest() != mark[1].decode():
        raise Changed(f"{where}: its content is not that of the sha256 in its first line")
    return True


def hash_file(path: Path) -> Path:
    """The file beside `path`, or beside the file that a link leads to, with its hash."""
    place = path.resolve()
    return place.with_name(place.name + HASH_ENDING)


@contextmanager
def hashed_file(path: Path) -> Iterator[Path]:
    """As `whole_file`, with the sha256 of the file in its `hash_file`.

    The old hash goes before the file is replaced, and the new one comes after it: a kill between the two leaves a file
    without a hash, never with a wrong one.
    """
    digest, beside = None, hash_file(path)
    with whole_file(path) as part:
        yield part
        if part.is_file():  # else a device
            digest = file_sha256(part)
            beside.unlink(missing_ok=True)
    if digest is not None:
        write_text(beside, f"{digest}  {beside.name.removesuffix(HASH_ENDING)}\n")


def check_hash_file(path: Path) -> bool:
    """Whether a file has a `hash_file`; Changed where that is another one's."""
    beside = hash_file(path)
    if not beside.is_file():
        return False
    if beside.read_bytes().split()[:1] != [file_sha256(path).encode()]:
        raise Changed(f"{path}: its sha256 is not the one in {beside.name}")
    return True
