"""Diagnostic splits as files: a folder with JSON Lines for each test, a maze a line, and a manifest with their sha256.

The same run and seed give the same bytes: no time, no path and no order of a set or a folder gets into them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Count, Seed, checked
from gumption.data.writing import present_folder
from gumption.envs.split_files import SplitFormat, read_file, write_folder

from .choices import TestMazes
from .diagnostics import Pair, known_pairs
from .knowledge_base import THRESHOLD, KnowledgeBases
from .maze import DIRECTIONS, Maze
from .maze import SCHEMA as MAZE_SCHEMA
from .mazes import MAZES, Mazes
from .memory import FOLDER, Memory
from .segment_mazes import ATTEMPTS, MEAN_BRANCHES, MEAN_DEPTH, SPLITS, Asked, BuiltTest, Record, build_tests
from .split_check import check_splits
from .splits import Splits

SCHEMA = "gumption/halma-splits/1"
FORMAT = SplitFormat(SCHEMA, indent=1)
MANIFEST = "manifest.json"


def file_name(test: str) -> str:
    """The file of a test's mazes."""
    return f"{test}.jsonl"


class Experience(NamedTuple):
    """What splits are made from.

    :ivar knowledge: the knowledge bases of the run's memory.
    :ivar mazes: what the agent was trained on.
    :ivar warning: what was lost of the memory, if anything.
    """

    knowledge: KnowledgeBases
    mazes: Mazes
    warning: str | None


@checked
def read_run(run: str | Path, *, threshold: Count = THRESHOLD) -> Experience:
    """Read what splits are made from: RUN/memory and RUN/mazes.jsonl.

    :param threshold: visits from which on a pair counts as understood.
    :raises InputError: no run, a run without a memory or without its mazes, or a memory of other mazes.
    """
    run = Path(run)
    if not run.is_dir():
        raise InputError(f"{run}: there is no such run")
    memory = Memory.load(run / FOLDER)
    if not (run / MAZES).is_file():
        raise InputError(f"{run}: the run has no {MAZES}, the mazes it was trained on; train it again")
    return _experience(memory, run / MAZES, threshold)


@checked
def read_memory(folder: str | Path, *, threshold: Count = THRESHOLD) -> Experience:
    """Read what splits are made from in a folder that `RecordMemory` wrote.

    :raises InputError: no memory there, one without its mazes, or of other mazes.
    """
    folder = Path(folder)
    memory = Memory.load(folder)
    if not (folder / MAZES).is_file():
        raise InputError(f"{folder}: no {MAZES} there, the mazes of its records; for the memory of a run give the run")
    return _experience(memory, folder / MAZES, threshold)


def _experience(memory: Memory, path: Path, threshold: int) -> Experience:
    mazes = Mazes.load(path)
    if len(memory) and int(memory.maze.max()) >= len(mazes):
        raise InputError(f"{path}: {len(mazes)} mazes, but the memory is of maze {memory.maze.max()}, from 0 on")
    return Experience(KnowledgeBases.of(memory, threshold), mazes, memory.warning)


@checked
def make_splits(
    experience: Experience, folder: str | Path, *, seed: Seed = 0, mazes: TestMazes = 50, force: bool = False
) -> Splits:
    """Make the splits of a run, check them, and write them to a folder.

    The same experience, seed and number of mazes give the same bytes.

    :param experience: of `read_run`.
    :param mazes: of RT and of each diagnostic test.
    :param force: replace other splits that are in the folder.
    :raises InputError: arguments out of range; a folder with other splits or with something else.
    """
    knowledge, training, _ = experience
    built = build_tests(knowledge, list(training), seed=seed, mazes=mazes)
    contents = split_contents(built, knowledge, seed=seed, mazes=mazes)
    splits = _parse(Path(folder), contents.__getitem__)
    if faults := check_splits(splits, knowledge, training):
        raise RuntimeError(f"gumption made splits that are not what they claim: {faults[0]}")
    write_splits(folder, contents, force=force)
    return splits


