"""Baselines, and what validation finds in agents that are made to learn gradually, or to forget."""

from dataclasses import replace
from statistics import median
from typing import Any

import pytest

from gumption.agents.gradual.validation import (
    BASELINES,
    Chain,
    gradual_learning,
    not_forgetting,
    play_knower,
    silent,
)
from gumption.data import InputError
from gumption.envs.gradual import Session, Solution, Task, challenge, of_names
from gumption.envs.gradual.task import stateless

SPACE, STOP = ord(" "), ord(".")


def asking(name: str) -> Task:
    """Asks one question, the name of the task, which is also the answer."""

    def ask(hidden: Any, draw: Any) -> Any:
        while True:
            yield f"{name}."

    return Task(name, name, stateless, ask, lambda question, hidden: Solution(question, ("+;",), ("-;",)))


TASKS = {name: asking(name) for name in ("a", "b", "c")}


class Waiting:
    """Says what it has heard after its first `slow` questions; a task that it knows by another one takes it fewer.

    :param helps: what is known by what. :param forgets: the task that a later one drives out.
    """

    def __init__(self, helps: dict[str, str], forgets: dict[str, str] | None = None, slow: int = 20) -> None:
        self.helps, self.forgets, self.slow = helps, forgets or {}, slow
        self.known: set[str] = set()
        self.left: dict[str, int] = {}
        self.name, self.saying = "", ""

    def __call__(self, reward: int, byte: int) -> int:
        heard = chr(byte)
        if self.saying:
            said, self.saying = self.saying[0], self.saying[1:]
            return ord(said)
        if heard.isalpha():
            self.name = heard
        if heard != "." or not self.name:
            return SPACE
        name, self.name = self.name, ""
        if name not in self.known:
            wait = self.left.setdefault(name, 2 if self.helps.get(name) in self.known else self.slow)
            if wait:
                self.left[name] -= 1
                return STOP
            self.known.add(name)
            self.known.discard(self.forgets.get(name, ""))
        self.saying = "."
        return ord(name)


def test_an_agent_that_builds_on_what_it_knows_passes_a_chain() -> None:
    [found] = gradual_learning(lambda seed: Waiting({"b": "a"}), [Chain(("a",), "b")], seeds=5, tasks=TASKS)
    assert found.passed
    assert found.ratio > 1.2
    assert found.p < 0.01
    assert max(found.after) < min(found.alone)  # pyright: ignore[reportArgumentType]
    assert set(found.knower) == {5 * 10 * 5}  # five instances of ten questions: "b." twice, but for a byte, and "+;"
    assert found.ratio < found.at_most == median(found.alone) / 250  # pyright: ignore[reportArgumentType]
    [other] = gradual_learning(lambda seed: Waiting({}), [Chain(("a",), "b")], seeds=3, tasks=TASKS)
    assert (other.ratio, other.passed) == (1.0, False)


def test_a_run_that_does_not_pass_counts_as_one_at_its_limit() -> None:
    [found] = gradual_learning(lambda seed: silent, [Chain(("a",), "b")], seeds=2, max_steps=300, tasks=TASKS)
    assert found.after == found.alone == (None, None)
    assert (found.ratio, found.passed) == (1.0, False)


def test_what_is_driven_out_is_found_out() -> None:
    kept = not_forgetting(lambda seed: Waiting({}), ["a", "b", "c"], seeds=2, tasks=TASKS)
    assert [(one.task, one.kept) for one in kept] == [("a", True), ("b", True), ("c", True)]
    lost = not_forgetting(lambda seed: Waiting({}, {"b": "a"}), ["a", "b"], seeds=1, max_steps=100, tasks=TASKS)
    assert [one.first for one in lost] == [(None,), (None,)]
    assert not lost[0].kept


def test_a_knower_passes_everything_and_no_baseline_does() -> None:
    knower = play_knower(replace(challenge(), success_threshold=1))
    assert knower.solved
    assert 8_500 < knower.steps < 10_000  # the sum of the medians is 9,220
    for name, make in BASELINES.items():
        result = Session(of_names(["micro7.1"]).tasks, make(0), max_steps=20_000).run()
        assert not result.solved, name


def test_a_table_learns_to_copy_single_characters() -> None:
    result = Session(of_names(["micro4"]).tasks, BASELINES["table"](0), max_steps=100_000).run()
    assert result.solved


def test_what_validation_cannot_begin_with_is_told() -> None:
    with pytest.raises(InputError, match="has no 'z'"):
        list(gradual_learning(lambda seed: silent, [Chain(("a",), "z")], tasks=TASKS))
    with pytest.raises(InputError, match="name the tasks"):
        not_forgetting(lambda seed: silent, [], tasks=TASKS)
