from collections import Counter
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gumption.data import InputError
from gumption.envs.halma import Maze, count_optimal_paths, path_of_rank, rank_of_path, sample_maze, sample_mazes
from gumption.envs.halma.generator import grow_branches, sample_path

TOTAL = 738_980  # the paper's figure (A.2)
RANKS = st.integers(0, TOTAL - 1)


# ---- the space of optimal paths


def test_the_paper_s_count():
    assert count_optimal_paths() == TOTAL
    counted = sum(comb(dx + dy, dx) * (1 + (dx > 0)) * (1 + (dy > 0)) for dx in range(10) for dy in range(10)) - 1
    assert counted == TOTAL


@given(RANKS)
def test_paths_have_their_rank(rank):
    path = path_of_rank(rank)
    assert path[0] == (0, 0)
    dx, dy = path[-1]
    assert 0 < max(abs(dx), abs(dy)) <= 9
    assert len(path) - 1 == abs(dx) + abs(dy)
    left = [abs(dx - x) + abs(dy - y) for x, y in path]
    assert left == list(range(len(path)))[::-1]
    assert rank_of_path(path) == rank
    assert rank_of_path([(x + 4, y - 7) for x, y in path]) == rank, "wherever the path starts"


def test_ranks_follow_each_other_without_a_gap():
    """All paths to one offset, and the first and last of all."""
    paths = {tuple(path_of_rank(rank)) for rank in range(TOTAL - 2000, TOTAL)}
    assert len(paths) == 2000
    assert path_of_rank(0)[-1] == (-9, -9)
    assert path_of_rank(TOTAL - 1) == [*((0, y) for y in range(10)), *((x, 9) for x in range(1, 10))]
    with pytest.raises(InputError, match=f"rank is {TOTAL}; optimal paths have ranks from 0 to {TOTAL - 1}"):
        path_of_rank(TOTAL)
    with pytest.raises(InputError, match="rank is -1"):
        path_of_rank(-1)


@pytest.mark.parametrize("path", [[], [(0, 0)], [(0, 0), (1, 0), (0, 0)], [(0, 0), *((x, 0) for x in range(1, 11))]])
def test_what_is_no_optimal_path(path):
    with pytest.raises(InputError, match="no optimal path: each move lowers the distance to the goal by 1"):
        rank_of_path(path)


def test_a_path_goes_from_neighbour_to_neighbour():
    with pytest.raises(InputError, match=r"no path: \(0, 0\) and \(2, 0\) are no neighbours"):
        rank_of_path([(0, 0), (2, 0), (3, 0), (3, 0)])


def test_paths_are_drawn_uniformly():
    rng = np.random.default_rng(0)
    paths = [sample_path(rng) for _ in range(20_000)]
    ends = Counter(path[-1] for path in paths)
    sizes = {(dx, dy): comb(abs(dx) + abs(dy), abs(dx)) for dx in range(-9, 10) for dy in range(-9, 10) if dx or dy}
    # Offsets with few paths are taken together, as the test wants five expected in each cell.
    often = [offset for offset in sizes if sizes[offset] * 20_000 / TOTAL >= 5]
    seen = np.array([ends[offset] for offset in often])
    expected = np.array([sizes[offset] for offset in often]) * 20_000 / TOTAL
    rest = 20_000 - seen.sum(), 20_000 - expected.sum()
    assert stats.chisquare([*seen, rest[0]], [*expected, rest[1]]).pvalue > 0.001
    ranks = [rank_of_path(path) for path in paths]
    assert stats.chisquare(np.histogram(ranks, bins=97, range=(0, TOTAL))[0]).pvalue > 0.001


# ---- branches


@given(st.integers(0, 2**32 - 1), st.floats(1, 6), st.floats(0, 12))
def test_branches_leave_the_tree_a_tree(seed, depth, count):
    """`Maze` itself refuses what is no tree in a box of 10 x 10; the optimal path stays what it was."""
    rng = np.random.default_rng(seed)
    path = sample_path(rng)
    edges = [(min(pair), max(pair)) for pair in pairwise(path)]
    grown = grow_branches(rng, edges, depth, count)
    assert grown[: len(edges)] == edges
    assert Maze(path[0], path[-1], grown).optimal_path == path


@given(st.integers(0, 2**32 - 1))
def test_closed_cells_are_not_touched(seed):
    rng = np.random.default_rng(seed)
    path = [(x, 0) for x in range(6)]
    edges = list(pairwise(path))
    closed = {(2, 0), (3, 0), (3, 1), (3, -1), (7, 0)}
    for a, b in grow_branches(rng, edges, 3, 8, closed)[len(edges) :]:
        assert a not in closed
        assert b not in closed
    assert grow_branches(rng, edges, 3, 8, closed=set(path)) == edges, "nowhere to begin"


def test_depth_and_number_of_branches():
    rng = np.random.default_rng(0)
    path = [(x, 0) for x in range(3)]
    edges = list(pairwise(path))
    for depth, count in ((2, 5), (5, 5), (1, 3)):
        grown = [len(grow_branches(rng, edges, depth, count)) - len(edges) for _ in range(600)]
        # In a nearly empty box hardly any branch is refused; 1 + Poisson(depth - 1) cells each, Poisson(count) of them.
        # What the box and the others refuse are the deep ones, so the mean is a little lower.
        assert 0.8 * depth * count < np.mean(grown) < 1.1 * depth * count
        assert np.mean(np.array(grown) == 0) == pytest.approx(np.exp(-count), abs=0.03)
    assert grow_branches(rng, edges, 2, 0) == edges


def test_mazes_of_a_seed():
    assert sample_mazes(20, 3) == sample_mazes(30, 3)[:20]
    assert sample_mazes(20, 3) != sample_mazes(20, 4)
    many = sample_mazes(500, 0)
    assert len(set(many)) == 500
    deep = sample_mazes(300, 0, mean_depth=5)
    assert np.mean([len(maze.cells) for maze in deep]) > np.mean([len(maze.cells) for maze in many]) + 5


@pytest.mark.parametrize(("depth", "count"), [(0.5, 5), (2, -1), (float("nan"), 5), (2, float("nan"))])
def test_bad_means(depth, count):
    with pytest.raises(InputError, match=r"mean_\w+ is .*; it is a (finite )?number from [01] to 100"):
        sample_maze(np.random.default_rng(0), depth, count)
