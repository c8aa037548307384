"""`gumption watch` of trained runs of SEGAR: one that knowledge guides, and one of PPO."""

import sys

import pytest
from PIL import Image

from gumption.scripts import cli


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """guided: pushes with all facts; ppo: forces."""
    from gumption.agents.segar.config import SegarConfig
    from gumption.agents.segar.training import train_segar

    folder = tmp_path_factory.mktemp("runs")
    small = {"total_steps": 64, "eval_interval": 64, "num_levels": 3, "test_levels": 3, "device": "cpu"}
    ppo = {"num_envs": 4, "n_steps": 8, "minibatches": 2}
    train_segar(SegarConfig(levels="tilesx2-medium", kg="full", **ppo, **small), folder / "guided", progress=False)
    train_segar(SegarConfig(observation="state", **ppo, **small), folder / "ppo", progress=False)
    return folder


@pytest.fixture
def watch(monkeypatch, capsys, tmp_path, runs):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")  # a column for each relation

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", ["gumption", "watch", str(runs / name), "--delay", "0", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return run


def test_each_push_with_what_its_knowledge_said(watch):
    code, out, err = watch("guided", "--level", "empty-easy/test/0/0")
    assert (code, err) == (0, "")
    assert "KG: affordsReaching" in out
    assert "GoalTile (1) affords reaching ball?" in out
    assert "degrees" in out
    assert "golfball (GolfBall)" in out
    assert "the end of the episode" in out


def test_forces_of_ppo(watch):
    code, out, err = watch("ppo", "--partition", "train", "--seed", "1")
    assert (code, err) == (0, "")
    assert "force?" in out
    assert "distance 0." in out
    assert "the end of the episode" in out


@pytest.mark.slow
def test_a_gif_has_a_frame_for_each_step(watch, tmp_path):
    code, out, err = watch("guided", "--level", "empty-easy/test/0/0", "--out", "a.gif")
    assert (code, out, err) == (0, "written: a.gif\n", "")
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--level", "nowhere"), "'nowhere' is no name of a level"), (("--partition", "half"), "--partition is 'half'")],
)
def test_bad_options(watch, options, message):
    for name in ("guided", "ppo"):
        code, _, err = watch(name, *options)
        assert code == 2
        assert message in err
