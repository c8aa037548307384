"""What work costs on whatever machine the tests run: by a fixed piece of work that is timed in the same run."""

from collections.abc import Callable
from time import process_time

_STEPS = 200_000


def cost(work: Callable[[], object], repeats: int = 1) -> float:
    """The processor time of a call by that of a million steps of a Python loop, timed before and after; the least of
    the repeats.

    A busy machine delays work, but hardly adds to its processor time, and what it adds it adds to the loop, too.
    """
    costs = []
    for _ in range(repeats):
        before, taken, after = _took(_loop), _took(work), _took(_loop)
        costs.append(taken / ((before + after) / 2) * _STEPS / 1_000_000)
    return min(costs)


def _took(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def _loop() -> int:
    return sum(i * i % 7 for i in range(_STEPS))
