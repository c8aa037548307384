"""What a HALMA run can be made of."""

import json

import pytest

from gumption.agents.halma.config import HALMAConfig, learned_by
from gumption.agents.learners.parameters import MPOParameters, TD3Parameters
from gumption.data import InputError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": "gru"}, "agent is 'gru'; it can be mlp, lstm, tran, tran+lstm, cnn+mlp, cnn+tran, space"),
        ({"world": "wordcraft"}, "a run of the world 'wordcraft', not of halma"),
        ({"agent": "cnn+mlp", "guided": True}, "cnn+mlp sees pictures; knowledge is about digits"),
        ({"guide_weight": 3.0}, "guide_weight needs guided or kg"),
        ({"guide_interval": 3}, "guide_interval needs guided=True"),
        ({"guide_interval": 3, "kg": "full"}, "guide_interval needs guided=True"),
        ({"guided": True, "kg": "full"}, "by its own knowledge bases or by a graph, kg='full': choose one"),
        ({"agent": "cnn+mlp", "kg": "full"}, "cnn+mlp sees pictures; knowledge is about digits"),
        ({"images": "train-full"}, "images are for agents that see panels; mlp sees symbols"),
        ({"panels": "fixed"}, "panels='fixed' is for agents that see panels; mlp sees symbols"),
        ({"painter": "mine:paint"}, "painter='mine:paint' is for agents with a CNN; mlp sees symbols"),
        (
            {"agent": "space", "space_model": "eyes", "painter": "mine:paint"},
            "space sees what its model was pretrained on, handwritten digits",
        ),
        ({"agent": "cnn+mlp", "side": 12}, "distances up to 9; cnn+mlp sees panels, so give a painter of your own"),
        ({"agent": "space"}, "agent='space' and space_model go together"),
        ({"space_model": "eyes"}, "agent='space' and space_model go together"),
        ({"learner": "td3", "overrides": (("candidates", 8),)}, "TD3Parameters has no 'candidates'; it has"),
        ({"steps": 15_999}, "steps is 15999; the first episodes may take 16,000: give at least so many"),
        ({"overrides": (("random_candidates", 20),)}, "random_candidates is 20; it is at most half of the candidates"),
        ({"overrides": (("batch_size", 102),)}, "batch_size is 102; it is a multiple of sequence, 4"),
        ({"overrides": (("hidden_size", 30),)}, "hidden_size is 30; it is a multiple of 4"),
        ({"overrides": (("buffer_size", 300),)}, "buffer_size is 300: no room for sequences of 32 environments"),
    ],
)
def test_what_cannot_be_is_told(settings, message):
    with pytest.raises(InputError) as raised:
        HALMAConfig(**settings)
    assert message in str(raised.value)


def test_a_config_survives_json():
    config = HALMAConfig(agent="lstm", guided=True, guide_weight=2.0, overrides=(("num_envs", 4), ("batch_size", 32)))
    assert HALMAConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    assert HALMAConfig.from_json(config.to_json(), device="cpu").device == "cpu"
    assert config.parameters.num_envs == 4


def test_a_config_of_something_else_is_refused():
    with pytest.raises(InputError, match="not the config of a run: 7"):
        HALMAConfig.from_json(7)
    stored = HALMAConfig().to_json()
    with pytest.raises(InputError, match="colour unknown"):
        HALMAConfig.from_json(stored | {"colour": 1})


@pytest.mark.parametrize("agent", ["mlp", "tran+lstm", "cnn+mlp"])
def test_td3_has_table_s1_whatever_the_agent(agent):
    panels = {"panels": "fixed"} if agent == "cnn+mlp" else {}
    learner = HALMAConfig(learner="td3", agent=agent, **panels).parameters
    assert learner == TD3Parameters()
    assert (learner.learning_rate, learner.num_envs, learner.greedy_unit) == (1e-4, 1, "steps")
    assert (learner.reward_scale, learner.max_grad_norm) == (0.05, None), "not in Table S1; the scale is MPO's"
    assert (learner.batch_size, learner.discount, learner.policy_delay, learner.target_rate) == (128, 0.95, 5, 0.995)
    assert (learner.buffer_size, learner.greedy_first, learner.greedy_last) == (10_000, 0.1, 0.95)
    assert (learner.greedy_steps, learner.adam_epsilon, learner.hidden_size) == (100_000, 1e-8, 128)


def test_agents_have_what_is_tuned_for_them_unless_it_is_overridden():
    assert HALMAConfig(agent="tran").parameters.learning_rate == 3e-4
    assert HALMAConfig(agent="tran", overrides=(("learning_rate", 1e-4),)).parameters.learning_rate == 1e-4
    assert HALMAConfig(agent="mlp").parameters == MPOParameters()
    assert MPOParameters().reward_scale == 0.05


def test_a_config_from_before_there_were_two_learners_is_one_of_mpo():
    stored = HALMAConfig(agent="lstm").to_json()
    for name in ("learner", "objective", "steps"):
        del stored[name]
    assert HALMAConfig.from_json(stored) == HALMAConfig(agent="lstm", learner="mpo", objective="trial", steps=None)
    assert learned_by(stored) == "MPO"
    assert learned_by(HALMAConfig(learner="td3", objective="episode").to_json()) == "TD3 over episodes"


def test_a_config_from_before_fixed_panels_is_one_of_redrawn_panels():
    stored = HALMAConfig(agent="cnn+mlp").to_json()
    del stored["panels"]
    assert HALMAConfig.from_json(stored) == HALMAConfig(agent="cnn+mlp", panels="redrawn")


def test_only_fixed_panels_count_greedy_steps_in_updates():
    fixed, redrawn = (HALMAConfig(agent="cnn+mlp", panels=panels).parameters for panels in ("fixed", "redrawn"))
    assert (redrawn.greedy_unit, redrawn.greedy_steps) == ("steps", 100_000)
    assert (fixed.greedy_unit, fixed.greedy_steps) == ("updates", 33_333)
    assert fixed.learning_rate == redrawn.learning_rate
    steps = HALMAConfig(agent="cnn+mlp", panels="fixed", overrides=(("greedy_unit", "steps"),))
    assert steps.parameters.greedy_unit == "steps"
