"""Link predictors: score facts, predict the best answers to a query, and explain a prediction by known facts."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import torch
from scipy.sparse import csr_array

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Count, checked, checked_methods, whole_numbers
from gumption.data.writing import present_folder
from gumption.kg.checkpoint import META
from gumption.kg.facts import Facts, distinct, marks_of, note_trained, to_ids
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import Triple, Vocabulary

OWN = "model/"  # prefix of the checkpoint kinds of users' classes
Answer = tuple[str, float, float]
Side = Literal["object", "subject"]


class Temperatures(Protocol):
    """Divisors of scores before the softmax; see `Calibration`."""

    def temperature(self, predictor: "LinkPredictor", side: Side, relation: int) -> float:
        """Return the divisor for queries of a relation, for answers on this side."""
        ...


@checked_methods
class LinkPredictor(ABC):
    """Score facts (subject, relation, object) over a vocabulary of N entities and R relations.

    A predictor scores every object for a (subject, relation), and every subject for a (relation, object). The softmax
    of the scores gives the probability of each answer. The two directions may score a fact differently.
    """

    vocabulary: Vocabulary
    device: torch.device
    #: (n,) uint64, the marks (hashes) of its training facts (see facts.py); None if they are unknown.
    trained_on: np.ndarray | None = None
    #: The marks of the validation facts that selected its epoch; None without validation.
    chosen_by: np.ndarray | None = None
    #: Bytes that object_scores and subject_scores take at their peak per score, the score included.
    score_bytes: int = 4

    @abstractmethod
    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        """Score all objects: (B,) and (B,) int64 ids on the device -> (B, N) float32."""

    @abstractmethod
    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        """Score all subjects: (B,) and (B,) int64 ids on the device -> (B, N) float32."""

    @torch.no_grad()
    def score(self, triples: Sequence[Triple], side: Side = "object") -> np.ndarray:
        """Score each label triple as an answer on one side: (n,) float32.

        `predict` and `evaluate_ranking` rank by the same scores. Only scores of one query and side are comparable: use
        side="object" to compare the objects of (subject, relation, ?), and side="subject" for the subjects of
        (?, relation, object). With reciprocal relations, the two sides score a fact differently.

        :raises InputError: an unknown label, with near matches.
        """
        ids = torch.from_numpy(self.vocabulary.triples_to_ids(triples)).to(self.device)
        chunks = ids.split(self.questions_at_once())
        if side == "object":
            parts = [self.object_scores(rows[:, 0], rows[:, 1]).gather(1, rows[:, 2:])[:, 0] for rows in chunks]
        else:
            parts = [self.subject_scores(rows[:, 1], rows[:, 2]).gather(1, rows[:, :1])[:, 0] for rows in chunks]
        return torch.cat(parts).cpu().numpy() if parts else np.empty(0, dtype=np.float32)

    @torch.no_grad()
    def predict(
        self,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        k: Count = 10,
        without: Facts = (),
        calibration: "Temperatures | None" = None,
    ) -> list[Answer]:
        """Predict the omitted subject or object. Return the k best as (label, score, probability among all answers).

        :param without: facts whose answers to this query are excluded; the probability is then among the others.
        :param calibration: temperatures for the probability, which is then for facts that are not in `without`.
        :raises InputError: unless exactly one of subject and object is omitted; an unknown label; k below 1; a
            calibration of other labels.
        """
        if relation is None or (subject is None) == (object is None):
            raise InputError(
                "predict needs a relation and either a subject or an object: what is left out is predicted"
            )
        kind = self.vocabulary.relation_ids([relation])
        if subject is not None:
            side, given, left_out, anchor = "object", 0, 2, self.vocabulary.entity_ids([subject])
            scores = self.object_scores(self._ids(anchor), self._ids(kind))[0].clone()
        else:
            assert object is not None
            side, given, left_out, anchor = "subject", 2, 0, self.vocabulary.entity_ids([object])
            scores = self.subject_scores(self._ids(kind), self._ids(anchor))[0].clone()
        known = to_ids(self.vocabulary, without, skip=True)
        known = np.unique(known[(known[:, given] == anchor) & (known[:, 1] == kind), left_out])
        scores[self._ids(known)] = -torch.inf
        temperature = calibration.temperature(self, side, int(kind[0])) if calibration is not None else 1.0
        probabilities = (scores / temperature).softmax(0)
        best = scores.topk(min(k, len(scores) - len(known)))
        return [
            (self.vocabulary.entities[i], score, probability)
            for i, score, probability in zip(
                best.indices.tolist(), best.values.tolist(), probabilities[best.indices].tolist(), strict=True
            )
        ]

    def count_trained(self, ids: np.ndarray, what: str) -> int | None:
        """Call `note_trained` for binary facts; None if the training facts are unknown or have three parties."""
        if self.trained_on is None:
            return None
        rows = whole_numbers("ids", ids, None, 3)
        self.vocabulary.ids_to_triples(rows)  # refuses ids outside the vocabulary
        return note_trained(self.trained_on, marks_of(self.vocabulary, rows), what)

    def questions_at_once(self, memory: int = 1 << 26) -> int:
        """Return the number of rows of scores that fit into `memory` bytes; at least 1."""
        return max(1, memory // (self.score_bytes * max(len(self.vocabulary.entities), 1)))

    def _ids(self, ids: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(ids).to(self.device)


_MARKS = ("trained_on", "chosen_by")  # tensors of a checkpoint


def marks_to_tensors(predictor: LinkPredictor) -> dict[str, torch.Tensor]:
    """Return the marks of a predictor as tensors for a checkpoint."""
    kept = {name: getattr(predictor, name) for name in _MARKS}
    return {name: torch.from_numpy(marks.view(np.int64)) for name, marks in kept.items() if marks is not None}


def take_marks(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """Remove the marks from the tensors of a checkpoint and return them by attribute name."""
    return {name: tensors.pop(name).numpy().view(np.uint64) for name in _MARKS if name in tensors}


class FrequencyBaseline(LinkPredictor):
    """Score an answer by its number of facts with the relation on that side, whatever the query's entity."""

    score_bytes = 8

    def __init__(self, vocabulary: Vocabulary, ids: np.ndarray) -> None:
        """
        :param ids: (n, 3) int64 facts to count.
        """
        self.vocabulary = vocabulary
        self.device = torch.device("cpu")
        shape = len(vocabulary.relations), len(vocabulary.entities)
        one = np.ones(len(ids), dtype=np.float32)
        self._subjects, self._objects = (csr_array((one, (ids[:, 1], ids[:, side])), shape) for side in (0, 2))

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self._objects[relations.numpy()].toarray())

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self._subjects[relations.numpy()].toarray())


