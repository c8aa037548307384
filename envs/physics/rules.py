"""Rules: functions whose type hints define the entities they read and the factors they change (SEGAR, B.3).

    @rule
    def blow(one: Tuple[Velocity, Sail], wind: Wind) -> Differential[Velocity]:
        v, sail = one
        return Differential[Velocity](v, sail * wind)

The hint of an argument is `Tuple[F1, F2, ...]` (an entity with these factors), an entity type (an entity of this type,
with factors `one[F1]`), factors alone (all of the same entity), a `Parameter` of the scene, or `Generator`, which draws
numbers reproducible from the scene's seed. A rule is called once for a whole batch: a value is an array (B, 1..., n,
1..., d), with an axis for each entity in the hints, in their order; d = 2 for a vector, else 1. The first argument of
an output is the array of the factor that changes. A rule that uses `if` on a value is called once per row, which is
slower.

A rule with `Normal` or `Wall` among its hints handles contacts of two entities, or of an entity and a wall, in place of
the built-in bounce. It is applied once to each contact that fits its hints. If both orders fit, the first entity is the
entity with the lower Order, or the earlier in the scene. Remaining approaching velocities are then removed.

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

    :ivar target: the argument of the rule that holds the factor's array.
    :ivar value: an array that broadcasts with the target and the other entities.
    :ivar where: the rows that change; None for all.
    """

    __slots__ = ("__orig_class__", "target", "value", "where")

    def __init__(self, target: Any, value: Any, where: Any = None) -> None:
        self.target, self.value, self.where = target, value, where


class Aggregate(Output[F]):
    """Replace the old value by the sum of all values of this kind."""


class Differential(Output[F]):
    """Add dt times the sum of all values of this kind to the old value."""


class SetFactor(Output[F]):
    """Replace the old value, regardless of other kinds of outputs; two different settings are a conflict."""


class Normal:
    """A hint: the unit vector from the first entity of a contact to the second, or to the wall."""


class Wall:
    """A hint: the walls of the arena, as their two coordinates."""


@dataclass(frozen=True)
class Pattern:
    """An entity that a rule reads: an entity with these factors, or of this type."""

    factors: tuple[type[Factor], ...] = ()
    entity_type: type[Entity] | None = None


@dataclass(frozen=True)
class Rule:
    """A function with its parsed hints.

    :ivar patterns: the entities, in the order of the hints.
    :ivar arguments: for each argument the index of its pattern, its parameter, Normal, Wall or Generator.
    :ivar bare: whether each argument is a factor, all of the same entity.
    :ivar returns: kinds and factors of its outputs.
    :ivar relation: relation that must hold between the first entity and the second.
    :ivar entity_type, factor_type: a type or factor that one of the entities must have.
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
        """Pickle a rule by its function's name if the module holds it under that name, like a function."""
        module, name = self.function.__module__, self.function.__qualname__
        if getattr(sys.modules.get(module), name, None) is self:
            return known_rule, (f"{module}:{name}",)
        return Rule, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def at_contacts(self) -> bool:
        """Return whether the rule handles contacts."""
        return Normal in self.arguments or Wall in self.arguments

    @property
    def draws(self) -> bool:
        """Return whether the rule draws random numbers."""
        return Generator in self.arguments

    @property
    def changes(self) -> frozenset[type[Factor]]:
        """Return the root factors that the rule may change."""
        return frozenset(factor.root for _, factor in self.returns)

    @property
    def sets(self) -> frozenset[type[Factor]]:
        """Return the root factors that the rule may set."""
        return frozenset(factor.root for kind, factor in self.returns if kind is SetFactor)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def priority(self, deep: bool) -> int:
        """Return the specificity of its conditions; among settings of a factor the highest priority wins.

        :param deep: see `type_priority`; if False, a rule with several outputs is INCOMPARABLE.
        """
        if not deep and len(self.returns) > 1:
            return INCOMPARABLE
        parts = [type_priority(self.entity_type, deep), 3 if self.factor_type else 0]
        return max(*parts, self.relation.priority if self.relation else 1)


