"""Tasks as data (JSON, schema 1): families, discs, areas, goals, constraints, quizzes, and recorded solutions."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import hypot
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, get_args

from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.errors import did_you_mean
from gumption.data.reading import read_json
from gumption.data.settings import NonNegative, Size, check, shown

from .magnets import BOUNDARIES, RADIUS, TABLE
from .quiz import choice, read_question

SCHEMA = 1
FAMILIES = ("Fishing", "Curling", "FindTheDiff", "FindTheSame", "Building", "Modifying")
SANDBOX = "Sandbox"
TOOL_USE, DISCOVERY, CRAFTING = FAMILIES[:2], FAMILIES[2:4], FAMILIES[4:]
#: Cells of the grid along each side, and their width in px.
GRID, CELL = 40, 12.0
MASS = {"small": 0.5, "medium": 1.0, "large": 2.0, "extremely large": 4.0}
MAGNETISM = {"small": 0.71, "medium": 1.0, "large": 1.41}
POLARITIES = ("+", "-", "dipole")
CONSTRAINTS = ("action_time", "action_number", "trial_time", "trial_number", "solve_time")
Laws = Literal["real", "counterfactual", "inert", "shuffled"]
#: Verbs of solutions and records -> number of arguments; `answer` takes any number of lists.
VERBS = {"grab": 1, "store": 1, "place": 2, "hold": 1, "hold_at": 2, "put_down": 0, "take_up": 0, "turn": 1,
         "none": 0, "check": 0}  # fmt: skip
#: Largest number of blocks of a shape; each block needs its own disc.
MOST_BLOCKS = 12
_FIELDS = {
    SANDBOX: (),
    "Fishing": ("targets", "goal"),
    "Curling": ("targets",),
    "FindTheDiff": ("answer",),
    "FindTheSame": ("answer",),
    "Building": ("blocks",),
    "Modifying": ("blocks", "building"),
}
_COMMON = ("schema", "name", "family", "friction", "laws", "classes", "rotation", "objects", "max_obj_num",
           "max_grid_num", "inaccessible", "walls", "constraints", "quiz", "solution")  # fmt: skip
_ROOM = Annotated[int, Ge(1), Le(64)]
_FRICTION, _CLASS = Annotated[float, Ge(0), Le(1_000_000_000)], Annotated[float, Ge(0.01), Le(1000)]
Point = tuple[float, float]
Area = tuple[float, float, float, float]
Polygon = tuple[Point, ...]


@dataclass(frozen=True)
class DiscData:
    """A disc of a task.

    :ivar mass, magnetism: names of classes. :ivar polarity: "+", "-" or "dipole".
    :ivar boundary: theta in degrees, a multiple of 45 below 360.
    :ivar at: place in px; None for a disc in the cell `stored` of the side bar.
    :ivar name: a name that the player reads, or "".
    """

    id: str
    color: str
    mass: str
    magnetism: str
    polarity: str
    boundary: int = 0
    at: Point | None = None
    stored: int | None = None
    name: str = ""


@dataclass(frozen=True)
class Task:
    """A task, with the fields of its file.

    :ivar answer: for a discovery family, the ids of the discs to leave on the table.
    :ivar blocks, building: polygons in px. :ivar targets, inaccessible, walls: [x, y, width, height] in px.
    :ivar constraints: name -> limit, only where there is a limit. :ivar solution: actions by name.
    :ivar masses, magnetisms: class -> number. :ivar rotation: whether forces turn dipoles.
    """

    name: str
    family: str
    objects: tuple[DiscData, ...]
    friction: float = 20.0
    laws: Laws = "real"
    max_obj_num: int = 12
    max_grid_num: int = 12
    inaccessible: tuple[Area, ...] = ()
    targets: tuple[Area, ...] = ()
    goal: tuple[str, ...] = ()
    walls: tuple[Area, ...] = ()
    blocks: tuple[Polygon, ...] = ()
    building: tuple[Polygon, ...] = ()
    answer: tuple[str, ...] = ()
    constraints: Mapping[str, float] = field(default_factory=dict)
    quiz: tuple[Mapping[str, str], ...] = ()
    solution: tuple[tuple[Any, ...], ...] = ()
    masses: Mapping[str, float] = field(default_factory=lambda: MASS)
    magnetisms: Mapping[str, float] = field(default_factory=lambda: MAGNETISM)
    rotation: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the discs."""
        return tuple(disc.id for disc in self.objects)

    @property
    def first_stored(self) -> tuple[str, ...]:
        """Return the ids of the discs in the side bar at the start, which discovery tasks are about."""
        return tuple(disc.id for disc in self.objects if disc.stored is not None)

    def to_json(self) -> dict[str, Any]:
        """Return the content of a task file, without fields that the family does not use."""
        content: dict[str, Any] = {"schema": SCHEMA, "name": self.name, "family": self.family}
        content |= {"friction": self.friction, "laws": self.laws}
        if (self.masses, self.magnetisms) != (MASS, MAGNETISM):
            content["classes"] = {"mass": dict(self.masses), "magnetism": dict(self.magnetisms)}
        if self.rotation:
            content["rotation"] = True
        content["objects"] = [_disc_to_json(disc) for disc in self.objects]
        content |= {"max_obj_num": self.max_obj_num, "max_grid_num": self.max_grid_num}
        for name in ("inaccessible", *_FIELDS[self.family], "walls"):
            content[name] = _listed(getattr(self, name))
        content["constraints"] = {name: self.constraints.get(name) for name in CONSTRAINTS}
        if self.quiz:
            content["quiz"] = [dict(question) for question in self.quiz]
        if self.solution:
            content["solution"] = _listed(self.solution)
        return content

    @property
    def hash(self) -> str:
        """Return the SHA-256 (hex) of all fields except the name and the solution."""
        content = {name: value for name, value in self.to_json().items() if name not in ("name", "solution")}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_task(given: Any, where: str = "the task") -> Task:
    """Read a task from a `Task`, a mapping, or the path of a JSON file.

    :param where: the origin of a mapping, for messages.
    :raises InputError: not a valid task; the message has file, field and reason.
    """
    if isinstance(given, Task):
        return given
    if isinstance(given, str | os.PathLike):
        return read_task(read_json(Path(given)), str(given))
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: {shown(given)} is no task; it is a JSON object")
    return _Reader(given, where).task()


