"""What holds for every task: of the challenge, and of the other curricula."""

import json
from collections.abc import Callable
from random import Random
from statistics import median

import numpy as np
import pytest

from gumption.envs.gradual.batch import Batch
from gumption.envs.gradual.curriculum import all_tasks, judge, known_tasks
from gumption.envs.gradual.engine import SPACE, Life, Stream
from gumption.envs.gradual.task import Rules

Knower = Callable[[Stream], int]

TASKS = list(known_tasks())
SILENT_STEPS = 20_000
VERDICTS = 300

# Steps of a knower for five instances, least and most of 20 runs of the program of 2017.
MEASURED = {
    "micro1": (50, 50), "micro2": (50, 50), "micro3": (50, 50), "micro4": (50, 50), "micro5.1": (100, 100),
    "micro5.2": (150, 150), "micro5.3": (200, 200), "micro5.4": (300, 300), "micro5.5": (300, 300),
    "micro5.6": (250, 250), "micro5.7": (324, 366), "micro5.8": (350, 350), "micro5.9": (320, 334),
    "micro5.10": (350, 350), "micro5.11": (321, 330), "micro5.12": (564, 620), "micro5.13": (444, 467),
    "micro5.14": (434, 464), "micro5.15": (448, 522), "micro5.16": (369, 432), "micro5.17": (525, 679),
    "micro5.18": (897, 1053), "micro6": (1588, 1670), "micro7.1": (1000, 1000), "micro7.2": (1636, 1825),
    "micro7.3": (2626, 2920), "micro8": (1744, 1822), "micro9.1": (1250, 1250), "micro9.2": (2310, 2625),
    "micro9.3": (2740, 3015), "micro10": (2713, 3001), "micro11": (2116, 2156), "micro12": (1878, 1901),
    "micro13.1": (1480, 1612), "micro13.2": (1678, 1921), "micro14": (1600, 1600), "micro15": (1879, 2047),
    "micro16": (1981, 2732), "micro19": (2020, 2486), "micro20": (3019, 3514), "mini0": (199, 235),
    "mini1": (236, 273), "mini2": (250, 303), "mini3": (302, 399), "mini4": (336, 478), "mini5": (265, 341),
}  # fmt: skip


def stream_of(name: str, seed: int = 0, threshold: int = 5, rules: Rules = Rules()) -> Stream:  # noqa: B008
    return Stream(Life([known_tasks(rules)[name]], threshold, seed))


def steps_of_knower(knower: Knower, stream: Stream) -> int:
    stream.first()
    steps, rewards = 1, set()
    while True:
        _, reward = stream.step(knower(stream))
        rewards.add(reward)
        if stream.over:
            break
        steps += 1
        assert steps < 20_000
    assert rewards <= {0, 1}
    assert stream.life.record.solved == stream.life.record.instances == 5
    assert stream.life.record.steps == steps
    return steps


@pytest.mark.parametrize("name", TASKS)
def test_a_knower_passes_without_a_mistake(knower: Knower, name: str) -> None:
    for seed in range(3):
        steps_of_knower(knower, stream_of(name, seed))


@pytest.mark.parametrize("name", MEASURED)
def test_a_knower_takes_as_many_steps_as_in_2017(knower: Knower, name: str) -> None:
    rules = Rules(upstream_quirks=True)
    least, most = MEASURED[name]
    assert least <= median(steps_of_knower(knower, stream_of(name, seed, rules=rules)) for seed in range(21)) <= most


@pytest.mark.parametrize("name", TASKS)
def test_a_silent_agent_never_passes(name: str) -> None:
    stream = stream_of(name)
    stream.first()
    rewards = {stream.step(SPACE)[1] for _ in range(SILENT_STEPS)}
    assert not stream.over
    assert rewards <= {-1, 0, 1}


@pytest.mark.parametrize("name", [name for name, task in known_tasks().items() if task.cycle == "micro"])
def test_a_byte_out_of_turn_costs_a_reward_and_the_row(knower: Knower, name: str) -> None:
    stream = stream_of(name)
    stream.first()
    if stream.position >= stream.talk_end:
        pytest.skip("the agent may speak from the first byte on")
    assert stream.step(ord("x"))[1] == -1
    while stream.life.record.right < 5:
        stream.step(knower(stream))
    while stream.position >= stream.talk_end:
        stream.step(knower(stream))
    assert stream.step(ord("x"))[1] == -1
    instances = stream.life.record.instances
    while stream.life.record.instances == instances and not stream.over:
        stream.step(knower(stream))
    assert stream.life.records[0].right == 15


