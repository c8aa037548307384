"""What each test asks: the paper's examples as moves, the definitions over all knowledge bases, the reasons."""

from collections.abc import Sequence
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.halma import Maze, Mazes, path_of_rank, rank_of_path, sample_mazes
from gumption.envs.halma.diagnostics import (
    TESTS,
    Pair,
    definitions,
    diagnose,
    draw_maze,
    matched_mazes,
    shape_of,
)
from gumption.envs.halma.generator import ranks_of_length
from gumption.envs.halma.knowledge_base import KnowledgeBases
from gumption.envs.halma.maze import DIRECTIONS
from gumption.envs.halma.memory import VALID, Memory
from gumption.envs.halma.splits import Facts

PAIRS = [(d1, d2) for d1, d2 in product(range(1, 10), repeat=2) if d1 > d2]


def panel(**shown: int) -> list[int]:
    """A panel row: `left_wall=5, up_crossing=3`."""
    row = [0] * 11
    for name, value in shown.items():
        direction, kind = name.split("_")
        row[DIRECTIONS.index(direction) + 4 * (kind == "wall")] = value
    return row


Move = tuple[list[int], list[int], list[int]]


def asked_after(*moves: Move, times: int = 3, stopped: Sequence[Move] = ()) -> dict[str, set[Pair]]:
    """What the tests ask an agent that made some valid moves (s, option, s'), each so many times, and tried others."""
    made = [*moves] * times + [*stopped]
    before, option, after = (list(parts) for parts in zip(*made, strict=True))
    padded = [[*o, *[0] * (6 - len(o))] for o in option]
    flags = [VALID] * (len(made) - len(stopped)) + [0] * len(stopped)
    diagnosis = diagnose(KnowledgeBases.of(Memory.of(5, before, padded, after, flags=flags)))
    return {test: set(diagnosis.pairs(test)) for test in TESTS}


def every_type(d1: int, d2: int) -> set[Pair]:
    return {Pair(d1, d2, x) for x in DIRECTIONS}


LEFT, UP, RIGHT, DOWN = range(4)
NOTHING = panel()
# One valid move at a panel that shows a crossing at 3 and a wall at 5 above; the move itself tells nothing.
SEEN_UP = (panel(up_crossing=3, up_wall=5), [LEFT, 1], NOTHING)


def test_st_1_asks_for_what_was_seen_and_st_2_for_its_other_types() -> None:
    asked = asked_after(SEEN_UP)
    assert asked["ST-1"] == {Pair(5, 3, "up")}
    assert asked["ST-2"] == every_type(5, 3) - {Pair(5, 3, "up")}
    assert not any(asked[test] for test in TESTS[2:])


def test_what_random_exploration_did_twice_is_not_known() -> None:
    assert not any(asked_after(SEEN_UP, times=2).values())


def test_aft_1_asks_for_pairs_that_a_move_showed_and_aft_3_for_their_other_types() -> None:
    """A red 5, two steps to the left, a red 3."""
    asked = asked_after((panel(left_wall=5), [LEFT, 2], panel(left_wall=3)))
    assert asked["AfT-1"] == {Pair(5, 3, "left")}
    assert asked["AfT-3"] == every_type(5, 3) - {Pair(5, 3, "left")}
    assert not any(asked[test] for test in ("ST-1", "ST-2", "AfT-2", "AfT-4", "AnT"))


def test_aft_2_asks_for_pairs_of_digits_that_were_used_up_and_aft_4_for_their_other_types() -> None:
    """An orange 5 used up by 2+3, an orange 3 by 3."""
    asked = asked_after((panel(up_wall=5), [UP, 2, 3], NOTHING), (panel(up_wall=3), [UP, 3], NOTHING))
    assert asked["AfT-2"] == {Pair(5, 3, "up")}
    assert asked["AfT-4"] == every_type(5, 3) - {Pair(5, 3, "up")}
    assert not any(asked[test] for test in ("ST-1", "ST-2", "AfT-1", "AfT-3", "AnT"))


