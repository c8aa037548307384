"""`gumption play gradual`: a person is the agent, and types whole answers."""

from __future__ import annotations

from collections import deque

from gumption.data import InputError
from gumption.envs.gradual.engine import SPACE
from gumption.envs.gradual.render import WIDTH, rows_of_text
from gumption.envs.gradual.session import Session
from gumption.envs.gradual.settings import SessionSettings
from gumption.scripts.apps import App, from_config
from gumption.scripts.play import read_line

from .results import print_result

app = App(add_completion=False)

QUIT = "/q"  # two characters, because a single one may be an answer
INTRODUCTION = f"""\
You see the latest bytes of a stream: what comes in, below it what you said, and whether that was rewarded (+)
or punished (-). Nothing marks where a task or a question begins: find out what is wanted. When it is your turn, type
an answer; Enter alone says a space, which is silence. While the other side talks, silence is said for you.
{QUIT} stops."""


class Stopped(Exception):
    """The player stops."""


@app.command("gradual", epilog="Example: gumption play gradual --tasks micro5.1,micro5.2 --threshold 1")
@from_config(SessionSettings, flags={"success_threshold": "threshold"})
def play(config: SessionSettings) -> None:
    """Be the agent of Gradual: the tasks one after the other, by the rules and the schedule of programs.

    A task is passed by so many successes in a row as --threshold says, a success is ten right answers in a row.
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
    """The agent that asks a person.

    :ivar session: the one that it plays in.
    """

    session: Session

    def __init__(self, tasks: int) -> None:
        """:param tasks: how many there are."""
        self._tasks, self._passed = tasks, 0
        # Of the last bytes; there is an answer and its reward for all of them but the last.
        self._sent = deque[int](maxlen=WIDTH)
        self._said, self._rewards = deque[int](maxlen=WIDTH - 1), deque[int](maxlen=WIDTH - 1)
        self._left: list[int] = []  # of what was typed

    def __call__(self, reward: int, byte: int) -> int:
        """What is said; the person is asked when all that was typed has been said, and it is their turn."""
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
        """What is typed, as bytes."""
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
