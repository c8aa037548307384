"""A command that is killed at any of its writes ends well when it is called again, with what it would have made."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("killed_commands.py")
BOOK = """
mud water earth     steam water fire    lava earth fire    brick mud fire     stone lava air     obsidian lava water
sand stone air      glass sand fire     wall brick brick   house wall wall    geyser steam earth energy fire fire
plasma energy fire  rain sky water      plant rain earth   wood plant time    smoke wood fire    desert sand sand
"""
WORDCRAFT = (
    "train wordcraft --recipe-book small.tsv --features onehot --distractors 1 --preset paper --steps 64 "
    "--eval-interval 32 --final-draws 1 --kg train --scores componentOf --device cpu --run run"
)
HALMA = (
    "train halma --agent mlp --mazes 3 --episodes 2 --log-interval 1 --checkpoint-interval 1 --kg full --device cpu "
    "--set num_envs=4 --set batch_size=32 --set hidden_size=16 --set candidates=2 --set random_candidates=1 --run run"
)
EVERY = 13  # of the many writes of a training, the one at which it is killed
FIT = "kg fit facts.tsv --out model --epochs 2 --rank 4 --device cpu"


def killed(tmp_path: Path, command: str, *before: str, resume: bool = False, first: int = 0, every: int = 1) -> int:
    """Kill the command at its writes; how many kills there were. Whatever goes wrong afterwards fails the test."""
    for name in ("base", "whole", "killed"):
        (tmp_path / name).mkdir()
    words = BOOK.split()
    rows = ["\t".join(words[i : i + 3]) for i in range(0, len(words), 3)]
    (tmp_path / "base" / "small.tsv").write_text("\n".join(["result\tingredient\tingredient", *rows]) + "\n")
    facts = [f"{a}\tcomponentOf\t{made}" for made, *parts in (row.split("\t") for row in rows) for a in parts]
    (tmp_path / "base" / "facts.tsv").write_text("\n".join(dict.fromkeys(facts)) + "\n")
    case = {
        "work": str(tmp_path), "before": [one.split() for one in before], "command": command.split(),
        "again": [*command.split(), *(["--resume"] if resume else [])], "first": first, "every": every,
    }  # fmt: skip
    environment = {**os.environ, "GUMPTION_CACHE_DIR": str(tmp_path / "cache"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, PROGRAM], input=json.dumps(case), capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["problems"] == []
    return found["kills"]


def test_loading_into_a_new_folder(tmp_path: Path) -> None:
    assert killed(tmp_path, "kg load kg facts.tsv --graph a") >= 4


def test_writing_a_file(tmp_path: Path) -> None:
    assert killed(tmp_path, "kg load kg.nq facts.tsv --graph a") >= 3


# The folder of a run is made and its first files written: what was not resumable once.
@pytest.mark.slow
@pytest.mark.parametrize(("command", "resume"), [(WORDCRAFT, True), (HALMA, True), (FIT, True)])
def test_training_and_fitting(tmp_path: Path, command: str, resume: bool) -> None:
    assert killed(tmp_path, command, resume=resume, every=EVERY) >= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "before", "least"),
    [
        ("kg load kg facts.tsv --graph b", ["kg load kg facts.tsv --graph a"], 1),
        ("kg build wordcraft --out kg --recipe-book small.tsv", [], 4),
        ("kg export facts.tsv --out parts", [], 4),
        ("kg mine facts.tsv --out rules.json --min-support 1", [], 2),
        ("splits wordcraft --recipe-book small.tsv --out split.json", [], 2),
        ("kg calibrate model --held-out facts.tsv", [FIT], 2),
        ("watch run --out played.html --delay 1", [HALMA], 2),
        ("splits halma --run run --out tests", [HALMA], 2),
    ],
    ids=["load", "build", "export", "mine", "split", "calibrate", "watch", "splits"],
)
def test_other_commands(tmp_path: Path, command: str, before: list[str], least: int) -> None:
    assert killed(tmp_path, command, *before) >= least
