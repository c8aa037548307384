"""Baselines, and what validation finds in agents that are made to learn gradually, or to forget."""

from dataclasses import replace
from itertools import permutations
from statistics import median
from typing import Any

import pytest

from gumption.agents.gradual import GradualLearner
from gumption.data import InputError
from gumption.envs.gradual import Session, Solution, Task, all_tasks, challenge, of_names
from gumption.envs.gradual.task import stateless
from gumption.scripts.papers.gradual.validation import (
    BASELINES,
    Chain,
    Player,
    Table,
    compare,
    gradual_learning,
    not_forgetting,
    orders_of,
    play_knower,
    remembered,
    silent,
)

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
            lost = self.forgets.get(name, "")
            self.known.discard(lost)
            self.left.pop(lost, None)
        self.saying = "."
        return ord(name)


class Changing:
    """A new `Waiting` whenever it hears another task: it forgets everything after every task."""

    def __init__(self) -> None:
        self.agent, self.task = Waiting({}), ""

    def __call__(self, reward: int, byte: int) -> int:
        if chr(byte).isalpha() and chr(byte) != self.task:
            self.agent, self.task = Waiting({}), chr(byte)
        return self.agent(reward, byte)


def test_an_agent_that_builds_on_what_it_knows_passes_a_chain() -> None:
    [found] = gradual_learning(lambda seed: Waiting({"b": "a"}), [Chain(("a",), "b")], seeds=5, tasks=TASKS)
    assert found.passed
    assert found.ratio.low > 1.2
    assert found.p < 0.01
    assert found.orders == (("a",),)  # one task has one order
    assert max(found.after[0]) < min(found.alone)  # pyright: ignore[reportArgumentType]
    assert set(found.knower) == {5 * 10 * 5}  # five instances of ten questions: "b." twice, but for a byte, and "+;"
    assert found.ratio.value < found.at_most == median(found.alone) / 250  # pyright: ignore[reportArgumentType]
    [other] = gradual_learning(lambda seed: Waiting({}), [Chain(("a",), "b")], seeds=3, tasks=TASKS)
    assert (tuple(other.ratio), other.passed) == ((1.0, 1.0, 1.0), False)


def test_a_ratio_passes_with_its_whole_interval_alone() -> None:
    alone, knower = [1_030, 1_010, 1_060, 1_020, 1_040], [500] * 5
    scattered = compare("", [["a"]], [[1_000, 1_080, 900, 1_200, 950]], alone, knower, 9_999)
    assert scattered.ratio.value == 1.03
    assert scattered.ratio.low < 1 < scattered.ratio.high
    assert not scattered.passed
    steady = compare("", [["a"]], [[1_000, 980, 1_029, 990, 1_010]], alone, knower, 9_999)
    assert steady.ratio.value == 1.03
    assert steady.passed
    [one] = gradual_learning(lambda seed: Waiting({"b": "a"}), [Chain(("a",), "b")], seeds=1, tasks=TASKS)
    assert one.ratio.value > 1.2
    assert not one.passed, "one seed has no interval"
    assert one.figures()["low"] is None


def test_orders_are_the_given_one_and_drawn_ones_with_other_ends() -> None:
    assert orders_of("abc", 1) == [("a", "b", "c")]
    assert orders_of("abcd", 4) == orders_of("abcd", 4)
    assert {order[-1] for order in orders_of("abcd", 4)} == set("abcd")
    assert sorted(orders_of("abc", 99)) == sorted(permutations("abc"))
    assert orders_of("a", 5) == [("a",)]


def test_each_order_of_the_prerequisites_has_its_figures() -> None:
    """This agent learns `c` by `b`, but only while it still knows it: after `a` it does not."""
    chain = Chain(("a", "b"), "c")
    [found] = gradual_learning(lambda seed: Waiting({"c": "b"}, {"a": "b"}), [chain], seeds=3, orders=2, tasks=TASKS)
    assert found.orders == (("a", "b"), ("b", "a"))
    assert [ratio.low > 1 for ratio in found.by_order] == [True, False]
    figures = found.figures()
    assert [(order["order"], order["passed"]) for order in figures["orders"]] == [
        (["a", "b"], True), (["b", "a"], False),
    ]  # fmt: skip
    assert 1 == found.by_order[1].value < found.ratio.value < found.by_order[0].value


def test_a_run_that_does_not_pass_counts_as_one_at_its_limit() -> None:
    [found] = gradual_learning(lambda seed: silent, [Chain(("a",), "b")], seeds=2, max_steps=300, tasks=TASKS)
    assert found.after == ((None, None),)
    assert found.alone == (None, None)
    assert (found.ratio.value, found.passed) == (1.0, False)


def verdicts(make: Any, names: str = "abc", **how: Any) -> dict[str, str]:
    found = not_forgetting(make, list(names), **{"seeds": 2, "orders": 3, "max_steps": 5_000, "tasks": TASKS, **how})
    assert all(len(one.orders) == len(one.by_order) == len(one.again) for one in found)
    return {one.task: one.verdict for one in found}


