"""Why a predictor says so: the known facts that are nearest to a prediction, and what connects its two ends.

Nearness is the predictor's own and is found the same way for every model. Entities are alike as objects of a relation
when the predictor scores them alike over many known questions (s', p, ?), and as subjects over (?, p, o'): with
embeddings that is their likeness seen through the relation. A known fact (s', p, o') is near (s, p, o) when s' is
like s and o' like o.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.settings import Count, checked
from gumption.kg.facts import Facts, distinct, to_ids
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple

from .predictor import LinkPredictor

#: Known questions by which entities are compared.
QUESTIONS = 256


@dataclass(frozen=True)
class Why:
    """
    :ivar nearest: known facts of the same relation with their nearness in [0, 1], nearest first. 1 is a fact that the
        predictor cannot tell from the prediction.
    :ivar paths: known facts that connect subject and object, one or two a path; what few facts are about comes first.
    """

    nearest: list[tuple[Triple, float]]
    paths: list[tuple[Triple, ...]]


@torch.no_grad()
@checked
def why(predictor: LinkPredictor, facts: KnowledgeGraph | Facts, triple: Triple, k: Count = 5) -> Why:
    """The k nearest known facts behind a prediction and the k most telling paths between its ends.

    :param facts: what is known, usually what the predictor was fitted on; facts with labels that it does not know, and
        the prediction itself, are passed over.
    :raises InputError: an unknown label in the triple, no known facts, k below 1.
    """
    vocabulary = predictor.vocabulary
    asked = vocabulary.triples_to_ids([triple])[0]
    if isinstance(facts, KnowledgeGraph):
        facts = facts.triples()
    known = distinct(vocabulary, to_ids(vocabulary, facts, skip=True))
    if not len(known):
        raise InputError("there are no known facts that the predictor has labels of: nothing to explain it by")
    known = known[(known != asked).any(axis=1)]
    return Why(_nearest(predictor, known, asked, k), _paths(predictor, known, asked, k))


def _nearest(predictor: LinkPredictor, known: np.ndarray, asked: np.ndarray, k: int) -> list[tuple[Triple, float]]:
    same = known[known[:, 1] == asked[1]]
    if not len(same):
        return []
    nearness = _likeness(predictor, known, asked, 0)[same[:, 0]] * _likeness(predictor, known, asked, 2)[same[:, 2]]
    best = np.argsort(-nearness, kind="stable")[:k]
    triples = predictor.vocabulary.ids_to_triples(same[best])
    return [(fact, float(near)) for fact, near in zip(triples, nearness[best], strict=True) if near > 0]


def _likeness(predictor: LinkPredictor, known: np.ndarray, asked: np.ndarray, column: int) -> np.ndarray:
    """(N,) in [0, 1], how alike each entity is to that of the asked fact, as subjects (column 0) or objects (2)."""
    anchor = 2 - column
    questions = np.unique(known[:, [1, anchor]], axis=0)
    # Those of the same relation first; the others only where there are few, because a handful tells little apart.
    questions = questions[np.argsort(questions[:, 0] != asked[1], kind="stable")]
    same = int((questions[:, 0] == asked[1]).sum())
    chosen = np.linspace(0, max(same, min(len(questions), QUESTIONS)) - 1, QUESTIONS).round().astype(np.int64)
    rows = torch.from_numpy(questions[np.unique(chosen)]).to(predictor.device)
    chunks = rows.split(predictor.questions_at_once())
    if column == 2:
        scores = torch.cat([predictor.object_scores(part[:, 1], part[:, 0]) for part in chunks])
    else:
        scores = torch.cat([predictor.subject_scores(part[:, 0], part[:, 1]) for part in chunks])
    # What a question scores all entities alike says nothing about them.
    scores = (scores - scores.mean(1, keepdim=True)) / scores.std(1, keepdim=True).clamp_min(1e-12)
    scores = torch.nn.functional.normalize(scores, dim=0)
    return (scores[:, asked[column]] @ scores).clamp(0.0, 1.0).cpu().numpy()


def _paths(predictor: LinkPredictor, known: np.ndarray, asked: np.ndarray, k: int) -> list[tuple[Triple, ...]]:
    """Paths of one or two facts from subject to object, whichever way the facts point."""
    start, end = asked[0], asked[2]
    if start == end:
        return []
    degree = np.bincount(known[:, [0, 2]].ravel(), minlength=len(predictor.vocabulary.entities))
    direct = known[((known[:, [0, 2]] == (start, end)).all(1)) | ((known[:, [0, 2]] == (end, start)).all(1))]
    sides = []
    for near, far in ((start, end), (end, start)):
        facts = known[(known[:, 0] == near) | (known[:, 2] == near)]
        middle = np.where(facts[:, 0] == near, facts[:, 2], facts[:, 0])
        through = (middle != near) & (middle != far)
        sides.append((facts[through], middle[through]))
    (first, left), (second, right) = sides
    # For each middle all pairs of a fact from the one side with a fact from the other.
    order = np.argsort(right, kind="stable")
    second, right = second[order], right[order]
    low, high = np.searchsorted(right, left), np.searchsorted(right, left, side="right")
    count = high - low
    one = np.repeat(np.arange(len(first)), count)
    two = np.repeat(low, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    best = np.argsort(degree[left[one]], kind="stable")[:k]
    found: list[Sequence[np.ndarray]] = [[fact] for fact in direct]
    found += [[first[one[place]], second[two[place]]] for place in best]
    return [tuple(predictor.vocabulary.ids_to_triples(np.stack(path))) for path in found[:k]]