def split_contents(
    built: Mapping[str, BuiltTest], knowledge: KnowledgeBases, *, seed: int, mazes: int
) -> dict[str, bytes]:
    """The files of a folder of splits: names and what is in them.

    :param built: of `build_tests` with this seed and number of mazes.
    """
    contents: dict[str, bytes] = {}
    tests: dict[str, Any] = {}
    for test, made in built.items():
        sha256 = None
        if made.records:
            lines = (FORMAT.line(_record_json(record, knowledge.fingerprint)) for record in made.records)
            contents[file_name(test)] = "".join(lines).encode()
            sha256 = hashlib.sha256(contents[file_name(test)]).hexdigest()
        tests[test] = {
            "mazes": len(made.records),
            "queries": made.queries,
            "pairs": len({record.asked.pair for record in made.records if record.asked}),
            "reason": made.reason,
            "refused": [{"pair": [p.d1, p.d2], "type": p.type, "reason": reason} for p, reason in made.refused],
            "sha256": sha256,
        }
    contents[MANIFEST] = FORMAT.seal(
        {
            "maze_schema": MAZE_SCHEMA,
            "parameters": {
                "seed": seed,
                "mazes": mazes,
                "threshold": knowledge.threshold,
                "mean_depth": MEAN_DEPTH,
                "mean_branches": MEAN_BRANCHES,
                "attempts": ATTEMPTS,
            },
            "knowledge": {
                "fingerprint": knowledge.fingerprint,
                "memory": knowledge.memory,
                "transitions": knowledge.records,
                "max_opt_len": knowledge.max_opt_len,
                "distinct panels": len(knowledge.panels),
                "digits understood": int(knowledge.understood.any(1).sum()),
                "pairs": knowledge.counts(),
                "pairs known": int(known_pairs(knowledge).sum()),
            },
            "tests": tests,
        }
    )
    return contents


def write_splits(folder: str | Path, contents: Mapping[str, bytes], *, force: bool = False) -> bool:
    """Write a folder of splits; see `gumption.envs.split_files.write_folder`."""
    return write_folder(Path(folder), contents, {MANIFEST, *(file_name(test) for test in SPLITS)}, force=force)


@checked
def load_splits(folder: str | Path) -> Splits:
    """Read a folder of splits.

    :raises InputError: no splits there, another schema version, a changed byte, a missing file, or a line that is no
        record of a maze.
    """
    folder = present_folder(Path(folder))
    return _parse(folder, lambda name: read_file(folder / name))


def _parse(folder: Path, read: Callable[[str], bytes]) -> Splits:
    """:param folder: for messages. :param read: gives the content of a file."""
    manifest = FORMAT.unseal(read(MANIFEST), folder / MANIFEST)
    records: dict[str, tuple[Record, ...]] = {}
    for test in SPLITS:
        sha256 = manifest["tests"][test]["sha256"]
        if sha256 is None:
            continue
        path, content = folder / file_name(test), read(file_name(test))
        if hashlib.sha256(content).hexdigest() != sha256:
            raise InputError(f"{path}: its content does not match the manifest's sha256; it was changed, make it again")
        fingerprint = manifest["knowledge"]["fingerprint"]
        lines = content.decode(errors="replace").splitlines()
        records[test] = tuple(_record(line, test, fingerprint, f"{path}:{n}") for n, line in enumerate(lines, 1))
    return Splits(records, manifest)


def _record_json(record: Record, fingerprint: str) -> dict[str, Any]:
    asked = record.asked
    return {
        "schema": SCHEMA,
        "test": record.test,
        "pair": [asked.pair.d1, asked.pair.d2] if asked else None,
        "type": asked.pair.type if asked else None,
        "cell": list(asked.cell) if asked else None,
        "panel": list(asked.panel) if asked else None,
        "seen": asked.seen if asked else None,
        "sightings": asked.sightings if asked else None,
        "others": [list(pair) for pair in asked.others] if asked else None,
        "maze": record.maze.to_json(),
        "seed": list(record.seed),
        "knowledge": fingerprint,
    }


def _record(line: str, test: str, fingerprint: str, where: str) -> Record:
    try:
        value = parse_json(line)
    except ValueError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise InputError(f"{where}: no record of schema {SCHEMA!r}")
    maze = Maze.from_json(value.get("maze"), where)
    try:
        if (value["test"], value["knowledge"]) != (test, fingerprint):
            raise InputError(f"{where}: a maze of another test or of other knowledge bases than the manifest says")
        asked = None
        if value["pair"] is not None:
            (d1, d2), (x, y) = value["pair"], value["cell"]
            asked = Asked(
                _pair(d1, d2, value["type"]),
                (int(x), int(y)),
                tuple(int(digit) for digit in value["panel"]),
                int(value["seen"]),
                int(value["sightings"]),
                tuple(_pair(*other) for other in value["others"]),
            )
        return Record(test, maze, tuple(int(part) for part in value["seed"]), asked)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: no record of a test maze ({error!r})") from None


def _pair(d1: int, d2: int, type_: str) -> Pair:
    """:raises ValueError: no such direction."""
    return Pair(int(d1), int(d2), DIRECTIONS[DIRECTIONS.index(type_)])
