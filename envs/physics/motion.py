"""The motion of a step (preset "fixed"): discs, walls, inner walls, and contacts that a person's rules answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from .compiled_rules import CompiledRule, Contact, evaluated, quiet
from .factors import (
    Acceleration,
    Alive,
    Collides,
    Done,
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
from .own_values import OwnValues
from .relations import Relation
from .resolution import Resolution
from .rules import Rule
from .state import State


class Motion:
    """Moves the discs of a state.

    :ivar blocks: slots of inner walls: what collides and has no velocity.
    """

    def __init__(
        self, state: State, moves: bool, drifts: Sequence[CompiledRule], contact_rules: Sequence[Rule]
    ) -> None:
        """:param moves: velocities move things.
        :param drifts: other rules that change Position.
        """
        self._state, self._moves, self._drifts = state, moves, drifts
        self._drifted = OwnValues(state, [each.rule for each in drifts])
        discs = state.layout.owners([Position, Velocity])
        self.blocks = np.setdiff1d(state.layout.owners([Position, Shape, Collides]), discs)
        self._answers = ContactRules(contact_rules, state) if contact_rules else None
        shape, batch = state.present.shape, state.num_envs
        self._extra = np.zeros((2, *shape))
        columns = [
            state.columns.get(factor, np.full((1, *shape), default))
            for factor, default in (
                (Alive, True),
                (Done, False),
                (Mobile, True),
                (Mass, 1.0),
                (Size, 0.0),
                (StoredEnergy, 0.0),
                (InfiniteEnergy, False),
            )
        ]
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
        """While velocities change: discs that touch and do not bounce hold one another."""
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
        """Move for a step.

        :raises InputError: rules that answer contacts conflict, or rules give what is outside the bounds of its factor.
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
        while True:
            advance(
                self._discs, self._shapes, self._parameters, state.walls, self._moves, self._left, self._budget,
                self._concerned(), self._hits, self._normals,
            )  # fmt: skip
            if self._answers is None or not (self._hits[0] >= 0).any():
                return
            self._answers.respond(self._hits, self._normals)

    def _concerned(self) -> np.ndarray:
        return self._nothing if self._answers is None else self._answers.concerned()


# ---- A person's rules that answer contacts in place of the built-in bounce.


class ContactRules:
    """The rules of a batch that answer contacts."""

    def __init__(self, rules: Sequence[Rule], state: State) -> None:
        self._state = state
        self._rules = [CompiledRule(rule, state, exact=False) for rule in rules]
        self._values = OwnValues(state, rules)
        self._allowed: list[np.ndarray] = []

    def concerned(self) -> np.ndarray:
        """(N, N + 1, B) bool: pairs of slots whose contacts a rule answers, in either order; [i, N] for the walls."""
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

        :param hits: (2, B) slots of the two, N for a wall; -1 where a scene has no contact.
        :param normals: (2, B) from the first to the second.
        :raises InputError: rules that conflict, or that give what is outside the bounds of its factor.
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
