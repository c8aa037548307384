"""What a study measures of a run, recomputed from its parts."""

import numpy as np
import pytest

from gumption.agents import evaluate
from gumption.agents.segar.evaluation import make_env, play_levels, random_player, scripted
from gumption.agents.segar.probe import ProbeSettings
from gumption.agents.segar.study import generalisation, harder, informed, seen_and_true
from gumption.agents.segar.training import train_segar
from gumption.data import InputError
from gumption.envs.segar.configurations import draw_levels
from gumption.envs.segar.measures import w2


@pytest.fixture(scope="module")
def run():
    from gumption.agents.segar.config import SegarConfig

    from .conftest import PPO

    return train_segar(SegarConfig(**PPO, levels="objectsx1-medium"), progress=False)


def test_the_gap_is_a_share_of_what_lies_between_random_and_scripted(run):
    found = generalisation(run)
    config = run.config
    for name, levels in (("test", "objectsx1-medium"), ("harder", "objectsx1-hard")):
        drawn = draw_levels(levels, "test", n=4)
        low, high = (
            play_levels(player, make_env("PuttPutt", drawn, config.seen()))["return"].mean()
            for player in (random_player, scripted)
        )
        train, there = run.play(config.draw("train"))["return"].mean(), run.play(drawn)["return"].mean()
        assert found[name]["gap"] == pytest.approx((train - there) / (high - low))
        assert found[name]["w2"]["types, Order"] == pytest.approx(w2(config.draw("train").scenes, drawn.scenes))
        assert found[name]["w2"]["factors"] < found[name]["w2"]["types"]
    assert {"trained", "untrained", "random", "no action", "scripted"} == found["test"].keys() - {"gap", "w2"}


def test_the_next_difficulty():
    assert [harder(name) for name in ("empty-easy", "tilesx2-medium", "empty-hard", "billiards")] == [
        "empty-medium", "tilesx2-hard", None, None,
    ]  # fmt: skip


def test_factors_are_those_behind_the_observations(run):
    seen, factors = seen_and_true(run, run.config.draw("test"), observations=50)
    assert seen.shape == (50, 6, 14)
    assert factors.shape == (50, 84)
    known = np.where(seen.reshape(50, -1) == -1000, 0, seen.reshape(50, -1))
    assert np.array_equal(known, factors), "a state observation is what the factors are"
    assert not np.array_equal(seen[0], seen[4]), "the player moves"


def test_features_of_an_encoder_tell_of_the_factors(run):
    found = informed(run, run.config.draw("test"), ProbeSettings(hidden=64, epochs=5), observations=400)
    assert found.pairs == 80
    assert 0.55 < found.accuracy <= 1
    assert run.features(seen_and_true(run, run.config.draw("test"), observations=50)[0]).shape == (50, 128)


def test_evaluate_has_the_players_that_learn_nothing_beside(tmp_path, run):
    found = evaluate(run, partition="train")
    assert found["num_levels"] == 3
    assert found["players"]["trained"]["return"] == pytest.approx(run.final["train_return"])
    other = evaluate(run, levels="empty-easy", num_levels=2)
    assert (other["levels"], other["num_levels"]) == ("empty-easy", 2)
    assert list(other["players"]) == ["trained", "untrained", "random", "no action", "scripted"]
    with pytest.raises(InputError, match="in memory"):
        evaluate(run, device="cpu")
    with pytest.raises(InputError, match="not a complete run"):
        evaluate(tmp_path)
