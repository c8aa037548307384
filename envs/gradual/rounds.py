"""Rounds of question, answer and feedback as the compiled loop of a batch (batch_kernels.py) reads them."""

from collections.abc import Sequence
from functools import lru_cache

from .draws import Deal
from .engine import Life
from .task import OptionsLeft

ROUNDS = 16  # of an instance, at most; one with more is judged by its `Life`
CARDS = 256  # of a deck, at most
WIDTH = 16  # bytes of a text, at most
MOST_OPTIONS = 2**31 - 1
NOISES = 4  # numbers of random digits, at most

# What is in a round: four texts, and at LENGTHS the length of each; at NOISE how many numbers of random digits there
# are, then these numbers; the key of `OptionsLeft` that it counts for, by its place from 1 on, 0 for none; and whether
# a right answer makes that one known.
WRONG, RIGHT, ANSWER, QUESTION = range(4)
LENGTHS = 4 * WIDTH
NOISE = LENGTHS + 4
KEY = NOISE + 1 + NOISES
SETTLES = KEY + 1
SIZE = SETTLES + 1


def packed_rounds(life: Life, deal: Deal, presumption: OptionsLeft | None) -> bytes:
    """The rounds of an instance one behind the other; b"" where they do not fit, or take more than a comparison."""
    if len(deal.questions) > ROUNDS or len(deal.deck) > CARDS:
        return b""
    slots = {} if presumption is None else {key: place for place, key in enumerate(presumption.left, 1)}
    if len(slots) > ROUNDS or (presumption is not None and max(presumption.left.values(), default=0) > MOST_OPTIONS):
        return b""
    counted = {} if presumption is None else presumption.counted
    rounds = []
    for question in deal.questions:
        solution = life.task.solve(question, life.hidden)
        key = solution.key
        name = counted.get(key, key)
        rounds.append(_packed(
            question, solution.answer, solution.right, solution.wrong, solution.noise, slots.get(name, 0), name == key,
        ))  # fmt: skip
        if not rounds[-1] or solution.accepts is not None or solution.opens is not None:
            return b""
    return b"".join(rounds)


@lru_cache(maxsize=1 << 14)  # instances have many rounds in common
def _packed(
    question: str, answer: str, right: Sequence[str], wrong: Sequence[str], noise: Sequence[int], key: int,
    settles: bool,
) -> bytes:  # fmt: skip
    if max(len(right), len(wrong)) > 1 or len(noise) > NOISES or not answer:
        return b""
    texts = ["".join(wrong), "".join(right), answer, question]
    if max(map(len, texts)) > WIDTH or max(noise, default=0) > WIDTH:
        return b""
    noises = () if noise == (0,) else noise
    if noises and not (right and wrong):  # no text, no random digits
        return b""
    figures = [*map(len, texts), len(noises), *noises, *[0] * (NOISES - len(noises)), key, settles]
    return "".join(text.ljust(WIDTH) for text in texts).encode("latin-1") + bytes(figures)
