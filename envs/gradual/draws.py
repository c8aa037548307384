"""Draws that a compiled loop (batch_kernels.py) can go on with: their source, and a deck to deal questions from."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, TypeVar

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
