"""What no environment takes, in every world: settings, resets and actions of the wrong kind are one clear error."""

from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs import worlds

ENVIRONMENTS = [environment for world in worlds.WORLDS.values() for environment in world.environments]
NAN = float("nan")

every_environment = pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda one: one.id)


def single(environment: Any, **settings: Any) -> Any:
    return gym.make(environment.id, **{**environment.small, **settings}).unwrapped


def batch(environment: Any, **settings: Any) -> Any:
    return gym.make_vec(environment.id, **{"num_envs": 2, **environment.small, **settings}).unwrapped


@every_environment
@pytest.mark.parametrize("make", [single, batch])
def test_a_setting_that_is_none_is_told(environment: Any, make: Any) -> None:
    with pytest.raises(InputError, match=r"^\w+ has no 'no_such_setting'; it has \w+"):
        make(environment, no_such_setting=1)


@every_environment
@pytest.mark.parametrize("num_envs", [0, -1, 1.5, NAN, True, None, "two", 2**64, [2]], ids=repr)
def test_the_number_of_environments_is_a_whole_one(environment: Any, num_envs: Any) -> None:
    with pytest.raises(InputError, match=r"^num_envs is .*; it is a whole number"):
        batch(environment, num_envs=num_envs)


@every_environment
@pytest.mark.parametrize("mode", ["Never", "next_step", 3, None, ["NextStep"]], ids=repr)
def test_an_unknown_autoreset_mode_is_told(environment: Any, mode: Any) -> None:
    with pytest.raises(InputError, match=r"^autoreset_mode is .*; it can be NextStep, SameStep, Disabled"):
        batch(environment, autoreset_mode=mode)
    assert batch(environment, autoreset_mode="SameStep").autoreset_mode is gym.vector.AutoresetMode.SAME_STEP


@pytest.mark.slow
@every_environment
@pytest.mark.parametrize("make", [single, batch])
def test_what_no_reset_takes(environment: Any, make: Any) -> None:
    env = make(environment)
    for seed in (-1, 2**64, 1.5, NAN, True, "0", [0], np.array([0.5, 1])):
        with pytest.raises(InputError, match=r"^seed is .*; it is a (whole number|seed, or a list of 2)"):
            env.reset(seed=seed)
    for options in (3, "maze", ["goal"], True, NAN):
        with pytest.raises(InputError, match=r"^options is .*; it is a dict of reset options or None"):
            env.reset(options=options)
    for name in ("no such", 3, None, ("goal",)):
        with pytest.raises(InputError, match=r"^reset has no .*; (it has|did you mean)"):
            env.reset(options={name: 1})
    first, _ = env.reset(seed=np.int64(3))
    again, _ = env.reset(seed=3)
    np.testing.assert_equal(first, again)


@every_environment
def test_actions_of_the_wrong_kind_leave_a_single_environment_as_it_was(environment: Any) -> None:
    env, other = single(environment), single(environment)
    env.reset(seed=0)
    other.reset(seed=0)
    action = env.action_space.sample()
    shape = np.shape(action)
    for wrong in (
        None,
        "0",
        NAN,
        1.5,
        {},
        [],
        [[0], [0, 1]],
        np.full(shape, 0.5),
        np.full(shape, NAN),
        np.zeros((9, 9)),
    ):
        with pytest.raises(InputError, match=r"^the action"):
            env.step(wrong)
    np.testing.assert_equal(env.step(action)[:4], other.step(action)[:4])


@every_environment
def test_actions_of_the_wrong_kind_leave_a_batch_as_it_was(environment: Any) -> None:
    envs, others = batch(environment), batch(environment)
    envs.reset(seed=0)
    others.reset(seed=0)
    actions = envs.action_space.sample()
    shape = np.shape(actions)
    for wrong in (None, "0", NAN, 0, {}, [], [[0], [0, 1]], actions[:1], np.full(shape, 0.5), np.full(shape, NAN),
                  np.full(shape, "0"), np.full(shape, None), np.ones(shape, dtype=bool)):  # fmt: skip
        for step in (envs.step, envs.step_arrays):
            with pytest.raises(InputError, match=r"^actions"):
                step(wrong)
    np.testing.assert_equal(envs.step(actions)[:4], others.step(actions)[:4])


@every_environment
def test_integers_that_are_no_action_are_refused_by_the_world(environment: Any) -> None:
    """As an error, or as a move that is not made."""
    env, envs = single(environment), batch(environment)
    env.reset(seed=0)
    envs.reset(seed=0)
    for number in (-1, 2**31, 2**63 - 1):
        for each in (env, envs):
            with suppress(InputError):
                assert np.isfinite(each.step(np.full(each.action_space.shape, number))[1]).all()
            each.reset()


@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("gumption/WordCraft-v0", {"goal": 3, "table": ["water"]}),
        ("gumption/WordCraft-v0", {"goal": None, "table": ["water"]}),
        ("gumption/WordCraft-v0", {"goal": ["mud"], "table": ["water"]}),
        ("gumption/WordCraft-v0", {"goal": "mud", "table": 3}),
        ("gumption/WordCraft-v0", {"goal": "mud", "table": [["water"], 3]}),
        ("gumption/WordCraft-v0", {"goal": "mud", "table": ["water"], "intermediates": 3}),
        ("gumption/LittleAlchemy-v0", {"discovered": 3}),
        ("gumption/LittleAlchemy-v0", {"discovered": [3]}),
        ("gumption/HALMA-v0", {"maze": None}),
        ("gumption/HALMA-v0", {"maze": True}),
        ("gumption/HALMA-v0", {"maze": -1}),
        ("gumption/HALMA-v0", {"maze": 2**64}),
        ("gumption/HALMA-v0", {"maze": 0.5}),
        ("gumption/HALMA-v0", {"maze": "maze.json"}),
        ("gumption/HALMA-v0", {"maze": {"schema": "gumption/halma-maze/1"}}),
        ("gumption/HALMA-v0", {"maze": {"schema": "gumption/halma-maze/1", "start": 3, "goal": "x", "edges": None}}),
    ],
)
def test_reset_options_of_the_wrong_kind(id: str, options: dict[str, Any]) -> None:
    environment = next(one for one in ENVIRONMENTS if one.id == id)
    for env in (single(environment), batch(environment)):
        with pytest.raises(InputError):
            env.reset(options=options)
        env.reset(seed=0)


def test_a_batch_is_reset_where_a_mask_of_booleans_says() -> None:
    envs = batch(ENVIRONMENTS[0])
    envs.reset(seed=0)
    for mask in (None, 3, "x", [True], [0, 1], [False, False], [[True], [True, False]]):
        if mask is not None:
            with pytest.raises(InputError, match=r"^reset_mask"):
                envs.reset(options={"reset_mask": mask})
