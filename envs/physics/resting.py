"""Touching discs: remove the velocity that presses them together, and push overlapping discs apart."""

import numpy as np
from numba import njit

from .geometry import INVERSE, VX, VY, R, X, Y, closest, lay_out, pack, tell_answered

#: Maximal gap of touching discs; overlaps up to this share of the distance of centres are ignored.
TOUCH = 1e-9
#: Maximal gap at which discs that do not bounce count as touching at the end of the step.
NEAR = 0.03
#: Maximal number of sweeps that remove pressing velocities, and the largest change at which they stop.
SETTLING, SETTLED = 400, 1e-12
#: Sweeps after which `_solved` tries the equations of pressing contacts, and the share of a pivot that counts as zero.
SOLVED, SINGULAR = (1, 3, 7, 15, 31, 63, 127, 255), 1e-10
#: Rows of contacts: the two discs (-1 for a wall or an inner wall), and indices of pressing contacts; the unit vector
#: from the first to the second, the impulse so far, the allowed approach speed, total 1 / mass, and its inverse.
ONE, TWO, PRESSES = range(3)
NX, NY, PRESSED, ALLOWED, TOTAL, SHARE = range(6)
#: Maximal number of rounds that push overlapping discs apart.
PUSHING = 100


@njit(cache=True)
def is_clear(count, d, time, low, high, points, numbers, radii, middles, obstacles):
    """Return whether no disc is near another disc, a wall or an inner wall, nor gets there within `time` seconds."""
    share = time * (1.0 + NEAR)  # a margin beyond rounding
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
def settling_room(discs, obstacles):
    """Return the working arrays of `touching` and `press`: (3, C) int64 and (6, C), C the maximum of contacts."""
    most = discs * (discs + 3 + obstacles)
    return np.empty((3, most), dtype=np.int64), np.empty((6, most))


@njit(cache=True)
def touching(count, d, left, low, high, points, numbers, radii, obstacles, answered, who, contact):
    """Find the contacts of discs that touch, or nearly do; return their number. A pair may approach just fast enough to
    close its gap in the remaining time.

    :param answered: contacts that rules handle instead; see `advance`.
    :param who, contact: from `settling_room`.
    """
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
            who[ONE, contacts], who[TWO, contacts] = i, j
            contact[NX, contacts], contact[NY, contacts] = (
                (dx / distance, dy / distance) if distance > 0.0 else (1.0, 0.0)
            )
            contact[ALLOWED, contacts] = distance - reach
            contacts += 1
        if d[INVERSE, i] == 0.0:
            continue
        near = d[R, i] * (1.0 + NEAR)
        for axis in range(2):
            for side in (-1.0, 1.0):
                away = high - d[X + axis, i] if side > 0.0 else d[X + axis, i] - low
                if away <= near and not (asks and answered[i, walls]):
                    who[ONE, contacts], who[TWO, contacts] = i, -1
                    contact[NX, contacts], contact[NY, contacts] = (side, 0.0) if axis == 0 else (0.0, side)
                    contact[ALLOWED, contacts] = away - d[R, i]
                    contacts += 1
        for m in range(obstacles):
            distance, ox, oy = closest(d[X, i], d[Y, i], m, points, numbers, radii)
            if distance <= near and not (asks and answered[i, walls + 1 + m]):
                who[ONE, contacts], who[TWO, contacts] = i, -1
                contact[NX, contacts], contact[NY, contacts] = -ox, -oy
                contact[ALLOWED, contacts] = distance - d[R, i]
                contacts += 1
    for c in range(contacts):
        i, j = who[ONE, c], who[TWO, c]
        contact[TOTAL, c] = d[INVERSE, i] + (d[INVERSE, j] if j >= 0 else 0.0)
        contact[SHARE, c] = 1.0 / contact[TOTAL, c]
        if contact[ALLOWED, c] <= TOUCH:
            contact[ALLOWED, c] = 0.0
        else:
            contact[ALLOWED, c] = contact[ALLOWED, c] / left if left > 0.0 else np.inf
    return contacts


@njit(cache=True)
def press(contacts, d, who, contact):
    """Remove the velocity that presses the partners of each contact together, by impulses that never pull, until
    convergence (projected Gauss-Seidel sweeps, and `_solved`; the result has the least kinetic energy).

    The inner loop makes no calls: reference counting of arrays in a call takes longer than the work.
    """
    for c in range(contacts):
        contact[PRESSED, c] = 0.0
    for sweep in range(SETTLING):
        worst = 0.0
        for c in range(contacts):
            i, j, nx, ny = who[ONE, c], who[TWO, c], contact[NX, c], contact[NY, c]
            closing = d[VX, i] * nx + d[VY, i] * ny
            if j >= 0:
                closing -= d[VX, j] * nx + d[VY, j] * ny
            pressed = contact[PRESSED, c]
            change = max(pressed + (closing - contact[ALLOWED, c]) * contact[SHARE, c], 0.0) - pressed
            if change == 0.0:
                continue
            contact[PRESSED, c] = pressed + change
            worst = max(worst, abs(change) * contact[TOTAL, c])
            d[VX, i] -= change * d[INVERSE, i] * nx
            d[VY, i] -= change * d[INVERSE, i] * ny
            if j >= 0:
                d[VX, j] += change * d[INVERSE, j] * nx
                d[VY, j] += change * d[INVERSE, j] * ny
        if worst <= SETTLED or (sweep in SOLVED and _solved(contacts, d, who, contact)):
            break


