"""SEGAR's environments: levels, forces, ends, reset options, and batches that are the same as single ones."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.physics.factors import Position

IDS = ["PuttPutt", "PuttPuttNegDist", "Invisiball", "Billiards"]
SMALL = {"num_levels": 4, "observation": "state"}


def scene(ball: Any = (0.0, 0.0), goal: Any = (0.5, 0.0), *more: Any, **factors: Any) -> dict[str, Any]:
    return {
        "entities": [
            {"id": "golfball", "type": "GolfBall", "factors": {"Position": list(ball), **factors}},
            {"id": "goal", "type": "GoalTile", "factors": {"Position": list(goal)}},
            *more,
        ]
    }


def make(name: str = "PuttPutt", **settings: Any) -> Any:
    return gym.make(f"gumption/{name}-v0", **{**SMALL, **settings}).unwrapped


def test_the_reward_is_minus_the_squared_distance_in_diagonals() -> None:
    env = make()
    env.reset(options={"scene": scene()})
    _, reward, terminated, truncated, info = env.step(np.zeros(2, np.float32))
    assert reward == pytest.approx(-((0.5 / (np.sqrt(2) * 2)) ** 2))
    assert not terminated
    assert not truncated
    assert info["distance"] == pytest.approx(0.5 / (np.sqrt(2) * 2))


def test_neg_dist_is_minus_the_distance() -> None:
    env = make("PuttPuttNegDist")
    env.reset(options={"scene": scene()})
    assert env.step(np.zeros(2))[1] == pytest.approx(-0.5 / (np.sqrt(2) * 2))


def test_a_force_changes_the_velocity_by_force_over_mass_once() -> None:
    env = make(sub_steps=1, friction=0.0)
    env.reset(options={"scene": scene(Mass=2.0)})
    _, _, _, _, info = env.step(np.array([1.0, -0.5]))
    assert info["velocity"] == pytest.approx([0.5, -0.25])
    assert env.step(np.zeros(2))[4]["velocity"] == pytest.approx([0.5, -0.25])


def test_a_force_beyond_the_box_is_clipped() -> None:
    env = make(sub_steps=1, friction=0.0)
    env.reset(options={"scene": scene()})
    assert env.step(np.array([9.0, 0.0]))[4]["velocity"] == pytest.approx([2.0, 0.0])


def test_the_goal_ends_an_episode_with_success() -> None:
    env = make(friction=0.0)
    env.reset(options={"scene": scene(goal=(0.02, 0.0), Velocity=[0.5, 0.0])})
    _, reward, terminated, _, info = env.step(np.zeros(2))
    assert terminated
    assert info["success"]
    assert reward > -1e-3
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.zeros(2))


def test_what_ended_within_a_step_stays_as_it_was_then() -> None:
    """The ball passes the goal in the first of five sub-steps: the others do not move it."""
    env = make(friction=0.0)
    env.reset(options={"scene": scene(goal=(0.03, 0.0), Velocity=[2.0, 0.0])})
    _, _, terminated, _, _ = env.step(np.zeros(2))
    assert terminated
    assert env.batch.state.scene(0).entities[0].factors[Position] == pytest.approx([0.02, 0.0])


def test_magma_destroys_and_a_hole_takes_the_ball() -> None:
    magma = {"id": "m", "type": "MagmaTile", "factors": {"Heat": 8.0, "Position": [0, 0]}}
    env = make()
    env.reset(options={"scene": scene((0, 0), (0.9, 0.9), magma)})
    _, reward, terminated, _, info = env.step(np.zeros(2))
    assert terminated
    assert not info["alive"]
    assert not info["success"]
    assert reward < -100
    hole = {"id": "h", "type": "Hole", "factors": {"Position": [0, 0]}}
    env.reset(options={"scene": scene((0, 0), (0.9, 0.9), hole)})
    _, reward, terminated, _, info = env.step(np.zeros(2))
    assert terminated
    assert info["alive"]
    assert -1 < reward < 0


def test_an_episode_is_cut_off() -> None:
    env = make(max_steps=3)
    env.reset(options={"scene": scene()})
    ends = [env.step(np.zeros(2))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_directions_are_unit_forces_counter_clockwise() -> None:
    env = make(directions=4, friction=0.0, action_max=0.5)
    for action, velocity in ((0, (0, 0)), (1, (0.5, 0)), (2, (0, 0.5)), (3, (-0.5, 0)), (4, (0, -0.5))):
        env.reset(options={"scene": scene()})
        assert env.step(action)[4]["velocity"] == pytest.approx(velocity, abs=1e-6)
    with pytest.raises(InputError, match="0 to 4"):
        env.step(5)


def test_the_invisible_ball_is_seen_before_the_first_action_alone() -> None:
    env = make("Invisiball")
    _, info = env.reset(seed=0)
    ball = next(each for each in info["scene"]["entities"] if each["type"] == "GolfBall")
    assert ball["factors"]["Visible"]
    info = env.step(np.zeros(2))[4]
    ball = next(each for each in info["scene"]["entities"] if each["type"] == "GolfBall")
    assert not ball["factors"]["Visible"]


def test_billiards_adds_squared_distances_to_the_nearest_hole() -> None:
    table = {
        "entities": [
            {"id": "cueball", "type": "CueBall", "factors": {"Position": [0, -0.8]}},
            {"id": "one", "type": "Ball", "factors": {"Position": [0.4, 0]}},
            {"id": "two", "type": "Ball", "factors": {"Position": [-0.4, 0]}},
            {"id": "left", "type": "Hole", "factors": {"Position": [-0.7, 0], "Size": 0.3}},
            {"id": "right", "type": "Hole", "factors": {"Position": [0.8, 0], "Size": 0.3}},
        ]
    }
    env = make("Billiards")
    env.reset(options={"scene": table})
    diagonal = 2 * np.sqrt(2)
    assert env.step(np.zeros(2))[1] == pytest.approx(-((0.4 / diagonal) ** 2 + (0.3 / diagonal) ** 2))


def test_a_level_is_replayed_by_its_name_and_by_its_number() -> None:
    env = make(levels="objectsx2-hard")
    _, first = env.reset(options={"level": 2})
    assert first["level"] == "objectsx2-hard/train/0/2"
    _, again = env.reset(options={"level": "objectsx2-hard/train/0/2"})
    assert again["scene"] == first["scene"]
    _, other = env.reset(options={"level": "objectsx2-hard/test/0/2"})
    assert other["scene"] != first["scene"]


def test_training_and_test_levels_differ() -> None:
    scenes = {}
    for part in ("train", "test"):
        env = make(levels="empty-hard", partition=part)
        scenes[part] = [env.reset(options={"level": i})[1]["scene"] for i in range(4)]
    assert all(one not in scenes["test"] for one in scenes["train"])


@pytest.mark.parametrize("name", IDS)
def test_a_batch_is_the_same_as_single_environments(name: str) -> None:
    """Bit for bit, for levels of different entities, with the same actions."""
    levels = {} if name == "Billiards" else {"levels": "puttputt_default" if name != "Invisiball" else "invisiball"}
    envs = gym.make_vec(f"gumption/{name}-v0", num_envs=4, autoreset_mode="Disabled", **SMALL, **levels).unwrapped
    for i in range(4):
        envs.reset(seed=0, options={"level": i, "reset_mask": np.arange(4) == i}) if i else envs.reset(
            seed=0, options={"level": 0}
        )
    singles = [make(name, **levels) for _ in range(4)]
    for i, env in enumerate(singles):
        env.reset(seed=0, options={"level": i})
    rng = np.random.default_rng(0)
    for _ in range(10):
        actions = rng.uniform(-1, 1, (4, 2))
        _, rewards, ends, _, _ = envs.step(actions)
        told = [env.step(action) for env, action in zip(singles, actions, strict=True)]
        assert rewards.tolist() == [each[1] for each in told]
        for i, env in enumerate(singles):
            assert envs.state.scene(i).to_data() == env.batch.state.scene(0).to_data()
        if ends.any() or any(each[2] for each in told):
            break


def test_scenes_of_other_entities_than_the_levels_can_be_played_beside_them() -> None:
    envs = gym.make_vec("gumption/PuttPutt-v0", num_envs=3, autoreset_mode="Disabled", **SMALL).unwrapped
    envs.reset(seed=0)
    before = envs.state.scene(0)
    charger = {"id": "c", "type": "Charger", "factors": {"Position": [0.5, 0.5]}}
    envs.reset(options={"scene": scene((0, 0), (0.9, 0.9), charger), "reset_mask": np.array([False, True, False])})
    assert envs.state.scene(0).to_data() == before.to_data()
    assert [each.id for each in envs.state.scene(1).entities] == ["golfball", "goal", "c"]
    envs.step(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"levels": "objects-easy"}, "objects-easy"),
        ({"directions": 2}, "at least 3"),
        ({"num_levels": 0}, "num_levels"),
        ({"levels": "nowhere.json"}, "nowhere.json"),
        ({"levels": "billiards"}, "GolfBall"),
    ],
)
def test_bad_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(**settings)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 4}, "0 to 3"),
        ({"level": "empty-easy"}, "no name of a level"),
        ({"scene": {"entities": []}}, "GolfBall"),
        ({"scene": scene(), "level": 1}, "one of scene and level"),
        ({"maze": 1}, "reset has no 'maze'"),
        ({"scene": scene((3, 0))}, "outside the walls"),
    ],
)
def test_bad_reset_options(options: dict[str, Any], said: str) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match=said):
        env.reset(options=options)


@pytest.mark.parametrize("action", [np.array([np.nan, 0.0]), np.zeros(3), "left", None, 1])
def test_bad_actions(action: Any) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match="the action"):
        env.step(action)


def play(env: Any, steps: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [env.step_arrays(rng.integers(5, size=env.num_envs)) for _ in range(steps)]


def batch(count: int = 6, **settings: Any) -> Any:
    small = {**SMALL, "levels": "tilesx2-hard", "directions": 4, "max_steps": 12, **settings}
    return gym.make_vec("gumption/PuttPutt-v0", num_envs=count, **small).unwrapped


def test_a_saved_batch_goes_on_bit_for_bit() -> None:
    env, other = batch(), batch()
    env.reset(seed=3)
    play(env, 17, seed=0)
    other.load_state_dict(env.state_dict())
    assert np.array_equal(env.observe(), other.observe())
    for mine, theirs in zip(play(env, 30, seed=1), play(other, 30, seed=1), strict=True):
        for one, two in zip(mine, theirs, strict=True):
            assert np.array_equal(one, two)
    assert np.array_equal(env.observe(), other.observe())


def test_a_batch_is_saved_and_restored_with_its_own_levels_alone() -> None:
    env = batch()
    env.reset(seed=3)
    saved = env.state_dict()
    with pytest.raises(InputError, match="other levels"):
        batch(level_seed=9).load_state_dict(saved)
    with pytest.raises(InputError, match="a batch of 6, here 3"):
        batch(3).load_state_dict(saved)
    with pytest.raises(InputError, match="rng missing"):
        batch().load_state_dict({name: value for name, value in saved.items() if name != "rng"})
    env.reset(options={"scene": scene()})
    with pytest.raises(InputError, match="scene of reset options"):
        env.state_dict()
