"""What a task is: how its instances are drawn, what they ask, what is right, and what is said about an answer.

A task is data and three functions, so that a person's own task goes the same way as those of the challenge. The engine
(engine.py) does the rest: the cycle of question, answer and feedback, limits, rewards and the schedule.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from gumption.data import InputError
from gumption.data.settings import checked_methods, settings

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


# ---- Which reading of the challenge is played, where its document and its program of 2017 differ.


@settings
class Rules:
    """The defaults follow the program, but for what contradicts a clear sentence of the document.

    :ivar upstream_quirks: also then do as the program of 2017 did: micro13.1 takes any end of the right answer to
        "and", an instance of micro16 has one kind of question, mini2 and mini5 ask about an empty string, which is
        always false, the length of a string of the mini tasks tells something of its label, and the last reward of the
        last task is never paid.
    :ivar adaptive_stop: in micro5.6 the feedback on wrong answers has no full stop either, once ten answers in a row
        ended with one (A.2.5.6).
    :ivar early_stop: in micro5.5 to 5.18 a full stop ends an answer, even a short one (A.2.5.7).
    :ivar joined_or: micro13.2 takes for "or" nothing but some of the words, one behind the other (A.2.13.2).
    :ivar and_or_synonyms: micro19 and micro20 also ask what micro13.1 asks, so that "and" and "or" have synonyms
        (A.2.19).
    :ivar strict_descriptions: strings of the mini tasks are whole n-grams one behind the other, as in CommAI-mini;
        else n-grams may overlap.
    """

    upstream_quirks: bool = False
    adaptive_stop: bool = False
    early_stop: bool = False
    joined_or: bool = False
    and_or_synonyms: bool = False
    strict_descriptions: bool = False

    @property
    def rules(self) -> "Rules":
        """The rules alone, of settings that have more."""
        return Rules(**{name: getattr(self, name) for name in Rules.__dataclass_fields__})


# ---- Draws that the compiled loop of batch.py can go on with: their source, and a deck to deal questions from.

T = TypeVar("T")

# The linear congruential generator of Knuth's MMIX. Its upper half is drawn, since low bits repeat soon.
FACTOR, INCREMENT = 6364136223846793005, 1442695040888963407
_MASK = (1 << 64) - 1


class Draws(Random):
    """A generator whose whole state is one number.

    :ivar state: 64 bits.
    """

    state: int

    def seed(self, a: Any = None, version: int = 2) -> None:
        """:param a: the state."""
        self.state = (a or 0) & _MASK

    def getrandbits(self, k: int, /) -> int:
        """As in `random.Random`."""
        number = 0
        for _ in range(0, k, 32):
            self.state = (self.state * FACTOR + INCREMENT) & _MASK
            number = number << 32 | self.state >> 32
        return number >> (-k % 32)

    def random(self) -> float:
        """As in `random.Random`."""
        return self.getrandbits(53) * 2.0**-53

    def below(self, number: int) -> int:
        """One of the numbers from 0 on, at most 2**32. All are as probable but for one part in 2**32."""
        self.state = state = (self.state * FACTOR + INCREMENT) & _MASK
        return (state >> 32) * number >> 32

    def choice(self, seq: Sequence[T]) -> T:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As in `random.Random`."""
        return seq[self.below(len(seq))]


class Deal(Iterator[str]):
    """Questions dealt from a shuffled deck, without end. A batch judges the answers to them in a compiled loop.

    :ivar questions: all there are.
    :ivar deck: the number of the question on each card; those before `place` have been dealt.
    :ivar dealt: so many are dealt before all cards are shuffled again.
    :ivar draws: the source.
    """

    def __init__(self, questions: Sequence[str], draw: Random, times: int, dealt: int | None = None) -> None:
        """:param times: how often each question is in the deck. :param dealt: all of the deck where it is None."""
        self.questions = questions
        self.deck = [*range(len(questions))] * times
        self.dealt = len(self.deck) if dealt is None else dealt
        self.place = 0
        self.draws = draw if isinstance(draw, Draws) else Draws(draw.getrandbits(64))

    @property
    def card(self) -> int:
        """The number of the question dealt last."""
        return self.deck[self.place - 1]

    def __next__(self) -> str:
        deck, place, draws = self.deck, self.place, self.draws
        if place == self.dealt:
            place = 0
        # As `Draws.below`, without a call: in some tasks each step deals a question.
        draws.state = state = (draws.state * FACTOR + INCREMENT) & _MASK
        other = place + ((state >> 32) * (len(deck) - place) >> 32)
        card = deck[other]
        deck[other] = deck[place]
        deck[place] = card
        self.place = place + 1
        return self.questions[card]
