"""Measures of distributions of scenes: entropy, distances, and representativeness of samples (SEGAR, appendix B.6).

All are mean-field: factors count as independent. They measure the priors, and leave out the displacement of things from
walls and from each other, the random permutation of orders, and fixed positions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import checked
from gumption.data.tables import grouped

from .entities import Entity
from .factors import WIDTHS, Factor, Order, Position, Shape, Size
from .initialization import Initialization, ThingFactory, entity_id
from .locations import PlanarNoise, Point
from .noise import Deterministic, Noise, NumericNoise, ScalarNoise, candidates, largest_difference
from .scene import SETTINGS, Scene, SimSettings
from .shapes import width

#: Distance of two tasks with different entity types (the paper's m).
MISMATCH = 100.0

Distributions = dict[type[Entity], dict[type[Factor], Noise]]


@dataclass(frozen=True)
class Difference:
    """A difference between two initialisations.

    :ivar of: an entity type and a factor, "sim" and a setting, or "numbers" and types.
    :ivar w2: the exact Wasserstein-2 distance; None if there is no formula.
    :ivar ks: the Kolmogorov-Smirnov distance.
    """

    of: tuple[str, str]
    w2: float | None
    ks: float


@checked
def distributions(initialization: Initialization) -> Distributions:
    """Return the noise of each factor of each entity type; priors with an id apply as for the first entity of the type.

    A constant is `Deterministic` or `Point`. A drawn shape is a noise without statistics, unless a drawn size scales
    it; another shape counts as its size.
    """
    found: Distributions = {}
    placed = {kind for kind, _ in initialization.positions}
    for kind in initialization.kinds:
        mine: dict[type[Factor], Any] = dict(kind.all_factors)
        for factor, prior in initialization.priors_of(kind, entity_id(kind, 0)).items():
            mine = {each: value for each, value in mine.items() if each.root is not factor.root} | {factor: prior.value}
        _fit_size(mine, kind, initialization.preset == "compat")
        if kind in placed:
            mine.pop(Position, None)
        if Order in mine and mine[Order] in (0, Deterministic(0)):
            del mine[Order]
        found[kind] = {}
        for factor, value in mine.items():
            if isinstance(value, Noise):
                found[kind][factor] = value
            elif factor.base in WIDTHS:
                found[kind][factor] = Point(value) if factor.base == "vector" else Deterministic(value)
    return found


@checked
def entropy(initialization: Initialization) -> float:
    """Return the entropy of its scenes, in nats: the sum over numbers, types, factors and settings.

    The factors of an entity are weighted by its expected number. Drawn shapes are left out.
    """
    inner = {
        kind: sum(noise.entropy() for noise in factors.values() if isinstance(noise, NumericNoise))
        for kind, factors in distributions(initialization).items()
    }
    total = sum(noise.entropy() for noise in _settings(initialization).values())
    for kinds, number in initialization.numbers:
        shares = _shares(kinds)
        each = sum(share * (inner[kind] - log(share)) for kind, share in shares.items() if share > 0)
        count = Deterministic(number) if isinstance(number, int) else number
        values, masses = count.support
        total += count.entropy() + float(values @ masses) * each
    return total + sum(len(places) * inner[kind] for kind, places in initialization.positions)


@checked
def differences(first: Initialization, second: Initialization) -> list[Difference]:
    """Return all differences of two initialisations, with the exact distances.

    A type that only one of them has counts as `MISMATCH`. If types are drawn with different shares, each pair of scenes
    that cannot agree lacks two types. Noises of the `numbers` are compared row by row.
    """
    found = []
    theirs, others = distributions(first), distributions(second)
    for kind in dict.fromkeys([*theirs, *others]):
        if kind not in theirs or kind not in others:
            found.append(Difference(("numbers", kind.__name__), MISMATCH, 1.0))
            continue
        mine, its = _by_root(theirs[kind]), _by_root(others[kind])
        for root in mine.keys() & its.keys():
            found += _difference((kind.__name__, root.__name__), mine[root], its[root])
    mine, its = _settings(first), _settings(second)
    for name in mine:
        found += _difference(("sim", name), mine[name], its[name])
    for (kinds, number), (other_kinds, other_number) in zip(first.numbers, second.numbers, strict=False):
        shares, other_shares = _shares(kinds), _shares(other_kinds)
        name = " or ".join(kind.__name__ for kind in shares)
        counts = [Deterministic(each) if isinstance(each, int) else each for each in (number, other_number)]
        if shares.keys() == other_shares.keys():
            apart = sum(abs(share - other_shares[kind]) for kind, share in shares.items()) / 2
            if apart > 1e-12:
                found.append(Difference(("numbers", name), MISMATCH * sqrt(2 * apart), apart))
            found += _difference(("numbers", f"how many {name}"), *counts)
    return sorted(found, key=lambda each: each.of)


@checked
def w2_of(found: Sequence[Difference]) -> float | None:
    """Return the Wasserstein-2 distance of all differences together; None if any distance is unknown."""
    known = [each.w2 for each in found if each.w2 is not None]
    return sqrt(sum(each**2 for each in known)) if len(known) == len(found) else None


@checked
def ks_of(first: Initialization, second: Initialization) -> float:
    """Return the mean-field Kolmogorov-Smirnov distance of two initialisations: the largest difference of the products
    of the `cdf` of all factors (equations 2 and 3). A scene without a type counts as below every value of it.
    """
    theirs, others = distributions(first), distributions(second)
    groups = [((1.0, 1.0), _curves(_settings(first), _settings(second)))]
    for kind in dict.fromkeys([*theirs, *others]):
        mine, its = _by_root(theirs.get(kind, {})), _by_root(others.get(kind, {}))
        groups.append(((_share(first, kind), _share(second, kind)), _curves(mine, its)))
    return largest_difference(groups)


@checked
def representativeness(scenes: Iterable[Scene], initialization: Initialization) -> dict[str, dict[str, float]]:
    """Return the Kolmogorov-Smirnov statistic between the values in scenes and their noise, per entity type and varying
    factor: small if the scenes represent the distribution well."""
    values = grouped(
        ((entity.type.__name__, factor.__name__), value)
        for scene in scenes
        for entity in scene.entities
        for factor, value in entity.factors.items()
    )
    found: dict[str, dict[str, float]] = {}
    for kind, noises in distributions(initialization).items():
        for factor, noise in noises.items():
            samples = values.get((kind.__name__, factor.__name__))
            if samples and isinstance(noise, NumericNoise) and not isinstance(noise, Deterministic | Point):
                found.setdefault(kind.__name__, {})[factor.__name__] = samples_to_noise(samples, noise)
    return found


def samples_to_noise(samples: Any, noise: NumericNoise) -> float:
    """Return the largest difference between the empirical `cdf` of samples and the noise's `cdf`; in the plane over the
    grid of the samples' coordinates."""
    at = np.asarray(samples, float)
    if noise.dimension == 1:
        points = np.unique(at)
        below, up_to = (np.searchsorted(np.sort(at), points, side=side) / len(at) for side in ("left", "right"))
        return float(max(np.abs(up_to - noise.cdf(points)).max(), np.abs(below - noise.cdf(_before(points))).max()))
    axes = [np.unique(column) for column in at.T]
    counts = np.histogram2d(*at.T, bins=[np.append(axis, np.inf) for axis in axes])[0]
    shares = np.pad(counts.cumsum(0).cumsum(1) / len(at), ((1, 0), (1, 0)))
    best = 0.0
    for x, left in ((axes[0], 1), (_before(axes[0]), 0)):
        for y, down in ((axes[1], 1), (_before(axes[1]), 0)):
            grid = np.stack(np.meshgrid(x, y, indexing="ij"), -1)
            share = shares[left : left + len(x), down : down + len(y)]
            best = max(best, float(np.abs(share - noise.cdf(grid)).max()))
    return best


