"""`gumption splits wordcraft`: split files of all kinds, made, checked, used and refused."""

import json
import sys
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.envs.wordcraft import RecipeBook, Split, make_split
from gumption.scripts import cli


@pytest.fixture
def gumption(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gumption", "splits", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    "mode", ["by_recipe", "by_recipe_train_all_goals", "by_goal", "by_goal_train_terminals", "by_task"]
)
def test_each_kind_is_made_checked_and_played(gumption, small_book, tmp_path, mode) -> None:
    book = ("--recipe-book", str(small_book))
    how = ("--split", mode, "--train-ratio", "0.7", "--seed", "3", "--depth", "1")
    code, out, err = gumption("wordcraft", *book, *how, "--out", "split.json")
    assert (code, err) == (0, "")
    made = Split.load("split.json", RecipeBook.load(small_book))
    assert made.hash == make_split(RecipeBook.load(small_book), mode, 0.7, 3).hash
    assert f"made and checked, sha256 {made.hash[:12]} (mode {mode}, train_ratio 0.7, seed 3, depth 1" in out
    code, out, err = gumption("wordcraft", *book, "--check", "split.json")
    assert (code, err) == (0, "")
    assert "split.json: nothing of a test or validation item is in training" in out
    before = (tmp_path / "split.json").stat().st_ino
    assert gumption("wordcraft", *book, *how, "--out", "split.json")[0] == 0
    assert (tmp_path / "split.json").stat().st_ino == before
    env = gym.make("gumption/WordCraft-v0", recipe_book=str(small_book), split="split.json", partition="test")
    assert env.unwrapped.split.hash == made.hash


def test_another_split_is_replaced_only_by_force(gumption, small_book) -> None:
    book = ("--recipe-book", str(small_book))
    gumption("wordcraft", *book, "--out", "split.json")
    code, out, err = gumption("wordcraft", *book, "--seed", "1", "--out", "split.json")
    assert (code, out) == (2, "")
    assert err == "error: split.json holds something else; choose another name, or replace it with --force\n"
    assert gumption("wordcraft", *book, "--seed", "1", "--out", "split.json", "--force")[0] == 0


def test_a_leak_is_told_with_exit_code_1(gumption, small_book) -> None:
    book = RecipeBook.load(small_book)
    split = make_split(book, "by_recipe", 0.7)
    leaky = replace(split, train_tasks=np.union1d(split.train_tasks, split.test_tasks[:1]))
    leaky.save("leaky.json")
    code, out, err = gumption("wordcraft", "--recipe-book", str(small_book), "--check", "leaky.json")
    assert (code, err) == (1, "")
    assert "is in training and in test" in out


def test_a_book_without_families_has_no_split_by_family(gumption, small_book, tmp_path) -> None:
    code, out, err = gumption(
        "wordcraft", "--recipe-book", str(small_book), "--split", "by_family", "--out", "split.json"
    )
    assert (code, out) == (2, "")
    assert err.startswith("error: the recipe book book names no families, so it has no split by_family; write family:")
    assert not (tmp_path / "split.json").exists()


def test_few_tasks_and_a_file_without_a_validation_part_are_told(gumption, small_book) -> None:
    book = ("--recipe-book", str(small_book))
    code, out, _ = gumption("wordcraft", *book, "--out", "split.json")
    split = Split.load("split.json")
    assert code == 0
    for part in ("validation", "test"):
        assert f"note: the {part} part has only {len(split.tasks(part))} tasks: a success on it is told with" in out
    make_split(RecipeBook.load(small_book), fit_validation=True).save("second.json")
    code, out, _ = gumption("wordcraft", *book, "--check", "second.json")
    assert code == 0
    assert "there is no validation part: validation is a part of training here" in out


def test_tasks_that_the_other_part_solves_are_counted_and_those_of_an_old_file_told(gumption, tmp_path) -> None:
    rows = ["result\tingredient\tingredient", "bicycle\twheel\twheel", "bicycle\tseat\twheel", "chair\tseat\twood"]
    (tmp_path / "wheels.tsv").write_text("\n".join(rows) + "\n")
    book = RecipeBook.load("wheels.tsv")
    how = ("wordcraft", "--recipe-book", "wheels.tsv", "--train-ratio", "0.6")
    code, out, err = gumption(*how, "--seed", "1", "--out", "split.json")
    assert (code, err) == (0, "")
    split = Split.load("split.json", book)
    assert split.left_out == {"train": 1, "validation": 0, "test": 0}
    rows = [line.replace("│", " ").split() for line in out.splitlines()]
    assert [row for row in rows if row[:1] in (["train"], ["test"])] == [
        ["train", "1", "2", "1"],
        ["test", "1", "1", "0"],
    ]
    replace(split, train_tasks=np.array([0, 2]), left_out=None, validation_tasks=None, validation_recipes=None).save(
        "first.json"
    )
    code, out, err = gumption("wordcraft", "--recipe-book", "wheels.tsv", "--check", "first.json")
    assert (code, err) == (1, "")
    assert out == "training task 0 (bicycle) is solved with wheel + wheel > bicycle, a test recipe\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give either --out, a file to write the split to, or --check"),
        (("--out", "a.json", "--check", "a.json"), "give either --out"),
        (("--check", "a.json", "--seed", "0"), "--seed is for --out; --check has no use for it"),
        (("--check", "a.json"), "a.json: cannot be read (No such file or directory); make it again"),
        (("--out", "a.txt"), "cannot write a.txt: choose a name that ends in .json"),
        (("--out", "a.json", "--split", "by_colour"), "--split is 'by_colour'; it can be by_recipe"),
        (("--out", "a.json", "--train-ratio", "1.5"), "--train-ratio is 1.5; it is a number above 0 and at most 1"),
        (("--out", "a.json", "--depth", "7"), "depth is 7; it is a whole number from 1 to 6"),
    ],
)
def test_bad_arguments_are_refused(gumption, tmp_path, arguments, told) -> None:
    code, out, err = gumption("wordcraft", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert told in err
    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_and_one_of_another_book_are_refused(gumption, small_book, tmp_path) -> None:
    gumption("wordcraft", "--recipe-book", str(small_book), "--out", "a.json")
    code, _, err = gumption("wordcraft", "--check", "a.json")
    assert code == 2
    assert "a.json: made for the recipe book book" in err
    content = json.loads((tmp_path / "a.json").read_text())
    content["train_tasks"] = content["train_tasks"][1:]
    (tmp_path / "a.json").write_text(json.dumps(content))
    code, _, err = gumption("wordcraft", "--recipe-book", str(small_book), "--check", "a.json")
    assert (code, err) == (
        2,
        "error: a.json: its content does not match its sha256, so it was changed; make it again, restore it from "
        "a copy, or read it as it is with `gumption --no-verify ...`\n",
    )


def test_a_world_without_splits_is_told(gumption, monkeypatch) -> None:
    from gumption.envs import worlds

    bare = worlds.World("bare", "Bare", "Nothing.", "nobody", (worlds.Environment("x/Bare-v0", "a:b", "a:b"),))
    monkeypatch.setitem(worlds.WORLDS, "bare", bare)
    code, _, err = gumption("bare", "--out", "x")
    assert code == 2
    assert err.startswith("error: the world 'bare' offers no such command; there is one of ")
