"""Motion during a step as SEGAR's code of 2022 has it (preset "compat"): where discs overlap after the step, time runs
back to their contact, and the rest of the step follows.
"""

import numpy as np
from numba import njit

from . import compiling as compiling  # tells that it compiles

EPS = 1e-7
#: The mass of what cannot be moved.
HEAVY = 1e8
#: Steps back within a step after which the 2022 code would never end.
ENDLESS = 100_000

FINE, OUT_OF_BOUNDS, NEVER_ENDS, NO_WAY_BACK, NO_CONSERVATION = 0, 1, 2, 3, 4


@njit(cache=True)
def _wall_time(i, x, y, vx, vy, r, low, high):
    """Time back to the wall's contact, 0 for none; -1 where the disc has no velocity to go back by."""
    half, middle = (high - low) / 2.0, (high + low) / 2.0
    speed = np.sqrt(vx[i] * vx[i] + vy[i] * vy[i])
    longest = 0.0
    for axis in range(2):
        away = abs((x[i] if axis == 0 else y[i]) - middle)
        along = abs(vx[i] if axis == 0 else vy[i])
        if away + r[i] >= half - EPS:
            depth = away + r[i] - half
            if along == 0.0:
                if depth > 0.0:
                    return -1.0
                continue
            longest = max(longest, depth * speed / along)
    if longest > 0.0:
        longest += EPS
    return longest / speed if speed > 0.0 else 0.0


@njit(cache=True)
def _pair_time(i, j, x, y, vx, vy, r):
    """Time back to the contact of two discs, 0 for none; -1 where both are in the same place."""
    dx, dy = x[j] - x[i], y[j] - y[i]
    distance = np.sqrt(dx * dx + dy * dy)
    if distance > r[i] + r[j] + EPS:
        return 0.0
    wx, wy = vx[i] - vx[j], vy[i] - vy[j]
    speed = np.sqrt(wx * wx + wy * wy)
    if speed == 0.0:
        return 0.0
    if distance == 0.0:
        return -1.0
    c = -(wx / speed * dx / distance + wy / speed * dy / distance) * distance
    reach = r[i] + r[j] + EPS
    return (c + np.sqrt(max(c * c - distance * distance + reach * reach, 0.0)) + EPS) / speed


@njit(cache=True)
def _bounce(i, j, x, y, vx, vy, mass, mobile, energy, infinite):
    dx, dy = x[j] - x[i], y[j] - y[i]
    distance = np.sqrt(dx * dx + dy * dy)
    nx, ny = dx / distance, dy / distance
    m1 = mass[i] if mobile[i] else HEAVY
    m2 = mass[j] if mobile[j] else HEAVY
    ax, ay = vx[i] * (1.0 + energy[j]), vy[i] * (1.0 + energy[j])
    bx, by = vx[j] * (1.0 + energy[i]), vy[j] * (1.0 + energy[i])
    along1, along2 = ax * nx + ay * ny, bx * nx + by * ny
    after1 = (along1 * (m1 - m2) + 2.0 * m2 * along2) / (m1 + m2)
    after2 = (along2 * (m2 - m1) + 2.0 * m1 * along1) / (m1 + m2)
    vx[i], vy[i] = ax + (after1 - along1) * nx, ay + (after1 - along1) * ny
    vx[j], vy[j] = bx + (after2 - along2) * nx, by + (after2 - along2) * ny
    if infinite[i]:  # the flag is used the wrong way round, and the first disc's for both
        energy[i] = energy[j] = 0.0


@njit(cache=True)
def _bounce_off_wall(i, x, y, vx, vy, low, high, damping):
    middle = (high + low) / 2.0
    away_x, away_y = abs(x[i] - middle), abs(y[i] - middle)
    vx[i], vy[i] = vx[i] * (1.0 - damping), vy[i] * (1.0 - damping)
    if away_x >= away_y:
        vx[i] = -vx[i]
    if away_y >= away_x:
        vy[i] = -vy[i]


