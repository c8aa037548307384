from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.halma import Digit, Maze, Mazes, one_hot, panel_digits, panel_row, sample_maze, sample_mazes
from gumption.envs.halma.maze import DIRECTIONS, STEPS

SEEDS = st.integers(0, 2**32 - 1)


def line(*cells):
    return list(pairwise(cells))


# ---- what a panel shows


def test_the_panels_of_the_published_example(golden):
    shown = {
        (0, 0): [(2, "yellow", "crossing"), (1, "orange", "wall"), (5, "yellow", "wall")],
        (2, 0): [(1, "yellow", "crossing"), (1, "orange", "wall"), (3, "yellow", "wall"), (2, "red", "wall")],
        (5, 0): [(1, "red", "crossing"), (1, "green", "crossing"), (5, "red", "wall"), (2, "green", "wall")],
        (5, -1): [(2, "yellow", "crossing"), (2, "yellow", "wall"), (1, "orange", "wall"), (1, "green", "wall")],
        (7, -1): [
            (2, "red", "crossing"),
            (2, "red", "wall"),
            (1, "orange", "wall"),
            (2, "green", "wall"),
        ],
    }
    for cell, digits in shown.items():
        drawn = panel_digits(golden, cell)
        assert sorted((d.value, d.colour, d.kind) for d in drawn if d.kind != "goal") == sorted(digits), cell
        for digit in drawn:
            assert DIRECTIONS.index(digit.direction) == (
                ("red", "orange", "yellow", "green") if digit.kind != "goal" else ("cyan", "blue", "purple", "white")
            ).index(digit.colour)
    assert [d for d in panel_digits(golden, (5, 0)) if d.kind == "goal"] == [
        Digit(2, "purple", "right", "goal"),
        Digit(2, "white", "down", "goal"),
    ]
    assert panel_digits(golden, (7, -2))[-1] == Digit(1, "green", "down", "wall"), "no goal digits at the goal"


def test_hints_of_the_published_example(golden):
    right, down = DIRECTIONS.index("right"), DIRECTIONS.index("down")
    expected = {(0, 0): right, (2, 0): right, (3, 0): right, (4, 0): right, (5, -1): right, (7, -1): down}
    assert {cell: golden.hint(cell) for cell in golden.cells if golden.hint(cell) is not None} == expected
    assert golden.crossings == set(expected) - {(0, 0)}, "at a start with two ways the hint alone is shown"


def test_hints_off_the_path_lead_back_to_it():
    #  the path runs right; above its middle stands a branch that forks
    edges = [*line((0, 0), (1, 0), (2, 0)), *line((1, 0), (1, 1), (1, 2)), ((0, 1), (1, 1))]
    maze = Maze((0, 0), (2, 0), edges)
    assert maze.hint((1, 1)) == DIRECTIONS.index("down")
    assert maze.hint((1, 0)) == DIRECTIONS.index("right")
    assert maze.hint((0, 0)) is None


def test_a_goal_where_corridors_meet_shows_no_hint():
    maze = Maze((0, 0), (1, 0), [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((1, 0), (1, 1))])
    assert (1, 0) in maze.crossings
    assert maze.hint((1, 0)) is None
    assert panel_row(maze, (0, 0)).tolist() == [0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0]


def test_parallel_corridors_may_touch():
    edges = line((0, 0), (1, 0), (2, 0), (2, 1), (1, 1))  # (1, 0) and (1, 1) are neighbours without an edge
    maze = Maze((0, 0), (2, 1), edges)
    assert panel_row(maze, (1, 0))[4:8].tolist() == [1, 0, 1, 0]
    assert not maze.crossings


@given(SEEDS)
def test_panels_agree_with_walking(seed):
    rng = np.random.default_rng(seed)
    maze = sample_maze(rng, 3, 8)
    cell = maze.cells[int(rng.integers(len(maze.cells)))]
    row = panel_row(maze, cell)
    for d, (dx, dy) in enumerate(STEPS):
        walk = [cell]
        while (ahead := (walk[-1][0] + dx, walk[-1][1] + dy)) in maze.neighbours(walk[-1]):
            walk.append(ahead)
        met = [i for i, at in enumerate(walk) if i and at in maze.crossings]
        assert row[4 + d] == len(walk) - 1
        assert row[d] == (met[0] if met else 0)
    assert (maze.goal[0] - cell[0], maze.goal[1] - cell[1]) == tuple(row[8:10])
    assert int((row[:10] != 0).sum()) == len(panel_digits(maze, cell)) <= 10