#: Priority of a rule that conflicts with any other rule that sets a different value.
INCOMPARABLE = 99
#: Custom rules by name; a later definition of the same name replaces an earlier definition.
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
    """Turn a function into a rule, and register it by name for scenes.

    :raises InputError: missing or invalid hints; the message names the rule.
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
    """Return the rule that a function's hints define; see `rule`."""
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
    """Return the patterns, the arguments, and `bare`, of the rule with these parameters; see `Rule`."""
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


# ---- SEGAR's rules, as corrected in the preset "fixed" (README.md lists each difference).

#: Heat 1 burns 10 % of the mass in this time, in seconds: a step of SEGAR.
BURN_TIME = 0.01


def move(x: Position, v: Velocity, slowest: MinVelocity) -> Differential[Position]:
    """Compute dx = v dt; a speed below MinVelocity is no motion."""
    return Differential(x, np.where(norm(v) < slowest, 0.0, v))


def lorentz_law(
    source: Tuple[Position, Velocity, Charge, Magnetism, Alive, Done],
    target: Tuple[Position, Velocity, Charge, Mass, Acceleration],
) -> Aggregate[Acceleration]:
    """Compute a = (q1 q2 n + q2 b1 t(w)) / (d^2 m2): n is the unit vector from source to target, w their relative
    velocity, t(w) this vector rotated by 90 degrees. Dead or done sources have no field.
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
    """Decelerate by mu g, independent of the mass (Coulomb's law)."""
    _, drag = thing
    (mu,) = surface
    return Aggregate(drag, mu * g)


def apply_burn(thing: Tuple[Mass, Mobile], tile: Tuple[Heat], least: MinMass, framerate: Framerate) -> SetFactor[Mass]:
    """Reduce the mass by the share 0.1 heat per hundredth of a second, until it is less than MinMass."""
    m, mobile = thing
    (heat,) = tile
    left = np.maximum(1.0 - 0.1 * heat, 0.0) ** (1.0 / (framerate * BURN_TIME))
    return SetFactor(m, m * left, where=mobile & (m >= least) & (heat != 0))


def stop_condition(
    mobile: Mobile, alive: Alive, done: Done, v: Velocity, a: Acceleration
) -> Tuple[SetFactor[Velocity], SetFactor[Acceleration]]:
    """Stop entities that are immobile, dead or done."""
    rests = ~(mobile & alive) | done
    return SetFactor(v, 0.0, rests), SetFactor(a, 0.0, rests)


def kill_condition(
    m: Mass, v: Velocity, visible: Visible, a: Acceleration, alive: Alive, least: MinMass
) -> Tuple[SetFactor[Mass], SetFactor[Velocity], SetFactor[Acceleration], SetFactor[Alive], SetFactor[Visible]]:
    """Destroy an entity whose mass is less than MinMass."""
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
    """Let a mobile entity that lies entirely in a hole fall in."""
    mobile, done, visible = thing
    return SetFactor(done, True, mobile), SetFactor(visible, False, mobile), SetFactor(mobile, False, mobile)


def accelerate(v: Velocity, a: Acceleration, drag: Drag, framerate: Framerate) -> Differential[Velocity]:
    """Add a dt to v, then reduce the speed by at most drag dt: friction stops things, but never reverses them."""
    dt = 1.0 / framerate
    pushed = v + a * dt
    speed = norm(pushed)
    kept = np.maximum(speed - drag * dt, 0.0) / np.where(speed > 0, speed, 1.0)
    return Differential(v, (pushed * kept - v) * framerate)


_RELATIONS = {"apply_friction": IsOn(), "apply_burn": IsOn(), "consume": Contains()}


def built_in(*functions: Callable[..., Any]) -> dict[str, Rule]:
    """Return SEGAR's rules by name, with their relations."""
    return {one.__name__: read_rule(one, _RELATIONS.get(one.__name__)) for one in functions}


FIXED_RULES: dict[str, Rule] = built_in(
    move, lorentz_law, apply_friction, apply_burn, stop_condition, kill_condition, consume, accelerate
)


def known_rule(given: Any, builtin: Mapping[str, Rule] = FIXED_RULES) -> Rule:
    """Return the rule that is passed, defined by a function, registered under a name, or specified as "module:name".

    :param builtin: built-in rules of the preset.
    :raises InputError: no rule of this name, or a function that is no rule.
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
