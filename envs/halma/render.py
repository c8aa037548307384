"""Pictures of HALMA: the panel at the left and the maze at the right, as in the paper's Fig. S4, and trials as GIFs.

    draw(maze, cell, mode, trail=(), picture=None) -> str ("ansi") or (256, 520, 3) uint8 ("rgb_array")
    trial_gif(path, maze, moves, picture_seed=0, milliseconds=900)

`trail` is the cells where the moves of a trial ended, the start first; `picture` is the visual panel (128, 128, 3) that
an agent saw. Without one a panel is drawn that depends on what it shows alone, so that drawing disturbs no generator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from gumption.data import InputError
from gumption.data.writing import whole_file

from .maze import COLOURS, DIRECTIONS, SHAPES, SIDE, STEPS, Cell, Edge, Maze, panel_row, row_digits
from .oracle import Move
from .visual import PANEL, PanelPainter

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

LEGEND = "S start, G goal, @ agent, + crossing; == and # are walked"
SCALE = 2  # of the panel
VIEW, GAP, CAPTION = SCALE * PANEL, 8, 24  # pixels: height and width of either half; between them; line below, in GIFs
CELL = 24  # pixels; ten cells and a margin fill the view
FINE = 4  # drawn so many times as large, then averaged, which makes edges smooth
SURROUND, FLOOR, WALL = (48, 52, 58), (244, 244, 240), (48, 52, 58)
HINT, TRAIL, AGENT, START, GOAL = (172, 172, 168), (86, 140, 216), (30, 84, 172), (208, 60, 52), (46, 148, 84)


@overload
def draw(
    maze: Maze, cell: Cell, mode: Literal["ansi"], trail: Sequence[Cell] = (), picture: np.ndarray | None = None
) -> str: ...


@overload
def draw(
    maze: Maze, cell: Cell, mode: Literal["rgb_array"], trail: Sequence[Cell] = (), picture: np.ndarray | None = None
) -> np.ndarray: ...


@overload
def draw(
    maze: Maze, cell: Cell, mode: str, trail: Sequence[Cell] = (), picture: np.ndarray | None = None
) -> str | np.ndarray: ...


def draw(
    maze: Maze, cell: Cell, mode: str, trail: Sequence[Cell] = (), picture: np.ndarray | None = None
) -> str | np.ndarray:
    """The panel of a cell beside its maze; see the head of this module.

    :param mode: "ansi" or "rgb_array".
    :raises InputError: another mode; the maze has no such cell.
    """
    row = panel_row(maze, cell)
    if mode == "ansi":
        return side_by_side(panel_lines(row), maze_lines(maze, cell, trail))
    if mode != "rgb_array":
        raise InputError(f"mode is {mode!r}; it can be ansi or rgb_array")
    left = panel_picture(row) if picture is None else picture
    return np.asarray(_joined(left, maze, cell, trail))


# ---- text


def panel_lines(row: np.ndarray) -> list[str]:
    """What a panel row (11,) shows, a line for each direction, the goal and the hint; only what is shown."""
    digits = row_digits(row)
    lines = []
    for direction, colour in zip(DIRECTIONS, COLOURS, strict=True):
        shown = [f"{d.kind} {d.value}" for d in digits if d.kind != "goal" and d.direction == direction]
        if shown:
            lines.append(f"{direction:<6}{colour:<8}{', '.join(shown)}")
    goal = [f"{d.colour} {d.value} {d.direction}" for d in digits if d.kind == "goal"]
    if goal:
        lines.append(f"goal  {', '.join(goal)}")
    if row[10]:
        lines.append(f"hint  {SHAPES[row[10] - 1]}: {DIRECTIONS[row[10] - 1]}")
    return lines


def maze_lines(maze: Maze, cell: Cell, trail: Sequence[Cell] = ()) -> list[str]:
    """The maze as text, top line first, and how to read it."""
    low_x, low_y, wide, high = _box(maze)
    canvas = np.full((2 * high - 1, 3 * wide - 2), " ")

    def at(place: Cell) -> tuple[int, int]:
        return 2 * (high - 1 - (place[1] - low_y)), 3 * (place[0] - low_x)

    walked = set(_edges_of(trail))
    for edge in maze.edges:
        (line, column), (line2, _) = at(edge[0]), at(edge[1])
        if line == line2:
            canvas[line, column + 1 : column + 3] = "=" if edge in walked else "-"
        else:
            canvas[line - 1, column] = "#" if edge in walked else "|"
    for place in maze.cells:
        canvas[at(place)] = "+" if place in maze.crossings else "o"
    for place, sign in ((maze.start, "S"), (maze.goal, "G"), (cell, "@")):
        canvas[at(place)] = sign
    return [*("".join(line).rstrip() for line in canvas), "", LEGEND]


def side_by_side(left: Sequence[str], right: Sequence[str]) -> str:
    """Two blocks of text beside each other, with a line break at the end."""
    width = max(map(len, left), default=0) + 4
    count = max(len(left), len(right))
    pairs = zip([*left, *[""] * (count - len(left))], [*right, *[""] * (count - len(right))], strict=True)
    return "".join(f"{a:<{width}}{b}".rstrip() + "\n" for a, b in pairs)


# ---- pictures


@cache
def _painter() -> PanelPainter:
    return PanelPainter("train")


def panel_picture(row: np.ndarray, seed: int = 0) -> np.ndarray:
    """(128, 128, 3) uint8: a visual panel of a row (11,); the same row and seed give the same one."""
    rng = np.random.default_rng([seed, *(row.astype(np.int64) + SIDE)])
    return _painter().draw(row[None], rng)[0]


def maze_picture(maze: Maze, cell: Cell, trail: Sequence[Cell] = ()) -> np.ndarray:
    """(256, 256, 3) uint8: the maze with hints, start (red dot), goal (green ring), agent (blue) and its trail."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (FINE * VIEW, FINE * VIEW), SURROUND)
    _MazeDrawing(ImageDraw.Draw(image), maze).draw(cell, trail)
    return np.asarray(image.resize((VIEW, VIEW), Image.Resampling.BOX))


