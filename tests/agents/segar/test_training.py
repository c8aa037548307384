"""PPO and SAC on SEGAR: the same seed gives the same bits, also after a stop; settings are the paper's."""

import json
import random

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO, SAC

from gumption.agents.run_folder import Board, RunFolder, read_final, read_metrics
from gumption.agents.segar.config import SegarConfig
from gumption.agents.segar.training import AuxiliaryPPO, SegarSetup, load_run, train_segar
from gumption.data import InputError
from gumption.envs.physics.factors import Position

SAC_SETTINGS = {"algorithm": "sac", "num_envs": None, "learning_starts": 10, "buffer_size": 50, "batch_size": 4}
VARIANTS = {
    "ppo": {},
    "ppo, rewards normalised": {"normalise_rewards": True, "levels": "tilesx1-hard"},
    "ppo on pixels": {"observation": "rgb", "resolution": 16, "frame_stack": 2},
    "curl": {"observation": "rgb", "resolution": 16, "auxiliary": "curl"},
    "spr": {"observation": "rgb", "resolution": 16, "auxiliary": "spr"},
    "sac": SAC_SETTINGS,
}
TIMES = ("wall_s", "steps_per_s")


def bits(path):
    tensors, meta = RunFolder.of(path, SegarConfig()).load("gumption/segar/1")
    return tensors, {name: value for name, value in meta.items() if name not in ("seconds", "sha256")}


def untimed(lines):
    return [{name: value for name, value in line.items() if name not in TIMES} for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(settings, id=name, marks=[pytest.mark.slow] * (name in ("sac", "spr", "curl")))
        for name, settings in VARIANTS.items()
    ],
)
def test_a_stopped_run_goes_on_to_the_bits_of_an_uninterrupted_one(tmp_path, config, monkeypatch, settings):
    whole, stopped, wanted = tmp_path / "whole", tmp_path / "stopped", config(**settings)
    train_segar(wanted, whole, progress=False)
    write, lines = Board.write, []

    def stop_at_the_second(self, line):
        lines.append(line)
        if len(lines) == 2:
            raise KeyboardInterrupt
        write(self, line)

    with monkeypatch.context() as patch:
        patch.setattr(Board, "write", stop_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            train_segar(wanted, stopped, progress=False)
    assert load_run(stopped).policy.policy is not None
    train_segar(wanted, stopped, progress=False, resume=True)
    (tensors, meta), (others, told) = bits(whole), bits(stopped)
    assert meta == told
    assert tensors.keys() == others.keys()
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)
    assert untimed(read_metrics(whole)) == untimed(read_metrics(stopped))
    assert untimed([read_final(whole)]) == untimed([read_final(stopped)]) == untimed(read_metrics(whole)[-1:])


def test_another_seed_gives_another_run_on_other_levels(config):
    first, second = (train_segar(config(seed=seed), progress=False) for seed in (0, 1))
    assert untimed(first.curve) != untimed(second.curve)
    assert first.config.draw("train").names != second.config.draw("train").names
    assert first.config.draw("test").names == second.config.draw("test").names
    assert config(seed=1, level_seed=0).draw("train").names == first.config.draw("train").names


def test_a_loaded_run_plays_as_the_trained_one(tmp_path, config):
    run = train_segar(config(), tmp_path / "run", progress=False)
    levels = run.config.draw("test")
    loaded = load_run(tmp_path / "run")
    assert np.array_equal(run.play(levels)["return"], loaded.play(levels)["return"])
    assert not np.array_equal(run.play(levels)["return"], run.setup.untrained().play(levels)["return"])
    assert run.final["test_return"] == pytest.approx(run.play(levels)["return"].mean())


def untrained_model(config):
    return SegarSetup(config).untrained().policy


def test_training_leaves_the_random_numbers_of_the_process_alone(config):
    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    wanted = random.random(), np.random.random(), torch.rand(1)  # noqa: NPY002
    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    train_segar(config(total_steps=32), progress=False)
    assert (random.random(), np.random.random(), torch.rand(1)) == wanted  # noqa: NPY002


