"""`gumption watch` of a trained run of ProbSol."""

import sys

import pytest
from PIL import Image

from gumption.scripts import cli

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """general: a run of the general learner; ppo: one of MaskablePPO."""
    from gumption.agents.impala import train_impala
    from gumption.agents.probsol.config import ProbSolConfig
    from gumption.agents.probsol.training import train_probsol
    from gumption.agents.world_config import WorldConfig

    folder = tmp_path_factory.mktemp("runs")
    env = (("task", "fishing/0"), ("max_actions", 4))
    small = {"total_steps": 256, "eval_interval": 256, "device": "cpu"}
    train_impala(WorldConfig("probsol", env, eval_episodes=2, **small), folder / "general", progress=False)
    ppo = {"task": ("fishing/0",), "num_envs": 4, "n_steps": 32, "batch_size": 64, "max_actions": 6}
    train_probsol(ProbSolConfig(**ppo, **small), folder / "ppo", progress=False)
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
    code, out, _ = watch("general")
    assert code == 0
    assert "action?" in out
    assert "grab b" in out
    assert "Bring the golden-boxed disc (purple)" in out
    assert "the end of the episode" in out


def test_pictures_in_a_file_and_another_task(watch, tmp_path):
    assert watch("general", "--task", "fishing/0", "--out", "a.gif")[:2] == (0, "written: a.gif\n")
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) >= 2
    for name in ("general", "ppo"):
        code, _, err = watch(name, "--task", "nowhere")
        assert code == 2
        assert "there is no task 'nowhere'" in err


def test_actions_in_three_parts(watch):
    code, out, _ = watch("ppo", "--seed", "1")
    assert code == 0
    assert "action?" in out
    assert any(f"> {verb} " in out for verb in ("place", "hold", "store", "turn", "none", "check", "put_down"))
    assert "the end of the episode" in out
