"""What rules entail, to the fixpoint, on arrays: semi-naive evaluation (Abiteboul, Hull and Vianu, "Foundations of
Databases", 1995, section 13.1).

A round joins what the round before found (the delta) with everything known, once for each atom of a body. A rule
r(x, z) <= r(x, y) & r(y, z) is not evaluated like that: on a path of n edges it would find each of n^2 / 2 pairs n / 3
times. `_close` extends pairs by one new edge at a time instead, which finds them once.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .horn import Atom, Rule
from .joins import Pairs, distinct, partners, union

NONE = -1
Facts = dict[int, np.ndarray]  # relation -> keys, see joins.py
_Table = dict[str, np.ndarray]  # variable -> (n,) ids


@dataclass
class Entailed:
    """What a run has found.

    :ivar keys: relation -> (n,) int64 sorted keys of the entailed pairs.
    :ivar rules: relation -> (n,) int64, for each key the rule that found it first.
    :ivar premises: relation -> (n, 3) int64, for each key those of the atoms of that rule's body, NONE where it has
        fewer; they were known before the key was. Empty unless asked for.
    """

    keys: Facts = field(default_factory=dict)
    rules: dict[int, np.ndarray] = field(default_factory=dict)
    premises: dict[int, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class _Found:
    keys: np.ndarray
    rule: int
    premises: np.ndarray | None


class Fixpoint:
    """Evaluates rules over a vocabulary of relations and `size` entities.

    :param barred: ids that cannot be a subject (literals): what would be said of them is left out.
    """

    def __init__(
        self, rules: Sequence[Rule], relations: Mapping[str, int], size: int, barred: np.ndarray, traced: bool = False
    ) -> None:
        self._rules = rules
        self._relations = relations
        self._size = size
        self._barred = barred
        self._traced = traced
        self._closing: dict[int, int] = {}  # transitive relation -> its rule
        self._joined: list[tuple[int, Rule]] = []
        for index, rule in enumerate(rules):
            relation = relations[rule.head.relation]
            if not _is_transitive(rule):
                self._joined.append((index, rule))
            else:
                self._closing.setdefault(relation, index)

    def run(self, old: Facts, new: Facts) -> Entailed:
        """What the facts entail together and `old` does not hold.

        :param old: facts that are closed under the rules.
        :param new: facts that are not in `old`.
        """
        self._known = defaultdict(lambda: Pairs(self._size), {r: Pairs(self._size, keys) for r, keys in old.items()})
        delta = {relation: keys for relation, keys in new.items() if len(keys)}
        waiting = {relation: [keys] for relation, keys in delta.items() if relation in self._closing}
        log: defaultdict[int, list[_Found]] = defaultdict(list)
        while delta:
            while delta:
                found = self._round(delta)
                for relation, keys in delta.items():
                    self._known[relation].add(keys)
                delta = {}
                for relation, parts in found.items():
                    if len(keys := self._first(relation, parts, log)):
                        delta[relation] = keys
                        if relation in self._closing:
                            waiting.setdefault(relation, []).append(keys)
            # Only now that nothing else is left: each closing is done once for all edges that came up meanwhile.
            for relation in sorted(waiting):
                parts = list(self._close(relation, union(waiting[relation])))
                if parts:
                    log[relation] += parts  # no two of them have a key in common
                    delta[relation] = union(part.keys for part in parts)
            waiting = {}
        return self._collected(log)

    def _round(self, delta: Facts) -> dict[int, list[_Found]]:
        found: defaultdict[int, list[_Found]] = defaultdict(list)
        fresh = {relation: Pairs(self._size, keys) for relation, keys in delta.items()}
        for index, rule in self._joined:
            relation = self._relations[rule.head.relation]
            for place, atom in enumerate(rule.body):
                pairs = fresh.get(self._relations[atom.relation])
                if pairs is None:
                    continue
                # What two deltas give together is found at the first of them: the atoms before it see the past only.
                rest = [
                    (other, [self._known[r], *([fresh[r]] if k > place and r in fresh else [])])
                    for k, other in enumerate(rule.body)
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
        """The table joined with the remaining atoms, in pieces."""
        if not len(next(iter(table.values()))):
            return
        if not rest:
            yield table
            return
        # An atom whose variables are both bound only filters; else one that has a bound variable, which there is.
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
        for piece in partners(table[bound], sets, backward):
            longer = {name: ids[piece.rows] for name, ids in table.items()}
            longer[free] = piece.partners
            yield from self._extend(self._projected(longer, after, wanted), after, wanted)

    def _projected(self, table: _Table, rest: list[tuple[Atom, list[Pairs]]], wanted: tuple[str, ...]) -> _Table:
        """Without the variables that nothing asks for any more, and with each row once."""
        needed = {*wanted, *(variable for atom, _ in rest for variable in atom.variables)}
        kept = [name for name in table if name in needed]
        if self._traced or not rest or len(kept) == len(table) or len(kept) > 2:
            return table
        columns = [table[name] for name in kept]
        if len(kept) == 1:
            return {kept[0]: distinct(columns[0])}
        return dict(zip(kept, np.divmod(distinct(columns[0] * self._size + columns[1]), self._size), strict=True))

    def _heads(self, index: int, rule: Rule, table: _Table) -> _Found:
        if rule.distinct:
            kept = table[rule.head.subject] != table[rule.head.object]
            table = {name: ids[kept] for name, ids in table.items()}
        keys = table[rule.head.subject] * self._size + table[rule.head.object]
        if not self._traced:
            return _Found(distinct(keys), index, None)
        premises = np.full((len(keys), 3), NONE)
        for place, atom in enumerate(rule.body):
            premises[:, place] = table[atom.subject] * self._size + table[atom.object]
        keys, first = np.unique(keys, return_index=True)
        return _Found(keys, index, premises[first])

    def _first(self, relation: int, parts: list[_Found], log: defaultdict[int, list[_Found]]) -> np.ndarray:
        """The keys of these parts that are not known yet, sorted; each is written down as its first part's."""
        accepted = Pairs(self._size)
        for part in parts:
            new = ~self._known[relation].has(part.keys) & ~accepted.has(part.keys)
            if len(self._barred):
                new &= ~np.isin(part.keys // self._size, self._barred)
            if new.any():
                accepted.add(part.keys[new])
                premises = None if part.premises is None else part.premises[new]
                log[relation].append(_Found(part.keys[new], part.rule, premises))
        return accepted.keys

    def _close(self, relation: int, new: np.ndarray) -> Iterator[_Found]:
        """The pairs that new edges add to a relation whose other pairs are closed, in the order of their discovery.

        A path through new edges is split where they end: past each, one step in the closed part goes as far as any
        number of them. With nothing closed this is a breadth-first search, so that a pair's first derivation is a
        shortest path.
        """
        index, size = self._closing[relation], self._size
        every = self._known[relation].keys
        closed = Pairs(size, np.setdiff1d(every, new, assume_unique=True))
        edges = Pairs(size, new)
        known = Pairs(size, every)

        def extended(left: np.ndarray, right: Pairs, backward: bool = False) -> Iterator[_Found]:
            for piece in partners(left // size if backward else left % size, [right], backward):
                joined = left[piece.rows]
                if backward:
                    keys = piece.partners * size + joined % size
                    before, after = piece.partners * size + joined // size, joined
                else:
                    keys = joined // size * size + piece.partners
                    before, after = joined, joined % size * size + piece.partners
                keys, first = np.unique(keys, return_index=True)
                first = first[fresh := ~known.has(keys)]
                keys = keys[fresh]
                known.add(keys)
                premises = None
                if self._traced:
                    premises = np.full((len(keys), 3), NONE)
                    premises[:, 0], premises[:, 1] = before[first], after[first]
                if len(keys):
                    yield _Found(keys, index, premises)

        ending = new  # pairs whose last step is a new edge
        entering = list(extended(new, closed, backward=True))
        yield from entering
        ending = union([new, *(part.keys for part in entering)])
        while len(ending):
            leaving = list(extended(ending, closed))
            yield from leaving
            onward = list(extended(union([ending, *(part.keys for part in leaving)]), edges))
            yield from onward
            ending = union(part.keys for part in onward)

    def _collected(self, log: Mapping[int, list[_Found]]) -> Entailed:
        result = Entailed()
        for relation in sorted(log):
            parts = log[relation]
            keys = np.concatenate([part.keys for part in parts])
            order = np.argsort(keys)
            result.keys[relation] = keys[order]
            result.rules[relation] = np.repeat([part.rule for part in parts], [len(part.keys) for part in parts])[order]
            if self._traced:
                rows = [part.premises for part in parts if part.premises is not None]
                result.premises[relation] = np.concatenate(rows)[order]
        return result


def _is_transitive(rule: Rule) -> bool:
    """Whether the rule is r(x, z) <= r(x, y) & r(y, z), whatever its variables and the order of its atoms.

    With x != z it is not: `_close` goes through pairs (x, x), and such a rule must not derive them.
    """
    if rule.distinct or len(rule.body) != 2 or {atom.relation for atom in rule.body} != {rule.head.relation}:
        return False
    start, end = rule.head.variables
    return any(
        first.subject == start and second.object == end and first.object == second.subject
        and len({start, end, first.object}) == 3
        for first, second in (rule.body, rule.body[::-1])
    )  # fmt: skip
