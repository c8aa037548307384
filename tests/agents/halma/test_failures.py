"""Where agents fail: agents whose failures are known, in a maze that is known."""

import numpy as np
import pytest
from PIL import Image

from gumption.agents.halma.acting import Percept, RandomActor
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import play_test
from gumption.data import InputError
from gumption.envs.halma import Mazes, Move, panel_row, sample_mazes
from gumption.scripts.papers.halma.failures import MazeFailures, find_failures, plot_failures

NOTHING = np.zeros((0, 11), dtype=np.int8)
LEFT, UP, RIGHT, DOWN = range(4)
WAY = [(RIGHT, 2), (RIGHT, 1), (RIGHT, 1), (RIGHT, 1), (DOWN, 1), (RIGHT, 2), (DOWN, 1)]  # of the paper's maze


class Walker:
    """Makes the same moves over and over, whatever it sees."""

    def __init__(self, *moves: tuple[int, int]) -> None:
        self.moves, self.config = moves, HALMAConfig(max_opt_len=1)

    def actor(self) -> "Walker":
        return self

    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        self.made = 0 if percept.first.all() else self.made + 1
        return np.tile(self.moves[self.made % len(self.moves)], (len(percept.first), 1))


@pytest.fixture
def failures(paper_maze):
    """The failures in the paper's maze of an agent that makes the given moves."""

    def of(*moves: tuple[int, int], panels: np.ndarray = NOTHING, seeds: tuple[int, ...] = (0,)) -> MazeFailures:
        (found,) = find_failures(Walker(*moves), Mazes([paper_maze]), "RT", panels, seeds)
        return found

    return of


def test_who_goes_to_and_fro(failures):
    found = failures((RIGHT, 1), (LEFT, 1))
    # Two trials of 200 moves, and 100 moves of a third, until the 500 of an episode are over.
    assert (found.maze, found.trials, found.reached, found.moves) == (0, 10, 0, 500)
    assert (found.invalid, found.astray, found.to_and_fro) == (0.0, 0.0, 1.0)
    assert sorted(found.visits) == [((0, 0), 0.5), ((1, 0), 0.5)]
    start = next(haunt for haunt in found.haunts if haunt.cell == (0, 0))
    assert (start.share, start.move, start.move_share) == (0.5, Move("right", 1), 1.0)
    assert start.justified == (Move("right", 2),)


def test_who_runs_into_walls(failures):
    found = failures((LEFT, 1), (LEFT, 1), (DOWN, 2), seeds=(0, 1))
    assert (found.trials, found.reached, found.moves, found.invalid) == (20, 0, 1000, 1.0)
    (haunt,) = found.haunts
    assert (haunt.cell, haunt.share, haunt.move) == ((0, 0), 1.0, Move("left", 1))
    # 200 moves a trial: the third of each trial's three goes on where the trial before stopped.
    assert haunt.move_share == pytest.approx(2 / 3, abs=0.01)


def test_who_goes_astray(failures):
    found = failures((UP, 1))
    assert found.moves == 500
    # The first move of each trial begins at the start, all others in the branch above it.
    assert found.astray == pytest.approx(1 - 3 / 500, abs=1e-4)
    assert [haunt.cell for haunt in found.haunts] == [(0, 1), (0, 0)]
    assert found.haunts[0].justified == (Move("down", 1),)
    assert found.invalid == pytest.approx(1 - 3 / 500, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "familiarity"),
    [
        ({}, "seen"),
        ({10: 0}, "seen"),  # a hint shows no new combination of digits
        ({8: 1}, "goal elsewhere"),
        ({9: 9}, "goal elsewhere"),
        ({0: 9}, "new"),
        ({7: 9}, "new"),
    ],
)
def test_what_training_showed(failures, paper_maze, change, familiarity):
    panel = panel_row(paper_maze, (0, 0))
    panel[list(change)] = list(change.values())
    (haunt,) = failures((LEFT, 1), panels=panel[None]).haunts
    assert haunt.familiarity == familiarity


def test_who_always_arrives_has_no_failures(failures):
    found = failures(*WAY)
    assert found == MazeFailures(0, 10, 10, 0, 0.0, 0.0, (), ())
    assert found.to_and_fro == 0


def test_moves_of_trials_that_arrive_do_not_count(failures):
    """7 moves to the goal, two trials of 200 bumps, 7 moves to the goal, and bumps until the 500 moves are over."""
    found = failures(*WAY, *[(LEFT, 1)] * 400)
    assert (found.reached, found.moves, found.invalid) == (2, 500 - 2 * 7, 1.0)
    assert found.visits == (((0, 0), 1.0),)


def test_who_arrives_too_slowly_has_no_moves_of_failed_trials(failures, paper_maze, tmp_path):
    """118 bumps and 7 moves to the goal: after four such trials the 500 moves of the episode are over."""
    found = failures(*[(LEFT, 1)] * 118, *WAY)
    assert found == MazeFailures(0, 10, 4, 0, 0.0, 0.0, (), ())
    png, _ = plot_failures({"slow": (paper_maze, found)}, tmp_path / "slow")
    assert png.is_file()


def test_it_plays_as_the_evaluation_does():
    class Random:
        config = HALMAConfig()

        def actor(self) -> RandomActor:
            return RandomActor(5)

    mazes = Mazes(sample_mazes(6, 3))
    found = find_failures(Random(), mazes, "T", NOTHING, (0, 4))
    goals = play_test(Random(), mazes, "T", (0, 4))[1]
    assert [told.reached / told.trials for told in found] == pytest.approx(goals.mean(0))
    assert 0 < sum(told.reached for told in found) < sum(told.trials for told in found)
    for told in found:
        assert sum(share for _, share in told.visits) == pytest.approx(1, abs=1e-3)
        assert [share for _, share in told.visits] == sorted((share for _, share in told.visits), reverse=True)
        assert {cell for cell, _ in told.visits} <= set(mazes[told.maze].cells)
        assert tuple((haunt.cell, haunt.share) for haunt in told.haunts) == told.visits[:2]


def test_without_seeds_nothing_is_played(failures):
    with pytest.raises(InputError, match="no seeds; give at least one"):
        failures((UP, 1), seeds=())


def test_the_picture(failures, paper_maze, tmp_path):
    found = failures((UP, 1))
    png, svg = plot_failures({f"maze {i}": (paper_maze, found) for i in range(14)}, tmp_path / "worst", "RT")
    with Image.open(png) as picture:
        assert picture.width > 600
    told = svg.read_text(encoding="utf-8")
    assert "maze 11: 0 of 10" in told
    assert "maze 12" not in told, "twelve are drawn"
    with pytest.raises(InputError, match="no maze to draw"):
        plot_failures({}, tmp_path / "none")
