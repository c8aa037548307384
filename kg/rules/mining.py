"""Horn rules that a graph mostly obeys, with their figures: AMIE's language and measures.

Galarraga, Teflioudi, Hose and Suchanek, "AMIE: association rule mining under incomplete evidence in ontological
knowledge bases", WWW 2013. Found are all closed rules with one or two atoms in the body:

    r(x, y) <= b(x, y)                  r(x, y) <= b(x, z) & c(z, y)            r(x, y) <= b(x, y) & c(x, y)

with each body atom in either direction. AMIE refines rules one by one. Here `supports` counts all bodies of a head at
once; then the pairs of each body with enough support are counted, for all its heads, as a product of sparse matrices.

Two things are not AMIE's. A rule whose head is irreflexive in the facts (no fact r(x, x)) and whose body holds for some
x = y gets the condition x != y, and its figures leave those pairs out; rule miners know this as object identity. And
beside AMIE's figures there is a confidence that counts contradictions, for graphs of which facts are missing at random
("contradiction confidence" below, `disjoint`).
"""

import base64
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gumption.data import InputError
from gumption.data.settings import Count, Share, checked
from gumption.data.writing import write_json
from gumption.kg.facts import marks_of, to_ids
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Vocabulary

from .fixpoint import distinct, pieces, ranges
from .horn import MINED_FROM, Atom, Rule, read_rule_file, rule_to_json

# ---- For each head, the bodies that hold where the head is stated, and how often: the supports of AMIE's rules.
#
# A body is counted only at the pairs that the head states. So a chain through a hub, which joins millions of pairs,
# costs no more than the paths between those that are stated.

STEPS = 1 << 20  # of one piece of a search: bounds its memory to some hundred megabytes


@dataclass(frozen=True)
class Bodies:
    """Bodies of one head, as (n,) arrays.

    :ivar first, second: the oriented relations of the atoms; both the same for a body of one atom between x and y.
    :ivar support: pairs for which the body and the head hold.
    :ivar alone: the higher confidence that either atom has by itself, where both are between x and y; else 0.
    """

    chain: bool
    first: np.ndarray
    second: np.ndarray
    support: np.ndarray
    alone: np.ndarray


