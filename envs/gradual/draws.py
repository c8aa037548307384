"""Draws of an instance that a compiled loop (batch_kernels.py) can go on with: their source, and a deck of questions."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

# SplitMix64 (Steele, Lea and Flood, 2014: Fast splittable pseudorandom number generators).
GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1


class Draws(Random):
    """A generator whose whole state is one number.

    :ivar state: 64 bits.
    """

    state: int

    def seed(self, a: Any = None, version: int = 2) -> None:
        """:param a: the state."""
        self.state = (a or 0) & _MASK

    def _next(self) -> int:
        self.state = z = (self.state + GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * FIRST) & _MASK
        z = ((z ^ (z >> 27)) * SECOND) & _MASK
        return z ^ (z >> 31)

    def random(self) -> float:
        """As in `random.Random`."""
        return (self._next() >> 11) * 2.0**-53

    def getrandbits(self, k: int, /) -> int:
        """As in `random.Random`."""
        number = 0
        for _ in range(0, k, 64):
            number = number << 64 | self._next()
        return number >> (-k % 64)

    def below(self, number: int) -> int:
        """One of so many numbers from 0 on, at most 2**32; each as often as the others but for one in 2**32 / number."""
        self.state = z = (self.state + GAMMA) & _MASK  # _next, without its call
        z = ((z ^ (z >> 30)) * FIRST) & _MASK
        z = ((z ^ (z >> 27)) * SECOND) & _MASK
        return ((z ^ (z >> 31)) >> 32) * number >> 32

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
        deck = self.deck
        place = self.place if self.place < self.dealt else 0
        other = place + self.draws.below(len(deck) - place)
        card = deck[other]
        deck[other] = deck[place]
        deck[place] = card
        self.place = place + 1
        return self.questions[card]
