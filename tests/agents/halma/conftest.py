"""What tests of HALMA's agents share: the maze of the paper's example."""

import itertools

import pytest

from gumption.envs.halma import Maze


@pytest.fixture(scope="session")
def paper_maze() -> Maze:
    """The maze of A.3, as far as the text tells it: right 2, 1, 1, 1, down 1, right 2, down 1."""
    path = [*((x, 0) for x in range(6)), (5, -1), (6, -1), (7, -1), (7, -2)]
    edges = list(itertools.pairwise(path))
    branches = [((0, 0), (0, 1)), ((2, 0), (2, 1)), ((3, 0), (3, 1)), ((4, 0), (4, -1))]
    branches += [((5, -1), (5, -2)), ((7, -1), (8, -1)), ((7, -2), (7, -3))]
    return Maze((0, 0), (7, -2), edges + branches)
