"""Motion during a step, with collisions at their exact times (preset "fixed").

Each scene advances from impact to impact. An impact is the earliest time at which two discs, a disc and a wall, or a
disc and an inner wall meet, computed from their velocities, so that no disc passes through another at any speed. A disc
with too many impacts stays in place for the rest of the step. Remaining overlaps are pushed apart.
"""

import numpy as np
from numba import njit

from .geometry import (
    ENERGY,
    EXTRA_X,
    EXTRA_Y,
    INVERSE,
    STILL,
    VX,
    VY,
    R,
    U,
    W,
    X,
    Y,
    closest,
    lay_out,
    pack,
    tell_answered,
    time_to,
)
from .resting import press, push_apart, settling_room, touching

#: Maximal number of impacts of a disc within a step; then it stays in place for the rest of the step.
MAX_IMPACTS = 32
#: Codes of contact partners: a disc (its index), a wall (-1 on the x axis, -2 on the y axis), inner wall m (-3 - m).
WALL_X, BLOCK, NOBODY = -1, -3, 1 << 30


@njit(cache=True)
def _clip(i, d, fastest):
    speed = np.sqrt(d[VX, i] * d[VX, i] + d[VY, i] * d[VY, i])
    if speed > fastest:
        d[VX, i] *= fastest / speed
        d[VY, i] *= fastest / speed


@njit(cache=True)
def limit_speeds(velocity, fastest):
    """Scale velocities (2, N, B) down to the maximal speeds (B,); return whether all speeds were finite."""
    finite = True
    for k in range(velocity.shape[1]):
        for b in range(velocity.shape[2]):
            speed = np.sqrt(velocity[0, k, b] * velocity[0, k, b] + velocity[1, k, b] * velocity[1, k, b])
            if speed <= fastest[b]:
                continue
            finite = finite and speed < np.inf
            velocity[0, k, b] *= fastest[b] / speed
            velocity[1, k, b] *= fastest[b] / speed
    return finite


@njit(cache=True)
def clip_all(count, d, fastest):
    """Scale the velocities of all discs down to the maximal speed."""
    for k in range(count):
        _clip(k, d, fastest)


@njit(cache=True)
def _bounce(i, j, d, infinite, restitution, fastest):
    """Apply an impulse along the line of centres; stored energy first scales the other's velocity, and is used up."""
    dx, dy = d[X, j] - d[X, i], d[Y, j] - d[Y, i]
    distance = np.sqrt(dx * dx + dy * dy)
    if distance == 0.0:
        dx, distance = 1.0, 1.0
    nx, ny = dx / distance, dy / distance
    gain_i, gain_j = 1.0 + d[ENERGY, j], 1.0 + d[ENERGY, i]
    d[VX, i], d[VY, i] = d[VX, i] * gain_i, d[VY, i] * gain_i
    d[VX, j], d[VY, j] = d[VX, j] * gain_j, d[VY, j] * gain_j
    if not infinite[i]:
        d[ENERGY, i] = 0.0
    if not infinite[j]:
        d[ENERGY, j] = 0.0
    _impulse(i, j, d, nx, ny, restitution)
    _clip(i, d, fastest)
    _clip(j, d, fastest)


@njit(cache=True)
def _impulse(i, j, d, nx, ny, restitution):
    closing = (d[VX, i] - d[VX, j]) * nx + (d[VY, i] - d[VY, j]) * ny
    total = d[INVERSE, i] + d[INVERSE, j]
    if closing > 0.0 and total > 0.0:
        impulse = (1.0 + restitution) * closing / total
        d[VX, i] -= impulse * d[INVERSE, i] * nx
        d[VY, i] -= impulse * d[INVERSE, i] * ny
        d[VX, j] += impulse * d[INVERSE, j] * nx
        d[VY, j] += impulse * d[INVERSE, j] * ny


@njit(cache=True)
def _bounce_off(i, d, nx, ny, damping, restitution):
    """Bounce disc i off a wall to which the normal points; the wall damps both components."""
    into = d[VX, i] * nx + d[VY, i] * ny
    keep = 1.0 - damping
    d[VX, i] = (d[VX, i] - (1.0 + restitution) * into * nx) * keep
    d[VY, i] = (d[VY, i] - (1.0 + restitution) * into * ny) * keep


