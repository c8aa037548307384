"""What only the document has, and a setting plays: its examples, question by question."""

from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.data import InputError
from gumption.envs.gradual import Rules, judge, known_tasks
from gumption.envs.gradual.batch import Batch
from gumption.envs.gradual.engine import Life, Stream

assert gumption.envs

# task, question, a right answer, a wrong one, the instance's mapping: A.2.7.1, A.2.7.2, A.2.15, A.2.16, A.2.19, A.2.20.
PHRASINGS = [
    ("micro7.1", "say a.", "a.", "0.", None),
    ("micro7.2", "say hello.", "hello.", "o.", None),
    ("micro15", "after one comes what:.", "two.", "one.", {"one": "two"}),
    ("micro16", "say: a.", "a.", "b.", None),
    ("micro16", "after d comes what:.", "e.", "d.", None),
    ("micro19", "write: a.", "a.", "write.", None),
    ("micro19", "print: b.", "b.", "print.", None),
    ("micro20", "print is as say - print: panda.", "panda.", "print.", None),
]
SYNONYMOUS = [("micro19", "say: c & d.", "cd.", "c."), ("micro20", "& is as and - say: a & b.", "ab.", "a & b.")]


@pytest.mark.parametrize(("task", "question", "right", "wrong", "mapping"), PHRASINGS)
def test_a_phrasing_of_the_document_is_judged_with_its_setting_alone(
    task: str, question: str, right: str, wrong: str, mapping: dict[str, str] | None
) -> None:
    with pytest.raises(InputError, match=r"question|questions"):
        judge(task, question, right, mapping=mapping)
    rules = Rules(phrasings=True)
    assert judge(task, question, right, mapping=mapping, rules=rules).correct
    assert not judge(task, question, wrong, mapping=mapping, rules=rules).correct


@pytest.mark.parametrize(("task", "question", "right", "wrong"), SYNONYMOUS)
def test_and_and_or_have_synonyms_in_both_tasks(task: str, question: str, right: str, wrong: str) -> None:
    rules = Rules(phrasings=True, and_or_synonyms=True)
    assert judge(task, question, right, rules=rules).correct
    assert not judge(task, question, wrong, rules=rules).correct


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_the_phrasings_are_asked_beside_those_of_the_program(together: bool) -> None:
    rules = Rules(phrasings=True, and_or_synonyms=together)
    wanted = {
        "micro7.1": ["say a.", "say: a."],
        "micro15": ["after one comes what:.", "say next after: one."],
        "micro16": ["say: a.", "after d comes what:.", "say: ab say: cd reverse:."],
        "micro19": ["write: a.", "print: b."],
        "micro20": [],
    }
    for name, questions in wanted.items():
        task, draw = known_tasks(rules)[name], Random(0)
        asked = set()
        for hidden in islice(task.instances(draw), 300):
            for question in islice(task.questions(hidden, draw), 60):
                asked.add(question)
                assert task.solve(question, hidden).answer  # each that is drawn can be solved
        assert asked.issuperset(questions), name
        if name == "micro20":
            assert any(question.startswith(("print is as say - print: ", "write is as say")) for question in asked)
            assert any("& is as and" in question for question in asked) == together


def test_the_whole_alphabet_is_exchanged_in_running_text() -> None:
    """A.2.3: the text of the figure, its answers, and the mapping that they show."""
    task = known_tasks(Rules(whole_alphabet=True))["micro3"]
    mapping = dict(zip("waitforgdjb", "xboptrekgqm", strict=True))
    text, answers = "wait for it.      good job!", "xbop tre op.      krrg qrm!"
    for asked, answer in zip(text, answers, strict=True):
        assert judge("micro3", asked, answer, mapping=mapping, rules=Rules(whole_alphabet=True)).correct
    hidden = next(task.instances(Random(0)))
    assert sorted(hidden["mapping"]) == sorted(hidden["mapping"].values()) == list("abcdefghijklmnopqrstuvwxyz")
    asked = "".join(islice(task.questions(hidden, Random(0)), 5_000))
    assert set("etaoins .!?") <= set(asked)
    assert len(asked.split()) > 300
    for sign in " .!?,;:":
        assert task.solve(sign, hidden).answer == sign
    assert task.solve("e", hidden).answer == hidden["mapping"]["e"]


