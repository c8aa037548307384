"""Assignment and order: pure functions of the study and the place, balanced over places."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.scripts.people.study.design import design, latin_square, seed_of, shuffled, square_rows
from tests.scripts.people.study.studies import study

LEVELS = {"a": {}, "b": {}, "c": {}}


def conditions(*sizes: tuple[str, bool, int]) -> list[dict]:
    return [
        {"name": name, "between": between, "levels": {f"l{k}": {} for k in range(size)}}
        for name, between, size in sizes
    ]


@given(size=st.integers(1, 12))
def test_a_latin_square_is_balanced_in_places_and_neighbours(size: int) -> None:
    rows = [latin_square(size, row) for row in range(square_rows(size))]
    assert all(sorted(row) == list(range(size)) for row in rows)
    for place in range(size):
        assert len(set(Counter(row[place] for row in rows).values())) == 1
    neighbours = Counter(pair for row in rows for pair in pairwise(row))
    assert len(neighbours) == size * (size - 1)
    assert len(set(neighbours.values())) <= 1
    assert latin_square(size, square_rows(size)) == rows[0]


@settings(max_examples=25, deadline=None)
@given(
    first=st.integers(2, 4), second=st.integers(2, 3), start=st.integers(0, 40), title=st.text(min_size=1, max_size=5)
)
def test_conditions_between_people_are_balanced_within_each_round(
    first: int, second: int, start: int, title: str
) -> None:
    one = study(conditions=conditions(("x", True, first), ("y", True, second)), title=title)
    count = first * second
    cells = Counter(tuple(design(one, place).condition.values()) for place in range(start * count, (start + 1) * count))
    assert len(cells) == count
    assert set(cells.values()) == {1}


@settings(max_examples=25, deadline=None)
@given(between=st.integers(2, 3), levels=st.integers(2, 4))
def test_orders_within_people_are_balanced_in_each_condition_between_them(between: int, levels: int) -> None:
    one = study(conditions=conditions(("x", True, between), ("y", False, levels)), practice=[])
    one = one.model_copy(update={"blocks": one.blocks[:1]})
    rounds = square_rows(levels)
    orders: dict[str, Counter] = {}
    for place in range(between * rounds):
        own = design(one, place)
        order = tuple(played.levels["y"] for played in own.blocks)
        assert sorted(order) == [f"l{k}" for k in range(levels)]
        orders.setdefault(own.condition["x"], Counter())[order] += 1
    for counted in orders.values():
        assert len(counted) == rounds
        assert set(counted.values()) == {1}


def test_two_orders_are_balanced_together() -> None:
    one = study(conditions=conditions(("x", False, 2), ("y", False, 3)), practice=[], block_order="latin square")
    seen = Counter()
    for place in range(2 * 6 * 2 * 6 * 2):
        own = design(one, place)
        first = own.blocks[0]
        seen[first.block.name, first.levels["x"], first.levels["y"]] += 1
    assert len(seen) == 2 * 2 * 3
    assert len(set(seen.values())) == 1


@settings(max_examples=10, deadline=None)
@given(sets=st.sampled_from([1, 2, 3, 6]), size=st.integers(1, 4))
def test_parts_of_the_tasks_are_dealt_out_evenly(sets: int, size: int) -> None:
    each = {"distractors": list(range(sets * size))}
    one = study(practice=[], conditions=[])
    block = one.blocks[0].model_copy(
        update={"tasks": None, "drawn": False, "each": each, "sets": sets, "order": "latin square"}
    )
    one = one.model_copy(update={"blocks": [block]})
    played, firsts = Counter(), Counter()
    for place in range(sets * square_rows(size)):
        numbers = design(one, place).blocks[0].numbers
        assert len({number % sets for number in numbers}) == 1
        played.update(numbers)
        firsts[numbers[0]] += 1
    assert set(played) == set(range(sets * size))
    assert len(set(played.values())) == 1
    assert len(set(firsts.values())) == 1


def test_the_tasks_of_a_place_are_the_same_each_time_and_other_ones_elsewhere() -> None:
    one = study()
    assert design(one, 3) == design(one, 3)
    assert design(one, 3).blocks[0].tasks[0].seed != design(one, 5).blocks[0].tasks[0].seed
    assert design(study(title="another"), 3).blocks[0].tasks[0].seed != design(one, 3).blocks[0].tasks[0].seed


def test_seeds_of_tasks() -> None:
    """Drawn tasks share a seed, as their protocol says; others have their own, counted from a given one."""
    one = study()
    drawn = {task.seed for played in design(one, 0).blocks for task in played.tasks}
    assert len(drawn) == 1
    settings_of = [dict(task.settings) for task in design(one, 0).blocks[1].tasks]
    assert [(own["tasks"], own["number"]) for own in settings_of] == [(2, 0), (2, 1)]
    free = study(blocks__0__drawn=False, blocks__1__drawn=False, blocks__1__seed=7)
    own = design(free, 0).blocks
    assert len({task.seed for task in own[1].tasks}) == 2
    assert [task.seed for task in own[2].tasks] == [7, 8]
    given_seeds = study(blocks__0__tasks=None, blocks__0__drawn=False, blocks__0__each={"seed": [4, 9]})
    assert [task.seed for task in design(given_seeds, 0).blocks[1].tasks] == [4, 9]


def test_levels_are_settings_of_the_blocks_that_they_act_on() -> None:
    one = study(blocks__0__conditions=[])
    own = design(one, 0)
    level = {"one": 1, "three": 3}[own.condition["distractors"]]
    practice, training, test = own.blocks
    assert practice.tasks[0].settings["distractors"] == level == test.tasks[0].settings["distractors"]
    assert "distractors" not in training.tasks[0].settings
    assert practice.practice
    assert not test.practice


@given(st.integers(0, 50), st.text(max_size=5))
def test_an_order_by_chance_is_one_of_all_and_depends_on_its_key(size: int, key: str) -> None:
    assert sorted(shuffled(size, key)) == list(range(size))
    assert shuffled(size, key) == shuffled(size, key)
    assert 0 <= seed_of(key, size) < 2**53


def test_orders_by_chance_favour_no_place() -> None:
    firsts = Counter(shuffled(4, "key", k)[0] for k in range(4000))
    assert min(firsts.values()) > 850


@pytest.mark.parametrize("order", ["fixed", "random"])
def test_the_order_of_blocks(order: str) -> None:
    one = study(practice=[], block_order=order)
    orders = {tuple(played.block.name for played in design(one, place).blocks) for place in range(30)}
    assert orders == ({("training", "test")} if order == "fixed" else {("training", "test"), ("test", "training")})
