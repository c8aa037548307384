"""What a study measures of a run, recomputed from its parts."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gumption.agents import evaluate
from gumption.agents.segar.evaluation import make_env, play_levels, random_player, scripted
from gumption.agents.segar.probe import ProbeSettings
from gumption.agents.segar.study import (
    RANDOM_NETWORK,
    gap,
    generalisation,
    harder,
    informed,
    seen_and_true,
    told_gap,
)
from gumption.agents.segar.training import train_segar
from gumption.data import InputError
from gumption.envs.segar.configurations import draw_levels
from gumption.envs.segar.measures import w2


@pytest.fixture(scope="module")
def run():
    from gumption.agents.segar.config import SegarConfig

    from .conftest import PPO

    return train_segar(SegarConfig(**PPO, levels="objectsx1-medium"), progress=False)


@pytest.mark.slow
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
    players = found["test"].keys() - {"gap", "w2", "yardstick"}
    assert players == {"trained", "untrained", "random", "no action", "scripted"}
    assert found["test"]["yardstick"] == "scripted"


def straight(env, first):
    """The scripted player under another name, and slower."""
    return 0.5 * scripted(env, first)


def upwards(observation, info):
    return np.tile([0.0, 2.0], (len(observation), 1))


def means_of(player, levels, config):
    return play_levels(player, make_env("PuttPutt", levels, config.seen()))["return"].mean()


@pytest.mark.slow
def test_the_yardstick_is_any_player_or_the_best_of_several(run):
    config, levels = run.config, run.config.draw("test")
    low, train = means_of(random_player, levels, config), means_of(run.player, config.draw("train"), config)
    there = means_of(run.player, levels, config)
    for given, name, high in (
        (straight, "straight", means_of(straight, levels, config)),
        (("no action", straight, "scripted"), "scripted", means_of(scripted, levels, config)),
        (("no action", straight), "straight", means_of(straight, levels, config)),
    ):
        found = generalisation(run, yardstick=given)["test"]
        assert found["yardstick"] == name
        assert found["gap"] == pytest.approx((train - there) / (high - low))
    found = generalisation(run, yardstick=upwards)
    always_up = means_of(lambda env, first: np.tile([0.0, 2.0], (env.num_envs, 1)), levels, config)
    assert found["test"]["upwards"]["return"] == pytest.approx(always_up)
    assert {"trained", "upwards"} == set(found["train"]), "it is played on the training levels, too"
    assert found["harder"]["yardstick"] == "upwards"
    one, other = (lambda observation, info, way=way: way * upwards(observation, info) for way in (1, -1))
    twice = generalisation(run, yardstick=[one, other])["test"]
    name = next(name for name in twice if name.endswith("<lambda>"))
    assert twice[name]["return"] == pytest.approx(found["test"]["upwards"]["return"])
    assert twice[f"{name} (2)"]["return"] != pytest.approx(twice[name]["return"])


def test_a_yardstick_is_the_best_on_each_set_of_levels():
    there = {"trained": {"return": -3.0}, "random": {"return": -10.0}}
    one = {**there, "a": {"return": -2.0}, "b": {"return": -1.0}}
    assert gap(-1.0, one, ["a", "b"]) == {"gap": pytest.approx(2 / 9), "yardstick": "b"}
    assert gap(-1.0, {**one, "a": {"return": -0.5}}, ["a", "b"]) == {"gap": pytest.approx(2 / 9.5), "yardstick": "a"}
    assert gap(-1.0, {**one, "b": {"return": -10.0}}, ["b"]) == {"gap": None, "yardstick": "b"}


@pytest.mark.slow
def test_a_run_with_other_observations_is_a_yardstick(tmp_path, run, config):
    other = train_segar(config(levels="objectsx1-medium", frame_stack=2, seed=5), tmp_path / "other", progress=False)
    found = generalisation(run, yardstick=("no action", other))["test"]
    played = other.play(run.config.draw("test"))["return"].mean()
    assert found[str(tmp_path / "other")]["return"] == pytest.approx(played)
    told = evaluate(run, yardstick=("no action", str(tmp_path / "other")))
    assert told["players"][str(tmp_path / "other")] == found[str(tmp_path / "other")]
    moved = train_segar(config(task="PuttPuttNegDist"), progress=False)
    with pytest.raises(InputError, match="the yardstick a run in memory plays PuttPuttNegDist, and the run PuttPutt"):
        generalisation(run, yardstick=moved)


def fails(env, first):
    raise KeyError("sand")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("random", "the yardstick is the random player, which is the other end of the scale"),
        ("scipted", "the list of players has no 'scipted'.*scripted.*a run, or MODULE:NAME"),
        ("nowhere_at_all:player", "the yardstick nowhere_at_all:player: there is no module"),
        (7, "a yardstick is 7; it is a player, its name, or a run"),
        ((), "yardstick is empty"),
        (fails, "the policy fails failed at step 1 of an episode: KeyError: 'sand'"),
        (lambda observation, info: None, "the policy .* returned no action"),
    ],
)
def test_a_bad_yardstick_is_told(run, given, told):
    with pytest.raises(InputError, match=told):
        generalisation(run, yardstick=given)


@pytest.mark.slow
def test_a_task_without_a_scripted_player_needs_a_yardstick(run):
    own = replace(run, config=replace(run.config, task="Invisiball"))
    assert generalisation(own)["test"]["yardstick"] == "scripted"
    object.__setattr__(own.config, "task", "Billiards")
    with pytest.raises(InputError, match="the task Billiards has no scripted player: give a yardstick"):
        generalisation(own)


@pytest.mark.slow
def test_evaluate_tells_the_gap_where_a_yardstick_is_given(run):
    plain = evaluate(run)
    assert not {"gap", "yardstick"} & set(plain)
    study = generalisation(run)["test"]
    told = evaluate(run, yardstick=("no action", "scripted"))
    assert (told["gap"], told["yardstick"]) == (pytest.approx(study["gap"]), "scripted")
    assert told["players"] == plain["players"]
    words = f"gap to the training levels {study['gap']:.3f}, where 1 is from random actions to scripted (the best of"
    assert words in told["about"]
    with pytest.raises(InputError, match="a gap is that of other levels than those of the training"):
        evaluate(run, partition="train", yardstick="scripted")
    nothing = told_gap(run, run.config.draw("test"), {**plain["players"], "random": {"return": 0.0}}, "scripted")
    assert nothing["gap"] is None
    assert nothing["words"] == "no gap is told: scripted is no better than random actions there"


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


def test_an_encoder_says_whether_its_weights_are_random(run):
    quick = {"settings": ProbeSettings(hidden=16, epochs=1), "observations": 60}
    levels = run.config.draw("test")
    assert informed(run, levels, **quick).encoder == "the run's, trained for 128 steps"
    random = informed(run, levels, encoder="untrained", **quick)
    assert random.encoder == RANDOM_NETWORK
    assert "random network" in RANDOM_NETWORK
    assert informed(run.setup.untrained(), levels, **quick).encoder == RANDOM_NETWORK, "nothing was learned"

    def project(observations):
        return observations.reshape(len(observations), -1)[:, :5]

    assert informed(run, levels, encoder=project, **quick).encoder.endswith("random or trained is not told (about)")
    project.about = "five of the numbers, no network"
    assert informed(run, levels, encoder=project, **quick).encoder.endswith("project: five of the numbers, no network")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("trainde", "the list of encoders has no 'trainde'.*MODULE:NAME"),
        (5, "an encoder is 5; it is a function"),
        (lambda observations: 1 / 0, "the encoder .*lambda.* failed: ZeroDivisionError"),
        (lambda observations: np.zeros(3), "features have the shape \\(3,\\)"),
    ],
)
def test_a_bad_encoder_is_told(run, given, told):
    with pytest.raises(InputError, match=told):
        informed(run, run.config.draw("test"), ProbeSettings(epochs=1), observations=20, encoder=given)


ANYWHERE = {"target": "Position", "value": {"noise": "RandomUniformLocation"}}


def test_the_truth_has_every_thing(tmp_path):
    from gumption.agents.segar.config import SegarConfig

    many = {"numbers": [["GoalTile", 1], ["GolfBall", 1], ["Charger", 9]], "priors": [ANYWHERE]}
    (tmp_path / "many.json").write_text(json.dumps(many))
    told = SegarConfig(levels=str(tmp_path / "many.json"), test="empty-easy", observation="state").truth()
    assert (told.n_things, told.unique_ids) == (11, ("golfball", "goal"))


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
