"""Define programs that answer questions: operations on texts, frames that split questions, and the search for programs
that fit examples. No word of any task occurs here.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, groupby, islice, pairwise, product
from typing import Any, TypeAlias

from .texts import SILENCE, Tokens, is_sign, tokens, words

# ---- Operations

#: The value of a program: a text, several texts, or None for no value.
Value: TypeAlias = str | tuple[str, ...] | None

TEXT, PIECE, STRING, SIGN, LIST = "text", "piece", "string", "sign", "list"


@dataclass(frozen=True)
class Operation:
    """Hold a function of texts, and the kinds of its arguments and its value. A `TEXT` is a large part of a question, a
    `PIECE` a small part, a `STRING` either.
    """

    apply: Callable[..., Value]
    takes: tuple[str, ...]
    gives: str


def _replaced(text: str, old: str, new: str) -> Value:
    if not old or old == new:
        return None
    if old not in text:  # the usual case; compiling an expression is slow
        return text
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)


def _zipped(one: str, other: str) -> Value:
    return "".join(a + b for a, b in zip(one, other, strict=False)) if len(one) == len(other) else None


OPERATIONS: dict[str, Operation] = {
    "tail": Operation(lambda text, by: text.partition(by)[2] if by and by in text else None, (TEXT, SIGN), TEXT),
    "head": Operation(lambda text, by: text.rpartition(by)[0] if by and by in text else None, (TEXT, SIGN), TEXT),
    "without": Operation(lambda text, by: text.replace(by, "") if by and by in text else None, (TEXT, SIGN), TEXT),
    "replaced": Operation(_replaced, (TEXT, PIECE, PIECE), TEXT),
    "collapsed": Operation(lambda text: re.sub(" +", " ", text), (TEXT,), TEXT),
    "stripped": Operation(lambda text: text.strip(SILENCE), (TEXT,), TEXT),
    "mirrored": Operation(lambda text: text[::-1], (STRING,), PIECE),
    "start": Operation(lambda text: text[0] if text else None, (STRING,), PIECE),
    "end": Operation(lambda text: text[-1] if text else None, (PIECE,), PIECE),
    "rest": Operation(lambda text: text[1:] if text else None, (PIECE,), PIECE),
    "joined": Operation(lambda one, other: one + other, (PIECE, PIECE), PIECE),
    "merged": Operation(lambda one, other: one + "".join(c for c in other if c not in one), (PIECE, PIECE), PIECE),
    "difference": Operation(lambda one, other: "".join(c for c in one if c not in other), (PIECE, PIECE), PIECE),
    "intersection": Operation(lambda one, other: "".join(c for c in one if c in other), (PIECE, PIECE), PIECE),
    "zipped": Operation(_zipped, (PIECE, PIECE), PIECE),
    "length": Operation(lambda text: str(len(text)), (PIECE,), PIECE),
    "chars": Operation(lambda text: (*text,), (STRING,), LIST),
    "backwards": Operation(lambda items: items[::-1], (LIST,), LIST),
    "ordered": Operation(lambda items: tuple(sorted(items)), (LIST,), LIST),
    "distinct": Operation(lambda items: tuple(dict.fromkeys(items)), (LIST,), LIST),
    "row": Operation(lambda items, sign: sign.join(items), (LIST, SIGN), PIECE),
    "row with": Operation(lambda items, piece: piece.join(items), (LIST, PIECE), PIECE),
}  # fmt: skip

#: A program: ("operation", argument, ...), or a leaf such as ("content", 0).
Program: TypeAlias = tuple[Any, ...]


def parts(program: Program) -> list[str]:
    """Return the names of all operations and leaves of a program."""
    names = [program[0]]
    for part in program[1:]:
        if isinstance(part, tuple):
            names += parts(part)
    return names


# ---- Frames: tokens common to questions of a kind are literal, the rest is content.


@dataclass(frozen=True)
class Frame:
    """Hold a question split by a guard: `content`, the tokens that are not literal, and the runs of literal tokens."""

    question: str
    words: Tokens
    content: Tokens
    runs: Tokens


def _nth(tokens_of: Callable[[Frame], Tokens], place: int) -> Callable[[Frame, str], Value]:
    def value(frame: Frame, domain: str) -> Value:
        items = tokens_of(frame)
        return items[place] if -len(items) <= place < len(items) else None

    return value


#: The leaves of programs: kind, and value for a frame and a domain, the characters in content of earlier questions.
LEAVES: dict[Program, tuple[str, Callable[[Frame, str], Value]]] = {
    ("question",): (TEXT, lambda frame, domain: frame.question),
    ("content",): (LIST, lambda frame, domain: frame.content),
    **{("content", place): (PIECE, _nth(lambda frame: frame.content, place)) for place in (0, 1, 2, -1)},
    **{("word", place): (PIECE, _nth(lambda frame: frame.words, place)) for place in range(5)},
    **{("run", place): (SIGN, _nth(lambda frame: frame.runs, place)) for place in range(4)},
    ("sign",): (SIGN, lambda frame, domain: next(filter(is_sign, frame.question), None)),
    ("nothing",): (SIGN, lambda frame, domain: ""),
    ("space",): (SIGN, lambda frame, domain: SILENCE),
    ("domain",): (PIECE, lambda frame, domain: domain or None),
}


@lru_cache(maxsize=1 << 15)
def frame(question: str, guard: frozenset[str]) -> Frame:
    """Split a question; the tokens of the guard are literal."""
    parts = tokens(question)
    runs = tuple("".join(run) for literal, run in groupby(parts, guard.__contains__) if literal)
    content = tuple(token for token in parts if token not in guard and token != SILENCE)
    return Frame(question, words(question), content, runs)


# ---- The search: all programs by rising cost; programs with equal values count once.

_LONGEST = 200  # most characters of a value
SOLVED = "solved"  # the operation that answers another question
_ANSWER = "solution"  # the kind of its value, which no operation accepts
_DEEPEST = 14  # the highest cost


@dataclass(frozen=True)
class Setting:
    """Hold the context of programs: the domain, and a solver of questions that programs make from other questions."""

    solve: Callable[[str, str], str | None]
    domain: str = ""


def run(program: Program, frame: Frame, setting: Setting) -> Value:
    if program in LEAVES:
        return LEAVES[program][1](frame, setting.domain)
    values = [run(part, frame, setting) for part in program[1:]]
    return _apply(program[0], values, frame, setting)


def _apply(name: str, values: Sequence[Value], frame: Frame, setting: Setting) -> Value:
    if None in values:
        return None
    if name == SOLVED:
        question: str = values[0]  # pyright: ignore[reportAssignmentType]
        # With the same words, the answer would be the stored one to the question itself.
        return None if words(question) == frame.words else setting.solve(question.strip(SILENCE), frame.question)
    return OPERATIONS[name].apply(*values)


class Search:
    """Enumerate programs for frames."""

    def __init__(self, frames: Sequence[Frame], setting: Setting, used: Counter[str], rewriting: bool = False) -> None:
        """Reduce the cost of `used` operations. `rewriting`: only programs that answer another question."""
        self._frames, self._setting, self._rewriting = frames, setting, rewriting
        self._operations: dict[str, Operation] = {
            name: operation for name, operation in OPERATIONS.items() if not rewriting or operation.gives == TEXT
        }
        if rewriting:
            self._operations[SOLVED] = Operation(lambda text: None, (TEXT,), _ANSWER)
        self._cost = {name: 1 if used[name] else 2 for name in self._operations}
        self._leaf_cost = {leaf: 3 if leaf[0] == "domain" else 1 for leaf in LEAVES}
        self._by_cost: list[dict[str, list[tuple[Program, tuple[Value, ...]]]]] = [{}]
        self._seen: set[tuple[str, tuple[Value, ...]]] = set()
        self._all, self._tried = chain.from_iterable(map(self._of_cost, range(1, _DEEPEST + 1))), 0

    def programs(self, budget: int) -> Iterator[tuple[Program, tuple[str, ...]]]:
        """Yield programs that return a text for each frame, with these texts. The search resumes where it stopped,
        until it has tried `budget` programs in total."""
        for program, values, kind in islice(self._all, max(0, budget - self._tried)):
            self._tried += 1
            if None in values or (kind, values) in self._seen or any(len(value) > _LONGEST for value in values):  # pyright: ignore
                continue
            self._seen.add((kind, values))
            self._by_cost[-1].setdefault(kind, []).append((program, values))
            if kind == _ANSWER if self._rewriting else kind in (TEXT, PIECE):
                yield program, values  # pyright: ignore[reportReturnType]

    def _of_cost(self, cost: int) -> Iterator[tuple[Program, tuple[Value, ...], str]]:
        self._by_cost.append({})
        for leaf, (kind, value) in LEAVES.items():
            if self._leaf_cost[leaf] == cost:
                yield leaf, tuple(value(frame, self._setting.domain) for frame in self._frames), kind
        for name, operation in self._operations.items():
            left = cost - self._cost[name]
            for costs in _shares(left, len(operation.takes)):
                pools = [list(self._pool(share, kind)) for share, kind in zip(costs, operation.takes, strict=True)]
                apply, gives = operation.apply, operation.gives
                for chosen in product(*pools):
                    program = (name, *(part[0] for part in chosen))
                    columns = (part[1] for part in chosen)  # contain no None
                    if name == SOLVED:
                        cut = zip(zip(*columns, strict=True), self._frames, strict=True)
                        yield program, tuple(_apply(name, values, frame, self._setting) for values, frame in cut), gives
                    else:
                        yield program, tuple(map(apply, *columns)), gives

    def _pool(self, cost: int, kind: str) -> Iterable[tuple[Program, tuple[Value, ...]]]:
        for each in (TEXT, PIECE) if kind == STRING else (kind,):
            yield from self._by_cost[cost].get(each, ())


def _shares(total: int, number: int) -> Iterator[tuple[int, ...]]:
    """Yield all splits of a cost into `number` positive parts."""
    if total >= number:
        for cuts in combinations(range(1, total), number - 1):
            yield tuple(end - start for start, end in pairwise((0, *cuts, total)))
