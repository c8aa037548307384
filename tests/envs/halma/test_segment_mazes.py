"""Mazes around a pair: what they ask, where, and that nothing of it was met in training."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.halma import Mazes, check_unambiguous, oracle_trials, panel_digits, panel_row, sample_mazes
from gumption.envs.halma.diagnostics import TESTS, Asked, Pair, PanelCounts, build_tests, draw_maze
from gumption.envs.halma.maze import DIRECTIONS, STEPS

TRAINING = sample_mazes(20, seed=0)
# Each of the seven tests has something to ask: ST of pairs that were seen upwards, AfT of 6 and 5, of 8 and 7 through
# moves and of 9, 4 and 1 through affordance, AnT of 8 and 6 by transitivity.
FACTS = {
    "s": [(5, 3, "up"), (5, 2, "up"), (3, 2, "up"), (7, 6, "left")],
    "c": [(6, 5, "down"), (8, 7, "left")],
    "a": [(9, "up"), (4, "up"), (1, "left")],
}


def turn_of(maze, cell) -> int:
    """The direction in which the optimal path leaves a cell."""
    at = maze.optimal_path.index(cell)
    (x, y), (x2, y2) = maze.optimal_path[at : at + 2]
    return STEPS.index((x2 - x, y2 - y))


def asked_in(built, test) -> list[Asked]:
    return [record.asked for record in built[test].records if record.asked]


def place_of(maze, cell, direction) -> str:
    at = maze.optimal_path.index(cell)
    if at == 0:
        return "start"
    if turn_of(maze, maze.optimal_path[at - 1]) == direction:
        return "crossing on a straight stretch" if cell in maze.crossings else "nothing to decide"
    return "corner"


@pytest.mark.parametrize("d1", range(2, 10))
def test_a_maze_shows_its_pair_and_the_path_turns_at_the_crossing(d1) -> None:
    rng = np.random.default_rng(d1)
    for pair in [Pair(d1, d2, x) for d2 in range(1, d1) for x in DIRECTIONS] * 4:
        direction, (dx, dy) = DIRECTIONS.index(pair.type), STEPS[DIRECTIONS.index(pair.type)]
        maze, (x, y) = draw_maze(rng, pair)
        check_unambiguous(maze)
        row = panel_row(maze, (x, y))
        assert (row[4 + direction], row[direction]) == (pair.d1, pair.d2)
        crossing, wall = (x + dx * pair.d2, y + dy * pair.d2), (x + dx * pair.d1, y + dy * pair.d1)
        assert turn_of(maze, (x, y)) == direction
        assert crossing in maze.optimal_path
        assert (turn_of(maze, crossing) - direction) % 2 == 1
        assert wall not in maze.optimal_path
        assert maze.degree(wall) == 1
        assert place_of(maze, (x, y), direction) != "nothing to decide"


def test_a_pair_is_asked_at_starts_corners_and_crossings_and_the_path_turns_to_either_side() -> None:
    rng = np.random.default_rng(0)
    places, turns = Counter(), Counter()
    for _ in range(300):
        maze, cell = draw_maze(rng, Pair(5, 3, "right"))
        places[place_of(maze, cell, 2)] += 1
        turns[turn_of(maze, (cell[0] + 3, cell[1]))] += 1
    assert set(places) == {"start", "corner", "crossing on a straight stretch"}
    assert min(places.values()) > 50
    assert set(turns) == {1, 3}
    assert min(turns.values()) > 100


def test_a_wall_nine_away_leaves_no_straight_stretch_before_it() -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_maze(rng, Pair(9, 4, "up")) for _ in range(60)]
    assert {place_of(maze, cell, 1) for maze, cell in drawn} == {"start", "corner"}


def test_test_mazes_have_more_and_deeper_branches_than_training_mazes() -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_maze(rng, Pair(5, 3, "right"))[0] for _ in range(100)]
    off_path = np.mean([len(maze.cells) - len(maze.optimal_path) for maze in drawn])
    assert off_path > 1.5 * np.mean([len(maze.cells) - len(maze.optimal_path) for maze in TRAINING])


@pytest.fixture(scope="module")
def built(make_knowledge):
    return build_tests(make_knowledge(**FACTS, panels=panels_of(TRAINING)), TRAINING, seed=0, mazes=12)


def panels_of(mazes) -> np.ndarray:
    arrays = Mazes(mazes)
    return arrays.rows[arrays.inside]


def test_every_test_is_built_with_its_mazes_spread_evenly_over_its_pairs(built) -> None:
    assert list(built) == ["T", "RT", *TESTS]
    assert [record.maze for record in built["T"].records] == TRAINING
    for test in TESTS:
        counts = Counter(asked.pair for asked in asked_in(built, test))
        assert counts.total() == 12, test
        assert len(counts) == min(12, built[test].queries), test
        assert max(counts.values()) - min(counts.values()) <= 1, test


def test_no_optimal_path_is_that_of_another_maze_or_of_training(built) -> None:
    paths = [
        tuple((x - maze.start[0], y - maze.start[1]) for x, y in maze.optimal_path)
        for test in built.values()
        for maze in (record.maze for record in test.records)
    ]
    assert len(set(paths)) == len(paths) == 20 + 8 * 12


@pytest.mark.slow
def test_the_same_seed_gives_the_same_mazes_and_another_seed_others(make_knowledge, built) -> None:
    knowledge = make_knowledge(**FACTS, panels=panels_of(TRAINING))
    assert build_tests(knowledge, TRAINING, seed=0, mazes=12) == built
    other = build_tests(knowledge, TRAINING, seed=1, mazes=12)
    assert all(not set(other[test].records) & set(built[test].records) for test in ("RT", *TESTS))


def test_training_mazes_of_the_same_seed_are_other_mazes_than_those_of_rt(make_knowledge) -> None:
    """Streams apart: nothing here says which mazes are taken, and still none is drawn again."""
    drawn = build_tests(make_knowledge(), TRAINING[:1], seed=0, mazes=20)["RT"].records
    assert not {record.maze for record in drawn} & set(sample_mazes(100, 0, mean_depth=5))


def pairs_ahead(maze) -> set[Pair]:
    """Where the oracle stops, the crossing and the wall behind it in the direction in which it goes on."""
    cell, met = maze.start, set()
    for direction, length in oracle_trials(maze, 5).exploring:
        shown = {
            d.kind: d.value for d in panel_digits(maze, cell) if (d.direction, d.kind != "goal") == (direction, True)
        }
        if "crossing" in shown and shown["crossing"] < shown["wall"]:
            met.add(Pair(shown["wall"], shown["crossing"], direction))
        dx, dy = STEPS[DIRECTIONS.index(direction)]
        cell = cell[0] + dx * length, cell[1] + dy * length
    return met


def test_nothing_else_that_is_not_in_kb_s_is_met_on_the_way(make_knowledge) -> None:
    known = {Pair(d1, d2, x) for d1 in range(2, 7) for d2 in range(1, d1) for x in DIRECTIONS}
    built = build_tests(make_knowledge(s=known, a=FACTS["a"]), TRAINING, mazes=30)
    for test in ("ST-1", "AfT-4"):
        for record in built[test].records:
            assert record.asked is not None
            assert pairs_ahead(record.maze) <= known | {record.asked.pair}
            assert record.asked.others == ()


def test_what_else_is_met_is_told_where_it_cannot_be_avoided(make_knowledge, monkeypatch) -> None:
    monkeypatch.setattr("gumption.envs.halma.diagnostics.ATTEMPTS", 1)
    built = build_tests(make_knowledge(**FACTS), TRAINING, mazes=30)
    told = 0
    for test in TESTS:
        for record in built[test].records:
            assert record.asked is not None
            others = {pair for pair in pairs_ahead(record.maze) if pair not in FACTS["s"]} - {record.asked.pair}
            assert record.asked.others == tuple(sorted(others))
            told += bool(others)
    assert told > 20


def test_sightings_are_those_of_the_pair_with_its_type(make_knowledge) -> None:
    knowledge = make_knowledge(**FACTS)
    sightings = np.arange(400).reshape(10, 10, 4)
    built = build_tests(replace(knowledge, sightings=sightings), TRAINING, mazes=4)
    for asked in (question for test in TESTS for question in asked_in(built, test)):
        d1, d2, x = asked.pair
        assert asked.sightings == sightings[d1, d2, DIRECTIONS.index(x)]


@pytest.mark.slow
@pytest.mark.parametrize("hint", [False, True])
def test_an_asked_panel_was_never_met_also_with_another_hint(make_knowledge, built, hint) -> None:
    met = np.array([asked.panel for test in TESTS for asked in asked_in(built, test)], dtype=np.int8)
    if hint:
        met[:, 10] = (met[:, 10] + 1) % 5
    again = build_tests(make_knowledge(**FACTS, panels=met), TRAINING, seed=0, mazes=12)
    met_digits = {tuple(row[:10]) for row in met.tolist()}
    for test in TESTS:
        asked = asked_in(again, test)
        assert [question.seen for question in asked] == [0] * 12
        assert not met_digits & {question.panel[:10] for question in asked}


def test_where_all_panels_were_met_st_1_takes_rare_ones_and_the_others_say_why_not(make_knowledge, monkeypatch) -> None:
    monkeypatch.setattr(PanelCounts, "count", lambda *_: 2)
    monkeypatch.setattr("gumption.envs.halma.diagnostics.ATTEMPTS", 7)
    built = build_tests(make_knowledge(**FACTS), TRAINING, mazes=3)
    assert [asked.seen for asked in asked_in(built, "ST-1")] == [2, 2, 2]
    aft = built["AfT-1"]
    assert not aft.records
    assert aft.reason == f"of {aft.queries} pairs with types none could be built into a maze"
    assert [refused.pair for refused in aft.refused] == [Pair(6, 5, "down"), Pair(8, 7, "left")]
    assert aft.refused[0].reason == (
        "of 7 mazes drawn for it 0 have the optimal path of another maze and 7 a panel that was met in training"
    )


def test_a_panel_that_was_met_as_often_as_the_threshold_is_not_rare(make_knowledge, monkeypatch) -> None:
    monkeypatch.setattr(PanelCounts, "count", lambda *_: 3)
    monkeypatch.setattr("gumption.envs.halma.diagnostics.ATTEMPTS", 7)
    assert not build_tests(make_knowledge(**FACTS), TRAINING, mazes=3)["ST-1"].records


def test_a_pair_that_is_refused_leaves_its_mazes_to_the_others(make_knowledge, monkeypatch) -> None:
    def count(_: PanelCounts, row: np.ndarray) -> int:
        return 9 if row[7] == 6 and row[3] == 5 else 0  # (6, 5, down) was met in every panel

    monkeypatch.setattr(PanelCounts, "count", count)
    built = build_tests(make_knowledge(**FACTS), TRAINING, mazes=5)
    assert [refused.pair for refused in built["AfT-1"].refused] == [Pair(6, 5, "down")]
    assert [asked.pair for asked in asked_in(built, "AfT-1")] == [Pair(8, 7, "left")] * 5


def test_panels_are_counted_whatever_their_hint() -> None:
    rows = np.array([[1, 0, 0, 0, 2, 0, 0, 0, -9, 9, hint] for hint in (0, 3)] + [[0] * 11], dtype=np.int8)
    counts = PanelCounts(rows, np.array([2, 5, 1]))
    assert [counts.count(row) for row in rows] == [7, 7, 1]
    assert counts.count(np.array([1, 0, 0, 0, 2, 0, 0, 0, 9, -9, 0])) == 0
    assert PanelCounts(rows[:0], np.zeros(0)).count(rows[0]) == 0


@pytest.mark.parametrize(("seed", "mazes"), [(-1, 5), (0, 0), (0, 10_001)])
def test_a_seed_or_number_of_mazes_out_of_range_is_refused(make_knowledge, seed, mazes) -> None:
    with pytest.raises(InputError, match=r"(seed|mazes) is .*; it is a whole number"):
        build_tests(make_knowledge(), TRAINING, seed=seed, mazes=mazes)
