"""Numeric effects: the change that a thing makes to a number of another thing, such as the distance between them.

    curves = Curves.fit(tries)                 # a family of curves, from many pairs of things
    pairs = Pairs(curves, 6)                   # evidence about the pairs among six new things
    pairs.see(0, 1, 60.0, 24.0)                # thing 0 was tried on thing 1: 60 became 24
    mean, sd, known = pairs.predict_numbers(0, 2, np.array([40.0, 80.0]))

An effect lowers the number or raises it. Within the pair's reach it follows a power law,

    log after = slope log before + c,    log before < reach;    beyond it nothing changes.

Each kind of effect has a slope. If c differs between pairs, the curve meets after = before at the reach, so that the
reach is the pair's only parameter; otherwise the kind has a common c. Rules mined from the tries (kg/rules/mining.py)
predict the kind of effect of an untried pair; its reach is predicted from the reaches of pairs that share a thing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from gumption.data import InputError, Note

from .graph import KnowledgeGraph
from .rules.horn import Rule
from .rules.mining import mine_rules

LOWERS, RAISES = KINDS = ("lowers", "raises")
SEEN = 0.5  # changes up to this size count as none
FITS = 0.8  # least share of the variance of log after - log before that a used curve explains
ROWS = 6  # least number of rows of a kind for a curve
DIFFER = 2.0  # least ratio of the deviation of pairs' intercepts to that of rows for separate intercepts
SUPPORT, CONFIDENT = 4, 0.6  # least support and confidence of mined rules
LEVELS = 8  # number of quantiles of a reach
LEAST_SD = 0.015  # least deviation of a log reach
XSD = "http://www.w3.org/2001/XMLSchema#"


class Tries(NamedTuple):
    """Tries of pairs of things, n rows. :ivar pair: (n, 2) int64, the acting thing and the thing that it acts on.
    :ivar before, after: (n,) float64 positive numbers. :ivar free: (n,) bool: nothing else stopped the effect.
    """

    pair: np.ndarray
    before: np.ndarray
    after: np.ndarray
    free: np.ndarray

    @property
    def kind(self) -> np.ndarray:
        """(n,) index into `KINDS`, -1 if nothing changed."""
        change = self.after - self.before
        return np.where(np.abs(change) <= SEEN, -1, change > 0)


@dataclass(frozen=True, eq=False)
class Curves:
    """A family of curves, a curve for each of `KINDS`.

    :ivar slope, intercept, noise: (2,) parameters of the curve; the noise is the deviation of rows from it.
    :ivar own: (2,) bool: pairs have their own intercepts.
    :ivar explained: (2,) the share of the variance that the curve explains; NaN if too few rows have the kind. A curve
        that explains less than `FITS` is not used.
    :ivar often: (2,) the frequency of each kind among pairs.
    :ivar reach, deviation: mean and deviation of the log reach over pairs, a normal distribution.
    :ivar shared: (2,) correlation of the log reach of two pairs with the same acting thing, or the same other thing.
    :ivar rules: mined rules about `KINDS`, with their confidence.
    :ivar facts: (P, 5) pair, kind, log reach (NaN if rows only bound it) and number of rows.
    """

    slope: np.ndarray
    intercept: np.ndarray
    noise: np.ndarray
    own: np.ndarray
    explained: np.ndarray
    often: np.ndarray
    reach: float
    deviation: float
    shared: np.ndarray
    rules: tuple[Rule, ...]
    facts: np.ndarray

    @classmethod
    def fit(cls, tries: Tries) -> Curves:
        """
        :raises InputError: no try changed anything.
        """
        kind, x, y = tries.kind, np.log(tries.before), np.log(tries.after)
        if (kind < 0).all():
            raise InputError(
                f"none of {len(kind)} tries changed a number: make other tries, with other things or nearer"
            )
        things, pair = np.unique(tries.pair, axis=0, return_inverse=True)
        pair = pair.reshape(-1)
        slope, intercept, noise, explained = np.ones(2), np.zeros(2), np.full(2, np.inf), np.full(2, np.nan)
        own = np.zeros(2, dtype=bool)
        facts, low, high = [], np.full(pair.max() + 1, -np.inf), np.full(pair.max() + 1, np.inf)
        for k in range(2):
            rows = np.flatnonzero((kind == k) & tries.free)
            if len(rows) < ROWS:
                continue
            per_pair = np.zeros(len(rows))
            for _ in range(2):  # the second pass drops rows far off the curve
                slope[k], per_pair, error = _within(pair[rows], x[rows], y[rows])
                if np.isnan(error).all():
                    break
                noise[k] = max(1.4826 * float(np.nanmedian(np.abs(error))), 1e-3)
                near = ~(np.abs(error) > 6 * noise[k])
                rows, per_pair = rows[near], per_pair[near]
            explained[k] = 1 - noise[k] ** 2 / max(float(np.var(y[rows] - x[rows])), 1e-12)
            numbers, start, many = np.unique(pair[rows], return_index=True, return_counts=True)
            each = per_pair[start]
            intercept[k] = np.median(each)
            own[k] = np.median(np.abs(each - intercept[k])) > DIFFER * noise[k] and slope[k] < 1
            if not explained[k] >= FITS:
                about = (
                    f"the curve of effects that {KINDS[k][:-1]} the number explains {explained[k]:.0%} of its variance"
                )
                warnings.warn(f"{about} in {len(rows)} tries, so it is not used", Note, stacklevel=2)
                continue
            reaches = each / (1 - slope[k]) if own[k] else np.full(len(each), np.nan)
            if own[k]:
                low[numbers] = high[numbers] = reaches
            facts.append(np.column_stack([things[numbers], np.full(len(each), k), reaches, many]))
        changed = kind >= 0
        np.maximum.at(low, pair[changed], np.minimum(x[changed], high[pair[changed]]))
        np.minimum.at(high, pair[~changed], np.maximum(x[~changed], low[pair[~changed]]))
        reach, deviation = _normal(low, high)
        known = np.concatenate(facts) if facts else np.zeros((0, 5))
        exact = known[~np.isnan(known[:, 3])]
        shared = _shared(exact[:, :2], (exact[:, 3] - reach) / deviation)
        often = np.bincount(kind[changed], minlength=2) / changed.sum()
        rules = _rules(tries.pair[changed], kind[changed])
        return cls(slope, intercept, noise, own, explained, often, reach, deviation, shared, rules, known)

    @property
    def fits(self) -> np.ndarray:
        """(2,) bool: whether the curve is used."""
        return np.nan_to_num(self.explained) >= FITS

    def after(self, kind: np.ndarray, reach: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the number after an effect. The arguments are broadcast; `reach` is a logarithm."""
        c = np.where(self.own[kind], (1 - self.slope[kind]) * reach, self.intercept[kind])
        x = np.log(before)
        return np.where((x < reach) & self.fits[kind], np.exp(self.slope[kind] * x + c), before)

    def to_graph(self, graph: KnowledgeGraph, run: str, names: Sequence[str]) -> str:
        """Write the facts into the graph RUN/curves, and a node each with its reach and number of rows into
        RUN/curves/evidence, replacing earlier facts. Return the first graph's name.

        :param names: the names of things.
        """
        name = f"{run}/curves"
        stated, nodes = [], []
        for i, (one, other, kind, reach, rows) in enumerate(self.facts):
            fact = names[int(one)], KINDS[int(kind)], names[int(other)]
            node = f"curve {i + 1} of {run}"
            stated.append(fact)
            parts = zip(("hasSubject", "hasRelation", "hasObject"), fact, strict=True)
            nodes += [(node, part, label) for part, label in parts]
            nodes.append((node, "hasVisits", f'"{int(rows)}"^^<{XSD}integer>'))
            if not np.isnan(reach):
                nodes.append((node, "hasReach", f'"{np.exp(reach):.2f}"^^<{XSD}decimal>'))
        with graph.transaction():
            for which, triples in ((name, stated), (f"{name}/evidence", nodes)):
                graph.remove(list(graph.triples(graph=which)), graph=which)
                graph.add(triples, graph=which)
        return name


