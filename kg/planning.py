"""Looking ahead: the value of each choice is that of the best derivation of the goal that it leaves possible.

A relation of three parties *produces*: of two parties it makes a third thing, such as a recipe of its ingredients its
product. A world states its planning problem (`gumption.envs.action_facts.PlanningProblem`): what is at hand, the goal,
and how many uses of the relation are left. With p(x | pair) from facts or from a predictor, the value of using a pair
with h uses left is that of a Markov decision process whose states are what is at hand (value iteration, Bellman 1957):

    Q_h(T, pair) = p(goal | pair) + gamma sum_x p(x | pair) V_{h-1}(T + x) + gamma p(nothing | pair) V_{h-1}(T)
    V_h(T) = max over pairs of Q_h(T, pair),    V_0 = 0

A pair that was used, and what it made, is known for the rest of the episode. A stated fact is certain: p = 1.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Timer
from typing import NamedTuple, Protocol

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.settings import checked_methods

from .planning_kernels import GAMMA, choice_values
from .scores import HeldOut, KnownFacts, PairTable

LIKELIEST = 32  # products of a pair that are kept
LEAST = 1e-2  # probability below which a product of a pair is left out
# The many unlikely products of a pair would outweigh a likely one in the sum. Success on the validation tasks of both
# books, depth 2: 0.34 and 0.44 without, 0.36 and 0.46 with an exponent between 1.3 and 1.6.
SHARPNESS = 1.5
DOUBT = 0.02  # the part of its probability that a product keeps where the pair's facts state another


class Problem(Protocol):
    """See `gumption.envs.action_facts.PlanningProblem`."""

    @property
    def at_hand(self) -> np.ndarray: ...
    @property
    def goal(self) -> np.ndarray: ...
    @property
    def candidates(self) -> np.ndarray: ...
    @property
    def chosen(self) -> np.ndarray: ...
    @property
    def tried(self) -> np.ndarray: ...
    @property
    def horizon(self) -> np.ndarray: ...


class Use(NamedTuple):
    """One use of the relation in a derivation.

    :ivar parties: the two ids.
    :ivar product: the id of what it makes.
    :ivar probability: in [0, 1]; 1 of a stated fact.
    """

    parties: tuple[int, int]
    product: int
    probability: float


@dataclass(frozen=True, eq=False)
class Products:
    """p(product | unordered pair), the likeliest products of each pair alone. Ids are from 1, as in a world's
    vocabulary; the key of a pair is low * size + high.

    :ivar size: N + 1.
    :ivar pairs: (P,) int64 sorted keys of the pairs that may make anything; `start` (P + 1,) int64, where the products
        of each begin in `product` (n,) int32 and `probability` (n,) float32, the likeliest first.
    :ivar made_with: (Q,) int64 sorted keys product * size + party; `made_start` (Q + 1,), where begin, in `partner`
        (m,) int32 and `partner_probability` (m,) float32, those that make the product together with the party. A
        party of 0 has the things that make it with themselves.
    """

    size: int
    pairs: np.ndarray
    start: np.ndarray
    product: np.ndarray
    probability: np.ndarray
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
        """
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
        """Facts alone, each certain; any other pair makes nothing. :param facts: (n, 3) int64 rows (party, party,
        product)."""
        rows = _distinct(facts)
        return cls.of(size, rows, np.ones(len(rows), dtype=np.float32))

    @classmethod
    def of_table(cls, table: PairTable, facts: np.ndarray) -> Products:
        """The likeliest products of a predictor's table, and facts that win over what it says of the same pair.

        :param facts: (n, 3) int64 rows (party, party, product), certain; may be empty.
        """
        n = len(table.table)
        low, high = np.triu_indices(n)
        likely = (table.table >= math.log(LEAST)) & (table.table != table.chance)  # chance: of what it does not know
        product, pair = likely.nonzero(as_tuple=True)
        p = table.table[product, pair].float().exp().cpu().numpy()
        product, pair = product.cpu().numpy(), pair.cpu().numpy()
        order = np.lexsort((product, -p, pair))
        product, pair, p = product[order], pair[order], p[order]
        rank = np.arange(len(pair)) - np.searchsorted(pair, pair)
        kept = rank < LIKELIEST
        rows = np.stack([low[pair] + 1, high[pair] + 1, product + 1], axis=1)[kept]
        return cls.of(n + 1, *_with_facts(n + 1, rows, p[kept] ** np.float32(SHARPNESS), _distinct(facts)))


