"""Many steps of each scene in one compiled loop, until it rests: bit for bit what `Simulator.step` does one by one.

A scene leaves the loop when it rests, so that scenes at rest cost nothing more. It serves scenes whose rules for
accelerations and drags `Law` can compile, beside `accelerate` and `move`; others run step by step.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, types, void

from .builtin_rules import FIXED_RULES
from .compiled_rules import CompiledRule
from .contacts import MAX_IMPACTS, clip_all, travel, traveling_room
from .discs import ENERGY, EXTRA_X, EXTRA_Y, INVERSE, VX, VY, R, X, Y
from .factors import (
    Acceleration,
    Alive,
    Done,
    Drag,
    Factor,
    Framerate,
    InfiniteEnergy,
    Mass,
    MaxVelocity,
    MinVelocity,
    Mobile,
    Position,
    Restitution,
    Size,
    StoredEnergy,
    Velocity,
    WallDamping,
)
from .obstacles import lay_out
from .rest import RestWatch
from .resting import is_clear, press, touching
from .state import State
from .traced_rules import LAW, Law, NotTraced

#: Rows of the matrix of a scene that the loop itself reads and changes, with the value where there is no such factor.
_ROWS: dict[type[Factor], float] = {
    Position: 0.0, Velocity: 0.0, Acceleration: 0.0, Drag: 0.0, StoredEnergy: 0.0, Alive: 1.0, Done: 0.0, Mobile: 1.0,
    Mass: 1.0, Size: 0.0, InfiniteEnergy: 0.0,
}  # fmt: skip
_PLACE, _V, _A, _DRAG, _ENERGY, _ALIVE, _DONE, _MOBILE, _MASS, _SIZE, _LASTS = 0, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13
_CHANGED = (Position, Velocity, Acceleration, Drag, StoredEnergy)
_PARAMETERS = (Framerate, MinVelocity, MaxVelocity, WallDamping, Restitution)
_OWN = len(_PARAMETERS)
#: Scenes below which a second thread costs more than it saves.
_SHARED = 16


class CompiledRun:
    """The loop for the scenes of a state."""

    def __init__(self, state: State, rules: Sequence[CompiledRule], blocks: np.ndarray) -> None:
        """:param rules: all of the scenes that reach an entity.
        :param blocks: slots of inner walls.
        :raises NotTraced: rules that cannot be compiled, or a rule for some of the discs only.
        """
        self._state, self._blocks = state, blocks
        self._discs = len(state.layout.owners([Position, Velocity]))
        own = [FIXED_RULES["move"], FIXED_RULES["accelerate"]]
        if not all(any(each.rule is one for each in rules) for one in own):
            raise NotTraced("the rules move and accelerate are part of the loop")
        for each in rules:
            if any(not np.array_equal(slots, np.arange(self._discs)) for slots in each.slots):
                raise NotTraced(f"{each.rule.name} concerns others than all discs")
        self._law = Law([each for each in rules if each.rule not in own], _ROWS)
        self._walls: tuple[int, tuple[np.ndarray, ...]] = (-1, ())

    def __call__(self, steps: np.ndarray, watch: RestWatch, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run each scene until it rests, at most so many steps.

        :param steps: (B,) int64.
        :param time: (B,) seconds, which go on.
        :returns: (B,) int64 steps made, (B,) bool which rest.
        :raises InputError: something is not finite.
        """
        state, batch = self._state, self._state.num_envs
        matrix = np.concatenate([self._column(each) for each in self._law.factors]).transpose(2, 0, 1).copy()
        parameters = np.stack([state.parameters[each] for each in (*_PARAMETERS, *self._law.parameters)], axis=1)
        made, rests = np.zeros(batch, dtype=np.int64), np.zeros(batch, dtype=np.bool_)
        arrays = (
            np.ascontiguousarray(state.present[: self._discs].T), matrix, parameters,
            np.ascontiguousarray(state.walls.T), *self._inner_walls(), steps.astype(np.int64), watch.places, watch.age,
            watch.near, time, made, rests, *self._law.room(self._discs),
        )  # fmt: skip
        kernel, law = _kernel(), self._law.function
        workers = 1 if batch < _SHARED else _threads()
        if workers == 1:
            kernel(law, 0, 1, *arrays)
        else:
            list(_pool().map(lambda worker: kernel(law, worker, workers, *arrays), range(workers)))
        if not np.isfinite(matrix[:, : _V + 2]).all():
            self._write(matrix)
            state.check_finite()
        self._write(matrix)
        return made, rests

    def _column(self, factor: type[Factor]) -> np.ndarray:
        """(d, n, B) float64 of the discs."""
        column = self._state.columns.get(factor)
        if column is None:
            return np.full((1, self._discs, self._state.num_envs), _ROWS[factor])
        return column[:, : self._discs].astype(np.float64)

    def _write(self, matrix: np.ndarray) -> None:
        for factor in _CHANGED:
            column = self._state.columns.get(factor)
            if column is not None:
                row = self._law.row(factor)
                column[:, : self._discs] = matrix[:, row : row + len(column)].transpose(1, 2, 0)

    def _inner_walls(self) -> tuple[np.ndarray, ...]:
        """Corners (B, M, V, 2), how many (B, M), radii (B, M), middles and reaches (B, M, 3), and counts (B,)."""
        state = self._state
        if self._walls[0] != state.version:
            batch, most = state.num_envs, len(self._blocks)
            points = np.zeros((batch, most, state.layout.corners, 2))
            numbers, radii = np.zeros((batch, most), dtype=np.int64), np.zeros((batch, most))
            middles, found = np.zeros((batch, most, 3)), np.zeros(batch, dtype=np.int64)
            slots = np.zeros(most, dtype=np.int64)
            for b in range(batch) if most else ():
                found[b] = lay_out(
                    b, self._blocks, state.present, state.columns[Position], state.columns[Size], state.kinds,
                    state.corners, state.corner_counts, state.drawn_size, state.reaches, points[b], numbers[b],
                    radii[b], middles[b], slots,
                )  # fmt: skip
            self._walls = state.version, (points, numbers, radii, middles, found)
        return self._walls[1]


