"""A person's rules that answer contacts in place of the built-in bounce."""

from collections.abc import Sequence

import numpy as np

from .compiled_rules import CompiledRule, Contact, quiet
from .own_values import OwnValues
from .relations import Relation
from .resolution import Resolution
from .rules import Rule
from .state import State


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
