"""A memory of SEGAR: what a record holds, in whatever way episodes end, and what is refused."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from gumption.data import InputError
from gumption.data.sealed import read_sealed, write_sealed
from gumption.envs.physics.entities import TYPES, Tile
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar import Memory
from gumption.envs.segar.env import BilliardsVectorEnv, PuttPuttVectorEnv
from gumption.envs.segar.memory import CONSUMED, DESTROYED, INSIDE, OVER, OWN_SCENE, SUCCESS

TILES = {"levels": "tilesx2-medium", "num_levels": 4, "observation": "state"}


def thing(id: str, kind: str, place: list[float], **factors: Any) -> dict[str, Any]:
    return {"id": id, "type": kind, "factors": {"Position": place, **factors}}


def play(folder: Path, *things: dict[str, Any], steps: int = 1, **ball: Any) -> Memory:
    """A memory of forces (0.5, 0) on a ball in the middle, with these things and a goal far off."""
    env = RecordMemory(PuttPuttVectorEnv(1, **{**TILES, "autoreset_mode": AutoresetMode.DISABLED}), folder)
    goal = thing("goal", "GoalTile", [0.8, 0.8])
    env.reset(options={"scene": {"entities": [*things, thing("golfball", "GolfBall", [0, 0], **ball), goal]}})
    for _ in range(steps):
        env.step(np.array([[0.5, 0.0]], dtype=np.float32))
    env.close()
    return Memory.load(folder)


def random_play(env: Any, steps: int = 60) -> list[np.ndarray]:
    """Observations of random actions."""
    rng, seen = np.random.default_rng(0), [env.reset(seed=0)[0]]
    for _ in range(steps):
        seen.append(env.step(rng.uniform(-1, 1, (env.num_envs, 2)).astype(np.float32))[0])
    return seen


def test_a_record_is_the_scene_before_the_push_and_the_ball_after_it(tmp_path: Path) -> None:
    memory = play(tmp_path / "memory", thing("m", "MagmaTile", [0.1, 0.0], Size=1.0), Mass=0.8, Velocity=[0.0, 0.25])
    (row,) = memory.records
    assert (row["level"], row["episode"], row["flags"]) == (OWN_SCENE, 0, INSIDE)
    assert [memory.types[kind] for kind in row["type"]] == ["GolfBall", "MagmaTile", "GoalTile", ""]
    assert row["position"].tolist() == np.float32([[0, 0], [0.1, 0], [0.8, 0.8], [0, 0]]).tolist()
    assert row["velocity"].tolist() == [[0, 0.25], [0, 0], [0, 0], [0, 0]]
    assert row["size"].tolist() == np.float32([0.2, 1.0, 0.3, 0]).tolist()
    assert row["force"].tolist() == [0.5, 0]
    assert row["mass"] == np.float32(0.8)
    assert (row["top"], row["top_after"]) == (1, 1)
    # Five steps of a hundredth of a second: the mass falls by a tenth in each, and friction takes 0.15 g of the speed.
    assert row["mass_after"] == pytest.approx(0.8 * 0.9**5)
    speed = np.hypot(0.5 / 0.8, 0.25)
    assert np.linalg.norm(row["velocity_after"]) == pytest.approx(speed - 5 * 0.01 * 10 * 0.15, rel=1e-5)
    assert row["position_after"][0] == pytest.approx(0.05 * row["velocity_after"][0], rel=0.2)
    far = np.hypot(*(row["position_after"] - np.float32([0.8, 0.8]))) / np.sqrt(8)
    assert row["reward"] == pytest.approx(-(far**2), rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "ball", "flag", "steps"),
    [
        ("MagmaTile", {"Mass": 0.11}, DESTROYED, 1),
        ("Hole", {}, CONSUMED, 1),
        ("SandTile", {"Position": [0.8, 0.8]}, SUCCESS, 1),
    ],
)
def test_the_end_of_the_ball_is_told(tmp_path: Path, kind: str, ball: dict, flag: int, steps: int) -> None:
    records = play(tmp_path / "memory", thing("tile", kind, [0, 0], Size=0.9), steps=steps, **ball).records
    assert records["flags"].tolist() == [flag | OVER | INSIDE]


def test_the_bare_floor_has_number_0_and_half_on_a_tile_is_not_inside(tmp_path: Path) -> None:
    bare = play(tmp_path / "bare", thing("tile", "SandTile", [0, -0.7], Size=0.2)).records[0]
    assert (bare["top"], bare["top_after"], bare["flags"]) == (0, 0, 0)
    edge = play(tmp_path / "edge", thing("tile", "SandTile", [0.25, 0], Size=0.6)).records[0]
    assert (edge["top"], edge["flags"]) == (1, 0)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_each_step_of_each_episode_is_kept_in_each_mode(tmp_path: Path, mode: AutoresetMode) -> None:
    env = RecordMemory(PuttPuttVectorEnv(6, **TILES, max_steps=9, autoreset_mode=mode), tmp_path / "memory")
    env.reset(seed=0)
    batch, over, expected, rng = env.unwrapped, np.zeros(6, dtype=bool), [], np.random.default_rng(0)
    for _ in range(30):
        before, level = batch.info_arrays()["mass"], batch.level.copy()
        actions = rng.uniform(-1, 1, (6, 2)).astype(np.float32)
        _, reward, terminated, truncated, _ = env.step(actions)
        for i in np.flatnonzero(~over) if mode == AutoresetMode.NEXT_STEP else range(6):
            ended = bool(terminated[i] | truncated[i])
            expected.append((level[i], before[i], *actions[i], np.float32(reward[i]), ended))
        over = terminated | truncated
        if mode == AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
    env.close()
    records = Memory.load(tmp_path / "memory").records
    told = [(row["level"], row["mass"], *row["force"], row["reward"], bool(row["flags"] & OVER)) for row in records]
    assert told == expected
    for episode in np.unique(records["episode"]):
        steps = records[records["episode"] == episode]
        assert not (steps["flags"][:-1] & OVER).any()
        assert np.array_equal(steps["position"][1:, 0], steps["position_after"][:-1])
        assert np.array_equal(steps["mass"][1:], steps["mass_after"][:-1])
        assert np.array_equal(steps["top"][1:], steps["top_after"][:-1])


def test_recording_changes_nothing(tmp_path: Path) -> None:
    alone = random_play(PuttPuttVectorEnv(8, **TILES))
    env = RecordMemory(PuttPuttVectorEnv(8, **TILES), tmp_path / "memory")
    assert all(np.array_equal(one, other) for one, other in zip(alone, random_play(env), strict=True))
    env.close()


def test_the_actor_of_billiards_comes_first_and_directions_are_kept_as_forces(tmp_path: Path) -> None:
    env = RecordMemory(BilliardsVectorEnv(2, directions=4, num_levels=1, observation="state"), tmp_path / "memory")
    env.reset(seed=0)
    env.step(np.array([0, 2]))
    env.close()
    memory = Memory.load(tmp_path / "memory")
    assert [memory.types[kind] for kind in memory.records["type"][:, 0]] == ["CueBall", "CueBall"]
    kinds = sorted(memory.types[kind] for kind in memory.records["type"][0])
    assert kinds == ["Ball"] * 10 + ["CueBall"] + ["Hole"] * 4
    assert memory.records["force"] == pytest.approx(np.array([[0, 0], [0, 2]]), abs=1e-6)


def test_a_file_that_a_crash_has_cut_is_read_up_to_the_last_whole_record(tmp_path: Path) -> None:
    whole = play(tmp_path / "memory", thing("tile", "SandTile", [0, 0]), steps=4)
    path = tmp_path / "memory" / "records.bin"
    path.write_bytes(path.read_bytes()[:-7])
    cut = Memory.load(tmp_path / "memory")
    assert (len(cut), cut.lost) == (3, 1)
    assert cut.warning is not None
    assert np.array_equal(cut.records, whole.records[:3])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: path.unlink(), r"levels.json: cannot be read \(No such file"),
        (lambda path: path.write_text("[1]"), "levels.json: no lists of levels and types"),
        (
            lambda path: write_sealed(path, {**read_sealed(path), "types": ["", "GolfBall"]}),
            "not the levels of these records",
        ),
        (
            lambda path: write_sealed(path, {**read_sealed(path), "hash": "x"}),
            "not the levels of these records",
        ),
    ],
)
def test_names_that_do_not_fit_are_told(tmp_path: Path, change: Any, told: str) -> None:
    play(tmp_path / "memory")
    change(tmp_path / "memory" / "levels.json")
    with pytest.raises(InputError, match=told):
        Memory.load(tmp_path / "memory")


def test_a_memory_of_other_levels_is_not_gone_on_with(tmp_path: Path) -> None:
    play(tmp_path / "memory")
    env = PuttPuttVectorEnv(1, **{**TILES, "level_seed": 5})
    with pytest.raises(InputError, match=r"a memory of things 4, levels [0-9a-f]+, not things 4, levels"):
        RecordMemory(env, tmp_path / "memory")


def test_a_scene_that_has_no_room_in_a_record_is_refused(tmp_path: Path) -> None:
    env = RecordMemory(gym.make("gumption/PuttPutt-v0", observation="state", num_levels=1), tmp_path / "memory")
    things = [thing("golfball", "GolfBall", [0, 0]), thing("goal", "GoalTile", [0, 0.5])]
    more = {"entities": [*things, thing("sand", "SandTile", [0.5, 0])]}
    with pytest.raises(InputError, match="the scene has 3 things, and records of this memory hold 2"):
        env.reset(options={"scene": more})
    env.reset(options={"scene": {"entities": things}})
    env.close()
    env.unwrapped.reset(options={"scene": more})


def test_a_type_that_came_later_is_refused(tmp_path: Path) -> None:
    env = RecordMemory(PuttPuttVectorEnv(1, **TILES), tmp_path / "memory")

    class MossTile(Tile):
        pass

    things = [thing("golfball", "GolfBall", [0, 0]), thing("goal", "GoalTile", [0, 0.5])]
    try:
        with pytest.raises(InputError, match="the type MossTile was defined after the environment was made"):
            env.reset(options={"scene": {"entities": [*things, thing("moss", "MossTile", [0.5, 0])]}})
    finally:
        del TYPES["MossTile"]
        env.close()
