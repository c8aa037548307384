"""Find saved results that are older than their code, by git's history, and the cost of making them again.

Kinds of experiment and cases of the bench name the folders and files that their figures depend on. A result stores
these places and the commit that it was made with.
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
RESULTS = PACKAGE / "scripts" / "papers" / "results"
DATA = {".bin", ".csv", ".gz", ".json", ".npz", ".py", ".safetensors", ".toml", ".tsv"}
MOVED = Path("scripts", "papers", "moved.txt")  # the commits that only moved files, a line each
OF_RUNS = {"manifest.json", "plan.json"}
NO_FIGURE = {"items.toml", "plots.py", "watch.py"}  # files for display, which affect no figure


def made_with(code: Sequence[str]) -> dict[str, Any]:
    """Return the places and the commit of the code that a result depends on; empty without places.

    :param code: folders and files, relative to the package's folder.
    """
    return {"places": [*code], "commit": commit()} if code else {}


@cache
def commit() -> str | None:
    """Return the commit of the checkout, with "-dirty" if it has uncommitted changes; None in an installed package."""
    told = _git("describe", "--always", "--dirty", "--exclude=*")
    return told.strip() if told else None


@cache
def changed_since(made: str, places: tuple[str, ...]) -> list[str] | None:
    """Return the files of code and data under these places that differ from a commit, except files that only moved:
    without a change, or in the commits that `MOVED` lists; None without the history of git.

    :param made: a `commit()`.
    """
    since = made.removesuffix("-dirty")
    diff = _git("diff", "--name-status", "--find-renames", "--end-of-options", since, "--")
    log = _git("log", "--name-only", "--format=commit %H", "--end-of-options", f"{since}..HEAD", "--")
    edits = _git("diff", "--name-only", "HEAD")
    if diff is None or log is None or edits is None:
        return None
    moving = (PACKAGE / MOVED).read_text(encoding="utf-8").split() if (PACKAGE / MOVED).is_file() else []
    commits = (part.splitlines() for part in log.split("commit ")[1:])
    touched = {name for number, *names in commits if number not in moving for name in names} | set(edits.splitlines())
    changes = (line.split("\t") for line in diff.splitlines())
    changes = (files for kind, *files in changes if kind != "R100" and not touched.isdisjoint(files))
    paths = {Path(name) for files in changes for name in files}
    decide = (path for path in paths if path.suffix in DATA and path.name not in NO_FIGURE)
    return sorted(path.as_posix() for path in decide if any(map(path.is_relative_to, places)))


def _git(*words: str) -> str | None:
    """Return the output of git in the package's checkout; None without a checkout or for an unknown commit."""
    try:
        done = subprocess.run(["git", *words], cwd=PACKAGE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def end_with_parent() -> None:
    """End this worker process when its parent is killed, instead of waiting for the next job forever."""
    from multiprocessing import parent_process

    Thread(target=lambda parent: (parent.join(), os._exit(1)), args=(parent_process(),), daemon=True).start()


def cpu_seconds() -> float:
    """Return the CPU time in seconds of this process and its ended children, which hardly depends on the machine's
    load."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def duration(seconds: float) -> str:
    """Return seconds in words: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def saved_files(folder: Path = RESULTS) -> Iterator[Path]:
    """Yield the files of saved results in a folder and its subfolders: JSON with command and versions, except plans and
    manifests of runs."""
    for path in sorted(folder.rglob("*.json")):
        saved = read_json(path) if path.name not in OF_RUNS else None
        if isinstance(saved, dict) and {"command", "versions"} <= saved.keys():
            yield path
