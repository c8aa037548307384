"""`gumption train` and `gumption evaluate` as they are called: what they print, keep and refuse."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from gumption.envs.wordcraft import Split
from gumption.scripts import cli

ROWS = """
mud water earth     steam water fire    lava earth fire    brick mud fire     stone lava air     obsidian lava water
sand stone air      glass sand fire     wall brick brick   house wall wall    geyser steam earth energy fire fire
plasma energy fire  rain sky water      plant rain earth   wood plant time    smoke wood fire    desert sand sand
oasis desert water  tool stone wood     axe tool wood      forest plant plant beach sand water   swamp mud plant
"""


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def gumption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Call the command line in a folder with a recipe book small.tsv."""
    words = ROWS.split()
    lines = ["\t".join(words[i : i + 3]) for i in range(0, len(words), 3)]
    (tmp_path / "small.tsv").write_text("\n".join(["result\tingredient\tingredient", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))

    def call(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["gumption", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return Result(int(ended.value.code or 0), captured.out, captured.err)

    return call


BOOK = ("--recipe-book", "small.tsv", "--device", "cpu")
TRAIN = ("train", "wordcraft", *BOOK, "--features", "onehot", "--distractors", "2")
SHORT = (*TRAIN, "--preset", "paper", "--steps", "1024", "--eval-interval", "512")


TIMES = ("wall_s", "steps_per_s", "metrics.jsonl", "sha256")


def everything(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_train_keeps_a_run_that_evaluate_reads(gumption, tmp_path: Path) -> None:
    done = gumption(*SHORT, "--run", "runs/mine")
    assert done.code == 0, done.err
    run = tmp_path / "runs" / "mine"
    final = json.loads((run / "final.json").read_text())
    assert f"success on unseen recipes {final['test_success']:.1%}" in done.out
    assert f"training tasks {final['train_success']:.1%}" in done.out
    assert done.out.rstrip().endswith("the run is in runs/mine")
    assert [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [512, 1024]

    told = gumption("evaluate", "runs/mine", "--recipe-book", "small.tsv", "--draws", "10", "--seed", "1", "--json")
    found = json.loads(told.out)
    assert found["success"] == final["test_success"]
    assert found["partition"] == "test"
    other = gumption(
        "evaluate", "runs/mine", "--recipe-book", "small.tsv", "--distractors", "0", "--partition", "train"
    )
    assert "train tasks (by_recipe, 0 distractors, depth 1)" in other.out
    assert "one slot twice" in other.out
    for player in ("trained", "untrained", "random", "oracle"):
        assert player in other.out


def test_every_option_of_train_is_in_the_config(gumption, tmp_path: Path) -> None:
    options = {
        "--depth": ("depth", "2", 2), "--split": ("split", "by_goal", "by_goal"), "--seed": ("seed", "5", 5),
        "--train-ratio": ("train_ratio", "0.7", 0.7), "--features": ("features", "random", "random"),
        "--agent": ("agent", "mlp", "mlp"), "--steps": ("total_steps", "256", 256),
        "--eval-interval": ("eval_interval", "256", 256), "--preset": ("preset", "paper", "paper"),
        "--distractors": ("num_distractors", "1", 1),
    }  # fmt: skip
    words = [word for option, (_, typed, _) in options.items() for word in (option, typed)]
    done = gumption("train", "wordcraft", *BOOK, *words, "--run", "one")
    assert done.code == 0, done.err
    config = json.loads((tmp_path / "one" / "config.json").read_text())
    assert {name: config[name] for name, _, _ in options.values()} == {name: v for name, _, v in options.values()}
    assert config["recipe_book"] == "small.tsv"
    assert config["device"] == "cpu"


def test_options_of_knowledge_are_in_the_config(gumption, tmp_path: Path) -> None:
    words = ("--kg", "train", "--scores", "combinesWith,componentOf", "--raw", "--cross-fit")
    done = gumption(*TRAIN, "--steps", "256", *words, "--run", "two")
    assert done.code == 0, done.err
    config = json.loads((tmp_path / "two" / "config.json").read_text())
    assert config["kg"] == "train"
    assert config["kg_scores"] == ["combinesWith", "componentOf"]
    assert config["kg_calibrated"] is False
    assert config["cross_fit"] is True


def test_a_run_is_not_overwritten_and_can_be_asked_for_again(gumption, tmp_path: Path) -> None:
    first = gumption(*SHORT, "--run", "mine")
    before = everything(tmp_path / "mine")
    refused = gumption(*SHORT, "--run", "mine")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == ("error: mine holds a run already; go on with it (--resume), or choose another name\n")
    other = gumption(*SHORT, "--seed", "1", "--run", "mine", "--resume")
    assert (other.code, other.err) == (2, "error: mine was begun with another seed; choose another name\n")
    assert everything(tmp_path / "mine") == before
    again = gumption(*SHORT, "--run", "mine", "--resume")
    assert (again.code, again.out) == (0, first.out)
    assert everything(tmp_path / "mine") == before


def test_a_run_that_was_moved_goes_on_by_resume_alone(gumption, tmp_path: Path) -> None:
    assert gumption(*MAKE_SPLIT, "--out", "goals.json").code == 0
    whole = gumption(*SHORT, "--split", "goals.json", "--seed", "4", "--run", "mine")
    assert whole.code == 0, whole.err
    archive = shutil.make_archive("mine", "zip", "mine")
    for left in ("mine", "small.tsv", "goals.json"):
        shutil.rmtree(left) if Path(left).is_dir() else Path(left).unlink()
    shutil.unpack_archive(archive, "elsewhere/mine")
    figures = json.loads(Path("elsewhere/mine/final.json").read_text())
    Path("elsewhere/mine/final.json").unlink()
    again = gumption("train", "wordcraft", "--run", "elsewhere/mine", "--resume")
    assert again.code == 0, again.err
    final = json.loads(Path("elsewhere/mine/final.json").read_text())
    assert {name: final[name] for name in final if name not in TIMES} == {
        name: figures[name] for name in figures if name not in TIMES
    }
    assert (
        json.loads(gumption("evaluate", "elsewhere/mine", "--draws", "10", "--seed", "5", "--json").out)["success"]
        == (final["test_success"])
    )
    other = gumption("train", "wordcraft", "--run", "elsewhere/mine", "--resume", "--seed", "5")
    assert (other.code, other.err) == (2, "error: elsewhere/mine was begun with another seed; choose another name\n")


def test_a_run_that_is_not_there_is_not_gone_on_with(gumption, tmp_path: Path) -> None:
    refused = gumption("train", "wordcraft", "--run", "typo", "--resume")
    assert refused.code == 2
    assert refused.err == "error: typo holds no run to go on with; leave out --resume to begin one\n"
    assert not (tmp_path / "typo").exists()
    begun = gumption(*SHORT, "--run", "typo", "--resume")  # a command that was killed at once is called again
    assert begun.code == 0
    assert "note: typo holds no run to go on with: it begins now" in begun.err


# ---- a split file of one's own

LONGER = (*TRAIN, "--steps", "4096", "--eval-interval", "4096")
MAKE_SPLIT = ("splits", "wordcraft", "--recipe-book", "small.tsv", "--split", "by_goal", "--seed", "3")


def test_a_run_on_a_split_file_keeps_the_split(gumption, tmp_path: Path) -> None:
    assert gumption(*MAKE_SPLIT, "--out", "goals.json").code == 0
    made = (tmp_path / "goals.json").read_bytes()
    done = gumption(*LONGER, "--split", "goals.json", "--run", "mine")
    assert done.code == 0, done.err
    assert done.out.startswith("success on unseen goals ")
    run = tmp_path / "mine"
    assert (run / "files" / "split" / "goals.json").read_bytes() == made
    assert json.loads((run / "manifest.json").read_text())["split"]["sha256"] == Split.load("goals.json").hash
    final = json.loads((run / "final.json").read_text())
    asked = ("--recipe-book", "small.tsv", "--draws", "10", "--seed", "1", "--json")
    (tmp_path / "goals.json").unlink()
    found = json.loads(gumption("evaluate", "mine", *asked).out)
    assert found["success"] == final["test_success"]
    goals = json.loads(made)
    assert found["episodes"] == 10 * len(goals["test_tasks"])

    same = gumption(*LONGER, "--split", "by_goal", "--split-seed", "3", "--run", "same")
    assert same.code == 0, same.err
    again = json.loads((tmp_path / "same" / "final.json").read_text())
    assert again["test_success"] == final["test_success"]
    assert again["train_success"] == final["train_success"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:-20], "goals.json: not valid JSON ("),
        (
            lambda text: text.replace('"seed":3', '"seed":4'),
            "goals.json: its content does not match its sha256, so it was changed",
        ),
        (lambda text: "{}", "goals.json: schema is None, expected 'gumption/wordcraft-split/"),
    ],
    ids=["cut", "changed", "empty"],
)
def test_a_damaged_split_file_is_refused(gumption, tmp_path: Path, damage: Any, message: str) -> None:
    assert gumption(*MAKE_SPLIT, "--out", "goals.json").code == 0
    text = (tmp_path / "goals.json").read_text()
    assert damage(text) != text
    (tmp_path / "goals.json").write_text(damage(text))
    refused = gumption(*LONGER, "--split", "goals.json", "--run", "mine")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"error: {message}")
    assert not (tmp_path / "mine").exists()


def test_a_split_file_of_another_book_or_depth_is_refused(gumption, tmp_path: Path) -> None:
    rows = (tmp_path / "small.tsv").read_text()
    (tmp_path / "large.tsv").write_text(rows + "roof\ttool\tbrick\n")
    assert gumption(*MAKE_SPLIT, "--out", "goals.json").code == 0
    for arguments, message in (
        (("--recipe-book", "large.tsv"), "made for the recipe book small"),
        (("--depth", "2"), "the split was made with depth=1, the environment has 2"),
        (("--split", "goals.txt"), "split is 'goals.txt'; it can be by_recipe, "),
        (("--split", "none.json"), "none.json: cannot be read (No such file or directory)"),
    ):
        refused = gumption(*LONGER, "--split", "goals.json", *arguments, "--run", "mine")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith("error: ")
        assert message in refused.err
        assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*TRAIN, "--scores", "makes,likes", "--kg", "full"), "kg_scores names 'likes'"),
        ((*TRAIN, "--kg", "none.nq"), "there is no graph at none.nq: make one with `gumption kg build`"),
        ((*TRAIN, "--scores", "componentOf"), "that is for knowledge"),
        ((*TRAIN, "--raw"), "that is for knowledge"),
        ((*TRAIN, "--cross-fit"), "cross_fit is for an agent that learns with kg='train'"),
        ((*TRAIN, "--steps", "0"), "--steps is 0"),
        ((*TRAIN, "--seed", "-1"), "seed is -1"),
        ((*TRAIN, "--distractors", "99"), "num_distractors is 99"),
        ((*TRAIN, "--word-vectors", "none.bin", "--features", "glove"), "none.bin: no such file of word vectors"),
        ((*TRAIN, "--recipe-book", "smal.tsv"), "smal.tsv: no such recipe file"),
        ((*TRAIN, "--device", "abacus"), "device 'abacus' cannot be used"),
        (("evaluate", "nowhere"), "nowhere/config.json: not a complete run"),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(
    gumption, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    where = () if arguments[0] == "evaluate" else ("--run", "mine")
    refused = gumption(*arguments, *where)
    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.startswith("error: ")
    assert refused.err.count("\n") == 1
    assert message in refused.err
    assert [file.name for file in tmp_path.iterdir()] == ["small.tsv"]


def test_a_bad_row_of_a_recipe_file_is_told_with_its_line(gumption, tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text("result\tingredient\tingredient\nmud\twater\tearth\nsteam\twater\n")
    refused = gumption(*TRAIN, "--recipe-book", "bad.tsv", "--run", "mine")
    assert refused.code == 2
    assert refused.err.startswith("error: bad.tsv:3: ")
    assert not (tmp_path / "mine").exists()
