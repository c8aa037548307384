"""Predictors of one graph's facts, in a cache folder under the hash of all their inputs, so that the next seed of an
experiment finds them. The cache is GUMPTION_CACHE_DIR, or the user's."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pooch
import torch

from gumption.data.provenance import versions
from gumption.data.settings import Count, NonNegative, Seed, Size, settings
from gumption.kg import NaryPredictor, Vocabulary, WordVectors
from gumption.kg.checkpoint import has_checkpoint
from gumption.kg.links.experts import VERSION as EXPERTS_VERSION
from gumption.kg.links.experts import Experts, Sources, mixed_folds
from gumption.kg.links.nary_predictor import NarySettings, PairPredictor
from gumption.kg.links.training_settings import TrainingSettings

from .advice import StatedFacts
from .outside import FOLDS, MEMBERS, MINING, Outside
from .settings import WORDS, KnowledgeConfig

if TYPE_CHECKING:
    from gumption.kg import ComplEx

# Raised when the code fits other predictors to the same facts: fits of an older version are not read.
FIT_VERSION = 3


@settings
class FitSettings:
    """
    :ivar rank, epochs, n3, reciprocal: of ComplEx, on the facts of two parties.
    :ivar members: networks of the predictor of facts of three parties.
    """

    seed: Seed = TrainingSettings.seed
    rank: Size = TrainingSettings.rank
    epochs: Count = TrainingSettings.epochs
    n3: NonNegative = TrainingSettings.n3
    reciprocal: bool = TrainingSettings.reciprocal
    members: Size = 3


class Fits:
    """The predictors of one graph's facts: read from the cache, or fitted and put there."""

    def __init__(
        self,
        stated: StatedFacts,
        settings: FitSettings,
        word_vectors: str | None = None,
        device: str = "cpu",
        outside: Outside | None = None,
    ) -> None:
        """
        :param word_vectors: a file of vectors, for relations of three parties; None for those that ship.
        :param outside: what feeds these fits, too; None for word vectors alone.
        """
        self.stated, self.settings, self.device = stated, settings, device
        self.outside = outside or Outside((WORDS,))
        self._word_vectors = word_vectors

    @cached_property
    def vectors(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """(N, F) what describes each entity of the facts, a word vector and what a graph says of it, and the entities
        that nothing is known of: their word vectors are drawn at random."""
        entities = self.stated.vocabulary.entities
        features = self.outside.features(entities)
        unknown = {label for label, none in zip(entities, features[:, -1:].any(1), strict=True) if none}
        if WORDS not in self.outside.sources:
            return features, tuple(label for label in entities if label in unknown)
        vectors, report = WordVectors.load(self._word_vectors).guessed_vectors(entities)
        report.warn()
        drawn = report.drawn if not features.shape[1] else [label for label in report.drawn if label in unknown]
        return np.concatenate([vectors, features], axis=1) if features.shape[1] else vectors, tuple(drawn)

    def complex(self, ids: np.ndarray | None = None) -> "ComplEx":
        """ComplEx on the facts of two parties, or on some of them."""
        from gumption.kg import ComplEx

        settings, vocabulary = self.settings, self.stated.vocabulary
        facts = self.stated.ids if ids is None else ids
        parameters = {name: getattr(settings, name) for name in KnowledgeConfig.COMPLEX}
        where = self._place("complex", facts, vocabulary, parameters)
        if not has_checkpoint(where):
            fitted = ComplEx.fit((vocabulary, facts), **parameters, seed=settings.seed, device=self.device)
            _keep(fitted, where)
        return ComplEx.load(where, self.device)

    def nary(self, relation: str) -> PairPredictor:
        """The predictor of a relation of three parties, or the experts that it is one of."""
        if not self.outside.weighed:
            return self._predictor(relation)
        rows, vocabulary = self.stated.rows[relation], self._pairs(relation)
        where = self._place(f"{relation}-experts", rows, vocabulary, self._experts_parameters())
        if not has_checkpoint(where):
            folds = mixed_folds(rows, FOLDS, self.settings.seed)
            whole = Sources(self._predictor(relation) if self.outside.predicts else None, self._parts(relation))
            _keep(
                Experts.fit(
                    rows, vocabulary, folds, whole, self._sources_of_folds(relation, folds, MEMBERS),
                    seed=self.settings.seed, device=self.device,
                ),
                where,
            )  # fmt: skip
        return Experts.load(where, self.device)

    def nary_folds(self, relation: str, folds: np.ndarray, members: int) -> "Sequence[PairPredictor]":
        """For each fold a predictor that has not seen its rows; `folds` (n,) is the fold of each row. Experts have the
        weights of those that have seen all."""
        if not self.outside.weighed:
            return self._predictor_folds(relation, folds, members)
        whole, rows = self.nary(relation), self.stated.rows[relation]
        assert isinstance(whole, Experts)
        return [
            Experts.of(rows[folds != fold], self._pairs(relation), sources, whole.weights, self.device)
            for fold, sources in enumerate(self._sources_of_folds(relation, folds, members))
        ]

    def _sources_of_folds(self, relation: str, folds: np.ndarray, members: int) -> list[Sources]:
        count = int(folds.max()) + 1
        predictors = self._predictor_folds(relation, folds, members) if self.outside.predicts else [None] * count
        return [Sources(each, self._parts(relation, folds != fold)) for fold, each in enumerate(predictors)]

    def _parts(self, relation: str, known: np.ndarray | slice = slice(None)) -> Any:
        return self.outside.parts(self.stated.rows[relation][known], self._pairs(relation))

    def _predictor(self, relation: str) -> NaryPredictor:
        rows, vocabulary = self.stated.rows[relation], self._pairs(relation)
        where = self._place(relation, rows, vocabulary, self._nary_parameters(self.settings.members))
        if not has_checkpoint(where):
            members, seed = self.settings.members, self.settings.seed
            fitted = NaryPredictor.fit(
                rows, self.vectors[0], vocabulary, members=members, seed=seed, device=self.device
            )
            _keep(fitted, where)
        return NaryPredictor.load(where, self.device)

    def _predictor_folds(self, relation: str, folds: np.ndarray, members: int) -> list[NaryPredictor]:
        rows, vocabulary = self.stated.rows[relation], self._pairs(relation)
        parameters = {**self._nary_parameters(members), "folds": hashlib.sha256(folds.tobytes()).hexdigest()}
        places = [
            self._place(f"{relation}-without-{fold}", rows, vocabulary, parameters) for fold in range(folds.max() + 1)
        ]
        if not all(map(has_checkpoint, places)):
            fitted = NaryPredictor.fit_folds(
                rows, self.vectors[0], vocabulary, folds, members=members, seed=self.settings.seed, device=self.device
            )
            for part, where in zip(fitted, places, strict=True):
                _keep(part, where)
        return [NaryPredictor.load(where, self.device) for where in places]

    def _pairs(self, relation: str) -> Vocabulary:
        return Vocabulary(self.stated.vocabulary.entities, (f"{relation}: pair", f"{relation}: part"))

    def _nary_parameters(self, members: int) -> dict[str, Any]:
        vectors = hashlib.sha256(self.vectors[0].tobytes()).hexdigest()
        return {"members": members, "vectors": vectors, **asdict(NarySettings())}

    def _experts_parameters(self) -> dict[str, Any]:
        """Of a fit of experts."""
        outside = self.outside
        predictor = self._nary_parameters(self.settings.members) if outside.predicts else {}
        made = {"sources": outside.sources, "outside": outside.hash, "mining": MINING, "folds": (FOLDS, MEMBERS)}
        return {**predictor, **made, "experts": EXPERTS_VERSION}

    def _place(self, name: str, facts: np.ndarray, vocabulary: Vocabulary, parameters: dict[str, Any]) -> Path:
        """The cache folder of a fit: its name holds the hash of all inputs."""
        of = {
            "facts": hashlib.sha256(facts.astype("<i8").tobytes()).hexdigest(),
            "vocabulary": vocabulary.hash,
            "seed": self.settings.seed,
            "device": torch.device(self.device).type,
            "version": FIT_VERSION,
            "versions": versions(),
            **parameters,
        }
        key = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:16]
        cache = Path(os.environ.get("GUMPTION_CACHE_DIR") or pooch.os_cache("gumption"))
        return cache / "knowledge" / f"{name}-{key}"


def _keep(fitted: "ComplEx | NaryPredictor | Experts", where: Path) -> None:
    """Put a fit in the cache, unless another process that needed the same one was faster."""
    if not has_checkpoint(where):
        fitted.save(where)
