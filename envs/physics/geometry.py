"""Geometry of batches: arrays of discs, inner walls, and overlaps of circles and convex polygons."""

import sys
from typing import Any

import numpy as np
from numba import njit
from numba.core import event

from .factors import Floor, Position, Size
from .state import CIRCLE, POLYGON, State

MESSAGE = "compiling the physics for the first use (about 15 s)"


class _Teller(event.Listener):
    """Print a line when the first function of the physics is compiled, not when numba loads it from its cache."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if not self._told and module.startswith(f"{__package__}."):
            self._told = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Teller())


# ---- The discs of a scene in a small array, for the loops over contacts.

#: Rows of the array of discs: position, velocity, change of position per second (drift), radius, 1 / mass, stored
#: energy, and the part of the drift that rules add.
X, Y, VX, VY, U, W, R, INVERSE, ENERGY, EXTRA_X, EXTRA_Y = range(11)


@njit(cache=True)
def pack(b, slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite, d, mine, lasts):
    """Copy the discs of scene b that are present, alive and not done into d (11, n); return their number."""
    count = 0
    for k in slots:
        if not present[k, b] or not alive[0, k, b] or done[0, k, b]:
            continue
        mine[count], lasts[count] = k, infinite[0, k, b]
        d[X, count], d[Y, count] = place[0, k, b], place[1, k, b]
        d[VX, count], d[VY, count] = velocity[0, k, b], velocity[1, k, b]
        d[EXTRA_X, count], d[EXTRA_Y, count] = extra[0, k, b], extra[1, k, b]
        d[R, count], d[ENERGY, count] = size[0, k, b] / 2.0, energy[0, k, b]
        moves = mobile[0, k, b] and mass[0, k, b] > 0.0
        d[INVERSE, count] = 1.0 / mass[0, k, b] if moves else 0.0
        count += 1
    return count


@njit(cache=True)
def tell_answered(b, count, obstacles, mine, block_slots, special, answered):
    """Mark contacts of scene b's discs that rules handle: (n, n + 1 + m), for discs, the walls, and inner walls."""
    total, walls = special.shape[0], answered.shape[0]
    for i in range(count):
        for j in range(count):
            answered[i, j] = special[mine[i], mine[j], b]
        answered[i, walls] = special[mine[i], total, b]
        for m in range(obstacles):
            answered[i, walls + 1 + m] = special[mine[i], block_slots[m], b]


@njit(cache=True)
def first_outside(values, present, least, most):
    """Return the index d, k, b of the first value (d, n, B) of a present entity (n, B) outside the bounds; -1, -1, -1
    if there is none.
    """
    for d in range(values.shape[0]):
        for k in range(values.shape[1]):
            for b in range(values.shape[2]):
                if present[k, b] and not (values[d, k, b] >= least and values[d, k, b] <= most):
                    return d, k, b
    return -1, -1, -1


# ---- Inner walls: the distance of a point from a convex polygon or circle, and the time until a disc meets it.

#: Minimal speed of an approach.
STILL = 1e-12
_NEWTON = 60


@njit(cache=True)
def closest(px, py, m, points, counts, radii):
    """Return the distance of a point from obstacle m (negative inside), and the unit vector from obstacle to point."""
    count = counts[m]
    if count == 1:
        dx, dy = px - points[m, 0, 0], py - points[m, 0, 1]
        away = np.sqrt(dx * dx + dy * dy)
        if away == 0.0:
            return -radii[m], 1.0, 0.0
        return away - radii[m], dx / away, dy / away
    inside, deepest, nearest = True, -np.inf, np.inf
    inner_x, inner_y, outer_x, outer_y = 1.0, 0.0, 0.0, 0.0
    for k in range(count):
        ax, ay = points[m, k, 0], points[m, k, 1]
        following = k + 1 if k + 1 < count else 0
        ex, ey = points[m, following, 0] - ax, points[m, following, 1] - ay
        length = np.sqrt(ex * ex + ey * ey)
        if length == 0.0:
            continue
        dx, dy = px - ax, py - ay
        outside = (dx * ey - dy * ex) / length
        if outside > deepest:
            deepest, inner_x, inner_y = outside, ey / length, -ex / length
        if outside > 0.0:
            inside = False
        along = min(max((dx * ex + dy * ey) / (length * length), 0.0), 1.0)
        gx, gy = dx - along * ex, dy - along * ey
        square = gx * gx + gy * gy
        if square < nearest:
            nearest, outer_x, outer_y = square, gx, gy
    if inside or nearest == 0.0:
        return deepest, inner_x, inner_y
    away = np.sqrt(nearest)
    return away, outer_x / away, outer_y / away


