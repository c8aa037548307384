"""The motion of a step (preset "fixed"): discs, walls, inner walls, and contacts handled by custom rules."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumption.data import InputError

from .compat import COMPAT_RULES
from .compiled_rules import CompiledRule, Contact, Resolution, evaluated, quiet
from .conditions import Relation
from .factors import (
    BOUNDED,
    DISCS,
    Acceleration,
    Collides,
    Factor,
    Framerate,
    MaxVelocity,
    MinVelocity,
    Position,
    Restitution,
    Shape,
    Velocity,
    WallDamping,
)
from .rules import FIXED_RULES, Rule
from .state import State


class OwnValues:
    """Check the numbers that custom rules return; the built-in rules respect the bounds of factors."""

    def __init__(self, state: State, rules: Iterable[Rule]) -> None:
        self._state = state
        built_in = [*FIXED_RULES.values(), *COMPAT_RULES.values()]
        self._changed: dict[type[Factor], list[str]] = {}
        for rule in rules:
            for root in rule.changes if rule not in built_in else ():
                self._changed.setdefault(root, []).append(rule.name)
        parts = [
            (factor, slice(group.start, group.stop))
            for group in state.layout.groups
            for factor in group.factors
            if factor.root in self._changed and factor.base in BOUNDED
        ]
        # Check velocities last: an invalid velocity may result from another invalid factor, which the message names.
        self._parts = sorted(parts, key=lambda each: (each[0].root is Velocity, each[0].__name__))

    def check(self) -> None:
        """:raises InputError: a number is outside its factor's bounds; the message names scene, entity and factor."""
        if not self._parts:
            return
        from .geometry import first_outside

        state = self._state
        for factor, slots in self._parts:
            values = state.columns[factor.root][:, slots]
            d, k, i = first_outside(values, state.present[slots], factor.least, factor.most)
            if d < 0:
                continue
            value: Any = values[d, k, i].item()
            problem = f" of {value}; it {factor.requirement(value)}" if np.isfinite(value) else " that is not finite"
            raise InputError(
                f"scene {i}: a rule gives {state.name(slots.start + k, i)} a {factor.__name__}{problem}; "
                f"{factor.__name__} is changed by {', '.join(self._changed[factor.root])}"
            )


# ---- A scene rests if no disc was elsewhere during the last steps, or if a step changes nothing.
#
# A speed threshold does not suffice: a disc that starts to move has speed 0, and a creeping disc is slow for long. Nor
# does equality with the position some steps earlier: a disc that turns around returns there at full speed.

#: Number of steps over which positions are compared.
WINDOW = 30


@dataclass
class RestWatch:
    """Positions of the N discs of B scenes in the last W steps.

    :ivar places: (B, W, N, 2) float64, positions after each step, at [step % W].
    :ivar age: (B,) int64, steps since the start of the watch.
    :ivar near: (B,) float64: a disc rests if it is closer than this to each of its positions in the last W steps.
    """

    places: np.ndarray
    age: np.ndarray
    near: np.ndarray

    @classmethod
    def begin(cls, places: np.ndarray, near: np.ndarray, window: int = WINDOW) -> "RestWatch":
        """Return a watch that starts from places (2, N, B), as in the column of Position."""
        _, discs, batch = places.shape
        watch = cls(np.zeros((batch, window, discs, 2)), np.zeros(batch, dtype=np.int64), near)
        watch.restart(np.arange(batch), places)
        return watch

    def restart(self, columns: np.ndarray, places: np.ndarray) -> None:
        """Restart in the scenes `columns`; `places` (2, N, B) covers all scenes."""
        self.age[columns] = 0
        self.places[columns, 0] = places[:, :, columns].transpose(2, 1, 0)

    def look(self, b: int, now: np.ndarray, moving: np.ndarray) -> bool:
        """Return whether scene b rests after a step with places `now` (N, 2); only discs in `moving` (N,) count."""
        self.age[b] += 1
        way: Any = now - self.places[b]
        near = ((way * way).sum(axis=2) < self.near[b] * self.near[b]) | ~moving
        full = self.age[b] >= self.places.shape[1]
        self.places[b, self.age[b] % self.places.shape[1]] = now
        return bool(full and near.all())


