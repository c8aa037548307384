"""Distributions of scenes: numbers and types of entities, and priors of their factors (SEGAR, section 4.4, B.5).

An initialisation is data, so that your own can be a file:

    {"numbers": [["GolfBall", 1], [{"Charger": 0.5, "Ball": 0.5}, {"noise": "Choice", "values": [1, 2]}]],
     "priors": [{"target": "Position", "value": {"noise": "RandomTopLocation"}, "entity_type": "GolfBall"}],
     "positions": [["Ball", [[0, 0], [0.2, 0]]]],
     "sim": {"friction": {"noise": "UniformNoise", "low": 0.02, "high": 0.1},
             "parameters": {"Restitution": {"noise": "UniformNoise", "low": 0.5, "high": 1.0}},
             "rules": {"noise": "RuleSets", "sets": [["move", "accelerate"], ["move", "my_module:my_rule"]]}}}
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from gumption.data.errors import InputError, located
from gumption.data.modules import name_of
from gumption.data.settings import LARGEST, check, checked, describe, refuse_unknown, settings, shown, unknown

from .conditions import FACTOR, TYPE, Condition, Specificity, read_condition
from .entities import CueBall, Entity, GoalTile, GolfBall, Object, type_priority
from .factors import ID, PARAMETERS, WIDTHS, Factor, Label, Order, Parameter, Position, Shape, Size, read_value
from .locations import Point, ProductNoise, RandomConvexHull
from .noise import Deterministic, DiscreteNoise, Noise, NumericNoise, ScalarNoise, check_probabilities, read_noise
from .rules import known_rule
from .scene import SETTINGS, Preset, Scene, SimSettings, entity_type, factor_type, own_parameter, rule_names
from .shapes import HIGHEST, scaled, width

#: SEGAR redraws if two centres are not farther apart than this.
LEAST_DISTANCE = 0.1
TRIES = 100
_GAP = 1e-5  # to walls and between objects: far above rounding, far below visibility


def place(
    draw: Callable[[], list[dict[str, Any]]], boundaries: tuple[float, float], rng: np.random.Generator, whole: bool
) -> list[dict[str, Any]]:
    """Return entities inside the walls and apart from each other.

    :param draw: draws the entities of a scene: {"id", "type", "factors", "redraw": the noise of the position or None}.
    :param whole: redraw the whole scene while centres are too close; check nothing else.
    :raises InputError: a conflict remains after 100 tries.
    """
    entities, conflicts = [], []
    for round_ in range(TRIES):
        if whole or not round_:
            entities = draw()
        reach = np.array([extent(_shape(entity)) for entity in entities]).reshape(-1, 2, 2)
        radius = np.array([_radius(entity) for entity in entities])
        if not whole:
            _clamp(entities, reach, boundaries)
        conflicts = _conflicts(_positions(entities), np.full(len(entities), np.nan) if whole else radius)
        if not conflicts:
            return [{name: value for name, value in each.items() if name != "redraw"} for each in entities]
        if whole:
            continue
        again = {later if entities[later]["redraw"] else earlier for earlier, later in conflicts}
        for at in sorted(again):
            if (noise := entities[at]["redraw"]) is not None:
                entities[at]["factors"][Position] = tuple(noise.sample(rng, 1)[0].tolist())
    first, second = (entities[at]["id"] for at in conflicts[0])
    raise InputError(
        f"{first} and {second} could not be placed apart in {TRIES} tries; "
        "take fewer things, smaller ones, or wider distributions of their positions"
    )


def _positions(entities: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return positions (n, 2); nan for entities without a position."""
    nowhere = (np.nan, np.nan)
    return np.array(
        [each["factors"].get(Position, each["type"].all_factors.get(Position, nowhere)) for each in entities], float
    ).reshape(-1, 2)


