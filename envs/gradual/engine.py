"""One stream's life: its schedule of tasks, and of the running instance the questions, verdicts and limits.

Nothing here knows of single bytes: stream.py and batch.py send the texts and gather the answers, one for a single
stream and one for many in arrays, and both ask a `Life` what comes next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from .task import Hidden, Presumption, Solution, Task

IN_A_ROW = 10  # right answers by which an instance is solved
SUCCESS_TOLERANCE = 4

_REMEMBERED = 1_000  # solutions, so that a question that comes again is not read again


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
    :ivar hidden: what the instance keeps to itself. :ivar question, solution: the running ones.
    """

    __slots__ = (
        "_asked", "_draw", "_hard", "_instances", "_presumed", "_presumption", "_questions", "_row", "_seed",
        "_seeds", "_soft", "_solutions", "_start", "_successes", "_tasks", "_threshold", "ended", "hidden", "needed",
        "over", "question", "record", "records", "solution", "success", "task",
    )  # fmt: skip

    def __init__(
        self,
        tasks: Sequence[Task],
        threshold: int,
        seed: int,
        hidden: Hidden | None = None,
        questions: Sequence[str] = (),
    ) -> None:
        """
        :param tasks: in the order of the curriculum. :param threshold: successes in a row that end a task.
        :param seed: fixes all that is drawn. Each task and each instance has its own source of draws, so that what an
            instance asks does not depend on what came before it.
        :param hidden: of the first instance, by name, in place of what would be drawn.
        :param questions: the first ones of the first instance.
        """  # fmt: skip
        self._tasks, self._threshold, self._seed = list(tasks), threshold, seed
        self._start: tuple[Hidden | None, Sequence[str]] = hidden, questions
        self.records: list[TaskRecord] = []
        self.over = False
        self._next_task()

    # The schedule.

    def begin(self) -> str:
        """Start the next instance; its first text."""
        hidden, given = self._start
        self._start = None, ()
        drawn = next(self._instances)
        self.hidden: Hidden = {**drawn, **(hidden or {})}
        if self.hidden:
            self._solutions: dict[str, Solution] = {}  # of this instance
        self._draw = Random(self._seeds.getrandbits(64))
        self._questions: Iterator[str] = self.task.questions(self.hidden, self._draw)
        if given:
            self._questions = _chain(given, self._questions)
        self._row = self._asked = 0
        self._soft = self._hard = 0  # 0: not set
        self._presumed = self.task.presumption is None
        self._presumption: Presumption | None = None if self._presumed else self.task.presumption(self.hidden)  # pyright: ignore
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
        self._seeds = Random(self._seed + (len(self.records) << 64))
        self._instances = self.task.instances(Random(self._seeds.getrandbits(64)))
        self._successes = 0
        self._solutions = {}
        self.record = TaskRecord(self.task.name)
        self.records.append(self.record)

    # The instance.

    def _ask(self) -> str:
        self.question = question = next(self._questions)
        solution = self._solutions.get(question)
        if solution is None:
            solution = self.task.solve(question, self.hidden)
            if len(self._solutions) < _REMEMBERED:
                self._solutions[question] = solution
        self.solution = solution
        self.needed = len(self.solution.answer) if self.task.fixed_length else 0
        return self.question

    def spoke(self, times: int = 1) -> None:
        """The agent spoke out of turn, which costs a reward of 1 each time and ends its run of right answers."""
        self._row = 0
        self.record.reward -= times

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
