"""A scene as data: settings of the simulation, and entities with their types and factors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal

from annotated_types import Gt

from gumption.data.errors import InputError, did_you_mean, located
from gumption.data.modules import class_of_module, name_of
from gumption.data.settings import Seed, check, settings, shown

from .entities import TYPES, Entity, Thing
from .factors import (
    FACTORS,
    ID,
    PARAMETERS,
    Factor,
    FloorFriction,
    Framerate,
    Gravity,
    Label,
    MaxVelocity,
    MinMass,
    MinVelocity,
    Parameter,
    Position,
    Shape,
    Size,
    WallDamping,
    read_number,
    read_value,
)
from .shapes import HIGHEST, NARROWEST, scaled, width

#: "fixed" is corrected; "compat" reproduces SEGAR's code of 2022, faults included.
Preset = Literal["fixed", "compat"]
#: The rules of SEGAR, in its order.
ALL_RULES = (
    "move", "lorentz_law", "apply_friction", "apply_burn", "stop_condition", "kill_condition", "consume", "accelerate",
)  # fmt: skip
#: Setting -> parameter that holds its value.
SETTINGS: dict[str, type[Parameter]] = {
    "framerate": Framerate,
    "friction": FloorFriction,
    "wall_damping": WallDamping,
    "gravity": Gravity,
    "min_mass": MinMass,
    "max_velocity": MaxVelocity,
    "min_velocity": MinVelocity,
}


@settings
class SimSettings:
    """The settings of a whole scene; the defaults are SEGAR's, the bounds of numbers those of the parameters.

    :ivar framerate: steps a second; a step takes dt = 1 / framerate.
    :ivar boundaries: the walls stand at these two numbers, on both axes.
    :ivar friction: the coefficient of the floor.
    :ivar wall_damping: the share of the velocity that a wall takes.
    :ivar gravity, min_mass, max_velocity, min_velocity: see the parameters in `gumption.envs.physics.factors`.
    :ivar rules: rules, or their names, in the order in which they are tried.
    :ivar parameters: values of a person's own parameters, by name.
    :ivar seed: of the rules that draw numbers; see `gumption.envs.physics.rules.Generator`.
    """

    framerate: float = 100.0
    boundaries: tuple[float, float] = (-1.0, 1.0)
    friction: float = 0.05
    wall_damping: Annotated[float, Gt(-1.0)] = 0.025
    gravity: float = 10.0
    min_mass: float = 0.1
    max_velocity: float = 10.0
    min_velocity: float = 1e-4
    rules: tuple[str | Callable[..., Any], ...] = ALL_RULES
    parameters: Mapping[str, float] = field(default_factory=dict)
    seed: Seed = 0

    def __post_init__(self) -> None:
        low, high = self.boundaries
        if not low < high:
            raise InputError(f"boundaries are {self.boundaries}; the first is less than the second")
        if high - low < NARROWEST or max(-low, high) > HIGHEST:
            raise InputError(
                f"boundaries are {self.boundaries}; they are {NARROWEST:g} apart at least, and not beyond {HIGHEST:g}"
            )
        for name, parameter in SETTINGS.items():
            read_number(parameter, getattr(self, name), name)
        mine = {own_parameter(name, "parameters"): value for name, value in self.parameters.items()}
        for parameter, value in mine.items():
            read_number(parameter, value, f"parameters: {parameter.__name__}")
        object.__setattr__(self, "parameters", {parameter.__name__: value for parameter, value in mine.items()})

    def to_data(self) -> dict[str, Any]:
        """Return the representation in files."""
        data: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}  # pyright: ignore[reportArgumentType]
        data |= {"boundaries": list(self.boundaries), "rules": rule_names(self.rules)}
        data["parameters"] = {name_of(PARAMETERS[name]): value for name, value in self.parameters.items()}
        if not self.seed:  # scenes without a rule that draws
            del data["seed"]
        return data

    def values(self) -> dict[type[Parameter], float]:
        """Return the value of each parameter."""
        mine = {parameter: getattr(self, name) for name, parameter in SETTINGS.items()}
        return {
            parameter: mine[parameter] if parameter in mine else self.parameters.get(name, parameter.default)
            for name, parameter in PARAMETERS.items()
        }


#: Values by factor.
Factors = Mapping[type[Factor], Any]


@dataclass(frozen=True)
class EntityData:
    """An entity of a scene: id, type, and the values of all its factors."""

    id: str
    type: type[Entity]
    factors: Factors

    def to_data(self) -> dict[str, Any]:
        """Return the representation in files."""
        factors = {
            name_of(factor): list(value) if isinstance(value, tuple) else value
            for factor, value in self.factors.items()
            if factor not in (ID, Label)
        }
        return {"id": self.id, "type": name_of(self.type), "factors": factors}


@dataclass(frozen=True)
class Scene:
    """A scene: settings and entities in the order of insertion."""

    sim: SimSettings
    entities: tuple[EntityData, ...]

    @staticmethod
    def read(given: Any, where: str = "the scene") -> "Scene":
        """Read a scene from data: {"sim": {...}, "entities": [{"id", "type", "factors": {...}}]}.

        :param where: name of the scene in messages.
        :raises InputError: an unknown name, a value of another type than its factor or outside its bounds, two entities
            with the same id, an entity outside the walls; the message names entity and field.
        """
        if isinstance(given, Scene):
            return given
        if not isinstance(given, Mapping) or not set(given) <= {"sim", "entities"}:
            raise InputError(f"{where} is {shown(given)}; it is {{'sim': {{...}}, 'entities': [...]}}")
        sim = given.get("sim", {})
        if not isinstance(sim, SimSettings):
            if not isinstance(sim, Mapping):
                raise InputError(f"{where}: sim is {shown(sim)}; it is a dict of settings")
            with located(f"{where}: sim"):
                sim = SimSettings(**{str(name): value for name, value in sim.items()})
        entities = given.get("entities", ())
        if isinstance(entities, (str, Mapping)) or not isinstance(entities, Sequence):
            raise InputError(f"{where}: entities is {shown(entities)}; it is a list")
        read, ids = [], set[str]()
        for place, entity in enumerate(entities):
            one = _read_entity(entity, place, sim, where)
            if one.id in ids:
                raise InputError(f"{where}: two entities have the id {one.id!r}")
            ids.add(one.id)
            read.append(one)
        return Scene(sim, tuple(read))

    def to_data(self) -> dict[str, Any]:
        """Return the representation in files; `read` restores the same scene."""
        return {"sim": self.sim.to_data(), "entities": [entity.to_data() for entity in self.entities]}


def rule_names(rules: Sequence[str | Callable[..., Any]]) -> list[str]:
    """Return the names of rules, or of their functions."""
    return [rule if isinstance(rule, str) else name_of(getattr(rule, "function", rule)) for rule in rules]


def own_parameter(name: Any, where: str) -> type[Parameter]:
    """Return a parameter, from itself or its name, that is not a field of `SimSettings`; raise InputError otherwise."""
    found = _of_name(name, Parameter, "parameter", PARAMETERS, where)
    if (setting := next((each for each, known in SETTINGS.items() if known is found), None)) is not None:
        raise InputError(f"{where}: {found.__name__} is the setting {setting!r}, beside parameters")
    return found


def entity_type(name: Any, where: str) -> type[Entity]:
    """Return the entity type of a name, or the type itself; raise InputError if there is none."""
    return _of_name(name, Entity, "entity type", TYPES, where)


def factor_type(name: Any, where: str) -> type[Factor]:
    """Return the factor of a name, or the factor itself; raise InputError if there is none."""
    return _of_name(name, Factor, "factor", FACTORS, where)


def _of_name(given: Any, kind: type[Any], what: str, known: Mapping[str, Any], where: str) -> Any:
    """Return the class of a known name or of "module:name", or the class itself."""
    if isinstance(given, type) and issubclass(given, kind):
        return given
    if isinstance(given, str) and given in known:
        return known[given]
    if isinstance(given, str) and ":" in given:
        return class_of_module(given, f"{where}: {what}", kind)
    raise InputError(f"{where}: {no_such(what, given, known)}")


def _read_entity(given: Any, place: int, sim: SimSettings, where: str) -> EntityData:
    if isinstance(given, EntityData):
        return given
    if not isinstance(given, Mapping) or not set(given) <= {"id", "type", "factors"} or "type" not in given:
        raise InputError(
            f"{where}: entity {place} is {shown(given)}; it is {{'id': ..., 'type': ..., 'factors': {{...}}}}"
        )
    kind = entity_type(given["type"], f"{where}: entity {place}")
    name = check(f"{where}: the id of entity {place}", given.get("id", f"{kind.__name__.lower()}_{place}"), str)
    where = f"{where}: {kind.__name__} {name!r}"
    factors = given.get("factors", {})
    if not isinstance(factors, Mapping):
        raise InputError(f"{where}: factors is {shown(factors)}; it is a dict of factor -> value")
    mine: dict[type[Factor], Any] = {}
    for label, value in factors.items():
        factor = factor_type(label, where)
        owner = next((each for each in kind.all_factors if issubclass(factor, each)), None)
        if owner is None and issubclass(kind, Thing):
            able = ", ".join(sorted(each.__name__ for each in kind.all_factors))
            raise InputError(f"{where} has no {factor.__name__}: a {kind.__name__} has {able}")
        if factor.belongs_to is not None:
            raise InputError(f"{where}: {factor.__name__} is computed by the rules; a scene does not give it")
        mine[factor] = read_value(factor, value, where)
    taken = {factor.root for factor in mine}
    if len(taken) < len(mine):
        raise InputError(f"{where} has two factors of one kind: {', '.join(sorted(each.__name__ for each in mine))}")
    values = {factor: value for factor, value in _defaults(kind).items() if factor.root not in taken} | mine
    values[ID], values[Label] = name, kind.__name__
    _tie_size(values, mine, where)
    low, high = sim.boundaries
    if Position in values and not all(low <= each <= high for each in values[Position]):
        raise InputError(f"{where}: Position {values[Position]} is outside the walls at {low} and {high}")
    return EntityData(name, kind, values)


@cache
def _defaults(kind: type[Entity]) -> Factors:
    """Return the defaults of a type; raise InputError if a default does not fit its factor."""
    where = f"the entity type {kind.__name__}"
    return {
        factor: None if value is None else read_value(factor, value, where)
        for factor, value in kind.all_factors.items()
    }


def _tie_size(values: dict[type[Factor], Any], given: Mapping[type[Factor], Any], where: str) -> None:
    """Make Size and Shape agree: derive the missing value; raise InputError if both are given and differ."""
    if Shape not in values or values[Shape] is None:
        return
    wide = width(values[Shape])
    if Size in given and abs(given[Size] - wide) > 1e-9 * wide:
        if Shape in given:
            raise InputError(f"{where}: Size is {given[Size]}, and its Shape is {wide} wide: give one of them")
        values[Shape] = scaled(values[Shape], given[Size] / wide)
        wide = given[Size]
    values[Size] = wide


def no_such(what: str, name: Any, known: Mapping[str, Any]) -> str:
    """Return the message for an unknown name, with the nearest known name or all of them."""
    named = f"there are {', '.join(sorted(known))}"
    hint = did_you_mean(name, known, named) if isinstance(name, str) else named
    return f"there is no {what} {shown(name)}; {hint}"