# ---- mazes as arrays


def test_arrays_are_the_panels_of_each_cell():
    mazes = Mazes(sample_mazes(40, 3, 4, 6))
    for m, maze in enumerate(mazes):
        assert mazes.cell(m, int(mazes.start[m])) == maze.start
        assert mazes.cell(m, int(mazes.goal[m])) == maze.goal
        indices = [mazes.index(m, cell) for cell in maze.cells]
        assert sorted(indices) == np.flatnonzero(mazes.inside[m]).tolist()
        for cell, index in zip(maze.cells, indices, strict=True):
            assert mazes.rows[m, index].tolist() == panel_row(maze, cell).tolist()
    assert not mazes.rows[~mazes.inside].any()


def test_one_hot_observations(golden):
    row = panel_row(golden, (5, 0))
    hot = one_hot(row)
    assert (hot.shape, hot.dtype) == ((11, 19), np.uint8)
    assert (hot[:10].argmax(1) - 9).tolist() == row[:10].tolist()
    assert (hot[:10].sum(1) == 1).all()
    assert not hot[10].any(), "no hint at a corner"
    hinted = one_hot(np.stack([panel_row(golden, (0, 0)), panel_row(golden, (7, -1))]))
    assert hinted[:, 10].sum(1).tolist() == [1, 1]
    assert hinted[:, 10].argmax(1).tolist() == [2, 3]


def test_a_file_of_mazes(tmp_path):
    mazes = Mazes(sample_mazes(5, 0))
    mazes.save(tmp_path / "mazes.jsonl")
    assert list(Mazes.load(tmp_path / "mazes.jsonl")) == list(mazes)
    assert Mazes.load(tmp_path / "mazes.jsonl").fingerprint == mazes.fingerprint
    assert Mazes(list(mazes)[::-1]).fingerprint != mazes.fingerprint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"mazes\.jsonl: no mazes in it"),
        ("{\n", r"mazes\.jsonl:1: not valid JSON"),
        ('{"schema": "gumption/halma-maze/9"}\n', r"mazes\.jsonl:1: not a maze of schema gumption/halma-maze/1 but"),
        (b"\xff\xfe", r"mazes\.jsonl: cannot be read"),
        (None, r"mazes\.jsonl: cannot be read"),
    ],
)
def test_files_that_are_none(tmp_path, content, message):
    path = tmp_path / "mazes.jsonl"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        Mazes.load(path)


def test_bad_questions_to_mazes(golden):
    mazes = Mazes([golden])
    with pytest.raises(InputError, match=r"maze 0 has no cell \(9, 9\)"):
        mazes.index(0, (9, 9))
    with pytest.raises(InputError, match=r"maze 0 has no cell \(1, 1\)"):
        mazes.index(0, (1, 1))
    with pytest.raises(InputError, match="no mazes; give at least one"):
        Mazes([])
    for ask in (lambda: panel_row(golden, (9, 9)), lambda: golden.neighbours((9, 9)), lambda: golden.hint((9, 9))):
        with pytest.raises(InputError, match=r"the maze has no cell \(9, 9\)"):
            ask()
    with pytest.raises(InputError, match=r"cell is .*; it is a tuple of a whole number, a whole number"):
        panel_digits(golden, (0.5, 1))


# ---- what is no maze


