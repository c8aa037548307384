"""Mine Horn rules from a graph, with the rule language and measures of AMIE.

Galarraga, Teflioudi, Hose and Suchanek, "AMIE: association rule mining under incomplete evidence in ontological
knowledge bases", WWW 2013. Mining returns all closed rules with one or two atoms in the body:

    r(x, y) <= b(x, y)                  r(x, y) <= b(x, z) & c(z, y)            r(x, y) <= b(x, y) & c(x, y)

with each body atom in either direction. AMIE refines rules one by one. Here all bodies of a head are counted at once;
then the pairs of each body with enough support are counted, for all its heads, as a product of sparse matrices.

Two features go beyond AMIE. If the head is irreflexive in the facts (no fact r(x, x)) and the body holds for some
x = y, the rule gets the condition x != y, and its figures exclude those pairs (object identity, in rule mining). The
contradiction confidence is for graphs in which facts are missing at random (see MinedRule).
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

# ---- The support of rules: for each head, how often each body holds at stated pairs of the head.
#
# A body is counted only at the stated pairs of the head, so that a chain through a hub, which joins millions of pairs,
# costs no more than the paths between stated pairs.

STEPS = 1 << 20  # steps per piece of a search, which bounds its memory to a few hundred megabytes
PATHS = 1 << 24  # paths per piece of a matrix product, for the same reason


@dataclass(frozen=True)
class Bodies:
    """Bodies of one head, as (n,) arrays.

    :ivar chain: whether the bodies are b(x, z) & c(z, y); otherwise both atoms are between x and y.
    :ivar first, second: the oriented relations of the atoms, equal for a body of one atom.
    :ivar support: number of pairs for which body and head hold.
    :ivar alone: the higher confidence of the two atoms alone; 0 for chains and single atoms.
    """

    chain: bool
    first: np.ndarray
    second: np.ndarray
    support: np.ndarray
    alone: np.ndarray


class StatedPairs:
    """The facts of N entities and R relations as pairs (x, y), keys x * N + y, with the relations of each pair.

    Pairs are stored in both directions: the oriented relation i < R is r_i(x, y), and R + i is r_i(y, x). P is the
    number of distinct pairs.

    :ivar sizes: (2R,) int64, number of facts of each oriented relation.
    :ivar irreflexive: (2R,) bool, True for a relation without facts r(x, x). Pairs x = y count neither for nor against
        a rule with such a head.
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
        self._starts = np.searchsorted(self._keys, np.arange(entities + 1) * entities)  # first pair of each x
        turned = (self._oriented.indices + relations) % (2 * relations)
        # A path x -> z -> y has the code first * 2R + second. _near has the terms of steps from the end where the
        # search begins, _far of steps from the other end; the second halves are for searches that begin at y.
        ahead, back = self._oriented.indices * np.int64(2 * relations), turned.astype(np.int64)
        self._near, self._far = np.concatenate([ahead, back]), np.concatenate([back, ahead])

    def pairs(self, oriented: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the x and y of an oriented relation, sorted by (x, y)."""
        return np.divmod(self._keys[self._places(oriented)], self.entities)

    def _places(self, oriented: int) -> np.ndarray:
        return self._by_relation.indices[slice(*self._by_relation.indptr[oriented : oriented + 2])]

    def shared(self, oriented: int) -> np.ndarray:
        """Count the pairs that a relation shares with each oriented relation, (2R,) int64."""
        return self._oriented[self._places(oriented)].sum(axis=0)

    def contradicted(self, disjoint: Any) -> Any:
        """Return (P, R) sparse int64: 1 if a pair has a relation that is disjoint with relation r.

        :param disjoint: (R, 2R) sparse int64, 0/1, of `disjoint_relations`.
        """
        found = sparse.coo_array(self._oriented @ disjoint.T)
        pairs, relations = found.coords
        kept = ~(self._equal[pairs] & self.irreflexive[relations])
        ones = np.ones(int(kept.sum()), dtype=np.int64)
        return sparse.csr_array((ones, (pairs[kept], relations[kept])), shape=found.shape)

    def closed(self, first: int) -> Any:
        """Return (N, 2R) sparse: nonzero if first(x, z) and c(x, z) for some z. The chain of `first` and the reverse of
        c then holds for x = y."""
        places = self._places(first)  # sorted by x, so that the pairs of each x are consecutive
        of_pair = self._oriented[places]
        starts = of_pair.indptr[np.searchsorted(places, self._starts)]
        shape = (self.entities, 2 * self.relations)
        of_x = sparse.csr_array((of_pair.data, of_pair.indices, starts), shape=shape)
        of_x.sum_duplicates()
        return of_x.tocsc()

    def reflexive(self, first: int, second: int) -> np.ndarray:
        """Return the sorted x for which both relations have a fact (x, x)."""
        if not self._loops[first] or not self._loops[second]:  # true for nearly all relations
            return np.empty(0, dtype=np.int64)
        found = (self._reflexive[:, [first, second]].toarray() == 1).all(axis=1)
        return self._keys[self._equal][found] % self.entities

    def between(self, head: int) -> Bodies:
        """Count the bodies of one and two atoms between x and y, without the head itself."""
        both = sparse.coo_array(self.together(self._places(head)))
        first, second = both.coords
        # Compute the confidence of a single atom over the pairs that count for this head.
        sizes = self.sizes - self._loops if self.irreflexive[head] else self.sizes
        alone = both.tocsr().diagonal() / np.maximum(sizes, 1)
        kept = (first <= second) & (first != head) & (second != head)
        first, second = first[kept], second[kept]
        best = np.where(first == second, 0.0, np.maximum(alone[first], alone[second]))
        return Bodies(False, first, second, both.data[kept], best)

    def together(self, places: np.ndarray) -> Any:
        """Count how many of these pairs have both relations, (2R, 2R) sparse int64."""
        of_pair = self._oriented[places]
        return of_pair.T @ of_pair

    def chains(self, head: int) -> Bodies:
        """Count the bodies b(x, z) & c(z, y)."""
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
        """Yield the chains that hold at some pairs, in pieces: the places of n pairs, and sorted distinct codes
        i * (2R)^2 + first * 2R + second of the chains at the i-th pair.

        The search for z starts from the end with fewer neighbours.
        """
        many, starts, half = 2 * self.relations, self._starts, self._oriented.nnz
        neighbours, relations = np.diff(starts), np.diff(self._oriented.indptr)
        x, y = np.divmod(self._keys[places], self.entities)
        turned = neighbours[x] > neighbours[y]
        near, far = np.where(turned, y, x), np.where(turned, x, y)
        order = np.argsort(far, kind="stable")  # consecutive searches are then close in memory
        near, far, turned = near[order], far[order], turned[order]
        for part in pieces(neighbours[near], STEPS):
            rows, steps = ranges(starts[near[part]], neighbours[near[part]])
            asked = far[part][rows] * self.entities + self._keys[steps] % self.entities
            others = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
            met = np.flatnonzero(self._keys[others] == asked)
            rows, steps, others = rows[met], steps[met], others[met]
            # Combine each relation between x and z with each relation between z and y.
            other_way = turned[part][rows] * half
            paths = relations[steps] * relations[others]
            for each in pieces(np.bincount(rows, paths, part.stop - part.start), STEPS):
                of = slice(*np.searchsorted(rows, [each.start, each.stop]))
                path, entry = ranges(self._oriented.indptr[steps[of]] + other_way[of], relations[steps[of]])
                codes = self._near[entry] + rows[of][path] * many**2
                to = self._oriented.indptr[others[of]] + other_way[of]
                path, entry = ranges(to[path], relations[others[of]][path])
                codes = np.sort(codes[path] + self._far[entry])  # pair and body, repeated for each z
                yield places[order[part]], codes[np.diff(codes, prepend=-1) > 0]


# ---- The search


@dataclass(frozen=True)
class MinedRule:
    """A rule with its figures (sections 3.3 and 4 of the paper). A pair (x, y) counts once, for any number of z.

    The contradiction confidence is the precision p / (p + n) of rule learning (Fuernkranz and Flach, "ROC 'n' rule
    learning", Machine Learning 2005). The negative examples n are pairs with a relation that is disjoint with the
    head's. Pairs with neither relation are unknown and do not count, so that the measure does not fall if facts of both
    relations are missing equally often. Without a disjoint relation it equals the PCA confidence.

    :ivar rule: the rule. Its confidence is the contradiction confidence if mining had a threshold for it, else the PCA
        confidence if mining had a threshold for that, else the confidence.
    :ivar support: number of pairs for which body and head hold.
    :ivar body_size: number of pairs for which the body holds.
    :ivar head_coverage: support / number of facts of the head's relation.
    :ivar confidence: support / body_size, which counts unstated facts as false.
    :ivar pca_confidence: support / number of body pairs whose x has a fact of the head's relation (partial
        completeness assumption); whose y has a fact, if the relation has more distinct y than x.
    :ivar contradiction_confidence: support / (support + contradictions).
    :ivar contradictions: number of body pairs that have a relation of `contradicted_by`.
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
        """Return the figures by name, as JSON values: numbers, and the atoms that contradict the head as texts."""
        figures = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "rule"}
        return {**figures, "contradicted_by": [str(atom) for atom in self.contradicted_by]}


