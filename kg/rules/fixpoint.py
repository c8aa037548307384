"""Compute the fixpoint of rules on arrays, by semi-naive evaluation (Abiteboul, Hull and Vianu, "Foundations of
Databases", 1995, section 13.1).

A round joins the facts entailed by the previous round (the delta) with all known facts, once for each atom of a body.
In a transitive rule r(x, z) <= r(x, y) & r(y, z), the last step r(y, z) must be a fact that no transitive rule
entailed. The result is the same; with any step, a path of n edges would derive each of n^2 / 2 pairs n / 3 times.

The confidence of a fact is the confidence of its best proof: 1 for a stated fact, else

    confidence(head) = max over rules and over facts of their bodies of confidence(rule) * product of confidence(fact)

This is the max-product semiring (Green, Karvounarakis and Tannen, "Provenance semirings", PODS 2007). If several rules
entail a fact, the best rule counts, as in AnyBURL's max aggregation (Meilicke et al., "Anytime bottom-up rule learning
for knowledge graph completion", IJCAI 2019). A fact whose confidence rises enters the next delta again. Evaluation
terminates, because confidences only rise and a circular proof is never better. A fact below the confidence threshold is
derived, but not used in other proofs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.facts import label_numbers, marks
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import PROVENANCE, Vocabulary, object_to_term, unknown_label

from .horn import Atom, Rule

# ---- Joins of binary relations on sorted int64 arrays.
#
# A pair (a, b) of ids below `size` has the key a * size + b; a relation is a sorted array of distinct keys. Two binary
# searches locate the pairs that begin with `a`. Ids may go up to three billion.

ROWS = 1 << 22  # rows per piece of a join, which bounds its memory to a few hundred megabytes


class Pairs:
    """A growing set of pairs, stored as a few sorted runs, each at most half as long as the previous run. Each of n
    pairs is merged about log n times, even if they are added in many small steps."""

    def __init__(self, size: int, keys: np.ndarray | None = None) -> None:
        """:param keys: (n,) int64, sorted and distinct."""
        self.size = size
        self._forward: list[np.ndarray] = []
        self._backward: list[np.ndarray] | None = None  # the swapped pairs, computed when first needed
        if keys is not None:
            self.add(keys)

    def add(self, keys: np.ndarray) -> None:
        """Add (n,) int64 keys, sorted, distinct and not in the set."""
        _push(self._forward, keys)
        if self._backward is not None:
            _push(self._backward, swapped(keys, self.size))

    @property
    def keys(self) -> np.ndarray:
        """Return the keys of all pairs, (n,) int64, sorted."""
        return union(self._forward)

    def has(self, keys: np.ndarray) -> np.ndarray:
        """Return a mask of the keys in the set, (n,) bool."""
        found = np.zeros(len(keys), dtype=bool)
        for run in self._forward:
            places = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            found |= run[places] == keys
        return found

    def runs(self, backward: bool) -> list[np.ndarray]:
        """Return the sorted arrays that together hold the pairs, or the swapped pairs."""
        if not backward:
            return self._forward
        if self._backward is None:
            self._backward = []
            _push(self._backward, swapped(self.keys, self.size))
        return self._backward


def partners(
    values: np.ndarray, sets: Sequence[Pairs], backward: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """Yield the pairs of disjoint sets that begin with each of (n,) ids, in pieces of about ROWS pairs.

    :param backward: yield the pairs that end with the ids instead.
    :returns: rows and ids: `values[rows[i]]` is paired with `ids[i]`.
    """
    if not len(values):
        return
    found = []
    for pairs in sets:
        for run in pairs.runs(backward):
            starts = np.searchsorted(run, values * pairs.size)
            found.append((run, starts, np.searchsorted(run, (values + 1) * pairs.size) - starts))
    if not found:
        return
    for part in pieces(np.sum([counts for *_, counts in found], axis=0), ROWS):
        for run, starts, counts in found:
            if counts[part].any():
                rows, places = ranges(starts[part], counts[part])
                yield rows + part.start, run[places] % sets[0].size


def pieces(costs: np.ndarray, most: int) -> Iterator[slice]:
    """Yield consecutive slices of (n,) rows that cost about `most` each, or a single row that costs more."""
    if not len(costs):
        return
    total = np.cumsum(costs)
    cuts = np.searchsorted(total, np.arange(most, total[-1], most)) + 1
    start = 0
    for end in np.unique([*cuts, len(costs)]).tolist():
        yield slice(start, end)
        start = end


def ranges(starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Expand (n,) ranges of counts[i] numbers from starts[i]; return the index i of each number, and the numbers."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


def swapped(keys: np.ndarray, size: int) -> np.ndarray:
    """Return the sorted keys of the swapped pairs."""
    return np.sort(keys % size * size + keys // size)


def distinct(keys: np.ndarray) -> np.ndarray:
    """Return the sorted distinct keys. np.unique hashes first, which takes several times as long (NumPy 2.4)."""
    ordered = np.sort(keys, kind="stable")  # merges if the keys are a few sorted runs
    return ordered[np.diff(ordered, prepend=-1) > 0]


def union(runs: Iterable[np.ndarray]) -> np.ndarray:
    """Return the sorted distinct keys of some arrays."""
    return distinct(np.concatenate([np.empty(0, dtype=np.int64), *runs]))


def _push(runs: list[np.ndarray], keys: np.ndarray) -> None:
    if not len(keys):
        return
    runs.append(keys)
    while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
        last = runs.pop()
        # A stable sort merges two sorted runs.
        runs[-1] = np.sort(np.concatenate([runs[-1], last]), kind="stable")


# ---- The fixpoint

NONE = -1
LEAST = 0.5  # default minimum confidence of facts that other proofs use
ROUNDING = 1e-12  # tolerance for rounding of a product of confidences
Facts = dict[int, np.ndarray]  # relation -> keys
_Table = dict[str, np.ndarray]  # variable -> (n,) ids


class Entailed(NamedTuple):
    """(n,) entailed facts.

    :ivar keys: int64, (relation * size + subject) * size + object; during evaluation subject * size + object.
    :ivar rules: int64, index of the last rule of each fact's best proof, of equal proofs the first one.
    :ivar premises: (n, 3) int64, keys with relations for the atoms of that rule's body, each derived earlier; NONE for
        missing atoms. None without tracing.
    :ivar confidences: float64.
    """

    keys: np.ndarray
    rules: np.ndarray
    premises: np.ndarray | None
    confidences: np.ndarray

    def only(self, places: np.ndarray) -> "Entailed":
        """Select the facts at these positions."""
        premises = None if self.premises is None else self.premises[places]
        return Entailed(self.keys[places], self.rules[places], premises, self.confidences[places])

    @classmethod
    def joined(cls, parts: Sequence["Entailed"]) -> "Entailed":
        """Concatenate the parts."""
        premises = [part.premises for part in parts if part.premises is not None]
        return cls(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.rules for part in parts]),
            np.concatenate(premises) if premises else None,
            np.concatenate([part.confidences for part in parts]),
        )

    def best(self) -> "Entailed":
        """Keep the most confident fact of each key, the first of equal confidences, sorted by key."""
        order = np.argsort(-self.confidences, kind="stable")
        return self.only(order[np.unique(self.keys[order], return_index=True)[1]])


class _Uncertain:
    """The confidences of the uncertain pairs of a relation."""

    def __init__(self) -> None:
        self._keys, self._values = np.empty(0, dtype=np.int64), np.empty(0)

    def of(self, keys: np.ndarray, others: np.ndarray | float = 1.0) -> np.ndarray:
        """Return (n,) float64 confidences; `others` for pairs that are not stored."""
        if not len(self._keys):
            return np.broadcast_to(others, len(keys))
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._values[places], others)

    def put(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Add pairs, or change their confidences."""
        self._keys, places = np.unique(np.concatenate([keys, self._keys]), return_index=True)
        self._values = np.concatenate([values, self._values])[places]


