"""Rules: functions whose type hints say which entities they concern, and which factors they change (SEGAR, B.3).

    @rule
    def blow(one: Tuple[Velocity, Sail], wind: Wind) -> Differential[Velocity]:
        v, sail = one
        return Differential[Velocity](v, sail * wind)

The hint of an argument is `Tuple[F1, F2, ...]`: an entity with these factors; an entity type: an entity of this type,
whose factors are `one[F1]`; factors alone: all of one entity; a `Parameter` of the scene; or `Generator`, which draws
numbers that depend on the scene's seed alone. A rule is called once for a whole batch: a value is an array (B, 1..., n,
1..., d), with an axis for each entity that the hints name, in their order, and d = 2 for a vector, 1 for anything else.
The first argument of an output is the array of the factor that changes. A rule that uses `if` on a value is called once
for each row instead, which is slower.

A rule with a `Normal` or a `Wall` among its hints answers contacts, in place of the built-in bounce, of two entities or
of one and a wall. It is applied once to each contact that fits its hints; where both orders fit, the first entity is
the one with the lower Order, or the earlier one in the scene. Velocities that still approach then are taken away.

    @rule
    def stick(
        one: Tuple[Mass, Velocity], two: Tuple[Mass, Velocity], n: Normal
    ) -> Tuple[SetFactor[Velocity], SetFactor[Velocity]]:
        (m1, v1), (m2, v2) = one, two
        v = (m1 * v1 + m2 * v2) / (m1 + m2)
        return SetFactor(v1, v), SetFactor(v2, v)
"""

# ruff: noqa: UP006, UP035  (Tuple, as in the paper's hints)

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, Tuple, TypeVar, Union, get_args, get_origin, get_type_hints, overload

import numpy as np

from gumption.data import InputError
from gumption.data.modules import of_module
from gumption.data.settings import shown

from .conditions import Contains, IsOn, Relation
from .draws import Generator
from .entities import Entity, type_priority
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
    Parameter,
    Position,
    Velocity,
    Visible,
    dot,
    norm,
    tangent,
)
from .scene import no_such

F = TypeVar("F", bound=Factor)


class Output(Generic[F]):
    """A change of a factor.

    :ivar target: the argument of the rule that is the factor's array.
    :ivar value: of a shape that fits the target's and those of the other entities.
    :ivar where: the rows that change; None for all.
    """

    __slots__ = ("__orig_class__", "target", "value", "where")

    def __init__(self, target: Any, value: Any, where: Any = None) -> None:
        self.target, self.value, self.where = target, value, where


class Aggregate(Output[F]):
    """All values of this kind are added, and the sum replaces the old value."""


class Differential(Output[F]):
    """All values of this kind are added, and the sum times dt is added to the old value."""


class SetFactor(Output[F]):
    """The value replaces the old one, whatever other rules return; two that differ are a conflict."""


class Normal:
    """As a hint: the unit vector from the first entity of a contact to the second, or to the wall."""


class Wall:
    """As a hint: the walls of the arena, as the two numbers at which they stand."""


@dataclass(frozen=True)
class Pattern:
    """An entity that a rule concerns: one with these factors, or of this type."""

    factors: tuple[type[Factor], ...] = ()
    entity_type: type[Entity] | None = None


