"""Loops over environments, pairs and their products, compiled by numba; `gumption.kg.planning` calls them.

The arrays of products are the fields of `Products`: pairs, start, product, probability, made_with, made_start, partner,
partner_probability. Ids are from 1; 0 is nothing.
"""

import numpy as np
from numba import njit

GAMMA = 0.99  # discount: of two certain derivations the shorter has the higher value
BREADTH = 8  # number of likeliest products of a pair that are expanded when three or more uses are left


@njit(cache=True, nogil=True)
def _place(keys, key):
    """Return the index of a key in sorted keys; -1 if it is missing."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@njit(cache=True, nogil=True)
def _tried(tried, one, other):
    """Return the id of the product of a pair in this episode, 0 for nothing, -1 if the pair was not tried."""
    for k in range(len(tried)):
        a, b = tried[k, 0], tried[k, 1]
        if a and ((a == one and b == other) or (a == other and b == one)):
            return tried[k, 2]
    return -1


@njit(cache=True, nogil=True)
def _pair_value(row, start, product, probability, goal, rest, place, direct, second):
    """Return p(goal) + gamma (sum of p times the value of each product + (1 - sum of p) times `rest`).

    A product has the value `rest`, or more if it makes the goal with something at hand: `direct`, `second` (size,).
    """
    value, mass = 0.0, 0.0
    for k in range(start[row], start[row + 1]):
        made, p = product[k], probability[k]
        mass += p
        if made == goal:
            value += p
            continue
        worth = rest
        if place[made] < 0:
            worth = max(rest, direct[made], second[made])
        value += GAMMA * p * worth
    value += GAMMA * max(0.0, 1.0 - mass) * rest
    return min(value, 1.0)


@njit(cache=True, nogil=True)
def _known_value(made, goal, rest, place, direct, second):
    """Return the value as `_pair_value`, for a pair whose product is known from this episode."""
    if made == goal:
        return 1.0
    if made and place[made] < 0:
        return GAMMA * max(rest, direct[made], second[made])
    return GAMMA * rest


@njit(cache=True, nogil=True)
def _mix_values(
    size, pairs, start, product, probability, made_with, made_start, partner, partner_probability,
    things, goal, uses, tried, only, find, further, further_worth, still, values,
):  # fmt: skip
    """Fill `values` (n, n) with the value of using things i and j with `uses` uses left.

    :param things: (n,) distinct ids.
    :param only: the index of a thing to restrict the pairs to, or -1.
    :param find: fill only `further` (F,), with the ids of the most promising products.
    :param further_worth: (F,) the value of having each of `further` at hand, with one use less.
    :param still: (n,) the value of choosing each thing with one use less, if more than three uses are left.
    :returns: the largest value.
    """
    n = len(things)
    place = np.full(size, -1, dtype=np.int64)
    for i in range(n):
        place[things[i]] = i
    nothing = np.zeros(size)
    direct = np.zeros(size)  # for a thing not at hand: the best p(goal) with something at hand, or with itself
    one_use = np.zeros((n, n))
    for i in range(n + 1):
        thing = things[i] if i < n else 0
        row = _place(made_with, goal * size + thing)
        if row < 0:
            continue
        for k in range(made_start[row], made_start[row + 1]):
            other, p = partner[k], partner_probability[k]
            if place[other] < 0:
                direct[other] = max(direct[other], p)
            else:
                j = place[other]
                one_use[i if thing else j, j] = p
                one_use[j, i if thing else j] = p
    for k in range(len(tried)):
        a, b = tried[k, 0], tried[k, 1]
        if a and place[a] >= 0 and place[b] >= 0:
            made = 1.0 if tried[k, 2] == goal else 0.0
            one_use[place[a], place[b]] = made
            one_use[place[b], place[a]] = made
    best1, next1, best_i, best_j = 0.0, 0.0, -1, -1
    for i in range(n):
        for j in range(i, n):
            if one_use[i, j] > best1:
                best1, next1, best_i, best_j = one_use[i, j], best1, i, j
            elif one_use[i, j] > next1:
                next1 = one_use[i, j]
    if uses == 1:
        for i in range(n):
            for j in range(n):
                values[i, j] = one_use[i, j]
        return best1

    deeper = uses > 2
    two_uses = np.zeros((n, n))
    rows = np.full((n, n), -1, dtype=np.int64)
    head = np.full(size, -1, dtype=np.int64)  # heads of linked lists: pairs at hand, by product
    room = n * (n + 1) // 2 * 40 if deeper else 1
    after = np.empty(room, dtype=np.int64)
    maker_i = np.empty(room, dtype=np.int64)
    maker_j = np.empty(room, dtype=np.int64)
    maker_p = np.empty(room)
    listed = 0
    best2, next2, best2_i, best2_j = 0.0, 0.0, -1, -1
    for i in range(n):
        for j in range(i, n):
            if not deeper and only >= 0 and i != only and j != only:
                continue
            rest = next1 if i == best_i and j == best_j else best1
            made = _tried(tried, things[i], things[j]) if len(tried) else -1
            if made >= 0:
                rows[i, j] = -2 - made
                value = _known_value(made, goal, rest, place, direct, nothing)
            else:
                a, b = min(things[i], things[j]), max(things[i], things[j])
                rows[i, j] = _place(pairs, a * size + b)
                if rows[i, j] < 0:
                    value = GAMMA * rest
                else:
                    value = _pair_value(rows[i, j], start, product, probability, goal, rest, place, direct, nothing)
                    if deeper:
                        for k in range(start[rows[i, j]], start[rows[i, j] + 1]):
                            if product[k] != goal and place[product[k]] < 0 and listed < room:
                                after[listed], head[product[k]] = head[product[k]], listed
                                maker_i[listed], maker_j[listed], maker_p[listed] = i, j, probability[k]
                                listed += 1
            two_uses[i, j] = value
            two_uses[j, i] = value
            if value > best2:
                best2, next2, best2_i, best2_j = value, best2, i, j
            elif value > next2:
                next2 = value
    if uses == 2:
        for i in range(n):
            for j in range(n):
                values[i, j] = two_uses[i, j]
        return best2

    # With three or more uses: the value of having each likely product at hand, once for all pairs that make it.
    worth = np.full(size, -1.0)
    wanted = np.empty(size, dtype=np.int64)
    likely = np.zeros(size)
    count = 0
    for i in range(n):
        for j in range(i, n):
            if only >= 0 and i != only and j != only:
                continue
            row = rows[i, j]
            if row <= -2:
                made = -2 - row
                if made and made != goal and place[made] < 0:
                    if likely[made] == 0.0:
                        wanted[count] = made
                        count += 1
                    likely[made] = 1.0
            elif row >= 0:
                for k in range(start[row], min(start[row] + BREADTH, start[row + 1])):
                    made = product[k]
                    if made != goal and place[made] < 0:
                        if likely[made] == 0.0:
                            wanted[count] = made
                            count += 1
                        likely[made] = max(likely[made], probability[k])
    joined = np.zeros(size)  # for later products: p(goal) with the current thing
    gained = np.zeros((n, n))
    for c in range(count):
        thing = wanted[c]
        now = max(best1, direct[thing])
        best = max(best2, now)
        own = _place(made_with, goal * size + thing)
        if own >= 0:
            for k in range(made_start[own], made_start[own + 1]):
                joined[partner[k]] = partner_probability[k]
        place[thing] = n
        for i in range(n + 1):
            other = things[i] if i < n else thing
            row = _place(pairs, min(other, thing) * size + max(other, thing))
            if row >= 0:
                best = max(
                    best,
                    _pair_value(row, start, product, probability, goal, now, place, direct, joined),
                )
        if own >= 0:
            for k in range(made_start[own], made_start[own + 1]):
                made, p = partner[k], partner_probability[k]
                before = max(best1, direct[made])
                if place[made] < 0 and p > before:
                    entry = head[made]
                    while entry >= 0:
                        i, j = maker_i[entry], maker_j[entry]
                        gained[i, j] += GAMMA * maker_p[entry] * (p - before)
                        best = max(best, min(1.0, two_uses[i, j] + gained[i, j]))
                        entry = after[entry]
            for k in range(made_start[own], made_start[own + 1]):
                joined[partner[k]] = 0.0
                entry = head[partner[k]]
                while entry >= 0:
                    gained[maker_i[entry], maker_j[entry]] = 0.0
                    entry = after[entry]
        place[thing] = -1
        worth[thing] = best

    if uses > 3 and find:
        promise = np.empty(count)
        for c in range(count):
            promise[c] = -likely[wanted[c]] * (worth[wanted[c]] + 1e-3)
        order = np.argsort(promise, kind="mergesort")
        for c in range(min(count, len(further))):
            further[c] = wanted[order[c]]
        return best2
    for c in range(len(further)):
        if further[c]:
            worth[further[c]] = max(worth[further[c]], further_worth[c])

    best, top, later = 0.0, max(best2, best1), still.max()
    for i in range(n):
        for j in range(i, n):
            if only >= 0 and i != only and j != only:
                values[i, j] = 0.0
                values[j, i] = 0.0
                continue
            rest = max(next2 if i == best2_i and j == best2_j else top, next1)
            row = rows[i, j]
            if uses > 3:
                mass = 1.0
                if row >= 0:
                    mass = probability[start[row] : start[row + 1]].sum()
                # After it failed, a pair that may have been the best no longer counts.
                if mass > 0.9999 or still[i] < later or still[j] < later:
                    rest = max(rest, later)
            if row == -1:
                value = GAMMA * rest
            elif row <= -2:
                value = _known_value(-2 - row, goal, rest, place, direct, worth)
            else:
                value = _pair_value(row, start, product, probability, goal, rest, place, direct, worth)
            values[i, j] = value
            values[j, i] = value
            best = max(best, value)
    return best


@njit(cache=True, nogil=True)
def choice_values(
    size, pairs, start, product, probability, made_with, made_start, partner, partner_probability,
    at_hand, goal, candidates, chosen, tried, horizon, find, further, further_worth, still, found,
):  # fmt: skip
    """Fill `found` (B, A) with the value of each candidate; see `Planner.values`.

    :param find: fill `further` (B, F) instead, for environments with four or more uses left; see `_mix_values`.
    :param still: (B, N) the value of choosing each thing at hand with one use less, for these environments.
    """
    for b in range(len(found)):
        if not goal[b] or horizon[b] < 1:
            continue
        things = np.empty(at_hand.shape[1] + 1, dtype=np.int64)
        later = np.empty(at_hand.shape[1] + 1)
        n = 0
        for place in range(at_hand.shape[1]):
            thing = at_hand[b, place]
            new = thing > 0
            for i in range(n):
                new = new and things[i] != thing
            if new:
                things[n], later[n] = thing, still[b, place]
                n += 1
        first = chosen[b, 0] if chosen.shape[1] else 0
        only = -1
        for i in range(n):
            if things[i] == first:
                only = i
        values = np.zeros((n, n))
        _mix_values(
            size, pairs, start, product, probability, made_with, made_start, partner, partner_probability,
            things[:n], goal[b], horizon[b], tried[b], only, find, further[b], further_worth[b], later[:n], values,
        )  # fmt: skip
        if find:
            continue
        for a in range(candidates.shape[1]):
            for i in range(n):
                if candidates[b, a] == things[i]:
                    found[b, a] = values[only, i] if only >= 0 else values[i].max()