class StatedPairs:
    """The facts of N entities and R relations as pairs (x, y), keys x * N + y, with the relations of each.

    A pair is kept in both directions: the oriented relation i < R is r_i(x, y), and R + i is r_i(y, x). P is the number
    of distinct pairs.

    :ivar sizes: (2R,) int64: the facts of each oriented relation.
    :ivar irreflexive: (2R,) bool: the oriented relations without a fact r(x, x). A pair x = y counts neither for nor
        against a rule with such a head: an entity and itself are not among the pairs that the relation is about.
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
        # What a step x -> z of a path and a step y -> z add to first * 2R + second, where the path goes x -> z -> y;
        # in the second half, where it goes the other way.
        ahead, back = self._oriented.indices * np.int64(2 * relations), turned.astype(np.int64)
        self._near, self._far = np.concatenate([ahead, back]), np.concatenate([back, ahead])

    def pairs(self, oriented: int) -> tuple[np.ndarray, np.ndarray]:
        """The x and the y of an oriented relation, sorted."""
        return np.divmod(self._keys[self._places(oriented)], self.entities)

    def _places(self, oriented: int) -> np.ndarray:
        return self._by_relation.indices[slice(*self._by_relation.indptr[oriented : oriented + 2])]

    def shared(self, oriented: int) -> np.ndarray:
        """(2R,) int64: how many pairs of a relation each oriented relation has, too."""
        return self._oriented[self._places(oriented)].sum(axis=0)

    def contradicted(self, disjoint: Any) -> Any:
        """(P, R) sparse int64: 1 where a pair has a relation that is disjoint with r.

        :param disjoint: (R, 2R) sparse int64, 0/1: the oriented relations that no pair of r has.
        """
        found = sparse.coo_array(self._oriented @ disjoint.T)
        pairs, relations = found.coords
        kept = ~(self._equal[pairs] & self.irreflexive[relations])
        ones = np.ones(int(kept.sum()), dtype=np.int64)
        return sparse.csr_array((ones, (pairs[kept], relations[kept])), shape=found.shape)

    def closed(self, first: int) -> Any:
        """(N, 2R) sparse: which x have, for some z, first(x, z) and each oriented relation (x, z).

        So column c tells where the chain of `first` and the reverse of c holds for x = y.
        """
        places = self._places(first)  # sorted by x, so that the relations of each x lie together
        of_pair = self._oriented[places]
        starts = of_pair.indptr[np.searchsorted(places, self._starts)]
        shape = (self.entities, 2 * self.relations)
        of_x = sparse.csr_array((of_pair.data, of_pair.indices, starts), shape=shape)
        of_x.sum_duplicates()
        return of_x.tocsc()

    def reflexive(self, first: int, second: int) -> np.ndarray:
        """The x for which both relations state (x, x), sorted."""
        if not self._loops[first] or not self._loops[second]:  # saves the look-up for nearly all relations
            return np.empty(0, dtype=np.int64)
        found = (self._reflexive[:, [first, second]].toarray() == 1).all(axis=1)
        return self._keys[self._equal][found] % self.entities

    def between(self, head: int) -> Bodies:
        """The bodies of one and two atoms between x and y, without the head itself."""
        both = sparse.coo_array(self.together(self._places(head)))
        first, second = both.coords
        # The confidence of an atom is taken over the pairs that count for this head.
        sizes = self.sizes - self._loops if self.irreflexive[head] else self.sizes
        alone = both.tocsr().diagonal() / np.maximum(sizes, 1)
        kept = (first <= second) & (first != head) & (second != head)
        first, second = first[kept], second[kept]
        best = np.where(first == second, 0.0, np.maximum(alone[first], alone[second]))
        return Bodies(False, first, second, both.data[kept], best)

    def together(self, places: np.ndarray) -> Any:
        """(2R, 2R) sparse int64: how many of these pairs have both relations."""
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
        """Which chains hold at some pairs, in pieces: the places of n pairs, and codes i * (2R)^2 + first * 2R + second
        of a chain at the i-th of them, sorted and distinct.

        Each z is found among the neighbours of the end that has fewer of them.
        """
        many, starts, half = 2 * self.relations, self._starts, self._oriented.nnz
        neighbours, relations = np.diff(starts), np.diff(self._oriented.indptr)
        x, y = np.divmod(self._keys[places], self.entities)
        turned = neighbours[x] > neighbours[y]
        near, far = np.where(turned, y, x), np.where(turned, x, y)
        order = np.argsort(far, kind="stable")  # then what is looked for next to each other lies next to each other
        near, far, turned = near[order], far[order], turned[order]
        for part in pieces(neighbours[near], STEPS):
            rows, steps = ranges(starts[near[part]], neighbours[near[part]])
            asked = far[part][rows] * self.entities + self._keys[steps] % self.entities
            others = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
            met = np.flatnonzero(self._keys[others] == asked)
            rows, steps, others = rows[met], steps[met], others[met]
            # All pairs of a relation of the step from the near end and one of the step from the far end.
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

PATHS = 1 << 24  # of one piece of a product: bounds its memory to some hundred megabytes


@dataclass(frozen=True)
class MinedRule:
    """A rule with its figures (section 3.3 and 4 of the paper). A pair (x, y) counts once, whatever z is.

    The contradiction confidence is the precision p / (p + n) of rule learning (Fuernkranz and Flach, "ROC 'n' rule
    learning", Machine Learning 2005), whose negative examples n are stated here by disjoint relations. A pair of which
    neither the head's relation nor a disjoint one is stated is unknown and counts neither way. So facts missing at
    random, of disjoint relations as often as of the head's, do not lower the figure. Where no relation is disjoint with
    the head's, no pair can contradict it, and the figure is the PCA confidence, which also counts only pairs of which
    something is known.

    :ivar support: pairs for which the body and the head hold.
    :ivar body_size: pairs for which the body holds.
    :ivar head_coverage: support / facts of the head's relation.
    :ivar confidence: support / body_size: what is not stated counts as false.
    :ivar pca_confidence: support / pairs of the body of which the head's relation states anything (the partial
        completeness assumption): of x, or of y where the relation has more distinct y than x for its facts.
    :ivar contradiction_confidence: support / (support + contradictions); pca_confidence where `contradicted_by` is
        empty.
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
        return {
            "support": self.support,
            "body_size": self.body_size,
            "head_coverage": self.head_coverage,
            "confidence": self.confidence,
            "pca_confidence": self.pca_confidence,
            "contradiction_confidence": self.contradiction_confidence,
            "contradictions": self.contradictions,
            "contradicted_by": [str(atom) for atom in self.contradicted_by],
        }

    def to_json(self) -> dict[str, Any]:
        """An entry of a file of rules, with the figures beside it."""
        return {**rule_to_json(self.rule), "figures": self.figures()}


@checked
def write_mined(
    path: str | PathLike[str], mined: Sequence[MinedRule], facts: tuple[Vocabulary, np.ndarray] | None = None
) -> None:
    """Write mined rules to a JSON file that `read_rules` understands; it appears when it is complete.

    :param facts: what they were mined from. The file keeps 8 bytes of each, so that it can be said whether they are
        those of a test.
    """
    told: dict[str, Any] = {"rules": [each.to_json() for each in mined]}
    if facts is not None:
        told[MINED_FROM] = base64.b64encode(marks_of(*facts).astype("<u8").tobytes()).decode()
    write_json(Path(path), told)


