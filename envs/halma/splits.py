"""Diagnostic splits as files: a folder with JSON Lines for each test, one maze per line, and a manifest with sha256.

The same run and seed give the same bytes, independent of time, path, and the order of a set or a folder.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Count, Seed, checked, checked_methods
from gumption.data.writing import present_folder
from gumption.envs.split_files import SplitFormat, read_file, write_folder

from .diagnostics import (
    ATTEMPTS,
    MEAN_BRANCHES,
    MEAN_DEPTH,
    SPLITS,
    Asked,
    BuiltTest,
    OwnTest,
    Pair,
    Record,
    build_tests,
    check_own_name,
    known_pairs,
)
from .knowledge_base import THRESHOLD, KnowledgeBases, LastPanel, Reading
from .maze import DIRECTIONS, MAZES, STEPS, Cell, Maze, Mazes, TestMazes
from .maze import SCHEMA as MAZE_SCHEMA
from .memory import FOLDER, Memory
from .rules import RULES, Rules

# ---- The mazes of a folder of splits, by test.


@checked_methods
@dataclass(frozen=True, eq=False)
class Splits(Mapping[str, Mazes]):
    """The mazes of a folder of splits by test, in the order of SPLITS, then user-defined tests. Tests without mazes are
    left out.

    :ivar records: the mazes with their questions, by test.
    :ivar manifest: counts, parameters, sizes of the knowledge bases, reasons, sha256 of the files.
    """

    records: dict[str, tuple[Record, ...]]
    manifest: dict[str, Any]
    _mazes: dict[str, Mazes] = field(init=False, repr=False, default_factory=dict)

    def __getitem__(self, test: str) -> Mazes:
        if test not in self._mazes:
            self._mazes[test] = Mazes((record.maze for record in self.records[test]), self.rules)
        return self._mazes[test]

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def rules(self) -> Rules:
        """The rules of the world."""
        made = self.manifest.get("parameters", {})
        return Rules(**{field.name: made[field.name] for field in fields(Rules) if field.name in made})

    @property
    def choices(self) -> dict[str, str]:
        """The non-default settings for reading the experience: `KnowledgeBases.choices`."""
        parameters = self.manifest.get("parameters", {})
        return {name: parameters[name] for name in ("knowledge_base", "last_panel") if name in parameters}

    @property
    def reasons(self) -> dict[str, str]:
        """For each test without mazes, the reason."""
        return {test: entry["reason"] for test, entry in self.manifest["tests"].items() if entry["reason"]}


# ---- Check from the mazes and the knowledge bases alone that splits contain the questions they claim.
#
# The check shares no code with the making of splits, so that it does not repeat a mistake: a maze is walked edge by
# edge, and the tests are defined once more in terms of sets.

ORDER = ("ST-1", "ST-2", "AfT-1", "AfT-2", "AfT-3", "AfT-4", "AnT")


@dataclass(frozen=True)
class Facts:
    """The knowledge bases as sets.

    :ivar s, c: (d1, d2, type) of KB_S and KB_C.
    :ivar a: (digit, type) understood through affordance.
    :ivar sightings: records that show a pair with its type.
    :ivar panels: the number of records by the ten digits of a panel.
    """

    s: frozenset[tuple[int, int, str]]
    c: frozenset[tuple[int, int, str]]
    a: frozenset[tuple[int, str]]
    sightings: Mapping[tuple[int, int, str], int]
    panels: Mapping[tuple[int, ...], int]
    threshold: int
    rules: Rules = RULES

    @property
    def digits(self) -> range:
        return range(1, self.rules.side)

    @classmethod
    def of(cls, knowledge: KnowledgeBases) -> Facts:
        enough, digits = knowledge.threshold, range(1, knowledge.rules.side)

        def pairs(counts: list[list[list[int]]]) -> frozenset[tuple[int, int, str]]:
            found = product(digits, digits, range(4))
            return frozenset((i, j, DIRECTIONS[t]) for i, j, t in found if i > j and counts[i][j][t] >= enough)

        used, shown = knowledge.affordance.tolist(), knowledge.sightings.tolist()
        panels: Counter[tuple[int, ...]] = Counter()
        for row, count in zip(knowledge.panels.tolist(), knowledge.panel_counts.tolist(), strict=True):
            panels[tuple(row[:10])] += count
        return cls(
            pairs(knowledge.semantics.tolist()),
            pairs(knowledge.causality.tolist()),
            frozenset((i, DIRECTIONS[t]) for i in digits for t in range(4) if used[i][t] >= enough),
            {(i, j, x): shown[i][j][t] for i, j in product(digits, digits) for t, x in enumerate(DIRECTIONS)},
            panels,
            enough,
            knowledge.rules,
        )

    def known(self, d1: int, d2: int) -> bool:
        """Return whether any knowledge base contains d1 > d2, with any types."""
        seen = any((d1, d2, x) in self.s or (d1, d2, x) in self.c for x in DIRECTIONS)
        return seen or (d1 > d2 and self.understood(d1) and self.understood(d2))

    def shown(self, d1: int, d2: int) -> bool:
        """Return whether the sightings of a pair reach the threshold, in any colours, at any moves."""
        return sum(self.sightings[d1, d2, x] for x in DIRECTIONS) >= self.threshold

    def understood(self, digit: int) -> bool:
        return any((digit, x) in self.a for x in DIRECTIONS)

    @cached_property
    def template(self) -> bool:
        """Whether three known pairs d1 > d2, d2 > d3, d1 > d3 exist, an example of transitivity."""
        return any(
            self.known(i, j) and self.known(j, k) and self.known(i, k) for i, j, k in product(self.digits, repeat=3)
        )

    @cached_property
    def owners(self) -> dict[tuple[int, int, str], str]:
        """The first test whose definition each (d1, d2, type) meets."""
        owners = {}
        for d1, d2, x in product(self.digits, self.digits, DIRECTIONS):
            first = next((test for test in ORDER if d1 > d2 and self.meets(test, d1, d2, x)), None)
            if first is not None:
                owners[d1, d2, x] = first
        return owners

    def meets(self, test: str, d1: int, d2: int, type_: str) -> bool:
        """Return whether a pair meets the definition of a test."""
        in_s = {x for x in DIRECTIONS if (d1, d2, x) in self.s}
        in_c = {x for x in DIRECTIONS if (d1, d2, x) in self.c}
        in_a = {(x, y) for x in DIRECTIONS for y in DIRECTIONS if (d1, x) in self.a and (d2, y) in self.a}
        if test == "ST-1":
            return type_ in in_s
        if test == "ST-2":
            return bool(in_s) and type_ not in in_s
        if test == "AnT":
            follows = any(self.known(d1, middle) and self.known(middle, d2) for middle in self.digits)
            return not self.known(d1, d2) and not self.shown(d1, d2) and follows and self.template
        if in_s or self.shown(d1, d2):
            return False
        return {
            "AfT-1": type_ in in_c,
            "AfT-2": (type_, type_) in in_a,
            "AfT-3": bool(in_c) and type_ not in in_c,
            "AfT-4": bool(in_a) and (type_, type_) not in in_a,
        }[test]


@checked
def check_splits(splits: Splits, knowledge: KnowledgeBases, training: Iterable[Maze]) -> list[str]:
    """Return every fault of the splits, with its test and line.

    :param knowledge, training: of the run that the splits claim as their source.
    """
    facts = Facts.of(knowledge)
    faults = []
    if splits.manifest["knowledge"]["fingerprint"] != knowledge.fingerprint:
        faults.append(
            "the splits were made from other knowledge bases than those of this run, or with other settings of them"
        )
    faults += _check_mazes(splits.records, list(training))
    for test, records in splits.records.items():
        for line, record in enumerate(records, 1):
            faults += [f"{test}.jsonl:{line}: {fault}" for fault in check_record(record, facts)]
    return faults + _check_absent(splits, facts)


def _check_absent(splits: Splits, facts: Facts) -> list[str]:
    """Check that a test is missing only if none of its questions could be built."""
    faults = []
    for test in ORDER:
        pairs = {pair for pair, owner in facts.owners.items() if owner == test}
        refused = {(*entry["pair"], entry["type"]) for entry in splits.manifest["tests"][test]["refused"]}
        if test not in splits.records and pairs - refused:
            d1, d2, type_ = min(pairs - refused)
            faults.append(f"{test}: has no mazes, but it could ask for {d1}>{d2}, {type_}")
    return faults


def _check_mazes(records: Mapping[str, Sequence[Record]], training: list[Maze]) -> list[str]:
    """Check that T has the training mazes, no other test has one, and no maze or question occurs in two tests."""
    faults = []
    if [record.maze for record in records.get("T", ())] != training:
        faults.append("T: not the mazes that the run was trained on")
    where = {_shape(maze): "a training maze" for maze in training}
    asked_by: dict[tuple[int, int, str], str] = {}
    for test, of_test in records.items():
        for line, record in enumerate(of_test, 1):
            if test == "T":
                continue
            here = f"{test}.jsonl:{line}"
            shape = _shape(record.maze)
            if shape in where:
                faults.append(f"{here}: the same maze as {where[shape]}")
            where.setdefault(shape, here)
            if test in ORDER and record.asked is not None and asked_by.setdefault(record.asked.pair, test) != test:
                faults.append(f"{here}: asks for a pair that {asked_by[record.asked.pair]} asks for")
    return faults


def _shape(maze: Maze) -> tuple[object, ...]:
    """Return a maze relative to its start."""
    x0, y0 = maze.start
    moved = sorted(sorted((x - x0, y - y0) for x, y in edge) for edge in maze.edges)
    return (maze.goal[0] - x0, maze.goal[1] - y0, str(moved))


def check_record(record: Record, facts: Facts) -> list[str]:
    """Return every fault of a maze of a test. For user-defined tests, check only the claims of the maze."""
    asked, ours = record.asked, record.test in ORDER
    if record.test in ("T", "RT"):
        return [f"{record.test} asks for no pair"] if asked else []
    if asked is None:
        return ["asks for nothing"] if ours else []
    (d1, d2, type_), cell = asked.pair, asked.cell
    doors = _doors(record.maze)
    if cell not in doors:
        return [f"the maze has no cell {cell}"]
    faults = []
    panel = _panel(record.maze, doors, cell, facts.rules)
    t = DIRECTIONS.index(type_)
    if (panel[4 + t], panel[t]) != (d1, d2):
        faults.append(f"at {cell} a crossing is {panel[t]} and a wall {panel[4 + t]} {type_}, it claims {d2} and {d1}")
    elif ours:
        faults += _check_decision(record.maze, doors, cell, t, d1, d2)
    others = tuple(sorted(_met_on_the_way(record.maze, doors) - facts.s - {asked.pair}))
    if others != asked.others:
        faults.append(f"elsewhere the maze asks for {_named(others)}, it claims {_named(asked.others)}")
    if list(asked.panel) != panel:
        faults.append(f"the panel at {cell} is {panel}, it claims {list(asked.panel)}")
    owner = facts.owners.get(asked.pair)
    if ours and owner != record.test:
        whose = f"it belongs to {owner}" if owner else "no test asks for it"
        faults.append(f"{d1}>{d2}, {type_} is no question of {record.test}: {whose}")
    if facts.sightings.get(asked.pair, 0) != asked.sightings:
        faults.append(f"the pair was seen {facts.sightings.get(asked.pair, 0)} times, it claims {asked.sightings}")
    seen = facts.panels.get(tuple(panel[:10]), 0)
    if seen != asked.seen:
        faults.append(f"the digits at {cell} were met {seen} times, it claims {asked.seen}")
    if ours and seen >= (facts.threshold if record.test == "ST-1" else 1):
        faults.append(f"the digits at {cell} were met {seen} times in training")
    return faults


def _check_decision(maze: Maze, doors: Mapping[Cell, set[Cell]], cell: Cell, t: int, d1: int, d2: int) -> list[str]:
    """Check that the oracle stops at the cell and turns at the crossing, and that the wall is a dead end."""
    way = _way(doors, maze.start, maze.goal)
    if cell not in way:
        return [f"{cell} is not on the optimal path"]
    at = way.index(cell)
    straight = [_ahead(cell, t, i) for i in range(d2 + 1)]
    faults = []
    if at and len(doors[cell]) < 3 and _ahead(way[at - 1], t, 1) == cell:
        faults.append(f"{cell} is neither start, corner nor crossing, so that nothing is decided there")
    if way[at : at + d2 + 1] != straight:
        faults.append(f"the optimal path does not go from {cell} to the crossing")
    elif cell == maze.goal or straight[-1] == maze.goal or way[at + d2 + 1] == _ahead(cell, t, d2 + 1):
        faults.append(f"the optimal path does not turn at the crossing {straight[-1]}")
    wall = _ahead(cell, t, d1)
    if wall in way or len(doors[wall]) != 1:
        faults.append(f"the wall at {wall} is no dead end")
    return faults


def _met_on_the_way(maze: Maze, doors: Mapping[Cell, set[Cell]]) -> set[tuple[int, int, str]]:
    """Return the pairs of a wall behind a crossing, ahead at start, corners and crossings of the optimal path."""
    way = _way(doors, maze.start, maze.goal)
    met = set()
    for at, cell in enumerate(way[:-1]):
        t = next(t for t in range(4) if _ahead(cell, t, 1) == way[at + 1])
        straight_on = at and _ahead(way[at - 1], t, 1) == cell
        if straight_on and len(doors[cell]) < 3:
            continue
        panel = _panel(maze, doors, cell)
        if 0 < panel[t] < panel[4 + t]:
            met.add((panel[4 + t], panel[t], DIRECTIONS[t]))
    return met


def _named(pairs: Iterable[tuple[int, int, str]]) -> str:
    return " and ".join(f"{d1}>{d2}, {type_}" for d1, d2, type_ in pairs) or "nothing"


def _ahead(cell: Cell, t: int, distance: int) -> Cell:
    return cell[0] + STEPS[t][0] * distance, cell[1] + STEPS[t][1] * distance


def _doors(maze: Maze) -> dict[Cell, set[Cell]]:
    """Return the neighbours of each cell."""
    doors: dict[Cell, set[Cell]] = {}
    for a, b in maze.edges:
        doors.setdefault(a, set()).add(b)
        doors.setdefault(b, set()).add(a)
    return doors


def _way(doors: Mapping[Cell, set[Cell]], start: Cell, goal: Cell) -> list[Cell]:
    """Return the cells from the start to the goal."""
    came: dict[Cell, Cell | None] = {start: None}
    front = [start]
    for cell in front:
        for other in sorted(doors[cell] - came.keys()):
            came[other] = cell
            front.append(other)
    way: list[Cell] = []
    step: Cell | None = goal
    while step is not None:
        way.append(step)
        step = came[step]
    return way[::-1]


def _panel(maze: Maze, doors: Mapping[Cell, set[Cell]], cell: Cell, rules: Rules = RULES) -> list[int]:
    """Compute the eleven numbers of a panel row by walking from the cell in all four directions."""
    crossings, walls = [], []
    for t in range(4):
        corridor = [cell]
        while _ahead(corridor[-1], t, 1) in doors[corridor[-1]]:
            corridor.append(_ahead(corridor[-1], t, 1))
        met = [distance for distance, passed in enumerate(corridor) if distance and len(doors[passed]) >= 3]
        hidden = rules.panels_equal == "one" and min(met, default=0) == len(corridor) - 1
        crossings.append(0 if hidden else min(met, default=0))
        walls.append(len(corridor) - 1)
    hint = 0
    if cell != maze.goal and (len(doors[cell]) >= 3 or (cell == maze.start and len(doors[cell]) == 2)):
        after = _way(doors, cell, maze.goal)[1]
        hint = 1 + next(t for t in range(4) if _ahead(cell, t, 1) == after)
    return [*crossings, *walls, maze.goal[0] - cell[0], maze.goal[1] - cell[1], hint]


SCHEMA = "gumption/halma-splits/1"
FORMAT = SplitFormat(SCHEMA, indent=1)
MANIFEST = "manifest.json"


class Experience(NamedTuple):
    """An agent's experience, the source of splits.

    :ivar mazes: the training mazes.
    :ivar warning: a warning about lost records of the memory.
    """

    knowledge: KnowledgeBases
    mazes: Mazes
    warning: str | None = None


@checked
def read_run(
    run: str | Path,
    *,
    threshold: Count = THRESHOLD,
    knowledge_base: Reading = "strict",
    last_panel: LastPanel = "counted",
) -> Experience:
    """Read the experience in RUN/memory and RUN/mazes.jsonl.

    :param threshold: visits from which a pair counts as understood.
    :param knowledge_base, last_panel: how the memory is read, see `gumption.envs.halma.knowledge_base`.
    :raises InputError: no run, a run without a memory or without its mazes, or a memory of other mazes.
    """
    run = Path(run)
    if not run.is_dir():
        raise InputError(f"{run}: there is no such run")
    without = f"{run}: the run has no {MAZES}, the mazes it was trained on; train it again"
    return _experience(run / FOLDER, run / MAZES, without, threshold, knowledge_base, last_panel)


@checked
def read_memory(
    folder: str | Path,
    *,
    threshold: Count = THRESHOLD,
    knowledge_base: Reading = "strict",
    last_panel: LastPanel = "counted",
) -> Experience:
    """Read the experience in a folder that `RecordMemory` wrote; parameters as in `read_run`.

    :raises InputError: no memory there, a memory without its mazes, or of other mazes.
    """
    folder = Path(folder)
    without = f"{folder}: no {MAZES} there, the mazes of its records; for the memory of a run give the run"
    return _experience(folder, folder / MAZES, without, threshold, knowledge_base, last_panel)


def _experience(
    folder: Path, path: Path, without: str, threshold: int, knowledge_base: Reading, last_panel: LastPanel
) -> Experience:
    memory = Memory.load(folder)
    if not path.is_file():
        raise InputError(without)
    mazes = Mazes.load(path, memory.rules)
    if len(memory) and int(memory.maze.max()) >= len(mazes):
        raise InputError(f"{path}: {len(mazes)} mazes, but the memory is of maze {memory.maze.max()}, from 0 on")
    knowledge = KnowledgeBases.of(memory, threshold, knowledge_base=knowledge_base, last_panel=last_panel)
    return Experience(knowledge, mazes, memory.warning)


@checked
def make_splits(
    experience: Experience,
    folder: str | Path,
    *,
    seed: Seed = 0,
    mazes: TestMazes = 50,
    own: Mapping[str, OwnTest] | None = None,
    force: bool = False,
) -> Splits:
    """Make the splits of a run, check them, and write them to a folder.

    The same experience, seed, number of mazes and user-defined tests give the same bytes.

    :param experience: from `read_run` or `read_memory`.
    :param mazes: the number of mazes of RT and of each diagnostic test.
    :param own: user-defined tests by name, see `OwnTest`.
    :param force: replace other splits in the folder.
    :raises InputError: a folder with other splits or with other files; the errors of `build_tests`; a user-defined test
        that has a maze of the training or of another test.
    """
    knowledge, training, _ = experience
    built = build_tests(knowledge, list(training), seed=seed, mazes=mazes, own=own)
    contents = split_contents(built, knowledge, seed=seed, mazes=mazes)
    splits = _parse(Path(folder), contents.__getitem__)
    if faults := check_splits(splits, knowledge, training):
        if faults[0].partition(".jsonl:")[0] in (own or {}):
            raise InputError(faults[0])
        raise RuntimeError(f"gumption made splits that are not what they claim: {faults[0]}")
    write_splits(folder, contents, force=force)
    return splits


def split_contents(
    built: Mapping[str, BuiltTest], knowledge: KnowledgeBases, *, seed: int, mazes: int
) -> dict[str, bytes]:
    """Return the files of a folder of splits, by name.

    :param built: result of `build_tests` with this seed and number of mazes.
    """
    contents: dict[str, bytes] = {}
    tests: dict[str, Any] = {}
    for test, made in built.items():
        sha256 = None
        if made.records:
            lines = (FORMAT.line(_record_json(record, knowledge.fingerprint)) for record in made.records)
            content = contents[f"{test}.jsonl"] = "".join(lines).encode()
            sha256 = hashlib.sha256(content).hexdigest()
        tests[test] = {
            "mazes": len(made.records),
            "queries": made.queries,
            "pairs": len({record.asked.pair for record in made.records if record.asked}),
            "reason": made.reason,
            "refused": [{"pair": [p.d1, p.d2], "type": p.type, "reason": reason} for p, reason in made.refused],
            "sha256": sha256,
            **({} if made.maker is None else {"maker": made.maker}),
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
                **knowledge.choices,
                **knowledge.rules.changes,
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
    """See `gumption.envs.split_files.write_folder`; also replaces user-defined tests named in the manifest."""
    there, tests = present_folder(Path(folder)) / MANIFEST, set(SPLITS)
    with suppress(InputError):
        tests.update(FORMAT.unseal(read_file(there), there)["tests"])
    possible = {MANIFEST, *contents, *(f"{test}.jsonl" for test in tests)}
    return write_folder(Path(folder), contents, possible, force=force)


@checked
def load_splits(folder: str | Path) -> Splits:
    """:raises InputError: no splits there, another schema version, a changed byte, a missing file, or a line that is no
    record of a maze.
    """
    folder = present_folder(Path(folder))
    return _parse(folder, lambda name: read_file(folder / name))


def _parse(folder: Path, read: Callable[[str], bytes]) -> Splits:
    """:param folder: for messages; `read` returns the content of a file."""
    manifest = FORMAT.unseal(read(MANIFEST), folder / MANIFEST)
    records: dict[str, tuple[Record, ...]] = {}
    for test, entry in manifest["tests"].items():
        sha256 = entry["sha256"]
        if sha256 is None:
            continue
        if test not in SPLITS:
            check_own_name(test)  # it names a file
        path = folder / f"{test}.jsonl"
        content = read(path.name)
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
