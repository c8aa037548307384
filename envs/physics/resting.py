"""Discs that touch: what velocity presses them together, and pushing apart what overlaps."""

import numpy as np
from numba import njit

from .discs import INVERSE, VX, VY, R, X, Y, pack, tell_answered
from .obstacles import closest, lay_out

#: Gaps up to which discs touch; overlaps up to this share of the distance of centres are none.
TOUCH = 1e-9
#: Gaps up to which discs that do not bounce count as touching at the end of the step.
NEAR = 0.03
#: Rounds of taking away velocities that press, and the change that is none.
SETTLING, SETTLED = 400, 1e-12
#: Rounds of pushing overlapping discs apart.
PUSHING = 100


@njit(cache=True)
def settle(count, d, left, low, high, points, numbers, radii, obstacles, answered):
    """Take what velocity presses touching discs, walls and inner walls together: impulses that never pull, until
    nothing changes (projected Gauss-Seidel; the result has the least kinetic energy). Discs that nearly touch may
    approach as fast as closes the gap in the time that is left, so that they touch at its end.

    :param answered: contacts that rules answer instead; see `advance`.
    """
    most = count * (count + 3 + obstacles)
    one, two = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    nx, ny, pressed, allowed = np.empty(most), np.empty(most), np.zeros(most), np.zeros(most)
    contacts, asks = 0, answered.shape[0] > 0
    walls = answered.shape[0]
    for i in range(count):
        for j in range(i + 1, count):
            dx, dy = d[X, j] - d[X, i], d[Y, j] - d[Y, i]
            reach = d[R, i] + d[R, j]
            square, near = dx * dx + dy * dy, reach * (1.0 + NEAR)
            if square > near * near or d[INVERSE, i] + d[INVERSE, j] == 0.0 or (asks and answered[i, j]):
                continue
            distance = np.sqrt(square)
            one[contacts], two[contacts] = i, j
            nx[contacts], ny[contacts] = (dx / distance, dy / distance) if distance > 0.0 else (1.0, 0.0)
            allowed[contacts] = distance - reach
            contacts += 1
        if d[INVERSE, i] == 0.0:
            continue
        near = d[R, i] * (1.0 + NEAR)
        for axis in range(2):
            for side in (-1.0, 1.0):
                away = high - d[X + axis, i] if side > 0.0 else d[X + axis, i] - low
                if away <= near and not (asks and answered[i, walls]):
                    one[contacts], two[contacts] = i, -1
                    nx[contacts], ny[contacts] = (side, 0.0) if axis == 0 else (0.0, side)
                    allowed[contacts] = away - d[R, i]
                    contacts += 1
        for m in range(obstacles):
            distance, ox, oy = closest(d[X, i], d[Y, i], m, points, numbers, radii)
            if distance <= near and not (asks and answered[i, walls + 1 + m]):
                one[contacts], two[contacts] = i, -1
                nx[contacts], ny[contacts] = -ox, -oy
                allowed[contacts] = distance - d[R, i]
                contacts += 1
    for c in range(contacts):
        if allowed[c] <= TOUCH:
            allowed[c] = 0.0
        else:
            allowed[c] = allowed[c] / left if left > 0.0 else np.inf
    for _ in range(SETTLING):
        worst = 0.0
        for c in range(contacts):
            i, j = one[c], two[c]
            closing = d[VX, i] * nx[c] + d[VY, i] * ny[c]
            total = d[INVERSE, i]
            if j >= 0:
                closing -= d[VX, j] * nx[c] + d[VY, j] * ny[c]
                total += d[INVERSE, j]
            change = max(pressed[c] + (closing - allowed[c]) / total, 0.0) - pressed[c]
            if change == 0.0:
                continue
            pressed[c] += change
            worst = max(worst, abs(change) * total)
            d[VX, i] -= change * d[INVERSE, i] * nx[c]
            d[VY, i] -= change * d[INVERSE, i] * ny[c]
            if j >= 0:
                d[VX, j] += change * d[INVERSE, j] * nx[c]
                d[VY, j] += change * d[INVERSE, j] * ny[c]
        if worst <= SETTLED:
            break


