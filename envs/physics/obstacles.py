"""Inner walls: the distance of a point from a convex polygon or circle, and when a disc meets it."""

import numpy as np
from numba import njit

from . import compiling as compiling  # tells that it compiles

#: Approaching more slowly than this is none.
STILL = 1e-12
_NEWTON = 60


@njit(cache=True)
def closest(px, py, m, points, counts, radii):
    """The distance of a point from obstacle m (negative inside), and the unit vector from the obstacle to the point."""
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
    """When a disc of radius r meets obstacle m; inf for never, or not before the horizon.

    The distance is a convex function of time, so that Newton's method never goes past its first root.
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
    """Corners of scene b's obstacles in the arena: points (M, V, 2), how many, radii of circles, middles and reaches
    (M, 3), and their slots. A circle is one point with a radius.

    :returns: how many obstacles there are.
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
