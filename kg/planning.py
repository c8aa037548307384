"""Looking ahead: score a choice by the best derivation of the goal that is still possible after it.

A relation of three parties *produces* a third thing from two parties, as a recipe makes a product from ingredients. A
world states its planning problem (`gumption.kg.action_facts.PlanningProblem`): the things at hand, the goal, and the
number of uses of the relation left. p(x | pair) comes from facts or a predictor. The value of using a pair with h uses
left is that of a Markov decision process whose states are sets of things at hand (value iteration, Bellman 1957):

    Q_h(T, pair) = p(goal | pair) + gamma sum_x p(x | pair) V_{h-1}(T + x) + gamma p(nothing | pair) V_{h-1}(T)
    V_h(T) = max over pairs of Q_h(T, pair),    V_0 = 0

The result of a used pair is known for the rest of the episode. A stated fact is certain: p = 1. If the product replaces
its subject, as a place replaces the previous place, see `gumption.kg.value_iteration`.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Timer

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.settings import checked_methods
from gumption.data.writing import sole_writer

from .action_facts import PlanningProblem
from .planning_kernels import GAMMA, choice_values
from .scores import PAIRS_AT_ONCE, HeldOut, KnownFacts, PairProducts, PairTable
from .shortfall import Shortfall, Use, shortfall
from .value_iteration import Outcomes, Transitions

LIKELIEST = 32  # number of products kept for a pair
PAIRS_KEPT = 1 << 20  # number of pairs scored on the fly before the cache is cleared
MOST_ON_THE_FLY = 2  # maximum number of uses; with a third, nearly all pairs would be needed
LEAST = 1e-2  # probability below which a product of a pair is left out
# Exponent of probabilities. Without it, many unlikely products of a pair outweigh a likely product in the sum. Success
# on the validation tasks of both books, depth 2: 0.34 and 0.44 without, 0.36 and 0.46 with exponents from 1.3 to 1.6.
SHARPNESS = 1.5
ROUNDING = 1e-3  # tolerance above 1, for half precision
DOUBT = 0.02  # factor for the probability of a product if the pair's facts state another product


@dataclass(frozen=True, eq=False)
class Products(Outcomes):
    """p(product | unordered pair) of the likeliest products of each pair, likeliest first; the lower id is first.

    :ivar made_with: (Q,) int64 sorted keys product * size + party. `made_start` (Q + 1,) holds the start of each key's
        entries in `partner` (m,) int32 and `partner_probability` (m,) float32: the partners that make the product with
        the party. Party 0 stands for things that make the product with themselves.
    """

    made_with: np.ndarray
    made_start: np.ndarray
    partner: np.ndarray
    partner_probability: np.ndarray

    @classmethod
    def of(cls, size: int, rows: np.ndarray, probability: np.ndarray) -> Products:
        """
        :param size: N + 1.
        :param rows: (n, 3) int64 rows (party, party, product) of ids from 1, each pair and product at most once.
        :param probability: (n,) float32.
        :raises InputError: probabilities that are NaN or outside of 0 to 1.
        """
        if wrong := int((~((probability >= 0) & (probability <= 1 + ROUNDING))).sum()):
            raise InputError(
                f"{wrong:,} of {len(probability):,} probabilities of products are NaN or not between 0 and 1"
            )
        low, high = np.sort(rows[:, :2], axis=1).T
        order = np.lexsort((rows[:, 2], -probability, low * size + high))
        low, high, product, p = low[order], high[order], rows[order, 2], probability[order]
        pairs, start = _groups(low * size + high)
        with_other = low != high
        party = np.concatenate([low[with_other], high[with_other], np.zeros((~with_other).sum(), dtype=np.int64)])
        partner = np.concatenate([high[with_other], low[with_other], low[~with_other]])
        both = np.concatenate([product[with_other], product[with_other], product[~with_other]]) * size + party
        found = np.concatenate([p[with_other], p[with_other], p[~with_other]])
        order = np.argsort(both, kind="stable")
        made_with, made_start = _groups(both[order])
        return cls(
            size,
            pairs,
            start,
            product.astype(np.int32),
            p.astype(np.float32),
            made_with,
            made_start,
            partner[order].astype(np.int32),
            found[order].astype(np.float32),
        )

    @classmethod
    def of_facts(cls, size: int, facts: np.ndarray) -> Products:
        """Use facts alone, each certain; any other pair makes nothing. :param facts: (n, 3) int64 rows (party, party,
        product)."""
        rows = _distinct(facts)
        return cls.of(size, rows, np.ones(len(rows), dtype=np.float32))

    @classmethod
    def of_table(cls, table: PairTable, facts: np.ndarray) -> Products:
        """Combine the likeliest products of a predictor's table with facts, which override the table for their pairs.

        :param facts: (n, 3) int64 rows (party, party, product), certain; may be empty.
        """
        n = len(table.table)
        if wrong := int(table.table.isnan().sum()):
            raise InputError(f"{wrong:,} of {table.table.numel():,} log-probabilities of products are NaN")
        low, high = np.triu_indices(n)
        pair, product, p = _likely(table.table, table.chance)
        rows = np.stack([low[pair] + 1, high[pair] + 1, product + 1], axis=1)
        return cls.of(n + 1, *_with_facts(n + 1, rows, p, _distinct(facts)))


def _likely(log_p: torch.Tensor, chance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the likeliest products of each pair, sharpened: (n,) column, row and probability.

    :param log_p: (N, P), products by pairs.
    :param chance: the entry for unknown entities.
    """
    product, pair = ((log_p >= math.log(LEAST)) & (log_p != chance)).nonzero(as_tuple=True)
    p = log_p[product, pair].float().exp().cpu().numpy()
    product, pair = product.cpu().numpy(), pair.cpu().numpy()
    order = np.lexsort((product, -p, pair))
    product, pair, p = product[order], pair[order], p[order]
    kept = np.arange(len(pair)) - np.searchsorted(pair, pair) < LIKELIEST
    return pair[kept], product[kept], p[kept] ** np.float32(SHARPNESS)


