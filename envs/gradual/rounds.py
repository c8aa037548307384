"""Rounds of question, answer and feedback as the compiled loop of a batch (batch_kernels.py) reads them."""

from collections.abc import Sequence
from functools import lru_cache

from .batch_kernels import CARDS, MOST_OPTIONS, NOISES, ROUNDS, WIDTH
from .draws import Deal
from .engine import Life
from .task import OptionsLeft


def packed_rounds(life: Life, deal: Deal, presumption: OptionsLeft | None) -> bytes:
    """The rounds of an instance one behind the other; b"" where they do not fit, or take more than a comparison."""
    if len(deal.questions) > ROUNDS or len(deal.deck) > CARDS:
        return b""
    slots = {} if presumption is None else {key: place for place, key in enumerate(presumption.left, 1)}
    if len(slots) > ROUNDS or (presumption is not None and max(presumption.left.values(), default=0) > MOST_OPTIONS):
        return b""
    counted = {} if presumption is None else presumption.counted
    rounds, before, rest = [], None, b""
    for question in deal.questions:
        solution = life.task.solve(question, life.hidden)
        if solution is not before:  # questions may have one solution in common
            before, key = solution, solution.key
            name = counted.get(key, key)
            rest = _packed(solution.answer, solution.right, solution.wrong, solution.noise)
            if not rest or solution.accepts is not None or solution.opens is not None:
                return b""
            rest += bytes((slots.get(name, 0), name == key))
        if len(question) > WIDTH:
            return b""
        rounds += _text(question), rest
    return b"".join(rounds)


@lru_cache(maxsize=1 << 14)  # instances have many solutions in common
def _packed(answer: str, right: Sequence[str], wrong: Sequence[str], noise: Sequence[int]) -> bytes:
    """A round from the answer to the random digits; b"" where it does not fit, or more than digits is to be drawn."""
    texts = [answer, "".join(right), "".join(wrong)]
    noises = () if noise == (0,) else noise
    if (
        max(len(right), len(wrong)) > 1 or not answer or max(map(len, texts)) > WIDTH or len(noises) > NOISES
        or max(noises, default=0) > WIDTH or (noises and not (right and wrong))  # no text, no random digits
    ):  # fmt: skip
        return b""
    return b"".join(map(_text, texts)) + bytes((len(noises), *noises, *[0] * (NOISES - len(noises))))


@lru_cache(maxsize=1 << 12)
def _text(text: str) -> bytes:
    return text.ljust(WIDTH).encode("latin-1") + bytes((len(text),))