@njit(cache=True)
def hold(discs, shapes, framerate, restitution, walls, special, acceleration):
    """Where discs do not bounce (Restitution 0), those that touch hold one another: the forces of contact join the
    acceleration (2, N, B), before friction acts. Other arguments as of `advance`.
    """
    slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite = discs
    blocks, kinds, corners, counts, drawn, reaches = shapes
    most, walled = len(slots), len(blocks)
    d = np.empty((11, most))
    mine, lasts = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.bool_)
    points, numbers = np.empty((walled, corners.shape[0], 2)), np.empty(walled, dtype=np.int64)
    radii, middles = np.empty(walled), np.empty((walled, 3))
    block_slots = np.empty(walled, dtype=np.int64)
    asks = special.shape[2] > 0
    answered = np.zeros((most if asks else 0, most + 1 + walled), dtype=np.bool_)
    for b in range(present.shape[1]):
        if restitution[b] != 0.0:
            continue
        count = pack(
            b, slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite, d, mine, lasts
        )
        obstacles = lay_out(
            b,
            blocks,
            present,
            place,
            size,
            kinds,
            corners,
            counts,
            drawn,
            reaches,
            points,
            numbers,
            radii,
            middles,
            block_slots,
        )
        if asks:
            tell_answered(b, count, obstacles, mine, block_slots, special, answered)
        for k in range(count):
            d[VX, k] += acceleration[0, mine[k], b] / framerate[b]
            d[VY, k] += acceleration[1, mine[k], b] / framerate[b]
        free = d[VX : VY + 1].copy()
        settle(count, d, 1.0 / framerate[b], walls[0, b], walls[1, b], points, numbers, radii, obstacles, answered)
        for k in range(count):
            for axis in range(2):
                if d[VX + axis, k] != free[axis, k]:
                    gained = d[VX + axis, k] - velocity[axis, mine[k], b]
                    acceleration[axis, mine[k], b] = gained * framerate[b]


@njit(cache=True)
def _keep_inside(i, d, low, high):
    """Move disc i inside the walls; returns whether it moved."""
    moved = False
    for axis in range(2):
        now = d[X + axis, i]
        if high - low > 2.0 * d[R, i]:
            d[X + axis, i] = min(max(now, low + d[R, i]), high - d[R, i])
        else:
            d[X + axis, i] = (low + high) / 2.0
        moved = moved or d[X + axis, i] != now
    return moved


@njit(cache=True)
def push_apart(count, d, low, high, points, numbers, radii, middles, obstacles):
    """Move overlapping discs apart, out of inner walls, and inside the walls."""
    for _ in range(PUSHING):
        clean = True
        for i in range(count):
            if d[INVERSE, i] > 0.0:
                for m in range(obstacles):
                    dx, dy = d[X, i] - middles[m, 0], d[Y, i] - middles[m, 1]
                    reach = middles[m, 2] + d[R, i]
                    if dx * dx + dy * dy >= reach * reach:
                        continue
                    distance, nx, ny = closest(d[X, i], d[Y, i], m, points, numbers, radii)
                    if distance < d[R, i] * (1.0 - TOUCH):
                        clean = False
                        d[X, i] += (d[R, i] - distance) * nx
                        d[Y, i] += (d[R, i] - distance) * ny
                if _keep_inside(i, d, low, high):
                    clean = False
            for j in range(i + 1, count):
                dx, dy = d[X, j] - d[X, i], d[Y, j] - d[Y, i]
                reach = d[R, i] + d[R, j]
                square = dx * dx + dy * dy
                total = d[INVERSE, i] + d[INVERSE, j]
                if square >= reach * reach * (1.0 - 2.0 * TOUCH) or total == 0.0:
                    continue
                clean = False
                distance = np.sqrt(square)
                nx, ny = (dx / distance, dy / distance) if distance > 0.0 else (1.0, 0.0)
                push = (reach - distance) / total
                d[X, i] -= push * d[INVERSE, i] * nx
                d[Y, i] -= push * d[INVERSE, i] * ny
                d[X, j] += push * d[INVERSE, j] * nx
                d[Y, j] += push * d[INVERSE, j] * ny
        if clean:
            return
    for i in range(count):
        if d[INVERSE, i] > 0.0:
            _keep_inside(i, d, low, high)
