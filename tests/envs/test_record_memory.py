"""RecordMemory keeps every step of every episode, whoever acts, and whatever ends the program."""

import signal
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import gumption.envs  # noqa: F401
from gumption.agents.halma.acting import RandomActor, first_percept, next_percept
from gumption.data import InputError
from gumption.envs.halma import HALMAVectorEnv, Maze, Mazes, Memory, MemoryWriter
from gumption.envs.record_memory import RecordMemory
from gumption.envs.wordcraft import Memory as WordCraftMemory

SMALL = {"num_mazes": 4, "max_steps": 12, "max_opt_len": 2}


def halma(count: int, **settings) -> HALMAVectorEnv:
    return HALMAVectorEnv(count, **{**SMALL, **settings})


def test_it_writes_the_very_bytes_that_training_writes(tmp_path: Path) -> None:
    def live(env: HALMAVectorEnv, writer: MemoryWriter | None) -> None:
        env.reset(seed=0)
        actor, rng, percept = RandomActor(2), np.random.default_rng(0), first_percept(env)
        episode, begun = np.arange(3), 3
        for _ in range(40):
            options = actor.act(percept, rng)
            outcome = env.move(options)
            if writer is not None:
                flags = outcome.valid + 2 * outcome.reached + 4 * outcome.trial_over
                writer.append(
                    outcome.before, options, outcome.after, outcome.maze, outcome.trial, episode, flags.astype(np.uint8)
                )
                over = np.flatnonzero(outcome.done)
                episode[over] = begun + np.arange(len(over))
                begun += len(over)
            percept = next_percept(env, options, outcome)

    with MemoryWriter(tmp_path / "trained", 2) as writer:
        live(halma(3), writer)
    env = RecordMemory(halma(3), tmp_path / "recorded")
    live(env.unwrapped, None)
    env.close()
    for name in ("header.json", "records.bin"):
        assert (tmp_path / "recorded" / name).read_bytes() == (tmp_path / "trained" / name).read_bytes()
    assert Mazes.load(tmp_path / "recorded" / "mazes.jsonl").fingerprint == env.unwrapped.mazes.fingerprint


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_in_each_mode_every_step_of_every_episode_is_a_record_and_no_other(tmp_path: Path, mode) -> None:
    env = RecordMemory(halma(3, autoreset_mode=mode), tmp_path / "memory")
    env.reset(seed=0)
    rng, over, steps, ended = np.random.default_rng(0), np.zeros(3, dtype=bool), 0, 0
    for _ in range(50):
        steps += 3 - (int(over.sum()) if mode == AutoresetMode.NEXT_STEP else 0)
        _, _, terminated, truncated, _ = env.step(rng.integers(4, size=(3, 3)))
        over = terminated | truncated
        ended += int(over.sum())
        if mode == AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
    env.close()
    memory = Memory.load(tmp_path / "memory")
    assert len(memory) == steps
    lengths = np.bincount(memory.episode)
    assert (lengths[:ended] == 12).all()
    assert len(lengths) - ended <= 3
    for episode in range(len(lengths)):
        of_one = memory.records[memory.episode == episode]
        same_trial = np.flatnonzero(of_one["trial"][1:] == of_one["trial"][:-1])
        assert (of_one["before"][1:][same_trial] == of_one["after"][:-1][same_trial]).all()
        assert len(set(of_one["maze"].tolist())) == 1
        assert of_one["trial"][0] == 0


def test_an_episode_that_is_left_gets_another_number_and_new_mazes_are_kept(tmp_path: Path, golden: Maze) -> None:
    env = RecordMemory(gym.make("gumption/HALMA-v0", **SMALL), tmp_path / "memory")
    env.reset(seed=1)
    env.step([0, 1, 0])
    env.reset()
    env.reset(options={"maze": golden})
    env.step([2, 2, 0])
    env.step([2, 1, 0])
    with pytest.raises(InputError):
        env.step([9, 9, 9])  # refused by the world, so it is no transition
    env.close()
    env.close()
    memory = Memory.load(tmp_path / "memory")
    assert memory.episode.tolist() == [0, 1, 1]
    mazes = Mazes.load(tmp_path / "memory" / "mazes.jsonl")
    assert mazes[int(memory.maze[1])] == golden
    assert memory.length.tolist() == [1, 2, 1]


def test_a_memory_is_gone_on_with_and_a_torn_end_told(tmp_path: Path) -> None:
    def live(**settings) -> None:
        env = RecordMemory(halma(2, **settings), tmp_path / "memory")
        env.reset(seed=0)
        for _ in range(5):
            env.step(np.ones((2, 3), dtype=int))
        env.close()

    live()
    live()
    memory = Memory.load(tmp_path / "memory")
    assert np.unique(memory.episode, return_counts=True)[1].tolist() == [5, 5, 5, 5]
    path = tmp_path / "memory" / "records.bin"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.warns(UserWarning, match=r"the end was cut short, as by a crash; records lost: 1"):
        live()
    assert len(Memory.load(tmp_path / "memory")) == 19 + 10
    for settings, told in (
        ({"maze_seed": 5}, r"mazes.jsonl is not what this environment plays with"),
        ({"max_opt_len": 3}, "a memory of max_opt_len 2, not max_opt_len 3; choose another folder"),
        ({"trials": 3}, "a memory of trials 10, and this environment has 3; choose another folder"),
        ({"goal_reward": 1.0}, "a memory of goal_reward 100.0, and this environment has 1.0"),
    ):
        before = path.read_bytes()
        with pytest.raises(InputError, match=told):
            RecordMemory(halma(2, **settings), tmp_path / "memory")
        assert path.read_bytes() == before


