"""The discs of one scene in one small array, which the loops over contacts work on."""

from numba import njit

from . import compiling as compiling  # tells that it compiles

#: Rows of the numbers of discs: place, velocity, change of place a second, radius, 1 / mass, stored energy, and what
#: rules add to the change of place.
X, Y, VX, VY, U, W, R, INVERSE, ENERGY, EXTRA_X, EXTRA_Y = range(11)


@njit(cache=True)
def pack(b, slots, place, velocity, extra, present, alive, done, mobile, mass, size, energy, infinite, d, mine, lasts):
    """The discs of scene b that are there, alive and not done, in d (11, n), and their slots; returns how many."""
    count = 0
    for k in slots:
        if not present[k, b] or not alive[0, k, b] or done[0, k, b]:
            continue
        mine[count], lasts[count] = k, infinite[0, k, b]
        d[X, count], d[Y, count] = place[0, k, b], place[1, k, b]
        d[VX, count], d[VY, count] = velocity[0, k, b], velocity[1, k, b]
        d[EXTRA_X, count], d[EXTRA_Y, count] = extra[0, k, b], extra[1, k, b]
        d[R, count], d[ENERGY, count] = size[0, k, b] / 2.0, energy[0, k, b]
        moves = mobile[0, k, b] and mass[0, k, b] > 0.0
        d[INVERSE, count] = 1.0 / mass[0, k, b] if moves else 0.0
        count += 1
    return count


@njit(cache=True)
def tell_answered(b, count, obstacles, mine, block_slots, special, answered):
    """Of scene b's discs the contacts that rules answer: (n, n + 1 + m) with other discs, the walls, inner walls."""
    total, walls = special.shape[0], answered.shape[0]
    for i in range(count):
        for j in range(count):
            answered[i, j] = special[mine[i], mine[j], b]
        answered[i, walls] = special[mine[i], total, b]
        for m in range(obstacles):
            answered[i, walls + 1 + m] = special[mine[i], block_slots[m], b]


@njit(cache=True)
def first_outside(values, present, least, most):
    """Of values (d, n, B) the place d, k, b of the first that is not within the bounds and belongs to something that is
    there (n, B); -1 thrice if there is none.
    """
    for d in range(values.shape[0]):
        for k in range(values.shape[1]):
            for b in range(values.shape[2]):
                if present[k, b] and not (values[d, k, b] >= least and values[d, k, b] <= most):
                    return d, k, b
    return -1, -1, -1
