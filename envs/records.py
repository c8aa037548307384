"""Store played episodes in JSON Lines, one per line, in one format for all worlds.

An episode is a dict: "schema"; "world" and "env", its id; "version" of gumption; "settings" and "task" of the
environment; "seed"; "actions", a list of [physics step, trial, action or answers, hash of the state before];
"result"; and further entries that a world needs to replay it, such as "law". Each line carries the sha256 of itself and
of all lines before it.
"""

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gumption.data import InputError, Note
from gumption.data.sealed import sealed_lines, unsealed_lines
from gumption.data.settings import shown
from gumption.data.writing import write_errors

SCHEMA = "gumption/episode/1"
#: The file's name in the folder of a memory.
EPISODES = "episodes.jsonl"


def episode(world: str, env: str, **parts: Any) -> dict[str, Any]:
    """Return an episode in the format of the file; `parts` are the other entries, listed in the module's docstring."""
    from importlib.metadata import version

    return {"schema": SCHEMA, "world": world, "env": env, "version": version("gumption"), **parts}


def read_episodes(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the episodes of a file, in order. A last line that a crash cut short is left out, with a note.

    :raises InputError: a missing or damaged file, or a line that is no episode of this schema.
    """
    return _read(Path(path))[0]


class EpisodeFile:
    """A new or existing file to which episodes are appended."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """:raises InputError: as `read_episodes`, for a file that exists."""
        self.path = Path(path)
        self._seal = ""
        if self.path.exists():
            _, self._seal, whole = _read(self.path)
            if whole < self.path.stat().st_size:
                with write_errors(self.path):
                    os.truncate(self.path, whole)

    def append(self, episodes: Iterable[Mapping[str, Any]]) -> None:
        """Write episodes, and wait until the disk has them.

        :raises InputError: the file cannot be written.
        """
        text, seal = sealed_lines(episodes, self._seal)
        if not text:
            return
        with write_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        self._seal = seal


def _read(path: Path) -> tuple[list[dict[str, Any]], str, int]:
    """Return the episodes, the last sha256, and the number of bytes of all whole lines."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        warnings.warn(f"{path}: its last line was cut short, and is left out", Note, stacklevel=3)
    try:
        text = content[:whole].decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: no text in UTF-8; a file of episodes has a JSON object on each line") from None
    lines, seal = unsealed_lines(text, path)
    for number, line in enumerate(lines, start=1):
        schema = line.get("schema") if isinstance(line, dict) else None
        if schema != SCHEMA:
            raise InputError(
                f"{path}:{number}: schema: is {shown(schema)}, and {SCHEMA} is read here; another version of gumption "
                "wrote it, or it is no episode"
            )
    return lines, seal, whole