def test_a_memory_of_another_environment_is_not_gone_on_with(tmp_path: Path) -> None:
    with MemoryWriter(tmp_path / "run", 2) as writer:  # as a training writes it
        writer.append(*(np.zeros((1, *shape), np.int8) for shape in ((11,), (3,), (11,), (), (), (), ())))
    with pytest.raises(InputError, match="a memory that RecordMemory did not begin; choose another folder"):
        RecordMemory(halma(1), tmp_path / "run")
    for number, settings in enumerate(({"partition": "test"}, {"reward": "sparse"})):
        memory = tmp_path / str(number)
        env = RecordMemory(gym.make("gumption/WordCraft-v0"), memory)
        env.reset(seed=0)
        env.step(0)
        env.close()
        before = {path.name: path.read_bytes() for path in memory.iterdir()}
        with pytest.raises(InputError, match=f"a memory of {next(iter(settings))} "):
            RecordMemory(gym.make("gumption/WordCraft-v0", **settings), memory)
        assert {path.name: path.read_bytes() for path in memory.iterdir()} == before
        RecordMemory(gym.make_vec("gumption/WordCraft-v0", num_envs=2), memory).close()  # one or several alike


KILLED = """
import sys
import gymnasium as gym
import gumption.envs
from gumption.envs import record_memory

record_memory.WAIT_S = 0.05
env = record_memory.RecordMemory(gym.make("gumption/HALMA-v0", num_mazes=2), sys.argv[1])
env.reset(seed=0)
for step in range(10**9):
    if any(env.step(env.action_space.sample())[2:4]):
        env.reset()
    if step % 500 == 499:
        print(step + 1, flush=True)
"""


def test_a_program_that_is_killed_leaves_what_it_wrote(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "memory")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        made = [int(process.stdout.readline()) for _ in range(6)]
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    memory = Memory.load(tmp_path / "memory")
    assert len(memory) >= 500, made
    env = RecordMemory(gym.make("gumption/HALMA-v0", num_mazes=2), tmp_path / "memory")
    env.reset(seed=0)
    env.step([0, 1, 0, 0, 0, 0])
    env.close()
    assert len(Memory.load(tmp_path / "memory")) == len(memory) + 1


def test_the_end_of_a_program_writes_what_is_left(tmp_path: Path) -> None:
    code = KILLED.replace("range(10**9)", "range(7)").replace("0.05", "1e9")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "memory")], check=True)
    assert len(Memory.load(tmp_path / "memory")) == 7


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_wordcraft_is_kept_in_each_mode(tmp_path: Path, mode) -> None:
    settings = {"num_distractors": 1, "depth": 2, "autoreset_mode": mode}
    env = RecordMemory(gym.make_vec("gumption/WordCraft-v0", num_envs=8, **settings), tmp_path / "memory")
    env.reset(seed=0)
    batch, over, expected = env.unwrapped, np.zeros(8, dtype=bool), []
    for _ in range(30):
        before = batch.goal.copy(), batch.table.copy(), batch.selection.copy()
        actions = batch.random_actions()
        _, reward, terminated, truncated, _ = env.step(actions)
        for i in np.flatnonzero(~over) if mode == AutoresetMode.NEXT_STEP else range(8):
            picked = before[1][i, actions[i]]
            expected.append((before[0][i], before[2][i], picked, np.float32(reward[i]), bool(terminated[i])))
        over = terminated | truncated
        if mode == AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
    env.close()
    records = WordCraftMemory.load(tmp_path / "memory").records
    names = ("goal", "selection", "picked", "reward")
    told = [(*(row[name] for name in names), bool(row["flags"] & 2)) for row in records]
    assert told == expected
    assert ((records["product"] > 0) <= (records["selection"] > 0)).all()


def test_what_keeps_no_memory_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    for env, told in (
        (gym.make("CartPole-v1"), "CartPoleEnv is no environment whose transitions gumption can keep"),
        (gym.make("gumption/Gradual-v0"), "GradualVectorEnv keeps no memory of transitions"),
        (
            SyncVectorEnv([lambda: gym.make("gumption/HALMA-v0", **SMALL)]),
            "SyncVectorEnv is no environment .* wrap each of its environments, with a folder each",
        ),
    ):
        with pytest.raises(InputError, match=told):
            RecordMemory(env, folder)
    assert not folder.exists()
    env = RecordMemory(halma(1), folder)
    with pytest.raises(InputError, match="recorded already: wrap it once"):
        RecordMemory(env, tmp_path / "other")
    with pytest.raises(InputError, match="another writer has this memory open"):
        RecordMemory(halma(1), folder)
    env.close()
    RecordMemory(env.unwrapped, folder).close()


@pytest.mark.slow
def test_an_agent_of_stable_baselines3_is_kept(tmp_path: Path) -> None:
    from stable_baselines3 import PPO

    env = RecordMemory(gym.make("gumption/HALMA-v0", **SMALL), tmp_path / "memory")
    PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, device="cpu", seed=0).learn(256)
    env.close()
    memory = Memory.load(tmp_path / "memory")
    assert len(memory) == env.recording.count == 256
    assert memory.episode.max() == 255 // 12