def test_aft_4_takes_digits_that_were_understood_in_different_types() -> None:
    """A green 3 and a yellow 5."""
    asked = asked_after((panel(down_wall=3), [DOWN, 3], NOTHING), (panel(right_wall=5), [RIGHT, 5], NOTHING))
    assert asked["AfT-4"] == every_type(5, 3)
    assert not any(asked[test] for test in TESTS if test != "AfT-4")


def test_an_affordance_pair_that_was_seen_is_not_asked_again() -> None:
    asked = asked_after(SEEN_UP, (panel(left_wall=5), [LEFT, 2], panel(left_wall=3)))
    assert not any(asked[test] for test in TESTS[2:])
    assert Pair(5, 3, "left") in asked["ST-2"]


CHANGED = (panel(left_wall=5), [LEFT, 2], panel(left_wall=3))  # AfT-1 and AfT-3 ask for 5 > 3


@pytest.mark.parametrize(
    "shows",
    [
        (panel(up_crossing=3, up_wall=5), [RIGHT, 3], panel(up_crossing=3, up_wall=5)),
        (panel(up_wall=9), [RIGHT, 3], panel(up_crossing=3, up_wall=5)),
    ],
    ids=["s", "s'"],
)
def test_what_panels_showed_at_invalid_moves_was_seen(shows: Move) -> None:
    assert asked_after(CHANGED, stopped=[shows] * 2)["AfT-1"] == {Pair(5, 3, "left")}
    assert not any(asked_after(CHANGED, stopped=[shows] * 3).values())


def test_what_was_seen_in_any_colours_counts_together(make_knowledge) -> None:
    """Two times in red and once in blue is three times; this holds for AfT and AnT, and ST-2 stays as it is."""
    twice = {(5, 3, "left"): 2}
    for evidence in ({"c": [(5, 3, "left")]}, {"a": [(5, "up"), (3, "up")]}):
        assert {pair[:2] for pair in asked(make_knowledge(**evidence, shown=twice)).values()} == {(5, 3)}
        assert not asked(make_knowledge(**evidence, shown=twice | {(5, 3, "up"): 1}))
    follows = {"s": TEMPLATE + CHAIN}
    assert diagnose(make_knowledge(**follows, shown={(8, 6, "up"): 2})).queries["AnT"][8, 6].all()
    shown = diagnose(make_knowledge(**follows, shown={(8, 6, "up"): 2, (8, 6, "left"): 1}))
    assert not shown.queries["AnT"].any()
    assert shown.reasons["AnT"].endswith("of the other 31, 1 that two known ones entail were shown as often")
    assert shown.queries["ST-2"].sum() == 3 * len(follows["s"])


def asked(knowledge: KnowledgeBases) -> dict[str, Pair]:
    """A pair of each test that asks for something."""
    diagnosis = diagnose(knowledge)
    return {test: diagnosis.pairs(test)[0] for test in TESTS if diagnosis.pairs(test)}


def test_a_pair_and_type_belong_to_the_first_test_that_may_ask_for_them(make_knowledge) -> None:
    diagnosis = diagnose(make_knowledge(c=[(5, 3, "left")], a=[(5, "left"), (3, "left"), (5, "up"), (3, "up")]))
    asked = {test: set(diagnosis.pairs(test)) for test in TESTS}
    assert asked["AfT-1"] == {Pair(5, 3, "left")}
    assert asked["AfT-2"] == {Pair(5, 3, "up")}
    assert asked["AfT-3"] == {Pair(5, 3, "right"), Pair(5, 3, "down")}
    assert not asked["AfT-4"]


TEMPLATE = [(4, 3, "left"), (5, 4, "up"), (5, 3, "right")]
CHAIN = [(7, 6, "down"), (8, 7, "up")]


def test_ant_asks_for_what_follows_once_a_template_is_known(make_knowledge) -> None:
    assert set(diagnose(make_knowledge(c=TEMPLATE + CHAIN)).pairs("AnT")) == every_type(8, 6)
    assert set(diagnose(make_knowledge(s=TEMPLATE, c=CHAIN)).pairs("AnT")) == every_type(8, 6)
    assert not diagnose(make_knowledge(c=CHAIN)).pairs("AnT")


