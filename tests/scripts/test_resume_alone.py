"""A run that was stopped, zipped, moved and unzipped goes on by `--resume` alone, in every world."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gumption.data.writing import write_json
from gumption.scripts import cli

TIMES = ("wall_s", "steps_per_s")
STOPPED = 130  # the exit code after Ctrl-C
LEVELS = {
    "numbers": [["GoalTile", 1], ["GolfBall", 1]],
    "priors": [{"target": "Position", "value": {"noise": "RandomTopLocation"}, "entity_type": "GoalTile"}],
}
DISCS = [
    {"id": one, "color": color, "mass": "medium", "magnetism": "medium", "polarity": "+", "stored": cell}
    for cell, (one, color) in enumerate((("a", "red"), ("b", "blue")))
]
TASK = {"schema": 1, "name": "easy/0", "family": "Curling", "objects": DISCS, "max_obj_num": 3, "max_grid_num": 3}

#: World -> words of `gumption train` or of a tool, which name files of one's own, and what these files are.
RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "segar": (
        "train segar --levels mine.json --observation state --num-levels 2 --test-levels 2 --num-envs 2 --n-steps 8 "
        "--minibatches 2 --steps 64 --eval-interval 32 --device cpu",
        ("mine.json",),
    ),
    "segar, guided": (
        "train segar --levels tilesx2-medium --kg mine.nq --num-levels 2 --test-levels 2 --steps 512 "
        "--eval-interval 256 --device cpu",
        ("mine.nq",),
    ),
    "probsol": (
        "train probsol --task task.json --kg mine.nq --num-envs 4 --n-steps 16 --batch-size 32 --steps 192 "
        "--eval-interval 64 --device cpu",
        ("task.json", "mine.nq"),
    ),
    "gradual, recurrent": (
        "gradual pretrain --tasks micro1 --batch-size 4 --unroll-length 8 --hidden-size 8 --steps 64 "
        "--eval-interval 32 --device cpu",
        (),
    ),
    "gradual": ("train gradual --env tasks=mine.toml --steps 1024 --eval-interval 512 --device cpu", ("mine.toml",)),
    "halma": ("train halma --episodes 4 --log-interval 2 --checkpoint-interval 2 --mazes 2 --device cpu", ()),
}


@pytest.fixture
def gumption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., str]:
    """Call the command line in a folder with files of one's own; gives what is printed."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["gumption", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, err
        return out

    write_json(tmp_path / "mine.json", LEVELS)
    (tmp_path / "mine.toml").write_text('tasks = ["micro1"]\n', encoding="utf-8")
    write_json(tmp_path / "task.json", {**TASK, "targets": [[0, 40, 200, 380]]})
    return call


def figures(run: Path) -> list[dict[str, Any]]:
    """The lines of metrics and the final figures, without what the clock tells."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines.append(json.loads((run / "final.json").read_text()))
    return [{name: line[name] for name in line if name not in (*TIMES, "metrics.jsonl", "sha256")} for line in lines]


SLOW = ("gradual", "halma")


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if case in SLOW else case for case in RUNS]
)
def test_a_run_that_was_moved_goes_on_by_resume_alone(
    gumption: Callable[..., str], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    line, files = RUNS[case]
    world, words = line.split()[1], line.split()
    if "mine.nq" in files:
        gumption("kg", "build", world, "--out", "mine.nq", *(("--task", "task.json") if world == "probsol" else ()))
    gumption(*words, "--run", "whole")
    with monkeypatch.context() as patch:
        stop_after_a_checkpoint(patch)
        gumption(*words, "--run", "stopped", code=STOPPED)
    assert not Path("stopped/final.json").exists()
    archive = shutil.make_archive("stopped", "zip", "stopped")
    shutil.rmtree("stopped")
    for file in files:
        Path(file).unlink()
    shutil.unpack_archive(archive, "else/where")
    command = ("gradual", "pretrain") if case == "gradual, recurrent" else ("train", world)
    gumption(*command, "--run", "else/where", "--resume")
    assert figures(Path("else/where")) == figures(Path("whole"))


def stop_after_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    from gumption.agents.run_folder import RunFolder

    save = RunFolder.save

    def save_and_stop(self: RunFolder, tensors: Any, meta: Any) -> None:
        save(self, tensors, meta)
        raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "save", save_and_stop)