@pytest.mark.parametrize(
    ("start", "goal", "edges", "message"),
    [
        ((0, 0), (0, 0), line((0, 0), (1, 0)), r"start and goal are both \(0, 0\)"),
        ((0, 0), (1, 0), [*line((0, 0), (1, 0)), ((1, 0), (0, 0))], "an edge is given twice"),
        ((0, 0), (3, 0), [*line((0, 0), (1, 0)), *line((2, 0), (3, 0))], r"the goal \(3, 0\) cannot be reached"),
        ((0, 0), (5, 5), line((0, 0), (1, 0)), r"the goal \(5, 5\) cannot be reached from the start \(0, 0\)"),
        ((0, 0), (1, 0), [*line((0, 0), (1, 0)), *line((4, 4), (4, 5))], r"cell \(4, 4\) cannot be reached"),
        ((0, 0), (1, 1), [*line((0, 0), (1, 0), (1, 1), (0, 1)), ((0, 0), (0, 1))], "4 cells have 4 edges: there is"),
        ((0, 0), (10, 0), line(*((x, 0) for x in range(11))), "the cells are 11 wide; a maze fits into 10 x 10"),
        ((0, 0), (0, 10), line(*((0, y) for y in range(11))), "the cells are 11 wide; a maze fits into 10 x 10"),
        (
            (0, 0),
            (2, 0),
            line((0, 0), (0, 1), (1, 1), (2, 1), (2, 0)),
            r"the way to the goal is ambiguous: it leads away from it at \(0, 1\)",
        ),
        ((0, 0), (2, 0), line((0, 0), (2, 0)), r"the edge \(0, 0\) to \(2, 0\) does not join neighbours"),
        ((0, 0), (1, 0), [((0, 0), (1.0, 0))], r"\(1.0, 0\) is no cell: a cell is two whole numbers"),
        ((0, 0, 0), (1, 0), line((0, 0), (1, 0)), r"\(0, 0, 0\) is no cell"),
    ],
)
def test_what_is_no_maze(start, goal, edges, message):
    with pytest.raises(InputError, match=message):
        Maze(start, goal, edges)


@given(SEEDS)
def test_the_order_of_edges_and_ends_does_not_matter(seed):
    maze = sample_maze(np.random.default_rng(seed))
    rng = np.random.default_rng(seed + 1)
    shuffled = [maze.edges[i][:: rng.choice((1, -1))] for i in rng.permutation(len(maze.edges))]
    again = Maze(maze.start, maze.goal, shuffled)
    assert again == maze
    assert hash(again) == hash(maze)
    assert again.fingerprint == maze.fingerprint


def test_mazes_that_differ():
    maze = Maze((0, 0), (2, 0), line((0, 0), (1, 0), (2, 0)))
    others = [
        Maze((1, 0), (2, 0), line((0, 0), (1, 0), (2, 0))),
        Maze((0, 0), (1, 0), line((0, 0), (1, 0), (2, 0))),
        Maze((0, 0), (2, 0), [*line((0, 0), (1, 0), (2, 0)), ((1, 0), (1, 1))]),
    ]
    for other in others:
        assert maze != other
        assert maze.fingerprint != other.fingerprint
    assert maze != "maze"


# ---- JSON


@pytest.mark.slow
@given(SEEDS)
def test_json_gives_the_maze_back(seed):
    import json

    maze = sample_maze(np.random.default_rng(seed), 3, 6)
    value = json.loads(json.dumps(maze.to_json()))
    again = Maze.from_json(value)
    assert again == maze
    assert again.to_json() == value == maze.to_json()
    assert again.fingerprint == maze.fingerprint


def test_json_says_what_the_contract_says(golden):
    value = golden.to_json()
    assert value["schema"] == "gumption/halma-maze/1"
    assert (value["start"], value["goal"]) == ([0, 0], [7, -2])
    assert [0, 0, "square"] in value["hints"]
    assert [7, -1, "pentagon"] in value["hints"]
    assert len(value["edges"]) == len(golden.cells) - 1
    value.pop("hints")  # they follow from the edges
    assert Maze.from_json(value) == golden


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "gumption/halma-maze/2"}, "here.jsonl:3: not a maze of schema gumption/halma-maze/1 but"),
        ({"start": None}, r"here.jsonl:3: \(None,\) is no cell: a cell is two whole numbers"),
        ({"edges": [[0, 0, 1]]}, "here.jsonl:3: not a maze: start, goal and edges of four whole numbers each"),
        ({"edges": [[0, 0, 0, 5]]}, r"here.jsonl:3: the edge \(0, 0\) to \(0, 5\) does not join neighbours"),
        ({"goal": [99, 99]}, "here.jsonl:3: the goal"),
        ({"hints": [[0, 0, "circle"]]}, "here.jsonl:3: the hints are not those of this maze"),
        ({"edges": ...}, "here.jsonl:3: not a maze: start, goal and edges of four whole numbers each"),
    ],
)
def test_json_that_is_no_maze(golden, change, message):
    value = {key: part for key, part in (golden.to_json() | change).items() if part is not ...}
    with pytest.raises(InputError, match=message):
        Maze.from_json(value, "here.jsonl:3")


@pytest.mark.parametrize("value", [None, [], "maze", 3])
def test_json_of_another_kind(value):
    with pytest.raises(InputError, match=r"^not a maze of schema gumption/halma-maze/1 but "):
        Maze.from_json(value)