@checked
def write_mined(
    path: str | PathLike[str], mined: Sequence[MinedRule], facts: tuple[Vocabulary, np.ndarray] | None = None
) -> None:
    """Write mined rules with their figures to a JSON file for `read_rules`. The file appears when it is complete.

    :param facts: the facts from which they were mined. The file stores an 8-byte hash of each, to count leaks.
    """
    rules = [
        {**rule_to_json(each.rule), "confidence": each.rule.confidence, "figures": each.figures()} for each in mined
    ]
    content: dict[str, Any] = {"rules": rules}
    if facts is not None:
        content[MINED_FROM] = base64.b64encode(marks_of(*facts).astype("<u8").tobytes()).decode()
    write_sealed(Path(path), content)


def mined_from(path: str | PathLike[str]) -> np.ndarray | None:
    """Read the marks of the facts from which a file's rules were mined, (n,) uint64 (see kg/facts.py), None if absent.

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
    """Mine the rules that reach all thresholds, sorted by descending confidence and support, then by text.

    In a graph with many missing facts, true rules have a low `confidence`. To select by contradictions alone, set
    `min_confidence` to 0 and `min_contradiction_confidence` above 0.

    A body of two atoms between x and y must have a higher confidence than either atom alone (section 4.1).

    :param facts: a KnowledgeGraph, in which `graph` selects a named graph (None: all), or the result of its `arrays`.
    :param progress: called with the number of steps done and the total number of steps.
    :param literals: also use the facts of a KnowledgeGraph with literals. Otherwise they are left out, as facts with
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