@njit(cache=True)
def _normal(i, j, d, low, high, points, numbers, radii):
    """Return the unit vector from disc i to its contact partner j."""
    if j >= 0:
        dx, dy = d[X, j] - d[X, i], d[Y, j] - d[Y, i]
        distance = np.sqrt(dx * dx + dy * dy)
        return (dx / distance, dy / distance) if distance > 0.0 else (1.0, 0.0)
    if j <= BLOCK:
        _, nx, ny = closest(d[X, i], d[Y, i], BLOCK - j, points, numbers, radii)
        return -nx, -ny
    side = 1.0 if d[U + WALL_X - j, i] > 0.0 else -1.0
    return (side, 0.0) if j == WALL_X else (0.0, side)


@njit(cache=True)
def _drift(i, d, slowest, moves):
    """Set the drift (change of position per second): the velocity, unless below MinVelocity, plus terms of rules."""
    going = moves and np.sqrt(d[VX, i] * d[VX, i] + d[VY, i] * d[VY, i]) >= slowest
    d[U, i] = (d[VX, i] if going else 0.0) + d[EXTRA_X, i]
    d[W, i] = (d[VY, i] if going else 0.0) + d[EXTRA_Y, i]


@njit(cache=True)
def _follow(k, d, before, moves):
    """Change the drift of disc k by the change of its velocity."""
    if moves:
        d[U, k] += d[VX, k] - before[0, k]
        d[W, k] += d[VY, k] - before[1, k]


@njit(cache=True)
def _block_drift(i, j, d, nx, ny):
    """At a contact, remove an approach of drifts that velocities do not have: discs below MinVelocity, or moved by
    rules.
    """
    into, total = d[U, i] * nx + d[W, i] * ny, d[INVERSE, i]
    if j >= 0:
        into -= d[U, j] * nx + d[W, j] * ny
        total += d[INVERSE, j]
    if into <= 0.0 or total == 0.0:
        return
    d[U, i] -= into * d[INVERSE, i] / total * nx
    d[W, i] -= into * d[INVERSE, i] / total * ny
    if j >= 0:
        d[U, j] += into * d[INVERSE, j] / total * nx
        d[W, j] += into * d[INVERSE, j] / total * ny


@njit(cache=True)
def _stop_jammed(count, d, impacts):
    for k in range(count):
        if impacts[k] > MAX_IMPACTS:
            d[U, k] = d[W, k] = 0.0


@njit(cache=True)
def _time_between(i, j, d, horizon):
    """Return the time until two discs meet; inf for never, or certainly not before the horizon."""
    du, dw = d[U, j] - d[U, i], d[W, j] - d[W, i]
    dx, dy = d[X, j] - d[X, i], d[Y, j] - d[Y, i]
    b = dx * du + dy * dw
    if b >= -STILL or (d[INVERSE, i] == 0.0 and d[INVERSE, j] == 0.0):
        return np.inf
    reach = d[R, i] + d[R, j]
    c = dx * dx + dy * dy - reach * reach
    if c <= 0.0:
        return 0.0
    if c > -2.0 * b * horizon * (1.0 + 1e-9):  # bound on how much the gap can close, with 1e-9 for rounding
        return np.inf
    root = b * b - (du * du + dw * dw) * c
    if root <= 0.0:
        return np.inf
    return c / (-b + np.sqrt(root))


@njit(cache=True)
def _settle(count, d, left, low, high, points, numbers, radii, obstacles, answered, who, contact):
    """Remove velocity that presses discs together if they touch now, or will in the remaining time."""
    contacts = touching(count, d, left, low, high, points, numbers, radii, obstacles, answered, who, contact)
    press(contacts, d, who, contact)


@njit(cache=True)
def traveling_room(discs, obstacles):
    """Return the working arrays of `travel`: impacts, when, whom, before, and the arrays of `settling_room`."""
    who, contact = settling_room(discs, obstacles)
    whole = np.empty((2, discs), dtype=np.int64)
    return whole[0], np.empty(discs), whole[1], np.empty((2, discs)), who, contact


