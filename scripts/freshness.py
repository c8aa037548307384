"""Whether a saved result is older than the code that it rests on, by git's history, and what making it again costs.

A kind of experiment, and a case of the bench, name the folders and files whose behaviour their figures depend on. Their
results keep these places and the commit that they were made with.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

from gumption.data.reading import read_json

PACKAGE = Path(__file__).resolve().parents[1]
RESULTS = PACKAGE / "scripts" / "results"
DATA = {".bin", ".csv", ".gz", ".json", ".npz", ".py", ".safetensors", ".toml", ".tsv"}
OF_RUNS = {"manifest.json", "plan.json"}
NO_FIGURE = {"items.toml", "plots.py", "watch.py"}  # these files show something and decide no figure


def made_with(code: Sequence[str]) -> dict[str, Any]:
    """The places and the commit of the code that a result rests on; empty without places.

    :param code: folders and files, from the package's folder.
    """
    return {"places": [*code], "commit": commit()} if code else {}


@cache
def commit() -> str | None:
    """The commit of the checkout, with "-dirty" after changes that are not committed; None in an installed package."""
    told = _git("describe", "--always", "--dirty", "--exclude=*")
    return told.strip() if told else None


@cache
def changed_since(made: str, places: tuple[str, ...]) -> list[str] | None:
    """The files of code and data under these places that are not what they were at a commit. A file that only moved is
    none. None without the history of git.

    :param made: a `commit()`.
    """
    words = "diff", "--name-status", "--find-renames", "--end-of-options"
    told = _git(*words, made.removesuffix("-dirty"), "--")
    if told is None:
        return None
    changes = (line.split("\t") for line in told.splitlines())
    paths = {Path(name) for kind, *files in changes if kind != "R100" for name in files}
    decide = (path for path in paths if path.suffix in DATA and path.name not in NO_FIGURE)
    return sorted(path.as_posix() for path in decide if any(map(path.is_relative_to, places)))


def _git(*words: str) -> str | None:
    """What git prints about the package's checkout; None where there is none, or it does not know the commit."""
    try:
        done = subprocess.run(["git", *words], cwd=PACKAGE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def end_with_parent() -> None:
    """Let a worker process end when its parent is killed, rather than wait for its next job for ever."""
    from multiprocessing import parent_process

    Thread(target=lambda parent: (parent.join(), os._exit(1)), args=(parent_process(),), daemon=True).start()


def cpu_seconds() -> float:
    """CPU time of this process, and of processes that it has started and that have ended: what work takes on a busy
    machine as on an idle one."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def duration(seconds: float) -> str:
    """Seconds in words: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def saved_files(folder: Path = RESULTS) -> Iterator[Path]:
    """The files of saved results in a folder and those below: JSON that says which command made it, but for the plans
    and manifests of runs."""
    for path in sorted(folder.rglob("*.json")):
        saved = read_json(path) if path.name not in OF_RUNS else None
        if isinstance(saved, dict) and {"command", "versions"} <= saved.keys():
            yield path