def _before(x: np.ndarray) -> np.ndarray:
    return np.nextafter(x, -np.inf)


def _fit_size(values: dict[type[Factor], Any], kind: type[Entity], compat: bool) -> None:
    """Keep either size or shape: the drawn factor, else the size."""
    size = next((factor for factor in values if issubclass(factor, Size)), None)
    if Shape not in values or size is None:
        return
    drawn, own_shape = isinstance(values[size], Noise), values[Shape] is not kind.all_factors.get(Shape)
    if drawn and not (compat and (own_shape or kind.all_factors[Shape]["kind"] != "circle")):
        del values[Shape]
    elif isinstance(values[Shape], Noise):
        del values[size]
    else:
        values[size] = width(values.pop(Shape))


def _by_root(noises: Mapping[type[Factor], Noise]) -> dict[type[Factor], NumericNoise]:
    return {factor.root: noise for factor, noise in noises.items() if isinstance(noise, NumericNoise)}


def _settings(initialization: Initialization) -> dict[str, NumericNoise]:
    assert initialization.sim is not None
    given = {**initialization.sim, **initialization.sim.get("parameters", {})}
    names = {parameter: name for name, parameter in SETTINGS.items()}
    found: dict[str, NumericNoise] = {}
    for parameter, default in SimSettings().values().items():
        name = names.get(parameter) or parameter.__name__
        value = given.get(name, default)
        found[name] = value if isinstance(value, NumericNoise) else Deterministic(value)
    return found