@njit(cache=True)
def _meetings(count, d, now, end, low, high, points, numbers, radii, middles, obstacles, when, whom, i, j):
    """Compute when each disc next meets a wall or a disc of a higher index, and which; inf if not before the end. After
    a meeting of i and j, only times that depend on them are recomputed; i = -1 recomputes all.
    """
    left = end - now
    for k in range(count):
        if i >= 0 and not (k in (i, j) or whom[k] == i or (j >= 0 and whom[k] == j)):
            for other in (i, j):
                if other > k:
                    t = now + _time_between(k, other, d, np.inf)
                    if t < when[k] and t < end:
                        when[k], whom[k] = t, other
            continue
        best, meets = left, NOBODY
        for axis in range(2):
            speed = d[U + axis, k]
            if speed > STILL:
                t = (high - d[R, k] - d[X + axis, k]) / speed
            elif speed < -STILL:
                t = (low + d[R, k] - d[X + axis, k]) / speed
            else:
                continue
            t = max(t, 0.0)
            if t < best:
                best, meets = t, WALL_X - axis
        if d[INVERSE, k] > 0.0:
            for m in range(obstacles):
                dx, dy = d[X, k] - middles[m, 0], d[Y, k] - middles[m, 1]
                reach = middles[m, 2] + d[R, k] + best * (abs(d[U, k]) + abs(d[W, k]))
                if dx * dx + dy * dy <= reach * reach:
                    t = time_to(d[X, k], d[Y, k], d[U, k], d[W, k], d[R, k], m, points, numbers, radii, best)
                    if t < best:
                        best, meets = t, BLOCK - m
        for other in range(k + 1, count):
            t = _time_between(k, other, d, best)
            if t < best:
                best, meets = t, other
        when[k], whom[k] = now + best if meets != NOBODY else np.inf, meets


@njit(cache=True)
def travel(
    count, d, lasts, time, budget, limits, low, high, moves, walls, answered, i_hit, j_hit, nx, ny, room
):  # fmt: skip
    """Move the discs of one scene for `time` seconds, or until a contact that a rule handles.

    :param d, lasts: from `pack`. :param limits: MinVelocity, MaxVelocity, WallDamping, Restitution.
    :param walls: inner walls from `lay_out`: points, numbers, radii, middles, and their count.
    :param answered: contacts that rules handle, from `tell_answered`; no rows without such rules.
    :param i_hit, j_hit, nx, ny: the contact that a rule has just handled, or -1.
    :param room: from `traveling_room`.
    :returns: remaining time, -1 at the end of the step; remaining impacts; the contact pair (see `WALL_X`, `BLOCK`),
        and the unit vector from the first to the second.
    """
    points, numbers, radii, middles, obstacles = walls
    impacts, when, whom, before, who, contact = room
    slowest, fastest, damping, restitution = limits
    asks = answered.shape[0] > 0
    most = answered.shape[0]
    for i in range(count):
        _drift(i, d, slowest, moves)
        impacts[i] = 0
    if i_hit >= 0:
        _block_drift(i_hit, j_hit, d, nx, ny)
    now = 0.0
    _meetings(count, d, now, time, low, high, points, numbers, radii, middles, obstacles, when, whom, -1, -1)
    while True:
        i = -1
        for k in range(count):
            if when[k] < np.inf and (i < 0 or when[k] < when[i]):
                i = k
        until = time if i < 0 else when[i]
        if i >= 0 and budget == 0:
            _settle(count, d, 0.0, low, high, points, numbers, radii, obstacles, answered[:0], who, contact)
            clip_all(count, d, fastest)
            break
        for k in range(count):
            d[X, k] += d[U, k] * (until - now)
            d[Y, k] += d[W, k] * (until - now)
        now = until
        if i < 0:
            break
        budget -= 1
        j = whom[i]
        impacts[i] += 1
        if j >= 0:
            impacts[j] += 1
        nx, ny = _normal(i, j, d, low, high, points, numbers, radii)
        if asks and answered[i, j if j >= 0 else most + 1 + BLOCK - j if j <= BLOCK else most]:
            return time - now, budget, i, j, nx, ny
        for k in range(count):
            before[0, k], before[1, k] = d[VX, k], d[VY, k]
        if j >= 0:
            _bounce(i, j, d, lasts, restitution, fastest)
        else:
            _bounce_off(i, d, nx, ny, damping, restitution)
        if restitution == 0.0:  # also push the discs that it touches
            _settle(count, d, time - now, low, high, points, numbers, radii, obstacles, answered, who, contact)
            clip_all(count, d, fastest)
            for k in range(count):
                _follow(k, d, before, moves)
            _block_drift(i, j, d, nx, ny)
            _stop_jammed(count, d, impacts)
            _meetings(count, d, now, time, low, high, points, numbers, radii, middles, obstacles, when, whom, -1, -1)
            continue
        _follow(i, d, before, moves)
        if j >= 0:
            _follow(j, d, before, moves)
        _block_drift(i, j, d, nx, ny)
        _stop_jammed(count, d, impacts)
        _meetings(count, d, now, time, low, high, points, numbers, radii, middles, obstacles, when, whom, i, j)
    push_apart(count, d, low, high, points, numbers, radii, middles, obstacles)
    return -1.0, budget, -1, -1, 0.0, 0.0