# A body with enough support for a head; `turned` means that x and y are exchanged. The code of the body is
# (first * 2 + chain) * 2R + second; for the other fields see Bodies.
_CANDIDATE = np.dtype(
    [("code", "i8"), ("turned", "?"), ("head", "i8"), ("support", "i8"), ("alone", "f8"), ("contradictions", "i8")]
)


class _Mining:
    """The search for rules: matrices of a graph of N entities and R relations, one for each oriented relation."""

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray, thresholds: _Thresholds) -> None:
        self.entities, self.labels = len(vocabulary.entities), vocabulary.relations
        self.relations, self.thresholds = len(self.labels), thresholds
        self.stated = StatedPairs(self.entities, self.relations, ids)
        self._matrices = [self._matrix(oriented) for oriented in range(2 * self.relations)]
        self._atoms: dict[tuple[int, str, str], Atom] = {}
        # For the PCA confidence of each head: whether the side is y (else x), and its entities with facts of the head.
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
        """Yield the rules that reach the thresholds, in any order."""
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
        """Select bodies with enough support. Code a chain by the smaller code of itself and its reverse."""
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
        """Yield the rules among the candidates of one body.

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
            # The factor prevents rounding from favouring a longer body with equal confidence.
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
        """Return an oriented relation as an atom. Equal atoms share one object, because there may be very many."""
        if (oriented, a, b) not in self._atoms:
            turned, relation = divmod(oriented, self.relations)
            self._atoms[oriented, a, b] = Atom(self.labels[relation], *((b, a) if turned else (a, b)))
        return self._atoms[oriented, a, b]

    def _counts(
        self, chain: bool, first: int, second: int, support: int, loops: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Count the pairs of a body by x and by y, (N,) each. Return None if no rule with this support can reach the
        minimum confidence, even without the `loops` pairs x = y."""
        left, right = self._matrices[first], self._matrices[second]
        if not chain:
            both = left if first == second else left.multiply(right)
            return np.diff(both.indptr), np.bincount(both.indices, minlength=self.entities)
        leaving = np.diff(right.indptr)
        arriving = np.diff(self._matrices[self._reverse(first)].indptr).astype(np.int64)
        through = arriving * leaving
        z = int(through.argmax())  # paths through a single z join distinct pairs, some with x = y
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


