"""Link predictors fitted to what a graph states, kept in a cache folder by the hash of all that they depend on."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import torch

from gumption.data.provenance import versions
from gumption.data.settings import Count, NonNegative, Seed, Size, settings
from gumption.kg import ComplEx, NaryPredictor, Vocabulary
from gumption.kg.checkpoint import has_checkpoint
from gumption.kg.links.nary_predictor import NarySettings

from .stated_facts import StatedFacts

# Counts up when the code that fits gives other predictors from the same facts: what an older one left is not read.
VERSION = 2


@settings
class FitSettings:
    """
    :ivar rank, epochs, n3: of ComplEx, on the facts of two parties.
    :ivar members: networks of the predictor of facts of three parties.
    """

    seed: Seed = 0
    rank: Size = 128
    epochs: Count = 50
    n3: NonNegative = 1e-2
    members: Size = 3


class Fits:
    """The predictors of one graph's facts: read from the cache, or fitted and put there, so that the next seed of an
    experiment finds them. The cache is GUMPTION_CACHE_DIR, or the user's."""

    def __init__(
        self,
        stated: StatedFacts,
        settings: FitSettings,
        vectors: Callable[[], np.ndarray],
        device: str = "cpu",
    ) -> None:
        """:param vectors: gives a word vector for each entity of `stated.vocabulary`; asked only where it is needed."""
        self.stated, self.settings, self.device = stated, settings, device
        self._make_vectors = vectors
        self._vectors: np.ndarray | None = None

    @property
    def vectors(self) -> np.ndarray:
        """(N, F) word vectors."""
        if self._vectors is None:
            self._vectors = self._make_vectors()
        return self._vectors

    def complex(self, ids: np.ndarray | None = None) -> ComplEx:
        """ComplEx on the facts of two parties, or on some of them."""
        settings, vocabulary = self.settings, self.stated.vocabulary
        facts = self.stated.ids if ids is None else ids
        where = self._place(
            "complex", facts, vocabulary, {"rank": settings.rank, "epochs": settings.epochs, "n3": settings.n3}
        )
        if not has_checkpoint(where):
            fitted = ComplEx.fit(
                (vocabulary, facts),
                rank=settings.rank,
                epochs=settings.epochs,
                n3=settings.n3,
                seed=settings.seed,
                device=self.device,
            )
            _keep(fitted, where)
        return ComplEx.load(where, self.device)

    def nary(self, relation: str) -> NaryPredictor:
        """The predictor of a relation of three parties."""
        rows, vocabulary = self.stated.rows[relation], self._pairs(relation)
        where = self._place(relation, rows, vocabulary, self._nary_parameters(self.settings.members))
        if not has_checkpoint(where):
            fitted = NaryPredictor.fit(
                rows,
                self.vectors,
                vocabulary,
                members=self.settings.members,
                seed=self.settings.seed,
                device=self.device,
            )
            _keep(fitted, where)
        return NaryPredictor.load(where, self.device)

    def nary_folds(self, relation: str, folds: np.ndarray, members: int) -> list[NaryPredictor]:
        """For each fold a predictor that has not seen its rows; `folds` (n,) is the fold of each row."""
        rows, vocabulary = self.stated.rows[relation], self._pairs(relation)
        parameters = {**self._nary_parameters(members), "folds": hashlib.sha256(folds.tobytes()).hexdigest()}
        places = [
            self._place(f"{relation}-without-{fold}", rows, vocabulary, parameters) for fold in range(folds.max() + 1)
        ]
        if not all(map(has_checkpoint, places)):
            fitted = NaryPredictor.fit_folds(
                rows, self.vectors, vocabulary, folds, members=members, seed=self.settings.seed, device=self.device
            )
            for part, where in zip(fitted, places, strict=True):
                _keep(part, where)
        return [NaryPredictor.load(where, self.device) for where in places]

    def _pairs(self, relation: str) -> Vocabulary:
        return Vocabulary(self.stated.vocabulary.entities, (f"{relation}: pair", f"{relation}: part"))

    def _nary_parameters(self, members: int) -> dict[str, Any]:
        vectors = hashlib.sha256(self.vectors.tobytes()).hexdigest()
        return {"members": members, "vectors": vectors, **asdict(NarySettings())}

    def _place(self, name: str, facts: np.ndarray, vocabulary: Vocabulary, parameters: dict[str, Any]) -> Path:
        """The cache folder of a fit: its name holds the hash of all that it depends on."""
        of = {
            "facts": hashlib.sha256(facts.astype("<i8").tobytes()).hexdigest(),
            "vocabulary": vocabulary.hash,
            "seed": self.settings.seed,
            "device": torch.device(self.device).type,
            "version": VERSION,
            "versions": versions(),
            **parameters,
        }
        key = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:16]
        cache = Path(os.environ.get("GUMPTION_CACHE_DIR") or pooch.os_cache("gumption"))
        return cache / "knowledge" / f"{name}-{key}"


def _keep(fitted: ComplEx | NaryPredictor, where: Path) -> None:
    """Put a fit in the cache, unless another process that needed the same one was faster."""
    if not has_checkpoint(where):
        fitted.save(where)
