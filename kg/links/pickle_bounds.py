"""Pickles and what was read from them, held within bounds before anything follows their references.

A few hundred bytes can name a value that holds itself, or one that holds another twice, which holds another twice, and
so on: to visit or to hash it never ends.
"""

import pickletools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

PICKLE_BYTES = 1 << 22  # those of PyKEEN's models have some 20,000
VALUES, DEPTH = 1_000_000, 200

_REMEMBER = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
_RECALL = ("GET", "BINGET", "LONG_BINGET")


def check_pickle(content: bytes) -> None:
    """ValueError for a pickle that would fill memory, or hash a tuple without end, while it is read.

    Tuples are weighed with all that they hold, counted as often as they hold it; nothing is made of them. Lists and
    dicts, which may grow later, count as one: they cannot be hashed. `unfolded` bounds them afterwards.
    """
    if len(content) > PICKLE_BYTES:
        raise ValueError(f"its data.pkl has more than {PICKLE_BYTES >> 20} MB")
    stack: list[int | None] = []  # weights; None is a mark
    memo: dict[int, int | None] = {}
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name in _REMEMBER:
            index = len(memo) if argument is None else int(argument)
            if index > len(content):
                raise ValueError(f"it remembers a value under the number {index}")
            memo[index] = stack[-1]
        elif opcode.name in _RECALL:
            assert argument is not None
            stack.append(memo[int(argument)])
        else:
            weight = 1 + _taken(stack, opcode)
            if opcode.name == "MARK":
                stack.append(None)
            else:
                stack += [weight if "TUPLE" in opcode.name or opcode.name == "DUP" else 1] * len(opcode.stack_after)
            if weight > VALUES:
                raise ValueError("it holds a tuple of tuples without end")


def _taken(stack: list[int | None], opcode: pickletools.OpcodeInfo) -> int:
    """Take from the stack what an opcode takes; the sum of its weights."""
    before = opcode.stack_before
    taken: list[int | None] = []
    count = len(before)
    if pickletools.markobject in before:
        while (top := stack.pop()) is not None:
            taken.append(top)
        count = before.index(pickletools.markobject)
    taken += [stack.pop() for _ in range(count)]
    return sum(weight or 1 for weight in taken)


def unfolded(value: Any, parts: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """The value and all that it holds, each as often as it is held; ValueError where that has no end in sight.

    :param parts: what a value holds.
    """
    waiting = [(value, 0)]
    seen = 0
    while waiting:
        found, depth = waiting.pop()
        yield found
        below = [(part, depth + 1) for part in parts(found)]
        seen += len(below)
        if depth > DEPTH or seen > VALUES:
            raise ValueError("its values hold each other without end")
        waiting += below
