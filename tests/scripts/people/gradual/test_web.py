"""Gradual in the browser, its Python half: whole answers in the stream of bytes, and what the page is shown."""

import pytest

from gumption.data import InputError
from gumption.envs.gradual.env import GradualEnv
from gumption.scripts.people.gradual import SHOWN, VIEW, Conversation
from gumption.scripts.people.web.episodes import Episode

TASKS = "micro5.1,micro5.2"


def say(env, face, text):
    """Reward, whether it is over, and what is told."""
    _, reward, terminated, truncated, info = env.step(VIEW.parse(text, env))
    return reward, terminated or truncated, face.told(info, terminated)


def right_answer(env):
    return env.batch.batch.life(0).solution.answer


def test_the_stream_waits_where_the_player_may_answer():
    env, face = VIEW.begin(tasks="micro14", seed=3)
    assert env.batch.batch.listening()[0]
    for text in ("x.", "", "y."):
        say(env, face, text)
        assert env.batch.batch.listening()[0]
    drawing = VIEW.drawing(env)
    assert len(drawing["said"]) == len(drawing["rewards"]) == len(drawing["sent"]) - 1


def test_two_solutions_behind_the_same_stream_are_shown_alike():
    views, seed = {}, 0
    while True:
        episode = Episode("", "", "gradual", VIEW, VIEW.begin, {"tasks": "micro5.1"}, seed)
        answer, view = right_answer(episode.env), episode.shown()
        before, shown = views.setdefault(view["drawing"]["sent"], (answer, view))
        if before != answer:
            break
        seed += 1
    assert shown == view


def test_answers_are_counted_and_rewarded():
    env, face = VIEW.begin(tasks=TASKS, seed=1)
    answer = right_answer(env)
    assert say(env, face, answer)[0] == 1
    wrong = "x" if right_answer(env) != "x" else "y"
    assert say(env, face, wrong)[0] == -1
    drawing = VIEW.drawing(env)
    assert (drawing["right"], drawing["questions"], drawing["task"], drawing["number"], drawing["tasks"]) == (
        1, 2, "micro5.1", 1, 2,
    )  # fmt: skip
    assert 1 in drawing["rewards"]
    assert -1 in drawing["rewards"]


def test_a_conversation_has_the_bytes_of_the_environment():
    env, _ = VIEW.begin(tasks="micro14", seed=3)
    for text in ("ab.", "", "c."):
        env.step(text)
    plain = GradualEnv(tasks="micro14")
    byte, _ = plain.reset(seed=3)
    sent = [byte]
    for said in env.said:
        sent.append(plain.step(said)[0])
    assert bytes(sent) == bytes(env.sent)


def test_what_comes_after_a_whole_answer_is_not_said():
    env, face = VIEW.begin(tasks=TASKS, seed=1)
    before = len(env.said)
    told = say(env, face, "xyz")[2]
    assert told == "the beginning of what you typed was already the answer: the rest was not said"
    assert bytes(env.said[before:]).strip() == b"x"


def test_a_passed_task_and_the_end_are_told():
    env, face = VIEW.begin(tasks=TASKS, threshold=1, seed=1)
    told, over = [], False
    while not over:
        _, over, what = say(env, face, right_answer(env))
        told += [what] if what else []
    assert told == ["micro5.1 is passed; another task has begun", "all tasks are passed"]


def test_the_latest_bytes_alone_travel():
    env, face = VIEW.begin(tasks="micro14", seed=3)
    for _ in range(200):
        say(env, face, "abc.")
    drawing = VIEW.drawing(env)
    assert len(drawing["sent"]) == SHOWN == len(drawing["said"]) + 1 == len(drawing["rewards"]) + 1
    assert face.observe(env).startswith("Input : ")
    assert "Nothing marks where a task" in face.rules(env)


def test_an_empty_answer_is_a_space():
    env, _ = VIEW.begin(tasks=TASKS, seed=1)
    before = len(env.said)
    env.step(VIEW.parse("", env))
    assert env.said[before : before + 1] == b" "
    assert VIEW.choices(env) == []


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (7, "the action is 7; it is a text"),
        ("x" * 101, "that has 101 characters; an answer has at most 100"),
        ("1 €", "'€' is no byte: a character's code is at most 255"),
    ],
)
def test_what_is_no_answer_is_refused(action, told):
    env, _ = VIEW.begin(tasks=TASKS, seed=1)
    with pytest.raises(InputError, match=told):
        VIEW.parse(action, env)


def test_a_conversation_begins_anew():
    env, _ = VIEW.begin(tasks=TASKS, seed=1)
    assert isinstance(env, Conversation)
    first = bytes(env.sent)
    env.step("x")
    env.reset(seed=1)
    assert (bytes(env.sent), env.said, env.rewards) == (first, bytearray(), [])