@pytest.mark.parametrize(
    "more",
    [
        {"s": [(8, 6, x) for x in DIRECTIONS]},  # then it is in no query of ST-2, and known all the same
        {"s": [(8, 6, "up")]},
        {"c": [(8, 6, "up")]},
        {"a": [(8, "up"), (6, "down")]},
    ],
)
def test_ant_does_not_ask_for_what_is_known(make_knowledge, more) -> None:
    known: dict[str, list[Any]] = {"s": TEMPLATE + CHAIN, "c": [], "a": []}
    assert set(diagnose(make_knowledge(**known)).pairs("AnT")) == every_type(8, 6)
    known |= {name: [*known[name], *facts] for name, facts in more.items()}
    assert not diagnose(make_knowledge(**known)).pairs("AnT")


types = st.sampled_from(DIRECTIONS)
pairs = st.tuples(st.sampled_from(PAIRS), types).map(lambda drawn: (*drawn[0], drawn[1]))
known = st.fixed_dictionaries(
    {
        "s": st.sets(pairs, max_size=40),
        "c": st.sets(pairs, max_size=25),
        "a": st.sets(st.tuples(st.integers(1, 9), types), max_size=8),
        "shown": st.dictionaries(pairs, st.integers(1, 3), max_size=20),
    }
)


@given(known=known)
def test_no_two_tests_ask_the_same_and_each_query_meets_its_definition(make_knowledge, known) -> None:
    knowledge = make_knowledge(**known)
    diagnosis = diagnose(knowledge)
    asked = np.array([diagnosis.queries[test] for test in TESTS])
    assert asked.sum(0).max() <= 1
    met = definitions(knowledge)
    assert all((diagnosis.queries[test] <= met[test]).all() for test in TESTS)
    assert (asked.any(0) == np.any(list(met.values()), axis=0)).all()  # what any test may ask, one test does ask


@pytest.mark.slow
@given(known=known)
def test_the_tables_say_the_same_as_the_checkers_sets(make_knowledge, known) -> None:
    knowledge = make_knowledge(**known)
    diagnosis = diagnose(knowledge)
    queries = {pair: test for test in TESTS for pair in diagnosis.pairs(test)}
    assert queries == Facts.of(knowledge).owners


@given(known=known)
def test_a_test_has_queries_or_a_reason(make_knowledge, known) -> None:
    diagnosis = diagnose(make_knowledge(**known))
    assert [test for test in TESTS if not diagnosis.pairs(test)] == list(diagnosis.reasons)


ALL = [(d1, d2, x) for d1, d2 in PAIRS for x in DIRECTIONS]
REST = [pair for pair in ALL if pair[:2] not in ((9, 8), (9, 7))]  # leaves two pairs that no panel has shown


