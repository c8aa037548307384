"""Horn rules that a graph mostly obeys, in AMIE's language and with its measures.

Galarraga, Teflioudi, Hose and Suchanek, "AMIE: association rule mining under incomplete evidence in ontological
knowledge bases", WWW 2013. Mining gives all closed rules with one or two atoms in the body:

    r(x, y) <= b(x, y)                  r(x, y) <= b(x, z) & c(z, y)            r(x, y) <= b(x, y) & c(x, y)

with each body atom in either direction. AMIE refines rules one by one. Here all bodies of a head are counted at once;
then the pairs of each body with enough support are counted, for all its heads, as a product of sparse matrices.

Two things go beyond AMIE. A rule whose head is irreflexive in the facts (no fact r(x, x)) and whose body holds for some
x = y gets the condition x != y, and its figures leave those pairs out (object identity, to rule miners). And the
contradiction confidence suits graphs of which facts are missing at random (see MinedRule).
"""

import base64
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gumption.data import InputError
from gumption.data.sealed import write_sealed
from gumption.data.settings import Count, Share, checked
from gumption.kg.facts import learnable, marks_of, to_ids
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Vocabulary

from .fixpoint import distinct, pieces, ranges
from .horn import MINED_FROM, Atom, Rule, read_rule_file, rule_to_json

# ---- The support of rules: for each head, how often each body holds where the head is stated.
#
# A body is counted at the stated pairs of the head only. So a chain through a hub, which joins millions of pairs, costs
# no more than the paths between stated pairs.

STEPS = 1 << 20  # of one piece of a search, which bounds its memory to a few hundred megabytes
PATHS = 1 << 24  # of one piece of a product, likewise


@dataclass(frozen=True)
class Bodies:
    """Bodies of one head, as (n,) arrays.

    :ivar chain: whether the bodies are b(x, z) & c(z, y); else both atoms are between x and y.
    :ivar first, second: the oriented relations of the atoms, equal for a body of one atom.
    :ivar support: pairs for which body and head hold.
    :ivar alone: the higher confidence of either atom alone, 0 for chains.
    """

    chain: bool
    first: np.ndarray
    second: np.ndarray
    support: np.ndarray
    alone: np.ndarray


