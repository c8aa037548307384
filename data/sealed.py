"""Store the sha256 of a file's content with the file, so that a reader detects a changed byte.

A JSON object has the key "sha256" at its end. In a file of JSON Lines each line has a sha256, which covers the line and
all lines before it: lines can be appended, and a file that was cut between two lines is valid up to there. A text whose
comments begin with # has the sha256 in its first line (`HASH_LINE`). Any other file has it in NAME.sha256 in the same
folder (`hashed_file`), a line that the program sha256sum reads, too.
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
#: The comment before a text, with the sha256 of the text.
HASH_LINE = re.compile(rb"# sha256 ([0-9a-f]{64})\n")
_LINE_BYTES = 74
_MARKED = re.compile(rb"# sha256 |.{8,10}[0-9a-f]{63}", re.DOTALL)  # also matches if one byte of the line was changed
_verifying: ContextVar[bool] = ContextVar("verifying", default=True)


@contextmanager
def unverified() -> Iterator[None]:
    """Read files without a check of their sha256 while the block runs, as `gumption --no-verify` does."""
    token = _verifying.set(False)
    try:
        yield
    finally:
        _verifying.reset(token)


def stop_verifying() -> None:
    """Stop checking the sha256 of files in this process."""
    _verifying.set(False)


def damaged(where: str | Path, what: str) -> None:
    """Raise InputError for a file that differs from the written file, unless files are read `unverified`.

    :param what: the fault, for the message.
    """
    if _verifying.get():
        advice = "make it again, restore it from a copy, or read it as it is with `gumption --no-verify ...`"
        raise Changed(f"{where}: {what}; {advice}")


def content_hash(content: Any, before: str = "") -> str:
    """Return the sha256 (hex) of JSON content, independent of the order of its keys.

    :param before: the hash of the lines before it.
    """
    as_read = json.loads(json.dumps(content))  # keys that are numbers become text
    return hashlib.sha256((before + json.dumps(as_read, sort_keys=True)).encode()).hexdigest()


def sealed(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the content with its sha256 at the end."""
    return {**content, SHA256: content_hash(content, before)}


def unsealed(content: Any, where: str | Path, before: str = "") -> Any:
    """Return the content without its sha256.

    :param where: the place for the message.
    :raises InputError: an object without sha256, or with the sha256 of other content.
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
    """Write JSON as `write_json`, with the content's sha256."""
    write_json(path, sealed(content))


def read_sealed(path: Path, *, advice: str = "remove it and make it again, or restore a copy", **told: str) -> Any:
    """Read a file of `write_sealed` as `read_json`; return its content without the sha256.

    :raises InputError: as `read_json`, and for content that differs from the written content.
    """
    return unsealed(read_json(path, advice=advice, **told), path)


def sealed_lines(lines: Iterable[Mapping[str, Any]], before: str = "") -> tuple[str, str]:
    """Return JSON Lines with their sha256, and the last sha256.

    :param before: the last sha256 of the lines that these follow.
    """
    text = []
    for line in lines:
        content = sealed(line, before)
        before = content[SHA256]
        text.append(json.dumps(content) + "\n")
    return "".join(text), before


def unsealed_lines(text: str, path: Path) -> tuple[list[Any], str]:
    """Return the lines without their sha256, and the last sha256, "" if the lines of the file have none.

    :param path: for messages.
    :raises InputError: a line that is not JSON, or does not match its sha256.
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
    """Return whether a text begins with a `HASH_LINE`; raise Changed if that does not match the text."""
    line = stream.read(_LINE_BYTES)
    mark = HASH_LINE.fullmatch(line)
    if not _MARKED.match(line):
        return False
    if mark is None or hashlib.file_digest(stream, SHA256).hexdigest() != mark[1].decode():
        raise Changed(f"{where}: its content is not that of the sha256 in its first line")
    return True


def hash_file(path: Path) -> Path:
    """Return the path of the file with the hash of `path`, in the same folder; links are followed first."""
    place = path.resolve()
    return place.with_name(place.name + HASH_ENDING)


@contextmanager
def hashed_file(path: Path) -> Iterator[Path]:
    """Write a `whole_file`, and its sha256 to its `hash_file`.

    The old hash is removed before the file is replaced, and the new hash is written after it. A kill in between leaves
    a file without a hash, never with a wrong hash.
    """
    digest, beside = None, hash_file(path)
    with whole_file(path) as part:
        yield part
        if part.is_file():  # a device has no hash
            digest = file_sha256(part)
            beside.unlink(missing_ok=True)
    if digest is not None:
        write_text(beside, f"{digest}  {beside.name.removesuffix(HASH_ENDING)}\n")


def check_hash_file(path: Path) -> bool:
    """Return whether a file has a `hash_file`; raise Changed if its hash does not match the file."""
    beside = hash_file(path)
    if not beside.is_file():
        return False
    if beside.read_bytes().split()[:1] != [file_sha256(path).encode()]:
        raise Changed(f"{path}: its sha256 is not the one in {beside.name}")
    return True