@njit(cache=True)
def advance(discs, shapes, parameters, walls, moves, left, budget, special, hits, normals):
    """Move the discs of every scene until the step is over, or until a contact that a rule handles.

    :param discs: slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite; arrays as
        in `State`; `extra` (2, N, B) is the change of position per second that rules add.
    :param shapes: slots of inner walls, kinds, corners, corner_counts, drawn_size, reaches; as in `State`.
    :param parameters: (B,) MinVelocity, MaxVelocity, WallDamping, Restitution.
    :param walls: (2, B).
    :param moves: (B,) bool, whether velocities move things at all.
    :param left: (B,) seconds left in the step; negative when it is over.
    :param budget: (B,) impacts left; negative at the start of a step.
    :param special: (N, N + 1, B) bool, pairs of slots whose contacts rules handle; [i, N] for the walls. Without such
        rules the last axis has length 0.
    :param hits: (2, B) slots of the contact at which a scene stopped; N for a wall, -1 for none.
    :param normals: (2, B) unit vector from the first to the second at that contact.
    """
    slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite = discs
    blocks, kinds, corners, counts, drawn, reaches = shapes
    most, batch, total = len(slots), present.shape[1], present.shape[0]
    asks = special.shape[2] > 0
    d = np.empty((11, most))
    room = traveling_room(most, len(blocks))
    mine, lasts = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.bool_)
    walled = len(blocks)
    points, numbers = np.empty((walled, corners.shape[0], 2)), np.empty(walled, dtype=np.int64)
    radii, middles = np.empty(walled), np.empty((walled, 3))
    block_slots = np.empty(walled, dtype=np.int64)
    answered = np.zeros((most if asks else 0, most + 1 + walled), dtype=np.bool_)
    for b in range(batch):
        if left[b] < 0.0:
            continue
        limits = parameters[0][b], parameters[1][b], parameters[2][b], parameters[3][b]
        low, high = walls[0, b], walls[1, b]
        count = pack(
            b, slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite, d, mine, lasts
        )
        obstacles = 0
        if walled:
            obstacles = lay_out(
                b, blocks, present, place, size, kinds, corners, counts, drawn, reaches, points, numbers, radii,
                middles, block_slots,
            )  # fmt: skip
        if asks:
            tell_answered(b, count, obstacles, mine, block_slots, special, answered)
        i_hit = j_hit = -1
        if budget[b] < 0:
            budget[b] = (MAX_IMPACTS + 1) * count
            if limits[3] == 0.0:
                _settle(
                    count, d, left[b], low, high, points, numbers, radii, obstacles, answered, room[-2], room[-1]
                )  # fmt: skip
                clip_all(count, d, limits[1])
        elif hits[0, b] >= 0:
            i_hit, j_hit = _finish_contact(
                count, d, mine, slots, hits[0, b], hits[1, b], normals[0, b], normals[1, b], limits[1]
            )
        left[b], budget[b], i, j, nx, ny = travel(
            count, d, lasts, left[b], budget[b], limits, low, high, moves[b],
            (points, numbers, radii, middles, obstacles),
            answered, i_hit, j_hit, normals[0, b], normals[1, b], room,
        )  # fmt: skip
        hits[0, b] = -1
        if i >= 0:
            hits[0, b] = mine[i]
            hits[1, b] = mine[j] if j >= 0 else block_slots[BLOCK - j] if j <= BLOCK else total
            normals[0, b], normals[1, b] = nx, ny
        for k in range(count):
            slot = mine[k]
            place[0, slot, b], place[1, slot, b] = d[X, k], d[Y, k]
            velocity[0, slot, b], velocity[1, slot, b] = d[VX, k], d[VY, k]
            energy[0, slot, b] = d[ENERGY, k]