@pytest.mark.parametrize(
    ("known", "test", "reason"),
    [
        ({}, "ST-1", "of 36 pairs none is in KB_S"),
        ({}, "ST-2", "of 36 pairs none is in KB_S"),
        ({"s": REST}, "ST-2", "of 36 pairs 34 are in KB_S, each of them with all four types"),
        ({"s": ALL}, "AfT-1", "all 36 pairs are in KB_S"),
        ({"s": REST}, "AfT-1", "of 36 pairs 34 are in KB_S; of the other 2, none is in KB_C"),
        ({"s": REST}, "AfT-2", "of 36 pairs 34 are in KB_S; of the other 2, none is in KB_A"),
        (
            {"s": REST, "a": [(9, "up"), (8, "left")]},
            "AfT-2",
            "of 36 pairs 34 are in KB_S; of the other 2, 1 are in KB_A, none with both digits understood in one type",
        ),
        (
            {"s": REST, "c": [(9, 8, "up")], "a": [(9, "up"), (8, "up")]},
            "AfT-2",
            "of 36 pairs 34 are in KB_S; of the other 2, 1 (counted with types) would do, but they belong to AfT-1",
        ),
        (
            {"s": REST, "c": [(9, 8, x) for x in DIRECTIONS]},
            "AfT-3",
            "of 36 pairs 34 are in KB_S; of the other 2, 1 are in KB_C, each with all four types",
        ),
        (
            {"s": REST, "a": [(digit, x) for digit in (9, 8) for x in DIRECTIONS]},
            "AfT-4",
            "of 36 pairs 34 are in KB_S; of the other 2, 1 are in KB_A, each with both digits understood in all four "
            "types",
        ),
        (
            {"s": REST, "shown": {(9, 8, "up"): 3}},
            "AfT-1",
            "of 36 pairs 34 are in KB_S and 1 more were shown as often; of the other 1, none is in KB_C",
        ),
        (
            {"s": REST, "shown": {(9, 8, "up"): 3, (9, 7, "up"): 2, (9, 7, "left"): 1}},
            "AfT-4",
            "of 36 pairs 34 are in KB_S and 2 more were shown as often",
        ),
        ({"s": ALL}, "AnT", "all 36 pairs are known from KB_S, KB_C or KB_A"),
        (
            {"s": REST},
            "AnT",
            "of 36 pairs 34 are known from KB_S, KB_C or KB_A; none of the other 2 follows from two known ones",
        ),
        (
            {"s": CHAIN},
            "AnT",
            "of 36 pairs 2 are known from KB_S, KB_C or KB_A; there is no template, three known pairs d1>d2, d2>d3 and "
            "d1>d3",
        ),
    ],
)
def test_the_reason_why_a_test_asks_nothing(make_knowledge, known, test, reason) -> None:
    assert diagnose(make_knowledge(**known)).reasons[test] == reason


# ---- controls


def of_one_pair(count: int) -> Mazes:
    rng = np.random.default_rng(1)
    return Mazes(draw_maze(rng, Pair(7, 4, "up"))[0] for _ in range(count))


def test_a_shape_is_that_of_the_mazes() -> None:
    mazes = of_one_pair(5)
    for maze, (way, ends, crossings) in zip(mazes, shape_of(mazes).tolist(), strict=True):
        assert way == len(maze.optimal_path) - 1
        assert ends == sum(maze.degree(cell) == 1 for cell in maze.cells if cell not in (maze.start, maze.goal))
        assert crossings == len(maze.crossings)


def test_matched_random_mazes_have_the_shape_of_the_test() -> None:
    mazes, training = of_one_pair(20), sample_mazes(50, 0)
    found = matched_mazes(mazes, seed=3, but=training)
    ours, theirs = shape_of(mazes), shape_of(found)
    np.testing.assert_array_equal(theirs[:, 0], ours[:, 0])
    assert np.abs(ours - theirs)[:, 1:].mean() < 0.5
    unmatched = shape_of(Mazes(sample_mazes(20, 0, 5, 5)))
    assert abs(unmatched[:, 0].mean() - ours[:, 0].mean()) > 2, "random mazes have longer ways"
    paths = {rank_of_path(maze.optimal_path) for maze in (*mazes, *training)}
    own = [rank_of_path(maze.optimal_path) for maze in found]
    assert len({*paths, *own}) == len(paths) + len(own)
    assert matched_mazes(mazes, seed=3, but=training).fingerprint == found.fingerprint
    assert matched_mazes(mazes, seed=4, but=training).fingerprint != found.fingerprint


def test_more_short_ways_than_there_are_cannot_be_matched() -> None:
    mazes = Mazes(Maze((0, 0), goal, [((0, 0), goal)]) for goal in ((1, 0), (0, 1), (-1, 0)))
    with pytest.raises(InputError, match="there are 1 other ways of 1 cells; 3 mazes need one each: give fewer"):
        matched_mazes(mazes)


@pytest.mark.parametrize("length", [1, 2, 9, 18, 19])
def test_the_ranks_of_a_length_are_those_of_its_paths(length) -> None:
    ranks = ranks_of_length(length)
    assert len(ranks) == sum(comb(length, x) * (1 + (x > 0)) * (1 + (x < length)) for x in range(length + 1)
                             if x <= 9 and length - x <= 9)  # fmt: skip
    assert {len(path_of_rank(int(rank))) for rank in ranks[:: max(1, len(ranks) // 50)]} <= {length + 1}
