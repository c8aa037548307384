"""Priors: what the initial values of factors are drawn from, and which of several holds (SEGAR, appendix B.5).

The most specific prior of a factor wins. Its conditions are compared one by one, the strongest first: an id, a label,
an entity type (the deeper subclass is the more specific), that the entity has a factor, a value of another factor;
if all are equal, the prior with more of them wins. The preset "compat" ranks as the first release of SEGAR did.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gumption.data import InputError
from gumption.data.settings import checked
from gumption.data.wording import describe, shown

from .conditions import FACTOR, TYPE, Condition, Specificity, read_condition
from .distribution import Noise, ScalarNoise, read_noise
from .entities import Entity, Object, Thing, Tile
from .factors import ID, WIDTHS, Factor, Label, read_value
from .locations import Point, ProductNoise, RandomConvexHull
from .noise import Deterministic, DiscreteNoise
from .scene import Preset, entity_type, factor_type
from .values import HIGHEST

#: The highest probability of numbers outside the bounds of its factor that a noise may have.
RARE = 1e-9


@dataclass(frozen=True, eq=False)
class Prior:
    """A factor of the entities that meet the conditions is this value, or is drawn from this noise, anew for each.

    :param target: the factor.
    :param value: a value of it, or a noise.
    :param factor_type: only entities that have this factor.
    :param entity_type: only entities of this type or of a subclass.
    :param relation: only entities for which it holds, before any prior is applied.
    :raises InputError: a name that there is not, or a value or a noise that does not fit the factor.
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
        """The factor that it sets of entities of a type; None for types that it does not match."""
        kind = entity_type(kind, "factor_of")
        having, mine = self.factor_type, kind.all_factors
        if self.entity_type is not None and not issubclass(kind, self.entity_type):
            return None
        if preset == "compat":
            return self.target if self.target in mine and having in (None, self.target) else None
        if having is not None and not any(issubclass(each, having) for each in mine):
            return None
        owned = next((each for each in mine if related(self.target, each)), None)
        return self.target if owned is not None and issubclass(self.target, owned) else owned

    @checked
    def specificity(self, preset: Preset = "fixed") -> Specificity:
        """How specific it is; larger is more."""
        if preset == "compat":
            return ((max(self._type_rank_2022(), 3 * bool(self.factor_type), self._relation_rank_2022()), 0),)
        parts = list(self.relation.specificity()) if self.relation else []
        if self.entity_type is not None:
            parts.append((TYPE, _depth(self.entity_type)))
        if self.factor_type is not None:
            parts.append((FACTOR, _depth(self.factor_type)))
        return tuple(sorted(parts, reverse=True))

    def to_data(self) -> dict[str, Any]:
        """As it stands in a file."""
        conditions = {
            "factor_type": self.factor_type and self.factor_type.__name__,
            "entity_type": self.entity_type and self.entity_type.__name__,
            "relation": self.relation and self.relation.to_data(),
        }
        value = self.value
        if isinstance(value, Deterministic | Point):
            value = list(value.value) if isinstance(value, Point) else value.value
        data = {"target": self.target.__name__, "value": value.to_data() if isinstance(value, Noise) else value}
        return data | {name: each for name, each in conditions.items() if each is not None}

    def _type_rank_2022(self) -> int:
        if self.entity_type is None or not issubclass(self.entity_type, Thing):
            return 0
        return 4 if self.entity_type is Thing else 5 if self.entity_type in (Object, Tile) else 6

    def _relation_rank_2022(self) -> int:
        return 1 if self.relation is None else self.relation.priority


def read_prior(given: Any, where: str) -> Prior:
    """A prior, or one of data: {"target", "value", "factor_type", "entity_type", "relation"}.

    :raises InputError: anything else.
    """
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
    """The prior of each factor of an entity that has one.

    :param values: of the entity, before any prior is applied.
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


def related(first: type[Factor], second: type[Factor]) -> bool:
    """Whether one factor is the other or a subclass of it."""
    return issubclass(first, second) or issubclass(second, first)


def _read_noise(target: type[Factor], given: Any, where: str) -> Any:
    """Values become noises, so that every prior is drawn from; only shapes stay, as there is no distance of theirs."""
    noise = read_noise(given, where) if isinstance(given, Noise) or _is_noise_data(given) else None
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
    """Look at what a noise can draw. What it draws very rarely is told when the scene is read.

    :raises InputError: it draws numbers outside the bounds of the factor.
    """
    parts = noise.marginals if isinstance(noise, ProductNoise) else [noise] if isinstance(noise, ScalarNoise) else []
    for part in parts:
        outside = 1.0 - float(part.cdf(factor.most)) + float(part.cdf_before(factor.least))
        if outside > RARE:
            name = factor.__name__
            raise InputError(
                f"{where}: {shown(noise)} draws what is no {name} with the probability {outside:.2g}; a {name} "
                f"{describe(factor.number)}, and not beyond {HIGHEST:g}: clip the noise, or take another"
            )


def _is_noise_data(given: Any) -> bool:
    return isinstance(given, Mapping) and "noise" in given


def _depth(kind: type) -> int:
    return len(kind.__mro__)