class Fixpoint:
    """Evaluate rules over a vocabulary of relations and `size` entities.

    :param barred: ids that cannot be a subject (literals).
    :param traced: keep the premises of each entailed fact.
    :param least: minimum confidence of facts that proofs use.
    """

    def __init__(
        self, rules: Sequence[Rule], relations: Mapping[str, int], size: int, barred: np.ndarray, traced: bool = False,
        least: float = 0.0,
    ) -> None:  # fmt: skip
        self._rules = rules
        self._relations = relations
        self._size = size
        self._barred = barred
        self._traced = traced
        self._least = least - ROUNDING
        self._certain = all(rule.confidence == 1 for rule in rules)
        self._last = {index: place for index, rule in enumerate(rules) if (place := _last_step(rule)) is not None}

    def run(self, old: Facts, new: Facts) -> Entailed:
        """Compute the facts entailed by `old` and `new` together that are not in `old`.

        :param old: facts that are closed under the rules.
        :param new: facts that are not in `old`.
        """
        # _known has all facts, _steps the facts of transitive relations that can be a last step.
        closing = {self._relations[self._rules[index].head.relation] for index in self._last}
        self._known, self._steps = (
            defaultdict(lambda: Pairs(self._size), {r: Pairs(self._size, keys) for r, keys in old.items() if kept(r)})
            for kept in (lambda _: True, closing.__contains__)
        )
        self._uncertain: defaultdict[int, _Uncertain] = defaultdict(_Uncertain)
        delta = {relation: keys for relation, keys in new.items() if len(keys)}
        steps = {relation: keys for relation, keys in delta.items() if relation in closing}
        log: defaultdict[int, list[Entailed]] = defaultdict(list)
        while delta:
            found = self._round(delta, steps)
            for known, fresh in ((self._known, delta), (self._steps, steps)):
                for relation, keys in fresh.items():
                    known[relation].add(keys if self._certain else keys[~known[relation].has(keys)])
            delta, steps = {}, {}
            for relation, parts in found.items():
                kept = self._first(relation, parts, log)
                if len(kept.keys):
                    delta[relation] = kept.keys
                if relation in closing:
                    steps[relation] = kept.keys[~np.isin(kept.rules, list(self._last))]
        return self._collected(log)

    def _round(self, delta: Facts, steps: Facts) -> dict[int, list[Entailed]]:
        found: defaultdict[int, list[Entailed]] = defaultdict(list)
        every, last = (
            (known, {relation: Pairs(self._size, keys) for relation, keys in fresh.items()})
            for known, fresh in ((self._known, delta), (self._steps, steps))
        )
        for index, rule in enumerate(self._rules):
            relation = self._relations[rule.head.relation]
            sets = [last if self._last.get(index) == place else every for place in range(len(rule.body))]
            for place, atom in enumerate(rule.body):
                pairs = sets[place][1].get(self._relations[atom.relation])
                if pairs is None:
                    continue
                # Join two deltas only at the first: atoms before it join older facts only.
                rest = [
                    (other, [known[r], *([fresh[r]] if k > place and r in fresh else [])])
                    for k, (other, (known, fresh)) in enumerate(zip(rule.body, sets, strict=True))
                    if k != place
                    for r in [self._relations[other.relation]]
                ]
                for table in self._extend(self._start(atom, pairs.keys), rest, rule.head.variables):
                    found[relation].append(self._heads(index, rule, table))
        return found

    def _start(self, atom: Atom, keys: np.ndarray) -> _Table:
        subjects, objects = np.divmod(keys, self._size)
        if atom.subject == atom.object:
            return {atom.subject: subjects[subjects == objects]}
        return {atom.subject: subjects, atom.object: objects}

    def _extend(self, table: _Table, rest: list[tuple[Atom, list[Pairs]]], wanted: tuple[str, ...]) -> Iterator[_Table]:
        """Join the table with the remaining atoms, in pieces."""
        if not len(next(iter(table.values()))):
            return
        if not rest:
            yield table
            return
        # Prefer an atom with two bound variables, which only filters, to an atom with a single bound variable.
        best = max(range(len(rest)), key=lambda k: sum(variable in table for variable in rest[k][0].variables))
        (atom, sets), after = rest[best], rest[:best] + rest[best + 1 :]
        if atom.subject in table and atom.object in table:
            keys = table[atom.subject] * self._size + table[atom.object]
            kept = np.zeros(len(keys), dtype=bool)
            for pairs in sets:
                kept |= pairs.has(keys)
            yield from self._extend({name: ids[kept] for name, ids in table.items()}, after, wanted)
            return
        backward = atom.object in table
        bound, free = (atom.object, atom.subject) if backward else (atom.subject, atom.object)
        for rows, ids in partners(table[bound], sets, backward):
            longer = {name: column[rows] for name, column in table.items()}
            longer[free] = ids
            yield from self._extend(self._projected(longer, after, wanted), after, wanted)

    def _projected(self, table: _Table, rest: list[tuple[Atom, list[Pairs]]], wanted: tuple[str, ...]) -> _Table:
        """Project the table to the distinct rows of the variables that are still needed."""
        needed = {*wanted, *(variable for atom, _ in rest for variable in atom.variables)}
        kept = [name for name in table if name in needed]
        if self._traced or not self._certain or not rest or len(kept) == len(table) or len(kept) > 2:
            return table
        columns = [table[name] for name in kept]
        if len(kept) == 1:
            return {kept[0]: distinct(columns[0])}
        return dict(zip(kept, np.divmod(distinct(columns[0] * self._size + columns[1]), self._size), strict=True))

    def _heads(self, index: int, rule: Rule, table: _Table) -> Entailed:
        if rule.distinct:
            kept = table[rule.head.subject] != table[rule.head.object]
            table = {name: ids[kept] for name, ids in table.items()}
        keys = table[rule.head.subject] * self._size + table[rule.head.object]
        if self._certain and not self._traced:
            keys = distinct(keys)
            return Entailed(keys, np.full(len(keys), index), None, np.ones(len(keys)))
        premises, confidences = np.full((len(keys), 3), NONE), np.full(len(keys), float(rule.confidence))
        for place, atom in enumerate(rule.body):
            relation, pairs = self._relations[atom.relation], table[atom.subject] * self._size + table[atom.object]
            premises[:, place] = relation * self._size**2 + pairs
            confidences *= self._uncertain[relation].of(pairs)
        return Entailed(keys, np.full(len(keys), index), premises if self._traced else None, confidences).best()

    def _first(self, relation: int, parts: list[Entailed], log: defaultdict[int, list[Entailed]]) -> Entailed:
        """Return the facts that are new, or more confident than before, for the next round, and add them to the log.
        Each fact is attributed to the part with the highest confidence, of equal parts to the first."""
        found = Entailed.joined(parts)
        before = self._uncertain[relation].of(found.keys, self._known[relation].has(found.keys))
        kept = found.confidences > before
        if len(self._barred):
            kept &= ~np.isin(found.keys // self._size, self._barred)
        found = found.only(kept).best()
        log[relation].append(found)
        if self._certain:
            return found
        self._uncertain[relation].put(found.keys, found.confidences)
        return found.only(found.confidences >= self._least)

    def _collected(self, log: Mapping[int, list[Entailed]]) -> Entailed:
        ids = np.empty(0, dtype=np.int64)
        none = Entailed(ids, ids, np.empty((0, 3), dtype=np.int64) if self._traced else None, np.empty(0))
        parts = [part._replace(keys=part.keys + r * self._size**2) for r in log for part in reversed(log[r])]
        found = Entailed.joined([none, *parts])
        # Of equal keys, keep the last derived fact, which is the most confident.
        return found.only(np.unique(found.keys, return_index=True)[1])


def _last_step(rule: Rule) -> int | None:
    """Return the position of r(y, z) in r(x, z) <= r(x, y) & r(y, z), in any variables and order; None otherwise.

    Rules with x != z are excluded: for x -> y -> x -> z they entail no r(x, x), so any fact may be the last step.
    """
    if rule.distinct or len(rule.body) != 2 or {atom.relation for atom in rule.body} != {rule.head.relation}:
        return None
    start, end = rule.head.variables
    for place, last in enumerate(rule.body):
        first = rule.body[1 - place]
        steps = (first.subject, first.object, last.object) == (start, last.subject, end)
        if steps and len({start, end, last.subject}) == 3:
            return place
    return None


# ---- The facts of several named graphs as arrays over one vocabulary, and a hash of each fact.


def default_into(source: str | None) -> str:
    """Return the default name of the graph of entailed facts."""
    return "inferred" if source is None else f"{source}/inferred"


def sources_of(graph: KnowledgeGraph, source: str | None, into: str, must_exist: bool) -> list[str]:
    """List the graphs to which the rules are applied; with `must_exist`, InputError for no or an unknown graph."""
    names = graph.graphs()
    if source is None:
        sources = [name for name in names if name not in (into, into + PROVENANCE)]
        if must_exist and not sources:
            raise InputError("the graph has no facts to apply rules to")
        return sources
    if must_exist and source not in names:
        raise InputError(f"{unknown_label('graph', source, names)} (there are: {', '.join(names) or 'none'})")
    return [source]


class FactArrays:
    """The facts of the source graphs and of `into`, the graph of entailed facts, as ids of one vocabulary.

    :ivar stated, derived: (n, 3) int64 distinct rows of ids, of the sources and of `into`.
    :ivar stated_keys: (n,) int64, sorted keys of the stated facts, as in `Entailed`.
    :ivar vocabulary: the labels of the facts, and the relations of the rules.
    :ivar literals: ids of the literals.
    """

    def __init__(self, graph: KnowledgeGraph, sources: Sequence[str], into: str | None, rules: Sequence[Rule]) -> None:
        present = graph.graphs()
        parts = [
            (*graph.arrays(name), name == into) for name in [*sources, into] if name is not None and name in present
        ]
        names = {atom.relation for rule in rules for atom in (rule.head, *rule.body)}
        self.stated_relations = sorted({name for part, _, derived in parts if not derived for name in part.relations})
        self.vocabulary = Vocabulary(
            sorted({name for part, *_ in parts for name in part.entities}),
            sorted(names.union(*(part.relations for part, *_ in parts))),
        )
        self.size = max(len(self.vocabulary.entities), 1)
        self.relations = {name: index for index, name in enumerate(self.vocabulary.relations)}
        keys: dict[bool, list[np.ndarray]] = {False: [], True: []}
        for part, ids, derived in parts:
            entities = self.vocabulary.entity_ids(part.entities)
            relations = self.vocabulary.relation_ids(part.relations)
            # One key per row, so that `union` drops facts repeated in several graphs.
            keys[derived].append(
                (relations[ids[:, 1]] * self.size + entities[ids[:, 0]]) * self.size + entities[ids[:, 2]]
            )
        self.stated_keys = union(keys[False])
        self.stated, self.derived = self.rows(self.stated_keys), self.rows(union(keys[True]))
        quoted = [name for name in self.vocabulary.entities if name.startswith('"')]
        self.literals = self.vocabulary.entity_ids(n for n in quoted if isinstance(object_to_term(n), ox.Literal))
        self._marks = [label_numbers(labels) for labels in (self.vocabulary.entities, self.vocabulary.relations)]

    def fixpoint(self, rules: Sequence[Rule], traced: bool, least: float = 0.0) -> Fixpoint:
        """Create a `Fixpoint` of rules over this vocabulary."""
        return Fixpoint(rules, self.relations, self.size, self.literals, traced, least)

    def marks(self, ids: np.ndarray) -> np.ndarray:
        """Return the (n,) uint64 marks (hashes) of the facts (n, 3); see kg/facts.py."""
        entities, relations = self._marks
        return marks(entities[ids[:, 0]], relations[ids[:, 1]], entities[ids[:, 2]])

    def keys(self, ids: np.ndarray) -> Facts:
        """Return the sorted keys of distinct rows, by relation."""
        keys = ids[:, 0] * self.size + ids[:, 2]
        order = np.lexsort((keys, ids[:, 1]))
        relations, starts = np.unique(ids[order, 1], return_index=True)
        return dict(zip(relations.tolist(), np.split(keys[order], starts[1:]), strict=False))

    def rows(self, keys: np.ndarray) -> np.ndarray:
        """Convert the keys of `Entailed` to (n, 3) ids."""
        return np.stack([keys // self.size % self.size, keys // self.size**2, keys % self.size], axis=1)