@njit(cache=True)
def time_to(px, py, u, w, r, m, points, counts, radii, horizon):
    """Return the time until a disc of radius r meets obstacle m; inf for never, or not before the horizon.

    The distance is a convex function of time, so that Newton's method never passes its first root.
    """
    t = 0.0
    for _ in range(_NEWTON):
        distance, nx, ny = closest(px + u * t, py + w * t, m, points, counts, radii)
        approach = -(u * nx + w * ny)
        if approach <= STILL:
            return np.inf
        gap = distance - r
        if gap <= 1e-14:
            return t
        t += gap / approach
        if t >= horizon:
            return np.inf
    return t


@njit(cache=True)
def lay_out(
    b, blocks, present, place, size, kinds, corners, counts, drawn, reaches, points, numbers, radii, middles, slots
):
    """Write scene b's obstacles: corners (M, V, 2) and their number, radii of circles, middles and reaches (M, 3), and
    slots; a circle is a point with a radius. Return the number of obstacles.
    """
    found = 0
    for slot in blocks:
        if not present[slot, b]:
            continue
        slots[found] = slot
        cx, cy = place[0, slot, b], place[1, slot, b]
        middles[found, 0], middles[found, 1] = cx, cy
        if kinds[slot, b] == 1:
            numbers[found], radii[found] = 1, size[0, slot, b] / 2.0
            points[found, 0, 0], points[found, 0, 1] = cx, cy
            middles[found, 2] = radii[found]
        else:
            scale = size[0, slot, b] / drawn[slot, b]
            numbers[found], radii[found] = counts[slot, b], 0.0
            for k in range(counts[slot, b]):
                points[found, k, 0] = cx + corners[k, 0, slot, b] * scale
                points[found, k, 1] = cy + corners[k, 1, slot, b] * scale
            middles[found, 2] = reaches[slot, b] * scale
        found += 1
    return found


#: Circles closer than the sum of their radii plus this value overlap.
EPS = 1e-7


def is_on(state: State, whole: bool) -> np.ndarray:
    """Return (N, N, B) bool: [i, j] is true if j is the topmost floor that i overlaps, or, without `whole`, an entity
    without a position.

    :param whole: require i to lie entirely inside j; never true in a polygon if polygons do not scale (SEGAR's code).
    """
    if "is_on" not in state.derived:
        shape = state.slots, state.slots, state.num_envs
        on, inside = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        _top(_figures(state), state.present, state.rank, state.marks(Floor), state.marks(Position), on, inside)
        state.derived["is_on"] = on, inside
    return state.derived["is_on"][1 if whole else 0]


def overlaps(state: State) -> np.ndarray:
    """Return (N, N, B) bool, whether i and j are present and overlap."""
    over = np.zeros((state.slots, state.slots, state.num_envs), dtype=np.bool_)
    _pairs(_figures(state), state.present, state.marks(Position), over)
    return over


def _figures(state: State) -> tuple[np.ndarray, ...]:
    size = state.columns[Size][0] if Size in state.columns else np.zeros(state.kinds.shape)
    place = state.columns[Position] if Position in state.columns else np.zeros((2, *state.kinds.shape))
    drawn = state.drawn_size if state.polygons_scale else np.zeros(state.kinds.shape)
    return place, size, drawn, state.reaches, state.kinds, state.corners, state.corner_counts


