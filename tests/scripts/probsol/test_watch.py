"""`gumption watch` of a trained run of ProbSol."""

import sys

import pytest
from PIL import Image

from gumption.scripts import cli

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """alone: a run without knowledge; guided: one with true facts."""
    from gumption.agents.probsol.config import ProbSolConfig
    from gumption.agents.probsol.training import train_probsol

    folder = tmp_path_factory.mktemp("runs")
    small = {"total_steps": 128, "eval_interval": 128, "device": "cpu"}
    small |= {"task": ("fishing/0",), "num_envs": 4, "n_steps": 32, "batch_size": 64, "max_actions": 6}
    for name, kg in (("alone", "none"), ("guided", "full")):
        train_probsol(ProbSolConfig(kg=kg, **small), folder / name, progress=False)
    return folder


@pytest.fixture
def watch(monkeypatch, capsys, tmp_path, runs):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(name, *arguments):
        monkeypatch.setattr(sys, "argv", ["gumption", "watch", str(runs / name), "--delay", "0", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_each_action_with_what_came_of_it(watch):
    code, out, _ = watch("alone", "--seed", "1")
    assert code == 0
    assert "action?" in out
    assert "Bring the golden-boxed disc (purple)" in out
    assert any(f"> {verb} " in out for verb in ("place", "hold", "store", "turn", "none", "check", "put_down"))
    assert "the end of the episode" in out
    assert "attracts" not in out


def test_the_disc_that_is_taken_with_what_the_graph_says_of_each(watch):
    code, out, _ = watch("guided", "--seed", "1")
    assert code == 0
    assert "disc?" in out
    assert "attracts" in out


def test_pictures_in_a_file_and_another_task(watch, tmp_path):
    assert watch("guided", "--task", "fishing/0", "--out", "a.gif")[:2] == (0, "written: a.gif\n")
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) >= 2
    code, _, err = watch("guided", "--task", "nowhere")
    assert code == 2
    assert "there is no task 'nowhere'" in err
