"""From a world's facts to the scores that guide a policy: fit the link predictors, cross-fit them, freeze them."""

import hashlib
import json
import os
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pooch
import torch

from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, Split
from gumption.envs.wordcraft.facts import binary_facts
from gumption.kg import ComplEx, RecipePredictor, RelationScores, Vocabulary, WordVectors
from gumption.kg.checkpoint import has_checkpoint
from gumption.kg.recipe_predictor import COMBINES_WITH, COMPONENT_OF, RELATIONS, RecipeSettings
from gumption.kg.scores import CHANNELS, RECIPE, CrossFit

KNOWLEDGE = ("train", "full")
FOLDS = 5
FOLD_MEMBERS = 2


@dataclass(frozen=True)
class KnowledgeSettings:
    """
    :ivar facts: "train", the facts of training recipes, or "full", all of them.
    :ivar channels: which scores; see `RelationScores`.
    :ivar calibrated: log-probabilities instead of ComplEx's raw scores.
    :ivar cross_fit: in training, score each training fact by predictors that have not seen it (facts="train" only:
        where all facts are known, those met in training are as well known as those met later).
    """

    facts: str = "train"
    channels: tuple[str, ...] = CHANNELS
    calibrated: bool = True
    cross_fit: bool = True
    seed: int = 0
    rank: int = 128
    epochs: int = 50
    n3: float = 1e-2
    members: int = 3


def relation_scores(
    book: RecipeBook,
    split: Split,
    settings: KnowledgeSettings,
    *,
    word_vectors: str | os.PathLike[str] | None = None,
    device: str = "cpu",
) -> RelationScores:
    """Fit what the settings ask for and freeze it. Fits are kept in a cache folder (GUMPTION_CACHE_DIR, or the
    user's), by the hash of all that they depend on, so that the next seed of an experiment finds them.

    :raises InputError: unknown facts or channels, or a book with words that have no vector.
    """
    if settings.facts not in KNOWLEDGE:
        raise InputError(f"knowledge is {settings.facts!r}; it can be {', '.join(KNOWLEDGE)}")
    unknown = [channel for channel in settings.channels if channel not in CHANNELS]
    if unknown or not settings.channels:
        raise InputError(f"the scores are {settings.channels}; they are some of {', '.join(CHANNELS)}")
    rows = split.train_recipes if settings.facts == "train" else book.recipes
    fits = _Fits(book, rows, settings, word_vectors, device)
    key = fits.key()
    if key not in _frozen:
        _frozen.clear()
        _frozen[key] = _freeze(fits, rows)
    return copy(_frozen[key])  # a module of its own, with its own mode, around the same tables


# The latest tables: the seeds of an experiment run one after another in a process, and all want the same.
_frozen: dict[str, RelationScores] = {}


def _freeze(fits: "_Fits", rows: np.ndarray) -> RelationScores:
    settings = fits.settings
    return RelationScores(
        fits.book.entities,
        fits.complex(rows) if fits.binary_channels else None,
        fits.recipe() if RECIPE in settings.channels else None,
        channels=settings.channels,
        calibrated=settings.calibrated,
        cross_fit=fits.cross_fit() if settings.cross_fit and settings.facts == "train" else None,
        device=fits.device,
    )


