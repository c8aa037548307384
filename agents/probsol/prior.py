r"""Equation 7: which preference order and over-policy a problem solver has, given a goal and a constraint, as tables.

lambda is the preference order, xi the over-policy, g the goal, c the constraint. The equation has two factorings:

    P(lambda, xi | g, c)  ~  P(lambda) P(xi | lambda) P(c | g) P(g | lambda, xi)       "goal"
    P(lambda, xi | g, c)  ~  P(lambda) P(xi | lambda) P(g | c) P(c | lambda, xi)       "constraint"

Every factor is a table of smoothed shares, (count + a) / (total + a * number of values). Given g and c, P(c | g) and
P(g | c) are the same for all (lambda, xi): the first factoring tells solvers apart by the goal alone, the second by the
constraint alone. Either one says something of a pair (g, c) that no episode had, from episodes with one of the two.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Positive, checked, checked_methods
from gumption.data.wording import shown

Factoring = Literal["goal", "constraint"]


class Row(NamedTuple):
    """An episode: its solver's preference order and over-policy, and its task's goal and constraint."""

    preference: str
    over_policy: str
    goal: str
    constraint: str


@checked_methods
class Prior:
    """The tables of equation 7.

    :ivar preferences, over_policies, goals, constraints: the L, X, G and C values, sorted.
    :ivar counts: (L, X, G, C) of episodes.
    """

    def __init__(self, rows: Sequence[Row], smoothing: Positive = 1.0, values: Sequence[Row] | None = None) -> None:
        """
        :param smoothing: a, the count that is added to every value.
        :param values: rows in which all values occur; None for `rows`.
        :raises InputError: no rows, or a value that `values` does not have.
        """
        known = [sorted(set(column)) for column in zip(*(values or rows), strict=True)]
        if not rows or len(known) != len(Row._fields):
            raise InputError(
                f"rows are {shown(rows)}; there is one (preference, over-policy, goal, constraint) at least"
            )
        self.preferences, self.over_policies, self.goals, self.constraints = known
        self.smoothing = smoothing
        self.counts = np.zeros([len(each) for each in known])
        for row in rows:
            self.counts[
                tuple(_place(name, value, known[k]) for k, (name, value) in enumerate(row._asdict().items()))
            ] += 1

    def solvers(self) -> np.ndarray:
        """(L, X) P(lambda) P(xi | lambda): what is expected of any task, the frequency baseline."""
        counts = self.counts.sum(axis=(2, 3))
        return self._shares(counts.sum(axis=1), 0)[:, None] * self._shares(counts, 1)

    def difficulty(self) -> np.ndarray:
        """(G, C) P(g | c). Of solved episodes it is the share of g among those solved under c: the smaller,
        the more difficult is the goal under that constraint."""
        return self._shares(self.counts.sum(axis=(0, 1)), 0)

    def joint(self, factoring: Factoring) -> np.ndarray:
        """(L, X, G, C) P(lambda, xi, g, c), the product of the factors; it sums to 1."""
        task = self.counts.sum(axis=(0, 1))
        if factoring == "goal":
            likelihood = self._shares(self.counts.sum(axis=3), 2)[:, :, :, None]
            return self.solvers()[:, :, None, None] * self._shares(task, 1) * likelihood
        likelihood = self._shares(self.counts.sum(axis=2), 2)[:, :, None, :]
        return self.solvers()[:, :, None, None] * self._shares(task, 0) * likelihood

    def posterior(self, goal: str, constraint: str, factoring: Factoring) -> np.ndarray:
        """(L, X) P(lambda, xi | g, c).

        :raises InputError: a goal or a constraint that no row has.
        """
        g, c = _place("goal", goal, self.goals), _place("constraint", constraint, self.constraints)
        found = self.joint(factoring)[:, :, g, c]
        return found / found.sum()

    def _shares(self, counts: np.ndarray, axis: int) -> np.ndarray:
        """Smoothed shares along an axis."""
        more = counts + self.smoothing
        return more / more.sum(axis=axis, keepdims=True)


def _place(name: str, value: str, known: Sequence[str]) -> int:
    if value not in known:
        raise InputError(f"there is no {name.replace('_', ' ')} {shown(value)}; there are {', '.join(known)}")
    return list(known).index(value)


@checked
def left_out_likelihoods(rows: Sequence[Row], smoothing: Positive = 1.0) -> dict[str, float]:
    """How well the tables tell the solvers of tasks with a pair (goal, constraint) that they have not seen.

    Each pair is left out in turn, and the tables are made of the other episodes.

    :returns: for "goal", "constraint" and "frequency" (the baseline) the mean over all episodes of
        ln P(lambda, xi | g, c), in nats; 0 is the best there is.
    :raises InputError: fewer than two pairs.
    """
    pairs = sorted({(row.goal, row.constraint) for row in rows})
    if len(pairs) < 2:
        raise InputError("rows have one pair of goal and constraint; two at least are needed to leave one out")
    told: dict[str, list[float]] = {"goal": [], "constraint": [], "frequency": []}
    for pair in pairs:
        seen = [row for row in rows if (row.goal, row.constraint) != pair]
        prior = Prior(seen, smoothing, rows)
        said = {
            "goal": prior.posterior(*pair, "goal"),
            "constraint": prior.posterior(*pair, "constraint"),
            "frequency": prior.solvers(),
        }
        for row in rows:
            if (row.goal, row.constraint) == pair:
                place = prior.preferences.index(row.preference), prior.over_policies.index(row.over_policy)
                for name, table in said.items():
                    told[name].append(float(np.log(table[place])))
    return {name: float(np.mean(values)) for name, values in told.items()}
