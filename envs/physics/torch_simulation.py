"""The steps of a simulator on a torch device."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gumption.data import InputError
from gumption.kg.checkpoint import pick_device

from .compiled_rules import schedule
from .factors import (
    Alive,
    Collides,
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
    Shape,
    Size,
    StoredEnergy,
    Velocity,
    WallDamping,
)
from .motion import OwnValues, RestWatch
from .rules import FIXED_RULES, Rule
from .scene import Preset
from .state import State
from .torch_rules import Numbers, TensorRule, TensorState, evaluated_on_device

_INSTEAD = "make the simulator without device="


class TensorSimulation:
    """Simulate a batch of scenes on a device. Steps run asynchronously, without waiting for the device."""

    def __init__(self, host: State, rules: Sequence[Rule], preset: Preset, device: str) -> None:
        """:raises InputError: the device is unavailable, or a scene needs a feature of the NumPy path."""
        _refuse(host, rules, preset)
        self._host, self._values = host, OwnValues(host, rules)
        self.state = TensorState(host, Numbers(pick_device(device), torch.float64))
        live = [each for each in (TensorRule(rule, host, self.state) for rule in rules) if each.reaches]
        for each in live:  # a rule that cannot run on tensors raises before the first step
            evaluated_on_device(self.state, [each], None)
        self.state.faults.clear()
        self._schedule = schedule(live, frozenset(self.state.tensors), FIXED_RULES["move"])
        _, drifts, moves, _ = self._schedule
        self._discs = host.layout.owners([Position, Velocity])
        self._motion = TensorMotion(self.state, self._discs, moves, drifts) if len(self._discs) else None
        self._places: dict[str, tuple[Tensor, Tensor]] = {}

    def step(self) -> None:
        for rules, factors in self._schedule.rounds:
            if rules:
                evaluated_on_device(self.state, rules, factors).apply()
        if self._schedule.reorders:
            self.state.order()
        if self._motion is not None:
            v, fastest = self.state.tensors[Velocity], self.state.parameters[MaxVelocity].tensor
            speed = (v[0] * v[0] + v[1] * v[1]).sqrt()
            fine = speed <= fastest
            v *= torch.where(fine, 1.0, fastest / torch.where(fine, 1.0, speed))
            self._motion.step()

    def read(self) -> None:
        """Update the NumPy state.

        :raises InputError: two rules conflicted, or a value is not finite or outside the bounds of its factor.
        """
        self.state.read_into(self._host)
        self._host.order()
        self._values.check()
        moving = [self._host.columns[each] for each in (Position, Velocity) if each in self._host.columns]
        if not all(np.isfinite(column).all() for column in moving):
            self._host.check_finite()

    def run(self, steps: np.ndarray, watch: RestWatch) -> tuple[np.ndarray, np.ndarray]:
        """Run like `Simulator.run`. Scenes at rest are restored after each step of the others; once per window the
        program waits for the device, to check whether any scene continues.
        """
        device, tensors = self.state.tensors[Position].device, self.state.tensors
        discs = self.state.moved(self._discs)
        most, age = torch.as_tensor(steps, device=device), torch.as_tensor(watch.age, device=device)
        near = torch.as_tensor(watch.near, device=device).to(tensors[Position].dtype)
        places = torch.as_tensor(watch.places, device=device).to(near.dtype)
        window, batch = places.shape[1], torch.arange(len(steps), device=device)
        made, rests = torch.zeros_like(most), torch.zeros(len(steps), dtype=torch.bool, device=device)
        for step in range(int(steps.max(initial=0))):
            over = rests | (made >= most)
            if step % window == 0 and bool(over.all()):
                break
            before = {factor: tensor.clone() for factor, tensor in tensors.items()}
            self.step()
            for factor, tensor in tensors.items():
                tensor.copy_(torch.where(over, before[factor], tensor))
            made, age = made + ~over, age + ~over
            now = tensors[Position][:, discs].permute(2, 1, 0)
            way = now[:, None] - places
            there = self._moving(discs)
            still = (((way * way).sum(dim=3) < (near * near)[:, None, None]) | ~there[:, None]).flatten(1)
            changed = [(before[each] != tensors[each]).any(dim=0).any(dim=0) for each in (Position, Velocity)]
            rests |= ~over & (((age >= window) & still.all(dim=1)) | ~(changed[0] | changed[1]))
            places[batch, age % window] = torch.where(over[:, None, None], places[batch, age % window], now)
            tensors[Velocity].copy_(torch.where(rests, 0.0, tensors[Velocity]))
        watch.age[:], watch.places[:] = age.cpu().numpy(), places.cpu().numpy()
        return made.cpu().numpy(), rests.cpu().numpy()

    def _moving(self, discs: "Tensor") -> "Tensor":
        """Return (B, n) bool, the discs that are present, alive and not done."""
        there = self.state.present[discs].T
        for factor, wanted in ((Alive, True), (Done, False)):
            if factor in self.state.tensors:
                there = there & (wanted == self.state.tensors[factor][0, discs].T)
        return there

    def at_rest(self, slow: float) -> np.ndarray:
        """Return (B,) bool, whether no entity is faster than `slow`."""
        if Velocity not in self.state.tensors:
            return np.ones(self.state.num_envs, dtype=bool)
        v = self.state.tensors[Velocity]
        return ((v * v).sum(dim=0) <= slow * slow).all(dim=0).cpu().numpy()

    def push(self, name: str, change: Any, slots: np.ndarray, scenes: np.ndarray, divided: bool) -> None:
        """Add to the velocity of an entity.

        :param change: (2,) or (n, 2), an array or a tensor.
        :param slots, scenes: (n,) slots of the entity, and its scenes.
        :param divided: divide by its mass; a mass of 0 leaves the velocity unchanged.
        """
        key = f"{name} {len(scenes)} {scenes[0]}"
        if key not in self._places:
            self._places[key] = self.state.moved(slots), self.state.moved(scenes)
        k, i = self._places[key]
        tensor = change if isinstance(change, Tensor) else self.state.numbers.tensor(change)
        v = self.state.tensors[Velocity]
        pushed = tensor.to(v.device, v.dtype).expand(len(scenes), 2).T
        if divided:
            mass = self.state.tensors[Mass][0][k, i]
            pushed = torch.where(mass == 0.0, 0.0, pushed / torch.where(mass == 0.0, 1.0, mass))
        v[:, k, i] += pushed


def _refuse(host: State, rules: Sequence[Rule], preset: Preset) -> None:
    """:raises InputError: a scene or a rule needs a feature of the NumPy path."""
    if preset != "fixed":
        raise InputError(f"the preset {preset!r} does not run on a device: take 'fixed', or {_INSTEAD}")
    answering = [rule.name for rule in rules if rule.at_contacts]
    if answering:
        raise InputError(f"the rule {answering[0]} answers contacts, which does not run on a device: {_INSTEAD}")
    drawing = [rule.name for rule in rules if rule.draws]
    if drawing:
        raise InputError(f"the rule {drawing[0]} draws numbers, which does not run on a device: {_INSTEAD}")
    if len(host.layout.laws) > 1:
        raise InputError(f"scenes with different rules in one batch do not run on a device: {_INSTEAD}")
    discs = host.layout.owners([Position, Velocity])
    walls = np.setdiff1d(host.layout.owners([Position, Shape, Collides]), discs)
    inner = host.present[walls]
    if inner.any():
        k, i = (int(each[0]) for each in np.nonzero(inner))
        name = host.name(int(walls[k]), i)
        raise InputError(f"scene {i}: {name} is an inner wall, which does not run on a device: {_INSTEAD}")
    resting = host.parameters[Restitution] == 0.0
    if resting.any():
        i = int(np.flatnonzero(resting)[0])
        raise InputError(f"scene {i}: Restitution is 0; discs that hold one another do not run on a device: {_INSTEAD}")


# ---- The motion of a step on torch tensors: exact times of impact as in contacts.py, for all scenes at once.
#
# Each scene advances from impact to impact, for a fixed number of impacts, so that nothing waits for the device. In a
# scene with more impacts, each disc then moves until its next contact, and continues in the next step.


#: Impacts of a scene within a step: the first number plus the second per disc. A disc with more impacts than the third
#: number stays in place for the rest of the step.
IMPACTS, IMPACTS_PER_DISC, MAX_IMPACTS = 4, 2, 8
#: Minimal speed of an approach, and minimal overlap as a share of the distance of centres.
STILL, TOUCH = 1e-12, 1e-9
#: Rounds that push overlapping discs apart, all pairs at once in each round.
PUSHING = 4
#: Rows of the numbers of discs.
X, V, U, INVERSE, ENERGY, LASTS, COUNT = slice(0, 2), slice(2, 4), slice(4, 6), 6, 7, 8, 9


class TensorMotion:
    """Move the discs of a state."""

    def __init__(self, state: TensorState, discs: np.ndarray, moves: bool, drifts: Sequence[TensorRule]) -> None:
        """:param discs: (M,) slots. :param moves: whether velocities move discs. :param drifts: more Position rules."""
        self._state, self._moves, self._drifts = state, moves, drifts
        self._count, numbers = len(discs), state.numbers
        self._slots = numbers.tensor(discs)
        one, two = np.triu_indices(self._count, 1)
        self._one, self._two = numbers.tensor(one), numbers.tensor(two)
        # Candidates in the order of ties: for each disc the walls, then discs of higher indices.
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
        discs = torch.cat([rows, torch.zeros_like(rows[:, :1])], dim=1)  # the last row represents walls and no partner
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
        """Return the times until pairs meet (P, B), and until discs meet walls of each axis (2, M, B); inf for never.

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
        """Advance each scene to its next impact, or to the end of the step; return (B,) remaining seconds."""
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
        # Drifts may still approach when velocities do not; remove this at the contact.
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
        """Return (2, B), the unit vector from the disc to a wall of the x axis (-2), of the y axis (-1), or a disc."""
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
        """Return velocities (2, B) and stored energies (1, B) of both after the impact."""
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
        """Return positions (2, M, B) pushed apart and inside the walls."""
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
        """Return the discs' values of a factor, (d, M, B)."""
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
