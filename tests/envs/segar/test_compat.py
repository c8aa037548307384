"""What environments do with the preset "compat", as SEGAR's code of 2022 does."""

from typing import Any

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.physics.factors import Position
from gumption.envs.physics.initialization import fix_overlaps
from gumption.envs.physics.scene import Scene
from gumption.envs.segar.configurations import level
from gumption.envs.segar.env import PuttPuttVectorEnv
from tests.physics_scenes import disc, scene, tile


def played(**settings: Any) -> PuttPuttVectorEnv:
    chosen = {"levels": "empty-easy", "num_levels": 1, "observation": "state", "autoreset_mode": "Disabled"}
    return PuttPuttVectorEnv(2, **{**chosen, **settings})


def pushes(*force: float) -> np.ndarray:
    return np.full((2, 2), force, dtype=np.float32)


@pytest.mark.parametrize(("preset", "length"), [("fixed", 3), ("compat", 4)])
def test_an_episode_has_one_step_more(preset: str, length: int) -> None:
    env = played(preset=preset, max_steps=3)
    env.reset(seed=0)
    cut_off = []
    while not cut_off or not cut_off[-1]:
        cut_off.append(env.step(pushes(-0.5, 0))[3].all())
    assert cut_off == [False] * (length - 1) + [True]


def test_nothing_moves_in_the_last_step() -> None:
    env = played(preset="compat", max_steps=3)
    env.reset(seed=0)
    for _ in range(3):
        before, reward, _, truncated, _ = env.step(pushes(-0.5, 0))
        assert not truncated.any()
    after, last, terminated, truncated, _ = env.step(pushes(-0.5, 0))
    assert np.array_equal(after, before)
    assert np.array_equal(last, reward)
    assert truncated.all()
    assert not terminated.any()


def pictures(env: PuttPuttVectorEnv, seed: int) -> list[np.ndarray]:
    """Of two episodes in each environment."""
    first, _ = env.reset(seed=seed)
    second, _ = env.reset()
    assert isinstance(first, np.ndarray)
    assert isinstance(second, np.ndarray)
    return [*first, *second]


def test_textures_are_new_in_each_episode() -> None:
    fixed = pictures(played(observation="rgb"), 0)
    assert all(np.array_equal(fixed[0], other) for other in fixed[1:])
    compat = pictures(played(observation="rgb", preset="compat"), 0)
    assert not any(np.array_equal(one, other) for i, one in enumerate(compat) for other in compat[:i])
    again = pictures(played(observation="rgb", preset="compat"), 0)
    assert all(np.array_equal(one, other) for one, other in zip(compat, again, strict=True))


def test_a_saved_batch_keeps_its_textures() -> None:
    env, other = played(observation="rgb", preset="compat"), played(observation="rgb", preset="compat")
    seen, _ = env.reset(seed=0)
    other.reset(seed=1)
    other.load_state_dict(env.state_dict())
    assert np.array_equal(other.observe(), seen)


def moved(*entities: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    settled = fix_overlaps(Scene.read(scene(*entities)), np.random.default_rng(seed))
    return {each.id: each.factors[Position] for each in settled.entities}


def test_objects_are_moved_apart_when_an_episode_begins() -> None:
    """The moved one goes along the line of centres until 1e-7 lies between; which of the two, the generator says."""
    places = [moved(disc("a"), disc("b", 0.12, 0.05), seed=seed) for seed in range(8)]
    assert {place["a"] == (0.0, 0.0) for place in places} == {True, False}
    for place in places:
        assert np.hypot(*np.subtract(place["a"], place["b"])) == pytest.approx(0.2 + 1e-7, abs=1e-12)
        across = place["a"][0] * 0.05 - place["a"][1] * 0.12
        assert across == pytest.approx(0, abs=1e-12)
    assert moved(disc("a"), tile("t", "SandTile", 0.1, 0)) == {"a": (0.0, 0.0), "t": (0.1, 0.0)}


def test_things_are_moved_inside_the_walls_when_an_episode_begins() -> None:
    assert moved(disc("a", 0.95, 0))["a"] == pytest.approx((0.9 - 1e-5, 0))
    assert moved(tile("t", "SandTile", 0.9, -0.9, side=0.4))["t"] == pytest.approx((0.8 - 1e-5, -0.8 + 1e-5))
    assert moved(tile("t", "Hole", 0.9, 0.9, size=0.3))["t"] == pytest.approx((0.84999, 0.84999))


def test_what_cannot_be_moved_apart_is_told() -> None:
    with pytest.raises(InputError, match=r"things still overlap after 200 rounds .* the code of 2022 raises here"):
        moved(*(disc(f"o{k}", size=0.9) for k in range(8)))


def test_episodes_begin_with_levels_whose_overlaps_are_mended() -> None:
    """Where objects of a level lie in one another, which the motion of 2022 does not survive."""
    env = played(levels="objectsx3-hard", num_levels=20, preset="compat")
    assert level(env.levels.names[0]) == env.levels.scenes[0]
    changed = 0
    for number, drawn in enumerate(env.levels.scenes):
        env.reset(options={"level": number})
        begun = env.state.scene(0)
        assert fix_overlaps(begun, np.random.default_rng(1)) == begun
        changed += fix_overlaps(drawn, np.random.default_rng(1)) != drawn
    assert changed > 2
