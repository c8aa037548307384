"""Rules: functions whose type hints say which entities they concern, and which factors they change (SEGAR, B.3).

    @rule
    def blow(one: Tuple[Velocity, Sail], wind: Wind) -> Differential[Velocity]:
        v, sail = one
        return Differential[Velocity](v, sail * wind)

A parameter is `Tuple[F1, F2, ...]`: an entity with these factors; an entity type: an entity of this type, whose
factors are `one[F1]`; factors alone: all of one entity; or a `Parameter` of the scene. A rule is called once for a
whole batch: a value is an array (B, 1..., n, 1..., d), with an axis for each entity that the hints name, in their
order, and d = 2 for a vector, 1 for anything else. What a rule returns says by its first argument, one of these
arrays, what changes. A rule that asks `if` of a value is called for each row instead, which is slower.

A rule with a `Normal` or a `Wall` among its hints answers contacts, in place of the built-in bounce, of two entities or
of one and a wall. It is applied once to each contact that fits its hints; the first of two that fit both ways is the
one with the lower Order, or the earlier one in the scene. What still approaches after that stops doing so.

    @rule
    def stick(
        one: Tuple[Mass, Velocity], two: Tuple[Mass, Velocity], n: Normal
    ) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
        (m1, v1), (m2, v2) = one, two
        v = (m1 * v1 + m2 * v2) / (m1 + m2)
        return SetFactor(v1, v), SetFactor(v2, v)
"""

