"""Define a task: it draws instances and questions, and computes the right answers and the feedback.

A task is data and three functions; your own tasks run like the tasks of the challenge. engine.py does the rest: the
cycle of question, answer and feedback, limits, rewards and the schedule.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from gumption.data import InputError
from gumption.data.settings import checked_methods, settings
from gumption.envs.priors import Laws, Names

#: Hidden data of an instance, by name: "mapping", "alphabet", "answer", "names", ...
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
    """Hold the right answer to a question, and the feedback.

    :ivar answer: the text, with its full stop if it has one.
    :ivar right, wrong: candidate feedback texts on a right or a wrong answer, drawn at random; () for no feedback.
    :ivar accepts: predicate that an answer is right; None if only `answer` is right.
    :ivar noise: candidate numbers of random digits that precede the feedback, drawn at random.
    :ivar key: what the agent learns by this question, see `Presumption`.
    :ivar opens: number of question bytes after which the answer may begin; None for after the whole question.
    """

    answer: str
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    accepts: Callable[[str], bool] | None = None
    noise: tuple[int, ...] = (0,)
    key: Hashable = None
    opens: int | None = None

    def is_right(self, answer: str) -> bool:
        return answer == self.answer if self.accepts is None else self.accepts(answer)

    def feedback(self, right: bool, draw: Random) -> str:
        """Draw the feedback on a right or a wrong answer."""
        texts = self.right if right else self.wrong
        if not texts:
            return ""
        text = texts[0] if len(texts) == 1 else draw.choice(texts)
        if self.noise == (0,):
            return text
        return "".join([draw.choice(DIGITS) for _ in range(draw.choice(self.noise))]) + text


class Presumption(Protocol):
    """Decide when an agent should know the answers of an instance; its limits begin to count then."""

    def after(self, key: Hashable, right: bool) -> bool:
        """Record an answer for this key, and return whether the agent should know the answers now."""
        ...


class OptionsLeft:
    """Presume the answers known once each key has at most one possible answer left.

    A right answer leaves one possible answer of its key. A wrong answer removes one possible answer of its key.

    :ivar left: possible answers of each key, 0 if the agent should know it. :ivar unknown: number of other keys.
    :ivar counted: key -> the key for which its answers count. A wrong answer removes a possible answer of that key; a
        right answer does so if two are left.
    """

    def __init__(self, options: Mapping[Hashable, int], counted: Mapping[Hashable, Hashable] | None = None) -> None:
        """:param options: key -> number of possible answers."""
        self.counted = {} if counted is None else counted
        self.left = {key: number for key, number in options.items() if number > 1}
        self.unknown = len(self.left)

    def after(self, key: Hashable, right: bool) -> bool:
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
        """Set the numbers of `left`, in its order; surplus numbers are ignored."""
        self.left = dict(zip(self.left, left, strict=False))
        self.unknown = sum(number > 0 for number in self.left.values())


@checked_methods
@dataclass(frozen=True)
class Task:
    """Define a task of a curriculum. For example:

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
    :ivar about: the skill it teaches, in a few words.
    :ivar instances: draws the hidden data of the instances, without end.
    :ivar questions: draws the questions of an instance, without end.
    :ivar solve: solves a question of an instance. InputError if the question is not of this task.
    :ivar presumption: decides when an agent should know the answers of an instance; None: from the first question on.
    :ivar fixed_length: an answer ends at the length of the expected answer; else with its first full stop.
    :ivar tolerance: an instance ends after 1 + `tolerance` times as many questions as its soft limit allows.
    :ivar cycle: "micro": an instance has many questions, each rewarded at once; "mini": one question, rewarded late.
    :ivar early_stop: with `fixed_length`, a full stop also ends an answer.
    :ivar letters: "end" for a reward when the answer ends; "first wrong" also ends it at its first wrong byte; "each"
        also rewards every right byte (A.2.9.2, versions 1 and 2).
    :ivar reply: text sent after each right word of an answer, which then goes on ("yes" in A.1.6.2). A space ends a
        word. A wrong word ends the answer, and so does the last byte of the expected answer. "" if answers have one
        part.
    :ivar adaptive: after ten answers in a row with a full stop, wrong answers also get the feedback of right answers
        (A.2.5.6).
    :ivar predict_repeats: an instance counts as solved if every answer to a repeated `Solution.key` was right. Its
        only limit is the time-out (A.2.5.2.1).
    :ivar requires: names of the tasks to learn before.
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
    predict_repeats: bool = False
    requires: tuple[str, ...] = ()

    @property
    def step_limit(self) -> int:
        """Return the number of bytes after which an instance times out."""
        return 10_000 if self.cycle == "micro" else 3_000


