"""What a task is: how its instances are drawn, what they ask, what is right, and what is said about an answer.

A task is data and three functions, so that a person's own task goes the same way as those of the challenge. The engine
(engine.py) does the rest: the cycle of question, answer and feedback, limits, rewards and the schedule.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol, TypeAlias

from gumption.data import InputError
from gumption.data.settings import checked_methods

#: What an instance keeps to itself, by name: "mapping", "alphabet", "answer", "sequence", ...
Hidden: TypeAlias = Mapping[str, Any]

Instances: TypeAlias = Callable[[Random], Iterator[Hidden]]
Questions: TypeAlias = Callable[[Hidden, Random], Iterator[str]]
Solve: TypeAlias = "Callable[[str, Hidden], Solution]"

DIGITS = "0123456789"
SILENCE = " "
STOP = "."


@checked_methods
@dataclass(frozen=True, slots=True)
class Solution:
    """What is right for a question, and the feedback.

    :ivar answer: what is expected, with its full stop where it has one.
    :ivar right, wrong: the texts of which one is drawn for a right or a wrong answer; () where nothing is said.
    :ivar accepts: says of an answer whether it is right; None where only `answer` is.
    :ivar noise: before the text come so many random digits; one of these numbers is drawn.
    :ivar key: what the answer may have to be learned for, see `Presumption`.
    :ivar opens: the answer may begin once so many bytes of the question are sent, so that the agent speaks while the
        rest of it is sent; None for after the whole question.
    """

    answer: str
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    accepts: Callable[[str], bool] | None = None
    noise: tuple[int, ...] = (0,)
    key: Hashable = None
    opens: int | None = None

    def is_right(self, answer: str) -> bool:
        """Whether an answer is right."""
        return answer == self.answer if self.accepts is None else self.accepts(answer)

    def feedback(self, right: bool, draw: Random) -> str:
        """A text about a right or a wrong answer."""
        texts = self.right if right else self.wrong
        if not texts:
            return ""
        text = texts[0] if len(texts) == 1 else draw.choice(texts)
        if self.noise == (0,):
            return text
        return "".join([draw.choice(DIGITS) for _ in range(draw.choice(self.noise))]) + text


class Presumption(Protocol):
    """When an instance should know the answers. From then on the limits count."""

    def after(self, key: Hashable, right: bool) -> bool:
        """Whether the answers should be known after this one."""
        ...


class OptionsLeft:
    """The answers should be known once each key has no more than one option left.

    A right answer leaves one option of its key, a wrong one takes one away.

    :ivar left: how many options each key has left, 0 where its answer should be known. :ivar unknown: keys with others.
    :ivar counted: keys whose answers count for another: wrong ones take an option of that one away. Where it has two
        left, right ones do so, too.
    """

    def __init__(self, options: Mapping[Hashable, int], counted: Mapping[Hashable, Hashable] | None = None) -> None:
        """:param options: per key, how many answers it may have; none at all, and it is so from the first question."""
        self.counted = {} if counted is None else counted
        self.left = {key: number for key, number in options.items() if number > 1}
        self.unknown = len(self.left)

    def after(self, key: Hashable, right: bool) -> bool:
        """As in `Presumption`."""
        name = self.counted.get(key, key)
        left = self.left.get(name, 0)
        if left:
            if left == 2 or (right and name == key):
                self.left[name] = 0
                self.unknown -= 1
            elif not right:
                self.left[name] = left - 1
        return not self.unknown

    def resume(self, left: Sequence[int]) -> None:
        """Go on where so many options are left, in the order of `left`; what is beyond is no option."""
        self.left = dict(zip(self.left, left, strict=False))
        self.unknown = sum(number > 0 for number in self.left.values())


@checked_methods
@dataclass(frozen=True)
class Task:
    """A task of a curriculum. A person's own one is defined in the same way:

    >>> from gumption.envs.gradual import Curriculum, Session, Solution, Task, stateless
    >>> def questions(hidden, draw):
    ...     while True:
    ...         yield f"double: {draw.choice('abc')}."
    >>> def solve(question, hidden):
    ...     answer = 2 * question[-2] + "."
    ...     return Solution(answer, right=("good job! ;",), wrong=(f"wrong! {answer};",))
    >>> double = Task("double", "saying a letter twice", stateless, questions, solve)
    >>> Session(Curriculum("mine", (double,)).tasks, agent=lambda reward, byte: 32, max_steps=100).run().solved
    False

    :ivar name: "micro5.7".
    :ivar about: what it teaches, in a few words.
    :ivar instances: draws what each instance keeps to itself, one instance after the other.
    :ivar questions: draws the questions of an instance, without end.
    :ivar solve: what is right for a question of an instance. InputError where it is no question of the task.
    :ivar presumption: when an instance should know the answers; None for from the first question on.
    :ivar fixed_length: an answer ends when it is as long as the expected one, else with its first full stop.
    :ivar tolerance: an instance ends after 1 + `tolerance` times as many questions as its soft limit allowed.
    :ivar cycle: "micro" for many questions an instance, each with its reward, "mini" for one with a late reward.
    :ivar early_stop: with `fixed_length`, a full stop ends an answer, too.
    :ivar letters: "end" for a reward when the answer ends; "first wrong" also ends it at its first wrong byte; "each"
        rewards every right byte, too (A.2.9.2, versions 1 and 2).
    :ivar reply: what is said after each right word of an answer, which then goes on ("yes" in A.1.6.2). A word ends
        with a space. A wrong word ends the answer, and so does the last byte of the expected one, wherever it is said.
        "" where answers have one part.
    :ivar adaptive: once ten answers in a row ended with a full stop, wrong ones, too, get the feedback of right ones
        (A.2.5.6).
    :ivar requires: names of the tasks that are to be learned before.
    """

    name: str
    about: str
    instances: Instances
    questions: Questions
    solve: Solve
    presumption: Callable[[Hidden], Presumption] | None = None
    fixed_length: bool = False
    tolerance: int = 1
    cycle: Literal["micro", "mini"] = "micro"
    early_stop: bool = False
    letters: Literal["end", "first wrong", "each"] = "end"
    reply: str = ""
    adaptive: bool = False
    requires: tuple[str, ...] = ()

    @property
    def step_limit(self) -> int:
        """Bytes of an instance after which it times out."""
        return 10_000 if self.cycle == "micro" else 3_000


def stateless(draw: Random) -> Iterator[Hidden]:
    """Instances that keep nothing to themselves."""
    while True:
        yield {}


def told(hidden: Hidden, name: str) -> Any:
    """What an instance keeps to itself under a name.

    :raises InputError: it was put together by hand and lacks it.
    """
    if name not in hidden:
        raise InputError(f"this task needs the {name} of the instance")
    return hidden[name]