def goal_areas(task: Task) -> tuple[str, Sequence[Polygon]]:
    """Return the kind of the goal's areas, "target" or "block", and their corners in px."""
    if task.family in CRAFTING:
        return "block", task.blocks
    return "target", [((x, y), (x + w, y), (x + w, y + h), (x, y + h)) for x, y, w, h in task.targets]


def in_the_dark(task: Task, x: float, y: float) -> bool:
    """Return whether a place, in px, lies in an inaccessible area."""
    return any(left <= x < left + wide and top <= y < top + high for left, top, wide, high in task.inaccessible)


class _Reader:
    """Read and check the fields of a task."""

    def __init__(self, given: Mapping[str, Any], where: str) -> None:
        self.given, self.where = given, where

    def fail(self, name: str, reason: str) -> NoReturn:
        raise InputError(f"{self.where}: {name}: {reason}")

    def task(self) -> Task:
        schema = self.given.get("schema")
        if schema != SCHEMA:
            newer = isinstance(schema, int) and not isinstance(schema, bool) and schema > SCHEMA
            advice = "a newer gumption wrote it" if newer else f"a task file says {SCHEMA}"
            self.fail("schema", f"is {shown(schema)}, and {SCHEMA} is read here; {advice}")
        family = self.choice("family", self.given.get("family"), (*FAMILIES, SANDBOX))
        known = (*_COMMON, *_FIELDS[family])
        for name in self.given:
            if name not in known:
                hint = did_you_mean(name, known, f"a {family} task has {', '.join(known)}")
                self.fail(str(name), f"is no field of a {family} task; {hint}")
        classes = self.mapping("classes", self.given.get("classes", {}), ("mass", "magnetism"))
        task = Task(
            name=self.text("name", self.given.get("name")),
            family=family,
            objects=(),
            friction=self.value("friction", self.given.get("friction", 20.0), _FRICTION),
            laws=self.choice("laws", self.given.get("laws", "real"), get_args(Laws)),  # pyright: ignore[reportArgumentType]
            max_obj_num=self.value("max_obj_num", self.given.get("max_obj_num", 12), _ROOM),
            max_grid_num=self.value("max_grid_num", self.given.get("max_grid_num", 12), _ROOM),
            masses=self.classes("mass", classes.get("mass"), MASS),
            magnetisms=self.classes("magnetism", classes.get("magnetism"), MAGNETISM),
            rotation=self.value("rotation", self.given.get("rotation", False), bool),
            inaccessible=self.areas("inaccessible"),
            walls=self.areas("walls"),
            targets=self.areas("targets"),
            blocks=self.polygons("blocks"),
            building=self.polygons("building"),
            constraints=self.constraints(),
        )
        task = replace(task, objects=self.objects(task))
        task = replace(task, goal=self.named("goal", task), answer=self.named("answer", task))
        self.check_goal(task)
        asked = enumerate(self.listed("quiz", self.given.get("quiz", [])))
        task = replace(task, quiz=tuple(read_question(one, task, f"{self.where}: quiz[{k}]") for k, one in asked))
        actions = enumerate(self.listed("solution", self.given.get("solution", [])))
        return replace(task, solution=tuple(self.action(f"solution[{k}]", one, task) for k, one in actions))

    # ---- values

    def text(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not value or not value.isprintable():
            self.fail(name, f"is {shown(value)}; it is a text")
        return value

    def choice(self, name: str, value: Any, choices: Sequence[str]) -> str:
        return choice(f"{self.where}: {name}", value, choices)

    def value(self, name: str, value: Any, hint: Any) -> Any:
        return check(f"{self.where}: {name}:", value, hint)

    def listed(self, name: str, value: Any) -> Sequence[Any]:
        if not isinstance(value, list | tuple):
            self.fail(name, f"is {shown(value)}; it is a list")
        return value

    def mapping(self, name: str, value: Any, known: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.fail(name, f"is {shown(value)}; it is an object with some of {', '.join(known)}")
        for key in value:
            if key not in known:
                self.fail(name, f"has no {shown(key)}; {did_you_mean(key, known, ', '.join(known))}")
        return value

    def classes(self, name: str, given: Any, default: Mapping[str, float]) -> Mapping[str, float]:
        if given is None:
            return default
        read = self.mapping(f"classes.{name}", given, tuple(default))
        return {**default, **{key: self.value(f"classes.{name}.{key}", read[key], _CLASS) for key in read}}

    def areas(self, name: str) -> tuple[Area, ...]:
        found = []
        for k, area in enumerate(self.listed(name, self.given.get(name, []))):
            where = f"{name}[{k}]"
            if not isinstance(area, list | tuple) or len(area) != 4:
                self.fail(where, f"is {shown(area)}; it is [x, y, width, height] in px")
            x, y, wide, high = (self.value(where, each, float) for each in area)
            if wide <= 0 or high <= 0:
                self.fail(where, f"is {wide:g} px wide and {high:g} px high; both are positive")
            if x < 0 or y < 0 or x + wide > TABLE or y + high > TABLE:
                self.fail(where, f"is {list(area)}, which is not within the table of {TABLE:g} x {TABLE:g} px")
            found.append((x, y, wide, high))
        return tuple(found)

    def polygons(self, name: str) -> tuple[Polygon, ...]:
        found = []
        given = self.listed(name, self.given.get(name, []))
        if len(given) > MOST_BLOCKS:
            self.fail(name, f"has {len(given)} blocks; a shape has at most {MOST_BLOCKS}")
        for k, corners in enumerate(given):
            where = f"{name}[{k}]"
            if not 3 <= len(self.listed(where, corners)) <= 32:
                self.fail(where, f"has {len(corners)} corners; a block has 3 to 32")
            points = tuple(self.point(where, each) for each in corners)
            if fault := _crossing(points):
                self.fail(where, fault)
            found.append(points)
        return tuple(found)

    def point(self, name: str, value: Any) -> Point:
        if not isinstance(value, list | tuple) or len(value) != 2:
            self.fail(name, f"has {shown(value)}; it is [x, y] in px")
        x, y = (self.value(name, each, float) for each in value)
        if not (0 <= x <= TABLE and 0 <= y <= TABLE):
            self.fail(name, f"has [{x:g}, {y:g}], which is outside the table of {TABLE:g} x {TABLE:g} px")
        return x, y

    # ---- discs

    def objects(self, task: Task) -> tuple[DiscData, ...]:
        given = self.listed("objects", self.given.get("objects"))
        if not 1 <= len(given) <= task.max_obj_num:
            self.fail("objects", f"has {len(given)} discs; a task has 1 to max_obj_num, which is {task.max_obj_num}")
        discs = tuple(self.disc(k, one, task) for k, one in enumerate(given))
        for what in ("id", "color", "stored"):
            seen: dict[Any, int] = {}
            for k, value in enumerate(getattr(disc, what) for disc in discs):
                if value in seen:
                    self.fail(f"objects[{k}].{what}", f"is {value!r}, as that of objects[{seen[value]}] is")
                if value is not None:
                    seen[value] = k
        self.check_room(discs, task)
        return discs

    def disc(self, k: int, given: Any, task: Task) -> DiscData:
        where = f"objects[{k}]"
        known = ("id", "color", "name", "mass", "magnetism", "polarity", "boundary", "at", "stored")
        one = self.mapping(where, given, known)
        for name in ("id", "color", "mass", "magnetism", "polarity"):
            if name not in one:
                self.fail(f"{where}.{name}", "is missing")
        if ("at" in one) == ("stored" in one):
            self.fail(where, "has either 'at', a place in px, or 'stored', a cell of the side bar")
        return DiscData(
            id=self.text(f"{where}.id", one["id"]),
            color=self.color(f"{where}.color", one["color"]),
            mass=self.choice(f"{where}.mass", one["mass"], tuple(task.masses)),
            magnetism=self.choice(f"{where}.magnetism", one["magnetism"], tuple(task.magnetisms)),
            polarity=self.choice(f"{where}.polarity", one["polarity"], POLARITIES),
            boundary=self.theta(f"{where}.boundary", one.get("boundary", 0)),
            at=self.point(f"{where}.at", one["at"]) if "at" in one else None,
            stored=self.value(f"{where}.stored", one["stored"], _below(task.max_grid_num)) if "stored" in one else None,
            name=self.text(f"{where}.name", one["name"]) if "name" in one else "",
        )

    def color(self, name: str, value: Any) -> str:
        from PIL import ImageColor

        try:
            ImageColor.getrgb(self.text(name, value))
        except ValueError:
            hint = did_you_mean(value, ImageColor.colormap, "it is one of CSS's names, or #rrggbb")
            self.fail(name, f"is {shown(value)}, which is no colour; {hint}")
        return value

    def theta(self, name: str, value: Any) -> int:
        if isinstance(value, str):
            return BOUNDARIES[self.choice(name, value, tuple(BOUNDARIES))]
        degrees = self.value(name, value, float)
        if degrees % 45 or not 0 <= degrees < 360:
            self.fail(name, f"is {degrees:g}; it is 0, 45, ..., 315 degrees, or one of {', '.join(BOUNDARIES)}")
        return int(degrees)

    def check_room(self, discs: Sequence[DiscData], task: Task) -> None:
        """Refuse discs that overlap one another, a wall or an edge."""
        placed = [(k, disc.at) for k, disc in enumerate(discs) if disc.at is not None]
        slack = 1e-6
        for k, (x, y) in placed:
            if min(x, y, TABLE - x, TABLE - y) < RADIUS - slack:
                self.fail(f"objects[{k}].at", f"is [{x:g}, {y:g}], where the disc overlaps the edge of the table")
            for m, (left, top, wide, high) in enumerate(task.walls):
                dx, dy = max(left - x, x - left - wide, 0.0), max(top - y, y - top - high, 0.0)
                if hypot(dx, dy) < RADIUS - slack:
                    self.fail(f"objects[{k}].at", f"is [{x:g}, {y:g}], where the disc overlaps walls[{m}]")
        for (k, one), (m, other) in combinations(placed, 2):
            if (apart := hypot(one[0] - other[0], one[1] - other[1])) < 2 * RADIUS - slack:
                self.fail(f"objects[{m}].at", f"overlaps objects[{k}]: their centres are {apart:.4g} px apart")

    # ---- goals

    def named(self, name: str, task: Task) -> tuple[str, ...]:
        if name not in _FIELDS[task.family]:
            return ()
        ids = [self.text(f"{name}[{k}]", one) for k, one in enumerate(self.listed(name, self.given.get(name)))]
        for k, one in enumerate(ids):
            self.choice(f"{name}[{k}]", one, task.ids)
        if len(set(ids)) < len(ids):
            self.fail(name, "names a disc twice")
        return tuple(ids)

    def check_goal(self, task: Task) -> None:
        for name in _FIELDS[task.family]:
            if not getattr(task, name):
                self.fail(name, f"is empty or missing; a {task.family} task has some")
        stored = task.first_stored
        for k, one in enumerate(task.answer):
            if one not in stored:
                self.fail(f"answer[{k}]", f"is {one!r}, which is not stored at the start; discovery concerns those")
        if task.answer and len(task.answer) == len(stored):
            self.fail("answer", "names every disc that is stored at the start: there is nothing to tell apart")

    def constraints(self) -> dict[str, float]:
        given = self.mapping("constraints", self.given.get("constraints", {}), CONSTRAINTS)
        found: dict[str, float] = {}
        for name, limit in given.items():
            where = f"constraints.{name}"
            if name in ("action_number", "trial_number") and limit is not None:
                found[name] = self.value(where, limit, Size)
            elif limit is not None:
                found[name] = self.value(where, limit, NonNegative)
                if limit == 0:
                    self.fail(where, "is 0, which nobody can keep; null is no limit")
        return found

    def action(self, where: str, given: Any, task: Task) -> tuple[Any, ...]:
        one = self.listed(where, given)
        if not one:
            self.fail(where, f"is empty; it is one of {', '.join((*VERBS, 'answer'))}, with its arguments")
        verb = self.choice(where, one[0], (*VERBS, "answer"))
        rest = list(one[1:])
        if verb == "answer":
            if len(rest) != len(task.quiz):
                self.fail(where, f"answers {len(rest)} questions, and the quiz has {len(task.quiz)}")
            answers = [tuple(self.choice(where, each, task.ids) for each in self.listed(where, ids)) for ids in rest]
            return "answer", *answers
        if len(rest) != VERBS[verb]:
            self.fail(where, f"gives {verb!r} {len(rest)} arguments; it takes {VERBS[verb]}")
        if verb in ("grab", "hold"):
            self.choice(where, rest[0], task.ids)
        elif verb == "turn" and rest[0] not in (-1, 1):
            self.fail(where, f"turns by {shown(rest[0])}; it is 1 or -1, for 45 degrees")
        elif verb == "store":
            self.value(where, rest[0], _below(task.max_grid_num))
        elif verb in ("place", "hold_at"):
            rest = [self.value(where, each, _below(GRID)) for each in rest]
        return verb, *rest


def _below(count: int) -> Any:
    return Annotated[int, Ge(0), Le(count - 1)]


def _crossing(points: Polygon) -> str:
    """Return the fault of a polygon, or "" if its sides meet only at its corners."""
    sides = [(points[k], points[(k + 1) % len(points)]) for k in range(len(points))]
    if any(a == b for a, b in sides):
        return "has two equal corners in a row"
    area = sum(ax * by - bx * ay for (ax, ay), (bx, by) in sides)
    for (k, one), (m, other) in combinations(enumerate(sides), 2):
        adjoin = m - k == 1 or (k == 0 and m == len(sides) - 1)
        if not adjoin and _meet(*one, *other):
            return f"crosses itself: side {k} meets side {m}"
    return "" if area else "has no area"


def _meet(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Return whether two line segments share a point."""

    def side(p: Point, q: Point, r: Point) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    def between(p: Point, q: Point, r: Point) -> bool:
        return min(p[0], q[0]) <= r[0] <= max(p[0], q[0]) and min(p[1], q[1]) <= r[1] <= max(p[1], q[1])

    s1, s2, s3, s4 = side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b)
    if s1 * s2 < 0 and s3 * s4 < 0:
        return True
    return any(
        s == 0 and between(p, q, r) for s, p, q, r in ((s1, a, b, c), (s2, a, b, d), (s3, c, d, a), (s4, c, d, b))
    )


def _disc_to_json(disc: DiscData) -> dict[str, Any]:
    content: dict[str, Any] = {"id": disc.id, "color": disc.color, **({"name": disc.name} if disc.name else {})}
    content |= {"mass": disc.mass, "magnetism": disc.magnetism, "polarity": disc.polarity}
    if disc.boundary or disc.polarity == "dipole":
        content["boundary"] = disc.boundary
    return content | ({"at": list(disc.at)} if disc.at is not None else {"stored": disc.stored})


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value