def mined_from(path: str | PathLike[str]) -> np.ndarray | None:
    """(n,) uint64, marks of the facts that a file's rules were mined from (see facts.py); None where it does
    not say.

    :raises InputError: a file that is not one of rules, or damaged.
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
) -> list[MinedRule]:
    """The rules that reach all thresholds, by falling confidence, then support, then text.

    In a graph of which many facts are missing true rules have a low `confidence`. To select by contradictions alone,
    set `min_confidence` to 0 and `min_contradiction_confidence` to what a rule has to reach.

    A body of two atoms between x and y is left out unless its confidence is above that of either atom alone (section
    4.1: a longer rule has to say more than a shorter one).

    :param facts: a graph, of which `graph` names the part (None: the union), or what its `arrays` gives.
    :param progress: called with how many steps are done, and of how many.
    :raises InputError: no facts; a threshold out of its range; an unknown graph.
    """
    vocabulary, ids = facts.arrays(graph) if isinstance(facts, KnowledgeGraph) else (facts[0], to_ids(facts[0], facts))
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


# A body with enough support for a head, in which x and y change places where `turned`. The code of the body is
# (first * 2 + chain) * 2R + second; the other names are those of Bodies.
_CANDIDATE = np.dtype(
    [("code", "i8"), ("turned", "?"), ("head", "i8"), ("support", "i8"), ("alone", "f8"), ("contradictions", "i8")]
)


class _Mining:
    """The matrices of a graph of N entities and R relations, one for each direction, and the rules that it obeys."""

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray, thresholds: _Thresholds) -> None:
        self.entities, self.labels = len(vocabulary.entities), vocabulary.relations
        self.relations, self.thresholds = len(self.labels), thresholds
        self.stated = StatedPairs(self.entities, self.relations, ids)
        self._matrices = [self._matrix(oriented) for oriented in range(2 * self.relations)]
        self._atoms: dict[tuple[int, str, str], Atom] = {}
        self._anchors = [self._anchor(head) for head in range(self.relations)]
        disjoint = disjoint_relations(self.stated, self._matrices)
        self._contradictions = Contradictions(self.stated, disjoint)
        self._contradicted_by = [
            tuple(self._atom(each, "x", "y") for each in sorted(disjoint.indices[start:end].tolist()))
            for start, end in itertools.pairwise(disjoint.indptr.tolist())
        ]

    def _matrix(self, oriented: int) -> Any:
        """(N, N) bool: the pairs of an oriented relation."""
        rows, columns = self.stated.pairs(oriented)
        starts = np.searchsorted(rows, np.arange(self.entities + 1))
        shape = (self.entities, self.entities)
        return sparse.csr_array((np.ones(len(rows), dtype=bool), columns, starts), shape=shape)

    def _anchor(self, head: int) -> tuple[bool, np.ndarray]:
        """Whether y is the side of which a relation has to state something, and the entities of which it does."""
        subjects, objects = (
            np.flatnonzero(np.diff(self._matrices[each].indptr)) for each in (head, self._reverse(head))
        )
        return (True, objects) if len(objects) > len(subjects) else (False, subjects)

    def _reverse(self, oriented: Any) -> Any:
        return (oriented + self.relations) % (2 * self.relations)

    def rules(self, progress: Callable[[int, int], None]) -> Iterator[MinedRule]:
        """The rules that reach the thresholds, in no order that matters."""
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
        """The bodies with enough support. A chain has the code of its reverse, c(y, z) & b(z, x), if that is less."""
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

        :param closed: of the body's first relation, as `StatedPairs.closed` gives it.
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
            # By 1e-12 rounding cannot keep a longer body with no more confidence than a shorter one.
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
                yield MinedRule(
                    rule=self._rule(head, bool(chain), *self._turned(first, second, turned), len(left_out) > 0),
                    support=support,
                    body_size=size,
                    head_coverage=support / int(self.stated.sizes[head]),
                    confidence=confidence,
                    pca_confidence=pca_confidence,
                    contradiction_confidence=contradiction_confidence,
                    contradictions=contradictions,
                    contradicted_by=by,
                )

    def _turned(self, first: int, second: int, turned: bool) -> tuple[int, int]:
        return (self._reverse(second), self._reverse(first)) if turned else (first, second)

    def _rule(self, head: int, chain: bool, first: int, second: int, distinct: bool) -> Rule:
        if chain:
            body = (self._atom(first, "x", "z"), self._atom(second, "z", "y"))
        else:
            body = tuple(self._atom(each, "x", "y") for each in dict.fromkeys((first, second)))
        return Rule(self._atom(head, "x", "y"), body, distinct=distinct)

    def _atom(self, oriented: int, a: str, b: str) -> Atom:
        """An oriented relation with its variables: one object for all rules, of which there may be very many."""
        if (oriented, a, b) not in self._atoms:
            turned, relation = divmod(oriented, self.relations)
            self._atoms[oriented, a, b] = Atom(self.labels[relation], *((b, a) if turned else (a, b)))
        return self._atoms[oriented, a, b]

    def _counts(
        self, chain: bool, first: int, second: int, support: int, loops: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The pairs of a body with each entity as x, and as y. None if they are too many for rules of that support,
        also without the x = y.

        :param loops: for how many x = y the body holds.
        """
        left, right = self._matrices[first], self._matrices[second]
        if not chain:
            both = left if first == second else left.multiply(right)
            return np.diff(both.indptr), np.bincount(both.indices, minlength=self.entities)
        leaving = np.diff(right.indptr)
        arriving = np.diff(self._matrices[self._reverse(first)].indptr).astype(np.int64)
        through = arriving * leaving
        z = int(through.argmax())  # the paths through one z join different pairs
        if support / max(through[z] - min(arriving[z], leaving[z]), 1) < self.thresholds.confidence:  # without x = y
            return None
        starts, ends = np.zeros(self.entities, dtype=np.int64), np.zeros(self.entities, dtype=np.int64)
        for rows in pieces(left @ leaving, PATHS):
            product = left[rows] @ right
            starts[rows] = np.diff(product.indptr)
            ends += np.bincount(product.indices, minlength=self.entities)
            if support / max(ends.sum() - loops, 1) < self.thresholds.confidence:
                return None
        return starts, ends


