"""Gradual's dials: other words for the same tasks, and other answers to their questions."""

from collections.abc import Callable
from itertools import islice, product
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gumption.envs
from gumption.agents.gradual import GradualLearner
from gumption.data import InputError
from gumption.envs.gradual import Session, Solution, Task, of_names
from gumption.envs.gradual.curriculum import all_tasks, shuffled_words
from gumption.envs.gradual.dials import anonymous
from gumption.envs.gradual.env import GradualVectorEnv
from gumption.envs.gradual.facts import HAS_ANSWER, facts
from gumption.envs.gradual.micro_tasks import load_words
from gumption.envs.gradual.task import Draws, Rules

assert gumption.envs
DIALS = [dict(zip(("names", "laws"), dials, strict=True))
         for dials in product(("real", "anonymous", "shuffled"), ("real", "counterfactual"))]  # fmt: skip
SPACE = ord(" ")
HIDDEN = {f"micro{n}" for n in ("1", "2", "3", "6", *(f"5.{k}" for k in range(1, 19)))}  # their answers are drawn anew


def played(answer: Callable[[Any], str], tasks: list[str], steps: int = 4000, **dials: Any) -> list[tuple[float, bool]]:
    """Rewards and ends of an agent that says `answer(life)` whenever an answer is due."""
    env = GradualVectorEnv(1, tasks=tasks, success_threshold=1, autoreset_mode="Disabled", **dials)
    env.reset(seed=0)
    told = []
    for _ in range(steps):
        said = SPACE
        if env.batch.listening()[0]:
            life, heard = env.batch.life(0), env.batch.answers()[0]
            due, heard = answer(life), heard.lstrip() if life.task.cycle == "mini" else heard
            said = ord(due[len(heard)]) if len(heard) < len(due) else SPACE
        _, reward, terminated, _, _ = env.step(np.array([said]))
        told.append((float(reward[0]), bool(terminated[0])))
        if terminated[0]:
            break
    return told


def solution(life: Any) -> str:
    return life.solution.answer


@pytest.mark.parametrize("tasks", [["micro2", "micro4", "micro5.2"], ["micro7.2", "micro9.2"], ["micro13.1", "micro15"],
                                   ["micro20"], ["mini2"]])  # fmt: skip
@pytest.mark.parametrize("laws", ["real", "counterfactual"])
def test_a_knower_earns_the_same_byte_for_byte_by_all_names(tasks, laws) -> None:
    real = played(solution, tasks, laws=laws)
    assert real[-1][1]  # passed them all
    for names in ("anonymous", "shuffled"):
        assert played(solution, tasks, names=names, laws=laws) == real


def test_who_knows_the_real_answers_fails_by_other_laws() -> None:
    known = all_tasks()

    def real(life: Any) -> str:
        return known[life.task.name].solve(life.question, life.hidden).answer

    for name in ("micro4", "micro7.2", "micro14"):
        assert played(real, [name])[-1][1]
        told = played(real, [name], 1200, laws="counterfactual")
        assert not told[-1][1]
        assert sum(reward > 0 for reward, _ in told) < 0.1 * sum(reward < 0 for reward, _ in told), name


@pytest.mark.parametrize("dials", DIALS[1:])
def test_every_task_asks_and_answers_by_all_dials(dials) -> None:
    real, other = all_tasks(), all_tasks(Rules(**dials))
    assert [*real] == [*other]
    for name, task in other.items():
        draw = Draws(3)
        hidden = next(task.instances(draw))
        asked = [*islice(task.questions(hidden, draw), 30)]
        answers = {question: task.solve(question, hidden) for question in asked}
        assert all(answer.is_right(answer.answer) for answer in answers.values())
        if dials["laws"] == "real" or name in HIDDEN:
            continue
        plain = all_tasks(Rules(names=dials["names"]))[name]
        moved = [question for question in answers if plain.solve(question, hidden).answer != answers[question].answer]
        assert len(moved) > 0.6 * len(answers), name


def test_words_change_their_meanings_with_others_of_their_kind_and_length() -> None:
    shuffled = shuffled_words()
    assert all(len(word) == len(other) for word, other in shuffled.there.items())
    assert sorted(shuffled.there) == sorted(shuffled.there.values())
    assert all(shuffled.there[word] != word for word in ("say", "spell", "reverse", "after", "good", "wrong", "two"))
    text = "say: not one. Wrong. wrong! OR"
    assert shuffled.read(shuffled.reword(text)) == text
    words = load_words()
    free = shuffled.free(words)
    assert len(set(free.values())) == len(words)
    assert not set(free.values()) & set(shuffled.there)
    assert anonymous("Wrong! a-z 9") != "Wrong! a-z 9"


@pytest.mark.parametrize("dials", DIALS[1:])
def test_facts_and_vocabulary_follow(dials) -> None:
    real, other = set(facts(partition="all")), set(facts(partition="all", **dials))
    assert len(real) == len(other)
    answers = {fact for fact in other if fact[1] == HAS_ANSWER}
    tasks = [all_tasks(Rules(**dials))[name] for name in ("micro7.1", "micro9.1", "micro11", "micro12", "micro14")]
    for question, _, answer in sorted(answers)[:40]:
        assert answer in {found.answer for task in tasks if (found := _solved(task, question)) is not None}
    assert len(answers & real) < 0.05 * len(answers)
    env: Any = gym.make("gumption/Gradual-v0", tasks=["micro7.1"], **dials).unwrapped
    env.reset(seed=0)
    assert {label for fact in answers for label in (fact[0], fact[2])} <= set(env.batch.vocabulary)
    told = env.batch.action_facts().labels(env.batch.vocabulary)
    asked = {fact for facts_ in told for fact in facts_ if fact[1] == HAS_ANSWER}
    assert asked
    assert len(asked & answers) == 1  # one of the letters answers


def _solved(task: Task, question: str) -> Solution | None:
    try:
        return task.solve(question, {})
    except InputError:
        return None


def test_a_batch_still_judges_dealt_questions_itself() -> None:
    env = GradualVectorEnv(4, tasks=["micro2"], names="anonymous", laws="counterfactual")
    env.reset(seed=0)
    assert all(stream.life.deal is not None for stream in env.batch.streams)


@pytest.mark.slow
@pytest.mark.parametrize("dials", [DIALS[1], DIALS[-1]])
def test_what_is_right_is_learned_from_feedback_by_all_dials(dials) -> None:
    rules = Rules(**dials)
    result = Session(of_names(["micro7.1"], rules).tasks, GradualLearner(), success_threshold=2, seed=0,
                     max_steps=30_000).run()  # fmt: skip
    assert result.solved


def test_bad_dials_are_refused() -> None:
    with pytest.raises(InputError, match="names is 'other'"):
        GradualVectorEnv(1, names="other")
    for dials in ({"names": "shuffled"}, {"laws": "counterfactual"}):
        with pytest.raises(InputError, match="produce1 is no task of the challenge: it has its own words and answers"):
            GradualVectorEnv(1, tasks=["micro7.1", "produce1"], **dials)
        assert len(GradualVectorEnv(1, **dials).curriculum.tasks) == 46