@pytest.mark.slow
def test_the_learner_learns_to_reach_the_goal(config):
    settings = {"num_envs": 64, "total_steps": 20_000, "learning_rate": 3e-3, "epochs": 4, "gamma": 0.95}
    run = train_segar(config(levels="empty-easy", eval_interval=20_000, **settings), progress=False)
    start = run.setup.untrained().play(run.config.draw("train"))["return"].mean()
    assert run.final["train_return"] > start / 3, (start, run.final)


def test_the_defaults_are_those_of_table_1():
    model = untrained_model(SegarConfig(num_levels=1, device="cpu"))
    assert type(model) is PPO
    told = {
        "gamma": 0.999, "n_envs": 64, "n_steps": 30, "batch_size": 480, "n_epochs": 1, "learning_rate": 1e-4,
        "gae_lambda": 0.95, "ent_coef": 3e-4, "vf_coef": 0.1, "max_grad_norm": 10.0,
    }  # fmt: skip
    assert {name: getattr(model, name) for name in told} == told
    assert model.clip_range(1.0) == 0.2
    assert model.observation_space.shape == (3, 64, 64)
    assert [part.out_channels for part in model.policy.features_extractor.layers[:12:4]] == [15, 32, 32]
    assert model.policy.features_extractor.features_dim == 256


def test_sac_has_one_environment_and_the_auxiliary_losses_their_own_class(config):
    sac = untrained_model(SegarConfig(algorithm="sac", observation="state", num_levels=1, buffer_size=10, device="cpu"))
    assert isinstance(sac, SAC)
    assert sac.n_envs == 1
    assert isinstance(untrained_model(config(**VARIANTS["curl"])), AuxiliaryPPO)


def test_hidden_factors_and_frames_change_what_is_seen(config):
    def shape(**settings):
        return untrained_model(config(**settings)).observation_space.shape

    assert shape() == (6, 14)
    assert shape(hidden=("Mass",)) == (6, 13)
    assert shape(frame_stack=4) == (4, 6, 14)
    assert shape(observation="rgb", resolution=16, frame_stack=4) == (12, 16, 16)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"levels": "empty-fierce"}, "empty-fierce"),
        ({"world": "halma"}, "world is 'halma'"),
        ({"auxiliary": "curl"}, "observation='rgb'"),
        ({"auxiliary": "spr", "observation": "rgb", **SAC_SETTINGS}, "algorithm='ppo'"),
        ({"minibatches": 5}, "it divides num_envs \\* n_steps = 32"),
        ({"minibatches": 32}, "a minibatch has one step"),
        ({"algorithm": "dqn"}, "algorithm"),
    ],
)
def test_bad_settings_are_told(config, settings, told):
    with pytest.raises(InputError, match=told):
        config(**settings)


def test_levels_come_from_distributions_of_ones_own(tmp_path, config):
    there = {}
    for name, place in (("low", "RandomBottomLocation"), ("high", "RandomTopLocation")):
        position = {"target": "Position", "value": {"noise": place}, "entity_type": "GoalTile"}
        there[name] = str(tmp_path / f"{name}.json")
        data = {"numbers": [["GoalTile", 1], ["GolfBall", 1]], "priors": [position]}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    run = train_segar(config(levels=there["low"], test=there["high"], total_steps=32), progress=False)
    for split, sign in (("train", -1), ("test", 1)):
        for scene in run.config.draw(split).scenes:
            [goal] = [entity for entity in scene.entities if entity.id == "goal"]
            assert goal.factors[Position][1] * sign > 0
    (tmp_path / "none.json").write_text("[1]")
    for name in ("none", "lost"):
        with pytest.raises(InputError, match=f"{name}.json"):
            config(test=str(tmp_path / f"{name}.json"))


def test_a_hidden_factor_that_is_none_is_told(config):
    with pytest.raises(InputError, match="Weight"):
        train_segar(config(hidden=("Weight",)), progress=False)


def test_a_folder_with_other_settings_is_left_alone(tmp_path, config):
    train_segar(config(), tmp_path / "run", progress=False)
    with pytest.raises(InputError, match="another seed"):
        train_segar(config(seed=5), tmp_path / "run", resume=True, progress=False)
    with pytest.raises(InputError, match="holds a run already"):
        train_segar(config(), tmp_path / "run", progress=False)
