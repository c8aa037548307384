"""The checker: it finds nothing in what is made, and finds every change that was made to it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.envs.halma import Maze, Mazes, panel_row, sample_mazes
from gumption.envs.halma.diagnostics import TESTS, Asked, Pair, Record, build_tests
from gumption.envs.halma.maze import DIRECTIONS
from gumption.envs.halma.splits import (
    Facts,
    Splits,
    check_record,
    check_splits,
    load_splits,
    split_contents,
    write_splits,
)

TRAINING = sample_mazes(10, seed=0)
FACTS = {
    "s": [(5, 3, "up"), (5, 2, "up"), (3, 2, "up"), (7, 6, "left")],
    "c": [(6, 5, "down"), (8, 7, "left")],
    "a": [(9, "up"), (4, "up"), (1, "left")],
}


@pytest.fixture(scope="module")
def knowledge(make_knowledge):
    arrays = Mazes(TRAINING)
    return make_knowledge(**FACTS, panels=arrays.rows[arrays.inside])


@pytest.fixture(scope="module")
def splits(knowledge, tmp_path_factory) -> Splits:
    folder = tmp_path_factory.mktemp("splits") / "made"
    built = build_tests(knowledge, TRAINING, mazes=4)
    write_splits(folder, split_contents(built, knowledge, seed=0, mazes=4))
    return load_splits(folder)


def test_nothing_is_found_in_splits_as_they_were_made(splits, knowledge) -> None:
    assert set(splits) == {"T", "RT", *TESTS}
    assert check_splits(splits, knowledge, TRAINING) == []


types = st.sampled_from(DIRECTIONS)
pairs = st.tuples(st.integers(1, 8), st.integers(1, 8), types).map(lambda p: (max(p[:2]) + 1, min(p[:2]), p[2]))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    s=st.sets(pairs, max_size=20),
    c=st.sets(pairs, max_size=20),
    a=st.sets(st.tuples(st.integers(1, 9), types), max_size=8),
    seed=st.integers(0, 2**32),
)
def test_nothing_is_found_in_what_is_made_from_any_knowledge(make_knowledge, splits, s, c, a, seed) -> None:
    knowledge = make_knowledge(s=s, c=c, a=a)
    built = build_tests(knowledge, TRAINING, seed=seed, mazes=3)
    records = {test: made.records for test, made in built.items() if made.records}
    tests = {test: {"refused": []} for test in built}
    made = Splits(records, {"knowledge": {"fingerprint": knowledge.fingerprint}, "tests": tests})
    assert check_splits(made, knowledge, TRAINING) == []


def with_record(splits: Splits, test: str, record: Record) -> Splits:
    """The splits with another first record of a test."""
    return Splits({**splits.records, test: (record, *splits.records[test][1:])}, splits.manifest)


def asking(record: Record, **changed) -> Record:
    assert record.asked is not None
    return replace(record, asked=record.asked._replace(**changed))


def first(splits: Splits, test: str) -> tuple[Record, Asked]:
    record = splits.records[test][0]
    assert record.asked is not None
    return record, record.asked


def raised(splits: Splits) -> Record:
    record, asked = first(splits, "ST-1")
    return asking(record, pair=asked.pair._replace(d1=asked.pair.d1 + 1))


def lowered(splits: Splits) -> Record:
    record, asked = first(splits, "ST-1")
    return asking(record, pair=asked.pair._replace(d2=asked.pair.d2 - 1))


def turned(splits: Splits) -> Record:
    record, asked = first(splits, "ST-1")
    return asking(record, pair=asked.pair._replace(type="down"))


def elsewhere(splits: Splits) -> Record:
    record, asked = first(splits, "ST-1")
    way = record.maze.optimal_path
    return asking(record, cell=way[way.index(asked.cell) + 1])


def outside(splits: Splits) -> Record:
    return asking(first(splits, "ST-1")[0], cell=(99, 0))


def another_panel(splits: Splits) -> Record:
    record, asked = first(splits, "ST-1")
    return asking(record, panel=(*asked.panel[:10], (asked.panel[10] + 1) % 5))


def another_count(splits: Splits) -> Record:
    return asking(first(splits, "ST-1")[0], seen=1)


def another_sighting(splits: Splits) -> Record:
    return asking(first(splits, "ST-1")[0], sightings=4)


def another_question(splits: Splits) -> Record:
    return asking(first(splits, "ST-1")[0], others=(Pair(9, 8, "up"),))


def another_maze(splits: Splits) -> Record:
    return replace(first(splits, "ST-1")[0], maze=splits.records["RT"][0].maze)


def another_test(splits: Splits) -> Record:
    return replace(first(splits, "AfT-1")[0], test="ST-1")


def nothing_asked(splits: Splits) -> Record:
    return replace(first(splits, "ST-1")[0], asked=None)


def training_maze(splits: Splits) -> Record:
    return replace(first(splits, "ST-1")[0], maze=TRAINING[3])


def moved_training_maze(splits: Splits) -> Record:
    maze = TRAINING[3]
    edges = [[(x + 2, y - 7) for x, y in edge] for edge in maze.edges]
    start, goal = ((x + 2, y - 7) for x, y in (maze.start, maze.goal))
    return replace(first(splits, "ST-1")[0], maze=Maze(start, goal, edges))


def repeated(splits: Splits) -> Record:
    return splits.records["ST-1"][1]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (raised, "it claims"),
        (lowered, "it claims"),
        (turned, "it claims"),
        (elsewhere, "it claims"),
        (outside, "the maze has no cell (99, 0)"),
        (another_panel, "it claims ["),
        (another_count, "were met 0 times, it claims 1"),
        (another_sighting, "the pair was seen 3 times, it claims 4"),
        (another_question, "elsewhere the maze asks for"),
        (another_maze, "the same maze as RT.jsonl:1"),
        (another_test, "is no question of ST-1: it belongs to AfT-1"),
        (nothing_asked, "asks for nothing"),
        (training_maze, "the same maze as a training maze"),
        (moved_training_maze, "the same maze as a training maze"),
        (repeated, "the same maze as ST-1.jsonl:1"),
    ],
)
def test_a_changed_record_is_found(splits, knowledge, change: Callable[[Splits], Record], fault: str) -> None:
    found = check_splits(with_record(splits, "ST-1", change(splits)), knowledge, TRAINING)
    assert any(fault in told for told in found)
    assert all(".jsonl:" in told.split()[0] for told in found)


def test_a_pair_that_two_tests_ask_for_is_found(splits, knowledge) -> None:
    (stolen, _), (record, _) = first(splits, "AfT-1"), first(splits, "AfT-3")
    found = check_splits(with_record(splits, "AfT-3", replace(record, asked=stolen.asked)), knowledge, TRAINING)
    assert "AfT-3.jsonl:1: asks for a pair that AfT-1 asks for" in found


def test_a_panel_that_was_met_is_found(splits, knowledge, make_knowledge) -> None:
    panels = np.array([asked.panel for _, asked in (first(splits, test) for test in ("ST-1", "AnT"))], dtype=np.int8)
    panels[:, 10] = (panels[:, 10] + 1) % 5  # whatever its hint
    facts = Facts.of(make_knowledge(**FACTS, panels=panels))
    for test in ("ST-1", "AnT"):
        record, asked = first(splits, test)
        assert check_record(record, facts) == [
            f"the digits at {asked.cell} were met 3 times, it claims 0",
            f"the digits at {asked.cell} were met 3 times in training",
        ]


def test_st_1_may_ask_at_a_panel_that_was_rarely_met(splits, knowledge) -> None:
    for test, faults in (("ST-1", []), ("AnT", ["were met 2 times in training"])):
        record, asked = first(splits, test)
        facts = replace(Facts.of(knowledge), panels={asked.panel[:10]: 2})
        found = check_record(asking(record, seen=2), facts)
        assert [told.partition(") ")[2] for told in found] == faults


def test_other_training_mazes_are_found(splits, knowledge) -> None:
    found = check_splits(splits, knowledge, TRAINING[1:])
    assert found == ["T: not the mazes that the run was trained on"]


def test_other_knowledge_is_found(splits, knowledge) -> None:
    found = check_splits(splits, replace(knowledge, memory="another"), TRAINING)
    assert found == [
        "the splits were made from other knowledge bases than those of this run, or with other settings of them"
    ]


def test_a_test_that_is_missing_without_need_is_found(splits, knowledge) -> None:
    without = Splits({test: splits.records[test] for test in splits if test != "AfT-1"}, splits.manifest)
    assert check_splits(without, knowledge, TRAINING) == ["AfT-1: has no mazes, but it could ask for 6>5, down"]
    refused = [{"pair": [6, 5], "type": "down"}, {"pair": [8, 7], "type": "left"}]
    tests = {**splits.manifest["tests"], "AfT-1": {"refused": refused}}
    assert check_splits(Splits(without.records, {**splits.manifest, "tests": tests}), knowledge, TRAINING) == []


def test_a_pair_in_rt_is_found(splits, knowledge) -> None:
    record, _ = first(splits, "ST-1")
    assert check_record(replace(record, test="RT"), Facts.of(knowledge)) == ["RT asks for no pair"]


# ---- mazes whose panel shows 5 and 3 upwards, and where nothing depends on it

UPWARDS = [((0, y), (0, y + 1)) for y in range(5)]
SPUR = [((0, 3), (1, 3))]


def asked_up(knowledge, start, goal, edges, others=(), cell=(0, 0)) -> list[str]:
    maze = Maze(start, goal, edges)
    row = tuple(int(value) for value in panel_row(maze, cell))
    assert (row[5], row[1]) == (5, 3)
    return check_record(
        Record("ST-1", maze, (0,), Asked(Pair(5, 3, "up"), cell, row, 0, 3, others)), Facts.of(knowledge)
    )


def test_the_maze_that_the_others_are_changed_from_is_right(knowledge) -> None:
    assert asked_up(knowledge, (0, 0), (1, 3), UPWARDS + SPUR) == []


def test_a_path_that_runs_straight_on_is_found(knowledge) -> None:
    found = asked_up(knowledge, (0, 0), (0, 5), UPWARDS + SPUR)
    assert found == [
        "the optimal path does not turn at the crossing (0, 3)",
        "the wall at (0, 5) is no dead end",
    ]


def test_a_path_that_ends_at_the_crossing_is_found(knowledge) -> None:
    found = asked_up(knowledge, (0, 0), (0, 3), UPWARDS + SPUR)
    assert found == ["the optimal path does not turn at the crossing (0, 3)"]


def test_a_path_that_does_not_go_to_the_crossing_is_found(knowledge) -> None:
    found = asked_up(knowledge, (0, 0), (2, 0), [*UPWARDS, *SPUR, ((0, 0), (1, 0)), ((1, 0), (2, 0))])
    assert found == ["the optimal path does not go from (0, 0) to the crossing"]


def test_an_asked_cell_beside_the_path_is_found(knowledge) -> None:
    found = asked_up(knowledge, (0, 3), (2, 3), [*UPWARDS, *SPUR, ((1, 3), (2, 3))])
    assert found == ["(0, 0) is not on the optimal path"]


def test_an_asked_cell_where_nothing_is_decided_is_found(knowledge) -> None:
    found = asked_up(knowledge, (0, -1), (1, 3), [*UPWARDS, *SPUR, ((0, -1), (0, 0))], (Pair(6, 4, "up"),))
    assert found == ["(0, 0) is neither start, corner nor crossing, so that nothing is decided there"]


def test_a_wall_with_a_way_on_is_found(knowledge) -> None:
    found = asked_up(knowledge, (0, 0), (1, 3), [*UPWARDS, *SPUR, ((0, 5), (1, 5))])
    assert found == ["the wall at (0, 5) is no dead end"]