def _within(pair: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the slope within pairs, the intercept of each row's pair, and the error of each row (NaN for the only row
    of a pair). The slope is the median of slopes between two tries of a pair, weighted by their distance."""
    order = np.lexsort((x, pair))
    dx, dy, same = np.diff(x[order]), np.diff(y[order]), np.diff(pair[order]) == 0
    dx, dy = dx[same & (dx > 0.05)], dy[same & (dx > 0.05)]
    rank = np.argsort(dy / dx)
    slope = float((dy / dx)[rank][np.cumsum(dx[rank]).searchsorted(dx.sum() / 2)]) if len(dx) else 0.0
    many = np.bincount(pair)[pair]
    left = y - slope * x
    numbers, group = np.unique(pair, return_inverse=True)
    intercept = np.array([np.median(left[group == one]) for one in range(len(numbers))])[group]
    return slope, intercept, np.where(many > 1, (left - intercept) * np.sqrt(many / np.maximum(many - 1, 1)), np.nan)


def _normal(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Fit mean and deviation of a normal distribution to draws between bounds, by maximum likelihood on a grid."""
    bounds = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    exact = high - low < 0.02
    low, high = low - 0.01 * exact, high + 0.01 * exact
    means, deviations = np.linspace(bounds.min(), bounds.max() + 1e-6, 60), np.linspace(0.05, 1.0, 40)
    mean, sd = np.meshgrid(means, deviations, indexing="ij")
    inside = ndtr((high - mean[..., None]) / sd[..., None]) - ndtr((low - mean[..., None]) / sd[..., None])
    best = np.unravel_index(np.log(np.maximum(inside, 1e-6)).sum(-1).argmax(), mean.shape)
    return float(mean[best]), float(sd[best])


