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
#: Rounds after which the equations of the contacts that press are tried, and the share of a pivot that is none.
SOLVED, SINGULAR = (1, 3, 7, 15, 31, 63, 127, 255), 1e-10
#: Rounds of pushing overlapping discs apart.
PUSHING = 100


@njit(cache=True)
def is_clear(count, d, time, low, high, points, numbers, radii, middles, obstacles):
    """Whether no disc is near another one, a wall or an inner wall, nor gets there within `time` seconds."""
    share = time * (1.0 + NEAR)  # more than the way that rounding could add
    for i in range(count):
        way = (abs(d[VX, i]) + abs(d[VY, i])) * share
        for j in range(i + 1, count):
            dx, dy = d[X, j] - d[X, i], d[Y, j] - d[Y, i]
            reach = (d[R, i] + d[R, j]) * (1.0 + NEAR) + way + (abs(d[VX, j]) + abs(d[VY, j])) * share
            if dx * dx + dy * dy <= reach * reach:
                return False
        if d[INVERSE, i] == 0.0:
            continue
        reach = d[R, i] * (1.0 + NEAR) + way
        if min(high - d[X, i], d[X, i] - low, high - d[Y, i], d[Y, i] - low) <= reach:
            return False
        for m in range(obstacles):
            dx, dy = d[X, i] - middles[m, 0], d[Y, i] - middles[m, 1]
            if dx * dx + dy * dy <= (middles[m, 2] + reach) ** 2 and (
                closest(d[X, i], d[Y, i], m, points, numbers, radii)[0] <= reach
            ):
                return False
    return True


@njit(cache=True)
def _solved(contacts, d, one, two, nx, ny, pressed, allowed):
    """Finish `settle`: impulses that end all pressing at once, if the contacts that press now are the ones that do in
    the end (their linear equations, by Cholesky's method). Returns whether they are; else sweeps go on from here.
    """
    active = np.flatnonzero(pressed[:contacts] > 0.0)
    many = len(active)
    lower, change = np.empty((many, many)), np.empty(many)
    for a in range(many):
        c = active[a]
        i, j = one[c], two[c]
        for b in range(a + 1):
            e = active[b]
            k, m = one[e], two[e]
            value = 0.0
            if i in (k, m):
                value += d[INVERSE, i] if i == k else -d[INVERSE, i]
            if j >= 0 and j in (k, m):
                value += d[INVERSE, j] if j == m else -d[INVERSE, j]
            if value != 0.0:
                value *= nx[c] * nx[e] + ny[c] * ny[e]
            whole = value
            for row in range(b):
                value -= lower[a, row] * lower[b, row]
            if a == b:
                if value <= SINGULAR * whole:
                    return False
                lower[a, a] = np.sqrt(value)
            else:
                lower[a, b] = value / lower[b, b]
        closing = d[VX, i] * nx[c] + d[VY, i] * ny[c]
        if j >= 0:
            closing -= d[VX, j] * nx[c] + d[VY, j] * ny[c]
        change[a] = closing - allowed[c]
        for row in range(a):
            change[a] -= lower[a, row] * change[row]
        change[a] /= lower[a, a]
    for a in range(many - 1, -1, -1):
        for row in range(a + 1, many):
            change[a] -= lower[row, a] * change[row]
        change[a] /= lower[a, a]
        if pressed[active[a]] + change[a] < 0.0:
            return False
    for a in range(many):
        c = active[a]
        pressed[c] += change[a]
        _push(c, change[a], d, one, two, nx, ny)
    for c in range(contacts):
        i, j = one[c], two[c]
        closing = d[VX, i] * nx[c] + d[VY, i] * ny[c]
        if j >= 0:
            closing -= d[VX, j] * nx[c] + d[VY, j] * ny[c]
        if pressed[c] == 0.0 and closing - allowed[c] > SETTLED:
            return False
    return True


@njit(cache=True)
def _push(c, impulse, d, one, two, nx, ny):
    """Change the velocities of the two of a contact by an impulse that parts them."""
    i, j = one[c], two[c]
    d[VX, i] -= impulse * d[INVERSE, i] * nx[c]
    d[VY, i] -= impulse * d[INVERSE, i] * ny[c]
    if j >= 0:
        d[VX, j] += impulse * d[INVERSE, j] * nx[c]
        d[VY, j] += impulse * d[INVERSE, j] * ny[c]


@njit(cache=True)
def settle(count, d, left, low, high, points, numbers, radii, obstacles, answered):
    """Take what velocity presses touching discs, walls and inner walls together: impulses that never pull, until
    nothing changes (sweeps of projected Gauss-Seidel, and `_solved`; the result has the least kinetic energy). Discs
    that nearly touch may approach as fast as closes the gap in the time that is left, so that they touch at its end.

    :param answered: contacts that rules answer instead; see `advance`.
    """
    most = count * (count + 3 + obstacles)
    parties, numbers_of = (
        np.empty((2, most), dtype=np.int64),
        np.empty((6, most)),
    )  # one allocation is quicker than eight
    one, two = parties[0], parties[1]
    nx, ny, pressed, allowed, total, share = (
        numbers_of[0], numbers_of[1], numbers_of[2], numbers_of[3], numbers_of[4], numbers_of[5]
    )  # fmt: skip
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
        total[c] = d[INVERSE, one[c]] + (d[INVERSE, two[c]] if two[c] >= 0 else 0.0)
        share[c], pressed[c] = 1.0 / total[c], 0.0
        if allowed[c] <= TOUCH:
            allowed[c] = 0.0
        else:
            allowed[c] = allowed[c] / left if left > 0.0 else np.inf
    for sweep in range(SETTLING):
        worst = 0.0
        for c in range(contacts):
            i, j = one[c], two[c]
            closing = d[VX, i] * nx[c] + d[VY, i] * ny[c]
            if j >= 0:
                closing -= d[VX, j] * nx[c] + d[VY, j] * ny[c]
            change = max(pressed[c] + (closing - allowed[c]) * share[c], 0.0) - pressed[c]
            if change == 0.0:
                continue
            pressed[c] += change
            worst = max(worst, abs(change) * total[c])
            _push(c, change, d, one, two, nx, ny)
        if worst <= SETTLED or (sweep in SOLVED and _solved(contacts, d, one, two, nx, ny, pressed, allowed)):
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