# ---- Disjoint relations, and how often a body holds at pairs where they contradict a rule's head.
#
# Two relations are disjoint if no pair (x, y) has both (OWL 2's DisjointObjectProperties; a relation that is disjoint
# with its inverse is an AsymmetricObjectProperty). Fleischhacker, Voelker and Stuckenschmidt, "Mining RDF data for
# property axioms", OTM 2012, mine such axioms from facts. The criterion here is ours:
#
#     r and s are disjoint if no pair is stated in both, although at least EXPECTED pairs would be by chance.
#
# If r and s are independent among n pairs, |r| * |s| / n pairs are expected in both. Counted are the n pairs of
# different entities for which x is a subject and y an object of both relations, and which are connected by two facts of
# r or s, in any direction. Pairs must be connected because facts come in clusters (one table, one family): entities of
# different clusters have neither relation, and with such pairs n would be so large that hardly any pair is expected in
# both. A single connecting fact is not enough, because it is itself a fact of r or s.
#
# A single pair in both refutes disjointness, so one wrong fact can hide it.

# A Poisson variable with this mean is 0 with a probability of 1 in 22,000; of 1 in 150 if each pair counts in both
# directions (symmetric relations, a relation and its inverse).
EXPECTED = 10


def disjoint_relations(stated: StatedPairs, matrices: Sequence[Any]) -> Any:
    """Return (R, 2R) sparse int64: 1 if a relation and an oriented relation are disjoint.

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
        mirrored = (j, i) if j < half else (j - half, i + half)  # the same two relations in the other order
        second = shared.get(mirrored, 0)
        # Without a pair in both, n is at least |r| + |s|: most relations need no matrix product.
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
    """Return (N, 2R) sparse int64: 1 if an entity is a subject of the oriented relation."""
    of_each = [np.flatnonzero(np.diff(each.indptr)) for each in matrices]
    columns = np.repeat(np.arange(len(matrices)), [len(each) for each in of_each])
    ones = np.ones(len(columns), dtype=np.int64)
    return sparse.csr_array((ones, (np.concatenate(of_each), columns)), shape=(entities, len(matrices)))


def _would_overlap(near: Any, first: Any, second: Any, starts: np.ndarray, ends: np.ndarray, most: int) -> bool:
    """Return whether at least EXPECTED pairs of a start and an end would be in both relations by chance.

    :param near: (N, N) sparse bool, the pairs connected by a fact of either relation, in either direction.
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
    """The pairs that contradict each relation r, because they have a relation disjoint with r, with counts of the
    bodies that hold at these pairs. A pair x = y does not contradict an irreflexive relation."""

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
        """Count the contradicting pairs of n bodies, (n,) int64; `chain`, `first` and `second` as in Bodies."""
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