def _distinct(facts: np.ndarray) -> np.ndarray:
    ordered = np.concatenate([np.sort(facts[:, :2], axis=1), facts[:, 2:]], axis=1)
    return np.unique(ordered, axis=0)


def _with_facts(size: int, rows: np.ndarray, p: np.ndarray, facts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows, where those of a pair with facts lose all but `DOUBT` of their probability, and the facts."""
    if not len(facts):
        return rows, p
    keys, stated = rows[:, 0] * size + rows[:, 1], facts[:, 0] * size + facts[:, 1]
    p = np.where(np.isin(keys, stated), p * np.float32(DOUBT), p)
    kept = ~np.isin(keys * size + rows[:, 2], stated * size + facts[:, 2])
    return np.concatenate([rows[kept], facts]), np.concatenate([p[kept], np.ones(len(facts), dtype=np.float32)])


def _groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct of (n,) sorted keys, and where each begins; n at the end."""
    distinct, start = np.unique(keys, return_index=True)
    return distinct, np.append(start, len(keys)).astype(np.int64)


@checked_methods
class Planner:
    """The values of the choices of planning problems, by the likeliest products of each pair.

    :ivar products: of the knowledge.
    :ivar held_out: by predictors that have not seen the fact; where there are none, they are `products`.
    """

    def __init__(self, products: Products, held_out: Products | None = None) -> None:
        self.products, self.held_out = products, held_out or products

    @classmethod
    def of(cls, scorer: torch.nn.Module, size: int, facts: np.ndarray, complete: bool = False) -> Planner:
        """
        :param scorer: of the relation that produces; see `gumption.kg.scores`.
        :param size: N + 1.
        :param facts: (n, 3) int64 rows (subject, given, object) that are stated beside a predictor's table, ids from 1.
        :param complete: whether other pairs than those of facts make nothing.
        :raises InputError: a scorer that gives no probabilities of products.
        """
        if isinstance(scorer, KnownFacts):
            facts, complete = scorer.rows(), True
        if complete:
            return cls(Products.of_facts(size, facts))
        if isinstance(scorer, HeldOut):
            none = np.zeros((0, 3), dtype=np.int64)
            whole, held_out = scorer.whole, scorer.held_out
            if isinstance(whole, PairTable) and isinstance(held_out, PairTable):
                return cls(Products.of_table(whole, facts), Products.of_table(held_out, none))
        if not isinstance(scorer, PairTable):
            raise InputError(
                f"looking ahead takes facts of three parties or the table of their predictor, and "
                f"{size - 1:,} entities are too many for one: look_ahead='off'"
            )
        return cls(Products.of_table(scorer, facts))

    def values(self, problem: Problem, *, held_out: bool = False) -> np.ndarray:
        """(B, A) float32 in [0, 1]: how likely each candidate still leads to the goal; 0 for candidate 0.

        :param held_out: by the products that are held out.
        """
        parts = [
            np.ascontiguousarray(part, dtype=np.int64)
            for part in (
                problem.at_hand,
                problem.goal,
                problem.candidates,
                problem.chosen,
                problem.tried,
                problem.horizon,
            )
        ]
        return _values(self.held_out if held_out else self.products, parts)

    def derivation(self, problem: Problem, b: int, a: int, *, held_out: bool = False) -> list[Use]:
        """The uses, in order, of the likeliest derivation of the goal that candidate a of environment b leaves
        possible; empty where none is known. It need not use the candidate."""
        used, goal = self.held_out if held_out else self.products, int(problem.goal[b])
        at_hand = list(dict.fromkeys(int(thing) for thing in problem.at_hand[b] if thing))
        tried = np.ascontiguousarray(problem.tried[b : b + 1], dtype=np.int64)
        named = [int(problem.candidates[b, a])], [int(thing) for thing in problem.chosen[b] if thing] or at_hand
        uses: list[Use] = []
        if not named[0][0]:
            return uses
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


def _made(used: Products, pair: tuple[int, int], tried: np.ndarray) -> list[tuple[int, float]]:
    for low, high, made in tried.tolist():
        if (min(low, high), max(low, high)) == pair and low:
            return [(made, 1.0)] if made else []
    key = pair[0] * used.size + pair[1]
    row = int(used.pairs.searchsorted(key))
    if row == len(used.pairs) or used.pairs[row] != key:
        return []
    part = slice(used.start[row], used.start[row + 1])
    return list(zip(used.product[part].tolist(), used.probability[part].tolist(), strict=True))


def _worth(used: Products, at_hand: list[int], product: int, goal: int, left: int, tried: np.ndarray) -> float:
    """What is at hand, with one product more (0 for none), is worth with so many uses left."""
    if not left:
        return 0.0
    things = np.array([[*at_hand, product]])
    none = np.zeros((1, 1), dtype=np.int64)
    return GAMMA * float(_values(used, [things, np.array([goal]), things, none, tried, np.array([left])]).max())


SOON = 1.5  # seconds after which it is told what takes so long
COMPILING = "compiling the planner for the first use (about 10 s)"
BEAM = 12  # products that are looked at further, of a choice with four uses left or more
ENVS_A_THREAD = 64  # of a batch, at least


def _values(used: Products, parts: list[np.ndarray]) -> np.ndarray:
    """(B, A) float32. :param parts: int64 arrays at hand, goal, candidates, chosen, tried and horizon."""
    at_hand, goal, _, _, tried, horizon = parts
    further = np.zeros((len(goal), BEAM if len(goal) and horizon.max() > 3 else 0), dtype=np.int64)
    worth = np.zeros(further.shape)
    if further.size:
        _kernel(used, [*parts, further, worth], find=True)
        env, place = further.nonzero()
        larger = np.concatenate([at_hand[env], further[env, place][:, None]], axis=1)
        none = np.zeros((len(env), 1), dtype=np.int64)
        worth[env, place] = _values(used, [larger, goal[env], larger, none, tried[env], horizon[env] - 1]).max(1)
    return _kernel(used, [*parts, further, worth], find=False)


def _kernel(used: Products, parts: list[np.ndarray], find: bool) -> np.ndarray:
    found = np.zeros(parts[2].shape, dtype=np.float32)

    def fill(begin: int, end: int) -> None:
        some = slice(begin, end)
        at_hand, goal, candidates, chosen, tried, horizon, further, worth = (part[some] for part in parts)
        choice_values(
            used.size, used.pairs, used.start, used.product, used.probability,
            used.made_with, used.made_start, used.partner, used.partner_probability,
            at_hand, goal, candidates, chosen, tried, horizon, find, further, worth, found[some],
        )  # fmt: skip

    if not getattr(choice_values, "signatures", ()):  # not compiled yet, nor read from numba's cache
        told = Timer(SOON, partial(print, COMPILING, file=sys.stderr, flush=True))
        told.start()
        fill(0, 0)
        told.cancel()
    # numba frees the interpreter's lock, so that threads share the batch as torch's would.
    threads = min(torch.get_num_threads(), max(1, len(found) // ENVS_A_THREAD))
    if threads == 1:
        fill(0, len(found))
    else:
        ends = np.linspace(0, len(found), threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, ends, ends[1:]))
    return found
