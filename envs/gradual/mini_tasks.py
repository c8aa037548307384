"""The mini-tasks: whether a string fits a description, and strings that fit.

After CommAI-mini (Baroni et al., 2017).
"""

from collections.abc import Iterator
from functools import partial
from random import Random

from .descriptions import Description, member
from .mini_sets import draw_description, draw_string, judge_production, produce, sample
from .rules import Rules
from .task import STOP, Hidden, Solution, Task, stateless
from .text_tasks import matched

SETS = range(6)
_SAME = 10  # instances of mini0 in a row with one description
_LONGER = 1_000  # instances of mini0 after which descriptions have two letters
_PRAISE = ("good job.", "bravo.", "congratulations.", "nice work.", "correct.")
_ABOUT = (
    "a letter or two, repeated", "one n-gram, repeated", "any of some n-grams", "all of some n-grams",
    "n-grams that may not be there", "descriptions of all kinds",
)  # fmt: skip


def mini_tasks(rules: Rules) -> list[Task]:
    """mini0 to mini5, in the order of the curriculum."""
    return [
        Task(
            f"mini{number}", about, partial(_same_for_long if number == 0 else _drawn, rules, number), _asked,
            partial(_fits, rules), cycle="mini", requires=("micro13.2", "micro20") if number == 0 else
            (f"mini{number - 1}",),
        )
        for number, about in zip(SETS, _ABOUT, strict=True)
    ]  # fmt: skip


def production_tasks() -> list[Task]:
    """produce1 to produce5, a string for a description of each mini set, and produce-two, two different ones."""
    tasks = [
        Task(
            f"produce{number}", f"saying what is {_ABOUT[number]}", stateless, partial(_to_produce, number, 1),
            partial(_produced, 1), requires=(f"mini{number}",),
        )
        for number in SETS[1:]
    ]  # fmt: skip
    two = Task(
        "produce-two", "saying two strings that fit", stateless, partial(_to_produce, 5, 2), partial(_produced, 2),
        requires=("produce5",),
    )  # fmt: skip
    return [*tasks, two]


def _drawn(rules: Rules, number: int, draw: Random) -> Iterator[Hidden]:
    while True:
        question = sample(number, draw, upstream_quirks=rules.upstream_quirks)
        yield {"description": str(question.description), "string": question.string}


def _same_for_long(rules: Rules, number: int, draw: Random) -> Iterator[Hidden]:
    place = 0
    while True:
        description = draw_description(number, draw, letters=1 if place < _LONGER else 2)
        for _ in range(_SAME):
            string, _ = draw_string(number, description, draw, upstream_quirks=rules.upstream_quirks)
            yield {"description": str(description), "string": string}
        place += _SAME


def _asked(hidden: Hidden, draw: Random) -> Iterator[str]:
    while True:
        yield f"description: {hidden['description']}; verify: {hidden['string']}{STOP}"


def _fits(rules: Rules, question: str, hidden: Hidden) -> Solution:
    described, string = matched(r"description: ([^;.]+); verify: ([A-Z]*)\.", question).groups()
    description = Description.parse(described)
    fits = member(description, string, rules.strict_descriptions)
    if rules.upstream_quirks and not string and description.always_true:
        fits = False  # the program of 2017 had no other way to ask something false about `anything`
    answer = f"{fits}{STOP}".lower()
    return Solution(answer, _PRAISE, (f"Wrong. The right answer is: {answer}",))


def _to_produce(number: int, strings: int, hidden: Hidden, draw: Random) -> Iterator[str]:
    wanted = "produce" if strings == 1 else f"produce {strings} distinct strings"
    while True:
        yield f"description: {draw_description(number, draw)}; {wanted}{STOP}"


def _produced(strings: int, question: str, hidden: Hidden) -> Solution:
    """Any that fit are right; those in the solution are drawn by the description."""
    described = matched(r"description: ([^;.]+); produce(?: \d+ distinct strings)?\.", question)[1]
    description, draw = Description.parse(described), Random(described)
    found: dict[str, None] = {}
    while len(found) < strings:
        found[produce(description, draw)] = None
    answer = " ".join(found) + STOP
    return Solution(
        answer, ("right.;",), (f"wrong; correct: {answer};",),
        lambda said: judge_production(description, said.removesuffix(STOP).split(" "), strings),
    )  # fmt: skip