def _shared(pair: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return (2,), the mean product of standardised numbers of pairs with the same first, or the same second thing."""
    shared = np.zeros(2)
    for side in range(2):
        same = (pair[:, None, side] == pair[:, side]) & (pair[:, None, 1 - side] != pair[:, 1 - side])
        if same.any():
            shared[side] = np.clip((z[:, None] * z)[same].mean(), 0.0, 0.95)
    return shared * min(1.0, 0.95 / max(shared.sum(), 1e-9))


def _rules(pair: np.ndarray, kind: np.ndarray) -> tuple[Rule, ...]:
    """Mine rules about `KINDS`. A rule's confidence is the share of its body's pairs of known kind that have the kind
    of its head."""
    things, number = np.unique(pair, return_inverse=True)
    number = number.reshape(pair.shape)
    rows = np.zeros((2, len(things), len(things)), dtype=np.float32)
    np.add.at(rows, (kind, number[:, 0], number[:, 1]), 1)
    likelier = rows.argmax(0)
    stated = np.stack([(rows.sum(0) > 0) & (likelier == k) for k in range(2)]).astype(np.float32)
    graph = KnowledgeGraph()
    graph.add([(f"{one}", KINDS[k], f"{other}") for k, one, other in np.argwhere(stated > 0)], graph="tries")
    found = []
    for rule in (one.rule for one in mine_rules(graph, "tries", min_support=SUPPORT, min_confidence=0.01)):
        if len(rule.body) <= 2:
            parts, chain = _parts(rule, stated)
            body = parts[0] if len(parts) == 1 else parts[0] @ parts[1] if chain else parts[0] * parts[1]
            body = (body > 0) & (stated.sum(0) > 0)
            if rule.distinct:
                np.fill_diagonal(body, False)
            confidence = float(stated[KINDS.index(rule.head.relation)][body].mean()) if body.any() else 0.0
            if confidence >= CONFIDENT:
                found.append(Rule(rule.head, rule.body, distinct=rule.distinct, confidence=confidence))
    return tuple(found)


class Pairs:
    """Estimate, for the pairs among N things, the kind of effect of the first on the second, and its reach.

    :ivar curves: the family; :ivar seen: (N, N, 2) number of rows of each kind; :ivar point: (N, N) log reach computed
        from a curve, else NaN; :ivar low, high: (N, N) its bounds from tries that changed the number or did not.
    """

    def __init__(self, curves: Curves, things: int) -> None:
        self.curves, shape = curves, (things, things)
        self.seen, self.point = np.zeros((*shape, 2), dtype=np.int64), np.full(shape, np.nan)
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)

    def see(self, one: int, other: int, before: float, after: float, free: bool = True) -> None:
        """Add a try of `one` on `other`. :param free: whether nothing else stopped the effect."""
        curves, pair, x = self.curves, (one, other), np.log(before)
        if abs(after - before) <= SEEN:
            self.high[pair] = min(self.high[pair], x)
            return
        kind = int(after > before)
        self.seen[*pair, kind] += 1
        self.low[pair] = max(self.low[pair], x)
        if curves.own[kind] and curves.fits[kind]:
            reach = (np.log(after) - curves.slope[kind] * x) / (1 - curves.slope[kind])
            if free:
                self.point[pair] = reach
            else:
                self.low[pair] = max(self.low[pair], reach)

    def kinds(self) -> np.ndarray:
        """Return (N, N, 2), the probability of each kind of effect of the first thing on the second."""
        total = self.seen.sum(2, keepdims=True)
        p = np.where(total > 0, (self.seen + 0.05) / (total + 0.1), 0.0).transpose(2, 0, 1)
        stated = total[..., 0] > 0
        for _ in range(3):
            new = p.copy()
            for rule in self.curves.rules:
                parts, chain = _parts(rule, p)
                body = parts[0] if len(parts) == 1 else parts[0] * parts[1]
                if chain:  # maximum over z
                    body = (parts[0][:, :, None] * parts[1][None]).max(1)
                entailed, head = rule.confidence * body, KINDS.index(rule.head.relation)
                new[head] = np.where(stated, p[head], np.maximum(new[head], entailed))
            p = new
        sure = p.sum(0)
        p = np.where(sure > 1, p / np.maximum(sure, 1e-9), p)
        rest = np.maximum(1 - p.sum(0), 0)
        return (p + rest * self.curves.often[:, None, None]).transpose(1, 2, 0)

    def reaches(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (N, N) mean and deviation of each log reach. Pairs with the same first or the same second thing are
        correlated. Bounds are ignored."""
        curves, shape = self.curves, self.point.shape
        mean, sd = np.full(shape, curves.reach), np.full(shape, curves.deviation)
        one, other = np.nonzero(~np.isnan(self.point))
        if len(one):
            first, second = np.indices(shape).reshape(2, -1)

            def alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
                own, shared = curves.shared, (a[:, None] == one, b[:, None] == other)
                return own[0] * shared[0] + own[1] * shared[1] + (1 - own.sum()) * (shared[0] & shared[1])

            noise = np.eye(len(one)) * (LEAST_SD / curves.deviation) ** 2
            weight = np.linalg.solve(alike(one, other) + noise, alike(first, second).T)  # (known, N N)
            mean = curves.reach + ((self.point[one, other] - curves.reach) @ weight).reshape(shape)
            left = 1 - (alike(first, second).T * weight).sum(0).reshape(shape)
            sd = curves.deviation * np.sqrt(np.maximum(left, 0))
        return mean, np.maximum(sd, LEAST_SD)

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (N, N, 2), the probability of each kind, and (N, N, L) equally likely values of the log reach between
        its bounds."""
        mean, sd = self.reaches()
        open_ = np.isnan(self.point)
        low, high = (np.where(open_, bound, side) for bound, side in ((self.low, -np.inf), (self.high, np.inf)))
        low, high = ndtr((low - mean) / sd), ndtr((high - mean) / sd)
        share = (np.arange(LEVELS) + 0.5) / LEVELS
        draws = low[..., None] + share * np.maximum(high - low, 1e-9)[..., None]
        return self.kinds(), mean[..., None] + sd[..., None] * ndtri(np.clip(draws, 1e-6, 1 - 1e-6))

    def predict_numbers(self, one: int, other: int, before: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mean and deviation of the number after a try, and whether a try of this pair showed its kind; each in
        the shape of `before`."""
        kinds, levels = (part[one, other] for part in self.levels())
        after = self.curves.after(np.arange(2)[:, None], levels[None], before[..., None, None])
        weight = kinds[:, None] / LEVELS
        mean = (after * weight).sum((-2, -1))
        sd = np.sqrt(((after - mean[..., None, None]) ** 2 * weight).sum((-2, -1)))
        return mean, sd, np.full(np.shape(before), self.seen[one, other].any())


def _parts(rule: Rule, p: np.ndarray) -> tuple[list[np.ndarray], bool]:
    """Return the matrices (N, N) of the one or two atoms of a rule's body, from p (2, N, N), and whether they form a
    chain x, z, y."""
    chain = any("z" in atom.variables for atom in rule.body)
    ends = (("x", "z"), ("z", "y")) if chain else (("x", "y"),) * len(rule.body)
    parts = []
    for atom, wanted in zip(rule.body, ends, strict=True):
        matrix = p[KINDS.index(atom.relation)]
        parts.append(matrix if (atom.subject, atom.object) == wanted else matrix.T)
    return parts, chain