@dataclass(frozen=True)
class Rule:
    """A function with what its hints say.

    :ivar patterns: the entities, in the order of the hints.
    :ivar arguments: for each argument the number of its pattern, its parameter, Normal, Wall or Generator.
    :ivar bare: each factor is an argument, and all are of one entity.
    :ivar returns: the kinds and factors of its outputs.
    :ivar relation: must hold between the first entity and the second.
    :ivar entity_type, factor_type: one of the entities must be of this type, or have this factor.
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
        """A rule that its module has under the function's name is pickled by that name, like a function."""
        module, name = self.function.__module__, self.function.__qualname__
        if getattr(sys.modules.get(module), name, None) is self:
            return known_rule, (f"{module}:{name}",)
        return Rule, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def at_contacts(self) -> bool:
        """Whether it answers contacts."""
        return Normal in self.arguments or Wall in self.arguments

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers."""
        return Generator in self.arguments

    @property
    def changes(self) -> frozenset[type[Factor]]:
        """The root factors that it may change."""
        return frozenset(factor.root for _, factor in self.returns)

    @property
    def sets(self) -> frozenset[type[Factor]]:
        """The root factors that it may set."""
        return frozenset(factor.root for kind, factor in self.returns if kind is SetFactor)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def priority(self, deep: bool) -> int:
        """How specific its conditions are; of several settings of one factor the highest priority wins.

        :param deep: see `type_priority`; without it a rule with several outputs is INCOMPARABLE.
        """
        if not deep and len(self.returns) > 1:
            return INCOMPARABLE
        parts = [type_priority(self.entity_type, deep), 3 if self.factor_type else 0]
        return max(*parts, self.relation.priority if self.relation else 1)


#: The priority of a rule that conflicts with any other that sets another value.
INCOMPARABLE = 99
#: Rules by name that are not built in; a later definition of the same name replaces an earlier one.
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

    :raises InputError: hints that are missing, or that no rule can have; the message names the rule.
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
            raise InputError(f"the rule {name}: {what} is {shown(given)}, which is no {what.replace('_', ' ')}")
    if not inspect.isfunction(function):
        raise InputError(f"the rule {name} is no function")
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError) as error:
        raise InputError(f"the rule {name} has a hint that cannot be read: {error}") from None
    patterns, arguments, bare = _arguments(name, inspect.signature(function).parameters, hints)
    if relation is not None and len(patterns) != 2 and not relation.unary:
        raise InputError(
            f"the rule {name} has the relation {relation}, and concerns {len(patterns)} entities instead of 2"
        )
    returns = _returns(name, hints.get("return"), "return" in hints)
    made = Rule(function, tuple(patterns), tuple(arguments), bare, returns, relation, entity_type, factor_type)
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


def _arguments(
    name: str, parameters: Iterable[str], hints: Mapping[str, Any]
) -> tuple[list[Pattern], list[int | type], bool]:
    """The patterns, the arguments, and `bare`, of the rule with these parameters; see `Rule`."""
    patterns: list[Pattern] = []
    arguments: list[int | type] = []
    bare: list[type[Factor]] = []
    for parameter in parameters:
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
        elif _is(hint, Parameter) or hint in (Normal, Wall, Generator):
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
    return patterns, arguments, bool(bare)


def _check_contact(made: Rule) -> None:
    hint, wanted, parties = (
        ("Wall", 1, "one entity and a wall") if Wall in made.arguments else ("Normal", 2, "two entities")
    )
    if len(made.patterns) != wanted:
        raise InputError(
            f"the rule {made.name} concerns {len(made.patterns)} entities; a rule with a {hint} among its hints "
            f"answers contacts of {parties}"
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


def _is(hint: Any, kind: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, kind)


# ---- SEGAR's rules, as the preset "fixed" mends them (README.md lists each difference).

#: Heat burns 10 % of the mass in this time, in seconds: a step of SEGAR.
BURN_TIME = 0.01


def move(x: Position, v: Velocity, slowest: MinVelocity) -> Differential[Position]:
    """dx = v dt; less than MinVelocity is no motion."""
    return Differential(x, np.where(norm(v) < slowest, 0.0, v))


def lorentz_law(
    source: Tuple[Position, Velocity, Charge, Magnetism, Alive, Done],
    target: Tuple[Position, Velocity, Charge, Mass, Acceleration],
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


def apply_friction(thing: Tuple[Velocity, Drag], surface: Tuple[Friction], g: Gravity) -> Aggregate[Drag]:
    """A surface decelerates by mu g, independent of the mass (Coulomb's law)."""
    _, drag = thing
    (mu,) = surface
    return Aggregate(drag, mu * g)


def apply_burn(thing: Tuple[Mass, Mobile], tile: Tuple[Heat], least: MinMass, framerate: Framerate) -> SetFactor[Mass]:
    """The mass falls by the share 0.1 heat in each hundredth of a second, until it is less than MinMass."""
    m, mobile = thing
    (heat,) = tile
    left = np.maximum(1.0 - 0.1 * heat, 0.0) ** (1.0 / (framerate * BURN_TIME))
    return SetFactor(m, m * left, where=mobile & (m >= least) & (heat != 0))


def stop_condition(
    mobile: Mobile, alive: Alive, done: Done, v: Velocity, a: Acceleration
) -> Tuple[SetFactor[Velocity], SetFactor[Acceleration]]:
    """Entities that are immobile, dead or done rest."""
    rests = ~(mobile & alive) | done
    return SetFactor(v, 0.0, rests), SetFactor(a, 0.0, rests)


def kill_condition(
    m: Mass, v: Velocity, visible: Visible, a: Acceleration, alive: Alive, least: MinMass
) -> Tuple[SetFactor[Mass], SetFactor[Velocity], SetFactor[Acceleration], SetFactor[Alive], SetFactor[Visible]]:
    """An entity with less than MinMass is destroyed."""
    dies = (m < least) & (alive | (dot(v, v) > 0))
    return (
        SetFactor(m, 0.0, dies),
        SetFactor(v, 0.0, dies),
        SetFactor(a, 0.0, dies),
        SetFactor(alive, False, dies),
        SetFactor(visible, False, dies),
    )


def consume(
    thing: Tuple[Mobile, Done, Visible], hole: Tuple[Consumes]
) -> Tuple[SetFactor[Done], SetFactor[Visible], SetFactor[Mobile]]:
    """A mobile entity that lies in a hole as a whole falls in."""
    mobile, done, visible = thing
    return SetFactor(done, True, mobile), SetFactor(visible, False, mobile), SetFactor(mobile, False, mobile)


def accelerate(v: Velocity, a: Acceleration, drag: Drag, framerate: Framerate) -> Differential[Velocity]:
    """v changes by a dt, then friction takes up to drag dt of the speed: it stops things, but never turns them."""
    dt = 1.0 / framerate
    pushed = v + a * dt
    speed = norm(pushed)
    kept = np.maximum(speed - drag * dt, 0.0) / np.where(speed > 0, speed, 1.0)
    return Differential(v, (pushed * kept - v) * framerate)


_RELATIONS = {"apply_friction": IsOn(), "apply_burn": IsOn(), "consume": Contains()}


def built_in(*functions: Callable[..., Any]) -> dict[str, Rule]:
    """SEGAR's rules by name, with their relations."""
    return {one.__name__: read_rule(one, _RELATIONS.get(one.__name__)) for one in functions}


FIXED_RULES: dict[str, Rule] = built_in(
    move, lorentz_law, apply_friction, apply_burn, stop_condition, kill_condition, consume, accelerate
)


def known_rule(given: Any, builtin: Mapping[str, Rule] = FIXED_RULES) -> Rule:
    """A rule, or the one that a function describes, that has a name, or that "module:name" names.

    :param builtin: the built-in rules of the preset.
    :raises InputError: there is none of this name, or a function that is no rule.
    """
    if isinstance(given, Rule):
        return given
    if isinstance(given, str) and ":" in given:
        given = of_module(given, "rules", lambda found: isinstance(found, Rule) or inspect.isfunction(found), "rule")
        return known_rule(given)
    known = {**RULES, **builtin}
    if isinstance(given, str):
        if given not in known:
            raise InputError(no_such("rule", given, known))
        return known[given]
    return read_rule(given)
