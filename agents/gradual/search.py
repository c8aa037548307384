"""Finds programs for examples: all programs by rising cost, those of equal values once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from .frames import LEAVES, Frame
from .operations import OPERATIONS, PIECE, STRING, TEXT, Operation, Program, Value
from .texts import SILENCE, words

_LONGEST = 200
SOLVED = "solved"
_ANSWER = "solution"  # the kind of value that no operation takes
_DEEPEST = 14  # the highest cost
#: What answers a question, as far as that is known, for a program that made it of another one.
Solver = Callable[[str, str], "str | None"]


@dataclass(frozen=True)
class Setting:
    """What programs are run with.

    :ivar solve: answers questions that a program makes. :ivar domain: see `Frame.leaf`.
    """

    solve: Solver
    domain: str = ""


def run(program: Program, frame: Frame, setting: Setting) -> Value:
    """The value of a program."""
    if program in LEAVES:
        return frame.leaf(program, setting.domain)
    values = [run(part, frame, setting) for part in program[1:]]
    return _apply(program[0], values, frame, setting)


def _apply(name: str, values: Sequence[Value], frame: Frame, setting: Setting) -> Value:
    if None in values:
        return None
    if name == SOLVED:
        question: str = values[0]  # pyright: ignore[reportAssignmentType]
        # The same words would be looked up where the answer to the question itself was stored.
        return None if words(question) == frame.words else setting.solve(question.strip(SILENCE), frame.question)
    return OPERATIONS[name].apply(*values)


class Search:
    """One search.

    :ivar found: programs by the examples that they fit, with their values, in order of cost.
    """

    def __init__(self, frames: Sequence[Frame], setting: Setting, used: Counter[str], rewriting: bool = False) -> None:
        """
        :param used: how often operations and leaves were of use, which makes them cheaper.
        :param rewriting: look only for ways to make a question of another one, and answer that.
        """
        self._frames, self._setting, self._rewriting = frames, setting, rewriting
        self._operations: dict[str, Operation] = {
            name: operation for name, operation in OPERATIONS.items() if not rewriting or operation.gives == TEXT
        }
        if rewriting:
            self._operations[SOLVED] = Operation(lambda text: None, (TEXT,), _ANSWER)
        self._cost = {name: 1 if used[name] else 2 for name in self._operations}
        self._leaf_cost = {leaf: 3 if leaf[0] == "domain" else 1 for leaf in LEAVES}
        self._by_cost: dict[int, dict[str, list[tuple[Program, tuple[Value, ...]]]]] = {}
        self._seen: set[tuple[str, tuple[Value, ...]]] = set()

    def programs(self, budget: int) -> Iterator[tuple[Program, tuple[str, ...]]]:
        """Programs that give a text for each frame, with these texts.

        :param budget: so many programs are tried.
        """
        tried = 0
        for cost in range(1, _DEEPEST + 1):
            self._by_cost[cost] = {}
            for program, values, kind in self._of_cost(cost):
                tried += 1
                if tried > budget:
                    return
                if None in values or (kind, values) in self._seen or any(len(value) > _LONGEST for value in values):  # pyright: ignore
                    continue
                self._seen.add((kind, values))
                self._by_cost[cost].setdefault(kind, []).append((program, values))
                if kind == _ANSWER if self._rewriting else kind in (TEXT, PIECE):
                    yield program, values  # pyright: ignore[reportReturnType]

    def _of_cost(self, cost: int) -> Iterator[tuple[Program, tuple[Value, ...], str]]:
        for leaf, kind in LEAVES.items():
            if self._leaf_cost[leaf] == cost:
                yield leaf, tuple(frame.leaf(leaf, self._setting.domain) for frame in self._frames), kind
        for name, operation in self._operations.items():
            left = cost - self._cost[name]
            for costs in _shares(left, len(operation.takes)):
                pools = [list(self._pool(share, kind)) for share, kind in zip(costs, operation.takes, strict=True)]
                for chosen in product(*pools):
                    program = (name, *(part[0] for part in chosen))
                    columns = zip(self._frames, zip(*(part[1] for part in chosen), strict=True), strict=True)
                    yield (
                        program,
                        tuple(_apply(name, values, frame, self._setting) for frame, values in columns),
                        operation.gives,
                    )

    def _pool(self, cost: int, kind: str) -> Iterable[tuple[Program, tuple[Value, ...]]]:
        pool = self._by_cost.get(cost, {})
        for each in (TEXT, PIECE) if kind == STRING else (kind,):
            yield from pool.get(each, ())


def _shares(total: int, number: int) -> Iterator[tuple[int, ...]]:
    """The ways to share out a cost."""
    if number == 1:
        if total > 0:
            yield (total,)
        return
    for first in range(1, total - number + 2):
        for rest in _shares(total - first, number - 1):
            yield (first, *rest)