@njit(cache=True)
def _finish_contact(count, d, mine, slots, first, second, nx, ny, fastest):
    """After a rule has handled a contact, remove the remaining approaching velocity.

    :returns: the two discs, -1 for a wall; both are -1 if the rule has removed either of them.
    """
    i = j = -1
    for k in range(count):
        if mine[k] == first:
            i = k
        elif mine[k] == second:
            j = k
    clip_all(count, d, fastest)
    gone = i < 0
    if j < 0:
        for slot in slots:
            gone = gone or slot == second
    if gone:
        return -1, -1
    if j >= 0:
        _impulse(i, j, d, nx, ny, 0.0)
    elif d[INVERSE, i] > 0.0:
        into = d[VX, i] * nx + d[VY, i] * ny
        if into > 0.0:
            d[VX, i] -= into * nx
            d[VY, i] -= into * ny
    clip_all(count, d, fastest)
    return i, j


# ---- Motion during a step as in SEGAR's code of 2022 (preset "compat"): if discs overlap after the step, go back in
# time to their contact, then simulate the rest of the step.

EPS = 1e-7
#: Mass of immobile things.
HEAVY = 1e8
#: Number of backward steps within a step after which the 2022 code would never end.
ENDLESS = 100_000

FINE, OUT_OF_BOUNDS, NEVER_ENDS, NO_WAY_BACK, NO_CONSERVATION = 0, 1, 2, 3, 4


@njit(cache=True)
def _wall_time(i, x, y, vx, vy, r, low, high):
    """Return the time back to the contact with a wall, 0 for none; -1 if the disc has no velocity to go back."""
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
    """Return the time back to the contact of two discs, 0 for none; -1 if their positions are equal."""
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
def _bounce_compat(i, j, x, y, vx, vy, mass, mobile, energy, infinite):
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
    if infinite[i]:  # as in the code of 2022: the flag is inverted, and the first disc's applies to both
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
def advance_compat(
    place, velocity, present, ghost, size, mass, mobile, energy, infinite, order, inserted_order, discs, scalars, walls,
    moves, out,
):  # fmt: skip
    """Move the discs of every scene for one step.

    :param place, velocity: (2, N, B).
    :param present, ghost: (N, B) bool; ghosts (dead or done) collide only with walls.
    :param size, mass, mobile, energy, infinite: (N, B).
    :param order, inserted_order: (N, B) slots in the order of iteration and of insertion; `discs` (N,) bool.
    :param scalars: (4, B): dt, slowest, fastest, wall damping.
    :param out: (B,), receives FINE or the kind of failure.
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
                _bounce_compat(one, two, x, y, vx, vy, mass[:, b], mobile[:, b], energy[:, b], infinite[:, b])
            left = min(max(rewound, 0.0), left)
        if out[b] == FINE:
            for k in range(count):
                slot = first[k]
                place[0, slot, b], place[1, slot, b] = x[slot], y[slot]
                velocity[0, slot, b], velocity[1, slot, b] = vx[slot], vy[slot]