class StatedPairs:
    """The facts of N entities and R relations as pairs (x, y), keys x * N + y, with the relations of each pair.

    Pairs are kept in both directions: the oriented relation i < R is r_i(x, y), and R + i is r_i(y, x). P is the number
    of distinct pairs.

    :ivar sizes: (2R,) int64, facts of each oriented relation.
    :ivar irreflexive: (2R,) bool, whether it has no fact r(x, x). Pairs x = y count neither for nor against a rule with
        such a head.
    """

    def __init__(self, entities: int, relations: int, ids: np.ndarray) -> None:
        self.entities, self.relations = entities, relations
        subjects, kinds, objects = ids.T
        keys = np.concatenate([subjects * entities + objects, objects * entities + subjects])
        self._keys = distinct(keys)
        at = np.searchsorted(self._keys, keys), np.concatenate([kinds, kinds + relations])
        shape = (len(self._keys), 2 * relations)
        self._oriented = sparse.csr_array((np.ones(len(keys), dtype=np.int64), at), shape=shape)  # 0/1, by pair
        self._oriented.data[:] = 1
        self._by_relation = self._oriented.tocsc()
        self.sizes = np.diff(self._by_relation.indptr).astype(np.int64)
        self._equal = self._keys // entities == self._keys % entities  # (P,)
        self._reflexive = self._oriented[self._equal]
        self._loops = np.bincount(self._reflexive.indices, minlength=2 * relations)
        self.irreflexive = self._loops == 0
        self._starts = np.searchsorted(self._keys, np.arange(entities + 1) * entities)  # of the pairs of each x
        turned = (self._oriented.indices + relations) % (2 * relations)
        # The terms of a path's code first * 2R + second: of a step x -> z and of a step y -> z for x -> z -> y, in the
        # second half for the other way.
        ahead, back = self._oriented.indices * np.int64(2 * relations), turned.astype(np.int64)
        self._near, self._far = np.concatenate([ahead, back]), np.concatenate([back, ahead])

    def pairs(self, oriented: int) -> tuple[np.ndarray, np.ndarray]:
        """The sorted x and y of an oriented relation."""
        return np.divmod(self._keys[self._places(oriented)], self.entities)

    def _places(self, oriented: int) -> np.ndarray:
        return self._by_relation.indices[slice(*self._by_relation.indptr[oriented : oriented + 2])]

    def shared(self, oriented: int) -> np.ndarray:
        """(2R,) int64: the number of pairs that a relation has in common with each oriented relation."""
        return self._oriented[self._places(oriented)].sum(axis=0)

    def contradicted(self, disjoint: Any) -> Any:
        """(P, R) sparse int64, 0/1: whether a pair has a relation that is disjoint with r.

        :param disjoint: (R, 2R) sparse int64, 0/1, of `disjoint_relations`.
        """
        found = sparse.coo_array(self._oriented @ disjoint.T)
        pairs, relations = found.coords
        kept = ~(self._equal[pairs] & self.irreflexive[relations])
        ones = np.ones(int(kept.sum()), dtype=np.int64)
        return sparse.csr_array((ones, (pairs[kept], relations[kept])), shape=found.shape)

    def closed(self, first: int) -> Any:
        """(N, 2R) sparse: nonzero where x has, for some z, first(x, z) and c(x, z), so that the chain of `first` and
        the reverse of c holds for x = y."""
        places = self._places(first)  # sorted by x, so that the relations of each x lie together
        of_pair = self._oriented[places]
        starts = of_pair.indptr[np.searchsorted(places, self._starts)]
        shape = (self.entities, 2 * self.relations)
        of_x = sparse.csr_array((of_pair.data, of_pair.indices, starts), shape=shape)
        of_x.sum_duplicates()
        return of_x.tocsc()

    def reflexive(self, first: int, second: int) -> np.ndarray:
        """The sorted x for which both relations state (x, x)."""
        if not self._loops[first] or not self._loops[second]:  # true of nearly all relations
            return np.empty(0, dtype=np.int64)
        found = (self._reflexive[:, [first, second]].toarray() == 1).all(axis=1)
        return self._keys[self._equal][found] % self.entities

    def between(self, head: int) -> Bodies:
        """The bodies of one and two atoms between x and y, without the head itself."""
        both = sparse.coo_array(self.together(self._places(head)))
        first, second = both.coords
        # The confidence of one atom is taken over the pairs that count for this head.
        sizes = self.sizes - self._loops if self.irreflexive[head] else self.sizes
        alone = both.tocsr().diagonal() / np.maximum(sizes, 1)
        kept = (first <= second) & (first != head) & (second != head)
        first, second = first[kept], second[kept]
        best = np.where(first == second, 0.0, np.maximum(alone[first], alone[second]))
        return Bodies(False, first, second, both.data[kept], best)

    def together(self, places: np.ndarray) -> Any:
        """(2R, 2R) sparse int64: the number of these pairs that have both relations."""
        of_pair = self._oriented[places]
        return of_pair.T @ of_pair

    def chains(self, head: int) -> Bodies:
        """The bodies b(x, z) & c(z, y)."""
        many = 2 * self.relations
        found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        for _, codes in self.chains_at(self._places(head)):
            bodies = np.sort(codes % many**2)
            first_of = np.flatnonzero(np.diff(bodies, prepend=-1))
            found.append((bodies[first_of], np.diff(first_of, append=len(bodies))))
        bodies, support = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        total = sparse.coo_array((support, np.divmod(bodies, many)), shape=(many, many))
        total.sum_duplicates()
        first, second = total.coords
        return Bodies(True, first, second, total.data, np.zeros(total.nnz))

    def chains_at(self, places: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The chains that hold at some pairs, in pieces: the places of n pairs, and the sorted distinct codes
        i * (2R)^2 + first * 2R + second of the chains at the i-th of them.

        The search for z begins at the end with fewer neighbours.
        """
        many, starts, half = 2 * self.relations, self._starts, self._oriented.nnz
        neighbours, relations = np.diff(starts), np.diff(self._oriented.indptr)
        x, y = np.divmod(self._keys[places], self.entities)
        turned = neighbours[x] > neighbours[y]
        near, far = np.where(turned, y, x), np.where(turned, x, y)
        order = np.argsort(far, kind="stable")  # so that consecutive searches are close in memory
        near, far, turned = near[order], far[order], turned[order]
        for part in pieces(neighbours[near], STEPS):
            rows, steps = ranges(starts[near[part]], neighbours[near[part]])
            asked = far[part][rows] * self.entities + self._keys[steps] % self.entities
            others = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
            met = np.flatnonzero(self._keys[others] == asked)
            rows, steps, others = rows[met], steps[met], others[met]
            # All pairs of a relation between x and z and one between z and y.
            other_way = turned[part][rows] * half
            paths = relations[steps] * relations[others]
            for each in pieces(np.bincount(rows, paths, part.stop - part.start), STEPS):
                of = slice(*np.searchsorted(rows, [each.start, each.stop]))
                path, entry = ranges(self._oriented.indptr[steps[of]] + other_way[of], relations[steps[of]])
                codes = self._near[entry] + rows[of][path] * many**2
                to = self._oriented.indptr[others[of]] + other_way[of]
                path, entry = ranges(to[path], relations[others[of]][path])
                codes = np.sort(codes[path] + self._far[entry])  # (x, y) and the body, once for each z
                yield places[order[part]], codes[np.diff(codes, prepend=-1) > 0]


# ---- The search


@dataclass(frozen=True)
class MinedRule:
    """A rule with its figures (sections 3.3 and 4 of the paper). A pair (x, y) counts once, whatever z is.

    The contradiction confidence is the precision p / (p + n) of rule learning (Fuernkranz and Flach, "ROC 'n' rule
    learning", Machine Learning 2005). Its negative examples n are stated by relations that are disjoint with the
    head's; a pair with neither is unknown and counts neither way. So it does not fall where facts of the head's and of
    disjoint relations are missing equally often. Without a disjoint relation it is the PCA confidence.

    :ivar rule: with the confidence that it was selected by: the contradiction confidence where mining had a threshold
        of it, else the PCA confidence where mining had one of that, else the confidence.
    :ivar support: pairs for which body and head hold.
    :ivar body_size: pairs for which the body holds.
    :ivar head_coverage: support / facts of the head's relation.
    :ivar confidence: support / body_size, which counts unstated facts as false.
    :ivar pca_confidence: support / pairs of the body of which the head's relation states anything (the partial
        completeness assumption): of x, or of y where the relation has more distinct y than x.
    :ivar contradiction_confidence: support / (support + contradictions).
    :ivar contradictions: pairs of the body that have a relation of `contradicted_by`.
    :ivar contradicted_by: the relations that are disjoint with the head's, as atoms of the head's x and y.
    """

    rule: Rule
    support: int
    body_size: int
    head_coverage: float
    confidence: float
    pca_confidence: float
    contradiction_confidence: float
    contradictions: int
    contradicted_by: tuple[Atom, ...]

    def __str__(self) -> str:
        return (
            f"{self.rule}  support {self.support}  head coverage {self.head_coverage:.2f}  "
            f"confidence {self.confidence:.2f}  PCA confidence {self.pca_confidence:.2f}  "
            f"contradiction confidence {self.contradiction_confidence:.2f}"
        )

    def figures(self) -> dict[str, Any]:
        """The figures by name, as JSON values: numbers, and the atoms that contradict the head as texts."""
        figures = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "rule"}
        return {**figures, "contradicted_by": [str(atom) for atom in self.contradicted_by]}


@checked
def write_mined(
    path: str | PathLike[str], mined: Sequence[MinedRule], facts: tuple[Vocabulary, np.ndarray] | None = None
) -> None:
    """Write mined rules with their figures to a JSON file for `read_rules`, which appears when it is complete.

    :param facts: the facts that they were mined from. The file keeps 8 bytes of each, by which `gumption` counts leaks.
    """
    rules = [
        {**rule_to_json(each.rule), "confidence": each.rule.confidence, "figures": each.figures()} for each in mined
    ]
    content: dict[str, Any] = {"rules": rules}
    if facts is not None:
        content[MINED_FROM] = base64.b64encode(marks_of(*facts).astype("<u8").tobytes()).decode()
    write_sealed(Path(path), content)


def mined_from(path: str | PathLike[str]) -> np.ndarray | None:
    """(n,) uint64 marks (see kg/facts.py) of the facts that a file's rules were mined from, None where it has none.

    :raises InputError: a file that is not JSON, or damaged.
    """
    content = read_rule_file(path)
    if not isinstance(content, dict) or MINED_FROM not in content:
        return None
    try:
        return np.frombuffer(base64.b64decode(content[MINED_FROM], validate=True), dtype="<u8").astype(np.uint64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {MINED_FROM} is damaged ({error}); mine the rules again") from None


@checked
def mine_rules(
    facts: KnowledgeGraph | tuple[Vocabulary, np.ndarray],
    graph: str | None = None,
    *,
    min_support: Count = 10,
    min_head_coverage: Share = 0.01,
    min_confidence: Share = 0.1,
    min_pca_confidence: Share = 0.0,
    min_contradiction_confidence: Share = 0.0,
    progress: Callable[[int, int], None] | None = None,
    literals: bool = False,
) -> list[MinedRule]:
    """The rules that reach all thresholds, by falling confidence, then support, then text.

    In a graph with many missing facts true rules have a low `confidence`. To select by contradictions alone, set
    `min_confidence` to 0 and `min_contradiction_confidence` above 0.

    A body of two atoms between x and y has to have a higher confidence than either atom alone (section 4.1).

    :param facts: a graph, of which `graph` names the part (None: the union), or the result of its `arrays`.
    :param progress: called with the number of steps that are done, and of all steps.
    :param literals: take the facts of a KnowledgeGraph with literals, too; they are left out otherwise, as those with
        triple terms always are, and a Note counts them.
    :raises InputError: no facts, a threshold out of range, an unknown graph.
    """
    if isinstance(facts, KnowledgeGraph):
        vocabulary, ids = learnable(*facts.arrays(graph), literals)
    else:
        vocabulary, ids = facts[0], to_ids(facts[0], facts)
    if not len(ids):
        raise InputError("there are no facts to mine rules from")
    thresholds = _Thresholds(
        min_support, min_head_coverage, min_confidence, min_pca_confidence, min_contradiction_confidence
    )
    rules = _Mining(vocabulary, ids, thresholds).rules(progress or (lambda _done, _of: None))
    return sorted(rules, key=lambda each: (-each.confidence, -each.support, str(each.rule)))


@dataclass(frozen=True)
class _Thresholds:
    support: int
    head_coverage: float
    confidence: float
    pca_confidence: float
    contradiction_confidence: float


# A body with enough support for a head; x and y change places where `turned`. The code of the body is
# (first * 2 + chain) * 2R + second; the other fields are those of Bodies.
_CANDIDATE = np.dtype(
    [("code", "i8"), ("turned", "?"), ("head", "i8"), ("support", "i8"), ("alone", "f8"), ("contradictions", "i8")]
)


class _Mining:
    """The matrices of a graph of N entities and R relations, one for each direction, and the search on them."""

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray, thresholds: _Thresholds) -> None:
        self.entities, self.labels = len(vocabulary.entities), vocabulary.relations
        self.relations, self.thresholds = len(self.labels), thresholds
        self.stated = StatedPairs(self.entities, self.relations, ids)
        self._matrices = [self._matrix(oriented) for oriented in range(2 * self.relations)]
        self._atoms: dict[tuple[int, str, str], Atom] = {}
        # The entities of which a head's relation has to state something, and whether they are y; else they are x.
        used = [np.flatnonzero(np.diff(each.indptr)) for each in self._matrices]
        sides = list(zip(used[: self.relations], used[self.relations :], strict=True))
        self._anchors = [(True, y) if len(y) > len(x) else (False, x) for x, y in sides]
        disjoint = disjoint_relations(self.stated, self._matrices)
        self._contradictions = Contradictions(self.stated, disjoint)
        self._contradicted_by = [
            tuple(self._atom(each, "x", "y") for each in sorted(disjoint.indices[start:end].tolist()))
            for start, end in itertools.pairwise(disjoint.indptr.tolist())
        ]

    def _matrix(self, oriented: int) -> Any:
        rows, columns = self.stated.pairs(oriented)
        starts = np.searchsorted(rows, np.arange(self.entities + 1))
        shape = (self.entities, self.entities)
        return sparse.csr_array((np.ones(len(rows), dtype=bool), columns, starts), shape=shape)

    def _reverse(self, oriented: Any) -> Any:
        return (oriented + self.relations) % (2 * self.relations)

    def rules(self, progress: Callable[[int, int], None]) -> Iterator[MinedRule]:
        """The rules that reach the thresholds, in any order."""
        many, steps = 2 * self.relations, 3 * self.relations
        found = [np.empty(0, dtype=_CANDIDATE)]
        for head in range(self.relations):
            if self.stated.sizes[head] >= self.thresholds.support:
                found += [self._candidates(head, self.stated.chains(head))]
                found += [self._candidates(head, self.stated.between(head))]
            progress(head + 1, steps)
        candidates = np.concatenate(found)
        candidates = candidates[np.argsort(candidates["code"], kind="stable")]
        codes = candidates["code"]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        of_first = np.searchsorted(codes[starts], np.arange(many + 1) * 2 * many).tolist()
        bounds = [*starts.tolist(), len(codes)]
        for first in range(many):
            bodies = range(of_first[first], of_first[first + 1])
            closed = self.stated.closed(first) if bodies else None
            for body in bodies:
                yield from self._of_body(candidates[bounds[body] : bounds[body + 1]], closed)
            progress(self.relations + first + 1, steps)

    def _candidates(self, head: int, bodies: Bodies) -> np.ndarray:
        """The bodies with enough support. A chain has the lesser code of itself and its reverse, c(y, z) & b(z, x)."""
        enough = bodies.support >= self.thresholds.support
        enough &= bodies.support / self.stated.sizes[head] >= self.thresholds.head_coverage
        many, first, second = 2 * self.relations, bodies.first[enough], bodies.second[enough]
        candidates = np.empty(len(first), dtype=_CANDIDATE)
        code = (first.astype(np.int64) * 2 + bodies.chain) * many + second
        reverse = (self._reverse(second).astype(np.int64) * 2 + 1) * many + self._reverse(first)
        candidates["turned"] = turned = bodies.chain & (reverse < code)
        candidates["code"] = np.where(turned, reverse, code)
        candidates["head"] = head
        candidates["support"], candidates["alone"] = bodies.support[enough], bodies.alone[enough]
        candidates["contradictions"] = 0
        if not self._contradicted_by[head]:
            return candidates
        candidates["contradictions"] = self._contradictions.counts(head, bodies.chain, first, second)
        confidence = candidates["support"] / (candidates["support"] + candidates["contradictions"])
        return candidates[confidence >= self.thresholds.contradiction_confidence]

    def _of_body(self, candidates: np.ndarray, closed: Any) -> Iterator[MinedRule]:
        """The rules among the candidates of one body.

        :param closed: `StatedPairs.closed` of the body's first relation.
        """
        rest, second = divmod(int(candidates["code"][0]), 2 * self.relations)
        first, chain = divmod(rest, 2)
        if chain:
            loops = closed.indices[slice(*closed.indptr[self._reverse(second) :][:2])]
        else:
            loops = self.stated.reflexive(first, second)
        counts = self._counts(bool(chain), first, second, int(candidates["support"].max()), len(loops))
        if counts is None:
            return
        starts, ends = counts
        pairs = int(starts.sum())
        for _, turned, head, support, alone, contradictions in candidates.tolist():
            left_out = loops if self.stated.irreflexive[head] else loops[:0]
            size = pairs - len(left_out)
            confidence = support / size
            # The factor keeps rounding from favouring a longer body with equal confidence.
            if confidence < self.thresholds.confidence or support <= alone * size * (1 + 1e-12):
                continue
            by_object, anchor = self._anchors[head]
            known = int((ends if by_object != turned else starts)[anchor].sum())
            if len(left_out):
                known -= len(np.intersect1d(left_out, anchor, assume_unique=True))
            pca_confidence = support / known
            by = self._contradicted_by[head]
            contradiction_confidence = support / (support + contradictions) if by else pca_confidence
            if (
                pca_confidence >= self.thresholds.pca_confidence
                and contradiction_confidence >= self.thresholds.contradiction_confidence
            ):
                atoms = (self._reverse(second), self._reverse(first)) if turned else (first, second)
                certainty = pca_confidence if self.thresholds.pca_confidence else confidence
                certainty = contradiction_confidence if self.thresholds.contradiction_confidence else certainty
                yield MinedRule(
                    rule=self._rule(head, bool(chain), *atoms, len(left_out) > 0, certainty),
                    support=support,
                    body_size=size,
                    head_coverage=support / int(self.stated.sizes[head]),
                    confidence=confidence,
                    pca_confidence=pca_confidence,
                    contradiction_confidence=contradiction_confidence,
                    contradictions=contradictions,
                    contradicted_by=by,
                )

    def _rule(self, head: int, chain: bool, first: int, second: int, distinct: bool, confidence: float) -> Rule:
        if chain:
            body = (self._atom(first, "x", "z"), self._atom(second, "z", "y"))
        else:
            body = tuple(self._atom(each, "x", "y") for each in dict.fromkeys((first, second)))
        return Rule(self._atom(head, "x", "y"), body, distinct=distinct, confidence=confidence)

    def _atom(self, oriented: int, a: str, b: str) -> Atom:
        """An oriented relation with its variables; all rules share one object, as there may be very many."""
        if (oriented, a, b) not in self._atoms:
            turned, relation = divmod(oriented, self.relations)
            self._atoms[oriented, a, b] = Atom(self.labels[relation], *((b, a) if turned else (a, b)))
        return self._atoms[oriented, a, b]

    def _counts(
        self, chain: bool, first: int, second: int, support: int, loops: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(N,) numbers of pairs of a body with each entity as x, and as y; None if no rule of that support can reach
        the confidence, even without the `loops` pairs x = y."""
        left, right = self._matrices[first], self._matrices[second]
        if not chain:
            both = left if first == second else left.multiply(right)
            return np.diff(both.indptr), np.bincount(both.indices, minlength=self.entities)
        leaving = np.diff(right.indptr)
        arriving = np.diff(self._matrices[self._reverse(first)].indptr).astype(np.int64)
        through = arriving * leaving
        z = int(through.argmax())  # paths through one z join different pairs, some of them x = y
        if support / max(through[z] - min(arriving[z], leaving[z]), 1) < self.thresholds.confidence:
            return None
        starts, ends = np.zeros(self.entities, dtype=np.int64), np.zeros(self.entities, dtype=np.int64)
        for rows in pieces(left @ leaving, PATHS):
            product = left[rows] @ right
            starts[rows] = np.diff(product.indptr)
            ends += np.bincount(product.indices, minlength=self.entities)
            if support / max(ends.sum() - loops, 1) < self.thresholds.confidence:
                return None
        return starts, ends


# ---- Disjoint relations, and how often a body holds where they contradict a rule's head.
#
# Two relations are disjoint if no pair (x, y) has both (OWL 2's DisjointObjectProperties; a relation that is disjoint
# with its inverse is an AsymmetricObjectProperty). Fleischhacker, Voelker and Stuckenschmidt, "Mining RDF data for
# property axioms", OTM 2012, mine such axioms from facts. The criterion here is ours:
#
#     r and s are disjoint if no pair is stated in both, although at least EXPECTED pairs would be by chance.
#
# If r and s are independent among n pairs, |r| * |s| / n pairs are expected in both. The n pairs are those of different
# entities x and y for which x is a subject and y an object of both relations, and which two facts of r or s, in any
# direction, connect. They have to be connected because facts come in patches (one table, one family): entities of
# different patches have neither relation, and with such pairs n would be so large that hardly any pair is expected in
# both. One connecting fact would not do, since it is itself a fact of r or s.
#
# A single pair in both refutes disjointness, so one wrong fact can hide it.

# Of a Poisson distribution with this mean one draw in 22,000 is 0; where each pair counts in both directions (symmetric
# relations, a relation and its inverse) one in 150.
EXPECTED = 10


def disjoint_relations(stated: StatedPairs, matrices: Sequence[Any]) -> Any:
    """(R, 2R) sparse int64, 0/1: whether no pair of a relation has the oriented relation.

    :param matrices: the pairs of each oriented relation, 2R sparse (N, N) bool arrays.
    """
    many, half = 2 * stated.relations, stated.relations
    reverse = (np.arange(many) + half) % many
    subjects = _subjects(matrices, stated.entities)
    objects = subjects[:, reverse]
    shared: dict[tuple[int, int], int] = {}  # facts of i whose x is a subject and whose y is an object of j
    for i in range(half):
        x, y = stated.pairs(i)
        both_ends = subjects[x].multiply(objects[y]).sum(axis=0)
        kept = np.flatnonzero((both_ends >= EXPECTED) & (stated.shared(i) == 0))
        shared.update({(i, j): int(both_ends[j]) for j in kept.tolist()})
    found: list[tuple[int, int]] = []
    for (i, j), first in shared.items():
        mirrored = (j, i) if j < half else (j - half, i + half)  # the same two relations, seen from the other one
        second = shared.get(mirrored, 0)
        # Without a pair in both, n is at least |r| + |s|: most relations need no product.
        if (i, j) <= mirrored and first * second >= EXPECTED * (first + second):
            starts, ends = (
                np.flatnonzero((np.diff(matrices[a].indptr) > 0) & (np.diff(matrices[b].indptr) > 0))
                for a, b in ((i, j), (reverse[i], reverse[j]))
            )
            near = matrices[i] + matrices[j] + matrices[reverse[i]] + matrices[reverse[j]]
            if _would_overlap(near, matrices[i], matrices[j], starts, ends, first * second):
                found += {(i, j), mirrored}
    rows, columns = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return sparse.csr_array((np.ones(len(found), dtype=np.int64), (rows, columns)), shape=(half, many))


def _subjects(matrices: Sequence[Any], entities: int) -> Any:
    """(N, 2R) sparse int64, 0/1: whether an entity is a subject of the oriented relation."""
    of_each = [np.flatnonzero(np.diff(each.indptr)) for each in matrices]
    columns = np.repeat(np.arange(len(matrices)), [len(each) for each in of_each])
    ones = np.ones(len(columns), dtype=np.int64)
    return sparse.csr_array((ones, (np.concatenate(of_each), columns)), shape=(entities, len(matrices)))


def _would_overlap(near: Any, first: Any, second: Any, starts: np.ndarray, ends: np.ndarray, most: int) -> bool:
    """Whether at least EXPECTED pairs of a start and an end would be in both relations by chance.

    :param near: (N, N) sparse bool, the pairs that one fact connects in either direction.
    :param most: an upper bound of |r| * |s|.
    """
    left, right = near[starts], near[:, ends]
    relations = [each[starts][:, ends] for each in (first, second)]
    pairs, facts = 0, [0, 0]
    for rows in pieces(left @ np.diff(right.indptr), PATHS):
        joined = left[rows] @ right
        x = np.repeat(starts[rows], np.diff(joined.indptr))
        joined.data = x != ends[joined.indices]
        joined.eliminate_zeros()
        pairs += joined.nnz
        facts = [before + joined.multiply(each[rows]).nnz for before, each in zip(facts, relations, strict=True)]
        if most < EXPECTED * pairs:
            return False
    return pairs > 0 and facts[0] * facts[1] >= EXPECTED * pairs


class Contradictions:
    """The pairs that contradict each relation r because they have a relation that is disjoint with r, and how often
    bodies hold at them. A pair x = y contradicts no irreflexive relation."""

    def __init__(self, stated: StatedPairs, disjoint: Any) -> None:
        self._stated, self._many = stated, 2 * stated.relations
        pairs = stated.contradicted(disjoint)
        self._of_relation = pairs.tocsc()
        self._chains = sparse.csr_array((stated.relations, self._many**2), dtype=np.int64)
        for places, codes in stated.chains_at(np.flatnonzero(np.diff(pairs.indptr))):
            rows, chains = np.divmod(codes, self._many**2)
            starts = np.searchsorted(rows, np.arange(len(places) + 1))
            shape = (len(places), self._many**2)
            holds = sparse.csr_array((np.ones(len(chains), dtype=np.int64), chains, starts), shape=shape)
            self._chains += pairs[places].T @ holds
        self._chains.sort_indices()

    def counts(self, head: int, chain: bool, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(n,) int64: the number of contradicting pairs of n bodies; `chain`, `first` and `second` as in Bodies."""
        if chain:
            row = slice(*self._chains.indptr[head : head + 2])
            codes, counts = self._chains.indices[row], self._chains.data[row]
        else:
            places = self._of_relation.indices[slice(*self._of_relation.indptr[head : head + 2])]
            both = self._stated.together(places)
            both.sort_indices()
            codes = np.repeat(np.arange(self._many), np.diff(both.indptr)) * self._many + both.indices
            counts = both.data
        asked = first.astype(np.int64) * self._many + second
        found = np.searchsorted(codes, asked)
        return np.where(np.append(codes, -1)[found] == asked, np.append(counts, 0)[found], 0)
