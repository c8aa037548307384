"""`gumption play wordcraft`: the protocol of 40 + 40 tasks, its result file, and games that are interrupted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gumption.envs.wordcraft import RecipeBook, make_split
from gumption.scripts.people.wordcraft.game import begin

GUMPTION = [sys.executable, "-m", "gumption.scripts.cli", "play"]


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """A recipe file of 14 entities: ab makes a+b, for a < b of a..d, and letters that make nothing."""
    letters = "abcd"
    entities = {x: {"recipes": []} for x in "abcdvwxyz"}
    entities |= {x + y: {"recipes": [[x, y]]} for x in letters for y in letters if x < y}
    path = tmp_path_factory.mktemp("book") / "letters.json"
    path.write_text(json.dumps({"entities": entities}))
    return path


def play(book: Path, out: Path, answers: str, *more: str) -> subprocess.CompletedProcess[str]:
    options = ["--recipe-book", str(book), "--distractors", "2", "--train-tasks", "2", "--test-tasks", "1"]
    return subprocess.run(
        [*GUMPTION, "wordcraft", *options, "--out", str(out), *more],
        input=answers,
        capture_output=True,
        text=True,
        check=False,
    )


def right_answers(book: Path, out: Path) -> list[str]:
    """Play wrongly once, only to see the tables; the two slots that solve each task."""
    play(book, out, "0\n0\n" * 3)
    records = json.loads(out.read_text())["records"]
    out.unlink()
    return ["".join(f"{record['table'].index(letter)}\n" for letter in record["goal"]) for record in records]


def test_a_whole_game(book: Path, tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    answers = right_answers(book, out)
    done = play(book, out, f"{answers[0]}0\n0\n99\nnowt\n-1\n\n{answers[2]}")
    assert done.returncode == 0, done.stderr
    assert "training task 2 of 2" in done.stdout
    assert "test task 1 of 1" in done.stdout
    assert "no feedback from here on" in done.stdout
    assert done.stdout.count("One way was") == 1
    assert done.stdout.count("is neither a candidate nor a number from 0 to ") == 4
    assert "; One way" not in done.stdout.split("no feedback")[1]
    assert "reward" not in done.stdout.split("no feedback")[1], "of test tasks nothing is shown"
    assert "100% of 1 test tasks solved" in done.stdout
    result = json.loads(out.read_text())
    assert (result["success"], result["train_success"], result["complete"]) == (1.0, 0.5, True)
    loaded = RecipeBook.load(book)
    split = make_split(loaded, "by_recipe", 0.8, 0, 1, fit_validation=True)
    assert result["split_hash"] == split.hash
    assert result["book"] == {"name": "letters", "hash": loaded.hash}
    assert result["settings"]["num_distractors"] == 2
    parts = [record["part"] for record in result["records"]]
    assert parts == ["train", "train", "test"]
    tasks = [record["task"] for record in result["records"]]
    assert set(tasks[:2]) <= set(split.train_tasks.tolist())
    assert tasks[2] in split.test_tasks
    for record in result["records"]:
        assert len(record["table"]) == 4
        assert len(record["chosen"]) == 2
        assert record["seconds"] >= 0
    assert [file.name for file in tmp_path.iterdir()] == ["me.json"]


@pytest.mark.slow
def test_the_end_of_the_input_keeps_what_was_played(book: Path, tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    answers = right_answers(book, tmp_path / "other.json")
    stopped = play(book, out, answers[0] + answers[1][:2])
    assert stopped.returncode == 2
    assert "error: the input ended after 1 steps, before the episode did" in stopped.stderr
    assert f"{out} keeps 1 of 3 tasks and what was done since" in stopped.stderr
    result = json.loads(out.read_text())
    assert (len(result["records"]), result["complete"], result["success"]) == (2, False, None)
    assert (result["train_success"], len(result["records"][1]["actions"])) == (1.0, 1)
    quitted = play(book, out, answers[1][2:] + "q\n")
    assert quitted.returncode == 0
    assert "Continuing with task 2 of 3" in quitted.stdout
    assert f"{out} keeps 2 of 3 tasks" in quitted.stdout
    done = play(book, out, answers[2])
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["success"] == 1.0
    again = play(book, out, "")
    assert again.returncode == 2
    assert "this game is finished (success 100%)" in again.stderr


def test_another_game_in_the_file(book: Path, tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    play(book, out, "0\n")
    done = play(book, out, "", "--seed", "3")
    assert done.returncode == 2
    assert "holds another game (seed not the same)" in done.stderr
    out.write_text(out.read_text().replace('"actions": [', '"actions": [99, '))
    done = play(book, out, "")
    assert done.returncode == 2
    assert "its actions cannot be made again" in done.stderr
    out.write_text("{}")
    done = play(book, out, "")
    assert done.returncode == 2
    assert "not a result of gumption play" in done.stderr


@pytest.mark.slow
def test_bad_settings(book: Path, tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    for more, message in (
        (["--test-tasks", "9"], "--test-tasks is 9; the split has 1"),
        (["--distractors", "30"], "num_distractors is 30"),
        (["--recipe-book", "nothing.tsv"], "no such recipe file"),
    ):
        done = play(book, out, "", *more)
        assert done.returncode == 2
        assert message in done.stderr
    assert not out.exists()
    done = subprocess.run([*GUMPTION, "chess"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown world 'chess'" in done.stderr


def test_tasks_of_a_study_share_no_state() -> None:
    settings = {"distractors": 2, "part": "train", "tasks": 3, "seed": 7}
    first, other, again = (begin(**settings, number=number)[0] for number in (0, 1, 0))
    before = other.batch.describe(0)["table"], again.batch.describe(0)["table"]
    for slot in (0, 1):
        *_, terminated, _, _ = first.step(slot)
    assert terminated
    assert (other.batch.describe(0)["table"], again.batch.describe(0)["table"]) == before
    assert first.batch.book is other.batch.book
    for slot in (0, 1):
        again.step(slot)
    assert again.batch.describe(0)["table"] == first.batch.describe(0)["table"]