def test_a_perfect_memory_is_kept_and_total_amnesia_is_not() -> None:
    assert verdicts(lambda seed: Waiting({})) == dict.fromkeys("abc", "kept")
    assert verdicts(lambda seed: Changing()) == dict.fromkeys("abc", "forgotten")


def test_an_agent_that_never_learns_has_nothing_to_forget() -> None:
    assert verdicts(Table, max_steps=500) == dict.fromkeys("abc", "not told")
    assert verdicts(BASELINES["echo"], max_steps=500) == dict.fromkeys("abc", "not told")


def test_what_one_task_drives_out_is_found_out_in_each_order() -> None:
    [a, b] = not_forgetting(lambda seed: Waiting({}, {"b": "a"}), ["a", "b"], seeds=2, orders=2, tasks=TASKS)
    assert (a.orders, a.verdict) == ((("a", "b"),), "forgotten")
    assert (b.orders, b.verdict) == ((("b", "a"),), "kept")
    [first, _, last] = not_forgetting(lambda seed: Waiting({}), list("abc"), seeds=2, orders=1, tasks=TASKS)
    assert (first.verdict, first.by_order) == ("kept", ("kept",))
    assert (last.verdict, last.orders) == ("not told", ()), "nothing came after it"
    assert last.figures()["ratio"] is None


def test_a_task_that_is_no_longer_passed_is_forgotten() -> None:
    fresh, learned = [900, 950, 1_000], [[500, 510, 520]]
    assert remembered("a", [["a", "b"]], fresh, learned, [[505, 500, 515]], 2_000).verdict == "kept"
    assert remembered("a", [["a", "b"]], fresh, learned, [[505, 500, None]], 2_000).verdict == "forgotten"
    assert remembered("a", [["a", "b"]], fresh, learned, [[905, 940, 990]], 2_000).verdict == "forgotten"
    assert remembered("a", [["a", "b"]], [510, 500, 1_000], learned, [[505, 500, 515]], 2_000).verdict == "not told"


def begun_by(task: Task, running: list[str]) -> Task:
    """The task, which tells when it begins."""

    def instances(draw: Any) -> Any:
        running.append(task.name)
        return task.instances(draw)

    return replace(task, instances=instances)


@pytest.mark.slow
def test_a_learner_that_is_replaced_after_every_task_has_forgotten_all_of_them() -> None:
    running: list[str] = []
    names = ["micro7.2", "micro9.2", "micro12"]
    tasks = {name: begun_by(all_tasks()[name], running) for name in names}

    class Replaced:
        def __init__(self) -> None:
            self.learner, self.task = GradualLearner(), ""

        def __call__(self, reward: int, byte: int) -> int:
            if running[-1] != self.task:
                self.learner, self.task = GradualLearner(), running[-1]
            return self.learner(reward, byte)

    how = {"seeds": 3, "orders": 1, "max_steps": 20_000, "tasks": tasks}
    lost = not_forgetting(lambda seed: Replaced(), names, **how)
    assert [one.verdict for one in lost] == ["forgotten", "forgotten", "not told"]
    kept = not_forgetting(lambda seed: GradualLearner(), names, **how)
    assert [one.verdict for one in kept] == ["kept", "kept", "not told"]


def test_the_tasks_are_one_stream_to_the_agent() -> None:
    """The last reward of a task comes with the first byte of the next one."""
    rewards: list[int] = []

    def agent(reward: int, byte: int) -> int:
        rewards.append(reward)
        return byte

    player, task = Player(agent), all_tasks()["micro4"]
    assert player.steps(task, 0, 1, 1_000) == player.steps(task, 1, 1, 1_000) == 10
    assert rewards == [0, *[1] * 19]


def test_a_copy_goes_on_as_the_agent_and_by_itself() -> None:
    learner = GradualLearner()
    player, task = Player(learner), all_tasks()["micro7.2"]
    player.steps(task, 0, 5, 3_000)
    steps = [player.copy().steps(task, 7, 5, 3_000) for _ in range(2)]
    assert steps[0] == steps[1] == player.steps(task, 7, 5, 3_000) != Player(GradualLearner()).steps(task, 7, 5, 3_000)


def test_an_agent_that_cannot_be_copied_is_told() -> None:
    def around(seed: int) -> Any:
        known: dict[int, int] = {}
        return lambda reward, byte: known.setdefault(byte, byte)

    class Running:
        def __init__(self) -> None:
            self.steps = (byte for byte in range(256))

        def __call__(self, reward: int, byte: int) -> int:
            return byte

    with pytest.raises(InputError, match="it is a function that keeps what it knows around it; give an object"):
        verdicts(around)
    with pytest.raises(InputError, match=r"the agent cannot be copied, .*generator.*; give an object"):
        verdicts(lambda seed: Running())


def test_an_agent_that_fails_ends_the_validation() -> None:
    with pytest.raises(InputError, match=r"the agent said 256: .* \(at step 1 of a, seed 1000000\)"):
        verdicts(lambda seed: lambda reward, byte: 256)


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
    for names in ([], ["a"], ["a", "a"]):
        with pytest.raises(InputError, match="name at least two tasks"):
            not_forgetting(lambda seed: silent, names, tasks=TASKS)
