"""One stream's life: its schedule of tasks, and of the running instance the questions, verdicts and limits.

Nothing here knows of single bytes: stream.py and batch.py send the texts and gather the answers, one for a single
stream and one for many in arrays, and both ask a `Life` what comes next. Where the questions of an instance do not
depend on what is said, it draws them ahead, and batch.py judges the answers to them in arrays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice, takewhile
from random import Random
from typing import Any

from .rounds import packed
from .task import STOP, Hidden, Presumption, Solution, Task

IN_A_ROW = 10  # right answers by which an instance is solved
SUCCESS_TOLERANCE = 4
GRACE = IN_A_ROW * (1 + SUCCESS_TOLERANCE)  # from the question at which answers should be known to the soft limit
AHEAD = 128  # questions drawn ahead, at most

_packed = lru_cache(maxsize=1 << 14)(packed)  # instances have many rounds in common
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
    :ivar row: right answers in a row.
    :ivar hidden: what the instance keeps to itself. :ivar question, solution: the running ones.
    :ivar tail: how many of the last bytes that it said are sent while the agent may answer.
    """

    __slots__ = (
        "_ahead", "_asked", "_draw", "_given", "_instances", "_journal", "_noises", "_packed", "_place", "_presumption",
        "_questions", "_seed", "_seeds", "_soft", "_solutions", "_stops", "_successes", "_tasks",
        "_threshold", "ended", "hidden", "needed", "over", "question", "record", "records", "row", "solution",
        "success", "tail", "task",
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
        self._given: tuple[Hidden, Sequence[str]] = dict(hidden or {}), list(questions)
        self.records: list[TaskRecord] = []
        self.over = False
        self._next_task()

    # The schedule.

    def begin(self) -> str:
        """Start the next instance; its first text."""
        hidden, given = self._given if len(self.records) == 1 and not self.record.instances else ({}, ())
        self.hidden: Hidden = {**next(self._instances), **hidden}
        if self.hidden:
            self._solutions: dict[str, Solution] = {}  # of this instance
            self._packed: dict[str, bytes] = {}
        self._draw = Random(self._seeds.getrandbits(64))
        self._questions: Iterator[str] = self.task.questions(self.hidden, self._draw)
        if given:
            self._questions = _chain(given, self._questions)
        self._ahead: list[str] = []
        self._noises: list[str] = []
        self.row = self._asked = self._stops = self._place = 0
        presumption = self.task.presumption
        self._presumption: Presumption | None = None if presumption is None else presumption(self.hidden)
        self._soft = 0 if self._presumption is not None else 1 + GRACE  # 0: not set
        self.ended = self.success = False
        self._journal: list[tuple[Any, ...]] = []
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
        self._solutions, self._packed = {}, {}
        self.record = TaskRecord(self.task.name)
        self.records.append(self.record)

    # The instance.

    def _ask(self) -> str:
        if self._place == len(self._ahead):
            self._ahead, self._noises, self._place = [next(self._questions)], [], 0
            if self.task.foreseen:
                self._draw_ahead()
        self._place += 1
        self._show()
        return self.question

    def _draw_ahead(self) -> None:
        """Draw questions, and the noise before the feedback on each, in the order in which they are said."""
        ahead, questions = self._ahead, self._questions
        solution = self._solved(ahead[0])
        if max(len(solution.right), len(solution.wrong)) > 1:  # one of these is drawn, too, when the answer is known
            return
        # A limit ends the instance behind these at the soonest. Many end before it, so the first ones are fewer.
        most = min(AHEAD, self._hard + 1 - self._asked) if self._soft and self._asked else GRACE
        if solution.noise == (0,):
            ahead += islice(questions, most - 1)
        else:
            while True:
                self._noises.append(self._solved(ahead[-1]).drawn_noise(self._draw))
                if len(ahead) == most:
                    break
                ahead.append(next(questions))

    def _show(self) -> None:
        """The running question is the one before `_place`."""
        self.question = question = self._ahead[self._place - 1]
        self.solution = solution = self._solved(question)
        self.needed = len(solution.answer) if self.task.fixed_length else 0
        self.tail = 0 if solution.opens is None or self.ended else len(question) - solution.opens

    def _solved(self, question: str) -> Solution:
        solution = self._solutions.get(question)
        if solution is None:
            solution = self.task.solve(question, self.hidden)
            if len(self._solutions) < _REMEMBERED:
                self._solutions[question] = solution
        return solution

    def spoke(self, times: int = 1) -> None:
        """The agent spoke out of turn, which costs a reward of 1 each time and ends its run of right answers."""
        journal = self._journal
        before = journal.pop()[1] if journal and journal[-1][0] == "spoke" else 0
        journal.append(("spoke", before + times))
        self.row = 0
        self.record.reward -= times

    def verdict(self, answer: str) -> tuple[bool, str]:
        """What comes of an answer in a micro-task: whether it is right, and what the agent hears next."""
        self._journal.append(("verdict", answer))
        solution, record = self.solution, self.record
        right = answer == solution.answer if solution.accepts is None else solution.accepts(answer)
        record.questions += 1
        self._asked += 1
        if right:
            record.right += 1
            self.row += 1
        else:
            self.row = 0
        if self._presumption is not None and not self._soft and self._presumption.after(solution.key, right):
            self._soft = self._asked + GRACE
        self._stops = self._stops + 1 if answer.endswith(STOP) else 0
        praised = right or (self.task.adaptive and self._stops >= IN_A_ROW)
        text = ""
        if solution.right or solution.wrong:
            noise = self._noises[self._place - 1] if self._place <= len(self._noises) else None
            text = solution.feedback(praised, self._draw, noise)
        if self._limits():
            return right, text
        return right, text + self._ask()

    def _limits(self) -> bool:
        """The test whether the instance has ended."""
        if self.row >= IN_A_ROW:
            self.ended, self.success, self.tail = True, not self._soft or self._asked <= self._soft, 0
            return True
        if self._soft and self._asked > self._hard:
            self.ended, self.success, self.tail = True, False, 0
            return True
        return False

    @property
    def _hard(self) -> int:
        """So many questions are answered before the instance ends, once there is a soft limit."""
        return (self._soft + 1) * (1 + self.task.tolerance)

    def script(self) -> bytes:
        """The running round and those drawn ahead, as arrays take them.

        Empty where answers are not just compared with the expected one.
        """
        if self.ended or len(self._ahead) == 1:
            return b""
        questions = self._ahead[self._place - 1 :]
        if self._noises:
            noises = self._noises[self._place - 1 :]
            rounds = map(packed, questions, map(self._solved, questions), noises)
        else:
            known = self._packed
            for question in dict.fromkeys(questions):
                if question not in known and len(known) < _REMEMBERED:
                    known[question] = _packed(question, self._solved(question), None)
            rounds = map(known.get, questions)
        return b"".join(takewhile(bool, rounds))  # pyright: ignore[reportArgumentType]

    def played(self, rights: str, row: int) -> None:
        """Rounds of the script have been played.

        :param rights: "1" for each right answer, "0" for each wrong one. :param row: the right ones in a row, now.
        """
        self._journal.append(("played", rights, row))
        number, right, record = len(rights), rights.count("1"), self.record
        record.questions += number
        record.right += right
        record.reward += 2 * right - number
        if self._presumption is not None and not self._soft:
            questions = self._ahead[self._place - 1 : self._place - 1 + number]
            keys = {question: self._solved(question).key for question in dict.fromkeys(questions)}
            for place, (question, one) in enumerate(zip(questions, rights, strict=True), 1):
                if self._presumption.after(keys[question], one == "1"):
                    self._soft = self._asked + place + GRACE
                    break
        self._asked += number
        self.row = row
        self._place += number
        self._show()

    def declare(self, right: bool) -> str:
        """What comes of a verdict in a mini-task: the text to be said, "" where the verdict is not new."""
        self._journal.append(("declare", right))
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
        self._journal.append(("fail",))
        self.ended, self.success = True, False
        return ""

    # Keeping and going on.

    def state(self) -> dict[str, Any]:
        """All that `restored` needs, as JSON takes it: what happened in the running instance, and the records."""
        hidden, questions = self._given
        return {
            "tasks": [task.name for task in self._tasks], "seed": self._seed, "hidden": dict(hidden),
            "questions": list(questions), "successes": self._successes, "journal": self._journal,
            "records": [asdict(record) for record in self.records],
        }  # fmt: skip

    @classmethod
    def restored(cls, state: Mapping[str, Any], tasks: Mapping[str, Task], threshold: int) -> "Life":
        """The life of a state. It draws its running instance again, and hears what that has heard.

        :param tasks: by name.
        """
        life = cls(
            [tasks[name] for name in state["tasks"]], threshold, state["seed"], state["hidden"], state["questions"]
        )
        records = [TaskRecord(**record) for record in state["records"]]
        for _ in records[1:]:
            life._next_task()
        for _ in range(records[-1].instances - 1):  # earlier ones are drawn, and asked nothing
            next(life._instances)
            life._seeds.getrandbits(64)
            life.record.instances += 1
        life.begin()
        for name, *heard in state["journal"]:
            getattr(life, name)(*heard)
        life.records, life.record, life._successes = records, records[-1], state["successes"]
        return life


def _chain(first: Sequence[str], rest: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from rest
