"""`gumption halma`: mazes drawn, told, saved, generated and measured."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from gumption.agents.halma.space import FOLDER, KIND
from gumption.agents.run_folder import RunFolder, read_metrics
from gumption.data import InputError
from gumption.envs.halma import Maze, Mazes, Rules, check_unambiguous, oracle_trials, sample_mazes
from gumption.envs.halma.generator import sample_statistics
from gumption.envs.halma.render import draw, trial_gif
from gumption.kg.checkpoint import load_checkpoint, save_checkpoint
from gumption.scripts.papers.halma import commands as command


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(command.app, [str(a) for a in arguments], catch_exceptions=False, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


def test_a_maze_is_drawn_told_and_saved(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    files = {name: tmp_path / "out" / f"maze.{name}" for name in ("json", "png", "gif")}
    told = run("maze", "--seed", "3", *(part for name, path in files.items() for part in (f"--{name}", path)))
    (maze,) = sample_mazes(1, 3)
    assert draw(maze, maze.start, "ansi") in told
    assert f"{len(maze.cells)} cells, {len(maze.crossings)} crossings" in told
    trials = oracle_trials(maze, 5)
    for name, trial in (("first trial", trials.exploring), ("then", trials.planned)):
        line = re.search(rf"oracle, {name}: +(.*) \((\d+) moves\)", told)
        assert line is not None
        assert line[1] == ", ".join(f"{direction} {length}" for direction, length in trial)
        assert int(line[2]) == len(trial)
    assert Maze.from_json(json.loads(files["json"].read_text())) == maze
    with Image.open(files["png"]) as picture:
        assert picture.size == (1230, 780)
    with Image.open(files["gif"]) as animation:
        assert getattr(animation, "n_frames", 1) == len(trials.exploring) + 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in files.values()}
    assert run("maze", "--file", files["json"]) == told.split("saved:")[0]


def test_a_maze_is_drawn_under_other_names_and_laws(tmp_path: Path) -> None:
    gif, other = tmp_path / "maze.gif", tmp_path / "other.gif"
    real = run("maze", "--seed", "3")
    (maze,) = sample_mazes(1, 3)
    for names, laws in (("anonymous", "real"), ("real", "counterfactual")):
        rules = Rules(names=names, laws=laws)
        told = run("maze", "--seed", "3", "--names", names, "--laws", laws, "--gif", gif)
        assert draw(maze, maze.start, "ansi", rules=rules) in told
        assert draw(maze, maze.start, "ansi") not in told
        for line in ("oracle, first trial", "oracle, then"):  # a maze is the same under any names and laws
            assert told.split(line)[1].splitlines()[0] == real.split(line)[1].splitlines()[0]
        trial_gif(other, maze, oracle_trials(maze, 5, rules).exploring, rules=rules)
        assert gif.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [("maze", "--gif", "a.gif"), ("maze", "--png", "a.png"), ("statistics", "--plot", "a.png")],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_done(
    tmp_path: Path, command: str, option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = ["--json", tmp_path / "maze.json"] if command == "maze" else []
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"cannot write .*{name}: Not a directory"):
        run(command, *saved, option, tmp_path / "file" / name)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
    assert capsys.readouterr().out == ""


def test_a_line_of_a_file_and_other_settings(tmp_path: Path) -> None:
    mazes = sample_mazes(3, 1, mean_depth=5, mean_branches=3)
    Mazes(mazes).save(tmp_path / "mazes.jsonl")
    told = run("maze", "--file", tmp_path / "mazes.jsonl", "--line", "2", "--max-opt-len", "1")
    assert draw(mazes[1], mazes[1].start, "ansi") in told
    assert f"({len(oracle_trials(mazes[1], 1).planned)} moves)" in told
    deep = run("maze", "--seed", "1", "--mean-depth", "5", "--mean-branches", "3")
    assert draw(mazes[0], mazes[0].start, "ansi") in deep
    with pytest.raises(InputError, match=r"--line is 4; .*mazes.jsonl has 3"):
        run("maze", "--file", tmp_path / "mazes.jsonl", "--line", "4")
    with pytest.raises(InputError, match=r"none.jsonl: cannot be read"):
        run("maze", "--file", tmp_path / "none.jsonl")


def test_mazes_are_generated_into_a_file(tmp_path: Path) -> None:
    out = tmp_path / "mazes.jsonl"
    told = run("generate", "--count", "20", "--seed", "4", "--mean-depth", "3", "--mean-branches", "2", "--out", out)
    assert f"{out}: 20 mazes" in told
    assert list(Mazes.load(out)) == sample_mazes(20, 4, 3, 2)
    before = out.read_bytes()
    run("generate", "--count", "20", "--seed", "4", "--mean-depth", "3", "--mean-branches", "2", "--out", out)
    assert out.read_bytes() == before
    for maze in Mazes.load(out):
        check_unambiguous(maze)
    with pytest.raises(InputError, match="--mean-depth is 0"):
        run("generate", "--mean-depth", "0", "--out", tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_what_the_oracle_cannot_follow_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator makes valid mazes alone, so the check has to be made stricter for one to fail."""
    import gumption.envs.halma as world

    def refuse(maze: Maze) -> None:
        raise InputError(f"the optimal path is ambiguous: {maze}")

    monkeypatch.setattr(world, "check_unambiguous", refuse)
    with pytest.raises(InputError, match="ambiguous"):
        run("generate", "--count", "1", "--out", tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_the_statistics(tmp_path: Path) -> None:
    settings = ("--sets", "2", "--mazes", "20", "--seed", "5", "--mean-depth", "3", "--mean-branches", "4")
    told = run("statistics", *settings, "--plot", tmp_path / "s.png")
    found = sample_statistics(2, 20, 5, 3, 4)
    rows = {
        cells[0]: cells[1:]
        for line in told.splitlines()
        if line.startswith("│")
        for cells in [[cell.strip() for cell in line.strip("│").split("│")]]
    }
    assert rows["purple"][:2] == [f"{found.colours[:, 6].mean():.1f}", f"{found.colours[:, 6].std():.1f}"]
    assert rows["9"][:2] == [f"{found.digits[:, 8].mean():.1f}", f"{found.digits[:, 8].std():.1f}"]
    assert rows["0"][:2] == ["0.0", "0.0"]
    assert f"panels of 3 to 6 digits: {found.share(3, 6).mean():.1%}" in told
    assert f"R² {found.log_fit.r_squared:.3f}" in told
    with Image.open(tmp_path / "s.png") as picture:
        assert picture.size == (1300, 910)
    assert "saved" not in run("statistics", *settings)


@pytest.mark.slow
def test_a_space_model_is_pretrained_and_probed(tmp_path: Path) -> None:
    def pretrain(preset: str) -> str:
        arguments = ("pretrain", "--run", str(tmp_path / "space"), "--preset", preset, "--steps", "50")
        more = ("--batch-size", "1", "--mazes", "2")
        return CliRunner().invoke(command.app, [*arguments, *more], catch_exceptions=False).output

    pretrained = "pretrained on panels of 2 mazes, 50 steps; the model is in"
    assert pretrain("fast").split("\n")[-2].startswith(pretrained)
    assert run("pretrain", "--run", tmp_path / "space", "--resume").split("\n")[-2].startswith(pretrained)
    with pytest.raises(InputError, match="preset is 'slow'; it can be paper, fast"):
        pretrain("slow")
    tensors, meta = load_checkpoint(tmp_path / "space" / FOLDER, KIND)
    tensors["model.foreground.cell_heads.bias"][0] = 9.0  # so short a training finds nothing: let it find all
    save_checkpoint(tmp_path / "space" / FOLDER, tensors, meta)
    told = json.loads(run("probe", tmp_path / "space", "--panels", "40", "--json"))
    assert told["panels"] == 40
    assert told["digit_pixels"]["accuracy"] > 0.5  # of the digits themselves
    assert "of the slots" in run("probe", tmp_path / "space", "--panels", "40", "--plot", tmp_path / "probe.png")
    assert (tmp_path / "probe.png").stat().st_size > 10_000


SMALL_SPACE = (
    *("--steps", "4", "--log-interval", "1", "--checkpoint-interval", "2", "--batch-size", "1", "--mazes", "2"),
    *("--preset", "fast", "--device", "cpu", "--set", "grid=4", "--set", "glimpse=8", "--set", "what=4"),
    *("--set", "features=16", "--set", "mask=4", "--set", "component=4", "--set", "hidden=4"),
)


def without_clock(folder: Path) -> list[dict[str, float]]:
    lines = read_metrics(folder)
    return [{name: line[name] for name in line if name not in ("wall_s", "steps_per_s")} for line in lines]


@pytest.mark.slow
def test_a_pretraining_goes_on_by_resume_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("pretrain", "--run", tmp_path / "whole", *SMALL_SPACE)
    with monkeypatch.context() as patch:
        save = RunFolder.save

        def save_and_stop(folder: RunFolder, tensors: Any, meta: Any) -> None:
            save(folder, tensors, meta)
            raise KeyboardInterrupt

        patch.setattr(RunFolder, "save", save_and_stop)
        stopped = CliRunner().invoke(command.app, ["pretrain", "--run", str(tmp_path / "stopped"), *SMALL_SPACE])
    assert stopped.exit_code
    (tmp_path / "stopped").rename(tmp_path / "moved")
    run("pretrain", "--run", tmp_path / "moved", "--resume")
    assert without_clock(tmp_path / "moved") == without_clock(tmp_path / "whole")
    tensors = [load_checkpoint(tmp_path / name / FOLDER, KIND)[0] for name in ("moved", "whole")]
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[1])
    with pytest.raises(InputError, match="was begun with another seed; choose another name"):
        run("pretrain", "--run", tmp_path / "moved", "--resume", "--seed", "3")
    run("pretrain", "--run", tmp_path / "moved", "--resume", "--steps", "6", "--device", "auto")
    assert len(without_clock(tmp_path / "moved")) == 6
