"""The Gymnasium environments: bytes, rewards, options and limits."""

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.gradual import Curriculum, Solution, Task, all_tasks
from gumption.envs.gradual.task import stateless

ID = "gumption/Gradual-v0"


def make(**settings: Any) -> Any:
    return gym.make(ID, **settings).unwrapped


def play(env: Any, said: str, options: Any) -> tuple[str, list[int]]:
    """The bytes that the environment sends while this is said, and the rewards."""
    byte, _ = env.reset(seed=0, options=options)
    sent, rewards = [byte], []
    for character in said:
        byte, reward, terminated, _, _ = env.step(ord(character))
        sent.append(byte)
        rewards.append(int(reward))
        if terminated:
            break
    return bytes(np.array(sent, dtype=np.uint8)).decode("latin-1"), rewards


def test_the_answer_of_a_mapping_is_fed_back_with_its_reward() -> None:
    """The dialogue of micro5.7 in the document: the feedback comes when the expected answer's length is reached."""
    options = {"task": "micro5.7", "mapping": {"4": "15", "2": "7"}, "questions": ["4.", "2."]}
    sent, rewards = play(make(), " 15.     1.", options)
    assert sent == "4.  15.;2. 7"
    assert rewards == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, -1]


def test_speaking_out_of_turn_costs_and_begins_the_row_anew() -> None:
    env = make(success_threshold=1)
    options = {"task": "micro7.1", "questions": ["say: a."] * 20}
    right, row = "a.", " " * 18 + "a."  # 18: while "correct! a.;say: a" is sent
    five = " " * 6 + right + 4 * row
    sent, rewards = play(env, five + "x" + row[1:] + 9 * row + " " * 13, options)
    assert sent.startswith("say: a. correct! a.;say: a. correct! a.;")
    assert [reward for reward in rewards if reward] == [1] * 5 + [-1] + [1] * 10
    first = env.records()[0]
    assert (first.questions, first.right, first.solved, first.passed) == (15, 15, 1, True)


def test_the_curriculum_ends_the_episode_and_pays_its_last_reward() -> None:
    for quirks, last in ((False, 1), (True, 0)):
        env = make(tasks="micro4", success_threshold=1, upstream_quirks=quirks)
        byte, info = env.reset(seed=1)
        rewards = []
        for _ in range(10):
            assert info["listening"]
            byte, reward, terminated, truncated, info = env.step(byte)
            rewards.append(reward)
        assert terminated
        assert not truncated
        assert info["success"]
        assert rewards == [1] * 9 + [last]


def test_an_episode_may_be_cut_off() -> None:
    env = make(max_steps=3)
    env.reset(seed=0)
    ends = [env.step(32)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_the_state_of_an_instance_is_told() -> None:
    env = make(tasks=["micro2", "micro14"])
    _, info = env.reset(seed=3, options={"task": "micro14", "questions": ["after d comes what:."]})
    assert (info["task"], info["instance"], info["question"]) == ("micro14", 1, "after d comes what:.")
    assert not info["listening"]


def test_facts_speak_for_the_byte_that_goes_on_with_the_answer() -> None:
    env = make()
    env.reset(seed=0, options={"task": "micro14", "questions": ["after d comes what:."]})
    said = env.action_facts().labels(env.vocabulary)
    assert ("after d comes what:.", "hasAnswer", "e.") in said[ord("e")]
    assert said[ord("q")][-1] == ("a", "followedBy", "q")  # "a" of "after" has been sent
    for _ in range(19):
        env.step(32)
    env.step(ord("e"))
    assert ("after d comes what:.", "hasAnswer", "e.") in env.action_facts().labels(env.vocabulary)[ord(".")]


def test_a_task_of_ones_own_is_played() -> None:
    def ask(hidden: Any, draw: Any) -> Any:
        while True:
            yield draw.choice(["one?", "two?"])

    def solve(question: str, hidden: Any) -> Solution:
        answer = {"one?": "1.", "two?": "2."}[question]
        return Solution(answer, ("yes;",), (f"no, {answer};",))

    task = Task("numbers", "digits of words", stateless, ask, solve)
    env = make(tasks=Curriculum("mine", (task,), 1))
    byte, info = env.reset(seed=0)
    assert info["task"] == "numbers"
    terminated, steps = False, 0
    while not terminated:
        answer = {"one?": "1.", "two?": "2."}[info["question"]]
        byte, _, terminated, _, info = env.step(ord(answer[0]) if info["listening"] and byte == ord("?") else
                                                ord(".") if info["listening"] else 32)  # fmt: skip
        steps += 1
    assert steps == 10 * (4 + 2 - 1 + 4)
    assert env.records()[0].passed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tusk": "micro4"}, "reset has no 'tusk'; did you mean 'task'"),
        ({"task": "micro99"}, "the curriculum has no 'micro99'"),
        ({"task": "micro14", "mapping": {"a": "b"}}, "an instance of micro14 has no mapping: it hides nothing"),
        ({"task": "micro4", "context": {"alphabet": "abc"}}, "micro4 has no alphabet: it hides mapping"),
        ({"task": "micro1", "context": {"alphabet": ""}}, "the alphabet has 0 characters; it has to be 1 to 255"),
        ({"task": "micro4", "mapping": {}}, r"mapping is \{\}; it is a dict, key -> answer"),
        ({"task": "micro4", "mapping": {"a": "\u0416"}}, "keys and answers are texts of one-byte characters"),
        ({"task": "micro5.7", "mapping": {"4": "15"}, "questions": ["5."]}, "asks for '5'; the mapping has '4'"),
        ({"task": "micro14", "questions": ["after z comes what:."]}, "is no question of this task"),
        ({"task": "micro14", "questions": "after a"}, "it is a list of texts"),
        ({"task": "micro14", "questions": [7]}, "questions has 7, which is no text"),
        ({"task": "micro14", "context": 3}, "context is 3; it is a dict"),
    ],
)
def test_options_that_fit_no_task_are_told(options: Any, message: str) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match=message):
        env.reset(options=options)


