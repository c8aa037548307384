"""Write split and test files: with schema version and sha256, atomically, the same bytes for the same content.

A file or folder with the same content is left unchanged; other content is replaced only with `force`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.sealed import damaged
from gumption.data.writing import present_folder, whole_folder, write_bytes


@dataclass(frozen=True)
class SplitFormat:
    """The format of a world's files. It never changes, so that the same content has the same bytes.

    :ivar schema: names the world, the kind of file, and the version: "gumption/halma-splits/1".
    :ivar sort_keys, ensure_ascii: arguments of `json.dumps`.
    :ivar indent: of a sealed file; its sha256 is always computed from the content as one line.
    """

    schema: str
    sort_keys: bool = False
    ensure_ascii: bool = True
    indent: int | None = None

    def line(self, content: Mapping[str, Any]) -> str:
        """Return the content as one line of JSON."""
        return self._text(content, None)

    def sha256(self, content: Mapping[str, Any]) -> str:
        """Return the sha256 (hex) of the content as one line."""
        return hashlib.sha256(self.line(content).encode()).hexdigest()

    def seal(self, content: Mapping[str, Any]) -> bytes:
        """Return the bytes of a file: schema, content, and sha256 at the end (or in the order of the keys)."""
        content = {"schema": self.schema, **content}
        return self._text({**content, "sha256": self.sha256(content)}, self.indent).encode()

    def unseal(self, sealed: bytes, path: Path) -> dict[str, Any]:
        """Return the content of a sealed file, without schema and sha256.

        :param path: for messages.
        :raises InputError: no JSON, another schema, or a changed byte.
        """
        try:
            content = parse_json(sealed)
        except ValueError as error:
            raise InputError(f"{path}: not valid JSON ({error}); make it again") from None
        schema = content.get("schema") if isinstance(content, dict) else None
        if schema != self.schema:
            raise InputError(f"{path}: schema is {schema!r}, expected {self.schema!r}; make it again")
        content = {key: value for key, value in content.items() if key not in ("schema", "sha256")}
        if self.seal(content) != sealed:
            damaged(path, "its content does not match its sha256, so it was changed")
        return content

    def _text(self, content: Mapping[str, Any], indent: int | None) -> str:
        separators = (",", ":") if indent is None else None
        text = json.dumps(
            content, indent=indent, separators=separators, sort_keys=self.sort_keys, ensure_ascii=self.ensure_ascii
        )
        return text + "\n"


def write_file(path: Path, content: bytes, *, force: bool = False) -> bool:
    """Write a file atomically; return False if it already has these bytes.

    :param force: replace other content.
    :raises InputError: other content without `force`; an error of the system.
    """
    try:
        if path.exists():
            if path.read_bytes() == content:
                return False
            if not force:
                raise InputError(f"{path} holds something else; choose another name, or replace it with --force")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    write_bytes(path, content)
    return True


def read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); make it again") from None


def write_folder(folder: Path, contents: Mapping[str, bytes], possible: set[str], *, force: bool = False) -> bool:
    """Write a folder of files atomically; return False if it already has these files with these bytes.

    :param possible: the possible names of files in such a folder; a file of another name is never replaced.
    :param force: replace other splits.
    :raises InputError: other splits without `force`; a file of another name; an error of the system.
    """
    there = present_folder(folder)
    try:
        names = sorted(path.name for path in there.iterdir()) if there.is_dir() else []
        present = possible.intersection(names)
        if present == set(contents) and all((there / name).read_bytes() == contents[name] for name in present):
            return False
    except OSError as error:
        raise InputError(f"{there}: cannot be read ({error.strerror or error})") from None
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} exists and is no folder; choose another name")
    if foreign := [name for name in names if name not in possible]:
        raise InputError(f"{folder} holds {foreign[0]}, which belongs to no splits; choose another folder")
    if names and not force:
        raise InputError(f"{folder} holds other splits; choose another folder, or replace them with --force")
    with whole_folder(folder) as beside:
        for name, content in contents.items():
            (beside / name).write_bytes(content)
    return True