def _shares(kinds: type[Entity] | ThingFactory) -> dict[type[Entity], float]:
    return dict(zip(kinds.types, kinds.p, strict=True)) if isinstance(kinds, ThingFactory) else {kinds: 1.0}


def _share(initialization: Initialization, kind: type[Entity]) -> float:
    """Return the share of scenes with an entity of a type."""
    lacking = 0.0 if any(kind is each for each, _ in initialization.positions) else 1.0
    for kinds, number in initialization.numbers:
        values, masses = (Deterministic(number) if isinstance(number, int) else number).support
        lacking *= float(masses @ (1 - _shares(kinds).get(kind, 0.0)) ** values)
    return 1 - lacking


def _curves(
    first: Mapping[Any, NumericNoise], second: Mapping[Any, NumericNoise]
) -> list[tuple[np.ndarray, np.ndarray]]:
    both = [(noise, second[name]) for name, noise in first.items() if name in second]
    return [_curve(mine, its) for mine, its in both if mine != its]


def _curve(first: NumericNoise, second: NumericNoise) -> tuple[np.ndarray, np.ndarray]:
    """Return the two `cdf` where their difference can be largest, on a grid that is fine between atoms and edges."""
    if isinstance(first, ScalarNoise) and isinstance(second, ScalarNoise):
        at = candidates(first, second)
        sides = (at, np.nextafter(at, -np.inf))
        return np.concatenate([first.cdf(side) for side in sides]), np.concatenate([second.cdf(side) for side in sides])
    assert isinstance(first, PlanarNoise)
    assert isinstance(second, PlanarNoise)
    axes = [candidates(*noises, fine=50) for noises in zip(*first.bends, *second.bends, strict=True)]
    at = np.stack(np.meshgrid(*(np.append(axis, np.nextafter(axis, -np.inf)) for axis in axes), indexing="ij"), -1)
    return first.cdf(at), second.cdf(at)


def _difference(of: tuple[str, str], first: NumericNoise, second: NumericNoise) -> list[Difference]:
    if first == second:
        return []
    try:
        w2: float | None = first.w2(second)
    except InputError:
        w2 = None
    ks = first.ks(second)
    return [Difference(of, w2, ks)] if w2 is None or max(w2, ks) > 1e-12 else []
