"""One picture for each cell of each maze: the paper's "100 mazes along with their visual panels".

A maze's pictures are laid out once, by a generator that is seeded with the maze itself. So a maze shows the same
pictures wherever it is played: in any set and batch, in any process, whatever the seed of the environment. What is kept
is the layout, some 100 bytes a cell; pictures (49 KB each) are rendered from it when they are looked at.
"""

import numpy as np

from .mazes import CELLS, Mazes
from .visual import Layout, PanelPainter


class FixedPanels:
    """The pictures of a set of mazes in one handwriting; a maze is laid out when it is looked at first."""

    def __init__(self, mazes: Mazes, painter: PanelPainter) -> None:
        self._mazes, self._painter = mazes, painter
        places = (len(mazes), CELLS, 11)
        size, left, top = np.zeros((3, *places), dtype=np.int16)
        self._layout = Layout(size, left, top, np.zeros(places, dtype=np.int32))
        self._known = np.zeros(len(mazes), dtype=bool)

    def draw(self, maze: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pictures (n, 128, 128, 3) uint8 and boxes (n, 11, 4) int16, as of `PanelPainter.draw`.

        :param maze, cell: (n,) int64 indices of mazes, and of cells in them.
        """
        for new in np.unique(maze[~self._known[maze]]).tolist():
            self._lay_out(new)
        return self._painter.render(self._mazes.rows[maze, cell], Layout(*(part[maze, cell] for part in self._layout)))

    def _lay_out(self, maze: int) -> None:
        cells = np.flatnonzero(self._mazes.inside[maze])
        rng = np.random.default_rng(int(self._mazes[maze].fingerprint, 16))
        drawn = self._painter.lay_out(self._mazes.rows[maze, cells], rng)
        for kept, part in zip(self._layout, drawn, strict=True):
            kept[maze, cells] = part
        self._known[maze] = True