def spoiled(answer: str, draw: Random) -> str:
    """An answer with an error, which still ends as the right one does."""
    place = draw.randrange(len(answer))
    middle = draw.choice(["", "x", answer[place] * 2, answer[::-1][:-1] + "a"])
    if draw.random() < 0.5:
        return middle + answer[-1]
    return answer[:place] + middle + answer[max(place + 1, len(answer) - 1) :]


def padded(stream: Stream, answer: str) -> str:
    """As many bytes as a fixed-length answer has."""
    return answer.ljust(stream.life.needed)[: stream.life.needed] if stream.life.needed else answer


@pytest.mark.parametrize("name", TASKS)
def test_judge_says_what_the_stream_says(name: str) -> None:
    draw = Random(name)
    stream = stream_of(name, threshold=1_000)
    stream.first()
    life = stream.life
    right_ones, verdicts, answer, question = 0, 0, "", None
    while verdicts < VERDICTS:
        if not stream.listening:
            stream.step(SPACE)
            continue
        if question is None:
            right = life.solution.answer
            question, said = life.question, right if draw.random() < 0.6 else padded(stream, spoiled(right, draw))
            answer = ""
        byte = said[len(answer)] if len(answer) < len(said) else life.solution.answer[-1]
        answer += byte
        record, hidden, instance = life.record, life.hidden, life.record.instances
        before = record.questions, record.right
        stream.step(ord(byte))
        if record.questions == before[0]:
            if record.instances > instance:  # the instance took too long
                question = None
            continue
        verdicts += 1
        correct = record.right > before[1]
        right_ones += correct
        verdict = judge(name, question, answer, context=hidden)
        assert verdict.correct == correct, (question, answer)
        if life.record.instances == instance and life.task.cycle == "micro":
            text = stream.text.decode("latin-1")
            assert any((feedback + ("" if life.ended else life.question)) in text for feedback in verdict.feedbacks)
        question = None
    assert 0 < right_ones < verdicts


@pytest.mark.parametrize("name", TASKS)
def test_streams_in_arrays_are_single_streams(knower: Knower, name: str) -> None:
    size = 3
    draw = Random(name)
    single = [stream_of(name, seed) for seed in range(size)]
    batch = Batch(size)
    batch.begin(range(size), [Life([known_tasks()[name]], 5, seed) for seed in range(size)])
    assert batch.byte.tolist() == [stream.first() for stream in single]
    for _ in range(1_500):
        if any(stream.over for stream in single):
            break
        said = [knower(stream) if draw.random() < 0.97 else draw.choice(b" .!ax1") for stream in single]
        expected = [stream.step(byte) for stream, byte in zip(single, said, strict=True)]
        batch.step(np.array(said, dtype=np.uint8))
        assert list(zip(batch.byte.tolist(), batch.reward.tolist(), strict=True)) == expected
        assert batch.listening().tolist() == [stream.listening for stream in single]


@pytest.mark.parametrize("name", TASKS)
def test_a_kept_stream_goes_on_with_the_same_bytes(knower: Knower, name: str) -> None:
    draw = Random(name)
    stream = stream_of(name, threshold=1_000)
    stream.first()
    for _ in range(10):
        for _ in range(draw.randrange(100)):
            stream.step(knower(stream) if draw.random() < 0.98 else ord("."))
        kept = json.loads(json.dumps(stream.state()))
        again = Stream.restored(kept, known_tasks(), 1_000)
        for _ in range(100):
            byte = knower(stream) if draw.random() < 0.98 else ord(".")
            assert again.listening == stream.listening
            assert again.step(byte) == stream.step(byte)


def test_each_task_requires_tasks_that_there_are() -> None:
    for task in known_tasks().values():
        assert set(task.requires) <= set(known_tasks())
    assert set(all_tasks()) < set(known_tasks())