class Motion:
    """Move the discs of a state.

    :ivar blocks: slots of inner walls, which collide and have no velocity.
    """

    def __init__(
        self, state: State, moves: np.ndarray, drifts: Sequence[CompiledRule], contact_rules: Sequence[CompiledRule]
    ) -> None:
        """:param moves: (L,) bool, whether velocities move discs under each rule set of `Layout.laws`.
        :param drifts: further rules that change Position.
        """
        self._state, self._moves, self._drifts = state, moves, drifts
        self._drifted = OwnValues(state, [each.rule for each in drifts])
        discs = state.layout.owners([Position, Velocity])
        self.blocks = np.setdiff1d(state.layout.owners([Position, Shape, Collides]), discs)
        self._answers = ContactRules(contact_rules, state) if contact_rules else None
        shape, batch = state.present.shape, state.num_envs
        self._extra = np.zeros((2, *shape))
        columns = [state.columns.get(each, np.full((1, *shape), value)) for each, value in DISCS.items()]
        places, velocities = state.columns[Position], state.columns[Velocity]
        self._discs = (discs, places, velocities, self._extra, state.present, *columns)
        self._shapes = (
            self.blocks, state.kinds, state.corners, state.corner_counts, state.drawn_size, state.reaches
        )  # fmt: skip
        self._parameters = tuple(
            state.parameters[each] for each in (MinVelocity, MaxVelocity, WallDamping, Restitution)
        )
        self._left, self._budget = np.zeros(batch), np.zeros(batch, dtype=np.int64)
        self._hits, self._normals = np.full((2, batch), -1), np.zeros((2, batch))
        self._nothing = np.zeros((shape[0], shape[0] + 1, 0), dtype=bool)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Add contact forces between touching discs that do not bounce, while rules change velocities."""
        state = self._state
        if state.parameters[Restitution].all() or Acceleration not in state.columns:
            yield
            return
        from .resting import hold

        accelerations = state.columns[Acceleration]
        free = accelerations.copy()
        hold(
            self._discs, self._shapes, state.parameters[Framerate], state.parameters[Restitution], state.walls,
            self._concerned(), accelerations,
        )  # fmt: skip
        yield
        accelerations[:] = free

    def step(self) -> None:
        """Move for one step.

        :raises InputError: rules that handle contacts conflict, or rules return a number outside its factor's bounds.
        """
        from .contacts import advance

        state = self._state
        if self._drifts:
            places = state.columns[Position]
            before = places.copy()
            evaluated(state, self._drifts, frozenset([Position])).apply()
            self._drifted.check()
            self._extra[:] = (places - before) * state.parameters[Framerate]
            places[:] = before
        np.divide(1.0, state.parameters[Framerate], out=self._left)
        self._budget[:] = -1
        moves = self._moves[state.laws]
        while True:
            advance(
                self._discs, self._shapes, self._parameters, state.walls, moves, self._left, self._budget,
                self._concerned(), self._hits, self._normals,
            )  # fmt: skip
            if self._answers is None or not (self._hits[0] >= 0).any():
                return
            self._answers.respond(self._hits, self._normals)

    def _concerned(self) -> np.ndarray:
        return self._nothing if self._answers is None else self._answers.concerned()


class ContactRules:
    """Custom rules that handle contacts, in place of the built-in bounce."""

    def __init__(self, rules: Sequence[CompiledRule], state: State) -> None:
        self._state, self._rules = state, rules
        self._values = OwnValues(state, [each.rule for each in rules])
        self._allowed: list[np.ndarray] = []

    def concerned(self) -> np.ndarray:
        """Return (N, N + 1, B) bool: pairs of slots, in either order, whose contacts a rule handles; [i, N]: walls."""
        n, batch = self._state.slots, self._state.num_envs
        relations: dict[Relation, np.ndarray] = {}
        self._state.derived.clear()
        self._allowed = []
        found = np.zeros((n, n + 1, batch), dtype=bool)
        for each in self._rules:
            allowed = np.zeros((n, n + 1, batch), dtype=bool)
            if each.reaches:
                mask = each.applies(relations)
                rows = np.broadcast_to(True if mask is None else mask[..., 0], (batch, *each.counts))
                if len(each.slots) == 1:
                    allowed[each.slots[0], n] = rows.T
                else:
                    allowed[np.ix_(*each.slots)] = rows.transpose(1, 2, 0)
            self._allowed.append(allowed)
            found |= allowed
        found[:, :n] |= found[:, :n].transpose(1, 0, 2)
        return found

    def respond(self, hits: np.ndarray, normals: np.ndarray) -> None:
        """Apply the rules to contacts.

        :param hits: (2, B) slots of each contact, N for a wall; -1 if a scene has no contact.
        :param normals: (2, B) unit vectors from the first to the second.
        :raises InputError: rules conflict, or return a number outside the bounds of its factor.
        """
        state = self._state
        scenes = np.flatnonzero(hits[0] >= 0)
        one, two, normal = hits[0, scenes], hits[1, scenes], normals[:, scenes].T
        walls = two == state.slots
        later = ~walls & (state.rank[one, scenes] > state.rank[np.where(walls, one, two), scenes])
        first, second = np.where(later, two, one), np.where(later, one, two)
        normal = np.where(later[:, None], -normal, normal)
        resolution = Resolution(state, None, fixed=True)
        state.derived.clear()
        for each, allowed in zip(self._rules, self._allowed, strict=True):
            forward = allowed[first, second, scenes]
            backward = ~forward & ~walls
            backward[backward] = allowed[second[backward], first[backward], scenes[backward]]
            if not (forward | backward).any():
                continue
            rows = np.zeros((state.num_envs, *each.counts, 1), dtype=bool)
            vectors = np.zeros((state.num_envs, *each.counts, 2))
            for chosen, a, b, sign in ((forward, first, second, 1.0), (backward, second, first, -1.0)):
                at = [
                    scenes[chosen],
                    *(np.searchsorted(s, x[chosen]) for s, x in zip(each.slots, (a, b), strict=False)),
                ]
                rows[tuple(at)] = True
                vectors[tuple(at)] = sign * normal[chosen]
            boundaries = state.walls.T.reshape(state.num_envs, *[1] * len(each.counts), 2)
            with quiet():
                each.evaluate({}, resolution, Contact(rows, vectors, boundaries))
        resolution.apply()
        self._values.check()