class _MazeDrawing:
    """Draws one maze, its box in the middle of the view; lengths are in units of a cell."""

    def __init__(self, canvas: ImageDraw, maze: Maze) -> None:
        self.canvas, self.maze = canvas, maze
        low_x, low_y, wide, high = _box(maze)
        self.unit = FINE * CELL
        middle = FINE * VIEW / 2
        self.origin = middle - self.unit * (wide / 2 - 0.5 + low_x), middle + self.unit * (high / 2 - 0.5 + low_y)

    def draw(self, cell: Cell, trail: Sequence[Cell]) -> None:
        maze = self.maze
        for place in maze.cells:
            self._square(place)
        for a, b in maze.edges:
            self._door(a, b)
        for place in maze.cells:
            hint = maze.hint(place)
            if hint is not None:
                self._shape(place, hint)
        for a, b in _edges_of(trail):
            self._line(a, b)
        for place in trail:
            self._disc(place, 0.17, TRAIL)
        self._disc(maze.goal, 0.36, GOAL)
        self._disc(maze.goal, 0.22, FLOOR)
        self._disc(maze.start, 0.26, START)
        self._disc(cell, 0.3, FLOOR)
        self._disc(cell, 0.24, AGENT)

    def _at(self, place: tuple[float, float]) -> tuple[float, float]:
        return self.origin[0] + self.unit * place[0], self.origin[1] - self.unit * place[1]

    def _square(self, place: Cell) -> None:
        x, y = self._at(place)
        half = self.unit / 2 - FINE  # leaves a wall between touching corridors
        self.canvas.rectangle((x - half, y - half, x + half, y + half), fill=FLOOR)

    def _door(self, a: Cell, b: Cell) -> None:
        """Takes the wall between two connected cells away."""
        half = self.unit / 2 - FINE
        (x, y), (x2, y2) = self._at(a), self._at(b)
        self.canvas.rectangle((min(x, x2) - half, min(y, y2) - half, max(x, x2) + half, max(y, y2) + half), fill=FLOOR)

    def _line(self, a: Cell, b: Cell) -> None:
        self.canvas.line((*self._at(a), *self._at(b)), fill=TRAIL, width=round(0.16 * self.unit))

    def _disc(self, place: Cell, radius: float, fill: tuple[int, int, int]) -> None:
        x, y = self._at(place)
        r = radius * self.unit
        self.canvas.ellipse((x - r, y - r, x + r, y + r), fill=fill)

    def _shape(self, place: Cell, hint: int) -> None:
        x, y = self._at(place)
        shape = SHAPES[hint]
        if shape == "circle":
            self._disc(place, 0.27, HINT)
        else:
            sides = {"triangle": 3, "square": 4, "pentagon": 5}[shape]
            self.canvas.regular_polygon((x, y, 0.34 * self.unit), sides, fill=HINT)