# ---- Disjoint relations, found from the facts, and how often a body holds where they contradict a rule's head.
#
# Two relations are disjoint if no pair (x, y) has both (OWL 2's DisjointObjectProperties; a relation that is disjoint
# with its own inverse is an AsymmetricObjectProperty). Fleischhacker, Voelker and Stuckenschmidt, "Mining RDF data for
# property axioms", OTM 2012, find such axioms in facts. The criterion here is ours:
#
#     r and s are disjoint if no pair is stated in both, although at least EXPECTED pairs would be by chance.
#
# Chance is what the facts give if r and s are independent among n pairs: |r| * |s| / n are expected in both. The n
# pairs
# are those of different entities x and y for which x is a subject and y an object of both relations, and which two
# facts
# of r or s, in any direction, connect. They have to be connected because facts come in patches (one table, one family):
# two entities of different patches have neither relation, and if such pairs counted, n would be so large that hardly
# any
# pair is expected in both. One fact would not do as a connection, since it is itself a fact of r or s.
#
# One pair in both is enough for two relations not to be disjoint, so a single wrong fact can hide that they are.


# Pairs in both by chance. Of a Poisson distribution with this mean one draw in 22,000 is 0; where each pair counts in
# both directions (symmetric relations, a relation and its inverse) it is one in 150.
EXPECTED = 10


def disjoint_relations(stated: StatedPairs, matrices: Sequence[Any]) -> Any:
    """(R, 2R) sparse int64, 0/1: which oriented relations no pair of a relation has.

    :param matrices: 2R sparse (N, N) bool arrays: the pairs of each oriented relation.
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
    """(N, 2R) sparse int64, 0/1: which entities are subjects of each oriented relation."""
    of_each = [np.flatnonzero(np.diff(each.indptr)) for each in matrices]
    columns = np.repeat(np.arange(len(matrices)), [len(each) for each in of_each])
    ones = np.ones(len(columns), dtype=np.int64)
    return sparse.csr_array((ones, (np.concatenate(of_each), columns)), shape=(entities, len(matrices)))


def _would_overlap(near: Any, first: Any, second: Any, starts: np.ndarray, ends: np.ndarray, most: int) -> bool:
    """Whether at least EXPECTED pairs of a start and an end would be in both relations by chance.

    :param near: (N, N) sparse bool: the pairs that one fact connects, in both directions.
    :param most: no less than the product of the facts of both relations.
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
    """The pairs that contradict each relation, and how often bodies hold at them.

    A pair contradicts r if it has a relation that is disjoint with r; x = y contradicts no irreflexive relation.
    """

    def __init__(self, stated: StatedPairs, disjoint: Any) -> None:
        """:param disjoint: (R, 2R) sparse int64, 0/1, of `disjoint_relations`."""
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
        """(n,) int64: the pairs of n bodies that contradict the head; `first` and `second` as in Bodies."""
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
