"""Who lies on whom: overlaps of circles and convex polygons, for whole batches."""

import numpy as np
from numba import njit

from . import compiling as compiling  # tells that it compiles
from .factors import Floor, Position, Size
from .state import CIRCLE, POLYGON, State

#: Circles that are closer than the sum of their radii and this overlap.
EPS = 1e-7


def is_on(state: State, whole: bool) -> np.ndarray:
    """(N, N, B) bool: [i, j] where j is the topmost floor that i overlaps; without `whole` j may also be anything
    without a position.

    :param whole: i lies inside j as a whole. Where polygons do not scale (SEGAR's code), nothing does in a polygon.
    """
    if "is_on" not in state.derived:
        shape = state.slots, state.slots, state.num_envs
        on, inside = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        _top(_figures(state), state.present, state.rank, state.marks(Floor), state.marks(Position), on, inside)
        state.derived["is_on"] = on, inside
    return state.derived["is_on"][1 if whole else 0]


def overlaps(state: State) -> np.ndarray:
    """(N, N, B) bool: i and j are there and lie on one another."""
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
    """How far the point, relative to polygon j's position, lies inside it; negative where it does not."""
    scale = size[j, b] / drawn[j, b] if drawn[j, b] > 0 else 1.0
    reach = reaches[j, b] * scale
    if px * px + py * py > reach * reach:
        return -1.0
    n, depth = counts[j, b], np.inf
    for measures in (False, True):  # most points are outside, which takes no roots to tell
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
    """Whether circles (or points) i and j overlap, or the centre of i is inside polygon j; and whether circle i lies
    inside j as a whole.
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
        # No centre farther away than this, of a round tile than this and the disc's radius, is on the tile.
        for b in range(batch):
            scale = size[j, b] / drawn[j, b] if drawn[j, b] > 0 else 1.0
            round_[b] = kinds[j, b] == CIRCLE
            bound[b] = size[j, b] / 2 + 2 * EPS if round_[b] else reaches[j, b] * scale
        for i in range(slots):
            if floors[i] or not placed[i]:
                continue
            for b in range(batch):  # no branches: the compiler handles several scenes at a time
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