# ---- Loading any link predictor from its checkpoint folder


# The "kind" of a checkpoint, without its version -> module and class.
KINDS = {
    "gumption/complex": ("complex", "ComplEx"),
    "gumption/distmult": ("distmult", "DistMult"),
    "gumption/pykeen": ("pykeen_models", "PyKEENPredictor"),
    "gumption/nary-predictor": ("nary_predictor", "NaryPredictor"),
    "gumption/experts": ("experts", "Experts"),
}


@checked
def load_predictor(directory: str | os.PathLike[str], device: str = "auto") -> LinkPredictor:
    """Load a link predictor of any class of gumption from a folder written by `save`.

    :raises InputError: no checkpoint, a damaged checkpoint, a checkpoint of another kind, or of a user's class, which
        is never imported by its name in a checkpoint.
    """
    try:
        kind = parse_json((present_folder(Path(directory)) / META).read_text(encoding="utf-8"))["kind"]
    except OSError as error:
        raise InputError(f"{directory}: no checkpoint there ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{directory}: the checkpoint is damaged ({error}); make it again") from None
    name = str(kind).rpartition("/")[0]
    if name.startswith(OWN):
        own = name.removeprefix(OWN)
        raise InputError(
            f"{directory}: a model of the class {own!r}, which gumption lacks: load it in Python by {own}.load"
        )
    if name not in KINDS:
        raise InputError(f"{directory}: a checkpoint of {kind!r}, which is no link predictor")
    module, predictor = KINDS[name]
    return getattr(import_module(f".{module}", __package__), predictor).load(directory, device)


# ---- Explanations of a prediction: the nearest known facts, and known paths between its subject and object.
#
# Two objects are similar if the predictor's scores for them agree over many known queries (s', p, ?); two subjects if
# the scores agree over (?, p, o'). A known fact (s', p, o') is near (s, p, o) if s' is similar to s and o' to o. Any
# model can be explained this way.


#: Number of known queries by which entities are compared.
QUESTIONS = 256


@dataclass(frozen=True)
class Why:
    """
    :ivar nearest: known facts of the same relation with their nearness in [0, 1], nearest first. At 1, the predictor
        cannot distinguish the entities of the fact from the entities of the prediction.
    :ivar paths: paths of one or two known facts between subject and object, direct facts and rare entities first.
    """

    nearest: list[tuple[Triple, float]]
    paths: list[tuple[Triple, ...]]


@torch.no_grad()
@checked
def why(predictor: LinkPredictor, facts: KnowledgeGraph | Facts, triple: Triple, k: Count = 5) -> Why:
    """Explain a prediction by its k nearest known facts and k paths between its subject and object.

    :param facts: known facts, usually the training facts; facts with labels that the predictor lacks, and the
        prediction itself, are left out.
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
    """Compute (N,) similarities in [0, 1] of entities to the explained fact's subject (column 0) or object (2)."""
    anchor = 2 - column
    questions = np.unique(known[:, [1, anchor]], axis=0)
    # Prefer queries of the same relation; fill up with others if there are too few.
    questions = questions[np.argsort(questions[:, 0] != asked[1], kind="stable")]
    same = int((questions[:, 0] == asked[1]).sum())
    chosen = np.linspace(0, max(same, min(len(questions), QUESTIONS)) - 1, QUESTIONS).round().astype(np.int64)
    rows = torch.from_numpy(questions[np.unique(chosen)]).to(predictor.device)
    chunks = rows.split(predictor.questions_at_once())
    if column == 2:
        scores = torch.cat([predictor.object_scores(part[:, 1], part[:, 0]) for part in chunks])
    else:
        scores = torch.cat([predictor.subject_scores(part[:, 0], part[:, 1]) for part in chunks])
    # Standardise, so that each query has the same weight.
    scores = (scores - scores.mean(1, keepdim=True)) / scores.std(1, keepdim=True).clamp_min(1e-12)
    scores = torch.nn.functional.normalize(scores, dim=0)
    return (scores[:, asked[column]] @ scores).clamp(0.0, 1.0).cpu().numpy()


def _paths(predictor: LinkPredictor, known: np.ndarray, asked: np.ndarray, k: int) -> list[tuple[Triple, ...]]:
    """Collect paths of one or two facts between subject and object; a fact may point either way."""
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
    # For each middle entity, join all facts of the start with all facts of the end.
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