def test_settings_and_actions_that_are_none_are_told() -> None:
    with pytest.raises(InputError, match="the curriculum has no 'micro5'; did you mean"):
        make(tasks="micro5")
    with pytest.raises(InputError, match="a curriculum has at least one task"):
        make(tasks=[])
    env = make()
    env.reset(seed=0)
    for action in (256, -1):
        with pytest.raises(InputError, match=f"{action} is out of range: it is a whole number from 0 to 255"):
            env.step(action)


def test_frames_show_the_three_rows() -> None:
    env = make(render_mode="ansi")
    env.reset(seed=0, options={"task": "micro5.7", "mapping": {"4": "15"}, "questions": ["4.", "4."]})
    for character in " 15.  ":
        env.step(ord(character))
    rows = env.render().split("\n")
    assert [row.rstrip() for row in rows] == [
        "Input :" + " " * 58 + "4.  15.",
        "Output:" + " " * 59 + "15.",
        "Reward:" + " " * 61 + "+",
    ]


def test_streams_of_a_batch_are_independent_of_their_number() -> None:
    few, many = (gym.make_vec(ID, num_envs=number, tasks=["micro2"]) for number in (2, 5))
    few.reset(seed=4)
    many.reset(seed=4)
    for _ in range(100):
        said = np.full(5, ord("a"))
        a, b = few.step(said[:2]), many.step(said)
        assert np.array_equal(a[0], b[0][:2])
        assert np.array_equal(a[1], b[1][:2])


def test_every_task_of_the_challenge_can_begin_an_episode() -> None:
    env = make()
    for name in all_tasks():
        _, info = env.reset(seed=2, options={"task": name})
        assert info["task"] == name


def test_a_state_goes_on_with_the_same_bytes() -> None:
    """Also within an instance, after a reset with options, and in tasks whose instances depend on earlier ones."""
    settings = {
        "success_threshold": 1,
        "tasks": ["micro2", "micro5.9", "micro15", "micro19", "micro20", "mini0", "mini3"],
    }
    first, second = (gym.make_vec(ID, num_envs=14, **settings).unwrapped for _ in range(2))
    first.reset(seed=1)
    for place, name in enumerate(settings["tasks"]):
        mask = np.arange(14) == 2 * place
        first.reset(options={"reset_mask": mask, "task": name})
    rng = np.random.default_rng(0)

    def said(envs: Any) -> np.ndarray:
        right = np.array([answer_byte(stream) for stream in envs.batch.streams])
        return np.where(rng.random(14) < 0.93, right, rng.integers(256, size=14))

    for length in (0, 1, 40, 333, 1_000):
        for _ in range(length):
            first.batch.settle()
            first.step(said(first))
        second.load_state_dict(first.state_dict())
        for _ in range(200):
            first.batch.settle()
            actions = said(first)
            assert all(
                np.array_equal(a, b) for a, b in zip(first.step(actions)[:4], second.step(actions)[:4], strict=True)
            )
    assert [first.records(i) for i in range(14)] == [second.records(i) for i in range(14)]
    assert any(len(first.records(i)) > 2 for i in range(14))


def answer_byte(stream: Any) -> int:
    """What a knower says."""
    if not stream.listening:
        return 32
    answer, place = stream.life.solution.answer, len(stream.heard.lstrip(b" "))
    return ord(answer[place]) if place < len(answer) else ord(".")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_a_copy_goes_on_by_itself(copied) -> None:
    """In the midst of a task, whose stream holds running generators."""
    env = gym.make("gumption/Gradual-v0")
    np.testing.assert_equal(copied(env).reset(seed=1), env.reset(seed=1))
    for _ in range(300):
        env.step(97)
    other = copied(env)
    played = [env.step(byte) for byte in range(97, 122)]
    np.testing.assert_equal([other.step(byte) for byte in range(97, 122)], played)
    batch = gym.make_vec("gumption/Gradual-v0", num_envs=3)
    batch.reset(seed=2)
    again = copied(batch)
    for byte in range(97, 122):
        for mine, its in zip(batch.step(np.full(3, byte)), again.step(np.full(3, byte)), strict=True):
            np.testing.assert_equal(mine, its)