def _joined(panel: np.ndarray, maze: Maze, cell: Cell, trail: Sequence[Cell], caption: str | None = None) -> Image:
    """The panel left and the maze right; with a caption there is room for a line of it below."""
    from PIL import Image, ImageDraw, ImageFont

    height = VIEW + (0 if caption is None else CAPTION)
    image = Image.new("RGB", (2 * VIEW + GAP, height), FLOOR)
    image.paste(Image.fromarray(panel).resize((VIEW, VIEW), Image.Resampling.BILINEAR), (0, 0))
    image.paste(Image.fromarray(maze_picture(maze, cell, trail)), (VIEW + GAP, 0))
    if caption is not None:
        place = GAP, VIEW + CAPTION // 2
        ImageDraw.Draw(image).text(place, caption, fill=WALL, font=ImageFont.load_default(size=14), anchor="lm")
    return image


def trial_gif(
    path: str | Path, maze: Maze, moves: Iterable[Move], *, picture_seed: int = 0, milliseconds: int = 900
) -> None:
    """Save a trial as an animated GIF: the start, then a frame after each move; it stays longer on the last.

    :param moves: such as those of `oracle_trials`. A move that a wall stops is shown as refused, like in the game.
    :param picture_seed: another one gives the panels other handwriting and places.
    :raises InputError: a direction that is none, a length below 1, or a file that cannot be written.
    """
    moves = list(moves)
    for move in moves:
        if move.direction not in DIRECTIONS or move.length < 1:
            raise InputError(f"{move} is no move: a direction ({', '.join(DIRECTIONS)}) and a length of at least 1")
    trail = [maze.start]
    frames = [_frame(maze, trail, picture_seed, "the start")]
    for number, move in enumerate(moves, 1):
        told = f"move {number} of {len(moves)}: {move.direction} {move.length}"
        ahead = moved(maze, trail[-1], move)
        if ahead is None:
            told += " is refused"
        else:
            trail.append(ahead)
        frames.append(_frame(maze, trail, picture_seed, f"{told}, goal" if trail[-1] == maze.goal else told))
    durations = [milliseconds] * (len(frames) - 1) + [3 * milliseconds]
    with whole_file(Path(path)) as beside:
        frames[0].save(beside, format="GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)


def moved(maze: Maze, cell: Cell, move: Move) -> Cell | None:
    """Where a move leads from a cell; None where a wall is in the way."""
    direction = DIRECTIONS.index(move.direction)
    if not 1 <= move.length <= panel_row(maze, cell)[4 + direction]:
        return None
    dx, dy = STEPS[direction]
    return cell[0] + dx * move.length, cell[1] + dy * move.length


def _frame(maze: Maze, trail: Sequence[Cell], seed: int, caption: str) -> Image:
    from PIL import Image

    panel = panel_picture(panel_row(maze, trail[-1]), seed)
    return _joined(panel, maze, trail[-1], trail, caption).quantize(256, dither=Image.Dither.NONE)


# ---- geometry


def _box(maze: Maze) -> tuple[int, int, int, int]:
    """Lowest x and y, width and height in cells."""
    xs, ys = zip(*maze.cells, strict=True)
    return min(xs), min(ys), max(xs) - min(xs) + 1, max(ys) - min(ys) + 1


def _edges_of(trail: Sequence[Cell]) -> list[Edge]:
    """The unit edges, as sorted pairs, of straight ways between consecutive cells."""
    edges = []
    for (x, y), (x2, y2) in pairwise(trail):
        count = max(abs(x2 - x), abs(y2 - y))
        ways = [(x + (x2 - x) * i // count, y + (y2 - y) * i // count) for i in range(count + 1)] if count else []
        edges += [(min(a, b), max(a, b)) for a, b in pairwise(ways)]
    return edges
