"""Learn facts from an agent's experience: under a condition, an action changes an observed value into another value.

    effects = Effects.fit(lived).closed()
    found = effects.predict(thing, state, actions)     # next values, probabilities, feasibility

Symbols are opaque. They are compared for equality alone, so renamed symbols give the renamed facts. Effects that were
never observed are inferred by rules mined from the facts (kg/rules/mining.py: "one action undoes another", "one equals
two others in turn"), with the confidence of their proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Share, checked

from .graph import KnowledgeGraph
from .rules.fixpoint import default_into
from .rules.horn import Rule
from .rules.inference import infer
from .rules.mining import mine_rules

SUPPORT = 4  # least number of observed pairs for which body and head of a mined rule hold
REPEATS = 10  # least number of rows with recurring conditions from which an agreement is computed
GAIN = 0.02  # share of rows that another slot, or a second slot, must explain beyond the slot itself
WIDE = 6  # number of slots, those that explain most alone, of which pairs are tried
LAWS = "laws"
XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True, eq=False)
class Lived:
    """An agent's experience in order of time: n actions of P parts, T things, S observed slots of each thing. Ids are
    from 1; 0 is a value that was not observed.

    `carried` is a separate array because only actions that were carried out have effects.

    :ivar thing: (n, T) int64.
    :ivar before, after: (n, T, S) int64.
    :ivar action: (n, P) int64.
    :ivar episode: (n,) int64.
    :ivar carried: (n,) bool: the action was carried out.
    """

    thing: np.ndarray
    before: np.ndarray
    after: np.ndarray
    action: np.ndarray
    episode: np.ndarray
    carried: np.ndarray

    def __post_init__(self) -> None:
        """:raises InputError: arrays that do not fit each other."""
        rows, things, slots = self.before.shape if self.before.ndim == 3 else (0, 0, 0)
        shapes = {"thing": (rows, things), "after": (rows, things, slots), "episode": (rows,), "carried": (rows,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"{name} has shape {getattr(self, name).shape}, and before {self.before.shape}")
        if self.action.ndim != 2 or len(self.action) != rows:
            raise InputError(f"action has shape {self.action.shape}; it has a row for each of {rows} that are before")

    def __len__(self) -> int:
        return len(self.action)

    def only(self, rows: np.ndarray | slice) -> Lived:
        """Return a selection of the rows."""
        return Lived(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


class Prediction(NamedTuple):
    """The predicted results of A actions in each of B states.

    :ivar value, p: (B, A, T, S, L) the L likeliest values of each slot after the action is carried out, 0 for none, and
        their probabilities.
    :ivar known: (B, A, T, S) bool: a fact determines the likeliest value.
    :ivar possible: (B, A) float64: the probability that the action is carried out; NaN without a fact.
    """

    value: np.ndarray
    p: np.ndarray
    known: np.ndarray
    possible: np.ndarray


@dataclass(frozen=True, eq=False)
class Effects:
    """Hold facts (condition, action, effect) with their counts.

    A condition is on up to two columns: the S slots, S the thing itself, S + 1 a column that always holds. Effect S is
    whether the action was carried out, 1 no and 2 yes. For each action and effect, the columns are those that predict
    the effect in most rows, each row from the other rows.

    :ivar size: V, the largest id plus one.
    :ivar actions: (K, P) int64, sorted.
    :ivar columns: (K, S + 1, 2) int64, the columns on which each action's effect on each slot depends.
    :ivar agreement: (K, S + 1), the share of the likeliest value among rows whose condition recurs; NaN if such rows
        are too few.
    :ivar keys: (f,) int64 sorted: action, effect and the two values of the condition, see `key`.
    :ivar value, count: (f,) int64; a key's likeliest value comes first. An inferred fact has count 0.
    :ivar confidence: (f,) float64.
    :ivar sure: (f,) bool: the fact reaches the purity, and was observed often enough or agrees with similar facts.
    :ivar purity, least: as in `fit`.
    :ivar rules: the rules by which the inferred facts follow.
    """

    size: int
    actions: np.ndarray
    columns: np.ndarray
    agreement: np.ndarray
    keys: np.ndarray
    value: np.ndarray
    count: np.ndarray
    confidence: np.ndarray
    sure: np.ndarray
    purity: float
    least: int
    rules: tuple[Rule, ...] = ()

    @classmethod
    @checked
    def fit(cls, lived: Lived, purity: Share = 0.97, least: Count = 2, window: Count | None = None) -> Effects:
        """Count the changes that actions made.

        :param purity: the least share of a condition's rows that must have the fact's effect.
        :param least: the least number of rows of a fact. One row is enough if facts with other values of the same
            columns agree with nearly all of their rows: then a law holds, and the fact is a further case of it.
        :param window: count only this number of last rows, so that a law that changed is learned again.
        :raises InputError: no rows.
        """
        lived = lived.only(slice(-window if window else 0, None))
        if not len(lived):
            raise InputError("nothing was lived, so there is no fact: let the agent act first, at random for a start")
        n, things, slots = lived.before.shape
        actions, action = np.unique(lived.action, axis=0, return_inverse=True)
        action, carried = np.repeat(action.reshape(-1), things), np.repeat(lived.carried, things)
        seen = [lived.before.reshape(-1, slots), lived.thing.reshape(-1, 1), np.ones((n * things, 1), dtype=np.int64)]
        x = np.concatenate(seen, axis=1)
        y = np.concatenate([lived.after.reshape(-1, slots), 1 + carried[:, None]], axis=1)
        size = int(max(x.max(), y.max())) + 1
        shape = len(actions), slots + 1
        columns, agreement = np.zeros((*shape, 2), dtype=np.int64), np.zeros(shape)
        parts = []
        for slot in range(slots + 1):
            rows = np.flatnonzero((y[:, slot] > 0) & (carried | (slot == slots)))
            counting = _Counting(len(actions), size, action[rows], x[rows], y[rows, slot])
            columns[:, slot] = chosen = counting.columns(slot)
            values = np.take_along_axis(x[rows], chosen[action[rows]], axis=1)
            keys, value, count, agreement[:, slot] = counting.facts(values, shape[1], slot)
            parts.append((keys, value, count))
        keys, value, count = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((value, -count, keys))
        keys, value, count = keys[order], value[order], count[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        total = np.repeat(np.add.reduceat(count, first), np.diff(first, append=len(keys)))
        share, lawful = count / total, agreement.reshape(-1)[keys // size**2] >= purity
        leads = np.zeros(len(keys), dtype=bool)
        leads[first] = True
        sure = leads & (share >= purity) & ((count >= least) | lawful)
        return cls(size, actions, columns, agreement, keys, value, count, share, sure, purity, least)

    def key(self, action: np.ndarray, effect: np.ndarray | int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the keys of facts from the indices of actions and effects and the values of their two columns."""
        return ((action * self.columns.shape[1] + effect) * self.size + first) * self.size + second

    @property
    def slots(self) -> int:
        """S, the number of slots."""
        return self.columns.shape[1] - 1

    @property
    def lawful(self) -> np.ndarray:
        """(K, S) bool: an action's effect on a slot depends on this slot alone, and nearly all rows agree."""
        own = (self.columns[:, :-1, 0] == np.arange(self.slots)) & (self.columns[:, :-1, 1] == self.slots + 1)
        return own & (self.agreement[:, :-1] >= self.purity)

    @property
    def tells(self) -> np.ndarray:
        """(S,) bool: every action with enough rows changes the slot by a law, and at least one action has enough."""
        judged = ~np.isnan(self.agreement[:, :-1])
        return np.asarray((self.lawful | ~judged).all(0) & self.lawful.any(0))

    def index(self, actions: np.ndarray) -> np.ndarray:
        """Return (...) int64, the index of each action (..., P), K for an action that was never observed."""
        same = (actions[..., None, :] == self.actions).all(-1)
        return np.where(same.any(-1), same.argmax(-1), len(self.actions))

    def why(self, state: np.ndarray, action: np.ndarray) -> Iterator[tuple[int, dict[int, int], int, int, float]]:
        """Yield the sure facts of an action (P,) in the observed state of the first thing (S,): effect, condition (the
        value of each slot that it depends on), value, count and confidence."""
        seen, k = [*state.tolist(), 1, 1], int(self.index(action))
        if k == len(self.actions):
            return
        for effect, columns in enumerate(self.columns[k].tolist()):
            first, second = (seen[column] for column in columns)
            key = self.key(np.array(k), effect, np.array(first), np.array(second))
            at = int(self.keys.searchsorted(key))
            if min(first, second) and at < len(self.keys) and self.keys[at] == key and self.sure[at]:
                condition = {column: seen[column] for column in columns if column < self.slots}
                yield effect, condition, int(self.value[at]), int(self.count[at]), float(self.confidence[at])

    def laws(self) -> np.ndarray:
        """Return (K, S, V) int64: the value of a lawful slot after an action, 0 without a fact."""
        table = np.zeros((len(self.actions), self.slots, self.size), dtype=np.int64)
        action, slot, value, _ = self._parts(self.sure)
        own = slot < self.slots
        own[own] = self.lawful[action[own], slot[own]]
        table[action[own], slot[own], value[own]] = self.value[self.sure][own]
        return table

    def _parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        rest, second = np.divmod(self.keys[rows], self.size)
        rest, first = np.divmod(rest, self.size)
        return *np.divmod(rest, self.columns.shape[1]), first, second

    # ---- inference

    def closed(self, rules: Sequence[Rule] | None = None) -> Effects:
        """Add the facts that follow from the sure facts of lawful slots.

        An action is a relation between a slot's values before and after; the values of all slots together show which
        actions undo or compose others. An action that never changed a slot also keeps values seen with other actions;
        these are not mined, as they support every rule. If a slot alone decides feasibility, inferred effects set it.
        Last, a law holds for further values of its slot if laws of other slots show them, see `_alike`.

        :param rules: Horn rules over `action 0`, `action 1`, ...; None to mine them from the facts.
        """
        laws = self.laws()
        same = (laws == np.arange(self.size)) | (laws == 0)
        keeps = (laws > 0).any(2) & same.all(2)  # (K, S)
        held = keeps[..., None] & (laws == 0) & (laws > 0).any(0)
        kept = np.stack([*held.nonzero(), held.nonzero()[2], np.ones(int(held.sum()))], axis=1)
        action, slot, value = np.where(keeps[..., None], 0, laws).nonzero()
        graph, inferred = KnowledgeGraph(), []
        parts = zip(action, slot, value, laws[action, slot, value], strict=True)
        graph.add([(f"{s} {v}", f"action {a}", f"{s} {w}") for a, s, v, w in parts], graph=LAWS)
        if rules is None and len(action):
            least = {"min_support": SUPPORT, "min_confidence": 0.0, "min_pca_confidence": self.purity}
            rules = [mined.rule for mined in mine_rules(graph, LAWS, **least)]
        if rules and len(action) and (result := infer(graph, rules, source=LAWS)).entailed:
            doubt = dict(result.uncertain)
            for fact in graph.triples(graph=default_into(LAWS)):
                (s, v), a, w = map(int, fact[0].split()), int(fact[1].split()[1]), int(fact[2].split()[1])
                inferred.append((a, s, v, w, doubt.get(fact, 1.0)))
        rows = np.array(sorted(inferred), dtype=np.float64).reshape(-1, 5)
        closed = self._with(np.concatenate([kept, rows]), tuple(rules or ()))
        return closed._with(closed._alike(), closed.rules)

    def _alike(self) -> np.ndarray:
        """Return the facts (action, slot, value, value', confidence) that follow where two laws, of any slots, agree on
        all values that both have, at least SUPPORT: what one has, the other has, unless others disagree."""
        table = self.laws()
        laws, values = table.reshape(-1, self.size), np.arange(self.size)
        ok = _one_to_one(laws) & ((laws > 0) & (laws != values)).any(1)
        both, same = (laws[:, None] > 0) & (laws > 0), laws[:, None] == laws
        alike = ok[:, None] & ok & ((both & same).sum(2) >= SUPPORT) & ~(both & ~same).any(2)
        rows = []
        for law in np.flatnonzero(alike.sum(1) > 1):
            others = laws[alike[law]]
            most, least = others.max(0), np.where(others > 0, others, self.size).min(0)
            new = np.flatnonzero((laws[law] == 0) & (most > 0) & (most == least))
            rows += [(*divmod(int(law), self.slots), value, most[value], 1.0) for value in new]
        return np.array(rows, dtype=np.float64).reshape(-1, 5)

    def _with(self, rows: np.ndarray, rules: tuple[Rule, ...]) -> Effects:
        """Add facts (action, slot, value, value', confidence) of lawful slots, unless a sure fact exists, or the fact
        is one of two that lead to the same value, by a law whose sure facts lead no two values to one."""
        rows = rows[np.lexsort((-rows[:, 4], *rows.T[2::-1]))]
        action, slot, value = rows.T[:3].astype(np.int64)
        key = self.key(action, slot, value, np.ones_like(value))
        new = (np.diff(key, prepend=-1) > 0) & self.lawful[action, slot] & ~np.isin(key, self.keys[self.sure])
        action, slot, value, key, rows = (part[new] for part in (action, slot, value, key, rows))
        laws, end = self.laws(), rows[:, 3].astype(np.int64)
        law = (action * self.slots + slot) * self.size + end
        twice = (laws[action, slot] == end[:, None]).any(1) | (np.bincount(law, minlength=1)[law] > 1)
        good = ~(twice & _one_to_one(laws)[action, slot])
        action, slot, value, key, end, rows = (part[good] for part in (action, slot, value, key, end, rows))
        decides = (self.columns[action, -1] == np.stack([slot, np.full_like(slot, self.slots + 1)], axis=1)).all(1)
        can = self.key(action, self.slots, value, np.ones_like(value))  # key of "carried out", if the slot decides that
        decides &= ~np.isin(can, self.keys[self.sure])
        keys = np.concatenate([self.keys, key, can[decides]])
        more = len(keys) - len(self.keys)
        values = np.concatenate([self.value, end, np.full(int(decides.sum()), 2)])
        count = np.concatenate([self.count, np.zeros(more, dtype=np.int64)])
        confidence = np.concatenate([self.confidence, rows[:, 4], rows[decides, 4]])
        sure = np.concatenate([self.sure, np.ones(more, dtype=bool)])
        order = np.lexsort((-count, ~sure, keys))
        keys, values, count, confidence, sure = (part[order] for part in (keys, values, count, confidence, sure))
        return replace(self, keys=keys, value=values, count=count, confidence=confidence, sure=sure, rules=rules)

    def to_graph(self, graph: KnowledgeGraph, run: str, label: Callable[[int, int], str] | None = None) -> str:
        """Write the facts into the graph RUN/effects/evidence, a node each with its condition, action, effect, count
        and confidence, replacing its earlier facts. Return the graph's name.

        :param label: (slot, value) -> the name of a symbol; by default its number.
        """
        name, called = f"{run}/effects/evidence", label or (lambda slot, value: f"slot {slot} is {value}")
        action, effect, *values = self._parts(np.arange(len(self.keys)))
        triples: list[tuple[str, str, str]] = []
        for i, (k, slot) in enumerate(zip(action.tolist(), effect.tolist(), strict=True)):
            node = f"effect {i + 1} of {run}"
            columns = zip(self.columns[k, slot].tolist(), (int(part[i]) for part in values), strict=True)
            triples += [(node, "hasCondition", called(c, v)) for c, v in columns if c < self.slots]
            carried = "carried out" if self.value[i] == 2 else "not carried out"
            triples += [
                (node, "hasAction", " ".join(["action", *map(str, self.actions[k])])),
                (node, "hasEffect", called(slot, int(self.value[i])) if slot < self.slots else carried),
                (node, "hasVisits", f'"{self.count[i]}"^^<{XSD}integer>'),
                (node, "hasConfidence", f'"{self.confidence[i]:.4f}"^^<{XSD}decimal>'),
            ]
        with graph.transaction():
            graph.remove(list(graph.triples(graph=name)), graph=name)
            graph.add(triples, graph=name)
        return name

    # ---- predictions

    def predict(self, thing: np.ndarray, state: np.ndarray, actions: np.ndarray, likeliest: Count = 1) -> Prediction:
        """Predict the results of actions.

        :param thing: (B, T) int64; `state` (B, T, S) int64; `actions` (B, A, P) int64.
        :param likeliest: L.
        """
        batch, things, slots = state.shape
        always = np.ones((batch, things, 1), dtype=np.int64)
        x = np.concatenate([state, thing[..., None], always], axis=2)
        index = self.index(actions)  # (B, A)
        lived = index < len(self.actions)
        index = np.where(lived, index, 0)
        columns = self.columns[index].reshape(batch, 1, -1)  # (B, 1, A * (S + 1) * 2)
        seen = np.take_along_axis(x, np.broadcast_to(columns, (batch, things, columns.shape[2])), axis=2)
        seen = seen.reshape(batch, things, actions.shape[1], slots + 1, 2)
        key = self.key(index[:, None, :, None], np.arange(slots + 1), seen[..., 0], seen[..., 1])
        there = (seen > 0).all(-1) & lived[:, None, :, None]
        at = self.keys.searchsorted(key)[..., None] + np.arange(likeliest)
        place = np.minimum(at, len(self.keys) - 1)
        match = there[..., None] & (at < len(self.keys)) & (self.keys[place] == key[..., None])
        value, p = np.where(match, self.value[place], 0), np.where(match, self.confidence[place], 0.0)
        known = match[..., 0] & self.sure[place[..., 0]]
        turned = (0, 2, 1, 3)
        can = np.where(value[..., -1, 0] == 2, p[..., -1, 0], 1 - p[..., -1, 0])  # (B, T, A)
        possible = np.where(known[..., -1], can, np.nan)
        decided = known[..., -1].any(1)
        possible = np.where(decided, np.nanmin(np.where(known[..., -1], possible, np.inf), axis=1), np.nan)
        return Prediction(
            value[..., :-1, :].transpose(*turned, 4), p[..., :-1, :].transpose(*turned, 4),
            known[..., :-1].transpose(turned), possible,
        )  # fmt: skip


