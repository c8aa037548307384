"""Predictors of one graph's facts, cached in folders named by the hash of all inputs, so that the next seed of an
experiment reuses them. The cache is GUMPTION_CACHE_DIR, or the user's cache folder."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pooch
import torch

from gumption.data.provenance import versions
from gumption.data.writing import sole_writer
from gumption.kg import NaryPredictor, Vocabulary, WordVectors
from gumption.kg.checkpoint import has_checkpoint
from gumption.kg.links.nary_predictor import NarySettings, PairPredictor

from .advice import StatedFacts
from .settings import KnowledgeConfig

if TYPE_CHECKING:
    from gumption.kg import ComplEx

# Increase it when the code fits other predictors to the same facts: fits of an older version are not read.
FIT_VERSION = 3


class Fits:
    """The predictors of one graph's facts, read from the cache, or fitted and cached."""

    def __init__(
        self, stated: StatedFacts, config: KnowledgeConfig, word_vectors: str | None = None, device: str = "cpu"
    ) -> None:
        """
        :param config: contains the settings of predictors, such as `kg_rank`.
        :param word_vectors: a file of vectors, for relations of three parties; None for the shipped vectors.
        """
        self.stated, self.config, self.device = stated, config, device
        self._word_vectors = word_vectors

    @cached_property
    def words(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """(N, F) word vectors of the entities of the facts, and the entities without a known vector, whose vectors are
        drawn at random."""
        vectors, report = WordVectors.load(self._word_vectors).guessed_vectors(self.stated.vocabulary.entities)
        report.warn()
        return vectors, report.drawn

    def complex(self, ids: np.ndarray | None = None) -> "ComplEx":
        """Return ComplEx fitted to the facts of two parties, or to the facts `ids`."""
        from gumption.kg import ComplEx

        vocabulary, facts = self.stated.vocabulary, self.stated.ids if ids is None else ids
        parameters = {name: getattr(self.config, f"kg_{name}") for name in KnowledgeConfig.COMPLEX}
        where = self.place("complex", facts, vocabulary, parameters)
        made = partial(ComplEx.fit, (vocabulary, facts), **parameters, seed=self.config.kg_seed, device=self.device)
        keep(lambda: [made()], [where])
        return ComplEx.load(where, self.device)

    def nary(self, relation: str) -> PairPredictor:
        """Return the predictor of a relation of three parties."""
        rows, vocabulary = self.stated.rows[relation], self.pairs(relation)
        where = self.place(relation, rows, vocabulary, self.nary_parameters(self.config.kg_members))
        more: Any = {"members": self.config.kg_members, "seed": self.config.kg_seed, "device": self.device}
        keep(lambda: [NaryPredictor.fit(rows, self.words[0], vocabulary, **more)], [where])
        predictor = NaryPredictor.load(where, self.device)
        predictor.place = where
        return predictor

    def nary_folds(self, relation: str, folds: np.ndarray, members: int) -> Sequence[PairPredictor]:
        """Return for each fold a predictor fitted without its rows; `folds` (n,) is the fold of each row."""
        rows, vocabulary = self.stated.rows[relation], self.pairs(relation)
        parameters = {**self.nary_parameters(members), "folds": hashlib.sha256(folds.tobytes()).hexdigest()}
        places = [
            self.place(f"{relation}-without-{fold}", rows, vocabulary, parameters) for fold in range(folds.max() + 1)
        ]
        more: Any = {"members": members, "seed": self.config.kg_seed, "device": self.device}
        keep(lambda: NaryPredictor.fit_folds(rows, self.words[0], vocabulary, folds, **more), places)
        return [NaryPredictor.load(where, self.device) for where in places]

    def pairs(self, relation: str) -> Vocabulary:
        return Vocabulary(self.stated.vocabulary.entities, (f"{relation}: pair", f"{relation}: part"))

    def nary_parameters(self, members: int) -> dict[str, Any]:
        vectors = hashlib.sha256(self.words[0].tobytes()).hexdigest()
        return {"members": members, "vectors": vectors, **asdict(NarySettings())}

    def place(self, name: str, facts: np.ndarray, vocabulary: Vocabulary, parameters: dict[str, Any]) -> Path:
        """Return the cache folder of a fit, whose name contains the hash of all inputs."""
        of = {
            "facts": hashlib.sha256(facts.astype("<i8").tobytes()).hexdigest(),
            "vocabulary": vocabulary.hash,
            "seed": self.config.kg_seed,
            "device": torch.device(self.device).type,
            "version": FIT_VERSION,
            "versions": versions(),
            **parameters,
        }
        key = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:16]
        cache = Path(os.environ.get("GUMPTION_CACHE_DIR") or pooch.os_cache("gumption"))
        return cache / "knowledge" / f"{name}-{key}"


def keep(fit: Callable[[], Sequence[Any]], places: Sequence[Path]) -> None:
    """Cache the predictors that `fit` makes, unless they are cached already. Of several processes, one fits them while
    the others wait."""
    if all(map(has_checkpoint, places)):
        return
    with sole_writer(places[0]):
        if not all(map(has_checkpoint, places)):  # another process made them meanwhile
            for fitted, where in zip(fit(), places, strict=True):
                fitted.save(where)
