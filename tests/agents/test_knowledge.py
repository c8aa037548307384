"""From facts to scores: what predictors are shown, how they are cross-fitted, and when they are fitted again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents.knowledge import FOLDS, KnowledgeSettings, relation_scores
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, Split, facts, make_split
from gumption.kg import ComplEx, RecipePredictor, RelationScores
from gumption.kg.scores import CHANNELS

SMALL = KnowledgeSettings(rank=8, epochs=10, members=1)
Recipe = tuple[str, str, str]


class Seen:
    """What the predictors were fitted on: (triples or recipes, the other arguments) of each call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.complex = self._watch(monkeypatch, ComplEx, "fit")
        self.recipe = self._watch(monkeypatch, RecipePredictor, "fit")
        self.folds = self._watch(monkeypatch, RecipePredictor, "fit_folds")

    @staticmethod
    def _watch(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[tuple[set, dict[str, Any]]]:
        calls: list[tuple[set, dict[str, Any]]] = []
        real = getattr(owner, name)

        def fit(what: Any, *rest: Any, **arguments: Any) -> Any:
            what = list(what)
            calls.append((set(what), arguments | {"rows": what}))
            return real(what, *rest, **arguments)

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
    def make(book: RecipeBook, split: Split | None = None, **settings: Any) -> RelationScores:
        return relation_scores(
            book, split or make_split(book), replace(SMALL, **settings), word_vectors=words_file, device="cpu"
        )

    return make


def recipes_of(book: RecipeBook, rows: np.ndarray) -> set[Recipe]:
    return {(book.entities[a], book.entities[b], book.entities[c]) for a, b, c in rows.tolist()}


def tables(scores: RelationScores) -> dict[str, torch.Tensor]:
    return dict(scores.named_buffers())


def same(one: RelationScores, other: RelationScores) -> bool:
    ours, theirs = tables(one), tables(other)
    return ours.keys() == theirs.keys() and all(torch.equal(table, theirs[name]) for name, table in ours.items())


# ---- what predictors are shown


@pytest.mark.parametrize("mode", ["by_recipe", "by_goal"])
def test_predictors_of_training_facts_see_no_test_recipe(book: RecipeBook, seen: Seen, scores, mode: str) -> None:
    split = make_split(book, mode)
    scores(book, split)
    train, test = recipes_of(book, split.train_recipes), recipes_of(book, split.test_recipes)
    known = set(facts(book, split="train", split_mode=split))
    assert seen.counts() == (1 + FOLDS, 1, 1)
    assert seen.recipe[0][0] == train
    assert seen.folds[0][0] == train
    assert not test & train
    assert seen.complex[0][0] == known
    for shown, _ in seen.complex:
        assert shown <= known
        assert not shown & set(facts(book, split="test", split_mode=split))


def test_full_knowledge_is_all_facts_and_needs_no_cross_fit(book: RecipeBook, seen: Seen, scores) -> None:
    full = scores(book, facts="full", cross_fit=True)
    assert seen.counts() == (1, 1, 0)
    assert seen.complex[0][0] == set(facts(book, split="all"))
    assert seen.recipe[0][0] == recipes_of(book, book.recipes)
    assert set(tables(full)) == {"_pair_start", *CHANNELS}


def test_only_what_the_channels_need_is_fitted(book: RecipeBook, seen: Seen, scores) -> None:
    scores(book, channels=("componentOf",), cross_fit=False)
    assert seen.counts() == (1, 0, 0)
    scores(book, channels=("recipe",), cross_fit=False)
    assert seen.counts() == (1, 1, 0)


def test_changing_test_recipes_alone_changes_nothing(
    book: RecipeBook, seen: Seen, scores, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The products of all test recipes are exchanged; pairs and entities stay, so the split stays."""
    split = make_split(book)
    train = recipes_of(book, split.train_recipes)
    test = sorted(recipes_of(book, split.test_recipes))
    known_pairs = {(a, b): c for a, b, c in test}
    goals = [c for _, _, c in test]
    moved = [
        (next(g for g in goals[i + 1 :] + goals if g not in (a, b, known_pairs[a, b])), a, b)
        for i, (a, b, _) in enumerate(test)
    ]
    other = RecipeBook("other", book.entities, [(c, a, b) for a, b, c in sorted(train)] + moved)
    other_split = make_split(other)
    assert np.array_equal(other_split.train_recipes, split.train_recipes)
    assert not np.array_equal(other_split.test_recipes, split.test_recipes)
    first = scores(book, split)
    fits = seen.counts()
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "another"))  # or the first fits would be found
    second = scores(other, other_split)
    assert seen.counts() == tuple(2 * count for count in fits)
    assert same(first, second)
    # The check can fail: all facts do differ.
    assert not same(scores(book, split, facts="full"), scores(other, other_split, facts="full"))


# ---- cross-fitting


def test_recipes_of_one_pair_share_a_fold(book: RecipeBook, seen: Seen, scores) -> None:
    scores(book, channels=("recipe",))
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["fold_of_recipe"]
    assert len(rows) == len(folds)
    assert set(folds.tolist()) == set(range(FOLDS))
    fold_of_pair: dict[tuple[str, str], int] = {}
    for (a, b, _), fold in zip(rows, folds.tolist(), strict=True):
        assert fold_of_pair.setdefault((a, b), fold) == fold
    assert len(fold_of_pair) < len(rows)  # there are pairs with several products
    sizes = np.bincount(list(fold_of_pair.values()))
    assert sizes.max() - sizes.min() <= 1


def test_in_training_a_fact_is_scored_by_a_predictor_that_has_not_seen_it(book: RecipeBook, seen: Seen, scores) -> None:
    split = make_split(book)
    held_out = tables(scores(book, split))
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["fold_of_recipe"]
    # The fits without a fold, in order, are those after the first, which saw all.
    without = seen.complex[1:]
    for fold, (shown, _) in enumerate(without):
        mine = [row for row, f in zip(rows, folds.tolist(), strict=True) if f == fold]
        assert mine
        for a, b, _ in mine:
            assert (a, "combinesWith", b) not in shown
        rest = [row for row, f in zip(rows, folds.tolist(), strict=True) if f != fold]
        expected = {(x, "componentOf", c) for a, b, c in rest for x in (a, b)}
        assert {triple for triple in shown if triple[1] == "componentOf"} == expected
    assert {name for name in held_out if name.startswith("held_out")} == {f"held_out_{name}" for name in CHANNELS}


def test_in_training_a_fact_is_less_likely_than_once_it_is_known(book: RecipeBook, seen: Seen, scores) -> None:
    split = make_split(book)
    known, learning = (scores(book, split, epochs=50).train(mode) for mode in (False, True))
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["fold_of_recipe"]
    folds_of_fact: dict[tuple[str, str], set[int]] = {}
    for (a, b, c), fold in zip(rows, folds.tolist(), strict=True):
        for x in (a, b):
            folds_of_fact.setdefault((x, c), set()).add(fold)
    ids = {label: i + 1 for i, label in enumerate(book.entities)}
    less: dict[str, list[bool]] = {name: [] for name in CHANNELS}
    for a, b, c in rows:
        query = torch.tensor([ids[c]]), torch.tensor([[ids[a]]]), torch.tensor([ids[b]])
        fall = (known.action_scores(*query) - learning.action_scores(*query))[0, 0].tolist()
        for name, difference in zip(CHANNELS, fall, strict=True):
            if name != "componentOf" or len(folds_of_fact[a, c]) == 1:
                less[name].append(difference > 0)
    assert {name: np.mean(falls) > 0.9 for name, falls in less.items()} == dict.fromkeys(CHANNELS, True)
    assert len(less["componentOf"]) < len(rows)  # there are facts that no fold is without


@pytest.mark.parametrize("pairs", [2, 3])
def test_fewer_pairs_than_folds_make_fewer_folds(seen: Seen, scores, book: RecipeBook, pairs: int) -> None:
    rows = [("mud", "water", "earth"), ("steam", "water", "fire"), ("lava", "earth", "fire")][:pairs]
    small = RecipeBook("tiny", book.entities, [*rows, ("sand", "stone", "air")])
    split = make_split(small, "by_recipe", train_ratio=pairs / (pairs + 1))
    assert len(split.train_recipes) == pairs
    assert tables(scores(small, split))["held_out_recipe"].isfinite().all()
    assert len(seen.complex) == 1 + pairs


# ---- the cache


def test_a_second_time_nothing_is_fitted(book: RecipeBook, seen: Seen, scores, tmp_path: Path) -> None:
    first = scores(book)
    fits = seen.counts()
    assert not same(first, scores(book, calibrated=False))  # other tables of the same fits
    second = scores(book)  # read from the folder: a process keeps the latest tables only
    assert seen.counts() == fits
    assert same(first, second)
    assert sorted(path.name.rsplit("-", 1)[0] for path in (tmp_path / "cache" / "knowledge").iterdir()) == sorted(
        ["complex"] * (1 + FOLDS) + ["recipe"] + [f"recipe-without-{fold}" for fold in range(FOLDS)]
    )


def test_two_policies_share_tables_and_not_modes(book: RecipeBook, seen: Seen, scores) -> None:
    one, other = scores(book), scores(book)
    assert all(table is tables(other)[name] for name, table in tables(one).items())
    one.train()
    assert not other.training
    goal, table, selection = torch.arange(1, 34), torch.arange(1, 34).expand(33, -1), torch.ones(33)
    assert not torch.equal(one.action_scores(goal, table, selection), other.action_scores(goal, table, selection))


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({"facts": "full"}, (1, 1)),
        ({"seed": 1}, (1, 1)),
        ({"rank": 4}, (1, 0)),
        ({"epochs": 5}, (1, 0)),
        ({"n3": 0.0}, (1, 0)),
        ({"members": 2}, (0, 1)),
        ({"calibrated": False}, (0, 0)),
        ({"channels": ("recipe", "componentOf")}, (0, 0)),
    ],
)
def test_the_cache_is_keyed_by_all_that_a_fit_depends_on(
    book: RecipeBook, seen: Seen, scores, changes: dict[str, Any], again: tuple[int, int]
) -> None:
    first = scores(book, cross_fit=False)
    second = scores(book, cross_fit=False, **changes)
    assert (len(seen.complex) - 1, len(seen.recipe) - 1) == again
    assert not same(first, second)


def test_another_split_or_other_word_vectors_are_fitted_anew(
    book: RecipeBook, seen: Seen, scores, words_file: Path, tmp_path: Path
) -> None:
    scores(book, cross_fit=False)
    scores(book, make_split(book, seed=1), cross_fit=False)
    assert seen.counts() == (2, 2, 0)
    changed = bytearray(words_file.read_bytes())
    changed[-3] ^= 1  # a bit of the last number
    (tmp_path / "words.bin").write_bytes(changed)
    relation_scores(book, make_split(book), replace(SMALL, cross_fit=False), word_vectors=tmp_path / "words.bin")
    assert seen.counts() == (2, 3, 0)


def test_the_books_name_does_not_matter(book: RecipeBook, seen: Seen, scores) -> None:
    scores(book, cross_fit=False)
    rows = [(book.entities[c], book.entities[a], book.entities[b]) for a, b, c in book.recipes.tolist()]
    scores(RecipeBook("copy", book.entities, rows), cross_fit=False)
    assert seen.counts() == (1, 1, 0)


# ---- bad input


def test_bad_settings_and_unknown_words_are_told(book: RecipeBook, seen: Seen, scores, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="knowledge is 'none'; it can be train, full"):
        scores(book, facts="none")
    for channels in (("likes", "recipe"), ()):
        with pytest.raises(InputError, match="they are some of combinesWith, componentOf, recipe"):
            scores(book, channels=channels)
    rows = [(book.entities[c], book.entities[a], book.entities[b]) for a, b, c in book.recipes.tolist()]
    strange = RecipeBook("strange", ["qwxz", *book.entities], [("qwxz", "water", "earth"), *rows])
    with pytest.raises(InputError, match="no word vector for 1 of 34 labels: 'qwxz'"):
        scores(strange)
    assert seen.counts() == (0, 0, 0)
    assert not (tmp_path / "cache").exists()


def test_nan_in_a_predictor_is_told(
    book: RecipeBook, seen: Seen, scores, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = ComplEx.object_scores
    with monkeypatch.context() as patch:
        patch.setattr(ComplEx, "object_scores", lambda *query: real(*query) * float("nan"))
        with pytest.raises(InputError, match="scores for combinesWith that are NaN or infinite"):
            scores(book, cross_fit=False)
    assert scores(book, cross_fit=False)
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "another"))
    spoiled = ComplEx.fit
    monkeypatch.setattr(ComplEx, "fit", lambda *what, **arguments: _spoil(spoiled(*what, **arguments)))
    with pytest.raises(InputError, match=r"complex-[0-9a-f]{16}: entity holds NaN or infinity; train it again"):
        scores(book, cross_fit=False)


def _spoil(model: ComplEx) -> ComplEx:
    model.entity[0, 0] = float("nan")
    return model


def test_a_damaged_fit_in_the_cache_is_told(book: RecipeBook, seen: Seen, scores, tmp_path: Path) -> None:
    scores(book, cross_fit=False, channels=("componentOf",))
    (file,) = (tmp_path / "cache").rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"complex-[0-9a-f]{16}: the checkpoint is damaged .*; make it again"):
        scores(book, cross_fit=False, channels=("combinesWith",))  # other tables of the same fit
