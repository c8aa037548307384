"""What a session of Gradual came to, as a table and as a file."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from gumption.data.provenance import command_line, hardware, versions, without_folders
from gumption.data.sealed import write_sealed
from gumption.envs.gradual.session import Result
from gumption.envs.gradual.settings import SessionSettings
from gumption.scripts.kg.output import print_table

SCHEMA = "gumption/gradual-run/1"
_BETWEEN = 5.0  # seconds between two writings of a record


def described(settings: SessionSettings) -> dict[str, Any]:
    """What a file keeps of a run beside its figures; no path of this machine."""
    used: dict[str, Any] = {**asdict(settings), "tasks": [Path(name).name for name in settings.tasks]}
    if used.get("command") is not None:  # which starts the agent
        used["command"] = without_folders(shlex.split(used["command"]))
    return {
        "schema": SCHEMA, "world": "gradual", "command": command_line(sys.argv[1:]), "settings": used,
        "versions": versions(), "hardware": hardware(),
    }  # fmt: skip


class Record:
    """The file of one run, which is kept up to date while it plays.

    :ivar path: the name that was asked for, or with a number where there is such a file already.
    """

    def __init__(self, path: Path, settings: SessionSettings) -> None:
        self.path = _free(path)
        self._began, self._written = monotonic(), 0.0
        self._about = {**described(settings), "began": datetime.now(UTC).isoformat(timespec="seconds")}

    def update(self, result: Result) -> None:
        """Write what the run has come to, every few seconds while it plays."""
        now = monotonic()
        if result.ended != "running" or now - self._written > _BETWEEN:
            wall = now - self._began
            speed = {"wall_s": round(wall, 3), "steps_per_s": round(result.steps / wall, 1) if wall else 0.0}
            write_sealed(self.path, {**self._about, **speed, **result.figures()})
            self._written = now


def print_result(result: Result, more: str = "") -> None:
    """A line for each task that began, and how the run ended.

    :param more: what is said behind that.
    """
    rows = [
        (one.task, "passed" if one.passed else "not passed", f"{one.steps:,}", f"{one.reward:+,}",
         f"{one.solved} of {one.instances}", f"{one.right} of {one.questions}")
        for one in result.tasks
    ]  # fmt: skip
    print_table(["task", "", "steps", "reward", "instances solved", "answers right"], rows)
    print(f"{ENDS[result.ended]} after {result.steps:,} steps, reward {result.reward:+,}{more}")


#: How a run can end -> the words for it.
ENDS = {
    "solved": "all tasks passed",
    "steps": "no steps are left",
    "seconds": "the time is up",
    "agent": "the agent failed",
    "stopped": "stopped",
}


def _free(path: Path) -> Path:
    """The name, or the first of NAME-2, NAME-3, ... that is free: a run's record is never replaced."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found