def test_the_alphabet_of_the_document_is_played(knower: Callable[[Stream], int]) -> None:
    task = known_tasks(Rules(whole_alphabet=True))["micro3"]
    stream = Stream(Life([task], 5, 0))
    stream.first()
    for _ in range(49):
        assert stream.step(knower(stream))[1] == 1
    env = gym.make("gumption/Gradual-v0", tasks=["micro3"], whole_alphabet=True)
    env.reset(seed=0, options={"mapping": {"w": "x", "q": "w"}})  # no word has these letters alone


def play(task: Any, wrong_at: set[int], mapping: dict[str, str], questions: list[str]) -> Life:
    """An instance of micro5.2 in which the answers at these places are wrong and the others right."""
    life = Life([task], 5, 0, {"mapping": mapping}, questions)
    life.begin()
    for place in range(len(questions)):
        if life.ended:
            break
        life.verdict("x" if place in wrong_at else life.solution.answer)
    return life


def test_an_instance_counts_if_what_comes_again_is_predicted() -> None:
    """A.2.5.2.1, with the questions of the figure in A.2.5.2: 0 1 0 1 0 0, of which 0 and 1 are new once."""
    task, mapping = known_tasks(Rules(predict_repeats=True))["micro5.2"], {"0": "0", "1": "1"}
    questions = [*"010100", *"01" * 10]
    guessing = play(task, {0, 1}, mapping, questions)
    assert (guessing.ended, guessing.success, guessing.asked) == (True, True, 12)
    late = play(task, {0, 1, 2}, mapping, questions)  # the second 0 is answered as in the figure
    assert (late.ended, late.success, late.asked) == (True, False, 13)
    assert play(known_tasks()["micro5.2"], {0, 1, 2}, mapping, questions).success  # as the program has it


def test_an_instance_with_a_mistake_goes_on_until_it_times_out() -> None:
    for rules, most in ((Rules(predict_repeats=True), 10_000), (Rules(), 2_000)):
        stream = Stream(Life([known_tasks(rules)["micro5.2"]], 5, 0))
        stream.first()
        steps = 0
        while stream.life.record.instances == 1:
            stream.step(ord("x") if stream.listening else ord(" "))
            steps += 1
        assert (steps > 9_000) == (most == 10_000)
        assert stream.life.record.solved == 0


@pytest.mark.parametrize("name", ["micro5.1", "micro5.7", "micro5.18"])
def test_a_batch_plays_what_single_streams_play(knower: Callable[[Stream], int], name: str) -> None:
    rules, draw = Rules(predict_repeats=True), Random(name)
    task = known_tasks(rules)[name]
    single = [Stream(Life([task], 1_000, seed)) for seed in range(3)]
    batch = Batch(3)
    batch.begin(range(3), [Life([task], 1_000, seed) for seed in range(3)])
    assert batch.byte.tolist() == [stream.first() for stream in single]
    for _ in range(3_000):
        said = [
            knower(stream) if draw.random() < share else ord("x")
            for stream, share in zip(single, (1.0, 0.985, 0.9), strict=True)
        ]
        expected = [stream.step(byte) for stream, byte in zip(single, said, strict=True)]
        batch.step(np.array(said, dtype=np.uint8))
        assert list(zip(batch.byte.tolist(), batch.reward.tolist(), strict=True)) == expected
    assert single[0].life.record.solved == single[0].life.record.instances - 1
    assert single[1].life.record.solved < single[1].life.record.instances - 1


def test_a_kept_stream_knows_which_answers_came_before(knower: Callable[[Stream], int]) -> None:
    rules = Rules(predict_repeats=True)
    stream = Stream(Life([known_tasks(rules)["micro5.2"]], 5, 0))
    stream.first()
    for step in range(70):
        stream.step(ord("x") if stream.listening and step > 60 else knower(stream))
    again = Stream.restored(stream.state(), known_tasks(rules), 5)
    for _ in range(200):
        byte = knower(stream)
        assert again.step(byte) == stream.step(byte)
    assert again.life.record == stream.life.record
