"""Motion during a step, with collisions at their exact times (preset "fixed").

Each scene goes from one impact to the next: the earliest time at which two discs or a disc and a wall meet, found from
their velocities, so that nothing passes through anything, however fast it is. After too many impacts in a step, the
rest of it is taken without bounces. What still overlaps is pushed apart.
"""

import numpy as np
from numba import njit

#: Impacts of a scene within a step, per disc, before the rest of the step is taken without bounces.
MAX_IMPACTS = 32
#: Rounds of pushing overlapping discs apart, and of stopping what touches.
ROUNDS = 50
#: Gaps (as a share of the distance of centres) up to which discs touch.
TOUCH = 1e-9
#: Approaching more slowly than this is none.
STILL = 1e-12


@njit(cache=True)
def _approach(i, j, x, y, u, w, r):
    """Product of distance and relative velocity (negative: they approach), and distance^2 - (r1 + r2)^2."""
    dx, dy = x[j] - x[i], y[j] - y[i]
    du, dw = u[j] - u[i], w[j] - w[i]
    reach = r[i] + r[j]
    return dx * du + dy * dw, dx * dx + dy * dy - reach * reach, du * du + dw * dw


@njit(cache=True)
def _clip(i, vx, vy, fastest):
    speed = np.sqrt(vx[i] * vx[i] + vy[i] * vy[i])
    if speed > fastest:
        vx[i] *= fastest / speed
        vy[i] *= fastest / speed


@njit(cache=True)
def _bounce(i, j, x, y, vx, vy, inverse, energy, infinite, restitution, fastest):
    """The impulse along the line of centres; stored energy first scales the other's velocity, and is used up."""
    dx, dy = x[j] - x[i], y[j] - y[i]
    distance = np.sqrt(dx * dx + dy * dy)
    if distance == 0.0:
        dx, dy, distance = 1.0, 0.0, 1.0
    nx, ny = dx / distance, dy / distance
    gain_i, gain_j = 1.0 + energy[j], 1.0 + energy[i]
    vx[i], vy[i] = vx[i] * gain_i, vy[i] * gain_i
    vx[j], vy[j] = vx[j] * gain_j, vy[j] * gain_j
    if not infinite[i]:
        energy[i] = 0.0
    if not infinite[j]:
        energy[j] = 0.0
    closing = (vx[i] - vx[j]) * nx + (vy[i] - vy[j]) * ny
    total = inverse[i] + inverse[j]
    if closing > 0.0 and total > 0.0:
        impulse = (1.0 + restitution) * closing / total
        vx[i] -= impulse * inverse[i] * nx
        vy[i] -= impulse * inverse[i] * ny
        vx[j] += impulse * inverse[j] * nx
        vy[j] += impulse * inverse[j] * ny
    _clip(i, vx, vy, fastest)
    _clip(j, vx, vy, fastest)


@njit(cache=True)
def _bounce_off_wall(i, axis, vx, vy, damping, restitution):
    keep = 1.0 - damping
    if axis == 0:
        vx[i], vy[i] = -vx[i] * keep * restitution, vy[i] * keep
    else:
        vx[i], vy[i] = vx[i] * keep, -vy[i] * keep * restitution


@njit(cache=True)
def _drift(count, vx, vy, slowest, extra_x, extra_y, u, w, moves):
    """What positions change by in a second: the velocity, unless it is too slow, and what other rules add."""
    for i in range(count):
        speed = np.sqrt(vx[i] * vx[i] + vy[i] * vy[i])
        going = moves and speed >= slowest
        u[i] = (vx[i] if going else 0.0) + extra_x[i]
        w[i] = (vy[i] if going else 0.0) + extra_y[i]


@njit(cache=True)
def _next_impact(count, x, y, u, w, r, inverse, low, high, horizon):
    """The time of the earliest impact, and who: two discs (i, j), a disc and a wall (i, -1 - axis), nobody (-1, 0)."""
    best, who, other = horizon, -1, 0
    for i in range(count):
        for axis in range(2):
            place, speed = (x[i], u[i]) if axis == 0 else (y[i], w[i])
            if speed > STILL:
                t = (high - r[i] - place) / speed
            elif speed < -STILL:
                t = (low + r[i] - place) / speed
            else:
                continue
            t = max(t, 0.0)
            if t < best:
                best, who, other = t, i, -1 - axis
        for j in range(i + 1, count):
            if inverse[i] == 0.0 and inverse[j] == 0.0:
                continue
            b, c, a = _approach(i, j, x, y, u, w, r)
            if b >= -STILL:
                continue
            if c <= 0.0:
                t = 0.0
            else:
                root = b * b - a * c
                if root <= 0.0:
                    continue
                t = c / (-b + np.sqrt(root))
            if t < best:
                best, who, other = t, i, j
    return best, who, other