@njit(cache=True, nogil=True)
def _pack(present, f, d, mine, lasts):
    """The discs of a scene that are there, alive and not done; as `discs.pack`, from the rows of a scene's matrix."""
    count = 0
    for k in range(len(present)):
        if not present[k] or f[_ALIVE, k] == 0.0 or f[_DONE, k] != 0.0:
            continue
        mine[count], lasts[count] = k, f[_LASTS, k] != 0.0
        d[X, count], d[Y, count] = f[_PLACE, k], f[_PLACE + 1, k]
        d[EXTRA_X, count] = d[EXTRA_Y, count] = 0.0
        d[R, count], d[ENERGY, count] = f[_SIZE, k] / 2.0, f[_ENERGY, k]
        moves = f[_MOBILE, k] != 0.0 and f[_MASS, k] > 0.0
        d[INVERSE, count] = 1.0 / f[_MASS, k] if moves else 0.0
        count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _accelerate(k, f, a, b, framerate):
    """`accelerate` of builtin_rules, in its order of operations: the velocity of disc k under (a, b) and its drag."""
    dt = 1.0 / framerate
    vx, vy = f[_V, k], f[_V + 1, k]
    px, py = vx + a * dt, vy + b * dt
    speed = np.sqrt(px * px + py * py)
    kept = max(speed - f[_DRAG, k] * dt, 0.0) / (speed if speed > 0.0 else 1.0)
    f[_V, k] = vx + ((px * kept - vx) * framerate) / framerate
    f[_V + 1, k] = vy + ((py * kept - vy) * framerate) / framerate


@njit(cache=True, nogil=True, inline="always")
def _step(f, parameters, low, high, walls, room, count, d, mine, lasts, free, answered):
    """One step of a scene after the law; returns whether places or velocities changed."""
    framerate, slowest, fastest, damping, restitution = (
        parameters[0], parameters[1], parameters[2], parameters[3], parameters[4]
    )  # fmt: skip
    points, numbers, radii, middles, obstacles = walls
    # Discs that touch and do not bounce hold one another, before friction acts; see `resting.hold`.
    for k in range(count):
        d[VX, k] = f[_V, mine[k]] + f[_A, mine[k]] / framerate
        d[VY, k] = f[_V + 1, mine[k]] + f[_A + 1, mine[k]] / framerate
    time = 1.0 / framerate
    clear = is_clear(count, d, time, low, high, points, numbers, radii, middles, obstacles)
    for k in range(count):
        free[0, k], free[1, k] = d[VX, k], d[VY, k]
    contacts, who, contact = 0, room[-2], room[-1]
    if restitution == 0.0 and not clear:
        contacts = touching(count, d, time, low, high, points, numbers, radii, obstacles, answered, who, contact)
        press(contacts, d, who, contact)
    packed = 0
    for k in range(f.shape[1]):
        a, b = f[_A, k], f[_A + 1, k]
        if packed < count and mine[packed] == k:
            if d[VX, packed] != free[0, packed]:
                a = (d[VX, packed] - f[_V, k]) * framerate
            if d[VY, packed] != free[1, packed]:
                b = (d[VY, packed] - f[_V + 1, k]) * framerate
            packed += 1
        _accelerate(k, f, a, b, framerate)
    changed = False
    for k in range(f.shape[1]):
        speed = np.sqrt(f[_V, k] * f[_V, k] + f[_V + 1, k] * f[_V + 1, k])
        if speed > fastest:
            f[_V, k] *= fastest / speed
            f[_V + 1, k] *= fastest / speed
    for k in range(count):
        d[VX, k], d[VY, k] = f[_V, mine[k]], f[_V + 1, mine[k]]
    if clear:
        for k in range(count):
            moves = np.sqrt(d[VX, k] * d[VX, k] + d[VY, k] * d[VY, k]) >= slowest
            d[X, k] += ((d[VX, k] if moves else 0.0) + 0.0) * time
            d[Y, k] += ((d[VY, k] if moves else 0.0) + 0.0) * time
    else:
        if restitution == 0.0:
            press(contacts, d, who, contact)
            clip_all(count, d, fastest)
        travel(
            count, d, lasts, time, (MAX_IMPACTS + 1) * count, (slowest, fastest, damping, restitution), low, high, True,
            walls, answered, -1, -1, 0.0, 0.0, room,
        )  # fmt: skip
    for k in range(count):
        slot = mine[k]
        changed = changed or d[X, k] != f[_PLACE, slot] or d[Y, k] != f[_PLACE + 1, slot]
        f[_PLACE, slot], f[_PLACE + 1, slot] = d[X, k], d[Y, k]
        f[_V, slot], f[_V + 1, slot], f[_ENERGY, slot] = d[VX, k], d[VY, k], d[ENERGY, k]
    return changed