import importlib
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import (  # noqa: UP035  (Tuple as in the paper's hints)
    Any,
    Generic,
    NamedTuple,
    Protocol,
    Tuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np

from gumption.data import InputError
from gumption.data.settings import shown

from .conditions import Contains, IsOn, Relation
from .entities import Entity, Object, Thing, Tile
from .factors import (
    Acceleration,
    Alive,
    Charge,
    Consumes,
    Done,
    Drag,
    Factor,
    Framerate,
    Friction,
    Gravity,
    Heat,
    Magnetism,
    Mass,
    MinMass,
    MinVelocity,
    Mobile,
    Order,
    Parameter,
    Position,
    Velocity,
    Visible,
    dot,
    norm,
    tangent,
)

F = TypeVar("F", bound=Factor)


class Output(Generic[F]):
    """What a rule wants of a factor.

    :ivar target: the array that the rule was given of the factor.
    :ivar value: what it wants, of a shape that fits the target's and those of the other entities.
    :ivar where: for which rows; None for all.
    """

    __slots__ = ("__orig_class__", "target", "value", "where")

    def __init__(self, target: Any, value: Any, where: Any = None) -> None:
        self.target, self.value, self.where = target, value, where


class Aggregate(Output[F]):
    """All values of this kind are added, and the sum takes the place of the old value."""


class Differential(Output[F]):
    """All values of this kind are added, and the sum times dt is added to the old value."""


class SetFactor(Output[F]):
    """The value takes the place of the old one, whatever others want; two that differ are a conflict."""


class Normal:
    """As a hint: the unit vector from the first entity of a contact to the second, or to the wall."""


class Wall:
    """As a hint: the walls of the arena, as the two numbers at which they stand."""


@dataclass(frozen=True)
class Pattern:
    """An entity that a rule concerns: with these factors, or of this type."""

    factors: tuple[type[Factor], ...] = ()
    entity_type: type[Entity] | None = None


@dataclass(frozen=True)
class Rule:
    """A rule and what its hints say.

    :ivar patterns: the entities, in the order of the hints.
    :ivar arguments: for each argument the number of its pattern, its parameter, Normal or Wall.
    :ivar bare: the factors come as arguments of their own, all from one entity.
    :ivar returns: the kinds and factors of its outputs.
    :ivar relation: must hold between the first entity and the second.
    :ivar entity_type: one of the entities must be of this type.
    :ivar factor_type: one of the entities must have this factor.
    """

    function: Callable[..., Any]
    patterns: tuple[Pattern, ...]
    arguments: tuple[int | type, ...]
    bare: bool
    returns: tuple[tuple[type[Output[Any]], type[Factor]], ...]
    relation: Relation | None = None
    entity_type: type[Entity] | None = None
    factor_type: type[Factor] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A rule that a module has under the name of its function is pickled as that name, like a function."""
        module, name = self.function.__module__, self.function.__qualname__
        if getattr(sys.modules.get(module), name, None) is self:
            return _named, (module, name)
        return Rule, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def name(self) -> str:
        """The function's."""
        return self.function.__name__

    @property
    def at_contacts(self) -> bool:
        """It answers contacts."""
        return Normal in self.arguments or Wall in self.arguments

    @property
    def changes(self) -> frozenset[type[Factor]]:
        """The factors that it may change; for a subclass the factor that it stands for."""
        return frozenset(factor.root for _, factor in self.returns)

    @property
    def sets(self) -> frozenset[type[Factor]]:
        """Those of `changes` that it may set."""
        return frozenset(factor.root for kind, factor in self.returns if kind is SetFactor)

    def __call__(self, *args: Any) -> Any:
        """What the function says."""
        return self.function(*args)

    def priority(self, deep: bool) -> int:
        """How specific its conditions are: what wins among settings of one factor.

        :param deep: each level of entity types counts; else, as in SEGAR's code, all below Object and Tile are equal,
            and a rule with several outputs is INCOMPARABLE.
        """
        if not deep and len(self.returns) > 1:
            return INCOMPARABLE
        parts = [_entity_priority(self.entity_type, deep), 3 if self.factor_type else 0]
        return max(*parts, self.relation.priority if self.relation else 1)


def _named(module: str, name: str) -> Rule:
    return getattr(importlib.import_module(module), name)


#: The priority of a rule that conflicts with any other that sets another value.
INCOMPARABLE = 99
#: A person's rules by name; a later definition of the same name replaces an earlier one.
RULES: dict[str, Rule] = {}


@overload
def rule(function: Callable[..., Any]) -> Rule: ...
@overload
def rule(
    *,
    relation: Relation | None = None,
    entity_type: type[Entity] | None = None,
    factor_type: type[Factor] | None = None,
) -> Callable[[Callable[..., Any]], Rule]: ...
def rule(
    function: Callable[..., Any] | None = None,
    *,
    relation: Relation | None = None,
    entity_type: type[Entity] | None = None,
    factor_type: type[Factor] | None = None,
) -> Any:
    """A function as a rule, known by its name in scenes.

    :raises InputError: hints that are missing or say nothing that a rule can be; the message names the rule.
    """

    def make(function: Callable[..., Any]) -> Rule:
        made = read_rule(function, relation, entity_type, factor_type)
        RULES[made.name] = made
        return made

    return make if function is None else make(function)


def read_rule(
    function: Callable[..., Any],
    relation: Relation | None = None,
    entity_type: type[Entity] | None = None,
    factor_type: type[Factor] | None = None,
) -> Rule:
    """The rule that a function's hints describe; see `rule`."""
    name = getattr(function, "__name__", repr(function))
    for what, given, fits in (
        ("relation", relation, isinstance(relation, Relation)),
        ("entity_type", entity_type, _is(entity_type, Entity)),
        ("factor_type", factor_type, _is(factor_type, Factor)),
    ):
        if given is not None and not fits:
            raise InputError(f"the rule {name}: {what} is {shown(given)}, which is none")
    if not inspect.isfunction(function):
        raise InputError(f"the rule {name} is no function")
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError) as error:
        raise InputError(f"the rule {name} has a hint that cannot be read: {error}") from None
    patterns: list[Pattern] = []
    arguments: list[int | type] = []
    bare: list[type[Factor]] = []
    for parameter in inspect.signature(function).parameters:
        if parameter not in hints:
            raise InputError(
                f"the rule {name} has no hint for {parameter!r}: Tuple[...] of factors, an entity type, ..."
            )
        hint = hints[parameter]
        if get_origin(hint) is tuple:
            factors = get_args(hint)
            if not factors or not all(_is(each, Factor) and not _is(each, Parameter) for each in factors):
                raise InputError(f"the rule {name}: the hint of {parameter!r} is a tuple of factors, not {hint}")
            arguments.append(len(patterns))
            patterns.append(Pattern(factors))
        elif _is(hint, Entity):
            arguments.append(len(patterns))
            patterns.append(Pattern(entity_type=hint))
        elif _is(hint, Parameter) or hint in (Normal, Wall):
            arguments.append(hint)
        elif _is(hint, Factor):
            arguments.append(0)
            bare.append(hint)
        else:
            raise InputError(
                f"the rule {name}: the hint of {parameter!r} is {hint}, which is no factor and no entity type"
            )
    if bare and patterns:
        raise InputError(f"the rule {name} mixes factors alone with Tuple[...] or entity types")
    if bare:
        patterns = [Pattern(tuple(bare))]
    if not patterns:
        raise InputError(f"the rule {name} concerns no entity: none of its hints is a factor or an entity type")
    if relation is not None and len(patterns) != 2 and not relation.unary:
        raise InputError(
            f"the rule {name} has the relation {relation}, and concerns {len(patterns)} entities instead of 2"
        )
    returns = _returns(name, hints.get("return"), "return" in hints)
    made = Rule(function, tuple(patterns), tuple(arguments), bool(bare), returns, relation, entity_type, factor_type)
    if made.at_contacts:
        _check_contact(made)
    for kind, factor in returns:
        if kind is not SetFactor and factor.base in ("int", "bool"):
            raise InputError(
                f"the rule {name} returns {kind.__name__}[{factor.__name__}], a sum of numbers with fractions, and "
                f"{factor.__name__} has the base {factor.base!r}: return SetFactor[{factor.__name__}]"
            )
        if not any(
            each.entity_type or any(issubclass(mine, factor.root) for mine in each.factors) for each in patterns
        ):
            raise InputError(f"the rule {name} returns {factor.__name__}, which none of its arguments has")
    return made


