"""The memory of a session: the bytes, replies and rewards that the agent had, whatever ends the session."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.gradual import Memory, MemoryWriter, Result, Session, Task, of_names
from gumption.envs.gradual.session import layout
from gumption.envs.memory import HEADER, RECORDS

TASKS = of_names(["micro4", "mini1", "micro7.1"]).tasks
NAMES = [task.name for task in TASKS]
RECORD = 13  # bytes


class Diary:
    """An agent that often echoes, and writes down what it gets and says."""

    def __init__(self, seed: int, stops_at: int = 0) -> None:
        self.got: list[tuple[int, int]] = []
        self.said: list[int] = []
        self._draw, self._stops_at = Random(seed), stops_at

    def __call__(self, reward: int, byte: int) -> int:
        self.got.append((reward, byte))
        if len(self.got) == self._stops_at:
            raise KeyboardInterrupt
        self.said.append(byte if self._draw.random() < 0.99 else self._draw.randrange(256))
        return self.said[-1]


def play(folder: Path, agent: Diary, max_steps: int | None = 6_000, tasks: tuple[Task, ...] = TASKS) -> Result:
    with MemoryWriter(folder, [task.name for task in tasks]) as writer:
        return Session(tasks, agent, success_threshold=2, seed=1, max_steps=max_steps, memory=writer).run()


def lived(memory: Memory) -> list[tuple[int, int, int]]:
    return list(zip(memory.sent.tolist(), memory.said.tolist(), memory.reward.tolist(), strict=True))


@pytest.mark.parametrize("max_steps", [1, 2, 300, 6_000])
def test_the_bytes_replies_and_rewards_are_given_back(tmp_path: Path, max_steps: int) -> None:
    agent = Diary(max_steps)
    result = play(tmp_path, agent, max_steps)
    memory = Memory.load(tmp_path)
    assert (result.ended, result.steps) == ("steps", max_steps)
    assert len(memory) == max_steps - 1  # the last byte is not answered
    assert memory.sent.tolist() == [byte for _, byte in agent.got]
    assert memory.said.tolist() == agent.said
    assert memory.reward[:-1].tolist() == [reward for reward, _ in agent.got[1:]]
    assert memory.tasks == ("micro4", "mini1", "micro7.1")


def test_a_solved_session_has_the_steps_and_rewards_of_each_task_and_instance(tmp_path: Path) -> None:
    agent = Diary(0)
    result = play(tmp_path, agent, None, TASKS[:1])
    memory = Memory.load(tmp_path)
    assert (result.ended, len(memory), int(memory.reward.sum())) == ("solved", result.steps, result.reward)
    assert len(memory.instances()) == result.tasks[0].instances > 1
    assert [number for part in memory.instances() for number in part] == list(range(len(memory)))
    longer = tmp_path / "longer"
    result = play(longer, Diary(3))
    memory = Memory.load(longer)
    assert len(result.tasks) == 2
    for number, record in enumerate(result.tasks):
        steps = memory.task == number
        assert steps.sum() == record.steps - (record is result.tasks[-1])  # but for the byte that is not answered
        assert memory.reward[steps].sum() == record.reward
        found = [part for part in memory.instances() if memory.task[part.start] == number]
        assert memory.instance[[part.start for part in found]].tolist() == list(range(record.instances))


def test_a_memory_changes_nothing_of_a_session(tmp_path: Path) -> None:
    plain = Session(TASKS, Diary(2), success_threshold=2, seed=1, max_steps=6_000).run()
    assert play(tmp_path, Diary(2)) == plain


def test_a_broken_off_session_keeps_its_steps(tmp_path: Path) -> None:
    agent = Diary(5, stops_at=5_000)
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path, agent)
    memory = Memory.load(tmp_path)
    assert len(memory) == 4_999
    assert memory.said.tolist() == agent.said


def test_a_killed_program_costs_the_last_steps_alone(tmp_path: Path) -> None:
    found = []

    def look(steps: int, _: object) -> None:
        found.append((steps, len(Memory.load(tmp_path))))

    with MemoryWriter(tmp_path, NAMES) as writer:
        Session(TASKS, Diary(6), success_threshold=2, max_steps=6_000, watch=look, memory=writer).run()
        assert found[0] == (4_096, 4_095)
        assert len(Memory.load(tmp_path)) == 5_999  # before the memory is closed, too


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 299 * RECORD))
def test_a_memory_that_a_crash_has_cut_loads_up_to_the_cut(tmp_path: Path, size: int) -> None:
    if not (tmp_path / HEADER).exists():
        play(tmp_path, Diary(7), 300)
        (tmp_path / "whole").write_bytes((tmp_path / RECORDS).read_bytes())
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / RECORDS).write_bytes(whole)
    everything = lived(Memory.load(tmp_path))
    assert len(whole) == len(everything) * RECORD == 299 * RECORD
    (tmp_path / RECORDS).write_bytes(whole[:size])
    memory = Memory.load(tmp_path)
    assert lived(memory) == everything[: size // RECORD]
    assert (memory.warning is None) == (size % RECORD == 0)


def test_a_memory_of_other_tasks_is_replaced(tmp_path: Path) -> None:
    play(tmp_path, Diary(8), 100)
    with MemoryWriter(tmp_path, ["micro1"], keep=0):
        assert (len(Memory.load(tmp_path)), Memory.load(tmp_path).tasks) == (0, ("micro1",))
        with pytest.raises(InputError, match="another writer has this memory open"):
            MemoryWriter(tmp_path, ["micro2"], keep=0)
        assert Memory.load(tmp_path).tasks == ("micro1",)
    assert Memory.load(tmp_path).instances() == []


def test_bad_input_is_told(tmp_path: Path) -> None:
    play(tmp_path, Diary(9), 100)
    with pytest.raises(InputError, match="holds a memory already"):
        MemoryWriter(tmp_path, NAMES)
    with pytest.raises(InputError, match="the checkpoint goes on from record 100, and the memory has 99 whole ones"):
        MemoryWriter(tmp_path, NAMES, keep=100)
    for names in ([], ["a"] * 65_537):
        with pytest.raises(InputError, match="tasks is "):
            layout(names)
    assert layout(["a"] * 65_536).record_type.itemsize == RECORD
    with pytest.raises(InputError, match="memory is 3; it "):
        Session(TASKS, Diary(0), memory=3)  # pyright: ignore[reportArgumentType]
