"""Rules as link predictors: score a fact by the confidence of its best proof, or by the lift of the best mined rule
whose body holds."""

from collections.abc import Iterable, Sequence
from itertools import compress
from os import PathLike

import numpy as np
import torch
from scipy import sparse

from gumption.data import InputError
from gumption.kg.facts import is_literal, is_triple_term, label_numbers, marks
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.vocabulary import Triple, Vocabulary

from .horn import Atom, Rule, check_relations, read_rules
from .inference import Closure, Explanation
from .mining import MinedRule, mined_from


class RulePredictor(LinkPredictor):
    """Score a fact by the confidence of its best proof (see fixpoint.py): 1 if it is stated, 0 if it does not follow.
    Facts of equal confidence are ties. A fact below LEAST is ranked too, but not used in other proofs.

    :param facts: the graph to which the rules are applied; its entities are the candidates.
    """

    score_bytes = 8

    def __init__(self, rules: Sequence[Rule], facts: KnowledgeGraph) -> None:
        check_relations(rules, facts.arrays()[0].relations)
        self._closure = Closure(facts, list(facts.graphs()), rules)
        content, found = self._closure.content, self._closure.entailed
        self.vocabulary, self.device = content.vocabulary, torch.device("cpu")
        size, relations = content.size, len(self.vocabulary.relations)
        subjects, kinds, objects = np.concatenate([content.stated, content.rows(found.keys)]).T
        confidences = np.concatenate([np.ones(len(content.stated)), found.confidences]).astype(np.float32)
        self._objects, self._subjects = (
            sparse.csr_array((confidences, (kinds * size + given, answers)), (relations * size, size))
            for given, answers in ((subjects, objects), (objects, subjects))
        )

    @classmethod
    def load(cls, path: str | PathLike[str], facts: Iterable[Triple]) -> "RulePredictor":
        """Read the rules of a file. Mined rules are applied to the facts from which they were mined, rules written by
        hand to all facts between entities.

        :raises InputError: as `read_rules`; no such facts.
        """
        rules, trained_on, graph, facts = read_rules(path), mined_from(path), KnowledgeGraph(), list(facts)
        if trained_on is None:
            facts = [fact for fact in facts if not is_literal(fact[2]) and not is_triple_term(fact[2])]
        elif facts:
            facts = list(compress(facts, np.isin(marks(*map(label_numbers, zip(*facts, strict=True))), trained_on)))
        if not facts:
            which = "known facts" if trained_on is None else "the facts that they were mined from"
            raise InputError(
                f"{path}: the rules are applied to {which}, and there are none: give them (--graph to predict, --known "
                "to evaluate)"
            )
        graph.add(facts, graph="stated")
        made = cls(rules, graph)
        made.trained_on = trained_on
        return made

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self._rows(self._objects, relations, subjects)

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self._rows(self._subjects, relations, objects)

    def proof(self, fact: Triple) -> Explanation:
        """Return the best proof of a fact; raises InputError for a fact that does not follow."""
        return self._closure.explain(fact)

    def _rows(self, confidences: sparse.csr_array, relations: torch.Tensor, entities: torch.Tensor) -> torch.Tensor:
        rows = relations.numpy() * len(self.vocabulary.entities) + entities.numpy()
        return torch.from_numpy(confidences[rows].toarray())


def rule_scores(
    rules: Sequence[MinedRule], facts: tuple[Vocabulary, np.ndarray], relation: str, size: int
) -> sparse.csr_array:
    """Score pairs by the log lift of the most confident rule whose body holds: (N, N) float32, subjects in the rows.
    Lift is the rule's confidence divided by the share of pairs with the relation; 0 if no rule has a lift above 1.

    :param rules: with one or two atoms in the body; rules with another head are left out.
    :param facts: a vocabulary and (n, 3) int64 ids, against which bodies are matched.
    :param size: N; the first N entities of the vocabulary are scored.
    """
    vocabulary, ids = facts
    many = len(vocabulary.entities)
    stated = ids[ids[:, 1] == vocabulary.relation_id(relation)]
    chance = max(int((stated[:, [0, 2]] < size).all(1).sum()), 1) / size**2
    best = sparse.csr_array((size, size), dtype=np.float32)
    for mined in rules:
        rule, lift = mined.rule, np.log(max(mined.confidence, 1e-12) / chance)
        if rule.head.relation != relation or lift <= 0:
            continue
        x, y = rule.head.variables
        holds = None
        if len(rule.body) == 1 or set(rule.body[0].variables) == set(rule.body[1].variables):
            for atom in rule.body:
                matrix = _matrix(atom, x, y, vocabulary, ids, many)[:size, :size]
                holds = matrix if holds is None else holds.multiply(matrix)
        else:
            one, other = sorted(rule.body, key=lambda atom: x not in atom.variables)
            [middle] = set(one.variables) - {x}
            near, far = (
                _matrix(one, x, middle, vocabulary, ids, many),
                _matrix(other, middle, y, vocabulary, ids, many),
            )
            holds = near[:size] @ far[:, :size]
        score = sparse.csr_array(holds, dtype=np.float32)
        score.data[:] = lift  # the entries count facts and chains, so each is above 0
        if rule.distinct:
            score = sparse.csr_array(score - sparse.diags_array(score.diagonal()))
        best = sparse.csr_array(best.maximum(score))
    best.eliminate_zeros()
    return best


def _matrix(atom: Atom, row: str, column: str, vocabulary: Vocabulary, ids: np.ndarray, many: int) -> sparse.csr_array:
    """Return an (M, M) matrix of the facts of an atom's relation, with one variable in the rows, one in the columns."""
    facts = ids[ids[:, 1] == vocabulary.relation_id(atom.relation)]
    subjects, objects = facts[:, 0], facts[:, 2]
    if (atom.subject, atom.object) != (row, column):
        subjects, objects = objects, subjects
    return sparse.csr_array((np.ones(len(facts), dtype=np.float32), (subjects, objects)), (many, many))