@njit(cache=True)
def _depth(px, py, j, b, size, drawn, reaches, corners, counts):
    """Return the depth of a point, relative to polygon j's position, inside the polygon; negative if outside."""
    scale = size[j, b] / drawn[j, b] if drawn[j, b] > 0 else 1.0
    reach = reaches[j, b] * scale
    if px * px + py * py > reach * reach:
        return -1.0
    n, depth = counts[j, b], np.inf
    for measures in (False, True):  # most points are outside, which is decided without roots
        ax, ay = corners[n - 1, 0, j, b] * scale, corners[n - 1, 1, j, b] * scale
        for k in range(n):
            bx, by = corners[k, 0, j, b] * scale, corners[k, 1, j, b] * scale
            ex, ey = bx - ax, by - ay
            left = ex * (py - ay) - ey * (px - ax)
            if measures:
                length = np.sqrt(ex * ex + ey * ey)
                if length > 0.0:
                    depth = min(depth, left / length)
            elif left < 0.0:
                return -1.0
            ax, ay = bx, by
    return depth


@njit(cache=True)
def _lies_on(i, j, b, figures):
    """Return whether circles (or points) i and j overlap, or the centre of i is inside polygon j; and whether circle i
    lies entirely inside j.
    """
    x, size, drawn, reaches, kinds, corners, counts = figures
    dx, dy = x[0, i, b] - x[0, j, b], x[1, i, b] - x[1, j, b]
    radius = size[i, b] / 2 if kinds[i, b] == CIRCLE else 0.0
    if kinds[j, b] == CIRCLE:
        distance = np.sqrt(dx * dx + dy * dy)
        return distance <= size[j, b] / 2 + radius + EPS, distance <= size[j, b] / 2 - radius
    if kinds[j, b] == POLYGON:
        depth = _depth(dx, dy, j, b, size, drawn, reaches, corners, counts)
        return depth >= 0.0, depth >= radius and drawn[j, b] > 0
    return False, False


@njit(cache=True)
def _top(figures, present, rank, floors, placed, on, inside):
    slots, batch = present.shape
    x, size, drawn, reaches, kinds = figures[0], figures[1], figures[2], figures[3], figures[4]
    bound, round_, near = np.empty(batch), np.empty(batch, dtype=np.bool_), np.empty(batch, dtype=np.bool_)
    top, whole = np.full((slots, batch), slots), np.zeros((slots, batch), dtype=np.bool_)
    for j in range(slots):
        if not floors[j]:
            continue
        # A centre farther away than this bound (for a round tile: plus the disc's radius) is not on the tile.
        for b in range(batch):
            scale = size[j, b] / drawn[j, b] if drawn[j, b] > 0 else 1.0
            round_[b] = kinds[j, b] == CIRCLE
            bound[b] = size[j, b] / 2 + 2 * EPS if round_[b] else reaches[j, b] * scale
        for i in range(slots):
            if floors[i] or not placed[i]:
                continue
            for b in range(batch):  # no branches, so that the compiler vectorises over scenes
                dx, dy = x[0, i, b] - x[0, j, b], x[1, i, b] - x[1, j, b]
                reach = bound[b] + (size[i, b] / 2 if round_[b] else 0.0)
                near[b] = (dx * dx + dy * dy <= reach * reach) & present[i, b] & present[j, b]
            for b in range(batch):
                if near[b] and (top[i, b] == slots or rank[j, b] < rank[top[i, b], b]):
                    over, all_of_it = _lies_on(i, j, b, figures)
                    if over:
                        top[i, b], whole[i, b] = j, all_of_it
    for i in range(slots):
        if floors[i] or not placed[i]:
            continue
        for b in range(batch):
            if top[i, b] < slots:
                on[i, top[i, b], b], inside[i, top[i, b], b] = True, whole[i, b]
        for k in range(slots):
            if not placed[k]:
                for b in range(batch):
                    on[i, k, b] = present[i, b] and present[k, b]


@njit(cache=True)
def _pairs(figures, present, placed, out):
    kinds = figures[4]
    slots, batch = kinds.shape
    for b in range(batch):
        for i in range(slots):
            for j in range(slots):
                if i == j or not (placed[i] and placed[j] and present[i, b] and present[j, b]):
                    continue
                turned = kinds[i, b] == POLYGON and kinds[j, b] != POLYGON
                first, second = (j, i) if turned else (i, j)
                out[i, j, b] = _lies_on(first, second, b, figures)[0]
