"""Mined rules as a predictor: how much likelier a fact is where the body of a rule holds."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from gumption.kg.vocabulary import Vocabulary

from .horn import Atom
from .mining import MinedRule


def rule_scores(
    rules: Sequence[MinedRule], facts: tuple[Vocabulary, np.ndarray], relation: str, size: int
) -> sparse.csr_array:
    """(N, N) float32, subject in the row: the log of how much likelier a fact of the relation is where the most
    confident rule for it holds than of any two entities; 0 where no rule holds, or it makes the fact less likely.

    :param rules: of one or two atoms; those with another head are left out.
    :param facts: a vocabulary and (n, 3) int64 ids, in which bodies are looked up.
    :param size: N, the first entities of the vocabulary, which are scored.
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
        score.data[:] = lift  # facts and chains are counted, so that each entry is above 0
        if rule.distinct:
            score = sparse.csr_array(score - sparse.diags_array(score.diagonal()))
        best = sparse.csr_array(best.maximum(score))
    best.eliminate_zeros()
    return best


def _matrix(atom: Atom, row: str, column: str, vocabulary: Vocabulary, ids: np.ndarray, many: int) -> sparse.csr_array:
    """(M, M): the facts of an atom's relation, with one of its variables in the rows and the other in the columns."""
    facts = ids[ids[:, 1] == vocabulary.relation_id(atom.relation)]
    subjects, objects = facts[:, 0], facts[:, 2]
    if (atom.subject, atom.object) != (row, column):
        subjects, objects = objects, subjects
    return sparse.csr_array((np.ones(len(facts), dtype=np.float32), (subjects, objects)), (many, many))
