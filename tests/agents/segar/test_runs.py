"""Runs of the general learner are evaluated like those of PPO and SAC."""

from pathlib import Path

import gymnasium as gym
import pytest

from gumption.agents import evaluate
from gumption.agents.evaluation import Greedy, means
from gumption.agents.learners.impala import train_impala
from gumption.agents.run import RunResult
from gumption.agents.segar import guided
from gumption.agents.segar.evaluation import play_levels, scripted
from gumption.agents.settings import WorldConfig
from gumption.agents.transcript import failures, transcript
from gumption.data import InputError
from gumption.envs.segar.configurations import draw_levels


def config(levels: str = "tilesx2-medium", **changes) -> WorldConfig:
    env = guided.env_settings(levels, 0, 5)
    given = {"total_steps": 64, "eval_interval": 64, "eval_episodes": 5, "device": "cpu", **changes}
    return WorldConfig("segar", env=tuple(env.items()), overrides=(("batch_size", 8), ("hidden_size", 16)), **given)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunResult:
    return train_impala(config(kg="full"), tmp_path_factory.mktemp("runs") / "guided", progress=False)


@pytest.mark.slow
def test_a_guided_run_is_played_beside_others(run: RunResult) -> None:
    assert run.run_dir is not None
    told = evaluate(run.run_dir)
    assert told == evaluate(run)
    assert (told["levels"], told["partition"], told["num_levels"]) == ("tilesx2-medium", "test", 5)
    names = ["trained", "untrained", "knowledge taken away", "random", "no action", "scripted"]
    assert list(told["players"]) == names
    env = gym.make_vec(guided.ID, num_envs=5, **guided.env_settings("tilesx2-medium", 0, 5, "test"))
    for name, player in (("trained", Greedy(run.policy)), ("scripted", scripted)):
        expected = means(play_levels(player, env), "return", "success")
        assert told["players"][name] == pytest.approx(expected)
    with transcript() as kept:
        play_levels(Greedy(run.policy), env)
    assert told["failures"] == failures(kept) != [], "those of the trained player"


@pytest.mark.slow
def test_other_levels_and_the_runs_own(run: RunResult) -> None:
    assert run.run_dir is not None
    told = evaluate(run.run_dir, partition="train", levels="empty-hard", num_levels=3)
    assert (told["levels"], told["partition"], told["num_levels"]) == ("empty-hard", "train", 3)
    assert told["players"]["scripted"]["success"] == 1


def test_a_complete_run_that_is_resumed_is_evaluated_from_its_folder(run: RunResult) -> None:
    again = train_impala(config(kg="full"), run.run_dir, resume=True, progress=False)
    assert again.policy is None
    assert evaluate(again) == evaluate(run)


def test_a_run_without_knowledge_has_none_to_take_away() -> None:
    told = evaluate(train_impala(config(), progress=False))
    assert "knowledge taken away" not in told["players"]


def test_a_file_of_training_levels_has_no_test_levels(tmp_path: Path) -> None:
    path = tmp_path / "levels.json"
    draw_levels("empty-easy", "train", n=3).save(path)
    result = train_impala(config(str(path)), tmp_path / "run", progress=False)
    with pytest.raises(InputError, match=r"from a file of train levels, so there are no test levels.*--levels"):
        evaluate(result)
    assert evaluate(result, partition="train")["num_levels"] == 3
