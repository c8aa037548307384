"""Simulate a batch of tables: discs, hand, time and trials, effects of actions, and distances to goals.

Actions are numbered (M discs, G cells of the side bar, N = 3 M + G + 3208):

    [0, M) grab stored disc i             [3M + G, + 1600) place the grabbed disc at a grid point (row by row)
    [M, 2M) grab placed disc i            [.., + 1600) hold the grabbed disc at a grid point
    [2M, 3M) hold placed disc i           N - 8, N - 7 reserved    N - 6 place the held disc where it is
    [3M, 3M + G) store it in cell j       N - 5 grab the held disc    N - 4, N - 3 turn it by -45, +45 degrees
                                          N - 2 NONE    N - 1 CHECK
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.envs.physics.factors import Alive, Factor, Mobile, Position, Velocity
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.simulator import Simulator
from gumption.envs.physics.state import Layout, State

from .geometry import ABSENT, GRABBED, HELD, PLACED, STORED, goal_distances, open_actions
from .magnets import ARM, COUPLING, FRAMERATE, LAWS, RADIUS, RULES, TABLE, TURNING_RULES, Arm, Coupling, Spin
from .tasks import CELL, CONSTRAINTS, FAMILIES, GRID, DiscData, Task, goal_areas

POINTS = GRID * GRID
#: Centres of the grid points, (1600, 2), row by row.
CENTRES = np.stack([np.tile(np.arange(GRID), GRID), np.repeat(np.arange(GRID), GRID)], axis=1) * CELL + CELL / 2
#: Longest simulated time in seconds after an action, until all rests, and after NONE, which is the window of rest.
LONGEST_SECONDS, NONE_SECONDS = 20.0, 0.5
#: px/s: a disc that moves less than 0.01 px in the 30 steps of the window rests.
SLOW = 0.02
RESERVED, PUT_DOWN, TAKE_UP, TURN_BACK, TURN, NONE, CHECK = -8, -6, -5, -4, -3, -2, -1
DIAGONAL = TABLE * 2**0.5
LAW_NAMES = tuple(LAWS)


def scene_of(task: Task, coupling: float = COUPLING, framerate: int = FRAMERATE) -> Scene:
    """Return a scene of the physics with the task's discs and walls."""
    sim = {
        "framerate": float(framerate), "boundaries": (0.0, TABLE), "friction": 0.0, "wall_damping": 0.0,
        "max_velocity": 1e6, "min_velocity": 0.0, "rules": TURNING_RULES if task.rotation else RULES,
        "parameters": {"Restitution": 0.0, "Coupling": coupling, "TableFriction": float(task.friction)},
    }  # fmt: skip
    entities: list[dict[str, Any]] = []
    for k, disc in enumerate(task.objects):
        q = task.magnetisms[disc.magnetism] * (-1.0 if disc.polarity == "-" else 1.0)
        dipole = disc.polarity == "dipole"
        factors = {
            "Position": disc.at or (TABLE / 2, TABLE / 2), "Mass": task.masses[disc.mass], "Pole": q,
            "OtherPole": -q if dipole else 0.0, "Alive": disc.at is not None,
            "Arm": arm(disc.boundary // 45) if dipole else (0.0, 0.0),
        }  # fmt: skip
        kind = "TurningDisc" if task.rotation else "Disc"
        entities.append({"id": f"disc {k}", "type": kind, "factors": factors})
    for k, (x, y, wide, high) in enumerate(task.walls):
        corners = [[-wide / 2, -high / 2], [wide / 2, -high / 2], [wide / 2, high / 2], [-wide / 2, high / 2]]
        factors = {"Position": (x + wide / 2, y + high / 2), "Shape": {"kind": "polygon", "vertices": corners}}
        entities.append({"id": f"wall {k}", "type": "Block", "factors": factors})
    return Scene.read({"sim": sim, "entities": entities}, f"the task {task.name!r}")


def arm(eighths: int) -> tuple[float, float]:
    """Return the vector from the centre of a dipole to its + pole in px, y downwards; theta in eighths of a turn."""
    unit = ((1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1))[eighths]
    length = ARM if 0 in unit else ARM * 0.5**0.5
    return unit[0] * length, unit[1] * length


@dataclass(frozen=True)
class TaskArrays:
    """The constants of K tasks as arrays; M discs and G cells, at most T areas with V corners.

    :ivar family: (K,), numbers as in `geometry`. :ivar where: (K, M) states at the start; `cell` (K, M), 1 for the
        first cell, 0 for none; `theta` (K, M) in eighths of a turn; `place` (K, M, 2) px.
    :ivar dipole, golden, concerned, answer: (K, M) bool.
    :ivar allowed: (K, 1600) bool, points outside the dark where a disc overlaps neither walls nor edges.
    :ivar dark: (K, T, 4) left, top, right, bottom. :ivar corners, counts, areas: polygons of targets or blocks.
    :ivar maps: (K, 5, 40, 40) uint8: dark, target, block, building, wall at the grid points.
    :ivar limits: (K, 5) constraints, inf for none.
    """

    family: np.ndarray
    where: np.ndarray
    cell: np.ndarray
    theta: np.ndarray
    place: np.ndarray
    dipole: np.ndarray
    golden: np.ndarray
    concerned: np.ndarray
    answer: np.ndarray
    allowed: np.ndarray
    dark: np.ndarray
    corners: np.ndarray
    counts: np.ndarray
    areas: np.ndarray
    maps: np.ndarray
    limits: np.ndarray


def _arrays(task: Task, discs: int) -> dict[str, np.ndarray]:
    many = len(task.objects)
    family = FAMILIES.index(task.family) if task.family in FAMILIES else len(FAMILIES)
    where, cell = np.full(discs, ABSENT), np.zeros(discs, dtype=np.int64)
    where[:many] = [PLACED if disc.at is not None else STORED for disc in task.objects]
    cell[:many] = [0 if disc.stored is None else disc.stored + 1 for disc in task.objects]
    theta, place = np.zeros(discs, dtype=np.int64), np.full((discs, 2), TABLE / 2)
    theta[:many] = [disc.boundary // 45 for disc in task.objects]
    place[:many] = [disc.at or (TABLE / 2, TABLE / 2) for disc in task.objects]

    def chosen(ids: Sequence[str]) -> np.ndarray:
        return np.array([k < many and task.ids[k] in ids for k in range(discs)])

    dark = np.array([(x, y, x + w, y + h) for x, y, w, h in task.inaccessible]).reshape(-1, 4)
    walls = np.array([(x, y, x + w, y + h) for x, y, w, h in task.walls]).reshape(-1, 4)
    x, y = CENTRES.T
    in_dark = np.zeros(POINTS, dtype=bool)
    for left, top, right, bottom in dark:
        in_dark |= (left <= x) & (x < right) & (top <= y) & (y < bottom)
    free = (np.minimum(CENTRES, TABLE - CENTRES) >= RADIUS).all(axis=1) & ~in_dark
    in_wall = np.zeros(POINTS, dtype=bool)
    for left, top, right, bottom in walls:
        dx, dy = np.maximum(np.maximum(left - x, x - right), 0), np.maximum(np.maximum(top - y, y - bottom), 0)
        free &= np.hypot(dx, dy) >= RADIUS
        in_wall |= (dx == 0) & (dy == 0)
    kind, polygons = goal_areas(task)
    corners = np.zeros((len(polygons), max([len(each) for each in polygons], default=1), 2))
    for k, each in enumerate(polygons):
        corners[k, : len(each)] = each
    targets = _covered(polygons if kind == "target" else ())
    maps = [in_dark, targets, _covered(task.blocks), _covered(task.building), in_wall]
    return {
        "family": np.array(family), "where": where, "cell": cell, "theta": theta, "place": place,
        "dipole": chosen([disc.id for disc in task.objects if disc.polarity == "dipole"]),
        "golden": chosen(task.goal), "concerned": chosen(task.first_stored), "answer": chosen(task.answer),
        "allowed": free, "dark": dark, "corners": corners,
        "counts": np.array([len(each) for each in polygons], dtype=np.int64),
        "areas": np.array(len(polygons)), "maps": np.array(maps, dtype=np.uint8).reshape(5, GRID, GRID),
        "limits": np.array([task.constraints.get(name, np.inf) for name in CONSTRAINTS]),
    }  # fmt: skip


def _covered(polygons: Sequence[Any]) -> np.ndarray:
    """Return (1600,) bool: the grid point lies inside a polygon."""
    from matplotlib.path import Path

    covered = np.zeros(POINTS, dtype=bool)
    for each in polygons:
        covered |= Path(np.array(each)).contains_points(CENTRES)
    return covered


def _stacked(rows: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Stack the arrays of each name; pad shorter arrays with 0."""
    found = {}
    for name in rows[0]:
        parts = [row[name] for row in rows]
        shape = tuple(np.max([part.shape for part in parts], axis=0).astype(int)) if parts[0].ndim else ()
        whole = np.zeros((len(parts), *shape), dtype=parts[0].dtype)
        for k, part in enumerate(parts):
            whole[(k, *map(slice, part.shape))] = part
        found[name] = whole
    return found


class Tables:
    """B tables with M discs each.

    :ivar data: the arrays of the tasks. :ivar rows: (B,) the index of each table's task.
    :ivar where, cell, theta: (B, M) as in `TaskArrays`. :ivar hand: (B,) the disc in hand + 1, or 0.
    :ivar steps: (B,) physics steps of the trial; `steps_before` of earlier trials.
    :ivar actions: (B,) of the trial; `actions_before` of earlier trials, `refused` of the trial, `trials` begun.
    :ivar calm: (B,) bool: at rest since the last action. :ivar waits: (B,) bool: a quiz is open; see `wait`.
    :ivar since: (B, M, 2) px, the places after the last action, before time passed.
    """

    #: The arrays (B, ...) that change during play.
    CHANGING = ("where", "cell", "theta", "hand", "steps", "steps_before", "actions", "actions_before", "refused",
                "trials", "calm", "waits", "since")  # fmt: skip

    def __init__(
        self,
        tasks: Sequence[Task],
        batch: int,
        discs: int,
        cells: int,
        coupling: float = COUPLING,
        framerate: int = FRAMERATE,
        compiled: bool = True,
    ) -> None:
        """
        :param discs, cells: M and G.
        :param coupling, framerate: K and physics steps per second, which certification varies.
        :param compiled: False runs the physics step by step in NumPy, with bit-identical results.
        """
        self.batch, self.discs, self.cells = batch, discs, cells
        self.coupling, self.framerate, self.compiled = coupling, framerate, compiled
        self.num_actions = 3 * discs + cells + 2 * POINTS + 8
        self.rows = np.zeros(batch, dtype=np.int64)
        shape = batch, discs
        self.where, self.cell, self.theta = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        self.hand, self.steps, self.steps_before = (np.zeros(batch, dtype=np.int64) for _ in range(3))
        self.actions, self.actions_before, self.refused, self.trials = (
            np.zeros(batch, dtype=np.int64) for _ in range(4)
        )
        self.calm, self.waits = np.zeros(batch, dtype=bool), np.zeros(batch, dtype=bool)
        self.since = np.zeros((*shape, 2))
        self.law = np.zeros(batch, dtype=np.int64)
        self._mask: np.ndarray | None = None
        self._distance: np.ndarray | None = None
        self.use(tasks)

    def use(self, tasks: Sequence[Task]) -> None:
        """Replace the list of tasks; tables in play keep their task indices.

        :raises InputError: a task has more discs or cells than there is room for, or other rules than the first task.
        """
        self.turning = tasks[0].rotation
        for task in tasks:
            if len(task.objects) > self.discs or task.max_grid_num > self.cells:
                raise InputError(
                    f"the task {task.name!r} has {len(task.objects)} discs and {task.max_grid_num} cells of the side "
                    f"bar; these tables have room for {self.discs} and {self.cells}: make them with max_obj_num and "
                    "max_grid_num, or of this task"
                )
            if task.rotation != self.turning:
                raise InputError(
                    f"the task {task.name!r}: rotation is {str(task.rotation).lower()}, and that of {tasks[0].name!r} "
                    "is not: tables of one batch have the same rules; play them in two"
                )
        playing = [self.save(i) for i in range(self.batch)] if hasattr(self, "state") else []
        self.data = TaskArrays(**_stacked([_arrays(task, self.discs) for task in tasks]))
        scenes = [scene_of(task, self.coupling, self.framerate) for task in tasks]
        # This task with the largest number of discs reserves room for them in the layout.
        crowd = tuple(DiscData(f"{k}", "", "medium", "medium", "+", stored=k) for k in range(self.discs))
        layout = Layout.of([*scenes, scene_of(Task("room", "Sandbox", crowd, rotation=self.turning))])
        self._all = State(scenes, layout)
        if not playing or self.state.layout != layout:
            self.state = self._all.select(np.zeros(self.batch, dtype=np.int64))
            self.simulator = Simulator(self.state)
            self.watch = self.simulator.watch(SLOW, self.framerate // 2)
            for i, kept in enumerate(playing):
                self.restore(i, kept)

    # ---- episodes and trials

    def begin(self, columns: np.ndarray, rows: np.ndarray, laws: Sequence[int]) -> None:
        """Begin episodes on the tables `columns`, (n,).

        :param rows: (n,) indices of tasks. :param laws: (n,) indices into `LAW_NAMES`.
        """
        self.rows[columns] = rows
        self.law[columns] = laws
        for count in (self.steps_before, self.actions_before, self.trials):
            count[columns] = 0
        self._start(columns)

    def next_trial(self, columns: np.ndarray) -> None:
        """Reset table, side bar and hand to the start; the solve time continues."""
        self.steps_before[columns] += self.steps[columns]
        self.actions_before[columns] += self.actions[columns]
        self._start(columns)

    def take(self, columns: np.ndarray, other: "Tables", rows: np.ndarray) -> None:
        """Copy states from other tables of the same tasks, bit for bit.

        :param columns: (n,) tables to overwrite. :param rows: (n,) tables of `other` to copy.
        """
        self.rows[columns], self.law[columns] = other.rows[rows], other.law[rows]
        for name in self.CHANGING:
            getattr(self, name)[columns] = getattr(other, name)[rows]
        self.state.take(columns, other.state, rows)
        self.simulator.time[columns] = other.simulator.time[rows]
        self.watch.age[columns], self.watch.places[columns] = other.watch.age[rows], other.watch.places[rows]
        self._changed()

    def _start(self, columns: np.ndarray) -> None:
        rows, data = self.rows[columns], self.data
        self.state.take(columns, self._all, rows)
        signs = np.array([LAWS[name] for name in LAW_NAMES])
        self.state.parameters[Coupling][columns] *= signs[self.law[columns]]
        for name in ("where", "cell", "theta"):
            getattr(self, name)[columns] = getattr(data, name)[rows]
        for count in (self.hand, self.steps, self.actions, self.refused):
            count[columns] = 0
        self.trials[columns] += 1
        self.since[columns] = self.place[columns]
        self.simulator.time[columns] = 0.0
        self.calm[columns] = self.waits[columns] = False
        self.watch.restart(columns, self.simulator.places())
        self._changed()

    # ---- the present state

    @property
    def place(self) -> np.ndarray:
        """Return the positions, (B, M, 2) px; meaningful only for discs on the table."""
        return self.state.columns[Position][:, : self.discs].transpose(2, 1, 0)

    @property
    def moved(self) -> np.ndarray:
        """Return the displacement of each disc since the last action, (B, M, 2) px."""
        return self.place - self.since

    @property
    def velocity(self) -> np.ndarray:
        """Return the velocities, (B, M, 2) px/s."""
        return self.state.columns[Velocity][:, : self.discs].transpose(2, 1, 0)

    @property
    def speed(self) -> np.ndarray:
        """Return the speeds, (B, M) px/s."""
        v = self.state.columns[Velocity][:, : self.discs]
        return np.sqrt(v[0] * v[0] + v[1] * v[1]).T

    def mask(self) -> np.ndarray:
        """Return (B, N) bool: open actions; the same array until the state changes."""
        if self._mask is None:
            self._mask = np.empty((self.batch, self.num_actions), dtype=bool)
            open_actions(
                self.rows, self.where, np.ascontiguousarray(self.place), self.cell, self.hand, self.waits,
                self.data.allowed, self.data.dark, GRID, CELL, 2 * RADIUS, self.discs, self.cells, self._mask,
            )  # fmt: skip
        return self._mask

    def distance(self) -> np.ndarray:
        """Return (B,) d(s, g), from 0 if the goal is reached to 1 (A.1, eq. 8 to 11)."""
        if self._distance is None:
            data, rows = self.data, self.rows
            self._distance = np.empty(self.batch)
            goal_distances(
                rows, data.family, self.where, data.where[rows], np.ascontiguousarray(self.place), data.place[rows],
                np.ascontiguousarray(self.speed), self.cell, data.cell[rows], self.theta, data.theta[rows], data.golden,
                data.concerned, data.answer, data.corners, data.counts, data.areas, DIAGONAL, self._distance,
            )  # fmt: skip
        return self._distance

    # ---- actions and time

    def act(self, actions: np.ndarray, idle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Carry out an action on each table; no time passes.

        :param actions: (B,) int64; closed actions are refused and counted.
        :param idle: (B,) bool, tables without an action.
        :returns: (B,) bool: the action was CHECK; (B,) int64 the largest number of physics steps to run now.
        """
        known = (actions >= 0) & (actions < self.num_actions) & ~idle
        chosen = np.where(known, actions, 0)
        done = known & self.mask()[np.arange(self.batch), chosen]
        self.refused += ~done & ~idle
        self.actions += done
        M, first, last = self.discs, 3 * self.discs + self.cells, self.num_actions
        active = np.flatnonzero(done)
        a = chosen[active]
        grab = (a < 2 * M) | (a == last + TAKE_UP)
        disc = np.where(a < 3 * M, a % M, self.hand[active] - 1)
        hold = ((a >= 2 * M) & (a < 3 * M)) | ((a >= first + POINTS) & (a < last + RESERVED))
        put = ((a >= first) & (a < first + POINTS)) | (a == last + PUT_DOWN)
        store = (a >= 3 * M) & (a < first)
        point = np.where((a >= first) & (a < last + RESERVED), (a - first) % POINTS, -1)
        turn = np.where(a == last + TURN, 1, np.where(a == last + TURN_BACK, -1, 0))
        touched = grab & (a >= M) | hold | put | (turn != 0)
        for which, state in ((grab, GRABBED), (hold, HELD), (put, PLACED), (store, STORED)):
            self.where[active[which], disc[which]] = state
        self.hand[active[grab | hold]] = disc[grab | hold] + 1
        self.hand[active[put | store]] = 0
        self.cell[active[grab | hold | put], disc[grab | hold | put]] = 0
        self.cell[active[store], disc[store]] = a[store] - 3 * M + 1
        columns = self.state.columns
        at = point >= 0
        columns[Position][:, disc[at], active[at]] = CENTRES[point[at]].T
        changed = grab | hold | put | store
        slots, tables = disc[changed], active[changed]
        columns[Alive][0, slots, tables] = (hold | put)[changed]
        columns[Mobile][0, slots, tables] = ~hold[changed]
        columns[Velocity][:, slots, tables] = 0.0
        if self.turning:
            columns[Spin][:, slots, tables] = 0.0
        for k in np.flatnonzero(turn).tolist():
            table, slot = active[k], disc[k]
            theta = self.theta[table, slot] = (self.theta[table, slot] + turn[k]) % 8
            if self.data.dipole[self.rows[table], slot]:
                columns[Arm][:, slot, table] = arm(int(theta))
        self.calm[active[touched]] = False
        restless = np.flatnonzero(done & ~self.calm)
        self.watch.restart(restless, self.simulator.places())
        none, check = np.zeros(self.batch, dtype=bool), np.zeros(self.batch, dtype=bool)
        none[active], check[active] = a == last + NONE, a == last + CHECK
        self.since[done] = self.place[done]
        self._changed()
        longest = np.where(none, NONE_SECONDS, np.where(done & ~check, LONGEST_SECONDS, 0.0))
        return check, (longest * self.framerate).astype(np.int64)

    def wait(self, which: np.ndarray, waits: bool = True) -> None:
        """Make the tables `which`, (B,) bool, wait for answers or continue. Waiting closes all actions except NONE."""
        self.waits[which] = waits
        self._changed()

    def run(self, most: np.ndarray, whole: np.ndarray | None = None) -> None:
        """Run the physics until all discs rest, at most `most` steps, (B,) int64.

        :param whole: (B,) bool: count all of `most` as passed, even if the discs rest earlier.
        """
        runs = np.where(self.calm, 0, most)
        if runs.any():
            made, rests = self.simulator.run(runs, self.watch, compiled=self.compiled)
            self.calm |= rests
            if self.turning:  # theta is rounded to an eighth; the arm is exact
                x, y = self.state.columns[Arm][:, : self.discs]
                eighths = np.rint(np.arctan2(-y, x) * (4.0 / np.pi)).astype(np.int64) % 8
                self.theta = np.where(self.data.dipole[self.rows], eighths.T, self.theta)
            self._changed()
        else:
            made = runs
        self.steps += made if whole is None else np.where(whole, most, made)

    def _factors(self) -> tuple[type[Factor], ...]:
        """Return the factors of a disc that change in play."""
        return Position, Velocity, Alive, Mobile, Arm, *((Spin,) if self.turning else ())

    def _changed(self) -> None:
        self._mask = self._distance = None

    # ---- saving

    def save(self, i: int) -> dict[str, Any]:
        """Return the state of table i as plain data; `restore` continues from it, bit for bit."""
        kept = {name: getattr(self, name)[i].tolist() for name in self.CHANGING}
        kept["factors"] = {
            factor.__name__: self.state.columns[factor][:, : self.discs, i].tolist() for factor in self._factors()
        }
        kept["watch"] = {"age": int(self.watch.age[i]), "places": self.watch.places[i].tolist()}
        kept["time"], kept["law"] = float(self.simulator.time[i]), LAW_NAMES[self.law[i]]
        return kept

    def restore(self, i: int, kept: dict[str, Any]) -> None:
        """Set table i, which must have the same task, to a state from `save`."""
        columns = np.array([i])
        self.law[i] = LAW_NAMES.index(kept["law"])
        self._start(columns)
        for name in self.CHANGING:
            getattr(self, name)[i] = kept[name]
        for factor in self._factors():
            self.state.columns[factor][:, : self.discs, i] = kept["factors"][factor.__name__]
        self.watch.age[i], self.watch.places[i] = kept["watch"]["age"], kept["watch"]["places"]
        self.simulator.time[i] = kept["time"]
        self._changed()
