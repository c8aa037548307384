from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.envs.halma import Maze, Mazes, Move, check_unambiguous, oracle_trials, panel_row, sample_maze
from gumption.envs.halma.maze import DIRECTIONS, STEPS, justified_moves, straight_runs

EXPLORING = [
    Move("right", 2),
    Move("right", 1),
    Move("right", 1),
    Move("right", 1),
    Move("down", 1),
    Move("right", 2),
    Move("down", 1),
]
PLANNED = [Move("right", 5), Move("down", 1), Move("right", 2), Move("down", 1)]


def walk(maze, moves):
    """The cell where moves end, each through open cells only."""
    cell = maze.start
    for direction, length in moves:
        dx, dy = STEPS[DIRECTIONS.index(direction)]
        for _ in range(length):
            ahead = (cell[0] + dx, cell[1] + dy)
            assert ahead in maze.neighbours(cell)
            cell = ahead
    return cell


def test_the_published_example_step_by_step(golden):
    assert oracle_trials(golden, 5) == (EXPLORING, PLANNED)
    cells = [(0, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, -1), (7, -1), (7, -2)]
    hints = ["right", "right", "right", "right", None, "right", "down"]
    assert len(cells) == 8  # the frames of Figure S4
    for i, (cell, hint) in enumerate(zip(cells[:-1], hints, strict=True)):
        row = panel_row(golden, cell)
        assert (DIRECTIONS[row[10] - 1] if row[10] else None) == hint
        [(direction, length)] = justified_moves(row)
        assert Move(DIRECTIONS[direction], length) == EXPLORING[i]
        assert walk(golden, EXPLORING[: i + 1]) == cells[i + 1]
    check_unambiguous(golden)


def test_the_published_example_with_other_options(golden):
    one = oracle_trials(golden, 1)
    assert one.exploring == EXPLORING
    assert one.planned == [Move("right", 3), Move("right", 2), Move("down", 1), Move("right", 2), Move("down", 1)]
    assert oracle_trials(golden, 3) == oracle_trials(golden, 5)


def test_long_corridors_are_split_into_options():
    edges = list(pairwise((x, 0) for x in range(9)))
    maze = Maze((0, 0), (8, 0), edges)
    assert oracle_trials(maze, 1).exploring == [Move("right", 3), Move("right", 3), Move("right", 2)]
    assert oracle_trials(maze, 3).exploring == [Move("right", 8)]
    assert oracle_trials(maze, 1).exploring == oracle_trials(maze, 1).planned


def test_the_goal_straight_ahead_is_a_stop():
    maze = Maze((0, 0), (3, 0), pairwise((x, 0) for x in range(6)))
    assert oracle_trials(maze, 5).exploring == [Move("right", 3)]
    # beside the way, not on it: the goal two below is no reason to stop at its column
    maze = Maze((0, 0), (2, -2), pairwise([(0, 0), (1, 0), (2, 0), (2, -1), (2, -2)]))
    assert oracle_trials(maze, 5).exploring == [Move("right", 2), Move("down", 2)]


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 5]))
def test_trials_reach_the_goal_in_as_many_moves_as_the_closed_form_says(seed, max_opt_len):
    maze = sample_maze(np.random.default_rng(seed), 3, 6)
    check_unambiguous(maze)
    trials = oracle_trials(maze, max_opt_len)
    assert walk(maze, trials.exploring) == walk(maze, trials.planned) == maze.goal
    assert all(1 <= move.length <= 3 * max_opt_len for trial in trials for move in trial)
    assert sum(move.length for move in trials.planned) == len(maze.optimal_path) - 1
    assert len(trials.planned) <= len(trials.exploring)
    mazes = Mazes([maze])
    assert mazes.exploring(max_opt_len).tolist() == [len(trials.exploring)]
    assert mazes.planned(max_opt_len).tolist() == [len(trials.planned)]
    assert all(a != b for (a, _), (b, _) in pairwise(straight_runs(maze)))


@pytest.mark.slow
@pytest.mark.parametrize("number", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_mazes_are_unambiguous(number):
    rng = np.random.default_rng(0)
    made = [sample_maze(rng, depth, 5) for depth in (2, 5) for _ in range(number // 2)]
    for maze in made:
        check_unambiguous(maze)
    mazes = Mazes(made)
    trials = [oracle_trials(maze, 5) for maze in made]
    assert mazes.exploring(5).tolist() == [len(trial.exploring) for trial in trials]
    assert mazes.planned(5).tolist() == [len(trial.planned) for trial in trials]


class Misleading(Maze):
    """A maze that shows other hints than it has."""

    def __init__(self, maze, hints):
        super().__init__(maze.start, maze.goal, maze.edges)
        self._hints = hints

    def hint(self, cell):
        return self._hints.get(cell, super().hint(cell))


def test_mazes_that_are_ambiguous(golden):
    silent = Misleading(golden, {(0, 0): None})
    check_unambiguous(silent)  # at the start only the way to the right gets nearer
    fork = Maze((0, 0), (2, 2), [*pairwise([(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]), ((1, 0), (1, 1))])
    for check in (check_unambiguous, lambda maze: oracle_trials(maze, 5)):
        with pytest.raises(InputError, match=r"ambiguous: at \(1, 0\) the panel justifies up 1, right 1"):
            check(Misleading(fork, {(1, 0): None}))
        with pytest.raises(InputError, match=r"ambiguous: at \(0, 0\) the panel justifies nothing"):
            check(Misleading(golden, {(0, 0): DIRECTIONS.index("left")}))
    with pytest.raises(InputError, match=r"at \(1, 0\) the panel leads away from it, to \(1, 1\)"):
        check_unambiguous(Misleading(fork, {(1, 0): DIRECTIONS.index("up")}))


def test_options_have_a_primitive_at_least(golden):
    for ask in (lambda: oracle_trials(golden, 0), lambda: Mazes([golden]).planned(0)):
        with pytest.raises(InputError, match=r"max_opt_len is .*; it is a whole number from 1 to 100"):
            ask()
