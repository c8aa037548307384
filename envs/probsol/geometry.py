"""Compute distances to areas and to goals, and masks of open actions, in loops over the tables of a batch."""

import numpy as np
from numba import njit

ABSENT, STORED, GRABBED, HELD, PLACED = range(5)
#: Families, numbered as in `tasks.FAMILIES`; SANDBOX comes after them.
FISHING, CURLING, FIND_THE_DIFF, FIND_THE_SAME, BUILDING, MODIFYING, SANDBOX = range(7)
#: px up to which a disc counts as still in its place at the start; px/s above which a disc moves.
SAME_PLACE, MOVES = 0.5, 0.5
#: Weights of the edit distance of discovery: a missing or an additional disc, and a wrong disc.
ADD, SUBSTITUTE = 2, 1


@njit(cache=True)
def area_distance(x, y, corners, count):
    """Return the distance of a point from a polygon (V, 2), 0 inside and on its sides."""
    inside, nearest = False, np.inf
    for k in range(count):
        ax, ay = corners[k, 0], corners[k, 1]
        following = k + 1 if k + 1 < count else 0
        bx, by = corners[following, 0], corners[following, 1]
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            inside = not inside
        ex, ey = bx - ax, by - ay
        along = min(max(((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey), 0.0), 1.0)
        dx, dy = x - ax - along * ex, y - ay - along * ey
        nearest = min(nearest, dx * dx + dy * dy)
    return 0.0 if inside else np.sqrt(nearest)


@njit(cache=True)
def edits(table, answer):
    """Return the weighted edit distance of two sorted lists of distinct ids; transpositions cannot occur."""
    many, wanted = len(table), len(answer)
    cost = np.zeros((many + 1, wanted + 1), dtype=np.int64)
    cost[:, 0], cost[0] = ADD * np.arange(many + 1), ADD * np.arange(wanted + 1)
    for i in range(many):
        for j in range(wanted):
            other = cost[i, j] + (0 if table[i] == answer[j] else SUBSTITUTE)
            cost[i + 1, j + 1] = min(other, cost[i, j + 1] + ADD, cost[i + 1, j] + ADD)
    return cost[many, wanted]


@njit(cache=True)
def _matched(distances):
    """Return the least sum of distances (T, M) if each of T blocks takes its own disc, or none at cost 1."""
    blocks, discs = distances.shape
    best = np.full(1 << blocks, np.inf)
    best[0] = 0.0
    for disc in range(discs):
        for served in range((1 << blocks) - 1, -1, -1):
            if best[served] < np.inf:
                for block in range(blocks):
                    more = served | (1 << block)
                    if more != served:
                        best[more] = min(best[more], best[served] + distances[block, disc])
    least = np.inf
    for served in range(1 << blocks):
        missing = 0
        for block in range(blocks):
            missing += 1 - ((served >> block) & 1)
        least = min(least, best[served] + missing)
    return least


@njit(cache=True)
def goal_distances(rows, family, where, start_where, place, start_place, speed, cell, start_cell, theta, start_theta,
                   goal, concerned, answer, corners, counts, areas, diagonal, found):  # fmt: skip
    """Write d(s, g) of each table into `found` (B,): 0 if the goal is reached, at most 1.

    :param rows: (B,) the task of each table; arrays of tasks have K rows, others B. Areas are targets or blocks.
    :param family: (K,). :param where, place, speed, cell, theta: (B, M), place (B, M, 2); start_: at the trial's start.
    :param goal, concerned, answer: (K, M) bool: golden discs, first stored discs, discs of the answer.
    :param corners, counts, areas: (K, T, V, 2), (K, T) and (K,) of polygons.
    """
    discs = where.shape[1]
    for b in range(len(rows)):
        task = rows[b]
        kind, many = family[task], areas[task]
        found[b] = 1.0
        if kind == SANDBOX:
            continue
        same = True
        for m in range(discs):
            dx, dy = place[b, m, 0] - start_place[b, m, 0], place[b, m, 1] - start_place[b, m, 1]
            same &= where[b, m] == start_where[b, m] and cell[b, m] == start_cell[b, m]
            same &= theta[b, m] == start_theta[b, m]
            same &= where[b, m] != PLACED or dx * dx + dy * dy <= SAME_PLACE * SAME_PLACE
        if same:
            continue
        if kind in (FIND_THE_DIFF, FIND_THE_SAME):
            there = np.flatnonzero(concerned[task] & (where[b] == PLACED))
            found[b] = edits(there, np.flatnonzero(answer[task])) / (ADD * concerned[task].sum())
            continue
        distances = np.ones((many, discs))
        for m in range(discs):
            if where[b, m] == PLACED and speed[b, m] <= MOVES:
                for t in range(many):
                    away = area_distance(place[b, m, 0], place[b, m, 1], corners[task, t], counts[task, t])
                    distances[t, m] = min(away / diagonal, 1.0)
        if kind == FISHING:
            total = 0.0
            for m in range(discs):
                if goal[task, m]:
                    total += distances[:, m].min()
                    if where[b, m] == PLACED and speed[b, m] > MOVES:
                        total = np.inf
            found[b] = min(total / goal[task].sum(), 1.0)
        elif kind == CURLING:
            total = 0.0
            for t in range(many):
                total += distances[t].min()
            found[b] = total / many
        else:
            found[b] = _matched(distances) / many


@njit(cache=True)
def open_actions(rows, where, place, cell, hand, waits, allowed, dark, grid, cell_size, reach, discs, cells, mask):
    """Write the open actions into `mask` (B, N) bool, in the order of `engine`.

    :param hand: (B,) the disc in hand + 1, or 0. :param waits: (B,) bool, tables that wait for answers.
    :param allowed: (K, grid * grid) bool, points outside the dark where a disc overlaps neither walls nor edges.
    :param dark: (K, T, 4) areas as left, top, right, bottom; missing areas are empty.
    """
    points = grid * grid
    first_point = 3 * discs + cells
    last = first_point + 2 * points
    for b in range(len(rows)):
        task = rows[b]
        mask[b] = False
        mask[b, last + 6] = True
        if waits[b]:
            continue
        if hand[b] == 0:
            mask[b, last + 7] = True
            for m in range(discs):
                if where[b, m] == STORED:
                    mask[b, m] = True
                elif where[b, m] == PLACED:
                    x, y = place[b, m, 0], place[b, m, 1]
                    shut = False
                    for t in range(dark.shape[1]):
                        left, top, right, bottom = dark[task, t]
                        shut |= left <= x < right and top <= y < bottom
                    mask[b, discs + m] = mask[b, 2 * discs + m] = not shut
            continue
        if where[b, hand[b] - 1] == HELD:
            for k in range(2, 6):
                mask[b, last + k] = True
            continue
        for c in range(cells):
            mask[b, 3 * discs + c] = True
        for m in range(discs):
            if where[b, m] == STORED:
                mask[b, 3 * discs + cell[b, m] - 1] = False
        mask[b, first_point : first_point + points] = allowed[task]
        for m in range(discs):
            if where[b, m] != PLACED:
                continue
            x, y = place[b, m, 0], place[b, m, 1]
            left, top = int((x - reach) / cell_size - 0.5), int((y - reach) / cell_size - 0.5)
            for row in range(max(top, 0), min(top + int(2 * reach / cell_size) + 3, grid)):
                for column in range(max(left, 0), min(left + int(2 * reach / cell_size) + 3, grid)):
                    dx, dy = (column + 0.5) * cell_size - x, (row + 0.5) * cell_size - y
                    if dx * dx + dy * dy < reach * reach:
                        mask[b, first_point + row * grid + column] = False
        mask[b, first_point + points : last] = mask[b, first_point : first_point + points]
