"""Distances between sets of tasks, from their initial scenes (SEGAR, appendix B.6, algorithms 1 and 2).

A set of tasks is a list of scenes, not necessarily of one distribution. The algorithms compare factors: sets that
differ only in their rules have distance 0.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from itertools import permutations
from math import gcd, sqrt
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Seed, checked, refuse_unknown, unknown
from gumption.envs.physics.factors import WIDTHS, Order
from gumption.envs.physics.initialization import Initialization
from gumption.envs.physics.initialization_measures import MISMATCH, differences, w2_of
from gumption.envs.physics.noise import Curves, largest_difference, transport
from gumption.envs.physics.scene import SETTINGS, EntityData, Scene

from .configurations import configuration, draw_levels

Grouping = Literal["type", "factors"]
AtMismatch = Literal["2022", "printed"]

#: Named readings of algorithm 1 -> arguments of `w2`.
READINGS: dict[str, dict[str, Any]] = {
    "types": {"grouping": "type", "order": False},
    "types, Order": {"grouping": "type", "order": True},
    "factors": {"grouping": "factors", "order": False},
    "factors, Order": {"grouping": "factors", "order": True},
    "types, unbalanced": {"grouping": "type", "order": False, "unbalanced": True},
    "as printed": {"grouping": "type", "order": True, "at_mismatch": "printed"},
    "code of 2022": {"grouping": "factors", "order": True, "sliced": True},
}

#: Settings of the simulation that count as factors of an additional entity.
_SETTINGS = ("friction", "wall_damping", "gravity", "min_mass", "max_velocity")
_PROJECTIONS = 50
_MOST_PERMUTED = 4


class _Key(NamedTuple):
    """Key of a group of entities whose states are vectors of one space."""

    name: str
    factors: tuple[str, ...]


@dataclass(frozen=True)
class _Group:
    """The entities of a group in T tasks: `counts` (T,), and `states` (T, K, d), padded with zeros from `counts` on."""

    counts: np.ndarray
    states: np.ndarray


@checked
def w2(
    first: Iterable[Scene],
    second: Iterable[Scene],
    *,
    order: bool = True,
    grouping: Grouping = "type",
    sliced: bool = False,
    mismatch: NonNegative = MISMATCH,
    at_mismatch: AtMismatch = "2022",
    unbalanced: bool = False,
) -> float:
    """Return the Wasserstein-2 distance between two sets of tasks (algorithm 1).

    The cost of two tasks is the sum, over groups of entities, of the squared distance between their sets of states. The
    distance of the task sets is the square root of the earth mover's distance with these costs. Each set of tasks has
    the total weight 1, whatever its number of levels.

    :param order: include the factor Order, which is a random permutation unless a prior sets it.
    :param grouping: "type" compares entities of one type, and the settings of the simulation as an additional entity
        (the paper); "factors" compares entities with the same numeric factors (the code of 2022).
    :param sliced: replace the exact distance between sets of states by its mean over 50 random directions, which is
        smaller (the code of 2022).
    :param mismatch: the paper's m, for two tasks if one lacks a group.
    :param at_mismatch: "2022" adds m² to the cost of the two tasks (the code of 2022). "printed" sets the cost to m, as
        in line 16 of the algorithm: this discards earlier groups and adds later ones. Groups are in the order of their
        first entity, so that this reading depends on the order of entities and sets.
    :param unbalanced: give each entity the weight 1, instead of each set of entities of a group. Entities are matched
        one to one. An entity without a partner costs as much as a mismatch, and a pair at most as much as two of them.
    :raises InputError: a set without tasks; sliced and unbalanced together.
    """
    cost = task_costs(
        first, second, order=order, grouping=grouping, sliced=sliced,
        mismatch=mismatch, at_mismatch=at_mismatch, unbalanced=unbalanced,
    )  # fmt: skip
    return sqrt(max(0.0, transport(cost)))


@checked
def task_costs(
    first: Iterable[Scene],
    second: Iterable[Scene],
    *,
    order: bool = True,
    grouping: Grouping = "type",
    sliced: bool = False,
    mismatch: NonNegative = MISMATCH,
    at_mismatch: AtMismatch = "2022",
    unbalanced: bool = False,
) -> np.ndarray:
    """Return (n, m), the squared distance of each task of one set to each task of another; see `w2`."""
    if sliced and unbalanced:
        raise InputError("sliced and unbalanced do not go together: a direction alone does not say who has a partner")
    alone = mismatch if at_mismatch == "printed" else mismatch**2
    theirs, others = _groups(first, order, grouping), _groups(second, order, grouping)
    none_of_these, none_of_those = (np.zeros_like(next(iter(each.values())).counts) for each in (theirs, others))
    cost = np.zeros((len(none_of_these), len(none_of_those)))
    for key in dict.fromkeys([*theirs, *others]):
        mine, its = theirs.get(key), others.get(key)
        mine_counts = none_of_these if mine is None else mine.counts
        its_counts = none_of_those if its is None else its.counts
        for n in np.unique(mine_counts):
            for m in np.unique(its_counts):
                rows, columns = np.flatnonzero(mine_counts == n), np.flatnonzero(its_counts == m)
                pairs = np.ix_(rows, columns)
                if n and m and mine is not None and its is not None:
                    cost[pairs] += _between(mine.states[rows, :n], its.states[columns, :m], sliced, unbalanced, alone)
                elif (n or m) and at_mismatch == "printed":
                    cost[pairs] = alone
                elif n or m:
                    cost[pairs] += alone * (n + m if unbalanced else 1)
    return cost


@checked
def ks(first: Iterable[Scene], second: Iterable[Scene], *, order: bool = True) -> float:
    """Return the mean-field Kolmogorov-Smirnov distance between two sets of tasks (algorithm 2 with equation 3): the
    largest difference of the products, over entity types and their numbers, of cumulative shares. A task without a
    type counts as below every value of it. The entities of a type in a task have a total weight of 1.

    :raises InputError: a set without tasks.
    """
    theirs, others = _groups(first, order, "type"), _groups(second, order, "type")
    curves: dict[str, Curves] = {}
    for key in dict.fromkeys([*theirs, *others]):
        both = theirs.get(key), others.get(key)
        share, its_share = (0.0 if each is None else float((each.counts > 0).mean()) for each in both)
        columns = []
        if both[0] is not None and both[1] is not None:
            (states, weights), (its_states, its_weights) = _weighted(both[0]), _weighted(both[1])
            for mine, its in zip(states.T, its_states.T, strict=True):
                at = np.unique(np.concatenate([mine, its]))
                if len(at) > 1:
                    columns.append((_shares_up_to(at, mine, weights), _shares_up_to(at, its, its_weights)))
        curves[key.name] = (share, its_share), columns
    return largest_difference(list(curves.values()))


def _weighted(group: _Group) -> tuple[np.ndarray, np.ndarray]:
    there = np.arange(group.states.shape[1]) < group.counts[:, None]
    weights = there / np.maximum(group.counts, 1)[:, None]
    return group.states[there], weights[there] / max(1, int((group.counts > 0).sum()))


def _shares_up_to(at: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    by_value = np.argsort(values)
    total = np.concatenate([[0.0], np.cumsum(weights[by_value])])
    return np.minimum(total[np.searchsorted(values[by_value], at, side="right")], 1.0)


def _groups(scenes: Iterable[Scene], order: bool, grouping: Grouping) -> dict[_Key, _Group]:
    """Return the groups of a set of tasks; the settings of the simulation form a group."""
    tasks: list[dict[_Key, list[list[float]]]] = []
    for scene in scenes:
        task: dict[_Key, list[list[float]]] = {}
        for entity in scene.entities:
            names, state = _state(entity, order)
            task.setdefault(_Key(entity.type.__name__ if grouping == "type" else "", names), []).append(state)
        own = {each.__name__: value for each, value in scene.sim.values().items() if each not in SETTINGS.values()}
        settings = {name: getattr(scene.sim, name) for name in _SETTINGS if grouping == "type"} | own
        task[_Key("sim", tuple(settings))] = [list(settings.values())]
        tasks.append(task)
    if not tasks:
        raise InputError("a set of tasks is empty; give at least one scene")
    found = {}
    for key in dict.fromkeys(key for task in tasks for key in task):
        counts = np.array([len(task.get(key, ())) for task in tasks])
        states = np.zeros((len(tasks), counts.max(), len(key.factors)))
        for place, task in enumerate(tasks):
            if key in task:
                states[place, : counts[place]] = task[key]
        found[key] = _Group(counts, states)
    return found


def _state(entity: EntityData, order: bool) -> tuple[tuple[str, ...], list[float]]:
    """Return the names and values of the numeric factors of an entity, sorted by name."""
    values: dict[str, float] = {}
    for factor, value in entity.factors.items():
        if factor.base in WIDTHS and (order or factor.root is not Order):
            if factor.base == "vector":
                values[f"{factor.root.__name__}.x"], values[f"{factor.root.__name__}.y"] = value
            else:
                values[factor.root.__name__] = float(value)
    names = sorted(values)
    return tuple(names), [values[name] for name in names]


def _between(a: np.ndarray, b: np.ndarray, sliced: bool, unbalanced: bool, alone: float) -> np.ndarray:
    """Return (A, B), the squared distance of each set of states in a (A, n, d) to each set in b (B, m, d).

    :param alone: cost of an entity without a partner, if `unbalanced`.
    """
    if sliced:
        return sliced_costs(a, b)
    n, m = a.shape[1], b.shape[1]
    squares = ((a[:, None, :, None] - b[None, :, None, :]) ** 2).sum(-1)  # (A, B, n, m)
    if unbalanced:
        # A pair that costs more than two unmatched entities is left unmatched.
        fewer, more = sorted((n, m))
        mates = np.minimum(squares, 2 * alone)
        return fewer * _paired(mates if n <= m else mates.swapaxes(2, 3)) + (more - fewer) * alone
    if n == 1 or m == 1:
        return squares.mean((2, 3))
    if n == m:
        return _paired(squares)
    return np.array([[transport(one) for one in row] for row in squares])


def _paired(costs: np.ndarray) -> np.ndarray:
    """Return (A, B), the minimal mean cost of a matching of n pairs, for costs (A, B, n, m) with n <= m."""
    n, m = costs.shape[2:]
    if m <= _MOST_PERMUTED:
        mates = np.array(list(permutations(range(m), n)))
        return costs[:, :, np.arange(n), mates].mean(-1).min(-1)
    return np.array([[one[linear_sum_assignment(one)].mean() for one in row] for row in costs])


def sliced_costs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (A, B), the mean over random directions of the squared W2 distance of each set in a to each set in b."""
    n, m, d = a.shape[1], b.shape[1], a.shape[2]
    # These are the directions of the first release, which passed this generator to a library.
    directions = np.random.RandomState(0).randn(d, _PROJECTIONS)
    directions /= np.sqrt((directions**2).sum(0))
    common = n * m // gcd(n, m)
    along = [np.sort(states @ directions, axis=1).repeat(common // states.shape[1], 1) for states in (a, b)]
    return np.stack([((row - along[1]) ** 2).mean((1, 2)) for row in along[0]])


# ---- Named axes: pairs of a training and a test distribution that differ along one axis, as data in axes.toml.

_FILE = Path(__file__).with_name("axes.toml")
_SIDES = {"numbers", "priors", "sim", "without", "from"}


@dataclass(frozen=True)
class AxisPair:
    """A training and a test distribution, and the axis on which they differ, such as "mass"."""

    name: str
    axis: str
    train: Initialization
    test: Initialization


@cache
def axis_pairs() -> dict[str, AxisPair]:
    """Return all pairs by name."""
    return read_pairs(tomllib.loads(_FILE.read_text(encoding="utf-8")), _FILE.name)


def read_pairs(content: Mapping[str, Any], where: str) -> dict[str, AxisPair]:
    """Read pairs from data as in axes.toml; raise InputError with the name of an invalid pair."""
    bases = content.get("base", {})
    found: dict[str, AxisPair] = {}
    for place, row in enumerate(content.get("pair", ())):
        name = row.get("name", place)
        spot = f"{where}: the pair {name!r}"
        refuse_unknown(spot, row, ("name", "axis", "base", "train", "test"))
        if not isinstance(name, str) or not isinstance(row.get("axis"), str):
            raise InputError(f"{spot} needs a name and an axis, both text")
        if name in found:
            raise InputError(f"{spot} is there twice")
        base = _base(bases, row["base"], spot) if "base" in row else {}
        train, test = (_side(base, row.get(side, {}), f"{spot}, {side}") for side in ("train", "test"))
        if train.to_data() == test.to_data():
            raise InputError(f"{spot}: its two distributions are the same")
        found[name] = AxisPair(name, row["axis"], train, test)
    return found


def measure(pair: AxisPair, *, levels: int = 100, seed: int = 0) -> dict[str, Any]:
    """Return the distances of a pair.

    :returns: "noises": the exact W2 of all differing noises together, None if there is no formula; "differences": each
        of them; "levels": W2 between drawn training and test levels, with and without Order, and KS; in it "floor": W2
        between two sets of training levels, due to sampling alone.
    """
    apart = differences(pair.train, pair.test)
    train = draw_levels(pair.train, "train", n=levels, seed=seed).scenes
    again = draw_levels(pair.train, "test", n=levels, seed=seed).scenes
    test = draw_levels(pair.test, "test", n=levels, seed=seed).scenes
    return {
        "axis": pair.axis,
        "noises": w2_of(apart),
        "differences": [asdict(each) for each in apart],
        "levels": {
            "w2": w2(train, test),
            "w2 without order": w2(train, test, order=False),
            "floor": w2(train, again),
            "floor without order": w2(train, again, order=False),
            "ks": ks(train, test),
        },
    }


@checked
def axes_table(*, levels: Count = 100, seed: Seed = 0) -> dict[str, Any]:
    """Return the distances of all pairs by name."""
    rows = {name: measure(pair, levels=levels, seed=seed) for name, pair in axis_pairs().items()}
    return {"levels": levels, "seed": seed, "pairs": rows}


def _base(bases: Mapping[str, Any], name: str, where: str, below: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a base merged with the bases that it extends."""
    if name not in bases or name in below:
        raise InputError(f"{where}: {unknown('the list of bases', name, set(bases) - set(below))}")
    mine = dict(bases[name])
    parent = mine.pop("extends", None)
    return mine if parent is None else _changed(_base(bases, parent, where, (*below, name)), mine)


def _side(base: Mapping[str, Any], changes: Mapping[str, Any], where: str) -> Initialization:
    refuse_unknown(where, changes, _SIDES)
    if "from" in changes:
        return configuration(changes["from"])
    return Initialization.read(_changed(base, changes), where)


def _changed(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base with its numbers, settings and priors replaced by those in `changes`."""
    replaced = [_target(each) for each in (*changes.get("priors", ()), *changes.get("without", ()))]
    kept = [each for each in base.get("priors", ()) if _target(each) not in replaced]
    whole = {name: value for name, value in (*base.items(), *changes.items()) if name in ("numbers", "sim")}
    return whole | {"priors": [*kept, *changes.get("priors", ())]}


def _target(prior: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target and the conditions of a prior."""
    return {name: value for name, value in prior.items() if name != "value"}
