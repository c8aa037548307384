"""`gumption watch` of a trained run of ProbSol."""

import sys

import pytest
from PIL import Image

from gumption.scripts import cli

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    from gumption.agents.impala import train_impala
    from gumption.agents.world_config import WorldConfig

    folder = tmp_path_factory.mktemp("runs") / "plain"
    env = (("task", "fishing/0"), ("max_actions", 4))
    small = {"total_steps": 256, "eval_interval": 256, "eval_episodes": 2, "device": "cpu"}
    train_impala(WorldConfig("probsol", env, **small), folder, progress=False)
    return folder


@pytest.fixture
def watch(monkeypatch, capsys, tmp_path, run):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["gumption", "watch", str(run), "--delay", "0", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return call


def test_each_action_with_what_came_of_it(watch):
    code, out, _ = watch()
    assert code == 0
    assert "action?" in out
    assert "grab b" in out
    assert "Bring the golden-boxed disc (purple)" in out
    assert "the end of the episode" in out


def test_pictures_in_a_file_and_another_task(watch, tmp_path):
    assert watch("--task", "fishing/0", "--out", "a.gif")[:2] == (0, "written: a.gif\n")
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) >= 2
    code, _, err = watch("--task", "nowhere")
    assert code == 2
    assert "there is no task 'nowhere'" in err
