"""Distances between sets of tasks: known ones, POT's, a plain implementation's, and the first release's."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import stats

from gumption.data import InputError
from gumption.envs.physics.entities import Object
from gumption.envs.physics.factors import PARAMETERS, Parameter, Size
from gumption.envs.physics.noise import transport
from gumption.envs.physics.scene import Scene
from gumption.envs.segar.configurations import draw_levels
from gumption.envs.segar.measures import READINGS, ks, sliced_costs, task_costs, w2
from tests.processor import cost


def scene(*entities: tuple[str, dict[str, Any]], **sim: Any) -> Scene:
    return Scene.read({"sim": sim, "entities": [{"type": kind, "factors": factors} for kind, factors in entities]})


def masses(*values: float) -> Scene:
    return scene(*(("Ball", {"Mass": value}) for value in values))


def levels(name: str, split: Any = "train", n: int = 30, seed: int = 0, preset: Any = "fixed") -> Any:
    return draw_levels(name, split, n=n, seed=seed, preset=preset).scenes


def plain_w2(first: Any, second: Any) -> float:
    """Algorithm 1 as it is written, one pair after the other."""

    def state(entity: Any) -> list[float]:
        told = {factor.__name__: value for factor, value in entity.factors.items()}
        numbers = [told[name] for name in sorted(told) if isinstance(told[name], (bool, int, float, tuple))]
        return np.hstack([np.asarray(each, float) for each in numbers]).tolist()

    cost = np.zeros((len(first), len(second)))
    for (i, one), (j, other) in product(enumerate(first), enumerate(second)):
        kinds = {entity.type for entity in (*one.entities, *other.entities)}
        for kind in kinds:
            mine, its = ([state(each) for each in task.entities if each.type is kind] for task in (one, other))
            if not mine or not its:
                cost[i, j] += 100.0**2
            else:
                squares = [[np.subtract(a, b) @ np.subtract(a, b) for b in its] for a in mine]
                cost[i, j] += transport(np.array(squares))
    return np.sqrt(transport(cost))


def test_w2_of_single_entities_is_that_of_their_factors() -> None:
    assert w2([masses(1.0)], [masses(3.0)]) == pytest.approx(2.0)
    assert w2([masses(1.0), masses(2.0)], [masses(2.5), masses(1.5)]) == pytest.approx(0.5)
    assert w2([masses(1.0), masses(3.0)], [masses(2.0)]) == pytest.approx(1.0)


def test_entities_of_one_type_are_matched() -> None:
    assert w2([masses(1.0, 2.0)], [masses(2.0, 1.0)]) == 0
    assert w2([masses(1.0, 2.0, 3.0)], [masses(2.0)]) == pytest.approx(np.sqrt(2 / 3))
    assert w2([masses(*range(1, 7))], [masses(*range(2, 8))]) == pytest.approx(1.0)


def test_a_type_that_one_lacks_costs_the_square_of_the_mismatch() -> None:
    ball, both = scene(("Ball", {})), scene(("Ball", {}), ("Charger", {}))
    charger = scene(("Charger", {}))
    assert w2([ball], [both]) == pytest.approx(100.0)
    assert w2([ball], [charger]) == pytest.approx(np.sqrt(2) * 100)
    assert w2([ball], [charger], mismatch=3.0) == pytest.approx(np.sqrt(18))
    assert w2([ball, charger], [charger, ball]) == 0
    np.testing.assert_allclose(task_costs([ball, both], [charger]), [[20_000], [10_000]])


def test_at_a_mismatch_the_algorithm_as_printed_sets_the_cost_to_m() -> None:
    ball, both = scene(("Ball", {})), scene(("Ball", {}), ("Charger", {}))
    hole = scene(("Hole", {}))
    assert w2([ball], [both], at_mismatch="printed") == pytest.approx(np.sqrt(100))
    assert w2([ball], [hole], at_mismatch="printed") == pytest.approx(np.sqrt(100)), "m, not m twice"
    assert w2([ball], [hole], at_mismatch="printed", mismatch=7.0) == pytest.approx(np.sqrt(7))
    np.testing.assert_allclose(task_costs([ball, both], [hole], at_mismatch="printed"), [[100], [100]])


def test_as_printed_a_mismatch_forgets_the_groups_before_it_and_those_after_it_are_added() -> None:
    heavy = scene(("Ball", {"Mass": 4.0}))
    ball_first, charger_first = (
        scene(*order) for order in ([("Ball", {}), ("Charger", {})], [("Charger", {}), ("Ball", {})])
    )
    assert w2([ball_first], [heavy], at_mismatch="printed") == pytest.approx(np.sqrt(100))
    assert w2([charger_first], [heavy], at_mismatch="printed") == pytest.approx(np.sqrt(100 + 3**2))
    assert w2([heavy], [charger_first], at_mismatch="printed") == pytest.approx(np.sqrt(100)), "the sets' order counts"
    for one in (ball_first, charger_first):
        assert w2([one], [heavy]) == pytest.approx(np.sqrt(100**2 + 3**2))


def test_unbalanced_each_thing_weighs_one_and_one_without_a_partner_costs_a_mismatch() -> None:
    one, three = [masses(1.0)], [masses(1.5, 2.0, 4.0)]
    assert w2(one, three) == pytest.approx(np.sqrt((0.5**2 + 1 + 3**2) / 3))
    assert w2(one, three, unbalanced=True) == pytest.approx(np.sqrt(0.5**2 + 2 * 100**2))
    assert w2(three, one, unbalanced=True, mismatch=2.0) == pytest.approx(np.sqrt(0.5**2 + 2 * 2**2))
    assert w2([masses(1.0, 2.0)], [masses(2.0, 4.0)], unbalanced=True) == pytest.approx(np.sqrt(5)), "not the mean"
    crossed = w2([masses(5.0, 1.0)], [masses(1.0, 9.0, 5.5)], unbalanced=True, mismatch=2.0)
    assert crossed == pytest.approx(np.sqrt(0 + 0.5**2 + 2**2))
    many = w2([masses(*range(1, 6))], [masses(*range(1, 8))], unbalanced=True, mismatch=2.0)
    assert many == pytest.approx(np.sqrt(2 * 2**2))


def test_unbalanced_a_partner_that_costs_more_than_none_is_left() -> None:
    assert w2([masses(1.0)], [masses(9.0)], unbalanced=True, mismatch=2.0) == pytest.approx(np.sqrt(2 * 2**2))
    assert w2([masses(1.0)], [masses(3.0)], unbalanced=True, mismatch=2.0) == pytest.approx(2)
    nothing, balls = scene(), masses(1.0, 2.0, 3.0)
    assert w2([nothing], [balls], unbalanced=True, mismatch=2.0) == pytest.approx(np.sqrt(3 * 2**2))
    assert w2([nothing], [balls], unbalanced=True, at_mismatch="printed") == pytest.approx(np.sqrt(100))
    printed = w2([masses(1.0)], [masses(1.5, 2.0)], unbalanced=True, at_mismatch="printed")
    assert printed == pytest.approx(np.sqrt(0.5**2 + 100)), "the price is m"


def test_unbalanced_the_numbers_of_tasks_do_not_count() -> None:
    one, twice = [masses(1.0)], [masses(2.0)] * 2
    assert w2(one, twice, unbalanced=True) == pytest.approx(1)


def test_sliced_and_unbalanced_do_not_go_together() -> None:
    with pytest.raises(InputError, match="sliced and unbalanced do not go together"):
        w2([masses(1.0)], [masses(1.0)], sliced=True, unbalanced=True)


things = st.tuples(st.sampled_from(["Ball", "Charger", "SandTile"]), st.floats(-3, 3), st.floats(0.1, 3))
tasks = st.lists(st.lists(things, max_size=4), min_size=1, max_size=3)


def drawn(rows: list[list[tuple[str, float, float]]]) -> list[Scene]:
    return [
        scene(
            *(
                (kind, {"Friction": much} if kind == "SandTile" else {"Charge": charge, "Mass": much})
                for kind, charge, much in row
            )
        )
        for row in rows
    ]


SYMMETRIC = [
    *READINGS.values(),
    {"grouping": "factors", "unbalanced": True, "mismatch": 2.0},
    {"unbalanced": True, "mismatch": 1.0},
]


@pytest.mark.parametrize("reading", SYMMETRIC, ids=str)
@given(first=tasks, second=tasks, data=st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_what_every_reading_keeps(reading: dict[str, Any], first: Any, second: Any, data: Any) -> None:
    """Equal sets are 0 apart. But for a mismatch as printed, the order of sets, tasks and things does not count."""
    mine, its = drawn(first), drawn(second)
    assert w2(mine, mine, **reading) == pytest.approx(0, abs=1e-6)
    if reading.get("at_mismatch") == "printed":
        return
    apart = w2(mine, its, **reading)
    assert apart == pytest.approx(w2(its, mine, **reading), abs=1e-6)
    shuffled = drawn([data.draw(st.permutations(row)) for row in data.draw(st.permutations(first))])
    assert apart == pytest.approx(w2(shuffled, its, **reading), abs=1e-6)


@given(st.lists(tasks, min_size=3, max_size=3), st.booleans())
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_triangle_inequality_holds(sets: Any, unbalanced: bool) -> None:
    a, b, c = (drawn(rows) for rows in sets)
    settings: dict[str, Any] = {"unbalanced": unbalanced, "mismatch": 2.0 if unbalanced else 100.0}
    assert w2(a, c, **settings) <= w2(a, b, **settings) + w2(b, c, **settings) + 1e-6


@given(st.lists(st.floats(0.1, 9), min_size=1, max_size=6), st.lists(st.floats(0.1, 9), min_size=1, max_size=6))
@hypothesis_settings(max_examples=60, deadline=None)
def test_where_nothing_is_missing_both_readings_of_a_mismatch_are_one(first: list[float], second: list[float]) -> None:
    a, b = [masses(*first)], [masses(*second)]
    assert w2(a, b) == w2(a, b, at_mismatch="printed")


def test_grouping_by_factors_compares_entities_of_other_types() -> None:
    ball, charger = scene(("Ball", {})), scene(("Charger", {}))
    apart = w2([ball], [charger], grouping="factors")
    assert apart == pytest.approx(np.sqrt(2))  # charge and mobile
    assert w2([ball], [scene(("Hole", {}))], grouping="factors") == pytest.approx(np.sqrt(2) * 100)


def test_order_counts_unless_it_is_left_out() -> None:
    first, second = scene(("Ball", {"Order": 1})), scene(("Ball", {"Order": 4}))
    assert w2([first], [second]) == pytest.approx(3)
    assert w2([first], [second], order=False) == 0


def test_settings_of_the_simulation_count() -> None:
    assert w2([scene(friction=0.1)], [scene(friction=0.5)]) == pytest.approx(0.4)
    assert w2([scene(friction=0.1)], [scene(friction=0.5)], grouping="factors") == 0


def test_a_parameter_that_a_scene_does_not_give_has_its_default() -> None:
    class Breeze(Parameter, default=2.0):
        pass

    try:
        assert w2([scene(parameters={"Breeze": 5.0})], [scene()]) == pytest.approx(3)
        assert w2([scene(parameters={"Breeze": 2.0})], [scene()]) == 0
    finally:
        del PARAMETERS[Breeze.__name__]


@pytest.mark.parametrize(
    ("name", "other"), [("objectsx3-hard",) * 2, ("tilesx3-easy", "tilesx3-hard"), ("billiards", "billiards")]
)
def test_w2_is_that_of_the_algorithm_as_written(name: str, other: str) -> None:
    first, second = levels(name, n=7), levels(other, "test", n=5)
    assert w2(first, second) == pytest.approx(plain_w2(first, second), abs=1e-9)


def test_w2_is_a_distance() -> None:
    a, b, c = levels("objectsx1-easy"), levels("objectsx1-medium"), levels("objectsx1-hard")
    assert w2(a, a) == 0
    assert w2(a, b) == pytest.approx(w2(b, a))
    assert w2(a, c) <= w2(a, b) + w2(b, c) + 1e-9


def test_w2_falls_with_more_levels_and_grows_with_the_difficulty() -> None:
    few, many = (w2(levels("empty-hard", n=n), levels("empty-hard", "test", n=n)) for n in (10, 160))
    assert many < few
    easy = levels("empty-easy", n=50)
    assert w2(easy, levels("empty-easy", "test", n=50)) < w2(easy, levels("empty-medium", n=50))


# Of the first release, 30 levels each: sliced by factors, exact by factors, the same without order.
PUBLISHED = {
    ("empty-easy", "empty-easy"): (0.084, 0.373, 0.076),
    ("empty-hard", "empty-hard"): (0.251, 0.866, 0.717),
    ("empty-easy", "empty-medium"): (0.347, 1.234, 1.177),
    ("empty-easy", "empty-hard"): (0.439, 1.336, 1.309),
    ("objectsx1-hard", "objectsx1-hard"): (0.331, 1.384, 1.176),
    ("tilesx1-hard", "tilesx1-hard"): (0.398, 1.372, 0.861),
    ("empty-easy", "tilesx1-easy"): (0.767, 2.260, 1.010),
}


def measured(names: tuple[str, str], change: Callable[[Scene], Scene] = lambda scene: scene) -> np.ndarray:
    """Sliced, exact and without order: the means of four draws of 30 levels each. :param change: of the first set."""
    found = []
    for seed in range(4):
        first, second = (
            levels(name, split, seed=seed, preset="compat")
            for name, split in zip(names, ("train", "test"), strict=True)
        )
        settings: list[dict[str, Any]] = [{"sliced": True}, {}, {"order": False}]
        found.append([w2([change(each) for each in first], second, grouping="factors", **each) for each in settings])
    return np.mean(found, 0)


def with_default_sizes(scene: Scene) -> Scene:
    """The Size of objects is the default of the factor, whatever their shape."""
    entities = (
        replace(each, factors={**each.factors, Size: 1.0}) if issubclass(each.type, Object) else each
        for each in scene.entities
    )
    return replace(scene, entities=tuple(entities))


def test_easy_and_hard_objects_are_near_the_first_release_where_sizes_do_not_follow_shapes() -> None:
    """Of easy levels no prior sets a Size. That it is then 1.0 there, and not the 0.2 of the shape, is a guess: it
    explains what was measured of one draw, 0.615 sliced, 2.027 exact and 1.932 without order."""
    names = "objectsx1-easy", "objectsx1-hard"
    assert measured(names) == pytest.approx([0.53, 1.82, 1.70], abs=0.08)
    sliced, exact, unordered = measured(names, with_default_sizes)
    assert (exact, unordered) == (pytest.approx(2.027, abs=0.12), pytest.approx(1.932, abs=0.12))
    assert sliced == pytest.approx(0.615, rel=0.27)


@pytest.mark.parametrize("names", PUBLISHED)
def test_compat_is_near_the_first_release(names: tuple[str, str]) -> None:
    """One draw of theirs against the mean of four: exact within 0.12, and sliced within a quarter, as the weight of
    each factor in 50 directions hangs on the order of the factors."""
    sliced, exact, unordered = measured(names)
    expected = PUBLISHED[names]
    assert exact == pytest.approx(expected[1], abs=0.12)
    assert unordered == pytest.approx(expected[2], abs=0.12)
    assert sliced == pytest.approx(expected[0], rel=0.27)


def test_sliced_distances_are_those_of_pot() -> None:
    """POT 0.9.7: sliced_wasserstein_distance with 50 projections and seed 0, of these sets, squared."""
    rng = np.random.default_rng(5)
    published = {(1, 1, 3): 2.0328779638800816, (2, 2, 4): 1.1861127289779663, (2, 3, 5): 1.2844103583204485}
    for (n, m, d), expected in published.items():
        a, b = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        assert sliced_costs(a[None], b[None])[0, 0] == pytest.approx(expected, abs=1e-12)


def test_a_hundred_levels_of_six_entities_take_no_seconds() -> None:
    first, second = levels("objectsx4-hard", n=100), levels("objectsx4-hard", "test", n=100)
    assert cost(lambda: (w2(first, second), w2(first, second, grouping="factors"), ks(first, second))) < 60


def test_ks_of_one_number_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(5, 1, 40), rng.normal(5.3, 1, 55)
    first, second = [masses(each) for each in a], [masses(each) for each in b]
    assert ks(first, second) == pytest.approx(stats.ks_2samp(a, b).statistic)


def test_ks_is_the_supremum_over_all_values() -> None:
    """Against all combinations of values of two types with two numbers each."""
    rng = np.random.default_rng(1)

    def tasks(n: int, shift: float) -> list[Scene]:
        found = []
        for _ in range(n):
            (m, c), (x, y) = rng.normal(3 + shift, 1, 2), rng.normal(3, 1 + shift, 2)
            entities = [("Ball", {"Mass": m, "Charge": c}), ("Charger", {"Mass": x, "Charge": y})]
            found.append(scene(*entities[: rng.integers(1, 3)]))
        return found

    first, second = tasks(9, 0.0), tasks(7, 0.4)

    def products(set_: list[Scene], values: dict[tuple[str, str], np.ndarray]) -> np.ndarray:
        total = np.ones(())
        for kind in ("Ball", "Charger"):
            mine = [e for task in set_ for e in task.entities if e.type.__name__ == kind]
            grids = []
            for name in ("Mass", "Charge"):
                own = [value for e in mine for factor, value in e.factors.items() if factor.__name__ == name]
                grids.append((np.array(own)[None] <= values[kind, name][:, None]).mean(1))
            share = len(mine) / len(set_)
            total = np.multiply.outer(total, 1 - share + share * np.multiply.outer(*grids))
        return total

    values = {
        (kind, name): np.array(
            [-np.inf]
            + [
                value
                for task in first + second
                for e in task.entities
                if e.type.__name__ == kind
                for factor, value in e.factors.items()
                if factor.__name__ == name
            ]
        )
        for kind in ("Ball", "Charger")
        for name in ("Mass", "Charge")
    }
    expected = np.abs(products(first, values) - products(second, values)).max()
    assert ks(first, second) == pytest.approx(expected, abs=1e-12)
    assert ks(second, first) == pytest.approx(expected, abs=1e-12)


def test_ks_tells_types_apart() -> None:
    ball, charger = scene(("Ball", {})), scene(("Charger", {}))
    assert ks([ball], [charger]) == 1
    assert ks([ball, charger], [ball, ball, ball, charger]) == pytest.approx(0.25)
    assert ks([ball], [ball]) == 0


def test_an_empty_set_is_told() -> None:
    for measure in (w2, ks, task_costs):
        with pytest.raises(InputError, match="a set of tasks is empty"):
            measure([], [masses(1.0)])
        with pytest.raises(InputError, match="a set of tasks is empty"):
            measure([masses(1.0)], [])


def test_a_grouping_that_there_is_not_is_told() -> None:
    with pytest.raises(InputError, match="grouping is 'id'; it can be type, factors"):
        w2([masses(1.0)], [masses(1.0)], grouping="id")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="at_mismatch is 'm'; it can be 2022, printed"):
        w2([masses(1.0)], [masses(1.0)], at_mismatch="m")  # pyright: ignore[reportArgumentType]