def _one_to_one(laws: np.ndarray) -> np.ndarray:
    """Return (...) bool: a law (..., V) leads no two values to the same value."""
    ends = np.sort(laws, axis=-1)
    return ~((ends[..., 1:] == ends[..., :-1]) & (ends[..., 1:] > 0)).any(-1)


class _Counting:
    """The rows of an effect: action (n,), columns x (n, C), and the value y (n,) of the effect."""

    def __init__(self, many: int, size: int, action: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        self.many, self.size, self.action, self.x, self.y = many, size, action, x, y
        self.rows = np.maximum(np.bincount(action, minlength=many), 1)

    def explained(self, *columns: int) -> np.ndarray:
        """Return (K,), the share of each action's rows whose effect is the most frequent among rows with the same
        values in these one or two columns; values with a single row of that effect do not count."""
        seen = np.flatnonzero((self.x[:, columns] > 0).all(1))
        group, _, count = self._groups(seen, self.x[seen][:, [*columns, -1][:2]])
        first = np.flatnonzero(np.diff(group, prepend=-1))
        most = np.maximum.reduceat(count, first) if len(first) else count
        of = group[first] // self.size**2
        return np.bincount(of, np.where(most > 1, most, 0), minlength=self.many) / self.rows

    def _groups(self, rows: np.ndarray | slice, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        group = (self.action[rows] * self.size + values[:, 0]) * self.size + values[:, 1]
        packed, count = np.unique(group * self.size + self.y[rows], return_counts=True)
        return *np.divmod(packed, self.size), count

    def columns(self, slot: int) -> np.ndarray:
        """Return (K, 2), the columns that explain the effect best; ties go to the constant column, then the slot."""
        many, always = self.x.shape[1], self.x.shape[1] - 1
        order = np.array(list(dict.fromkeys([always, slot, *range(many)])))
        order = order[order < many]
        alone = np.stack([self.explained(column) for column in order])  # (C, K)
        best = alone.max(0)
        worth = alone + GAIN * ((order == slot) & (slot < many - 2))[:, None]
        pick = (worth >= worth.max(0) - 1e-9).argmax(0)
        chosen = np.stack([order[pick], np.full(self.many, always)], axis=1)
        wide = np.argsort(-alone[1:].sum(1), kind="stable")[:WIDE] + 1
        for i, one in enumerate(order[wide]):
            for other in order[wide[i + 1 :]]:
                both = self.explained(one, other)
                better = both > best + GAIN
                chosen[better], best = (one, other), np.where(better, both, best)
        return chosen

    def facts(
        self, values: np.ndarray, effects: int, slot: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return keys, values and counts of the facts whose columns have the values (n, 2), and the agreement (K,)."""
        group, value, count = self._groups(slice(None), values)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        agreement = np.full(self.many, np.nan)
        if len(first):
            total, most = np.add.reduceat(count, first), np.maximum.reduceat(count, first)
            of, again = group[first] // self.size**2, total > 1
            rows = np.bincount(of[again], total[again], minlength=self.many)
            agreeing = np.bincount(of[again], most[again], minlength=self.many)
            agreement = np.where(rows >= REPEATS, agreeing / np.maximum(rows, 1), np.nan)
        action, rest = np.divmod(group, self.size**2)
        return (action * effects + slot) * self.size**2 + rest, value, count, agreement