class ScoredPairs:
    """Score only the pairs that a problem needs, if a table of all pairs would be too large. Scores are kept for the
    next problem."""

    def __init__(self, scorer: PairProducts, size: int, facts: np.ndarray) -> None:
        """:param facts: see `Products.of_table`; `size` is N + 1."""
        self._scorer, self._size, self._facts = scorer, size, _distinct(facts)
        self._forget()

    def _forget(self) -> None:
        self._scored = np.zeros(0, dtype=np.int64)
        self._rows, self._p = np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.float32)
        self._products = Products.of(self._size, *_with_facts(self._size, self._rows, self._p, self._facts))

    def products(self, problem: PlanningProblem) -> Products:
        """Return the products of all pairs at hand and, with two uses left, of all pairs that include a new product.

        :raises InputError: more than two uses are left.
        """
        if (uses := int(problem.horizon.max(initial=0))) > MOST_ON_THE_FLY:
            n = self._size - 1
            raise InputError(
                f"{uses} uses of the relation are left, and {n:,} entities are too many for a table of what their "
                f"pairs make ({n * (n + 1) * n / 2**30:,.0f} GiB), without which looking ahead sees {MOST_ON_THE_FLY} "
                "uses: look_ahead='off', or fewer mixes"
            )
        if len(self._scored) > PAIRS_KEPT:
            self._forget()
        at_hand = np.asarray(problem.at_hand, dtype=np.int64)
        one, other = np.triu_indices(at_hand.shape[1])
        env = np.repeat(np.arange(len(at_hand)), len(one))
        first, second = at_hand[:, one].ravel(), at_hand[:, other].ravel()
        keys = np.minimum(first, second) * self._size + np.maximum(first, second)
        there = (first > 0) & (second > 0)
        self._score(keys[there])
        if uses > 1:
            lived = np.asarray(problem.tried, dtype=np.int64)
            episode, row = (lived[:, :, 2] > 0).nonzero()
            tried = np.stack([episode, lived[episode, row, 2]], axis=1)  # products made in the episode
            made = np.unique(np.concatenate([self._made(env[there], keys[there]), tried]), axis=0)
            # Pair a new thing with each thing at hand, and with itself.
            beside = np.concatenate([at_hand[made[:, 0]], made[:, 1:]], axis=1)
            new = np.repeat(made[:, 1], beside.shape[1])
            beside = beside.ravel()
            pairs = np.minimum(new, beside) * self._size + np.maximum(new, beside)
            self._score(pairs[(new > 0) & (beside > 0)])
        return self._products

    def _made(self, env: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return (n, 2): environments and possible products of their pairs. :param keys: (m,) keys of scored pairs."""
        known = self._products
        if not len(known.pairs):
            return np.zeros((0, 2), dtype=np.int64)
        row = np.minimum(known.pairs.searchsorted(keys), len(known.pairs) - 1)
        env, row = env[known.pairs[row] == keys], row[known.pairs[row] == keys]
        count = known.start[row + 1] - known.start[row]
        place = np.repeat(known.start[row] - np.cumsum(count) + count, count) + np.arange(count.sum())
        return np.stack([np.repeat(env, count), known.product[place].astype(np.int64)], axis=1)

    def _score(self, keys: np.ndarray) -> None:
        """Score those pairs of these keys that are not scored yet."""
        new = np.setdiff1d(keys, self._scored)
        if not len(new):
            return
        found = []
        for some in np.array_split(new, -(-len(new) // PAIRS_AT_ONCE)):
            low, high = torch.from_numpy(some // self._size - 1), torch.from_numpy(some % self._size - 1)
            device = self._scorer.get_buffer("_ids").device
            log_p = self._scorer.table_columns(low.to(device), high.to(device))
            pair, product, p = _likely(log_p.T, self._scorer.chance)
            found.append((np.stack([some[pair] // self._size, some[pair] % self._size, product + 1], axis=1), p))
        self._scored = np.union1d(self._scored, new)
        self._rows = np.concatenate([self._rows, *(rows for rows, _ in found)])
        self._p = np.concatenate([self._p, *(p for _, p in found)])
        self._products = Products.of(self._size, *_with_facts(self._size, self._rows, self._p, self._facts))


def _distinct(facts: np.ndarray) -> np.ndarray:
    ordered = np.concatenate([np.sort(facts[:, :2], axis=1), facts[:, 2:]], axis=1)
    return np.unique(ordered, axis=0)


def _with_facts(size: int, rows: np.ndarray, p: np.ndarray, facts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Append the facts to the rows; multiply the probability of other products of their pairs by `DOUBT`."""
    if not len(facts):
        return rows, p
    keys, stated = rows[:, 0] * size + rows[:, 1], facts[:, 0] * size + facts[:, 1]
    p = np.where(np.isin(keys, stated), p * np.float32(DOUBT), p)
    kept = ~np.isin(keys * size + rows[:, 2], stated * size + facts[:, 2])
    return np.concatenate([rows[kept], facts]), np.concatenate([p[kept], np.ones(len(facts), dtype=np.float32)])


def _groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of (n,) sorted keys, and the start of each, with n at the end."""
    distinct, start = np.unique(keys, return_index=True)
    return distinct, np.append(start, len(keys)).astype(np.int64)


@checked_methods
class Planner:
    """Compute the values of the choices of planning problems from the likeliest products of each pair.

    :ivar source: products from the knowledge. `held_out` has products from predictors that were not trained on the
        fact; without such predictors it is `source`.
    """

    def __init__(
        self,
        source: Products | ScoredPairs,
        held_out: Products | ScoredPairs | None = None,
        transitions: Transitions | None = None,
    ) -> None:
        """
        :param transitions: for problems in which products replace their subjects; by default made from `source`, in
            which either party of a pair can be the subject.
        """
        self.source, self.held_out, self._transitions = source, held_out or source, transitions

    @classmethod
    def of(cls, scorer: torch.nn.Module, size: int, facts: np.ndarray, complete: bool = False) -> Planner:
        """
        :param scorer: the scorer of the relation that produces; see `gumption.kg.scores`.
        :param size: N + 1.
        :param facts: (n, 3) int64 rows (subject, given, object) of ids from 1, stated in addition to the predictor.
        :param complete: whether pairs without facts make nothing.
        :raises InputError: a scorer that gives no probabilities of products.
        """
        if isinstance(scorer, KnownFacts):
            rows = scorer.rows()
            moves = None if scorer.either else Transitions.of(size, rows, np.ones(len(rows)))
            return cls(Products.of_facts(size, rows), transitions=moves)
        if complete:
            return cls(Products.of_facts(size, facts))
        if isinstance(scorer, HeldOut):
            whole, held_out = _source(scorer.whole, size, facts), _source(scorer.held_out, size, facts[:0])
            return cls(whole, held_out)
        return cls(_source(scorer, size, facts))

    def values(self, problem: PlanningProblem, *, held_out: bool = False) -> np.ndarray:
        """Return (B, A) float32 in [0, 1]: the discounted probability of the goal after each candidate; 0 for id 0.

        :param held_out: whether to use the `held_out` products.
        :raises InputError: too many uses are left for the memory limit.
        """
        parts = [np.ascontiguousarray(part, dtype=np.int64) for part in problem.arrays]
        if not problem.keeps:
            return self.transitions.values(*parts)
        _check_room(parts)
        return _values(self._products(problem, held_out), parts)

    @property
    def transitions(self) -> Transitions:
        """p(product | subject, given), for problems in which a product replaces its subject.

        :raises InputError: pairs that are scored on the fly.
        """
        if self._transitions is None:
            if isinstance(self.source, ScoredPairs):
                raise InputError("a product that replaces its subject takes a table of all pairs, and it is too large")
            rows, p = self.source.rows(), self.source.probability
            other = rows[:, 0] != rows[:, 1]
            both = np.concatenate([rows, rows[other][:, [1, 0, 2]]])
            self._transitions = Transitions.of(self.source.size, both, np.concatenate([p, p[other]]))
        return self._transitions

    def _products(self, problem: PlanningProblem, held_out: bool = False) -> Products:
        used = self.held_out if held_out else self.source
        return used.products(problem) if isinstance(used, ScoredPairs) else used

    def derivation(self, problem: PlanningProblem, b: int, a: int, *, held_out: bool = False) -> list[Use]:
        """Return the uses, in order, of the likeliest derivation of the goal still possible after candidate a in
        environment b; empty if none is known. The derivation need not use the candidate."""
        goal, candidate = int(problem.goal[b]), int(problem.candidates[b, a])
        tried = np.ascontiguousarray(problem.tried[b : b + 1], dtype=np.int64)
        if not candidate:
            return []
        if not problem.keeps:
            found = self.transitions.derivation(
                int(problem.at_hand[b, 0]), goal, candidate, tried[0], int(problem.horizon[b])
            )
            return [Use(*use) for use in found]
        used = self._products(problem, held_out)
        at_hand = list(dict.fromkeys(int(thing) for thing in problem.at_hand[b] if thing))
        named = [candidate], [int(thing) for thing in problem.chosen[b] if thing] or at_hand
        uses: list[Use] = []
        for left in range(int(problem.horizon[b]), 0, -1):
            firsts, seconds = named or (at_hand, at_hand)
            named = None
            best, worth = None, 0.0
            for pair in sorted({(min(one, other), max(one, other)) for one in firsts for other in seconds}):
                made = _made(used, pair, tried[0])
                for product, p in made:
                    value = p * (1.0 if product == goal else _worth(used, at_hand, product, goal, left - 1, tried))
                    if value > worth:
                        best, worth = Use(pair, product, p), value
                nothing = 1.0 - sum(p for _, p in made)
                if nothing > 0 and nothing * _worth(used, at_hand, 0, goal, left - 1, tried) > worth:
                    best, worth = None, nothing * _worth(used, at_hand, 0, goal, left - 1, tried)
            if best is None:
                if not worth:
                    return []
                continue
            uses.append(best)
            if best.product == goal:
                break
            at_hand = [*at_hand, best.product]
        return uses

    def shortfall(self, problem: PlanningProblem, b: int, *, held_out: bool = False) -> Shortfall | None:
        """Return what environment b lacks if no choice can still lead to the goal; None if a choice can. A use that has
        begun then counts as spent."""
        one = problem.with_arrays(part[b : b + 1] for part in problem.arrays)
        if self.values(one, held_out=held_out).any():
            return None
        known = self._products(problem, held_out) if problem.keeps else self.transitions
        return shortfall(
            known.size,
            known.rows(),
            known.probability,
            np.asarray(problem.at_hand[b], dtype=np.int64),
            int(problem.goal[b]),
            int(problem.horizon[b]) - bool(problem.chosen[b].any()),
            np.asarray(problem.tried[b], dtype=np.int64),
            problem.keeps,
        )


def _source(scorer: torch.nn.Module, size: int, facts: np.ndarray) -> Products | ScoredPairs:
    """Make the products from a predictor and from facts, which override it."""
    if isinstance(scorer, PairProducts):
        return ScoredPairs(scorer, size, facts)
    if not isinstance(scorer, PairTable):
        raise InputError(
            f"looking ahead takes facts of three parties or their predictor, and not a {type(scorer).__name__}: "
            "look_ahead='off'"
        )
    return Products.of_table(scorer, facts)


def _check_room(parts: list[np.ndarray]) -> None:
    """:raises InputError: states that would not fit into memory. :param parts: see `_values`."""
    at_hand, goal, _, _, tried, horizon = parts
    uses = int(horizon.max(initial=0))
    states = len(goal) * BEAM ** max(0, min(uses, 60) - 3)
    needed = states * 8 * (3 * (at_hand.shape[1] + uses) + 3 * tried.shape[1])
    if needed > MOST_BYTES:
        raise InputError(
            f"looking {uses} uses ahead in {len(goal):,} environments takes {states:,} states, about "
            f"{needed / 2**30:,.0f} GiB; at most {MOST_BYTES / 2**30:.0f} GiB are taken: fewer uses (such as "
            "max_mix_steps) or environments, or look_ahead='off'"
        )


def _made(used: Products, pair: tuple[int, int], tried: np.ndarray) -> list[tuple[int, float]]:
    for low, high, made in tried.tolist():
        if (min(low, high), max(low, high)) == pair and low:
            return [(made, 1.0)] if made else []
    return used.made(*pair)


def _worth(used: Products, at_hand: list[int], product: int, goal: int, left: int, tried: np.ndarray) -> float:
    """Return the discounted value of the things at hand plus a product (0 for none), with `left` uses left."""
    if not left:
        return 0.0
    things = np.array([[*at_hand, product]])
    none = np.zeros((1, 1), dtype=np.int64)
    return GAMMA * float(_values(used, [things, np.array([goal]), things, none, tried, np.array([left])]).max())


SOON = 1.5  # seconds after which the reason for the wait is printed
COMPILING = "compiling the planner for the first use (about 10 s)"
MOST_BYTES = 4 << 30  # maximum size of the states of a call
BEAM = 12  # number of products of a choice that are expanded with four or more uses left
ENVS_A_THREAD = 64  # least number of environments of a batch per thread


def _values(used: Products, parts: list[np.ndarray]) -> np.ndarray:
    """Return (B, A) float32. :param parts: int64 arrays at hand, goal, candidates, chosen, tried and horizon."""
    at_hand, goal, _, _, tried, horizon = parts
    further = np.zeros((len(goal), BEAM if len(goal) and horizon.max() > 3 else 0), dtype=np.int64)
    worth, still = np.zeros(further.shape), np.zeros(at_hand.shape)
    if further.size:
        _kernel(used, [*parts, further, worth, still], find=True)

        def later(env: np.ndarray, things: np.ndarray) -> np.ndarray:
            none = np.zeros((len(env), 1), dtype=np.int64)
            return _values(used, [things, goal[env], things, none, tried[env], horizon[env] - 1])

        env, place = further.nonzero()
        worth[env, place] = later(env, np.concatenate([at_hand[env], further[env, place][:, None]], axis=1)).max(1)
        many = np.flatnonzero(horizon > 3)
        still[many] = later(many, at_hand[many])
    return _kernel(used, [*parts, further, worth, still], find=False)


def _kernel(used: Products, parts: list[np.ndarray], find: bool) -> np.ndarray:
    found = np.zeros(parts[2].shape, dtype=np.float32)

    def fill(begin: int, end: int) -> None:
        some = slice(begin, end)
        at_hand, goal, candidates, chosen, tried, horizon, further, worth, still = (part[some] for part in parts)
        choice_values(
            used.size, used.pairs, used.start, used.product, used.probability,
            used.made_with, used.made_start, used.partner, used.partner_probability,
            at_hand, goal, candidates, chosen, tried, horizon, find, further, worth, still, found[some],
        )  # fmt: skip

    if not getattr(choice_values, "signatures", ()):  # neither compiled yet nor read from numba's cache
        told = Timer(SOON, partial(print, COMPILING, file=sys.stderr, flush=True))
        told.start()
        where = getattr(getattr(choice_values, "stats", None), "cache_path", None)
        with ExitStack() as lock:
            if where is not None:
                with suppress(InputError):  # without a lock each process compiles for itself
                    lock.enter_context(sole_writer(Path(where) / "planner"))
            fill(0, 0)  # one process compiles; waiting processes read numba's cache
        told.cancel()
    # numba releases the interpreter's lock, so that threads can share the batch.
    threads = min(torch.get_num_threads(), max(1, len(found) // ENVS_A_THREAD))
    if threads == 1:
        fill(0, len(found))
    else:
        ends = np.linspace(0, len(found), threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, ends, ends[1:]))
    return found
