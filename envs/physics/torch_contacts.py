"""The motion of a step on torch tensors: exact times of impact as in contacts.py, for all scenes at once.

Each scene goes from one impact to the next, for a fixed number of impacts, so that nothing waits for the device. In a
scene with more, each disc then goes on until its next contact, and the rest comes in the next step.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .factors import (
    Alive,
    Done,
    Factor,
    Framerate,
    InfiniteEnergy,
    Mass,
    MaxVelocity,
    MinVelocity,
    Mobile,
    Position,
    Restitution,
    Size,
    StoredEnergy,
    Velocity,
    WallDamping,
)
from .torch_rules import TensorRule, evaluated_on_device
from .torch_state import TensorState

#: Impacts of a scene within a step: so many, and so many for each disc. A disc with more than the third number stays
#: where it is for the rest of the step.
IMPACTS, IMPACTS_PER_DISC, MAX_IMPACTS = 4, 2, 8
#: Approaching more slowly than this is none; overlaps up to this share of the distance of centres are none.
STILL, TOUCH = 1e-12, 1e-9
#: Rounds of pushing overlapping discs apart; all pairs of a round at once.
PUSHING = 4
#: Rows of the numbers of discs.
X, V, U, INVERSE, ENERGY, LASTS, COUNT = slice(0, 2), slice(2, 4), slice(4, 6), 6, 7, 8, 9


class TensorMotion:
    """Moves the discs of a state."""

    def __init__(self, state: TensorState, discs: np.ndarray, moves: bool, drifts: Sequence[TensorRule]) -> None:
        """:param discs: (M,) slots. :param moves: velocities move things. :param drifts: other rules that change
        Position.
        """
        self._state, self._moves, self._drifts = state, moves, drifts
        self._count, numbers = len(discs), state.numbers
        self._slots = numbers.tensor(discs)
        one, two = np.triu_indices(self._count, 1)
        self._one, self._two = numbers.tensor(one), numbers.tensor(two)
        # Candidates in the order of ties: for each disc the walls, then discs of higher numbers.
        m, walls = self._count, np.arange(2 * self._count)
        owner, kind = np.concatenate([walls % m, one]), np.concatenate([walls // m - 2, two])
        order = np.lexsort((kind, owner))
        self._order = numbers.tensor(order)
        self._first, self._second = numbers.tensor(owner[order]), numbers.tensor(kind[order])
        mine = [np.flatnonzero((one == k) | (two == k)) for k in range(m)]
        self._pairs_of = numbers.tensor(np.array(mine, dtype=np.int64).reshape(m, max(m - 1, 0)))
        signs = [np.where(one[pairs] == k, -1.0, 1.0) for k, pairs in enumerate(mine)]
        self._signs = numbers.tensor(np.array(signs).reshape(m, max(m - 1, 0), 1))

    def step(self) -> None:
        """Move for a step."""
        state = self._state
        x, v, energy = (self._column(each) for each in (Position, Velocity, StoredEnergy))
        rate = self._parameter(Framerate)
        extra = torch.zeros_like(x)
        if self._drifts:
            before = state.tensors[Position].clone()
            evaluated_on_device(state, self._drifts, frozenset([Position])).apply()
            extra = (self._column(Position) - x) * rate
            state.tensors[Position].copy_(before)
        active = state.present[self._slots] & self._truth(Alive, True) & ~self._truth(Done, False)
        mass = self._column(Mass, 1.0)[0]
        movable = active & self._truth(Mobile, True) & (mass > 0.0)
        inverse = torch.where(movable, 1.0 / torch.where(movable, mass, 1.0), 0.0)
        radius = self._column(Size)[0] / 2.0
        going = (v[0] * v[0] + v[1] * v[1]).sqrt() >= self._parameter(MinVelocity)
        drift = torch.where(active, (torch.where(going, v, 0.0) if self._moves else 0.0) + extra, 0.0)
        lasts = self._truth(InfiniteEnergy, False).to(x.dtype)[None]
        rows = torch.cat([x, v, drift, inverse[None], energy, lasts, torch.zeros_like(lasts)])
        discs = torch.cat([rows, torch.zeros_like(rows[:, :1])], dim=1)  # the last stands for walls and for nobody
        one, two = self._one, self._two
        meet = active[one] & active[two] & (movable[one] | movable[two])
        reach = radius[one] + radius[two]
        left = 1.0 / rate
        for _ in range(IMPACTS + IMPACTS_PER_DISC * self._count):
            left = self._impact(discs, radius, meet, reach * reach, left)
        pairs, walls = self._times(discs, radius, meet, reach * reach)
        own = torch.minimum(walls.amin(dim=0), left)
        if self._count > 1:
            own = torch.minimum(own, pairs[self._pairs_of].amin(dim=1))
        place = discs[X, :-1] + discs[U, :-1] * own
        place = self._pushed_apart(place, radius, meet, reach, inverse)
        for factor, values in (
            (Position, place),
            (Velocity, discs[V, :-1]),
            (StoredEnergy, discs[ENERGY : ENERGY + 1, :-1]),
        ):
            if factor in state.tensors:
                state.tensors[factor][:, self._slots] = values

    def _times(self, discs: Tensor, radius: Tensor, meet: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
        """When pairs (P, B) meet, and discs the walls of each axis (2, M, B); inf for never.

        :param reach: (P, B) squares of the distances at which pairs meet.
        """
        apart = discs[:6, self._two] - discs[:6, self._one]
        (dx, dy), (du, dw) = apart[X], apart[U]
        b = dx * du + dy * dw
        c = dx * dx + dy * dy - reach
        root = b * b - (du * du + dw * dw) * c
        time = c / (-b + root.clamp(min=0.0).sqrt())
        time = torch.where(c <= 0.0, 0.0, torch.where(root > 0.0, time, torch.inf))
        pairs = torch.where(meet & (b < -STILL), time, torch.inf)
        low, high = self._state.walls
        x, u = discs[X, :-1], discs[U, :-1]
        edge = torch.where(u > 0.0, high - radius, low + radius)
        still = u.abs() <= STILL
        walls = ((edge - x) / torch.where(still, 1.0, u)).clamp(min=0.0)
        return pairs, torch.where(still, torch.inf, walls)

    def _impact(self, discs: Tensor, radius: Tensor, meet: Tensor, reach: Tensor, left: Tensor) -> Tensor:
        """Go to the next impact of each scene, or to the end of the step; returns (B,) the seconds left after that."""
        pairs, walls = self._times(discs, radius, meet, reach)
        times = torch.cat([walls.flatten(0, 1), pairs])[self._order]
        which = times.argmin(dim=0)
        time = times.gather(0, which[None])[0]
        hit = time < left
        time = torch.where(hit, time, left)
        discs[X] += discs[U] * time
        second, nobody = self._second[which], self._count
        wall = second < 0
        i = torch.where(hit, self._first[which], nobody)
        j = torch.where(hit & ~wall, second, nobody)
        at = torch.stack([i, j]).expand(len(discs), 2, -1)
        both = discs.gather(1, at)
        me, other = both[:, 0], torch.where(wall, 0.0, both[:, 1])
        normal = self._normal(me, other, second)
        v1, v2, e1, e2 = self._bounced(me, other, normal, wall)
        u1, u2 = me[U], other[U]
        if self._moves:
            u1, u2 = u1 + (v1 - me[V]), u2 + (v2 - other[V])
        # What places still approach by, without the velocities doing so, ends at the contact.
        total = me[INVERSE] + other[INVERSE]
        into = (u1[0] - u2[0]) * normal[0] + (u1[1] - u2[1]) * normal[1]
        push = torch.where((into > 0.0) & (total > 0.0), into / torch.where(total > 0.0, total, 1.0), 0.0) * normal
        counts = both[COUNT] + 1.0
        free = counts <= MAX_IMPACTS
        u1 = torch.where(free[0], u1 - push * me[INVERSE], 0.0)
        u2 = torch.where(free[1], u2 + push * other[INVERSE], 0.0)
        mine = torch.cat([me[X], v1, u1, me[INVERSE, None], e1, me[LASTS, None], counts[0, None]])
        others = torch.cat([other[X], v2, u2, other[INVERSE, None], e2, other[LASTS, None], counts[1, None]])
        discs.scatter_(1, at, torch.stack([mine, others], dim=1))
        discs[:, -1] = 0.0
        return left - time

    def _normal(self, me: Tensor, other: Tensor, second: Tensor) -> Tensor:
        """(2, B) from the disc to what it meets: a wall of the x axis (-2), of the y axis (-1), or a disc."""
        apart = other[X] - me[X]
        distance = (apart[0] * apart[0] + apart[1] * apart[1]).sqrt()
        unit = apart / torch.where(distance > 0.0, distance, 1.0)
        unit = torch.stack([torch.where(distance > 0.0, unit[0], 1.0), unit[1]])
        sides = torch.where(me[U] > 0.0, 1.0, -1.0).to(me.dtype)
        walls = torch.stack([torch.where(second == -2, sides[0], 0.0), torch.where(second == -1, sides[1], 0.0)])
        return torch.where(second < 0, walls, unit)

    def _bounced(
        self, me: Tensor, other: Tensor, normal: Tensor, wall: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Velocities (2, B) and stored energies (1, B) of the two after the impact."""
        restitution, keep = self._parameter(Restitution), 1.0 - self._parameter(WallDamping)
        into = me[V][0] * normal[0] + me[V][1] * normal[1]
        off = (me[V] - (1.0 + restitution) * into * normal) * keep
        v1, v2 = me[V] * (1.0 + other[ENERGY]), other[V] * (1.0 + me[ENERGY])
        closing = (v1[0] - v2[0]) * normal[0] + (v1[1] - v2[1]) * normal[1]
        total = me[INVERSE] + other[INVERSE]
        impulse = (1.0 + restitution) * closing / torch.where(total > 0.0, total, 1.0)
        impulse = torch.where((closing > 0.0) & (total > 0.0), impulse, 0.0)
        v1 = self._limited(v1 - impulse * me[INVERSE] * normal)
        v2 = self._limited(v2 + impulse * other[INVERSE] * normal)
        e1 = torch.where(wall | (me[LASTS] > 0.0), me[ENERGY], 0.0)
        e2 = torch.where(other[LASTS] > 0.0, other[ENERGY], 0.0)
        return torch.where(wall, off, v1), v2, e1[None], e2[None]

    def _limited(self, v: Tensor) -> Tensor:
        speed, fastest = (v[0] * v[0] + v[1] * v[1]).sqrt(), self._parameter(MaxVelocity)
        return torch.where(speed > fastest, v * (fastest / torch.where(speed > 0.0, speed, 1.0)), v)

    def _pushed_apart(self, x: Tensor, radius: Tensor, meet: Tensor, reach: Tensor, inverse: Tensor) -> Tensor:
        """Places (2, M, B) without overlaps, and inside the walls."""
        low, high = self._state.walls
        roomy = high - low > 2.0 * radius
        one, two = self._one, self._two
        total = inverse[one] + inverse[two]
        for _ in range(PUSHING):
            if self._count > 1:
                apart = x[:, two] - x[:, one]
                square = apart[0] * apart[0] + apart[1] * apart[1]
                over = meet & (square < reach * reach * (1.0 - 2.0 * TOUCH))
                distance = square.sqrt()
                normal = apart / torch.where(distance > 0.0, distance, 1.0)
                normal = torch.stack([torch.where(distance > 0.0, normal[0], 1.0), normal[1]])
                push = torch.where(over, (reach - distance) / torch.where(total > 0.0, total, 1.0), 0.0) * normal
                x = x + (push[:, self._pairs_of] * self._signs).sum(dim=2) * inverse
            inside = torch.where(roomy, torch.clamp(x, low + radius, high - radius), (low + high) / 2.0)
            x = torch.where(inverse > 0.0, inside, x)
        return x

    def _column(self, factor: type[Factor], default: float = 0.0) -> Tensor:
        """(d, M, B) of the discs."""
        column = self._state.tensors.get(factor)
        if column is not None:
            return column[:, self._slots]
        return torch.full_like(self._state.drawn_size[None, self._slots], default)

    def _truth(self, factor: type[Factor], default: bool) -> Tensor:
        column = self._state.tensors.get(factor)
        return (
            column[0, self._slots] if column is not None else torch.full_like(self._state.present[self._slots], default)
        )

    def _parameter(self, factor: type[Factor]) -> Tensor:
        return self._state.parameters[factor].tensor  # pyright: ignore[reportArgumentType]