def _check_contact(made: Rule) -> None:
    hint, wanted, told = (
        ("Wall", 1, "one entity and a wall") if Wall in made.arguments else ("Normal", 2, "two entities")
    )
    if len(made.patterns) != wanted:
        raise InputError(
            f"the rule {made.name} concerns {len(made.patterns)} entities; a rule with a {hint} among its hints "
            f"answers contacts of {told}"
        )
    if any(kind is Differential for kind, _ in made.returns):
        raise InputError(
            f"the rule {made.name} returns a Differential, and a contact takes no time: return SetFactor or Aggregate"
        )


def _returns(name: str, hint: Any, given: bool) -> tuple[tuple[type[Output[Any]], type[Factor]], ...]:
    parts = get_args(hint) if get_origin(hint) in (tuple, Union, types.UnionType) else (hint,)
    found = []
    for part in parts:
        if part is type(None) and len(parts) > 1:
            continue
        kind, args = get_origin(part), get_args(part)
        if get_origin(hint) in (Union, types.UnionType) and kind is tuple:
            found.extend(_returns(name, part, given))
            continue
        if not (_is(kind, Output) and len(args) == 1 and _is(args[0], Factor) and not _is(args[0], Parameter)):
            shown = "nothing" if not given else hint
            raise InputError(
                f"the rule {name} returns {shown}; its hint is Aggregate[F], Differential[F] or SetFactor[F] of a "
                "factor, or a Tuple of these"
            )
        found.append((kind, args[0]))
    kinds: dict[type[Factor], Any] = {}
    for kind, factor in found:
        if kinds.setdefault(factor.root, kind) is not kind:
            raise InputError(f"the rule {name} returns {factor.__name__} in two ways that conflict: choose one")
    return tuple(found)


def _entity_priority(entity_type: type[Entity] | None, deep: bool) -> int:
    if entity_type is None or not issubclass(entity_type, Thing):
        return 0
    if deep:
        return 4 + len(entity_type.__mro__) - len(Thing.__mro__)
    return 4 if entity_type is Thing else 5 if entity_type in (Object, Tile) else 6


def _is(hint: Any, kind: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, kind)


# ---- SEGAR's rules, in the mended form of the preset "fixed" (see the errata on SEGAR's page for each difference).

#: Heat burns 10 % of the mass in this time, in seconds: a step of SEGAR.
BURN_TIME = 0.01


def move(x: Position, v: Velocity, slowest: MinVelocity) -> Differential[Position]:
    """dx = v dt; less than MinVelocity is no motion."""
    return Differential(x, np.where(norm(v) < slowest, 0.0, v))


def lorentz_law(
    source: Tuple[Position, Velocity, Charge, Magnetism, Alive, Done],  # noqa: UP006
    target: Tuple[Position, Velocity, Charge, Mass, Acceleration],  # noqa: UP006
) -> Aggregate[Acceleration]:
    """a = (q1 q2 n + q2 b1 t(w)) / (d^2 m2): n the unit vector from source to target, w their relative velocity, t(w)
    that vector turned by 90 degrees. What is dead or done has no field.
    """
    x1, v1, q1, b1, alive, done = source
    x2, v2, q2, m2, a = target
    apart = x2 - x1
    square = dot(apart, apart)
    near = np.where(square > 0, square, 1.0)
    share = q2 / (near * m2)
    acceleration = share * q1 / np.sqrt(near) * apart + share * b1 * tangent(v2 - v1)
    return Aggregate(a, acceleration, where=(alive & ~done) & (m2 > 0) & (square > 0))


def apply_friction(
    thing: Tuple[Velocity, Drag],  # noqa: UP006
    surface: Tuple[Friction],  # noqa: UP006
    g: Gravity,
) -> Aggregate[Drag]:
    """A surface decelerates by mu g, whatever the mass (Coulomb's law)."""
    _, drag = thing
    (mu,) = surface
    return Aggregate(drag, mu * g)