@njit(cache=True)
def _stop_touching(count, x, y, vx, vy, r, inverse, low, high):
    """Take what velocity would bring touching discs, and discs and walls, into one another."""
    for _ in range(ROUNDS):
        worst = 0.0
        for i in range(count):
            for j in range(i + 1, count):
                total = inverse[i] + inverse[j]
                if total == 0.0:
                    continue
                b, c, _ = _approach(i, j, x, y, vx, vy, r)
                reach = r[i] + r[j]
                if b >= 0.0 or c > TOUCH * reach * reach:
                    continue
                dx, dy = x[j] - x[i], y[j] - y[i]
                distance = np.sqrt(dx * dx + dy * dy)
                if distance == 0.0:
                    continue
                closing = -b / distance
                worst = max(worst, closing)
                nx, ny = dx / distance, dy / distance
                vx[i] -= closing * inverse[i] / total * nx
                vy[i] -= closing * inverse[i] / total * ny
                vx[j] += closing * inverse[j] / total * nx
                vy[j] += closing * inverse[j] / total * ny
            if (x[i] + r[i] >= high and vx[i] > 0.0) or (x[i] - r[i] <= low and vx[i] < 0.0):
                worst = max(worst, abs(vx[i]))
                vx[i] = 0.0
            if (y[i] + r[i] >= high and vy[i] > 0.0) or (y[i] - r[i] <= low and vy[i] < 0.0):
                worst = max(worst, abs(vy[i]))
                vy[i] = 0.0
        if worst <= STILL:
            break


@njit(cache=True)
def _push_apart(count, x, y, r, inverse, low, high):
    for _ in range(ROUNDS):
        clean = True
        for i in range(count):
            if inverse[i] > 0.0:
                if high - low > 2.0 * r[i]:
                    x[i] = min(max(x[i], low + r[i]), high - r[i])
                    y[i] = min(max(y[i], low + r[i]), high - r[i])
                else:
                    x[i] = y[i] = (low + high) / 2.0
            for j in range(i + 1, count):
                total = inverse[i] + inverse[j]
                if total == 0.0:
                    continue
                dx, dy = x[j] - x[i], y[j] - y[i]
                reach = r[i] + r[j]
                square = dx * dx + dy * dy
                if square >= reach * reach * (1.0 - 2.0 * TOUCH):
                    continue
                clean = False
                distance = np.sqrt(square)
                nx, ny = (dx / distance, dy / distance) if distance > 0.0 else (1.0, 0.0)
                push = (reach - distance) / total
                x[i] -= push * inverse[i] * nx
                y[i] -= push * inverse[i] * ny
                x[j] += push * inverse[j] * nx
                y[j] += push * inverse[j] * ny
        if clean:
            break


@njit(cache=True)
def advance(place, velocity, extra, active, size, inverse, energy, infinite, slots, scalars, walls, moves):
    """Move the discs of every scene for a step.

    :param place, velocity, extra: (2, N, B); `extra` is what other rules add to the change of places.
    :param active: (N, B) bool, discs that are there, alive and not done; the others stay.
    :param size, inverse, energy, infinite: (N, B); diameters, 1 / mass or 0, stored energies.
    :param slots: (n,) the slots of discs.
    :param scalars: (5, B): dt, slowest, fastest, wall damping, restitution.
    :param walls: (2, B).
    :param moves: whether velocities move things at all.
    """
    most, batch = len(slots), active.shape[1]
    x, y, vx, vy = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    u, w, r, inv = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    ex, ey, power = np.empty(most), np.empty(most), np.empty(most)
    lasts = np.empty(most, dtype=np.bool_)
    mine = np.empty(most, dtype=np.int64)
    for b in range(batch):
        dt, slowest, fastest, damping, restitution = scalars[:, b]
        low, high = walls[0, b], walls[1, b]
        count = 0
        for k in slots:
            if active[k, b]:
                mine[count] = k
                x[count], y[count] = place[0, k, b], place[1, k, b]
                vx[count], vy[count] = velocity[0, k, b], velocity[1, k, b]
                ex[count], ey[count] = extra[0, k, b], extra[1, k, b]
                r[count], inv[count] = size[k, b] / 2.0, inverse[k, b]
                power[count], lasts[count] = energy[k, b], infinite[k, b]
                count += 1
        left = dt
        if restitution == 0.0:
            _stop_touching(count, x, y, vx, vy, r, inv, low, high)
        _drift(count, vx, vy, slowest, ex, ey, u, w, moves)
        for impact in range(MAX_IMPACTS * count + 1):
            t, i, j = _next_impact(count, x, y, u, w, r, inv, low, high, left)
            if i >= 0 and impact == MAX_IMPACTS * count:
                _stop_touching(count, x, y, vx, vy, r, inv, low, high)
                _drift(count, vx, vy, slowest, ex, ey, u, w, moves)
                t, i = left, -1
            for k in range(count):
                x[k] += u[k] * t
                y[k] += w[k] * t
            left -= t
            if i < 0:
                break
            if j < 0:
                _bounce_off_wall(i, -1 - j, vx, vy, damping, restitution)
            else:
                _bounce(i, j, x, y, vx, vy, inv, power, lasts, restitution, fastest)
            _drift(count, vx, vy, slowest, ex, ey, u, w, moves)
        _push_apart(count, x, y, r, inv, low, high)
        for k in range(count):
            slot = mine[k]
            place[0, slot, b], place[1, slot, b] = x[k], y[k]
            velocity[0, slot, b], velocity[1, slot, b] = vx[k], vy[k]
            energy[slot, b] = power[k]