@njit(cache=True)
def advance(
    place,
    velocity,
    present,
    ghost,
    size,
    mass,
    mobile,
    energy,
    infinite,
    order,
    inserted_order,
    discs,
    scalars,
    walls,
    moves,
    out,
):
    """Move the discs of every scene for a step.

    :param place, velocity: (2, N, B).
    :param present, ghost: (N, B) bool; ghosts (dead or done) collide with walls alone.
    :param size, mass, mobile, energy, infinite: (N, B).
    :param order, inserted_order: (N, B) slots in the order of iteration and of insertion; `discs` (N,) bool.
    :param scalars: (4, B): dt, slowest, fastest, wall damping.
    :param out: (B,), 0 or what went wrong.
    """
    batch = present.shape[1]
    total_slots = present.shape[0]
    x, y = np.empty(total_slots), np.empty(total_slots)
    vx, vy = np.empty(total_slots), np.empty(total_slots)
    u, w, r = np.empty(total_slots), np.empty(total_slots), np.empty(total_slots)
    first, inserted = np.empty(total_slots, dtype=np.int64), np.empty(total_slots, dtype=np.int64)
    for b in range(batch):
        count = others = 0
        for k in range(total_slots):
            slot = order[k, b]
            if discs[slot] and present[slot, b]:
                first[count] = slot
                count += 1
            slot = inserted_order[k, b]
            if discs[slot] and present[slot, b]:
                inserted[others] = slot
                others += 1
        for k in range(count):
            slot = first[k]
            x[slot], y[slot] = place[0, slot, b], place[1, slot, b]
            vx[slot], vy[slot] = velocity[0, slot, b], velocity[1, slot, b]
            r[slot] = size[slot, b] / 2.0
        left, back = scalars[0, b], 0
        while out[b] == FINE:
            for k in range(count):
                slot = first[k]
                going = moves and np.sqrt(vx[slot] * vx[slot] + vy[slot] * vy[slot]) >= scalars[1, b]
                u[slot], w[slot] = (vx[slot], vy[slot]) if going else (0.0, 0.0)
                x[slot] += u[slot] * left
                y[slot] += w[slot] * left
            rewound, one, two = 0.0, -1, -1
            while out[b] == FINE:
                best, who, whom = 0.0, -1, -1
                for k in range(count):
                    i = first[k]
                    t = _wall_time(i, x, y, vx, vy, r, walls[0, b], walls[1, b])
                    if t < 0.0:
                        out[b] = NO_WAY_BACK
                    if t > best:
                        best, who, whom = t, i, -1
                    if ghost[i, b]:
                        continue
                    for n in range(others):
                        j = inserted[n]
                        if j == i or ghost[j, b]:
                            continue
                        t = _pair_time(i, j, x, y, vx, vy, r)
                        if t < 0.0:
                            out[b] = NO_WAY_BACK
                        if t > best:
                            best, who, whom = t, i, j
                if who < 0:
                    break
                back += 1
                if back > ENDLESS:
                    out[b] = NEVER_ENDS
                for k in range(count):
                    slot = first[k]
                    x[slot] -= u[slot] * best
                    y[slot] -= w[slot] * best
                rewound += best
                one, two = who, whom
            if one < 0 or out[b] != FINE:
                break
            if not -1e-6 <= rewound < left + 1e-6:
                out[b] = OUT_OF_BOUNDS
                break
            if two < 0:
                _bounce_off_wall(one, x, y, vx, vy, walls[0, b], walls[1, b], scalars[3, b])
            elif mobile[one, b] and mobile[two, b] and mass[one, b] + mass[two, b] == 0.0:
                out[b] = NO_CONSERVATION
                break
            else:
                _bounce(one, two, x, y, vx, vy, mass[:, b], mobile[:, b], energy[:, b], infinite[:, b])
            left = min(max(rewound, 0.0), left)
        if out[b] == FINE:
            for k in range(count):
                slot = first[k]
                place[0, slot, b], place[1, slot, b] = x[slot], y[slot]
                velocity[0, slot, b], velocity[1, slot, b] = vx[slot], vy[slot]
