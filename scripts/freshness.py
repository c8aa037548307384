"""Whether a saved result is older than the code that it rests on, and what making it again takes.

A kind of experiment, and a case of the bench, name the folders and files whose behaviour their figures depend on. Their
results keep a fingerprint of each of these files: of the syntax tree, without comments and docstrings, or of the bytes
of a file of data. Those of experiments also keep what small runs came to (tests/kept_results.json in a checkout): where
those come out the same to the bit, changed files have changed no behaviour, and the results are not older. No small run
tells a speed: a bench is older with every change of its files.
"""

import ast
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

from gumption.data.reading import read_json

PACKAGE = Path(__file__).resolve().parents[1]
RESULTS = PACKAGE / "scripts" / "results"
KEPT = PACKAGE / "tests" / "kept_results.json"
DATA = {".bin", ".csv", ".gz", ".json", ".npz", ".safetensors", ".toml", ".tsv"}
OF_RUNS = {"manifest.json", "plan.json"}
NO_FIGURE = {"items.toml", "plots.py", "watch.py"}  # these files show something and decide no figure


@cache
def fingerprints(places: tuple[str, ...]) -> dict[str, str]:
    """The fingerprint of each file of code and data, by its path from the package's folder.

    :param places: folders and files, from the package's folder: "envs/halma".
    """
    return {path.relative_to(PACKAGE).as_posix(): _fingerprint(path) for path in _files(places)}


@cache
def kept_runs(names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """What small runs of tests/kept_results.json came to: name -> processor -> hash of weights, metrics and what was
    told of their tests; empty in an installed package, which has no tests."""
    if not names or not KEPT.is_file():
        return {}
    kept = read_json(KEPT)
    return {
        name: {
            processor: _short(json.dumps([runs[name][part] for part in ("weights", "metrics", "told")]).encode())
            for processor, runs in kept.items()
            if name in runs
        }
        for name in names
    }


def made_with(code: Sequence[str], kept: Sequence[str] = ()) -> dict[str, Any]:
    """What a result keeps of the code that it rests on: the places, the fingerprints of their files, and what the small
    runs come to; nothing where no code is named.

    :param code: folders and files, from the package's folder.
    :param kept: names of small runs.
    """
    if not code:
        return {}
    return {"places": [*code], "code": fingerprints(tuple(code)), "kept": kept_runs(tuple(kept))}


def changed_since(
    made: Mapping[str, Any], code: Sequence[str] | None = None, kept: Sequence[str] | None = None
) -> list[str] | None:
    """The files that are others than those that a result was made with, where the small runs do not show that this
    changed no bit; None where their fingerprints were not kept.

    :param made: what it keeps, as of `made_with`.
    :param code: places of today, and `kept` the small runs of today; without them, those of the result that there still
        are.
    """
    if "code" not in made:
        return None
    if code is None:
        code = [place for place in made.get("places", ()) if (PACKAGE / place).exists()]
    small = made.get("kept", {})
    if same_bits(small, kept_runs(tuple(small if kept is None else kept))):
        return []
    return changed_files(made["code"], fingerprints(tuple(code)))


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The files whose fingerprint is another one, those that are new, and those that are gone."""
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def same_bits(before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether each small run comes out the same on all processors that both know, and on one at least."""
    shared = [{*before.get(name, {})} & {*now[name]} for name in now]
    same = (before[name][one] == now[name][one] for name, both in zip(now, shared, strict=True) for one in both)
    return bool(now) and all(shared) and all(same)


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


def _files(places: Sequence[str]) -> Iterator[Path]:
    for place in places:
        found = [PACKAGE / place] if (PACKAGE / place).is_file() else sorted((PACKAGE / place).rglob("*"))
        kept = [path for path in found if path.suffix in {".py", *DATA} and path.name not in NO_FIGURE]
        if not kept:
            raise FileNotFoundError(f"{place}: no code and no data there")
        yield from kept


def _fingerprint(path: Path) -> str:
    return (_of_code if path.suffix == ".py" else _short)(path.read_bytes())


@cache
def _of_code(content: bytes) -> str:
    return _short(json.dumps(_shape(ast.parse(content))).encode())


def _shape(node: Any) -> Any:
    """A syntax tree as lists, without docstrings; the same in all versions of Python, which leave out empty fields or
    write them."""
    if isinstance(node, list):
        return [_shape(one) for one in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
        del node.body[0]
    filled = [(name, value) for name, value in ast.iter_fields(node) if value is not None and value != []]
    return [type(node).__name__, *([name, _shape(value)] for name, value in filled)]


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]
