"""`gumption play gradual`: a person is the agent, and types whole answers; `gumption gradual watch RUN`: a recorded
session as rows of input, output and reward. And the result of a session as text."""

from __future__ import annotations

import re
import warnings
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data import InputError, Note
from gumption.data.settings import unknown
from gumption.envs.gradual.engine import SPACE
from gumption.envs.gradual.render import WIDTH, rows_of_text
from gumption.envs.gradual.session import Result, Session
from gumption.envs.gradual.settings import SessionSettings
from gumption.scripts.apps import App, from_config
from gumption.scripts.output import print_table
from gumption.scripts.play import read_line

if TYPE_CHECKING:
    from gumption.envs.gradual import Memory

app, watching = App(add_completion=False), App(add_completion=False)

QUIT = "/q"  # two characters, because a single one may be an answer
INTRODUCTION = f"""\
You see the latest bytes of a stream: what comes in, below it what you said, and whether that was rewarded (+)
or punished (-). Nothing marks where a task or a question begins: find out what is wanted. When it is your turn, type
an answer; Enter alone says a space, which is silence. While the other side talks, silence is said for you.
{QUIT} stops."""
_STEPS = re.compile(r"([0-9]{1,15})-([0-9]{1,15})", re.ASCII)


#: `Result.ended` in words.
ENDS = {
    "solved": "all tasks passed",
    "steps": "no steps are left",
    "seconds": "the time is up",
    "agent": "the agent failed",
    "stopped": "stopped",
}


class Stopped(Exception):
    """The player stops."""


@app.command("gradual", epilog="Example: gumption play gradual --tasks micro5.1,micro5.2 --threshold 1")
@from_config(SessionSettings, flags={"success_threshold": "threshold"})
def play(config: SessionSettings) -> None:
    """Be the agent of Gradual: play the tasks one after the other, by the rules and the schedule of programs.

    --threshold successes in a row pass a task; a success is ten right answers in a row.
    """
    curriculum = config.curriculum()
    player = Player(len(curriculum.tasks))
    player.session = session = Session(
        curriculum.tasks, player, success_threshold=curriculum.success_threshold, seed=config.seed
    )
    print(f"{INTRODUCTION}\n")
    try:
        result = session.run()
    except Stopped:
        result = session.so_far("stopped")
    except EOFError:
        steps = session.so_far().steps
        raise InputError(f"the input ended after {steps:,} steps, before the last task was passed") from None
    print_result(result)


class Player:
    """The agent that asks a person. It plays in `session`; there are so many `tasks`."""

    session: Session

    def __init__(self, tasks: int) -> None:
        self._tasks, self._passed = tasks, 0
        # The last bytes; all but the last one have an answer and its reward.
        self._sent = deque[int](maxlen=WIDTH)
        self._said, self._rewards = deque[int](maxlen=WIDTH - 1), deque[int](maxlen=WIDTH - 1)
        self._left: list[int] = []  # typed and not said yet

    def __call__(self, reward: int, byte: int) -> int:
        """The next typed byte, or silence while the environment talks; the person types when none is left."""
        stream = self.session.stream
        if self._said:
            self._rewards.append(reward)
        self._sent.append(byte)
        if self._left and not stream.heard:
            print("(that was already the answer: the rest of what you typed is not said)")
            self._left = []
        if not stream.listening:
            said = SPACE
        else:
            if not self._left:
                self._left = list(self._ask())
            said = self._left.pop(0)
        self._said.append(said)
        return said

    def _ask(self) -> bytes:
        self._show()
        while (typed := read_line("> ")) != QUIT:
            try:
                return typed.encode("latin-1") or b" "
            except UnicodeEncodeError as error:
                print(f"{typed[error.start]!r} is no byte: a character's code is at most 255")
        raise Stopped

    def _show(self) -> None:
        records = self.session.stream.life.records
        record, passed = records[-1], len(records) - 1
        if passed > self._passed:
            print(f"{records[self._passed].task} is passed.\n")
            self._passed = passed
        right = f"{record.right} of {record.questions} answers right"
        print(f"{record.task}, task {len(records)} of {self._tasks}: {right}, reward {record.reward:+}")
        print(rows_of_text(bytes(self._sent), bytes(self._said), list(self._rewards)))


def print_result(result: Result, more: str = "") -> None:
    """A line for each task that began, and one for the end of the run, with more text behind it."""
    rows = [
        (one.task, "passed" if one.passed else "not passed", f"{one.steps:,}", f"{one.reward:+,}",
         f"{one.solved} of {one.instances}", f"{one.right} of {one.questions}")
        for one in result.tasks
    ]  # fmt: skip
    print_table(["task", "", "steps", "reward", "instances solved", "answers right"], rows)
    print(f"{ENDS[result.ended]} after {result.steps:,} steps, reward {result.reward:+,}{more}")


# ---- A recorded session.


@watching.command("watch", epilog="Example: gumption gradual watch run --task micro4 --steps 1-200")
def watch(run: Path, *, task: str | None = None, steps: str | None = None) -> None:
    """Show the bytes of the environment, the agent's below them, and the rewards, instance by instance.

    :param run: Folder that `gumption gradual run --memory --out RUN` has made.
    :param task: Show this task alone.
    :param steps: Show these steps alone, A-B; the session's first is 1.
    """
    from gumption.envs.gradual import Memory
    from gumption.envs.memory import FOLDER, HEADER

    if not (run / FOLDER / HEADER).is_file():
        raise InputError(f"{run} holds no memory of a session: `gumption gradual run --memory --out RUN` keeps one")
    memory = Memory.load(run / FOLDER)
    if memory.warning:
        warnings.warn(memory.warning, Note, stacklevel=2)
    for part in _chosen(memory, task, steps):
        name, number = memory.tasks[memory.task[part.start]], memory.instance[part.start] + 1
        reward = memory.reward[part.start : part.stop].sum()
        print(f"{name}, instance {number}, steps {part.start + 1:,} to {part.stop:,}, reward {reward:+,}")
        for begin in part[::WIDTH]:
            row = slice(begin, min(begin + WIDTH, part.stop))
            print(rows_of_text(memory.sent[row].tobytes(), memory.said[row].tobytes(), memory.reward[row].tolist()))
        print()


def _chosen(memory: Memory, task: str | None, steps: str | None) -> list[range]:
    """The records of each instance that belong to the task and are among the steps; InputError for none."""
    if task is not None and task not in memory.tasks:
        raise InputError(unknown("the session", task, memory.tasks))
    first, last = (1, len(memory)) if steps is None else _range(steps)
    parts = [
        range(max(one.start, first - 1), min(one.stop, last))
        for one in memory.instances()
        if task is None or memory.tasks[memory.task[one.start]] == task
    ]
    parts = [part for part in parts if part]
    if not parts:
        where = f" of {task}" * (task is not None) + f" among {steps}" * (steps is not None)
        end = f", the last of them in {memory.tasks[memory.task[-1]]}" if len(memory) else ""
        raise InputError(f"there is no step{where}: the memory has {len(memory):,} steps{end}")
    return parts


def _range(steps: str) -> tuple[int, int]:
    """ "51-100" -> (51, 100)."""
    match = _STEPS.fullmatch(steps)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--steps is {steps!r}; it is the first and the last step, counted from 1, such as 51-100")
    return int(match[1]), int(match[2])