class _Fits:
    """The predictors of one set of recipes: read from the cache, or fitted and put there."""

    def __init__(
        self,
        book: RecipeBook,
        rows: np.ndarray,
        settings: KnowledgeSettings,
        word_vectors: str | os.PathLike[str] | None,
        device: str,
    ) -> None:
        self.book, self.rows, self.settings, self.device = book, rows, settings, device
        self.labels = [tuple(book.entities[part] for part in row) for row in rows.tolist()]
        self.vectors = WordVectors.load(word_vectors).vectors(book.entities) if RECIPE in settings.channels else None
        self.vocabulary = Vocabulary(book.entities, RELATIONS)
        self.binary_channels = [channel for channel in settings.channels if channel != RECIPE]
        self.folds = min(FOLDS, len(np.unique(rows[:, :2], axis=0)))

    def key(self) -> str:
        """What tells these fits and their tables from others."""
        vectors = "" if self.vectors is None else hashlib.sha256(self.vectors.tobytes()).hexdigest()
        return str(self._place("tables", self.rows, {**asdict(self.settings), "vectors": vectors}))

    def complex(self, rows: np.ndarray) -> ComplEx:
        """ComplEx on the binary facts of some of the recipes."""
        settings = self.settings
        where = self._place("complex", rows, {"rank": settings.rank, "epochs": settings.epochs, "n3": settings.n3})
        if not has_checkpoint(where):
            fitted = ComplEx.fit(
                binary_facts(self.book, rows),
                rank=settings.rank,
                epochs=settings.epochs,
                n3=settings.n3,
                seed=settings.seed,
                device=self.device,
                vocabulary=self.vocabulary,
            )
            _keep(fitted, where)
        return ComplEx.load(where, self.device)

    def recipe(self) -> RecipePredictor:
        where = self._place_recipe("recipe", self.settings.members)
        if not has_checkpoint(where):
            _keep(self._recipe_fit(RecipePredictor.fit, members=self.settings.members), where)
        return RecipePredictor.load(where, self.device)

    def cross_fit(self) -> CrossFit:
        folds = self._folds()
        recipe = []
        if RECIPE in self.settings.channels:
            places = [self._place_recipe(f"recipe-without-{fold}", FOLD_MEMBERS) for fold in range(self.folds)]
            if not all(map(has_checkpoint, places)):
                fitted = self._recipe_fit(RecipePredictor.fit_folds, fold_of_recipe=folds, members=FOLD_MEMBERS)
                for part, where in zip(fitted, places, strict=True):
                    _keep(part, where)
            recipe = [RecipePredictor.load(where, self.device) for where in places]
        binary = [self.complex(self.rows[folds != fold]) for fold in range(self.folds)] if self.binary_channels else []
        return CrossFit(binary, recipe, self._entry_folds(folds))

    def _entry_folds(self, folds: np.ndarray) -> dict[str, np.ndarray]:
        """(N, N) fold of each entry of each channel's table; see `CrossFit`."""
        size = len(self.book.entities)
        rng = np.random.Generator(np.random.PCG64(self.settings.seed))
        pair = rng.integers(self.folds, size=(size, size))
        pair = np.triu(pair) + np.triu(pair, 1).T
        component = rng.integers(self.folds, size=(size, size))
        a, b, product = self.rows.T
        pair[a, b] = pair[b, a] = folds
        # An ingredient that is known from recipes of several folds is left out of none: any of them may score it.
        stated = np.zeros((self.folds, size, size), dtype=bool)
        stated[folds, a, product] = stated[folds, b, product] = True
        only = stated.sum(0) == 1
        component[only] = stated.argmax(0)[only]
        return {COMBINES_WITH: pair, RECIPE: pair, COMPONENT_OF: component}

    def _folds(self) -> np.ndarray:
        """(n,) fold of each recipe; recipes of one pair share a fold, so that no fold knows a pair of another's."""
        pairs, pair_of = np.unique(self.rows[:, :2], axis=0, return_inverse=True)
        rng = np.random.Generator(np.random.PCG64(self.settings.seed))
        return (rng.permutation(len(pairs)) % self.folds)[pair_of]

    def _recipe_fit(self, fit: Any, **arguments: Any) -> Any:
        assert self.vectors is not None
        return fit(
            self.labels,
            self.vectors,
            self.book.entities,
            seed=self.settings.seed,
            device=self.device,
            **arguments,
        )

    def _place_recipe(self, name: str, members: int) -> Path:
        assert self.vectors is not None
        vectors = hashlib.sha256(self.vectors.tobytes()).hexdigest()
        return self._place(name, self.rows, {"members": members, "vectors": vectors, **asdict(RecipeSettings())})

    def _place(self, name: str, rows: np.ndarray, parameters: dict[str, Any]) -> Path:
        """The cache folder of a fit: its name holds the hash of all that it depends on."""
        of = {
            "recipes": hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest(),
            "entities": self.vocabulary.hash,
            "seed": self.settings.seed,
            "device": torch.device(self.device).type,
            "torch": torch.__version__,
            **parameters,
        }
        key = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:16]
        cache = Path(os.environ.get("GUMPTION_CACHE_DIR") or pooch.os_cache("gumption"))
        return cache / "knowledge" / f"{name}-{key}"


def _keep(fitted: ComplEx | RecipePredictor, where: Path) -> None:
    """Put a fit in the cache, unless another process that needed the same one was faster."""
    if not has_checkpoint(where):
        fitted.save(where)
