"""Run a stream: its schedule of tasks, the questions, verdicts and limits of the current instance, and its bytes.

A `Life` holds the schedule and the instance, but no single bytes. `Stream` sends the texts of a life and collects the
answers; batch.py does so for many lives in arrays. If an instance deals its questions from a deck, batch.py plays it
without its `Life`, and updates the `Life` at the end.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from random import Random
from typing import Any

from .task import STOP, Deal, Draws, Hidden, OptionsLeft, Presumption, Solution, Task

IN_A_ROW = 10  # consecutive right answers that solve an instance
GRACE = IN_A_ROW * (1 + 4)  # questions up to the soft limit, counted from when an agent should know the answers

_REMEMBERED = 1_000  # cached solutions, for repeated questions


@dataclass
class TaskRecord:
    """Hold the statistics of a task.

    :ivar steps: bytes sent. :ivar reward: sum of rewards. :ivar instances: begun. :ivar solved: solved instances.
    :ivar questions: answers so far. :ivar right: right answers. :ivar passed: whether the schedule has left the task.
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
    """Hold the schedule of a stream and its current instance.

    :ivar task: the current task. :ivar record: its statistics. :ivar records: statistics of all tasks so far, in order.
    :ivar over: whether the schedule has ended. :ivar ended, success: whether the instance has ended, and was solved.
    :ivar hidden: hidden data of the instance. :ivar question, solution: the current question and its solution.
    :ivar needed: bytes of a fixed-length answer, 0 for an answer that ends with a full stop.
    :ivar asked: answers of the instance so far. :ivar row: right answers in a row. :ivar soft: soft limit, 0: not set.
    :ivar tail: number of last bytes of the text during which the agent may already answer.
    """

    __slots__ = (
        "_answered", "_draw", "_given", "_instances", "_journal", "_missed", "_presumption", "_questions", "_seed",
        "_seeds", "_solutions", "_stops", "_successes", "_tasks", "_threshold", "asked", "ended", "hidden", "needed",
        "over", "question", "record", "records", "row", "soft", "solution", "success", "tail", "task",
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
        :param tasks: in the order of the curriculum. :param threshold: consecutive successes that end a task.
        :param seed: seeds all draws. Each task and each instance has its own generator, so that an instance does not
            depend on earlier instances.
        :param hidden: replaces drawn hidden data of the first instance. :param questions: its first questions.
        """  # fmt: skip
        self._tasks, self._threshold, self._seed = list(tasks), threshold, seed
        self._given: tuple[Hidden, Sequence[str]] = dict(hidden or {}), list(questions)
        self.records: list[TaskRecord] = []
        self.over = False
        self._draw = Draws(0)
        self._next_task()

    # The schedule.

    def begin(self) -> str:
        """Start the next instance and return its first text."""
        hidden, given = self._given if len(self.records) == 1 and not self.record.instances else ({}, ())
        self.hidden: Hidden = {**next(self._instances), **hidden}
        if self.hidden:
            self._solutions: dict[str, Solution] = {}  # of this instance
        self._draw.state = self._seeds.getrandbits(64)
        self._questions: Iterator[str] = self.task.questions(self.hidden, self._draw)
        if given:
            self._questions = chain(given, self._questions)
        self.row = self.asked = self._stops = 0
        presumption, limited = self.task.presumption, not self.task.predict_repeats
        self._presumption: Presumption | None = presumption(self.hidden) if presumption and limited else None
        self.soft = 1 + GRACE if presumption is None and limited else 0
        self._answered: set[Hashable] = set()  # keys of answered questions
        self._missed = False  # whether a later answer to such a key was wrong
        self.ended = self.success = False
        self._journal: list[tuple[Any, ...]] = []
        self.record.instances += 1
        return self._show(next(self._questions))

    def switch(self) -> str | None:
        """End the instance; return the first text of the next instance, or None if the schedule is over."""
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

    def _show(self, question: str) -> str:
        self.question = question
        solution = self._solutions.get(question)
        if solution is None:
            solution = self.task.solve(question, self.hidden)
            if len(self._solutions) < _REMEMBERED:
                self._solutions[question] = solution
        self.solution = solution
        self.needed = len(solution.answer) if self.task.fixed_length else 0
        self.tail = 0 if solution.opens is None or self.ended else len(question) - solution.opens
        return question

    def spoke(self, times: int = 1) -> None:
        """Record bytes out of turn: each costs a reward of 1, and the row of right answers restarts."""
        journal = self._journal
        before = journal.pop()[1] if journal and journal[-1][0] == "spoke" else 0
        journal.append(("spoke", before + times))
        self.row = 0
        self.record.reward -= times

    def verdict(self, answer: str) -> tuple[bool, str]:
        """Judge an answer in a micro-task; return whether it is right, and the text that follows."""
        self._journal.append(("verdict", answer))
        solution, record = self.solution, self.record
        right = answer == solution.answer if solution.accepts is None else solution.accepts(answer)
        record.questions += 1
        self.asked += 1
        if right:
            record.right += 1
            self.row += 1
        else:
            self.row = 0
        if self.task.predict_repeats:
            self._missed |= not right and solution.key in self._answered
            self._answered.add(solution.key)
        if self._presumption is not None and not self.soft and self._presumption.after(solution.key, right):
            self.soft = self.asked + GRACE
        praised = right
        if self.task.adaptive:
            self._stops = self._stops + 1 if answer.endswith(STOP) else 0
            praised |= self._stops >= IN_A_ROW
        text = solution.feedback(praised, self._draw) if solution.right or solution.wrong else ""
        if self.row >= IN_A_ROW:
            in_time = not self.soft or self.asked <= self.soft
            self.ended, self.success, self.tail = True, in_time and not self._missed, 0
            return right, text
        if self.asked > self.soft > 0 and self.asked > (self.soft + 1) * (1 + self.task.tolerance):
            self.ended, self.success, self.tail = True, False, 0
            return right, text
        return right, text + self._show(next(self._questions))

    @property
    def deal(self) -> tuple[Deal, OptionsLeft | None] | None:
        """Return the deck of the current instance and its presumption; None if `Batch` cannot judge its answers."""
        task, deal, known = self.task, self._questions, self._presumption
        plain = task.cycle == "micro" and task.letters == "end" and not task.reply
        plain &= not task.adaptive and not task.predict_repeats
        if not (plain and task.fixed_length and isinstance(deal, Deal) and deal.draws is self._draw) or self.ended:
            return None
        return (deal, known) if known is None or type(known) is OptionsLeft else None

    def resume(
        self, asked: int, right: int, penalties: int, row: int, soft: int, ended: bool, success: bool, card: int,
        rest: tuple[int, int, Sequence[int], Sequence[int]] | None = None,
    ) -> None:  # fmt: skip
        """Resume after a batch has played questions of `deal`.

        :param right: right answers since the last call. :param penalties: bytes out of turn since then.
        :param card: the number of the current question. :param rest: None if the instance has ended; else the state of
            its draws, the place and the deck of its `Deal`, and the numbers of its `OptionsLeft`.
        """
        self._journal = [("resume", asked, right, penalties, row, soft, ended, success, card, rest)]
        record, new = self.record, asked - self.asked
        record.questions += new
        record.right += right
        record.reward += 2 * right - new - penalties
        self.asked, self.row, self.soft, self.ended, self.success = asked, row, soft, ended, success
        deal = self._questions
        assert isinstance(deal, Deal)
        if rest is not None:
            self._draw.state, deal.place, deck, left = rest
            deal.deck = list(deck)
            if isinstance(self._presumption, OptionsLeft):
                self._presumption.resume(left)
        self._show(deal.questions[card])

    def declare(self, right: bool) -> str:
        """Record a verdict in a mini-task and return the feedback, "" if the verdict is not new."""
        self._journal.append(("declare", right))
        if self.ended and self.success == right:
            return ""
        if not self.ended:
            self.record.questions += 1
        self.record.right += right - self.success
        self.ended, self.success = True, right
        return self.solution.feedback(right, self._draw)

    def fail(self) -> str:
        """End the instance by its time-out and return the feedback."""
        if self.task.cycle == "mini":
            return self.declare(False)
        self._journal.append(("fail",))
        self.ended, self.success = True, False
        return ""

    # Save and restore.

    def state(self) -> dict[str, Any]:
        """Return JSON for `restored`: the events of the current instance, and the records."""
        hidden, questions = self._given
        return {
            "tasks": [task.name for task in self._tasks], "seed": self._seed, "hidden": dict(hidden),
            "questions": list(questions), "successes": self._successes, "journal": self._journal,
            "records": [asdict(record) for record in self.records],
        }  # fmt: skip

    @classmethod
    def restored(cls, state: Mapping[str, Any], tasks: Mapping[str, Task], threshold: int) -> "Life":
        """Restore a life: redraw its current instance and replay the events. `tasks` maps names to tasks."""
        life = cls(
            [tasks[name] for name in state["tasks"]], threshold, state["seed"], state["hidden"], state["questions"]
        )
        records = [TaskRecord(**record) for record in state["records"]]
        for _ in records[1:]:
            life._next_task()
        for _ in range(records[-1].instances - 1):  # draw earlier instances without playing them
            next(life._instances)
            life._seeds.getrandbits(64)
            life.record.instances += 1
        life.begin()
        for name, *heard in state["journal"]:
            getattr(life, name)(*heard)
        life.records, life.record, life._successes = records, records[-1], state["successes"]
        return life


# ---- A single stream, byte by byte.
#
# Texts are in Latin-1: a character is a byte. The environment sends first; it judges each reply, then sends a byte.

SPACE, FULL_STOP = ord(" "), ord(".")


class Stream:
    """Run a stream of bytes and rewards.

    :ivar over: whether the last task has been passed.
    :ivar text: the environment's text. :ivar position: number of its bytes sent. :ivar turn: number of its bytes after
        which the agent may answer.
    :ivar age: bytes sent in the instance. :ivar heard: the answer so far.
    """

    __slots__ = (
        "_counted", "_limit", "_mini", "_plain", "_waited", "age", "heard", "life", "over", "position", "text", "turn",
    )  # fmt: skip

    def __init__(self, life: Life) -> None:
        self.life = life
        self.over = False
        self._start(life.begin())

    def state(self) -> dict[str, Any]:
        """Return JSON for `restored`."""
        self.settle()
        return {
            "life": self.life.state(), "over": self.over, "text": self.text.decode("latin-1"), "age": self.age,
            "position": self.position, "heard": self.heard.decode("latin-1"), "waited": self._waited,
        }  # fmt: skip

    @classmethod
    def restored(cls, state: Mapping[str, Any], tasks: Mapping[str, Task], threshold: int) -> "Stream":
        """Restore a stream; `tasks` maps names to tasks."""
        stream = cls.__new__(cls)
        stream.life = Life.restored(state["life"], tasks, threshold)
        stream._start(state["text"])
        stream.over, stream._waited = state["over"], state["waited"]
        stream.age = stream._counted = state["age"]
        stream.position, stream.heard = state["position"], bytearray(state["heard"].encode("latin-1"))
        return stream

    @property
    def talk_end(self) -> int:
        """Return the length of the text that requires silence, without trailing spaces."""
        return len(self.text[: self.turn].rstrip(b" "))

    @property
    def listening(self) -> bool:
        """Return whether the next byte of the agent is part of an answer."""
        return self.position >= self.turn and not self.life.ended

    def first(self) -> int:
        """Send the first byte and return it; its reward is 0."""
        return self._send()

    def step(self, said: int) -> tuple[int, int]:
        """Judge a byte of the agent; return the next byte, a space once the stream is over, and the reward."""
        if self._mini:
            reward = self._mini_step(said)
        elif self.position >= self.turn:
            reward = self._micro_step(said)
        elif said == SPACE or self.position >= self.talk_end:  # any byte is free while only spaces are left
            reward = 0
        else:
            reward = -1
            self.life.spoke()
        return (SPACE if self.over else self._send()), reward

    def hear(self, said: int) -> int:
        """Judge a byte that may be part of an answer; return the reward."""
        return self._mini_step(said) if self._mini else self._micro_step(said)

    def settle(self) -> None:
        """Update the steps of the record; otherwise this happens at the end of an instance."""
        self.life.record.steps += self.age - self._counted
        self._counted = self.age

    def _send(self) -> int:
        self.age += 1
        position = self.position
        if position < len(self.text):
            self.position = position + 1
            return self.text[position]
        return SPACE

    def _start(self, text: str) -> None:
        """Start an instance with this text."""
        task = self.life.task
        self._mini, self._limit = task.cycle == "mini", task.step_limit
        self._plain = task.letters == "end" and not task.reply
        self.age = self._counted = self.position = 0
        self.text = b""
        self._waited = False
        self.heard = bytearray()
        self._say(text)

    def _say(self, text: str) -> None:
        """Append a text to the unsent bytes."""
        coming = text.encode("latin-1")
        if self.position < len(self.text):
            coming = self.text[self.position :] + coming
        self.text = coming
        self.position = 0
        self.turn = len(coming) - self.life.tail

    def _switch(self) -> None:
        self.settle()
        text = self.life.switch()
        if text is None:
            self.over = True
        else:
            self._start(text)

    def _micro_step(self, said: int) -> int:
        """Judge a byte sent while the agent may answer."""
        life, heard = self.life, self.heard
        if life.ended:  # the byte is dropped
            self._switch()
            return 0
        if self.age >= self._limit and self.position >= len(self.text):
            life.fail()
        heard.append(said)
        reward = 0
        if self._plain and life.needed:
            complete = len(heard) >= life.needed or (said == FULL_STOP and life.task.early_stop)
        else:
            complete = said == FULL_STOP if self._plain else self._is_complete(said)
        if complete:
            right, text = life.verdict(heard.decode("latin-1"))
            reward = 1 if right else -1
            heard.clear()
            self._say(text)
        elif life.task.reply and said == SPACE:
            self._say(life.task.reply)
        elif life.task.letters == "each":
            reward = 1
        life.record.reward += reward
        if life.ended and self.position >= len(self.text):
            self._switch()
        return reward

    def _is_complete(self, said: int) -> bool:
        """Return whether this byte ends an answer with parts, or an answer judged byte by byte."""
        expected, number = self.life.solution.answer.encode("latin-1"), len(self.heard)
        if self.life.task.reply:
            return said == expected[-1] or (said == SPACE and not expected.startswith(self.heard))
        return number == len(expected) or said != expected[number - 1]

    def _mini_step(self, said: int) -> int:
        """Judge a byte of a mini-task: letters out of turn become spaces, a full stop always ends the answer."""
        life, heard = self.life, self.heard
        if self.position >= len(self.text):
            if life.ended and not self._waited:
                self._waited = True
                return 0
            if life.ended:
                reward = int(life.success)
                life.record.reward += reward
                self._switch()
                return reward
            if self.age >= self._limit:
                self._say(life.fail())
        heard.append(said)
        if said == FULL_STOP:
            self._say(life.declare(heard.endswith(life.solution.answer.encode("latin-1"))))
        if said != SPACE and self.position < self.talk_end:
            heard[-1] = SPACE
        return 0
