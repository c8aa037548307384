"""Named axes: pairs of a training and a test distribution that differ along one axis, as data in axes.toml.

Beside each pair stand exact distances: between the noises that differ, and between drawn levels.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked, unknown
from gumption.envs.physics.initialization import Initialization
from gumption.envs.physics.initialization_measures import differences, w2_of

from .configurations import configuration
from .levels import draw_levels
from .measures import ks, w2

_FILE = Path(__file__).with_name("axes.toml")
_SIDES = {"numbers", "priors", "sim", "without", "from"}


@dataclass(frozen=True)
class AxisPair:
    """A training and a test distribution.

    :ivar axis: what they differ in: "mass".
    """

    name: str
    axis: str
    train: Initialization
    test: Initialization


@cache
def axis_pairs() -> dict[str, AxisPair]:
    """All pairs by their names."""
    content = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return read_pairs(content, str(_FILE.name))


def read_pairs(content: Mapping[str, Any], where: str) -> dict[str, AxisPair]:
    """Pairs of data; see axes.toml.

    :raises InputError: what does not fit; the message names the pair.
    """
    bases = content.get("base", {})
    found: dict[str, AxisPair] = {}
    for place, row in enumerate(content.get("pair", ())):
        name = row.get("name", place)
        spot = f"{where}: the pair {name!r}"
        for key in row:
            if key not in ("name", "axis", "base", "train", "test"):
                raise InputError(unknown(spot, key, ("name", "axis", "base", "train", "test")))
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


@checked
def axis_pair(name: str) -> AxisPair:
    """The pair of a name.

    :raises InputError: there is none.
    """
    pairs = axis_pairs()
    if name not in pairs:
        raise InputError(unknown("the list of pairs", name, pairs))
    return pairs[name]


def measure(pair: AxisPair, *, levels: int = 100, seed: int = 0) -> dict[str, Any]:
    """The distances of a pair.

    :returns: "noises": the exact W2 of all noises that differ together, None where there is no formula, and
        "differences" one by one; "levels": W2 between drawn training and test levels, with and without Order, and KS;
        "floor": W2 between two sets of training levels, which sampling alone makes.
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
    """The distances of all pairs, by their names."""
    rows = {name: measure(pair, levels=levels, seed=seed) for name, pair in axis_pairs().items()}
    return {"levels": levels, "seed": seed, "pairs": rows}


def _base(bases: Mapping[str, Any], name: str, where: str, below: tuple[str, ...] = ()) -> dict[str, Any]:
    """A base with what it extends."""
    if name not in bases or name in below:
        raise InputError(f"{where}: {unknown('the list of bases', name, set(bases) - set(below))}")
    mine = dict(bases[name])
    parent = mine.pop("extends", None)
    return mine if parent is None else _changed(_base(bases, parent, where, (*below, name)), mine)


def _side(base: Mapping[str, Any], changes: Mapping[str, Any], where: str) -> Initialization:
    for key in changes:
        if key not in _SIDES:
            raise InputError(unknown(where, key, _SIDES))
    if "from" in changes:
        return configuration(changes["from"])
    return Initialization.read(_changed(base, changes), where)


def _changed(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the numbers, settings and priors of the changes."""
    replaced = [_target(each) for each in (*changes.get("priors", ()), *changes.get("without", ()))]
    kept = [each for each in base.get("priors", ()) if _target(each) not in replaced]
    whole = {name: value for name, value in (*base.items(), *changes.items()) if name in ("numbers", "sim")}
    return whole | {"priors": [*kept, *changes.get("priors", ())]}


def _target(prior: Mapping[str, Any]) -> dict[str, Any]:
    """What a prior is of: its target and its conditions."""
    return {name: value for name, value in prior.items() if name != "value"}
