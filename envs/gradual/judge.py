"""Whether an answer is right, and what may be said about it, outside of any stream."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from gumption.data.settings import checked, checked_methods

from .curriculum import find_task, known_tasks
from .rules import Rules
from .task import DIGITS, Solution


@checked_methods
@dataclass(frozen=True)
class Verdict:
    """What is said of an answer.

    :ivar correct: whether it is right.
    :ivar feedbacks: each text that the task may send about it; {""} where it sends none.
    """

    correct: bool
    feedbacks: frozenset[str]


@checked
def judge(
    task: str, question: str, answer: str, mapping: Mapping[str, str] | None = None,
    context: Mapping[str, Any] | None = None, rules: Rules | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on an answer to a question of a task, as `gumption/Gradual-v0` would give it.

    :param task: "micro5.7". :param question: as it is sent. :param answer: all that was said in answer to it.
    :param mapping: the instance's key -> answer, for tasks that hide one (micro2 to 6 and 15). A full stop at the end
        of an answer may be left out.
    :param context: what else an instance hides, by name: {"alphabet": "abc...", "answer": "a"} in micro1.
    :param rules: the default where it is None.
    :raises InputError: an unknown task, a question that it does not ask, or one that needs a mapping or a context.
    """
    rules = Rules() if rules is None else rules
    found = find_task(task, known_tasks(rules))
    hidden = dict(context or {}) | ({} if mapping is None else {"mapping": dict(mapping)})
    solution = found.solve(question, hidden)
    right = (found.cycle == "mini" and answer.endswith(solution.answer)) or solution.is_right(answer)
    texts = _texts(solution, right)
    if found.adaptive:
        texts += _texts(solution, True)
    return Verdict(right, frozenset(texts))


def _texts(solution: Solution, right: bool) -> list[str]:
    texts = solution.right if right else solution.wrong
    return [
        "".join(digits) + text
        for text in texts
        for number in solution.noise
        for digits in product(DIGITS, repeat=number)
    ] or [""]