def _conflicts(at: np.ndarray, radius: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs that are too close, the earlier entity first. `radius` is nan for entities that may overlap."""
    distance = np.linalg.norm(at[:, None] - at[None], axis=-1)
    touching = distance < radius[:, None] + radius[None] + _GAP  # False for nan
    close = np.triu(touching | (distance <= LEAST_DISTANCE), 1)
    return [(int(first), int(second)) for first, second in np.argwhere(close)]


def _clamp(entities: Sequence[dict[str, Any]], reach: np.ndarray, boundaries: tuple[float, float]) -> None:
    """Move things inside the walls; of a thing wider than the arena, only the centre."""
    low = boundaries[0] + reach[:, 0] + _GAP
    high = boundaries[1] - reach[:, 1] - _GAP
    too_wide = low > high
    low, high = np.where(too_wide, boundaries[0], low), np.where(too_wide, boundaries[1], high)
    inside = np.clip(_positions(entities), low, high)
    for entity, position in zip(entities, inside.tolist(), strict=True):
        if Position in entity["type"].all_factors:
            entity["factors"][Position] = tuple(position)


def _shape(entity: dict[str, Any]) -> Any:
    values, defaults = entity["factors"], entity["type"].all_factors
    if Shape in values:
        return values[Shape]
    shape = defaults.get(Shape)
    size = next((value for factor, value in values.items() if issubclass(factor, Size)), None)
    # The scene rejects a size that is not positive.
    return shape if shape is None or size is None or size <= 0 else scaled(shape, size / width(shape))


def extent(shape: dict[str, Any] | None) -> np.ndarray:
    """Return (2, 2), the extent of a shape from its centre: to the left and down, to the right and up."""
    if shape is None:
        return np.zeros((2, 2))
    if shape["kind"] == "circle":
        return np.full((2, 2), shape["size"] / 2)
    points = np.array(shape["vertices"])
    return np.stack([-points.min(0), points.max(0)])


def _radius(entity: dict[str, Any]) -> float:
    """Return the radius of the smallest circle at an object's centre that contains it; nan for other things."""
    shape = _shape(entity)
    if shape is None or not issubclass(entity["type"], Object):
        return float("nan")
    return shape["size"] / 2 if shape["kind"] == "circle" else float(np.linalg.norm(shape["vertices"], axis=1).max())


# ---- Separation of overlapping things at the start of an episode, as in SEGAR's code of 2022 (preset "compat").

ROUNDS = 200
#: Distances to walls, and between objects.
MARGIN, GAP = 1e-5, 1e-7


def fix_overlaps(scene: Scene, rng: np.random.Generator) -> Scene:
    """Return the scene with its things inside the walls, and its objects apart. Each round moves the first thing, in a
    random order, that overlaps a wall or, if it is an object, another object.

    :raises InputError: an overlap remains after 200 rounds.
    """
    things = [each for each in scene.entities if Position in each.factors and each.factors.get(Shape) is not None]
    reach = np.array([extent(each.factors[Shape]) for each in things]).reshape(-1, 2, 2)
    place = np.array([each.factors[Position] for each in things], dtype=float).reshape(-1, 2)
    objects = np.array([issubclass(each.type, Object) for each in things], dtype=bool)
    radius = np.where(objects, reach.reshape(-1, 4).max(axis=1, initial=0.0), np.nan)
    low, high = scene.sim.boundaries
    for _ in range(ROUNDS):
        if not any(_moved(i, place, reach, radius, low, high) for i in rng.permutation(len(things)).tolist()):
            break
    else:
        raise InputError(f"things still overlap after {ROUNDS} rounds of moving them: the code of 2022 raises here")
    places = {each.id: tuple(where) for each, where in zip(things, place.tolist(), strict=True)}
    entities = tuple(
        replace(each, factors={**each.factors, Position: places[each.id]}) if each.id in places else each
        for each in scene.entities
    )
    return replace(scene, entities=entities)


def _moved(i: int, place: np.ndarray, reach: np.ndarray, radius: np.ndarray, low: float, high: float) -> bool:
    """Move thing i out of the first wall or object that it overlaps; return whether there was an overlap."""
    down, up = low + reach[i, 0], high - reach[i, 1]
    if ((place[i] < down) | (place[i] > up)).any():
        place[i] = np.clip(place[i], down + MARGIN, up - MARGIN)
        return True
    apart = place[i] - place
    distance = np.hypot(*apart.T)
    touching = distance < radius[i] + radius
    touching[i] = False
    if not touching.any():
        return False
    j = int(touching.argmax())
    normal = apart[j] / distance[j] if distance[j] > 0 else np.array([1.0, 0.0])
    place[i] = place[j] + normal * (radius[i] + radius[j] + GAP)
    return True


# ---- Priors: the distributions of initial values of factors (SEGAR, appendix B.5).
#
# The most specific prior of a factor wins. Conditions are compared in turn, the strongest first: an id, a label, an
# entity type (a deeper subclass is more specific), having a factor, a value of another factor. If all are equal, the
# prior with more conditions wins. The preset "compat" ranks like the first release of SEGAR.

#: Maximal probability with which a noise may draw numbers outside the bounds of its factor.
RARE = 1e-9


@dataclass(frozen=True, eq=False)
class Prior:
    """Set the factor `target` of the entities that meet the conditions to a value, or draw it from a noise for each
    entity.

    :param factor_type: apply only to entities that have this factor.
    :param entity_type: apply only to entities of this type or of a subclass.
    :param relation: apply only to entities for which it holds before any prior is applied.
    :raises InputError: an unknown name, or a value or a noise that does not fit the factor.
    """

    target: type[Factor]
    value: Any
    factor_type: type[Factor] | None = None
    entity_type: type[Entity] | None = None
    relation: Condition | None = None

    def __post_init__(self) -> None:
        target = factor_type(self.target, "a prior")
        where = f"the prior of {target.__name__}"
        if target in (ID, Label):
            raise InputError(f"{where}: ids and labels are given by the scene, not drawn")
        kind = None if self.entity_type is None else entity_type(self.entity_type, where)
        having = None if self.factor_type is None else factor_type(self.factor_type, where)
        relation = None if self.relation is None else read_condition(self.relation, where)
        value = _read_noise(target, self.value, where)
        fields = {"target": target, "value": value, "factor_type": having, "entity_type": kind, "relation": relation}
        for name, each in fields.items():
            object.__setattr__(self, name, each)

    def __str__(self) -> str:
        given = [f"{name}={shown(each)}" for name, each in list(self.to_data().items())[2:]]
        value = self.value.value if isinstance(self.value, Deterministic | Point) else self.value
        return f"Prior({', '.join([self.target.__name__, shown(value), *given])})"

    @checked
    def factor_of(self, kind: type[Entity], preset: Preset = "fixed") -> type[Factor] | None:
        """Return the factor that it sets for entities of a type; None if it does not match the type."""
        kind = entity_type(kind, "factor_of")
        having, mine = self.factor_type, kind.all_factors
        if self.entity_type is not None and not issubclass(kind, self.entity_type):
            return None
        if preset == "compat":
            return self.target if self.target in mine and having in (None, self.target) else None
        if having is not None and not any(issubclass(each, having) for each in mine):
            return None
        owned = next((each for each in mine if issubclass(self.target, each) or issubclass(each, self.target)), None)
        return self.target if owned is not None and issubclass(self.target, owned) else owned

    @checked
    def specificity(self, preset: Preset = "fixed") -> Specificity:
        """Return its specificity; a larger tuple is more specific."""
        if preset == "compat":
            of_relation = self.relation.priority if self.relation else 1
            return ((max(type_priority(self.entity_type, False), 3 * bool(self.factor_type), of_relation), 0),)
        parts = list(self.relation.specificity()) if self.relation else []
        if self.entity_type is not None:
            parts.append((TYPE, len(self.entity_type.__mro__)))
        if self.factor_type is not None:
            parts.append((FACTOR, len(self.factor_type.__mro__)))
        return tuple(sorted(parts, reverse=True))

    def to_data(self) -> dict[str, Any]:
        """Return the representation in files."""
        conditions = {
            "factor_type": self.factor_type and name_of(self.factor_type),
            "entity_type": self.entity_type and name_of(self.entity_type),
            "relation": self.relation and self.relation.to_data(),
        }
        value = self.value
        if isinstance(value, Deterministic | Point):
            value = list(value.value) if isinstance(value, Point) else value.value
        data = {"target": name_of(self.target), "value": value.to_data() if isinstance(value, Noise) else value}
        return data | {name: each for name, each in conditions.items() if each is not None}


def read_prior(given: Any, where: str) -> Prior:
    """Read a prior or its data {"target", "value", "factor_type", "entity_type", "relation"}; else raise InputError."""
    if isinstance(given, Prior):
        return given
    known = {"target", "value", "factor_type", "entity_type", "relation"}
    if not isinstance(given, Mapping) or not {"target", "value"} <= set(given) <= known:
        raise InputError(
            f"{where}: a prior is {shown(given)}; it is {{'target': factor, 'value': value or noise}}, and can have "
            "'factor_type', 'entity_type' and 'relation'"
        )
    return Prior(**given)


def resolve(
    priors: Sequence[Prior], kind: type[Entity], values: Mapping[type[Factor], Any], preset: Preset = "fixed"
) -> dict[type[Factor], Prior]:
    """Return the prior that applies to each factor of an entity with these values.

    :raises InputError: two equally specific priors with different values.
    """
    best: dict[type[Factor], tuple[Prior, type[Factor]]] = {}
    ties: dict[type[Factor], Prior] = {}
    for prior in priors:
        factor = prior.factor_of(kind, preset)
        if factor is None or (prior.relation is not None and not prior.relation.fits(values)):
            continue
        there, _ = best.get(factor.root, (None, None))
        if there is None or prior.specificity(preset) > there.specificity(preset):
            best[factor.root] = prior, factor
            ties.pop(factor.root, None)
        elif prior.specificity(preset) == there.specificity(preset) and prior.value != there.value:
            ties[factor.root] = prior
    for root, prior in ties.items():
        raise InputError(
            f"two priors are equally specific for {root.__name__} of a {kind.__name__}: {best[root][0]} and {prior}; "
            "remove one, or give one of them a further condition"
        )
    return {factor: prior for prior, factor in best.values()}


def _read_noise(target: type[Factor], given: Any, where: str) -> Any:
    """Return the value of a prior as a noise; shapes stay values, since no distance between them is defined."""
    noise = read_noise(given, where) if _is_noise(given) else None
    if noise is None:
        value = read_value(target, given, where)
        if target.base not in WIDTHS:
            return value
        return Point(value) if target.base == "vector" else Deterministic(value)
    dimension = 0 if target.base == "shape" else WIDTHS.get(target.base)
    if noise.dimension != dimension or (dimension == 0 and not isinstance(noise, RandomConvexHull)):
        raise InputError(f"{where}: {shown(noise)} draws no value of a {target.base}")
    kinds, drawn = {"int": ("i", "whole numbers"), "bool": ("b", "True or False")}.get(target.base, ("if", "numbers"))
    discrete = isinstance(noise, DiscreteNoise)
    if noise.support[0].dtype.kind not in kinds if discrete else target.base in ("int", "bool"):
        raise InputError(f"{where}: {shown(noise)} draws something else than {drawn}")
    if target.base != "bool":
        check_draws(noise, target, where)
    return noise


def check_draws(noise: Noise, factor: type[Factor], where: str) -> None:
    """:raises InputError: the noise draws numbers outside the factor's bounds with a probability above `RARE`."""
    parts = noise.marginals if isinstance(noise, ProductNoise) else [noise] if isinstance(noise, ScalarNoise) else []
    for part in parts:
        outside = 1.0 - float(part.cdf(factor.most)) + float(part.cdf_before(factor.least))
        if outside > RARE:
            name = factor.__name__
            raise InputError(
                f"{where}: {shown(noise)} draws what is no {name} with the probability {outside:.2g}; a {name} "
                f"{describe(factor.number)}, and not beyond {HIGHEST:g}: clip the noise, or take another"
            )


def _is_noise(given: Any) -> bool:
    return isinstance(given, Noise) or (isinstance(given, Mapping) and "noise" in given)


#: Maximal number of entities in a row of `numbers`.
MOST = 1_000
#: Ids of the first thing of the types that tasks refer to.
IDS: dict[type[Entity], str] = {GolfBall: "golfball", CueBall: "cueball", GoalTile: "goal"}


class ThingFactory:
    """A distribution of entity types, sampled for each entity.

    :param types: equally likely types, or types with their probabilities.
    :raises InputError: no type, an unknown type, or probabilities whose sum is not 1.
    """

    def __init__(self, types: Sequence[type[Entity] | str] | Mapping[type[Entity] | str, float]) -> None:
        if isinstance(types, str) or not isinstance(types, Mapping | Sequence) or not types:
            raise InputError(f"ThingFactory: types is {shown(types)}; give one type or more, or a dict type -> share")
        self.types = tuple(entity_type(each, "ThingFactory") for each in types)
        if len(set(self.types)) < len(self.types):
            raise InputError(f"ThingFactory: a type is named twice in {shown(types)}")
        n = len(self.types)
        shares = list(types.values()) if isinstance(types, Mapping) else [1 / n] * n
        self.p = check("ThingFactory: the shares", shares, tuple[float, ...])
        check_probabilities("ThingFactory: the shares", self.p, n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ThingFactory) and self.to_data() == other.to_data()

    def __hash__(self) -> int:
        return hash((self.types, self.p))

    def sample(self, rng: np.random.Generator, n: int) -> list[type[Entity]]:
        return [self.types[each] for each in rng.choice(len(self.types), n, p=np.array(self.p) / sum(self.p))]

    def to_data(self) -> dict[str, float]:
        """Return the representation in files."""
        return {name_of(kind): share for kind, share in zip(self.types, self.p, strict=True)}


@dataclass(frozen=True, eq=False)
class Initialization:
    """A distribution of scenes.

    :param numbers: pairs of a type or factory of types, and a count: a number, or a noise of whole numbers.
    :param priors: priors of factors; other factors have the defaults of their type.
    :param positions: pairs of a type and fixed positions; each position gets an entity of the type.
    :param sim: settings of the simulation, or noises from which each scene draws them: numbers, including `parameters`,
        and rules (`RuleSets`, or a custom noise whose values are lists of rules).
    :param preset: "compat" ranks priors and places things like the first release of SEGAR.
    :raises InputError: an invalid value, a prior that matches none of the types, or two equally specific priors that
        disagree.
    """

    numbers: Sequence[Any] = ()
    priors: Sequence[Any] = ()
    positions: Sequence[Any] = ()
    sim: Mapping[str, Any] | None = None
    preset: Preset = "fixed"

    def __post_init__(self) -> None:
        check("preset", self.preset, Preset)
        for name, pair in (("numbers", "(type, how many)"), ("positions", "(type, [[x, y], ...])")):
            rows = getattr(self, name)
            if isinstance(rows, str | Mapping) or not isinstance(rows, Sequence):
                raise InputError(f"{name} is {shown(rows)}; it is a list of {pair}")
            for row in rows:
                pair_given = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == 2
                if not pair_given or (name == "positions" and not isinstance(row[1], Sequence)):
                    raise InputError(f"{name} has {shown(row)}; each is {pair}")
        if isinstance(self.priors, str | Mapping) or not isinstance(self.priors, Sequence):
            raise InputError(f"priors is {shown(self.priors)}; it is a list of priors")
        numbers = tuple((_read_kinds(kinds), _read_number(number)) for kinds, number in self.numbers)
        priors = tuple(read_prior(each, f"prior {place}") for place, each in enumerate(self.priors))
        positions = tuple(
            (entity_type(kind, "positions"), tuple(read_value(Position, each, "positions") for each in places))
            for kind, places in self.positions
        )
        for name, value in (("numbers", numbers), ("priors", priors), ("positions", positions)):
            object.__setattr__(self, name, value)
        sim = _read_sim({} if self.sim is None else self.sim)
        object.__setattr__(self, "sim", sim)
        low, high = sim.get("boundaries", SimSettings().boundaries)
        given = [each for _, places in positions for each in places]
        given += [each.value.value for each in priors if each.target is Position and isinstance(each.value, Point)]
        for x, y in given:
            if not (low <= x <= high and low <= y <= high):
                raise InputError(f"the position {(x, y)} is outside the walls at {low} and {high}")
        kinds = self.kinds
        for prior in priors:
            if all(prior.factor_of(kind, self.preset) is None for kind in kinds):
                names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"
                raise InputError(f"{prior} matches nothing: the initialisation has {names}; remove it or mend it")
        for kind in kinds:
            self.priors_of(kind, entity_id(kind, 0))

    @staticmethod
    def read(given: Any, where: str = "the initialisation") -> "Initialization":
        """Read data as at the top of this module; raise InputError with the position of invalid data."""
        if isinstance(given, Initialization):
            return given
        known = [each.name for each in fields(Initialization)]
        if not isinstance(given, Mapping):
            raise InputError(f"{where} is {shown(given)}; it is a dict of {', '.join(known)}")
        refuse_unknown(where, given, known)
        with located(where):
            return Initialization(**given)

    def to_data(self) -> dict[str, Any]:
        """Return the representation in files; `read` restores the same initialisation."""
        assert self.sim is not None
        return {
            "numbers": [
                [
                    kinds.to_data() if isinstance(kinds, ThingFactory) else name_of(kinds),
                    number.to_data() if isinstance(number, Noise) else number,
                ]
                for kinds, number in self.numbers
            ],
            "priors": [prior.to_data() for prior in self.priors],
            "positions": [[name_of(kind), [list(each) for each in places]] for kind, places in self.positions],
            "sim": _sim_data(self.sim),
            "preset": self.preset,
        }

    @property
    def kinds(self) -> list[type[Entity]]:
        """Return the types that its scenes can have, in order of their first occurrence."""
        of_numbers = [kinds.types if isinstance(kinds, ThingFactory) else (kinds,) for kinds, _ in self.numbers]
        return list(dict.fromkeys([*chain(*of_numbers), *(kind for kind, _ in self.positions)]))

    @property
    def most(self) -> int:
        """Return the maximal number of things of a scene."""
        counts = [each if isinstance(each, int) else int(each.support[0].max()) for _, each in self.numbers]
        return sum(counts) + sum(len(places) for _, places in self.positions)

    def sample(self, rng: np.random.Generator) -> Scene:
        """Draw a scene.

        Things lie inside the walls, their centres more than 0.1 apart, and no object overlaps another: conflicting
        positions are redrawn. The preset "compat" redraws the whole scene until the centres are far enough apart, and
        checks nothing else.

        :raises InputError: things cannot be placed in 100 tries.
        """
        assert self.sim is not None
        drawn = _drawn(self.sim, rng)
        if "rules" in drawn and any(known_rule(each).draws for each in drawn["rules"]):
            drawn["seed"] = int(rng.integers(LARGEST))
        sim = SimSettings(**drawn)
        fixed = [(kind, place) for kind, places in self.positions for place in places]

        def draw() -> list[dict[str, Any]]:
            kinds: list[type[Entity]] = []
            for some, number in self.numbers:
                n = number if isinstance(number, int) else int(number.sample(rng, 1)[0])
                kinds += some.sample(rng, n) if isinstance(some, ThingFactory) else [some] * n
            count: dict[type[Entity], int] = {}
            entities = []
            for kind in (*kinds, *(kind for kind, _ in fixed)):
                place = count[kind] = count.get(kind, -1) + 1
                name = entity_id(kind, place)
                if any(each["id"] == name for each in entities):  # taken by a related type (GoalTile)
                    name = f"{kind.__name__.lower()}_{place}"
                entities.append({"id": name, "type": kind, "factors": {}})
            priors = self._draw_factors(entities, rng)
            for entity, (_, position) in zip(entities[len(kinds) :], fixed, strict=True):
                entity["factors"][Position] = position
                priors.pop((entity["id"], Position), None)
            for entity in entities:
                entity["redraw"] = priors.get((entity["id"], Position))
            return entities

        entities = place(draw, sim.boundaries, rng, whole=self.preset == "compat")
        for entity, order in zip(entities, rng.permutation(len(entities)).tolist(), strict=True):
            if entity["factors"].get(Order, entity["type"].all_factors.get(Order)) == 0:
                entity["factors"][Order] = order
        return Scene.read({"sim": sim, "entities": entities})

    def priors_of(self, kind: type[Entity], name: str) -> dict[type[Factor], Prior]:
        """Return the prior that applies to each factor of the entity of a type with this id."""
        return resolve(self.priors, kind, {**kind.all_factors, ID: name, Label: kind.__name__}, self.preset)

    def _draw_factors(
        self, entities: Sequence[dict[str, Any]], rng: np.random.Generator
    ) -> dict[tuple[str, type[Factor]], Noise]:
        """Draw the factors of all entities, batched by prior; return the noise of each id and factor."""
        noises: dict[tuple[str, type[Factor]], Noise] = {}
        owners: dict[Prior, list[tuple[dict[str, Any], type[Factor]]]] = {prior: [] for prior in self.priors}
        for entity in entities:
            for factor, prior in self.priors_of(entity["type"], entity["id"]).items():
                owners[prior].append((entity, factor))
        for prior, owned in owners.items():
            noise = prior.value
            values = noise.sample(rng, len(owned)) if isinstance(noise, Noise) else [noise] * len(owned)
            for (entity, factor), value in zip(owned, values, strict=True):
                if isinstance(noise, NumericNoise):
                    noises[entity["id"], factor] = noise
                    value = tuple(value.tolist()) if noise.dimension == 2 else value.item()
                entity["factors"][factor] = value
        for entity in entities:
            self._fit_size(entity)
        return noises

    def _fit_size(self, entity: dict[str, Any]) -> None:
        """Scale the shape to a drawn size; in the first release only a circle without a prior."""
        values = entity["factors"]
        size = next((factor for factor in values if issubclass(factor, Size)), None)
        shape = values.get(Shape, entity["type"].all_factors.get(Shape))
        if size is None or shape is None:
            return
        if self.preset == "compat":
            if Shape in values or shape["kind"] != "circle":
                del values[size]
        elif Shape in values and values[size] > 0:
            values[Shape] = scaled(shape, values[size] / width(shape))


def _read_kinds(given: Any) -> type[Entity] | ThingFactory:
    if isinstance(given, Mapping) or (isinstance(given, Sequence) and not isinstance(given, str)):
        return ThingFactory(given)
    return given if isinstance(given, ThingFactory) else entity_type(given, "numbers")


def _read_number(given: Any) -> int | DiscreteNoise:
    if isinstance(given, Noise | Mapping):
        noise = read_noise(given, "numbers")
        if isinstance(noise, DiscreteNoise):
            values = noise.support[0]
            if values.dtype.kind == "i" and values.min() >= 0 and values.max() <= MOST:
                return noise
        raise InputError(f"numbers: {shown(noise)} draws something else than whole numbers from 0 to {MOST:,}")
    return check("numbers: how many", given, Annotated[int, Ge(0), Le(MOST)])


@settings
class RuleSets(Noise):
    """A choice among lists of rules or their names, in order; `p` are probabilities, None for a uniform choice."""

    dimension: ClassVar[int] = 0

    sets: tuple[tuple[Any, ...], ...]
    p: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.sets:
            raise InputError("RuleSets: sets is empty; give one set of rules or more")
        for each in (each for rules in self.sets for each in rules):
            known_rule(each)
        if self.p is not None:
            check_probabilities("RuleSets: p", self.p, len(self.sets))

    def sample(self, rng: np.random.Generator, n: int) -> list[tuple[Any, ...]]:
        p = None if self.p is None else np.array(self.p) / sum(self.p)
        return [self.sets[each] for each in rng.choice(len(self.sets), n, p=p)]

    def to_data(self) -> dict[str, Any]:
        p = None if self.p is None else list(self.p)
        return {"noise": name_of(type(self)), "sets": [rule_names(rules) for rules in self.sets], "p": p}


def _read_sim(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"sim is {shown(given)}; it is a dict of settings")
    own = given.get("parameters", {})
    if not isinstance(own, Mapping):
        raise InputError(f"sim: parameters is {shown(own)}; it is a dict of parameter -> value or noise")
    own = {own_parameter(name, "sim: parameters").__name__: value for name, value in own.items()}
    plain, noises = {}, {}
    known = {each.name: each.type for each in fields(SimSettings)}  # pyright: ignore[reportArgumentType]
    for name, value in given.items():
        if name == "parameters":
            plain[name] = {label: one for label, one in own.items() if not _is_noise(one)}
        elif not _is_noise(value):
            plain[name] = value
        elif name not in known:
            raise InputError(f"sim: {unknown('SimSettings', name, known)}")
        elif name == "rules":
            noises[name] = read_noise(value, "sim: rules")
            if noises[name].dimension != 0 or isinstance(noises[name], RandomConvexHull):
                raise InputError(f"sim: rules cannot be drawn from {shown(noises[name])}; take RuleSets")
        elif name not in SETTINGS:
            raise InputError(f"sim: {name} cannot be drawn from {shown(value)}")
        else:
            noises[name] = _read_number_noise(value, SETTINGS[name], f"sim: {name}")
    settings = SimSettings(**plain)
    for each in settings.rules if "rules" in plain else ():
        known_rule(each)
    found = {name: noises[name] if name in noises else getattr(settings, name) for name in given}
    if "parameters" in given:
        found["parameters"] = {
            name: _read_number_noise(value, PARAMETERS[name], f"sim: parameters: {name}")
            if _is_noise(value)
            else settings.parameters[name]
            for name, value in own.items()
        }
    return found


def _read_number_noise(given: Any, parameter: type[Parameter], where: str) -> NumericNoise:
    noise = read_noise(given, where)
    if not isinstance(noise, NumericNoise) or noise.dimension != 1:
        raise InputError(f"{where} cannot be drawn from {shown(noise)}")
    check_draws(noise, parameter, where)
    return noise


def _drawn(settings: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the settings with a value drawn from each noise."""
    found = {name: value.sample(rng, 1)[0] if isinstance(value, Noise) else value for name, value in settings.items()}
    return found | ({"parameters": _drawn(found["parameters"], rng)} if "parameters" in found else {})


def _sim_data(sim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the representation of settings in files."""
    data: dict[str, Any] = {}
    for name, value in sim.items():
        if isinstance(value, Noise):
            data[name] = value.to_data()
        elif name == "rules":
            data[name] = rule_names(value)
        elif name == "parameters":
            data[name] = {
                name_of(PARAMETERS[label]): one.to_data() if isinstance(one, Noise) else one
                for label, one in value.items()
            }
        else:
            data[name] = list(value) if type(value) is tuple else value
    return data


def entity_id(kind: type[Entity], place: int) -> str:
    """Return the id of the entity with this index within its type: "charger_0", or "goal" for the first goal, including
    subclasses of GoalTile."""
    name = next((IDS[each] for each in kind.__mro__ if each in IDS), None)
    return name if name is not None and place == 0 else f"{kind.__name__.lower()}_{place}"