# ---- Building blocks of many tasks.


def stateless(draw: Random) -> Iterator[Hidden]:
    """Yield instances without hidden data."""
    while True:
        yield {}


def stateless_task(name: str, about: str, questions: Questions, solve: Solve, *requires: str) -> Task:
    """Return a task whose instances have no hidden data."""
    return Task(name, about, stateless, questions, solve, requires=requires)


def drawn(hidden: Callable[[Random], Hidden]) -> Instances:
    """Return instances whose hidden data the function draws."""

    def instances(draw: Random) -> Iterator[Hidden]:
        while True:
            yield hidden(draw)

    return instances


def repeated(question: Callable[[Random], str | None]) -> Questions:
    """Return questions that the function draws without end; a draw of None is repeated."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        while True:
            if asked := question(draw):
                yield asked

    return questions


def about_keys(question: Callable[[str, Random], str]) -> Questions:
    """Return questions about random keys of the hidden mapping; `question` makes the text."""

    def questions(hidden: Hidden, draw: Random) -> Iterator[str]:
        keys = list(hidden["mapping"])
        while True:
            yield question(draw.choice(keys), draw)

    return questions


def matched(pattern: str, question: str) -> re.Match[str]:
    """Match the whole question and return the match; InputError if it has another form."""
    found = re.fullmatch(pattern, question)
    if found is None:
        raise InputError(f"{question!r} is no question of this task: it has the form {pattern}")
    return found


def solving(pattern: str, solution: Callable[..., Solution]) -> Solve:
    """Return a solver for questions of a single form; `solution` takes the groups of the pattern."""
    return lambda question, hidden: solution(*matched(pattern, question).groups())


def told(hidden: Hidden, name: str) -> Any:
    """Return the hidden value of a name; InputError if the caller left it out."""
    if name not in hidden:
        raise InputError(f"this task needs the {name} of the instance")
    return hidden[name]


def looked_up(hidden: Hidden, key: str, question: str) -> str:
    """Return the answer for a key of the hidden mapping; InputError if the key is missing."""
    mapping = told(hidden, "mapping")
    if key not in mapping:
        raise InputError(f"the question {question!r} asks for {key!r}; the mapping has {', '.join(map(repr, mapping))}")
    return mapping[key]


def stopped(answer: str, stop: str = STOP) -> str:
    """Return the answer with its full stop, which a user's mapping may omit."""
    return answer if answer.endswith(stop) else answer + stop


GOOD = ("good job! ;",)


def short(
    answer: str, *, accepts: Callable[[str], bool] | None = None, key: Hashable = None, opens: int | None = None
) -> Solution:
    """Return a solution whose feedback repeats the answer only after a wrong answer."""
    return Solution(answer, GOOD, (f"wrong! {answer};",), accepts, key=key, opens=opens)


def long(answer: str, right: str, wrong: str = "wrong!") -> Solution:
    """Return a solution whose feedback always repeats the answer."""
    return Solution(answer, (f"{right} {answer};",), (f"{wrong} {answer};",))


# ---- Choices between the document and the program of 2017 where they differ.


