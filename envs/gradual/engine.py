"""One stream's life: its schedule of tasks, and of the running instance the questions, verdicts and limits.

Nothing here knows of single bytes: stream.py and batch.py send the texts and gather the answers, one for a single
stream and one for many in arrays, and both ask a `Life` what comes next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from gumption.data import InputError

from .task import Hidden, Presumption, Solution, Task

IN_A_ROW = 10  # right answers by which an instance is solved
SUCCESS_TOLERANCE = 4


@dataclass
class TaskRecord:
    """What became of one task.

    :ivar steps: bytes that it sent. :ivar reward: their sum.
    :ivar instances, solved: how many began, and were a success. :ivar questions, right: how many answers, and right.
    :ivar passed: whether the schedule went on to the next task.
    """

    task: str
    steps: int = 0
    reward: int = 0
    instances: int = 0
    solved: int = 0
    questions: int = 0
    right: int = 0
    passed: bool = False


class Life:
    """The schedule of one stream and its running instance.

    :ivar record: of the running task. :ivar records: of all tasks so far, in order.
    :ivar task: the running one. :ivar needed: bytes of a fixed-length answer, 0 for one that ends with a full stop.
    :ivar ended: whether the instance has ended. :ivar over: whether the schedule has.
    :ivar solution: of the running question. :ivar tail: how many of its last bytes are sent while the agent may answer.
    """

    __slots__ = (
        "_asked", "_draw", "_hard", "_hidden", "_instances", "_presumed", "_presumption", "_questions", "_row", "_soft",
        "_start", "_successes", "_tasks", "_threshold", "ended", "needed", "over", "question", "record", "records",
        "solution", "success", "tail", "task",
    )  # fmt: skip

    def __init__(
        self, tasks: Sequence[Task], threshold: int, draw: Random, hidden: Hidden | None = None,
        questions: Sequence[str] = (),
    ) -> None:
        """
        :param tasks: in the order of the curriculum. :param threshold: successes in a row that end a task.
        :param hidden: of the first instance, in place of what would be drawn.
        :param questions: the first ones of the first instance.
        """  # fmt: skip
        self._tasks, self._threshold, self._draw = list(tasks), threshold, draw
        self._start: tuple[Hidden | None, Sequence[str]] = hidden, questions
        self.records: list[TaskRecord] = []
        self.over = False
        self._next_task()

    # The schedule.

    def begin(self) -> str:
        """Start the next instance; its first text."""
        hidden, given = self._start
        self._start = None, ()
        self._hidden = next(self._instances)
        if hidden is not None:
            self._hidden = hidden
        self._questions: Iterator[str] = self.task.questions(self._hidden, self._draw)
        if given:
            self._questions = _chain(given, self._questions)
        self._row = self._asked = 0
        self._soft = self._hard = 0  # 0: not set
        self._presumed = self.task.presumption is None
        self._presumption: Presumption | None = None if self._presumed else self.task.presumption(self._hidden)  # pyright: ignore
        self.ended = self.success = False
        self.record.instances += 1
        return self._ask()

    def switch(self) -> str | None:
        """After the end of an instance: the first text of the next one, or None when the schedule is over."""
        self._successes = self._successes + 1 if self.success else 0
        self.record.solved += self.success
        if self._successes >= self._threshold:
            self.record.passed = True
            if len(self.records) == len(self._tasks):
                self.over = True
                return None
            self._next_task()
        return self.begin()

    def _next_task(self) -> None:
        self.task = self._tasks[len(self.records)]
        self._instances = self.task.instances(self._draw)
        self._successes = 0
        self.record = TaskRecord(self.task.name)
        self.records.append(self.record)

    # The instance.

    @property
    def hidden(self) -> Hidden:
        """What the instance keeps to itself."""
        return self._hidden

    def _ask(self) -> str:
        self.question = next(self._questions)
        self.solution: Solution = self.task.solve(self.question, self._hidden)
        self.needed = len(self.solution.answer) if self.task.fixed_length else 0
        self.tail = 0 if self.solution.opens is None else len(self.question) - self.solution.opens
        return self.question

    def spoke(self) -> None:
        """The agent spoke out of turn, which costs a reward of 1 and ends its run of right answers."""
        self._row = 0
        self.record.reward -= 1

    def verdict(self, answer: str) -> tuple[bool, str]:
        """What comes of an answer in a micro-task: whether it is right, and what the agent hears next."""
        solution, record = self.solution, self.record
        right = answer == solution.answer if solution.accepts is None else solution.accepts(answer)
        record.questions += 1
        self._asked += 1
        if right:
            record.right += 1
            self._row += 1
        else:
            self._row = 0
        if not self._presumed:
            self._presumed = self._presumption.after(solution.key, right)  # pyright: ignore[reportOptionalMemberAccess]
        text = solution.feedback(right, self._draw)
        if self._limits():
            return right, text
        return right, text + self._ask()

    def _limits(self) -> bool:
        """The test whether the instance has ended."""
        if self._row >= IN_A_ROW:
            self.ended, self.success = True, not self._soft or self._asked <= self._soft
            return True
        if self._presumed and not self._soft:
            self._soft = self._asked + IN_A_ROW * (1 + SUCCESS_TOLERANCE)
        if self._soft and not self._hard and self._asked > self._soft:
            self._hard = self._asked * (1 + self.task.tolerance)
        if self._hard and self._asked > self._hard:
            self.ended, self.success = True, False
            return True
        return False

    def declare(self, right: bool) -> str:
        """What comes of a verdict in a mini-task: the text to be said, "" where the verdict is not new."""
        if self.ended and self.success == right:
            return ""
        if not self.ended:
            self.record.questions += 1
        self.record.right += right - self.success
        self.ended, self.success = True, right
        return self.solution.feedback(right, self._draw)

    def fail(self) -> str:
        """The instance times out; what is said about that."""
        if self.task.cycle == "mini":
            return self.declare(False)
        self.ended, self.success = True, False
        return ""


def _chain(first: Sequence[str], rest: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from rest


def check_questions(task: Task, hidden: Hidden | None, questions: Sequence[str]) -> None:
    """:raises InputError: a question that is none of the task's, or that the hidden state has no answer to."""
    for question in questions:
        if not isinstance(question, str):
            raise InputError(f"{task.name} asks texts; {question!r} is none")
        task.solve(question, hidden or {})


def state(life: Life) -> dict[str, Any]:
    """What an observer may be told of the running instance (info of the environments)."""
    return {
        "task": life.task.name, "instance": life.record.instances, "question": life.question,
        "answer": life.solution.answer,
    }  # fmt: skip
