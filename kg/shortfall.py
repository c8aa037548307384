"""Shortfalls: the missing things or uses if a goal cannot be derived within the uses that are left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .views.derivations import Hypergraph


class Use(NamedTuple):
    """A use of the relation in a derivation.

    :ivar parties: the two ids.
    :ivar product: the id of the product.
    :ivar probability: in [0, 1]; 1 for a stated fact.
    """

    parties: tuple[int, int]
    product: int
    probability: float


class Shortfall(NamedTuple):
    """The reason that a goal cannot be derived, and the closest derivation.

    :ivar uses: uses in their order. If a derivation takes more uses than are left, its first `left` uses; if a thing
        is missing, the uses that make the other party of the goal.
    :ivar needed: the number of uses of that derivation; 0 if a thing is missing. `left`: the number of uses left.
    :ivar missing: ids of the parties of the goal that cannot be derived from the things at hand; the goal itself if
        nothing makes it, or no derivation leads to it.
    """

    uses: tuple[Use, ...]
    needed: int
    left: int
    missing: tuple[int, ...]

    def told(self, name: Sequence[str], goal: str, relation: str) -> str:
        """Return the shortfall as a sentence.

        :param name: the name of each id; `goal` is the goal's name.
        :param relation: in words, such as "makes".
        """
        first = "; ".join(
            f"{name[one]} with {name[other]} {relation} {name[product]}" for (one, other), product, _ in self.uses
        )
        if not self.missing:
            left = f"{self.left or 'none'} {'is' if self.left < 2 else 'are'} left"
            return f"{goal} takes {self.needed} uses, and {left}{f'; first: {first}' if first else ''}"
        lacks = [name[thing] for thing in self.missing]
        if goal in lacks:
            return f"nothing that is known leads to {goal}"
        told = f"for {goal} there is no {' and no '.join(lacks)}, and nothing at hand leads there"
        return f"{told}; the rest is: {first}" if first else told


def shortfall(
    size: int,
    rows: np.ndarray,
    probability: np.ndarray,
    at_hand: np.ndarray,
    goal: int,
    horizon: int,
    tried: np.ndarray,
    keeps: bool,
) -> Shortfall | None:
    """Compute the shortfall; None if a derivation fits into the uses left.

    Each thing is made by its use of least work (`gumption.kg.views.derivations`); ties go to the likelier use.

    :param size: N + 1.
    :param rows: (n, 3) (party, party, product), and `probability` (n,).
    :param at_hand: (N,) ids, 0 for nothing.
    :param tried: (T, 3) rows (party, party, product) of this episode.
    :param keeps: see `gumption.kg.action_facts.PlanningProblem`.
    """
    lived = tried[tried[:, 0] > 0]
    both = np.concatenate([lived, lived[:, [1, 0, 2]]]) if keeps else lived
    known = np.isin(rows[:, 0] * size + rows[:, 1], both[:, 0] * size + both[:, 1])
    rows = np.concatenate([rows[~known], lived[lived[:, 2] > 0]])
    p = np.concatenate([probability[~known], np.ones(len(rows) - int((~known).sum()))])
    order = np.argsort(-p, kind="stable")
    rows, p = rows[order], p[order]
    graph = Hypergraph(rows[:, : 2 if keeps else 1], rows[:, 2])
    there = np.zeros(size, dtype=bool)
    there[at_hand[at_hand > 0]] = True
    work = graph.relax(there, np.sum)

    def uses_of(things: list[int]) -> tuple[Use, ...]:
        chosen = sorted({row for thing in things for row in graph.read_off(thing, there, work, np.sum)})
        ordered = sorted(chosen, key=lambda row: (work[rows[row, 2]], rows[row, 2]))  # parties before their product
        return tuple(Use((int(rows[i, 0]), int(rows[i, 1])), int(rows[i, 2]), float(p[i])) for i in ordered)

    if np.isfinite(work[goal]):
        uses = uses_of([goal])
        return None if len(uses) <= horizon else Shortfall(uses[:horizon], len(uses), horizon, ())
    makers = np.flatnonzero(rows[:, 2] == goal)
    if not len(makers) or not keeps:
        return Shortfall((), 0, horizon, (goal,))
    reached = np.isfinite(work[rows[makers, :2]])
    spent = np.where(reached, work[rows[makers, :2]], 0.0).sum(axis=1)
    parties = dict.fromkeys(rows[makers[np.lexsort((spent, -reached.sum(axis=1)))[0]], :2].tolist())
    made = [thing for thing in parties if np.isfinite(work[thing])]
    return Shortfall(uses_of(made), 0, horizon, tuple(thing for thing in parties if thing not in made))