@settings
class Rules:
    """The defaults follow the program, unless it contradicts a clear sentence of the document.

    :ivar upstream_quirks: follow the program even where it contradicts the document: micro13.1 takes any end of the
        right answer to "and", an instance of micro16 has one kind of question, mini2 and mini5 ask about an empty
        string, which is always false, the length of a string of the mini tasks tells something of its label, and the
        last reward of the last task is never paid.
    :ivar adaptive_stop: in micro5.6 the feedback on wrong answers has no full stop either, once ten answers in a row
        ended with one (A.2.5.6).
    :ivar early_stop: in micro5.5 to 5.18 a full stop ends an answer, even a short one (A.2.5.7).
    :ivar predict_repeats: in micro5.1 to 5.18 an instance counts as solved if every answer to a question that comes
        again in it is right. It ends with ten right answers in a row, also after a mistake, or with its time-out
        (A.2.5.2.1).
    :ivar whole_alphabet: in micro3 an instance exchanges all 26 letters, and asks by running text, whose signs and
        spaces mean themselves (A.2.3).
    :ivar phrasings: questions that only the document has come beside those of the program: `say a.` in micro7.1 and
        7.2, `after one comes what:.` in micro15, `say: a.` and `after d comes what:.` in micro16, `write: a.` in
        micro19, and in micro20 one word to say and known synonyms as names, `print is as say - print: panda.`
    :ivar joined_or: in micro13.2 the answer to "or" is some of the words, one behind the other (A.2.13.2).
    :ivar and_or_synonyms: micro19 and micro20 also ask what micro13.1 asks, so that "and" and "or" have synonyms
        (A.2.19).
    :ivar strict_descriptions: strings of the mini tasks are whole n-grams one behind the other, as in CommAI-mini;
        else n-grams may overlap.
    :ivar names: "real" words, "anonymous" ones of other letters, or "shuffled": words that give orders, praise or count
        change their meanings.
    :ivar laws: "counterfactual": a question has the answer of another one. Both are of the challenge's tasks.
    """

    upstream_quirks: bool = False
    adaptive_stop: bool = False
    early_stop: bool = False
    predict_repeats: bool = False
    whole_alphabet: bool = False
    phrasings: bool = False
    joined_or: bool = False
    and_or_synonyms: bool = False
    strict_descriptions: bool = False
    names: Names = "real"
    laws: Laws = "real"

    @property
    def rules(self) -> "Rules":
        """Return only the rules of an object with more settings."""
        return Rules(**{name: getattr(self, name) for name in Rules.__dataclass_fields__})


# ---- State that the compiled loop of batch.py can continue: a random number generator, and a deck of questions.

T = TypeVar("T")

# The linear congruential generator of Knuth's MMIX. Draws use its upper half, since low bits have short periods.
FACTOR, INCREMENT = 6364136223846793005, 1442695040888963407
_MASK = (1 << 64) - 1


class Draws(Random):
    """Generate random numbers from a state of 64 bits."""

    state: int

    def seed(self, a: Any = None, version: int = 2) -> None:
        self.state = (a or 0) & _MASK

    def getrandbits(self, k: int, /) -> int:
        number = 0
        for _ in range(0, k, 32):
            self.state = (self.state * FACTOR + INCREMENT) & _MASK
            number = number << 32 | self.state >> 32
        return number >> (-k % 32)

    def random(self) -> float:
        return self.getrandbits(53) * 2.0**-53

    def below(self, number: int) -> int:
        """Draw an integer from 0 to `number` - 1; `number` is at most 2**32, and the bias is below 2**-32."""
        self.state = state = (self.state * FACTOR + INCREMENT) & _MASK
        return (state >> 32) * number >> 32

    def choice(self, seq: Sequence[T]) -> T:  # pyright: ignore[reportIncompatibleMethodOverride]
        return seq[self.below(len(seq))]


class Deal(Iterator[str]):
    """Deal questions from a shuffled deck, without end. A batch judges their answers in a compiled loop.

    :ivar deck: the number of the question on each card; the cards before `place` have been dealt.
    :ivar dealt: number of cards after which the whole deck is shuffled again.
    """

    def __init__(self, questions: Sequence[str], draw: Random, times: int, dealt: int | None = None) -> None:
        """:param times: copies of each question in the deck. :param dealt: None for the whole deck."""
        self.questions = questions
        self.deck = [*range(len(questions))] * times
        self.dealt = len(self.deck) if dealt is None else dealt
        self.place = 0
        self.draws = draw if isinstance(draw, Draws) else Draws(draw.getrandbits(64))

    @property
    def card(self) -> int:
        """Return the number of the question dealt last."""
        return self.deck[self.place - 1]

    def __next__(self) -> str:
        deck, place, draws = self.deck, self.place, self.draws
        if place == self.dealt:
            place = 0
        # `Draws.below` inlined: in some tasks each step deals a question, and a call is slow.
        draws.state = state = (draws.state * FACTOR + INCREMENT) & _MASK
        other = place + ((state >> 32) * (len(deck) - place) >> 32)
        card = deck[other]
        deck[other] = deck[place]
        deck[place] = card
        self.place = place + 1
        return self.questions[card]
