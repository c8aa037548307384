"""From facts to scores: what predictors are shown, and when they are fitted again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents.knowledge import Knowledge
from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.wordcraft.cross_fit import FOLDS
from gumption.agents.wordcraft.setup import WordCraftSetup
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, facts, make_split
from gumption.envs.wordcraft.facts import RELATION_NAMES
from gumption.kg import ComplEx
from gumption.kg.sources.words import GuessedVectors

from .conftest import Seen, ask, recipes_of, same, tables


def knowledge_of(config: TrainConfig) -> Knowledge:
    made = WordCraftSetup(config, num_envs=1).knowledge
    assert made is not None
    return made


# ---- what predictors are shown


@pytest.mark.parametrize("mode", ["by_recipe", "by_goal"])
def test_predictors_of_training_facts_see_no_test_recipe(book: RecipeBook, seen: Seen, scores, mode: str) -> None:
    split = make_split(book, mode)
    scores(book, split)
    train, test = recipes_of(book, split.train_recipes), recipes_of(book, split.test_recipes)
    known = set(facts(book, partition="train", split=split))
    assert seen.counts() == (1 + FOLDS, 1, 1)
    assert seen.recipe[0][0] == train
    assert seen.folds[0][0] == train
    assert not test & train
    assert seen.complex[0][0] == known
    for shown, _ in seen.complex:
        assert shown <= known
        assert not shown & set(facts(book, partition="test", split=split))


def test_full_knowledge_is_all_facts(book: RecipeBook, seen: Seen, scores) -> None:
    full = scores(book, source="full", cross_fit=False)
    assert seen.counts() == (1, 1, 0)
    assert seen.complex[0][0] == set(facts(book, partition="all"))
    assert seen.recipe[0][0] == recipes_of(book, book.recipes)
    assert full.relations == RELATION_NAMES
    assert not any("held_out" in name for name in tables(full))


def test_only_what_the_relations_need_is_fitted(book: RecipeBook, seen: Seen, scores) -> None:
    scores(book, relations=("componentOf",), cross_fit=False)
    assert seen.counts() == (1, 0, 0)
    scores(book, relations=("makes",), cross_fit=False)
    assert seen.counts() == (1, 1, 0)


@pytest.mark.slow
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
    kept = sorted(train | recipes_of(book, split.recipes("validation")))
    other = RecipeBook("other", book.entities, [(c, a, b) for a, b, c in kept] + moved)
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
    assert not same(
        scores(book, split, source="full", cross_fit=False), scores(other, other_split, source="full", cross_fit=False)
    )


# ---- the cache


@pytest.mark.slow
def test_a_second_time_nothing_is_fitted(book: RecipeBook, seen: Seen, scores, tmp_path: Path) -> None:
    first = scores(book)
    fits = seen.counts()
    assert not same(first, scores(book, calibrated=False))  # other tables of the same fits
    second = scores(book)  # read from the folder
    assert seen.counts() == fits
    assert same(first, second)
    assert sorted(path.name.rsplit("-", 1)[0] for path in (tmp_path / "cache" / "knowledge").glob("[!.]*")) == sorted(
        ["complex"] * (1 + FOLDS) + ["makes"] + [f"makes-without-{fold}" for fold in range(FOLDS)]
    )


@pytest.mark.slow
def test_two_policies_share_tables_and_not_modes(configure, seen: Seen) -> None:
    config = configure(kg="train", kg_scores=RELATION_NAMES, cross_fit=True)
    env = WordCraftVectorEnv(1, **config.env_settings("train"))
    first = knowledge_of(config)
    assert knowledge_of(replace(config, seed=1)) is first  # the next seed of an experiment
    assert knowledge_of(replace(config, kg_scores=("makes",))) is not first
    one, other = (first.advice(env.vocabulary, env.relations).scores for _ in range(2))
    assert all(table is tables(other)[name] for name, table in tables(one).items())
    one.train()
    assert not other.training
    assert not first.scores.training
    query = [(a, b, 5) for a in range(1, 34) for b in range(1, 34)]
    assert not torch.equal(ask(one, query), ask(other, query))


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({"source": "full"}, (1, 1)),
        ({"seed": 1}, (1, 1)),
        ({"rank": 4}, (1, 0)),
        ({"epochs": 5}, (1, 0)),
        ({"n3": 0.0}, (1, 0)),
        ({"members": 2}, (0, 1)),
        ({"calibrated": False}, (0, 0)),
        ({"relations": ("makes", "componentOf")}, (0, 0)),
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
    scores(book, cross_fit=False, words=tmp_path / "words.bin")
    assert seen.counts() == (2, 3, 0)


def test_the_books_name_does_not_matter(book: RecipeBook, seen: Seen, scores) -> None:
    scores(book, cross_fit=False)
    rows = [(book.entities[c], book.entities[a], book.entities[b]) for a, b, c in book.recipes.tolist()]
    scores(RecipeBook("copy", book.entities, rows), cross_fit=False)
    assert seen.counts() == (1, 1, 0)


@pytest.mark.slow
def test_code_that_gives_other_predictors_fits_anew(
    book: RecipeBook, seen: Seen, scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores(book)
    assert seen.counts() == (1 + FOLDS, 1, 1)
    monkeypatch.setattr("gumption.agents.fits.FIT_VERSION", 1)
    scores(book)
    assert seen.counts() == (2 + 2 * FOLDS, 2, 2)
    monkeypatch.setattr("gumption.agents.fits.versions", lambda: {"torch": "0"})
    scores(book)
    assert seen.counts() == (3 + 3 * FOLDS, 3, 3)


# ---- bad input


def test_bad_settings_are_told(book: RecipeBook, seen: Seen, scores, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no graph at none: make one with `gumption kg build`"):
        scores(book, source="none")
    with pytest.raises(InputError, match="unknown relation 'make': did you mean 'makes'"):
        scores(book, relations=("make", "combinesWith"))
    with pytest.raises(InputError, match="only scores of two parties can be raw; those of makes are log-ratios always"):
        scores(book, relations=("makes",), calibrated=False)
    assert seen.counts() == (0, 0, 0)
    assert not (tmp_path / "cache").exists()


def test_words_without_a_vector_are_guessed_and_told(book: RecipeBook, configure, tmp_path: Path) -> None:
    rows = [(book.entities[c], book.entities[a], book.entities[b]) for a, b, c in book.recipes.tolist()]
    lines = ["\t".join(row) for row in [("result", "ingredient", "ingredient"), ("qwxz", "water", "earth"), *rows]]
    (tmp_path / "strange.tsv").write_text("\n".join(lines) + "\n")
    config = configure(kg="train", recipe_book=str(tmp_path / "strange.tsv"))
    with pytest.warns(GuessedVectors, match=r"1 of 34 words have no vector of their own: 1 drawn at random \(qwxz\)"):
        made = knowledge_of(config)
    assert len(made.scores.entities) == 34


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
    with pytest.raises(InputError, match=r"complex-[0-9a-f]{16}: entity holds NaN or infinity; it was not written"):
        scores(book, cross_fit=False)


def _spoil(model: ComplEx) -> ComplEx:
    model.entity[0, 0] = float("nan")
    return model


def test_a_damaged_fit_in_the_cache_is_told(book: RecipeBook, seen: Seen, scores, tmp_path: Path) -> None:
    scores(book, cross_fit=False, relations=("componentOf",))
    (file,) = (tmp_path / "cache").rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"complex-[0-9a-f]{16}: the checkpoint is damaged: .*; make it again"):
        scores(book, cross_fit=False, relations=("combinesWith",))  # other tables of the same fit
