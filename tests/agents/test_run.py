"""A training that collapses warns once, while it runs, in TensorBoard and in its final figures."""

import warnings
from collections.abc import Sequence
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.runs import train_halma
from gumption.agents.learners.impala import train_impala
from gumption.agents.probsol.config import ProbSolConfig
from gumption.agents.probsol.training import train_probsol
from gumption.agents.run import Learner, Line, Measured, collapse, run_learner
from gumption.agents.run_folder import RunFolder, read_final, read_metrics
from gumption.agents.settings import WorldConfig
from gumption.data import Note
from gumption.data.progress import Bar, print_notes

SETTINGS = {"world": "halma"}
EPISODES = 100  # of an evaluation
COLLAPSES = (0.1, 0.6, 0.9, 0.5, 0.4, 0.3, 0.2, 0.1)
RECOVERS = (0.9, 0.1, 0.1, 0.1, 0.1, 0.8)
SAID = (
    "success fell below half of its best (0.9 at step 30) and stayed there since step 50: the training collapsed; "
    "lower the learning rate or the scale of the rewards, or end it earlier, since only the last checkpoint is kept"
)


class Killed(BaseException):
    """Stands for the end of the process."""


class Figures(Learner):
    """Its line at step 10 k has the k-th of given figures."""

    measured: Measured | None = ("success", EPISODES)
    measured_every = kept_every = 10

    def __init__(self, figures: Sequence[float], killed_at: int | None = None) -> None:
        self.figures, self.total, self.killed_at, self.now = figures, 10 * len(figures), killed_at, 0

    @property
    def step(self) -> int:
        return self.now

    def learn(self, bar: Bar) -> None:
        if self.now == self.killed_at:
            raise Killed
        self.now += 5

    def measure(self) -> Line:
        return {"success": self.figures[self.now // 10 - 1]}

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        return {"now": torch.tensor(self.now)}, {}

    def put_state(self, tensors: dict[str, torch.Tensor], meta: dict[str, Any], where: Path) -> None:
        self.now = int(tensors["now"])


def train(
    path: Path | None, figures: Sequence[float], killed_at: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The final figures, and the notes."""
    folder = None if path is None else RunFolder(path, SETTINGS)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        final = run_learner(folder, lambda: Figures(figures, killed_at), progress=False)[2]
    assert all(one.category is Note for one in told)
    return final, [str(one.message) for one in told]


def lines_of(figures: Sequence[float]) -> list[Line]:
    return [{"step": 10 * k, "success": figure} for k, figure in enumerate(figures, start=1)]


def board_of(path: Path) -> tuple[list[int], list[tuple[int, str]]]:
    """Steps of the lines in TensorBoard; step and text of each event."""
    board = EventAccumulator(str(path)).Reload()
    told = "collapsed/text_summary"
    events = board.Tensors(told) if told in board.Tags()["tensors"] else []
    texts = [(event.step, event.tensor_proto.string_val[0].decode()) for event in events]
    return [event.step for event in board.Scalars("success")], texts


def test_a_collapse_is_told_once_on_the_way_in_the_board_and_at_the_end(tmp_path: Path) -> None:
    final, told = train(tmp_path / "run", COLLAPSES)
    assert told == [f"{tmp_path / 'run'}: {SAID}"]
    assert final["collapsed"] == {"measure": "success", "best": 0.9, "best_step": 30, "since": 50}
    assert read_final(tmp_path / "run") == final
    assert board_of(tmp_path / "run") == ([10, 20, 30, 40, 50, 60, 70, 80], [(70, SAID)])  # the third line below 0.45
    assert train(None, COLLAPSES)[1] == [f"training: {SAID}"]


def test_it_is_a_line_on_stderr_without_a_terminal_or_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        print_notes()
        run_learner(None, lambda: Figures(COLLAPSES), progress=False)
    assert capsys.readouterr().err == f"note: training: {SAID}\n"


def test_a_run_that_recovers_was_warned_and_does_not_end_as_collapsed(tmp_path: Path) -> None:
    final, told = train(tmp_path / "run", RECOVERS)
    assert len(told) == 1
    assert "0.9 at step 10) and stayed there since step 20" in told[0]
    assert "collapsed" not in final
    assert [step for step, _ in board_of(tmp_path / "run")[1]] == [40]
    final, told = train(tmp_path / "again", (*RECOVERS, 0.2, 0.2, 0.2))
    assert len(told) == 2
    assert final["collapsed"] == {"measure": "success", "best": 0.9, "best_step": 10, "since": 70}


@pytest.mark.parametrize("killed_at", [45, 55, 65, 70, 75])
def test_a_run_killed_on_the_way_tells_the_same(tmp_path: Path, killed_at: int) -> None:
    wanted = train(tmp_path / "whole", COLLAPSES)[0]
    with pytest.raises(Killed):
        train(tmp_path / "killed", COLLAPSES, killed_at)
    final, told = train(tmp_path / "killed", COLLAPSES)
    assert len(told) == (killed_at < 70)  # else it was said before
    assert final["collapsed"] == read_final(tmp_path / "killed")["collapsed"] == wanted["collapsed"]
    assert board_of(tmp_path / "killed") == board_of(tmp_path / "whole")


@pytest.mark.parametrize(
    ("figures", "since"),
    [
        ((), None),
        ((0.9, 0.1, 0.1), None),
        ((0.9, 0.1, 0.1, 0.5, 0.1, 0.1), None),  # never three in a row
        ((0.9, 0.45, 0.45, 0.45), None),  # half is not below half
        ((0.02, 0.0, 0.0, 0.0), None),  # chance
        ((0.29, 0.0, 0.0, 0.0), None),
        ((0.3, 0.0, 0.0, 0.0), 20),  # 30 successes of 100 episodes
        ((0.0, 0.0, 0.0, 0.0), None),
        ((-0.5, -2.0, -2.0, -2.0), None),
        ((nan, 0.9, 0.1, nan, 0.1, 0.1), 30),  # what is no number is no line
        ((0.9, 0.1, 0.1, nan), None),
        ((inf, 0.9, 0.8, 0.9), None),
        ((0.9, 0.1, 0.1, 0.1, 0.5), None),  # recovered
    ],
)
def test_what_a_collapse_is(figures: tuple[float, ...], since: int | None) -> None:
    found = collapse(lines_of(figures), ("success", EPISODES))
    assert (None if found is None else found["since"]) == since


def test_its_best_is_the_last_line_that_had_it() -> None:
    found = collapse(lines_of((0.9, 0.9, 0.1, 0.1, 0.1)), ("success", EPISODES))
    assert found is not None
    assert (found["best"], found["best_step"]) == (0.9, 20)


def test_a_learner_without_a_measure_or_a_line_without_it_never_warns() -> None:
    assert collapse(lines_of(COLLAPSES), ("success", EPISODES)) is not None
    assert collapse(lines_of(COLLAPSES), None) is None
    assert collapse(lines_of(COLLAPSES), ("made", EPISODES)) is None


TASKS = {"task": ("fishing/0",), "max_actions": 20, "num_envs": 4, "n_steps": 16, "batch_size": 32}
HALMA = {"num_mazes": 1, "maze_seed": 7787, "max_opt_len": 1, "episodes": 4, "log_interval": 2}
TINY = (("batch_size", 16), ("hidden_size", 16), ("num_envs", 8), ("greedy_steps", 2000), ("sequence", 8))


@pytest.mark.parametrize("world", ["wordcraft", "halma", "probsol", "gradual"])
def test_what_a_learner_measures_is_in_its_lines(
    configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, world: str
) -> None:
    asked: list[Measured | None] = []
    monkeypatch.setattr("gumption.agents.run.collapse", lambda curve, measured: asked.append(measured))
    if world == "wordcraft":
        train_impala(configure(total_steps=256, eval_interval=256), tmp_path / "run", progress=False)
    elif world == "halma":
        train_halma(HALMAConfig(agent="mlp", overrides=TINY, **HALMA), tmp_path / "run", progress=False)
    elif world == "probsol":
        config = ProbSolConfig(total_steps=64, eval_interval=64, device="cpu", **TASKS)
        train_probsol(config, tmp_path / "run", progress=False)
    else:
        config = WorldConfig("gradual", total_steps=128, eval_episodes=4, device="cpu", env=(("max_steps", 50),))
        train_impala(config, tmp_path / "run", progress=False)
    measured = asked[-1]
    assert measured is not None
    name, episodes = measured
    assert {"wordcraft": 1, "halma": 1, "probsol": 1, "gradual": 4}[world] <= episodes
    assert all(line[name] >= 0 for line in read_metrics(tmp_path / "run"))