@njit(cache=True)
def _solved(contacts, d, who, contact):
    """Try to finish `press` at once, assuming that the contacts that press now also press in the end: solve their
    linear equations by Cholesky's method. Return whether the assumption holds; else the sweeps continue from here.
    """
    many = 0
    for c in range(contacts):
        if contact[PRESSED, c] > 0.0:
            who[PRESSES, many] = c
            many += 1
    lower = np.empty((many + 1, many))  # the last row holds the changes of the impulses
    for a in range(many):
        c = who[PRESSES, a]
        i, j = who[ONE, c], who[TWO, c]
        for b in range(a + 1):
            e = who[PRESSES, b]
            k, m = who[ONE, e], who[TWO, e]
            value = 0.0
            if i in (k, m):
                value += d[INVERSE, i] if i == k else -d[INVERSE, i]
            if j >= 0 and j in (k, m):
                value += d[INVERSE, j] if j == m else -d[INVERSE, j]
            if value != 0.0:
                value *= contact[NX, c] * contact[NX, e] + contact[NY, c] * contact[NY, e]
            whole = value
            for row in range(b):
                value -= lower[a, row] * lower[b, row]
            if a == b:
                if value <= SINGULAR * whole:
                    return False
                lower[a, a] = np.sqrt(value)
            else:
                lower[a, b] = value / lower[b, b]
        closing = d[VX, i] * contact[NX, c] + d[VY, i] * contact[NY, c]
        if j >= 0:
            closing -= d[VX, j] * contact[NX, c] + d[VY, j] * contact[NY, c]
        lower[many, a] = closing - contact[ALLOWED, c]
        for row in range(a):
            lower[many, a] -= lower[a, row] * lower[many, row]
        lower[many, a] /= lower[a, a]
    for a in range(many - 1, -1, -1):
        for row in range(a + 1, many):
            lower[many, a] -= lower[row, a] * lower[many, row]
        lower[many, a] /= lower[a, a]
        if contact[PRESSED, who[PRESSES, a]] + lower[many, a] < 0.0:
            return False
    for a in range(many):
        c = who[PRESSES, a]
        i, j, impulse = who[ONE, c], who[TWO, c], lower[many, a]
        contact[PRESSED, c] += impulse
        d[VX, i] -= impulse * d[INVERSE, i] * contact[NX, c]
        d[VY, i] -= impulse * d[INVERSE, i] * contact[NY, c]
        if j >= 0:
            d[VX, j] += impulse * d[INVERSE, j] * contact[NX, c]
            d[VY, j] += impulse * d[INVERSE, j] * contact[NY, c]
    for c in range(contacts):
        if contact[PRESSED, c] > 0.0:
            continue
        i, j = who[ONE, c], who[TWO, c]
        closing = d[VX, i] * contact[NX, c] + d[VY, i] * contact[NY, c]
        if j >= 0:
            closing -= d[VX, j] * contact[NX, c] + d[VY, j] * contact[NY, c]
        if closing - contact[ALLOWED, c] > SETTLED:
            return False
    return True


@njit(cache=True)
def hold(discs, shapes, framerate, restitution, walls, special, acceleration):
    """If discs do not bounce (Restitution 0), add the contact forces of touching discs to the acceleration (2, N, B),
    before friction acts. For other arguments see `advance`.
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
    who, contact = settling_room(most, walled)
    for b in range(present.shape[1]):
        if restitution[b] != 0.0:
            continue
        count = pack(
            b, slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite, d, mine, lasts
        )
        obstacles = lay_out(
            b, blocks, present, place, size, kinds, corners, counts, drawn, reaches, points, numbers, radii, middles,
            block_slots,
        )  # fmt: skip
        if asks:
            tell_answered(b, count, obstacles, mine, block_slots, special, answered)
        for k in range(count):
            d[VX, k] += acceleration[0, mine[k], b] / framerate[b]
            d[VY, k] += acceleration[1, mine[k], b] / framerate[b]
        free = d[VX : VY + 1].copy()
        contacts = touching(
            count, d, 1.0 / framerate[b], walls[0, b], walls[1, b], points, numbers, radii, obstacles, answered, who,
            contact,
        )  # fmt: skip
        press(contacts, d, who, contact)
        for k in range(count):
            for axis in range(2):
                if d[VX + axis, k] != free[axis, k]:
                    gained = d[VX + axis, k] - velocity[axis, mine[k], b]
                    acceleration[axis, mine[k], b] = gained * framerate[b]


@njit(cache=True)
def _keep_inside(i, d, low, high):
    """Move disc i inside the walls; return whether it moved."""
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
