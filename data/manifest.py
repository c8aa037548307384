"""Read manifest.json: the data that ships with gumption, and the sets that can be fetched."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import InputError, nearest
from .settings import checked
from .writing import file_sha256

ROOT = Path(__file__).parent
MANIFEST = ROOT / "manifest.json"


@dataclass(frozen=True)
class Shipped:
    """A file of the package. `maker` is the module that made it, or its author. `counts` is set for a recipe book, by
    `gumption.data.recipe_check.book_counts`."""

    name: str
    file: str
    source: str
    licence: str
    sha256: str
    maker: str
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return ROOT / self.file


@dataclass(frozen=True)
class Fetchable:
    """A file that is downloaded on demand. It is not checked if its `sha256` is None."""

    name: str
    file: str
    urls: tuple[str, ...]
    sha256: str | None
    licence: str
    size: str
    by_hand: str
    note: str


def shipped() -> dict[str, Shipped]:
    """Return the shipped entries by name, in the manifest's order."""
    return {entry["name"]: Shipped(**entry) for entry in _entries("shipped")}


def fetchable() -> dict[str, Fetchable]:
    """Return the fetchable entries by name, in the manifest's order."""
    return {entry["name"]: Fetchable(**{**entry, "urls": tuple(entry["urls"])}) for entry in _entries("fetchable")}


def _entries(kind: str) -> list[dict[str, Any]]:
    return json.loads(MANIFEST.read_text(encoding="utf-8"))[kind]


@checked
def path(name: str) -> Path:
    """Return the path of a shipped file, e.g. `path("commonsense")`.

    :raises InputError: no shipped set has the name; the message suggests similar names.
    """
    entries = shipped()
    if name not in entries:
        hint = f"; `gumption data fetch {name}` downloads it" if name in fetchable() else near(name, entries)
        raise InputError(f"no shipped data is called {name!r}{hint}")
    return entries[name].path


def near(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: similar names, else all names."""
    names = list(known)
    close = nearest(name, names, 3)
    return f"; did you mean {' or '.join(close)}?" if close else f"; there is {', '.join(names)}"


def verify(entry: Shipped) -> None:
    """Raise InputError unless the shipped file has the sha256 of the manifest."""
    found = file_sha256(entry.path) if entry.path.exists() else "no file"
    if found != entry.sha256:
        raise InputError(f"{entry.path}: sha256 is {found}, the manifest says {entry.sha256}; reinstall gumption")
