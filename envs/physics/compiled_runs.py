"""Run many steps of each scene in a compiled loop until it rests, bit for bit equal to repeated `Simulator.step`.

A scene leaves the loop when it rests, so that scenes at rest cost nothing. The loop supports scenes with the rules
`accelerate` and `move`, and rules for accelerations and drags that `Law` can compile; others run step by step.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import boolean, float64, int64, njit, types, void
from numpy.lib.mixins import NDArrayOperatorsMixin

from gumption.data import InputError
from gumption.data.writing import write_text

from .compiled_rules import CompiledRule, listed
from .contacts import MAX_IMPACTS, clip_all, travel, traveling_room
from .draws import Generator
from .factors import (
    WIDTHS,
    Acceleration,
    Alive,
    Done,
    Drag,
    Factor,
    Framerate,
    InfiniteEnergy,
    Mass,
    MaxVelocity,
    MinVelocity,
    Mobile,
    Parameter,
    Position,
    Restitution,
    Size,
    StoredEnergy,
    Velocity,
    WallDamping,
)
from .geometry import ENERGY, EXTRA_X, EXTRA_Y, INVERSE, VX, VY, R, X, Y, lay_out
from .motion import RestWatch
from .resting import is_clear, press, touching
from .rules import FIXED_RULES, Aggregate, Rule
from .state import State

# ---- Rules as compiled loops over the entities of a scene, made from the same functions that run on arrays.
#
# A rule is called once with symbols in place of arrays. NumPy dispatches to its arguments (`__array_ufunc__`,
# `__array_function__`), and a symbol returns an expression. The result of the rule is written out as source code of
# scalar operations in the same order, and compiled by numba. IEEE arithmetic makes both ways agree bit for bit; powers
# and transcendental functions may differ in the last bit.

#: Arguments of a compiled law: entities, present (N,), rows of factors (R, N), parameters (P,), buffers of `Law.room`.
_MATRIX, _VECTOR = types.Array(float64, 2, "C"), types.Array(float64, 1, "C")
LAW = void(int64, types.Array(boolean, 1, "C"), _MATRIX, _VECTOR, _MATRIX, _VECTOR)
#: Targets that are computed together: the maximal number, and its granularity.
_LANES, _EIGHT = 64, 8
_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
_LOGIC = {"bitwise_and": "&", "logical_and": "&", "bitwise_or": "|", "logical_or": "|"}
_TRUTHS = {"<", "<=", ">", ">=", "==", "!=", "&", "|", "not"}
_CALLS = {"sqrt", "absolute", "sign", "floor", "ceil", "exp", "log", "sin", "cos", "arctan2", "tanh", "hypot", "power"}
#: As in NumPy, a NaN wins. Without calls, so that loops vectorise.
_EXTREMES = {
    "maximum": "{0} if ({0} >= {1}) | ({0} != {0}) else {1}",
    "minimum": "{0} if ({0} <= {1}) | ({0} != {0}) else {1}",
}
_LEAVES = ("load", "parameter", "constant")


class NotTraced(Exception):
    """The rule has no scalar form here; it runs on arrays."""


class Law:
    """Rules for accelerations and drags as one compiled function.

    :ivar factors, parameters: factors of the rows of the function's matrix, two rows for a vector, and its parameters.
    :ivar function: of the type `LAW`. It writes the rows of acceleration and drag of the entities that rules concern.
    """

    def __init__(self, rules: Sequence[CompiledRule], first: Iterable[type[Factor]]) -> None:
        """:param first: factors of the first rows. :raises NotTraced: a rule has no scalar form."""
        self.factors: list[type[Factor]] = []
        self.parameters: list[type[Parameter]] = []
        self._rows: dict[type[Factor], int] = {}
        for factor in first:
            self.row(factor)
        self._targets = self._sources = 0
        body = [line for rule in rules for line in self._rule(rule.rule)]
        head = [*_HEAD, f"    stride = {_LANES * self._targets}"]
        tail: list[str] = []
        for factor, total, concerned, width in ((Acceleration, 0, 3, 2), (Drag, 2, 4, 1)):
            if factor.root in self._rows:
                tail += ["    for i in range(n):", f"        if room[{concerned}, i] != 0.0:"]
                tail += [f"            f[{self.row(factor) + k}, i] = room[{total + k}, i]" for k in range(width)]
        self.source = "\n".join([*head, *body, *tail]) + "\n"
        self.function = compiled(self.source)

    def room(self, entities: int) -> tuple[int, int]:
        """Return the number of rows that sums and sources need, and the number of values that targets need."""
        return _SOURCES + self._sources, -(-entities // _LANES) * _LANES * self._targets

    def row(self, factor: type[Factor]) -> int:
        """Return the first row of a factor; a new factor gets the next rows."""
        root = factor.root
        if root not in self._rows:
            self._rows[root] = sum(WIDTHS[each.base] for each in self.factors)
            self.factors.append(root)
        return self._rows[root]

    def _rule(self, rule: Rule) -> list[str]:
        """Return the source lines of the loops of a rule."""
        if not all(kind is Aggregate and factor.root in (Acceleration, Drag) for kind, factor in rule.returns):
            raise NotTraced(f"{rule.name} changes more than accelerations and drags")
        if rule.relation or rule.entity_type or rule.factor_type or len(rule.patterns) > 2:
            raise NotTraced(f"{rule.name} has conditions, or concerns more than two entities")
        code = _Code()
        arguments, targets = self._arguments(rule, code)
        try:
            outputs = listed(rule.function(*arguments), rule)
        except (TypeError, ValueError, AttributeError, InputError) as error:
            raise NotTraced(f"{rule.name}: {error}") from None
        lines: list[str] = []
        for output in outputs:
            if id(output.target) not in targets or not isinstance(output, Aggregate):
                raise NotTraced(f"{rule.name} returns what its hint does not say")
            place, factor = targets[id(output.target)]
            lines += _loops(code, len(rule.patterns), place, factor, output)
        self._targets, self._sources = max(self._targets, code.targets), max(self._sources, code.sources)
        return lines

    def _arguments(self, rule: Rule, code: "_Code") -> tuple[list[Any], dict[int, tuple[int, type[Factor]]]]:
        targets: dict[int, tuple[int, type[Factor]]] = {}

        def symbol(place: int, factor: type[Factor]) -> Any:
            if factor.root.base not in WIDTHS:
                return True
            row = self.row(factor)
            parts = [code.node("load", (row + k, place)) for k in range(WIDTHS[factor.root.base])]
            if factor.root.base == "bool":
                parts = [code.node("!=", (parts[0], code.node("constant", (0.0,))))]
            made = Symbol(code, tuple(parts))
            targets[id(made)] = place, factor.root
            return made

        arguments: list[Any] = []
        bare = iter(rule.patterns[0].factors)
        for argument in rule.arguments:
            if not isinstance(argument, int):
                if argument is Generator:
                    raise NotTraced(f"{rule.name} draws random numbers")
                if argument not in self.parameters:
                    self.parameters.append(argument)
                arguments.append(Symbol(code, (code.node("parameter", (self.parameters.index(argument),)),)))
            elif rule.bare:
                arguments.append(symbol(0, next(bare)))
            elif rule.patterns[argument].entity_type is not None:
                raise NotTraced(f"{rule.name} names an entity type")
            else:
                arguments.append(tuple(symbol(argument, each) for each in rule.patterns[argument].factors))
        return arguments, targets


class _Code:
    """Scalar expressions, each stored once; `targets` and `sources` are the rows that loops over pairs need."""

    def __init__(self) -> None:
        self.targets = self.sources = 0
        self.nodes: list[tuple[str, tuple[Any, ...]]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._places: dict[int, set[int]] = {}  # a cache, since an expression has many paths to its parts

    def node(self, kind: str, parts: tuple[Any, ...]) -> int:
        """Return the index of an expression, adding it if it is new."""
        key = kind, repr(parts)
        if key not in self._numbers:
            self._numbers[key] = len(self.nodes)
            self.nodes.append((kind, parts))
        return self._numbers[key]

    def places(self, wanted: int) -> set[int]:
        """Return the patterns of the rule on whose entities an expression depends."""
        if wanted not in self._places:
            kind, parts = self.nodes[wanted]
            inner = () if kind in _LEAVES else parts
            own = {parts[1]} if kind == "load" else set()
            self._places[wanted] = own.union(*(self.places(part) for part in inner))
        return self._places[wanted]

    def within(self, places: set[int], wanted: Sequence[int]) -> list[int]:
        """Return the largest parts of expressions that depend on no other patterns than `places`."""
        found: dict[int, None] = {}
        seen: set[int] = set()

        def look(each: int) -> None:
            kind, parts = self.nodes[each]
            if self.places(each) <= places:
                found[each] = None
            elif each not in seen and kind not in _LEAVES:
                for part in parts:
                    look(part)
            seen.add(each)

        for each in wanted:
            look(each)
        return list(found)

    def conditions(self, wanted: int) -> list[int]:
        """Return the expressions whose conjunction is this expression."""
        kind, parts = self.nodes[wanted]
        return [each for part in parts for each in self.conditions(part)] if kind == "&" else [wanted]

    def is_truth(self, wanted: int) -> bool:
        """Return whether an expression is boolean, not a number."""
        kind, parts = self.nodes[wanted]
        if kind == "where":
            return self.is_truth(parts[1]) and self.is_truth(parts[2])
        return isinstance(parts[0], bool) if kind == "constant" else kind in _TRUTHS

    @staticmethod
    def conditional(first: list[str], wanted: Sequence[int]) -> str:
        """Return the source of the conjunction of the conditions `first` and these expressions."""
        return " & ".join([*first, *(f"t{each}" for each in wanted)])

    def write(self, wanted: int, done: set[int], indent: str) -> list[str]:
        """Return lines that compute an expression, except parts already in `done`."""
        if wanted in done:
            return []
        done.add(wanted)
        kind, parts = self.nodes[wanted]
        inner = [] if kind in _LEAVES else list(parts)
        lines = [line for part in inner for line in self.write(part, done, indent)]
        t = [f"t{part}" for part in inner]
        match kind:
            case "load":
                text = f"f[{parts[0]}, i{parts[1]}]"
            case "parameter":
                text = f"p[{parts[0]}]"
            case "constant":
                text = repr(parts[0])
            case "where":
                text = f"{t[1]} if {t[0]} else {t[2]}"
            case "not" | "neg":
                text = f"not {t[0]}" if kind == "not" else f"-{t[0]}"
            case "maximum" | "minimum":
                text = _EXTREMES[kind].format(*t)
            case _:
                text = f"np.{kind}({', '.join(t)})" if kind in _CALLS else f"{t[0]} {kind} {t[1]}"
        return [*lines, f"{indent}t{wanted} = {text}"]


class Symbol(NDArrayOperatorsMixin):
    """An expression in place of an array (..., 1) or (..., 2); `parts` holds the indices of its scalar expressions."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, code: _Code, parts: tuple[int, ...]) -> None:
        self._code, self.parts = code, parts

    def __bool__(self) -> bool:
        raise NotTraced("it needs a value, which only arrays have")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotTraced("it needs an array")

    def __getitem__(self, key: Any) -> "Symbol":
        if isinstance(key, tuple) and len(key) == 2 and key[0] is Ellipsis and isinstance(key[1], slice):
            return Symbol(self._code, self.parts[key[1]])
        raise NotTraced(f"the index {key!r}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> "Symbol":
        if method != "__call__" or options:
            raise NotTraced(f"{ufunc.__name__} with options")
        name = ufunc.__name__
        operands = [_symbol(self._code, each) for each in inputs]
        width = max(len(each.parts) for each in operands)
        parts = []
        for k in range(width):
            each = tuple(one.parts[k if len(one.parts) > 1 else 0] for one in operands)
            parts.append(self._ufunc(name, each))
        return Symbol(self._code, tuple(parts))

    def _ufunc(self, name: str, operands: tuple[int, ...]) -> int:
        if name in _OPERATORS:
            return self._code.node(_OPERATORS[name], operands)
        if name in _LOGIC:
            return self._code.node(_LOGIC[name], operands)
        if name == "square" or (name == "power" and self._code.nodes[operands[1]] == ("constant", (2.0,))):
            return self._code.node("*", (operands[0], operands[0]))
        if name in ("negative", "invert", "logical_not"):
            return self._code.node("neg" if name == "negative" else "not", operands)
        if name in _CALLS or name in _EXTREMES:
            return self._code.node(name, operands)
        raise NotTraced(f"the function {name}")

    def __array_function__(self, function: Any, _types: Any, given: tuple[Any, ...], options: Any) -> "Symbol":
        if function is np.where and len(given) == 3 and not options:
            where, one, other = (_symbol(self._code, each) for each in given)
            width = max(len(where.parts), len(one.parts), len(other.parts))
            chosen = [
                [each.parts[k if len(each.parts) > 1 else 0] for each in (where, one, other)] for k in range(width)
            ]
            return Symbol(self._code, tuple(self._code.node("where", tuple(each)) for each in chosen))
        if function is np.concatenate and options == {"axis": -1}:
            joined = [part for each in given[0] for part in _symbol(self._code, each).parts]
            return Symbol(self._code, tuple(joined))
        raise NotTraced(f"the function {function.__name__}")


def _symbol(code: _Code, value: Any) -> Symbol:
    if isinstance(value, Symbol):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "bif" or array.ndim > 1 or array.size not in (1, 2):
        raise NotTraced(f"the constant {value!r}")
    plain = [bool(each) if array.dtype.kind == "b" else float(each) for each in array.ravel()]
    return Symbol(code, tuple(code.node("constant", (each,)) for each in plain))


def _loops(code: _Code, patterns: int, place: int, factor: type[Factor], output: Any) -> list[str]:
    """Return loops that sum an output of a rule: for each entity whose factor changes, over the others in order."""
    first, concerned = (2, 4) if factor is Drag else (0, 3)
    value = _symbol(code, output.value).parts
    width = 1 if factor is Drag else 2
    if len(value) == 1:
        value = value * width
    conditions = [] if output.where is None else code.conditions(*_symbol(code, output.where).parts)
    alone = [each for each in conditions if code.places(each) <= {place}]
    i = f"i{place}"
    if patterns == 2:
        sums = [first + k for k in range(width)]
        return [f"    room[{concerned}, :n] += present * (among > 1)", *_pairs(code, place, value, conditions, sums)]
    done: set[int] = set()
    lines = [f"    for {i} in range(n):", f"        if not present[{i}]:", "            continue"]
    lines += [f"        room[{concerned}, {i}] = 1.0"]
    lines += [line for each in alone for line in code.write(each, done, "        ")]
    lines += [f"        if {code.conditional([], alone)}:"] if alone else []
    indent = "            " if alone else "        "
    lines += [line for part in value for line in code.write(part, done, indent)]
    return [*lines, *(f"{indent}room[{first + k}, {i}] += t{part}" for k, part in enumerate(value))]


def _pairs(code: _Code, place: int, value: Sequence[int], conditions: Sequence[int], sums: Sequence[int]) -> list[str]:
    """Return loops over the sources in order, with inner loops over the targets, eight at a time without branches, so
    that they vectorise. Entities that a condition on them alone excludes are skipped; expressions that depend on only
    one of the two entities are computed once per entity.

    :param value, sums: the expressions, and the rows of the buffer to which they are added.
    """
    constant = code.within(set(), (*conditions, *value))
    paired = [each for each in conditions if len(code.places(each)) > 1]
    done: set[int] = set()
    lines = [line for each in constant for line in code.write(each, done, "    ")]
    kept: dict[int, list[int]] = {}
    for which, count in ((place, "targets"), (1 - place, "sources")):
        own = [each for each in conditions if code.places(each) <= {which}]
        kept[which] = [each for each in code.within({which}, (*paired, *value)) if each not in constant]
        here, indent = set(done), "        "
        lines += [f"    {count} = 0", f"    for i{which} in range(n):"]
        lines += [line for each in own for line in code.write(each, here, indent)]
        lines += [f"{indent}if not ({code.conditional([f'present[i{which}]'], own)}):", f"{indent}    continue"]
        lines += [line for each in kept[which] for line in code.write(each, here, indent)]
        if which == place:
            lines += [f"{indent}at = targets // {_LANES} * stride + targets % {_LANES}"]
            lines += [f"{indent}lanes[at] = i{which}"]
            lines += [f"{indent}lanes[at + {_LANES * (1 + k)}] = 0.0" for k in range(len(sums))]
            rows = [f"lanes[at + {_LANES * (1 + len(sums) + k)}]" for k in range(len(kept[which]))]
        else:
            lines += [f"{indent}room[{_SOURCES}, sources] = i{which}"]
            rows = [f"room[{_SOURCES + 1 + k}, sources]" for k in range(len(kept[which]))]
        lines += [f"{indent}{row} = t{each}" for row, each in zip(rows, kept[which], strict=True)]
        lines += [f"{indent}{count} += 1"]

    def again(each: int, row: str) -> str:
        return f"t{each} = {row}{' != 0.0' if code.is_truth(each) else ''}"

    lines += [f"    padded = (targets + {_EIGHT - 1}) // {_EIGHT} * {_EIGHT}"]
    lines += ["    for source in range(sources if targets else 0):", f"        other = room[{_SOURCES}, source]"]
    for k, each in enumerate(kept[1 - place]):
        lines += [f"        {again(each, f'room[{_SOURCES + 1 + k}, source]')}"]
    # Unsigned indices need no check for negative values, which would prevent vectorisation.
    lines += [f"        for some in range(0, padded, {_LANES}):"]
    lines += [f"            at = np.uint64(some // {_LANES} * stride)"]
    lines += [f"            for lane in range(np.uint64(min(padded - some, {_LANES}))):"]
    indent = " " * 16

    def lane_row(k: int) -> str:
        return f"lanes[at + np.uint64({_LANES * k}) + lane]"

    for k, each in enumerate(kept[place]):
        lines += [f"{indent}{again(each, lane_row(1 + len(sums) + k))}"]
    done |= {*kept[place], *kept[1 - place]}
    lines += [line for part in (*paired, *value) for line in code.write(part, done, indent)]
    lines += [f"{indent}acts = {code.conditional([f'({lane_row(0)} != other)'], paired)}"]
    lines += [f"{indent}{lane_row(1 + k)} += t{part} if acts else 0.0" for k, part in enumerate(value)]
    lines += ["    for target in range(targets):", f"        at = target // {_LANES} * stride + target % {_LANES}"]
    for k, row in enumerate(sums):
        lines += [f"        room[{row}, int(lanes[at])] += lanes[at + {_LANES * (1 + k)}]"]
    code.sources = max(code.sources, 1 + len(kept[1 - place]))
    code.targets = max(code.targets, 1 + len(sums) + len(kept[place]))
    return lines


#: Number of buffer rows before the sources: sums of accelerations and drags, and the entities that rules concern.
_SOURCES = 5
_HEAD = [
    "import numpy as np",
    "",
    "",
    "def law(n, present, f, p, room, lanes):",
    f"    room[:{_SOURCES}] = 0.0",
    "    among = 0",
    "    for i in range(n):",
    "        among += present[i]",
]


@lru_cache(maxsize=64)
def compiled(source: str) -> Callable[..., None]:
    """Compile the function of a source. Numba caches it for later processes if the folder is writable."""
    name = f"law_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    path = Path(__file__).parent / "__pycache__" / f"{name}.law"
    kept = True
    try:
        if not path.is_file():
            write_text(path, source)
    except (InputError, OSError):
        kept = False
    # Code in numba's cache refers to its module by name, which therefore must exist.
    module = sys.modules[f"{__package__}.{name}"] = ModuleType(f"{__package__}.{name}")
    exec(compile(source, str(path) if kept else f"<{name}>", "exec"), module.__dict__)
    return njit(LAW, cache=kept, nogil=True, error_model="numpy")(module.law)


#: Factors of a scene's matrix that the loop itself reads and changes -> value if a scene lacks the factor.
_ROWS: dict[type[Factor], float] = {
    Position: 0.0, Velocity: 0.0, Acceleration: 0.0, Drag: 0.0, StoredEnergy: 0.0, Alive: 1.0, Done: 0.0, Mobile: 1.0,
    Mass: 1.0, Size: 0.0, InfiniteEnergy: 0.0,
}  # fmt: skip
_PLACE, _V, _A, _DRAG, _ENERGY, _ALIVE, _DONE, _MOBILE, _MASS, _SIZE, _LASTS = 0, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13
_CHANGED = (Position, Velocity, Acceleration, Drag, StoredEnergy)
_PARAMETERS = (Framerate, MinVelocity, MaxVelocity, WallDamping, Restitution)
_OWN = len(_PARAMETERS)
#: Minimal number of scenes for several threads.
_SHARED = 16


class CompiledRun:
    """The loop for the scenes of a state."""

    def __init__(self, state: State, rules: Sequence[CompiledRule], blocks: np.ndarray) -> None:
        """:param rules: all rules that match an entity. :param blocks: slots of inner walls.
        :raises NotTraced: rules that cannot be compiled, or a rule for only some of the discs.
        """
        self._state, self._blocks = state, blocks
        self._discs = len(state.layout.owners([Position, Velocity]))
        own = [FIXED_RULES["move"], FIXED_RULES["accelerate"]]
        if not all(any(each.rule is one for each in rules) for one in own):
            raise NotTraced("the rules move and accelerate are part of the loop")
        for each in rules:
            if any(not np.array_equal(slots, np.arange(self._discs)) for slots in each.slots):
                raise NotTraced(f"{each.rule.name} concerns others than all discs")
        self._law = Law([each for each in rules if each.rule not in own], _ROWS)
        self._walls: tuple[int, tuple[np.ndarray, ...]] = (-1, ())

    def __call__(self, steps: np.ndarray, watch: RestWatch, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run like `Simulator.run`; update `time` (B,) in seconds. Raise InputError if a number is not finite."""
        state, batch = self._state, self._state.num_envs
        matrix = np.concatenate([self._column(each) for each in self._law.factors]).transpose(2, 0, 1).copy()
        parameters = np.stack([state.parameters[each] for each in (*_PARAMETERS, *self._law.parameters)], axis=1)
        made, rests = np.zeros(batch, dtype=np.int64), np.zeros(batch, dtype=np.bool_)
        arrays = (
            np.ascontiguousarray(state.present[: self._discs].T), matrix, parameters,
            np.ascontiguousarray(state.walls.T), *self._inner_walls(), steps.astype(np.int64), watch.places, watch.age,
            watch.near, time, made, rests, *self._law.room(self._discs),
        )  # fmt: skip
        kernel, law = _kernel(), self._law.function
        workers = 1 if batch < _SHARED else _threads()
        if workers == 1:
            kernel(law, 0, 1, *arrays)
        else:
            list(_pool().map(lambda worker: kernel(law, worker, workers, *arrays), range(workers)))
        if not np.isfinite(matrix[:, : _V + 2]).all():
            self._write(matrix)
            state.check_finite()
        self._write(matrix)
        return made, rests

    def _column(self, factor: type[Factor]) -> np.ndarray:
        """Return the discs' values of a factor, (d, n, B) float64."""
        column = self._state.columns.get(factor)
        if column is None:
            return np.full((1, self._discs, self._state.num_envs), _ROWS[factor])
        return column[:, : self._discs].astype(np.float64)

    def _write(self, matrix: np.ndarray) -> None:
        for factor in _CHANGED:
            column = self._state.columns.get(factor)
            if column is not None:
                row = self._law.row(factor)
                column[:, : self._discs] = matrix[:, row : row + len(column)].transpose(1, 2, 0)

    def _inner_walls(self) -> tuple[np.ndarray, ...]:
        """Return corners (B, M, V, 2), counts (B, M), radii (B, M), middles and reaches (B, M, 3), and totals (B,)."""
        state = self._state
        if self._walls[0] != state.version:
            batch, most = state.num_envs, len(self._blocks)
            points = np.zeros((batch, most, state.layout.corners, 2))
            numbers, radii = np.zeros((batch, most), dtype=np.int64), np.zeros((batch, most))
            middles, found = np.zeros((batch, most, 3)), np.zeros(batch, dtype=np.int64)
            slots = np.zeros(most, dtype=np.int64)
            for b in range(batch) if most else ():
                found[b] = lay_out(
                    b, self._blocks, state.present, state.columns[Position], state.columns[Size], state.kinds,
                    state.corners, state.corner_counts, state.drawn_size, state.reaches, points[b], numbers[b],
                    radii[b], middles[b], slots,
                )  # fmt: skip
            self._walls = state.version, (points, numbers, radii, middles, found)
        return self._walls[1]


@njit(cache=True, nogil=True)
def _pack(present, f, d, mine, lasts):
    """Pack discs like `geometry.pack`, from the rows of a scene's matrix."""
    count = 0
    for k in range(len(present)):
        if not present[k] or f[_ALIVE, k] == 0.0 or f[_DONE, k] != 0.0:
            continue
        mine[count], lasts[count] = k, f[_LASTS, k] != 0.0
        d[X, count], d[Y, count] = f[_PLACE, k], f[_PLACE + 1, k]
        d[EXTRA_X, count] = d[EXTRA_Y, count] = 0.0
        d[R, count], d[ENERGY, count] = f[_SIZE, k] / 2.0, f[_ENERGY, k]
        moves = f[_MOBILE, k] != 0.0 and f[_MASS, k] > 0.0
        d[INVERSE, count] = 1.0 / f[_MASS, k] if moves else 0.0
        count += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _accelerate(k, f, a, b, framerate):
    """Apply the rule `accelerate`, with the same order of operations: the velocity of disc k under (a, b) and drag."""
    dt = 1.0 / framerate
    vx, vy = f[_V, k], f[_V + 1, k]
    px, py = vx + a * dt, vy + b * dt
    speed = np.sqrt(px * px + py * py)
    kept = max(speed - f[_DRAG, k] * dt, 0.0) / (speed if speed > 0.0 else 1.0)
    f[_V, k] = vx + ((px * kept - vx) * framerate) / framerate
    f[_V + 1, k] = vy + ((py * kept - vy) * framerate) / framerate


@njit(cache=True, nogil=True, inline="always")
def _step(f, parameters, low, high, walls, room, count, d, mine, lasts, free, answered):
    """Make a step of a scene after the law; return whether positions or velocities changed."""
    framerate, slowest, fastest, damping, restitution = (
        parameters[0], parameters[1], parameters[2], parameters[3], parameters[4]
    )  # fmt: skip
    points, numbers, radii, middles, obstacles = walls
    # Add contact forces between touching discs that do not bounce, before friction acts; see `resting.hold`.
    for k in range(count):
        d[VX, k] = f[_V, mine[k]] + f[_A, mine[k]] / framerate
        d[VY, k] = f[_V + 1, mine[k]] + f[_A + 1, mine[k]] / framerate
    time = 1.0 / framerate
    clear = is_clear(count, d, time, low, high, points, numbers, radii, middles, obstacles)
    for k in range(count):
        free[0, k], free[1, k] = d[VX, k], d[VY, k]
    contacts, who, contact = 0, room[-2], room[-1]
    if restitution == 0.0 and not clear:
        contacts = touching(count, d, time, low, high, points, numbers, radii, obstacles, answered, who, contact)
        press(contacts, d, who, contact)
    packed = 0
    for k in range(f.shape[1]):
        a, b = f[_A, k], f[_A + 1, k]
        if packed < count and mine[packed] == k:
            if d[VX, packed] != free[0, packed]:
                a = (d[VX, packed] - f[_V, k]) * framerate
            if d[VY, packed] != free[1, packed]:
                b = (d[VY, packed] - f[_V + 1, k]) * framerate
            packed += 1
        _accelerate(k, f, a, b, framerate)
    changed = False
    for k in range(f.shape[1]):
        speed = np.sqrt(f[_V, k] * f[_V, k] + f[_V + 1, k] * f[_V + 1, k])
        if speed > fastest:
            f[_V, k] *= fastest / speed
            f[_V + 1, k] *= fastest / speed
    for k in range(count):
        d[VX, k], d[VY, k] = f[_V, mine[k]], f[_V + 1, mine[k]]
    if clear:
        for k in range(count):
            moves = np.sqrt(d[VX, k] * d[VX, k] + d[VY, k] * d[VY, k]) >= slowest
            d[X, k] += ((d[VX, k] if moves else 0.0) + 0.0) * time
            d[Y, k] += ((d[VY, k] if moves else 0.0) + 0.0) * time
    else:
        if restitution == 0.0:
            press(contacts, d, who, contact)
            clip_all(count, d, fastest)
        travel(
            count, d, lasts, time, (MAX_IMPACTS + 1) * count, (slowest, fastest, damping, restitution), low, high, True,
            walls, answered, -1, -1, 0.0, 0.0, room,
        )  # fmt: skip
    for k in range(count):
        slot = mine[k]
        changed = changed or d[X, k] != f[_PLACE, slot] or d[Y, k] != f[_PLACE + 1, slot]
        f[_PLACE, slot], f[_PLACE + 1, slot] = d[X, k], d[Y, k]
        f[_V, slot], f[_V + 1, slot], f[_ENERGY, slot] = d[VX, k], d[VY, k], d[ENERGY, k]
    return changed


@njit(cache=True, nogil=True, inline="always")
def _rests(count, f, mine, places, age, near):
    """Return whether, after a step, no disc was elsewhere within the window; see `RestWatch.look`."""
    window = len(places)
    place = age % window
    still = age >= window
    for earlier in range(window):  # the oldest first, the most likely to differ
        w = (place + earlier) % window
        for k in range(count if still else 0):
            dx, dy = f[_PLACE, mine[k]] - places[w, mine[k], 0], f[_PLACE + 1, mine[k]] - places[w, mine[k], 1]
            if dx * dx + dy * dy >= near * near:
                still = False
        if not still:
            break
    for k in range(f.shape[1]):
        places[place, k, 0], places[place, k, 1] = f[_PLACE, k], f[_PLACE + 1, k]
    return still


def _run(
    law, first, stride, present, matrix, parameters, boundaries, points, numbers, radii, middles, obstacles, steps,
    places, age, near, time, made, rests, rows, lanes,
):  # fmt: skip
    """Run the scenes first, first + stride, ...; arrays as in `CompiledRun.__call__`."""
    discs = matrix.shape[2]
    d, free = np.empty((11, discs)), np.empty((2, discs))
    room = traveling_room(discs, points.shape[1])
    mine, lasts = np.empty(discs, dtype=np.int64), np.empty(discs, dtype=np.bool_)
    answered = np.zeros((0, 0), dtype=np.bool_)
    before, sums, side_by_side = np.empty((2, discs)), np.empty((rows, discs)), np.zeros(lanes)
    for b in range(first, len(matrix), stride):
        f, p, here, own = matrix[b], parameters[b], present[b], parameters[b, _OWN:]
        count = _pack(here, f, d, mine, lasts)
        walls = points[b], numbers[b], radii[b], middles[b], obstacles[b]
        while made[b] < steps[b] and not rests[b]:
            before[:] = f[_V : _V + 2]
            law(discs, here, f, own, sums, side_by_side)
            moved = _step(f, p, boundaries[b, 0], boundaries[b, 1], walls, room, count, d, mine, lasts, free, answered)
            made[b] += 1
            age[b] += 1
            time[b] += 1.0 / p[0]
            changed = moved
            for k in range(discs):
                changed = changed or before[0, k] != f[_V, k] or before[1, k] != f[_V + 1, k]
            rests[b] = _rests(count, f, mine, places[b], age[b], near[b]) or not changed
        if rests[b]:
            f[_V : _V + 2] = 0.0


@cache
def _kernel() -> Any:
    """Return `_run`, compiled at first use; the law is an argument, so that a single loop serves all rules."""
    real, whole, truth = float64[:, ::1], int64[::1], boolean[::1]
    return njit(
        void(
            types.FunctionType(LAW), int64, int64, boolean[:, ::1], float64[:, :, ::1], real, real,
            float64[:, :, :, ::1], int64[:, ::1], real, float64[:, :, ::1], whole, whole, float64[:, :, :, ::1], whole,
            float64[::1], float64[::1], whole, truth, int64, int64,
        ),
        cache=True,
        nogil=True,
    )(_run)  # fmt: skip


@cache
def _threads() -> int:
    return min(os.cpu_count() or 1, 16)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="physics")