def apply_burn(
    thing: Tuple[Mass, Mobile],  # noqa: UP006
    tile: Tuple[Heat],  # noqa: UP006
    least: MinMass,
    framerate: Framerate,
) -> SetFactor[Mass]:
    """The mass falls by the share 0.1 heat in each hundredth of a second, until it is less than MinMass."""
    m, mobile = thing
    (heat,) = tile
    left = np.maximum(1.0 - 0.1 * heat, 0.0) ** (1.0 / (framerate * BURN_TIME))
    return SetFactor(m, m * left, where=mobile & (m >= least) & (heat != 0))


def stop_condition(
    mobile: Mobile, alive: Alive, done: Done, v: Velocity, a: Acceleration
) -> Tuple[SetFactor[Velocity], SetFactor[Acceleration]]:  # noqa: UP006
    """What cannot be moved, is dead or done rests."""
    rests = ~(mobile & alive) | done
    return SetFactor(v, 0.0, rests), SetFactor(a, 0.0, rests)


def kill_condition(
    m: Mass, v: Velocity, visible: Visible, a: Acceleration, alive: Alive, least: MinMass
) -> Tuple[  # noqa: UP006
    SetFactor[Mass], SetFactor[Velocity], SetFactor[Acceleration], SetFactor[Alive], SetFactor[Visible]
]:
    """What has less than MinMass is destroyed."""
    dies = (m < least) & (alive | (dot(v, v) > 0))
    return (
        SetFactor(m, 0.0, dies),
        SetFactor(v, 0.0, dies),
        SetFactor(a, 0.0, dies),
        SetFactor(alive, False, dies),
        SetFactor(visible, False, dies),
    )


def consume(
    thing: Tuple[Mobile, Done, Visible],  # noqa: UP006
    hole: Tuple[Consumes],  # noqa: UP006
) -> Tuple[SetFactor[Done], SetFactor[Visible], SetFactor[Mobile]]:  # noqa: UP006
    """What lies in a hole as a whole falls in."""
    mobile, done, visible = thing
    return SetFactor(done, True, mobile), SetFactor(visible, False, mobile), SetFactor(mobile, False, mobile)


def accelerate(v: Velocity, a: Acceleration, drag: Drag, framerate: Framerate) -> Differential[Velocity]:
    """v changes by a dt, then friction takes up to drag dt of the speed: it stops things, and turns none around."""
    dt = 1.0 / framerate
    pushed = v + a * dt
    speed = norm(pushed)
    kept = np.maximum(speed - drag * dt, 0.0) / np.where(speed > 0, speed, 1.0)
    return Differential(v, (pushed * kept - v) * framerate)


_RELATIONS = {"apply_friction": IsOn(), "apply_burn": IsOn(), "consume": Contains()}


def built_in(*functions: Callable[..., Any]) -> dict[str, Rule]:
    """SEGAR's rules by their names, with the relations that these rules have."""
    return {one.__name__: read_rule(one, _RELATIONS.get(one.__name__)) for one in functions}


FIXED_RULES: dict[str, Rule] = built_in(
    move, lorentz_law, apply_friction, apply_burn, stop_condition, kill_condition, consume, accelerate
)


# ---- The order in which a step applies rules: those of other factors, those of velocities, then motion (SEGAR, B.3).


class Compiled(Protocol):
    """A rule that is compiled for a scene."""

    @property
    def rule(self) -> Rule:
        """What was compiled."""
        ...


R = TypeVar("R", bound=Compiled)


class Schedule(NamedTuple, Generic[R]):
    """The compiled rules of a simulator by when they are applied.

    :ivar rounds: the rules of each round, and the factors that they may change in it.
    :ivar drifts: what changes positions beside the built-in rule `move`.
    :ivar moves: whether `move` is among the rules. :ivar reorders: whether one changes Order.
    """

    rounds: tuple[tuple[list[R], frozenset[type[Factor]]], ...]
    drifts: list[R]
    moves: bool
    reorders: bool


def schedule(rules: Sequence[R], numeric: frozenset[type[Factor]], move: Rule) -> Schedule[R]:
    """:param rules: those that reach an entity. :param numeric: the factors that are columns of numbers."""
    wanted = numeric - {Position, Velocity}, frozenset([Velocity])
    return Schedule(
        tuple(([each for each in rules if each.rule.changes & factors], factors) for factors in wanted),
        [each for each in rules if Position in each.rule.changes and each.rule is not move],
        any(each.rule is move for each in rules),
        any(Order in each.rule.changes for each in rules),
    )
