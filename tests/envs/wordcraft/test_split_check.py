"""A split is checked in another way than it is made, and each way to leak is found."""

from dataclasses import replace

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, make_split
from gumption.envs.wordcraft.split_check import check_split
from gumption.envs.wordcraft.splits import MODES as EVERY_MODE

MODES = [mode for mode in EVERY_MODE if mode != "by_family"]  # which test_tasks_splits.py checks


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("depth", [1, 2])
def test_what_is_made_has_no_faults(book, mode, depth) -> None:
    for seed in range(3):
        assert check_split(make_split(book, mode, 0.7, seed, depth), book) == []


def recipe_rows(split, part: str) -> np.ndarray:
    return getattr(split, f"{part}_recipes")


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "none"])
def test_a_test_item_in_training_is_found(book, mode) -> None:
    split = make_split(book, mode, 0.7, 0)
    moved = replace(split, train_tasks=np.union1d(split.train_tasks, split.test_tasks[:1]))
    told = check_split(moved, book)
    assert any("is in training and in test" in fault for fault in told)
    assert any("which is no training recipe" in fault for fault in told)
    both = replace(split, train_recipes=np.concatenate([split.train_recipes, recipe_rows(split, "test")[:1]]))
    assert any("is in training and in test" in fault for fault in check_split(both, book))


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "none"])
def test_a_test_item_in_validation_and_one_of_validation_in_training_are_found(book, mode) -> None:
    split = make_split(book, mode, 0.7, 0)
    for earlier, later in (("validation", "test"), ("train", "validation")):
        of = getattr(split, f"{earlier}_tasks")
        told = check_split(replace(split, **{f"{earlier}_tasks": np.union1d(of, split.tasks(later)[:1])}), book)
        where = "training and in validation" if earlier == "train" else "validation and in test"
        assert any(f"is in {where}" in fault for fault in told), told


def test_a_family_in_two_parts_is_found(book) -> None:
    book = RecipeBook(
        "families", book.entities, [tuple(book.entities[i] for i in (c, a, b)) for a, b, c in book.recipes]
    )
    book.origins = tuple(f"family:{row % 6}" for row in range(len(book)))
    split = make_split(book, "by_family", 0.7, 0)
    assert check_split(split, book) == []
    moved = replace(
        split,
        train_recipes=np.concatenate([split.train_recipes, split.test_recipes[:1]]),
        test_recipes=split.test_recipes[1:],
    )
    assert any(fault.startswith("the family ") for fault in check_split(moved, book))
    book.origins = ("own",) * len(book)
    assert any("and its origin own is no family" in fault for fault in check_split(split, book))


def test_each_way_of_splitting_has_its_own_faults(book) -> None:
    by_recipe, by_goal = make_split(book, "by_recipe", 0.7, 0), make_split(book, "by_goal", 0.7, 0)

    def under(split, mode: str, **changes):
        return check_split(replace(split, parameters={**split.parameters, "mode": mode}, **changes), book)

    # fire + wood makes three things: a part of them is no whole pair.
    several = np.flatnonzero(
        (by_recipe.train_recipes[:, :2] == [book.entity_id("fire"), book.entity_id("wood")]).all(1)
    )
    part = "train" if len(several) else "test"
    rows = recipe_rows(by_recipe, part)
    pair = np.flatnonzero((rows[:, :2] == [book.entity_id("fire"), book.entity_id("wood")]).all(1))
    other = {"train": "test", "test": "train"}[part]
    one = {
        f"{part}_recipes": np.delete(rows, pair[0], 0),
        f"{other}_recipes": np.concatenate([recipe_rows(by_recipe, other), rows[pair[:1]]]),
    }
    assert "what fire and wood make is in two parts" in under(by_recipe, "by_recipe", **one)
    assert any(
        "needs no test recipe" in fault for fault in under(by_recipe, "by_recipe", test_recipes=book.recipes[:0])
    )
    assert any("is made outside this part, by" in fault for fault in under(by_recipe, "by_goal"))
    assert any("no training recipe makes" in fault for fault in under(by_goal, "by_recipe_train_all_goals"))
    assert any("has the terminal goal" in fault for fault in under(by_goal, "by_goal_train_terminals"))


def test_parameters_that_give_another_split_are_found(book) -> None:
    split = make_split(book, "by_recipe", 0.7, 0)
    changed = replace(split, parameters={**split.parameters, "seed": 1})
    assert check_split(changed, book) == ["its parameters make another split than this one"]
    changed = replace(split, parameters={**split.parameters, "train_ratio": 7})
    assert check_split(changed, book)[0].startswith("its parameters make no split: train_ratio is 7")
    changed = replace(split, test_tasks=np.array([10_000]))
    assert check_split(changed, book) == ["it names tasks that the book does not have: there are 35"]


def test_many_faults_are_told_in_short(book) -> None:
    split = make_split(book, "by_recipe", 0.5, 0)
    told = check_split(replace(split, train_recipes=split.train_recipes[:0]), book)
    assert any(fault.startswith("... and ") for fault in told)


def test_another_book_is_refused(book) -> None:
    with pytest.raises(InputError, match="made for the recipe book small"):
        check_split(make_split(book), RecipeBook("other", ["a", "b", "c"], [("c", "a", "b")]))
