"""What the predictors of an agent were fitted on, and the scores of small ones."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents.knowledge import Knowledge
from gumption.agents.settings import KnowledgeConfig
from gumption.agents.wordcraft.cross_fit import Together, cross_fitted
from gumption.data.settings import Count, Size, settings
from gumption.envs.action_facts import action_facts
from gumption.envs.wordcraft import RecipeBook, Split, make_split
from gumption.envs.wordcraft.facts import RELATION_NAMES, RELATIONS
from gumption.envs.worlds import WORLDS
from gumption.kg import ComplEx, NaryPredictor, RelationScores, Vocabulary
from gumption.kg.scores import BinaryTable, PairTable

Recipe = tuple[str, str, str]


@settings
class SmallFits(KnowledgeConfig):
    """Knowledge whose predictors are small by default, so that a test need not say which of them it fits."""

    kg_rank: Size = 8
    kg_epochs: Count = 10
    kg_members: Size = 1


class Seen:
    """What the predictors were fitted on: (facts of labels, their rows in order, folds) of each call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.complex = self._watch(monkeypatch, ComplEx, "fit")
        self.recipe = self._watch(monkeypatch, NaryPredictor, "fit")
        self.folds = self._watch(monkeypatch, NaryPredictor, "fit_folds")
        self.parts: list[list[NaryPredictor]] = []  # what fit_folds gave

    def _watch(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[tuple[set, dict[str, Any]]]:
        calls: list[tuple[set, dict[str, Any]]] = []
        real = getattr(owner, name)

        def fit(what: Any, *rest: Any, **arguments: Any) -> Any:
            if owner is ComplEx:
                labels = what[0].ids_to_triples(what[1])
            else:
                names: Vocabulary = rest[1]
                labels = [tuple(names.entities[i] for i in row) for row in what.tolist()]
            calls.append((set(labels), {"rows": labels, "folds": rest[2] if len(rest) > 2 else None}))
            made = real(what, *rest, **arguments)
            if name == "fit_folds":
                self.parts.append(made)
            return made

        monkeypatch.setattr(owner, name, fit)
        return calls

    def counts(self) -> tuple[int, int, int]:
        return len(self.complex), len(self.recipe), len(self.folds)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Seen:
    """The fits of this test, which has a cache of its own."""
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))
    return Seen(monkeypatch)


@pytest.fixture
def scores(words_file: Path) -> Callable[..., RelationScores]:
    def make(
        book: RecipeBook,
        split: Split | None = None,
        *,
        source: str = "train",
        relations: Sequence[str] = RELATION_NAMES,
        calibrated: bool = True,
        cross_fit: bool = True,
        together: Together | None = None,
        words: Path = words_file,
        **fits: Any,
    ) -> RelationScores:
        own = {f"kg_{name}": value for name, value in fits.items()}
        made = Knowledge.of(
            SmallFits(kg=source, kg_scores=tuple(relations), kg_calibrated=calibrated, **own),
            WORLDS["wordcraft"],
            ("", *book.entities),
            RELATIONS,
            {"recipe_book": book, "split": split or make_split(book)},
            word_vectors=str(words),
        )
        return (cross_fitted(made, together) if cross_fit else made).scores

    return make


def recipes_of(book: RecipeBook, rows: np.ndarray) -> set[Recipe]:
    return {(book.entities[a], book.entities[b], book.entities[c]) for a, b, c in rows.tolist()}


def tables(scores: RelationScores) -> dict[str, torch.Tensor]:
    """By relation and part: "makes.table", or "makes.whole.table" and "makes.held_out.table"."""
    both = zip(scores.relations, scores.scorers, strict=True)
    parts = [(f"{r}.{name}.table".replace("..", "."), one) for r, top in both for name, one in top.named_modules()]
    return {name: one.table for name, one in parts if isinstance(one, BinaryTable | PairTable)}


def same(one: RelationScores, other: RelationScores) -> bool:
    ours, theirs = tables(one), tables(other)
    return ours.keys() == theirs.keys() and all(torch.equal(table, theirs[name]) for name, table in ours.items())


def ask(scores: RelationScores, rows: Sequence[tuple[int, int, int]]) -> torch.Tensor:
    """(n, K) scores of env ids (candidate, selection, goal)."""
    a, b, c = (np.array(part, dtype=np.int64)[:, None] for part in zip(*rows, strict=True))
    asked = action_facts(RELATION_NAMES, (len(rows), 1), [(a, b, 0), (a, c, 0), (a, c, b)])
    return scores.action_scores(asked)[:, 0]