@njit(cache=True, nogil=True, inline="always")
def _rests(count, f, mine, places, age, near):
    """After a step: whether no disc was elsewhere within the window; see `RestWatch.look`."""
    window = len(places)
    place = age % window
    still = age >= window
    for earlier in range(window):  # the oldest first, from which most have gone away
        w = (place + earlier) % window
        for k in range(count if still else 0):
            dx, dy = f[_PLACE, mine[k]] - places[w, mine[k], 0], f[_PLACE + 1, mine[k]] - places[w, mine[k], 1]
            if dx * dx + dy * dy >= near * near:
                still = False
        if not still:
            break
    for k in range(f.shape[1]):
        places[place, k, 0], places[place, k, 1] = f[_PLACE, k], f[_PLACE + 1, k]
    return still


def _run(
    law, first, stride, present, matrix, parameters, boundaries, points, numbers, radii, middles, obstacles, steps,
    places, age, near, time, made, rests, rows, lanes,
):  # fmt: skip
    """The loop over the scenes first, first + stride, ...; arrays as `CompiledRun.__call__` has them."""
    discs = matrix.shape[2]
    d, free = np.empty((11, discs)), np.empty((2, discs))
    room = traveling_room(discs, points.shape[1])
    mine, lasts = np.empty(discs, dtype=np.int64), np.empty(discs, dtype=np.bool_)
    answered = np.zeros((0, 0), dtype=np.bool_)
    before, sums, side_by_side = np.empty((2, discs)), np.empty((rows, discs)), np.zeros(lanes)
    for b in range(first, len(matrix), stride):
        f, p, here, own = matrix[b], parameters[b], present[b], parameters[b, _OWN:]
        count = _pack(here, f, d, mine, lasts)
        walls = points[b], numbers[b], radii[b], middles[b], obstacles[b]
        while made[b] < steps[b] and not rests[b]:
            before[:] = f[_V : _V + 2]
            law(discs, here, f, own, sums, side_by_side)
            moved = _step(f, p, boundaries[b, 0], boundaries[b, 1], walls, room, count, d, mine, lasts, free, answered)
            made[b] += 1
            age[b] += 1
            time[b] += 1.0 / p[0]
            changed = moved
            for k in range(discs):
                changed = changed or before[0, k] != f[_V, k] or before[1, k] != f[_V + 1, k]
            rests[b] = _rests(count, f, mine, places[b], age[b], near[b]) or not changed
        if rests[b]:
            f[_V : _V + 2] = 0.0


@cache
def _kernel() -> Any:
    """`_run`, compiled when it is first asked for: the law is an argument, so that one loop serves all rules."""
    real, whole, truth = float64[:, ::1], int64[::1], boolean[::1]
    return njit(
        void(
            types.FunctionType(LAW), int64, int64, boolean[:, ::1], float64[:, :, ::1], real, real,
            float64[:, :, :, ::1], int64[:, ::1], real, float64[:, :, ::1], whole, whole, float64[:, :, :, ::1], whole,
            float64[::1], float64[::1], whole, truth, int64, int64,
        ),
        cache=True,
        nogil=True,
    )(_run)  # fmt: skip


@cache
def _threads() -> int:
    return min(os.cpu_count() or 1, 16)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="physics")
