"""Named axes: pairs of distributions along one axis, with their distances."""

from typing import Any

import pytest

from gumption.data import InputError
from gumption.envs.segar.measures import axes_table, axis_pairs, measure, read_pairs


def test_there_are_pairs_along_many_axes() -> None:
    assert len(axis_pairs()) >= 34
    axes = {pair.axis for pair in axis_pairs().values()}
    assert axes >= {"mass", "charge", "friction", "number of objects", "number of tiles", "order", "appearance"}


ONE_NUMBER = {
    "mass-heavier": (("GolfBall", "Mass"), 1.0),
    "charge-sign": (("Charger", "Charge"), 2.0),
    "gravity-weaker": (("sim", "gravity"), 8.0),
    "goal-below-the-sand": (("GoalTile", "Order"), 4.0),
    "ball-larger": (("GolfBall", "Size"), 0.15),
}


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_the_noises_are_apart_by_what_is_known(name: str) -> None:
    found = measure(axis_pairs()[name], levels=2)
    (of, expected) = ONE_NUMBER[name]
    assert [each["of"] for each in found["differences"]] == [of]
    assert found["noises"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_levels_are_apart_by_the_axis_and_by_sampling() -> None:
    table = axes_table(levels=60)
    assert table["pairs"].keys() == axis_pairs().keys()
    for name, row in table["pairs"].items():
        apart, floor, noises = row["levels"]["w2"], row["levels"]["floor"], row["noises"]
        if row["axis"] in ("difficulty", "number of objects", "number of tiles", "type of objects"):
            continue  # types and numbers are drawn too
        # Sampling adds to the distance of the distributions, and placing things changes it a little.
        assert noises * 0.8 - 0.1 < apart < noises + floor + 0.3, name


def test_the_table_is_the_same_each_time() -> None:
    pair = axis_pairs()["charge-wider"]
    assert measure(pair, levels=10, seed=3) == measure(pair, levels=10, seed=3)
    assert measure(pair, levels=10, seed=3) != measure(pair, levels=10, seed=4)


PAIR: dict[str, Any] = {
    "name": "x",
    "axis": "mass",
    "base": "one",
    "test": {"priors": [{"target": "Mass", "value": 2.0}]},
}
BASES: dict[str, Any] = {
    "one": {"numbers": [["Ball", 1]], "priors": [{"target": "Mass", "value": 1.0}]},
    "two": {"extends": "one", "priors": [{"target": "Charge", "value": 1.0}]},
    "circle": {"extends": "circle"},
}


def test_what_a_side_says_replaces_the_base() -> None:
    pair = read_pairs({"base": BASES, "pair": [{**PAIR, "base": "two"}]}, "here")["x"]
    told = [[(each.target.__name__, each.value.value) for each in side.priors] for side in (pair.train, pair.test)]
    assert told == [[("Mass", 1.0), ("Charge", 1.0)], [("Charge", 1.0), ("Mass", 2.0)]]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({**PAIR, "base": "three"}, "here: the pair 'x': the list of bases has no 'three'"),
        ({**PAIR, "base": "circle"}, "here: the pair 'x': the list of bases has no 'circle'"),
        ({**PAIR, "tests": {}}, "the pair 'x' has no 'tests'; did you mean 'test'"),
        ({**PAIR, "axis": 3}, "the pair 'x' needs a name and an axis"),
        ({**PAIR, "test": {}}, "the pair 'x': its two distributions are the same"),
        ({**PAIR, "test": {"prior": []}}, "the pair 'x', test has no 'prior'; did you mean 'priors'"),
        ({**PAIR, "test": {"from": "pool"}}, "no configuration 'pool'"),
        ({**PAIR, "test": {"priors": [{"target": "Heat", "value": 1.0}]}}, "the pair 'x', test: .*matches nothing"),
    ],
)
def test_a_pair_that_does_not_fit_is_told(pair: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_pairs({"base": BASES, "pair": [pair]}, "here")


def test_a_name_twice_is_told() -> None:
    with pytest.raises(InputError, match="the pair 'x' is there twice"):
        read_pairs({"base": BASES, "pair": [PAIR, PAIR]}, "here")
