"""Draw HALMA: the panel at the left and the maze at the right, as in the paper's Fig. S4, and trials as GIFs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Seed, checked, whole_numbers
from gumption.envs.gif import save_gif

from .maze import DIRECTIONS, SHAPES, STEPS, Cell, Edge, Maze, Move, panel_row
from .rules import LARGEST_SIDE, RULES, Rules
from .signs import signs
from .visual import PanelPainter

Colour = tuple[int, int, int]

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw


LEGEND = "S start, G goal, @ agent, + crossing; == and # are walked"
SIZE, GIF_SIZE, VIEW = 600, 400, 256  # pixels: side of either half of a frame, of a GIF's frame, and of a maze alone
GAP, TITLE, BELOW = 0.05, 0.07, 0.23  # shares of the size: gap between the halves, heading, legend
CELL = 15 / 16  # share of the size, divided by the side: the cells and a margin fill the view
FINE = 4  # oversampling; averaging makes edges smooth
SURROUND, PAPER = (48, 52, 58), (28, 31, 36)


def draw(
    maze: Maze,
    cell: Cell,
    mode: str,
    trail: Sequence[Cell] = (),
    picture: np.ndarray | None = None,
    size: int = SIZE,
    rules: Rules = RULES,
) -> Any:
    """Draw the panel of a cell next to its maze, with headings and a legend of colours, shapes and marks.

    :param mode: "ansi" returns a text; "rgb_array" (H, W, 3) uint8, with the default size (780, 1230).
    :param trail: the cells where the moves of a trial ended, the start first.
    :param picture: the visual panel (128, 128, 3) that an agent saw. By default, draw a panel that depends on the
        panel row only, so that drawing disturbs no generator.
    :param size: the side of either half in pixels, at least 100.
    :param rules: the rules that determine the panels.
    :raises InputError: another mode; a smaller size; the maze has no such cell.
    """
    row = panel_row(maze, cell, rules.panels_equal)
    if mode == "ansi":
        return side_by_side(panel_lines(row, rules), maze_lines(maze, cell, trail))
    if mode != "rgb_array":
        raise InputError(f"mode is {mode!r}; it can be ansi or rgb_array")
    if size < 100:
        raise InputError(f"size is {size}; below 100 pixels the legend cannot be read")
    left = panel_picture(row, rules=rules) if picture is None else picture
    return np.asarray(_joined(left, maze, cell, trail, size, rules=rules))


# ---- text


def panel_lines(row: np.ndarray, rules: Rules = RULES) -> list[str]:
    """Describe a panel row (11,) in words: a line for each direction, the goal and the hint, if shown."""
    called = signs(rules)
    digits = called.digits(row)
    lines = []
    for direction, colour in zip(DIRECTIONS, map(called.colour, range(4)), strict=True):
        shown = [f"{d.kind} {d.value}" for d in digits if d.kind != "goal" and d.direction == direction]
        if shown:
            lines.append(f"{direction:<6}{colour:<8}{', '.join(shown)}")
    goal = [f"{d.colour} {d.value} {d.direction}" for d in digits if d.kind == "goal"]
    if goal:
        lines.append(f"goal  {', '.join(goal)}")
    if row[10]:
        lines.append(f"hint  {called.hint(row)}: {DIRECTIONS[row[10] - 1]}")
    return lines


def maze_lines(maze: Maze, cell: Cell, trail: Sequence[Cell] = ()) -> list[str]:
    """Return the maze as text, top line first, and a legend."""
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
    """Join two blocks of text side by side, with a line break at the end."""
    width = max(map(len, left), default=0) + 4
    return "".join(f"{a:<{width}}{b}".rstrip() + "\n" for a, b in zip_longest(left, right, fillvalue=""))


# ---- pictures


@checked
def panel_picture(row: np.ndarray, seed: Seed = 0, rules: Rules = RULES) -> np.ndarray:
    """Return (128, 128, 3) uint8: a visual panel of a row (11,), determined by the row and the seed.

    Decision: a distance above 9, which no handwritten digit shows, is left out.
    """
    distances = whole_numbers("row", row, 11)
    rng = np.random.default_rng([seed, *(distances + RULES.side + (abs(row) > 9) * LARGEST_SIDE)])
    panel = signs(rules).panels(row)
    painter = PanelPainter("train", anonymous=rules.names == "anonymous")
    return painter.draw(np.where(abs(panel) > 9, 0, panel)[None], rng)[0][0]


def maze_picture(
    maze: Maze, cell: Cell, trail: Sequence[Cell] = (), size: int = VIEW, rules: Rules = RULES
) -> np.ndarray:
    """Return (size, size, 3) uint8: the maze with hints, start (red dot), goal (green ring), agent (blue) and trail."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (FINE * size, FINE * size), SURROUND)
    canvas = ImageDraw.Draw(image)
    low_x, low_y, wide, high = _box(maze)  # which is drawn in the middle of the view
    unit, middle = CELL / maze.side * (FINE * size), FINE * size / 2  # pixels of a cell
    half = unit / 2 - unit / 24  # of a cell without its walls
    left, bottom = middle - unit * (wide / 2 - 0.5 + low_x), middle + unit * (high / 2 - 0.5 + low_y)

    def at(place: Cell) -> tuple[float, float]:
        return left + unit * place[0], bottom - unit * place[1]

    def disc(place: Cell, radius: float, fill: Colour) -> None:
        draw_disc(canvas, *at(place), radius * unit, fill)

    for a, b in (*((place, place) for place in maze.cells), *maze.edges):  # cells, then doors
        (x, y), (x2, y2) = at(a), at(b)
        canvas.rectangle((min(x, x2) - half, min(y, y2) - half, max(x, x2) + half, max(y, y2) + half), fill=FLOOR)
    for place in maze.cells:
        hint = maze.hint(place)
        if hint is not None:
            draw_shape(canvas, *at(place), 0.34 * unit, SHAPES[signs(rules).shapes[hint]], HINT)
    for a, b in _edges_of(trail):
        canvas.line((*at(a), *at(b)), fill=TRAIL, width=round(0.16 * unit))
    for place in trail:
        disc(place, 0.17, TRAIL)
    disc(maze.goal, 0.36, GOAL)
    disc(maze.goal, 0.22, FLOOR)
    disc(maze.start, 0.26, START)
    disc(cell, 0.3, FLOOR)
    disc(cell, 0.24, AGENT)
    return np.asarray(image.resize((size, size), Image.Resampling.BOX))


def _joined(
    panel: np.ndarray,
    maze: Maze,
    cell: Cell,
    trail: Sequence[Cell],
    size: int,
    caption: str | None = None,
    rules: Rules = RULES,
) -> Image:
    """Join the panel (left) and the maze (right) with headings and a legend; a caption replaces that of the maze."""
    from PIL import Image, ImageDraw, ImageFont

    gap, title = round(GAP * size), round(TITLE * size)
    right = size + gap
    image = Image.new("RGB", (right + size, title + size + round(BELOW * size)), PAPER)
    image.paste(Image.fromarray(panel).resize((size, size), Image.Resampling.BILINEAR), (0, title))
    image.paste(Image.fromarray(maze_picture(maze, cell, trail, size, rules)), (right, title))
    canvas, font = ImageDraw.Draw(image), ImageFont.load_default(size=round(0.6 * title))
    margin = round(0.02 * size)
    canvas.text((margin, title / 2), "what the agent sees", fill=TEXT, font=font, anchor="lm")
    text = "the maze, which it does not see" if caption is None else caption
    canvas.text((right + margin, title / 2), text, fill=TEXT if caption is None else FAINT, font=font, anchor="lm")
    draw_legend(canvas, margin, right + margin, title + 1.035 * size, size - 2 * margin, rules)
    return image


def trial_gif(
    path: str | Path,
    maze: Maze,
    moves: Iterable[Move],
    *,
    picture_seed: int = 0,
    milliseconds: int = 900,
    size: int = GIF_SIZE,
    rules: Rules = RULES,
) -> None:
    """Save a trial as an animated GIF: the start, then a frame after each move; the last frame is shown longer.

    :param moves: for example a trial of `oracle_trials`. A move into a wall is shown as refused.
    :param picture_seed: seed of the panels' handwriting and positions.
    :param size: side of either half, in pixels.
    :param rules: the rules that determine the panels.
    :raises InputError: no such direction, a length below 1, or a file that cannot be written.
    """
    moves = list(moves)
    for move in moves:
        if move.direction not in DIRECTIONS or move.length < 1:
            raise InputError(f"{move} is no move: a direction ({', '.join(DIRECTIONS)}) and a length of at least 1")
    trail = [maze.start]
    frames = [_frame(maze, trail, picture_seed, size, "the start", rules)]
    for number, move in enumerate(moves, 1):
        text = f"move {number} of {len(moves)}: {move.direction} {move.length}"
        ahead = moved(maze, trail[-1], move)
        if ahead is None:
            text += " is refused"
        else:
            trail.append(ahead)
        if trail[-1] == maze.goal:
            text += ", goal"
        frames.append(_frame(maze, trail, picture_seed, size, text, rules))
    durations = [milliseconds] * (len(frames) - 1) + [3 * milliseconds]
    save_gif(path, frames, durations)


def moved(maze: Maze, cell: Cell, move: Move) -> Cell | None:
    """Return the cell after a move; None if a wall blocks the way."""
    direction = DIRECTIONS.index(move.direction)
    if not 1 <= move.length <= panel_row(maze, cell)[4 + direction]:
        return None
    dx, dy = STEPS[direction]
    return cell[0] + dx * move.length, cell[1] + dy * move.length


def _frame(maze: Maze, trail: Sequence[Cell], seed: int, size: int, caption: str, rules: Rules) -> Image:
    from PIL import Image

    panel = panel_picture(panel_row(maze, trail[-1], rules.panels_equal), seed, rules)
    return _joined(panel, maze, trail[-1], trail, size, caption, rules).quantize(256, dither=Image.Dither.NONE)


# ---- geometry


def _box(maze: Maze) -> tuple[int, int, int, int]:
    """Return lowest x and y, width and height in cells."""
    xs, ys = zip(*maze.cells, strict=True)
    return min(xs), min(ys), max(xs) - min(xs) + 1, max(ys) - min(ys) + 1


def _edges_of(trail: Sequence[Cell]) -> list[Edge]:
    """Return the unit edges, as sorted pairs, of straight lines between consecutive cells."""
    edges = []
    for (x, y), (x2, y2) in pairwise(trail):
        count = max(abs(x2 - x), abs(y2 - y))
        ways = [(x + (x2 - x) * i // count, y + (y2 - y) * i // count) for i in range(count + 1)] if count else []
        edges += [(min(a, b), max(a, b)) for a, b in pairwise(ways)]
    return edges


# ---- Legend below a picture: colours, shapes and marks of the panel and of the maze.

TEXT, FAINT = (236, 238, 240), (160, 166, 174)
HINT, TRAIL, AGENT = (172, 172, 168), (86, 140, 216), (30, 84, 172)
START, GOAL, FLOOR = (208, 60, 52), (46, 148, 84), (244, 244, 240)
MARKS = ("agent", "its way in this trial", "start", "goal", "hint: its shape tells where to go")


def draw_legend(canvas: ImageDraw, left: float, right: float, top: float, width: float, rules: Rules = RULES) -> None:
    """Draw two columns of four lines, `width` pixels wide each: the panel's from `left`, the maze's from `right`."""
    line, size = 0.052 * width, round(0.03 * width)
    called = signs(rules)
    rows = (
        ("cells to a wall or crossing", called.colours, called.colour),
        ("cells to the goal", 4 + called.goal_colours, called.goal_colour),
        ("hint at a crossing: go", None, called.shape),
    )
    columns = [left + (0.37 + 0.165 * i) * width for i in range(4)]
    for x, direction in zip(columns, DIRECTIONS, strict=True):
        _write(canvas, x, top, direction, size, FAINT)
    for number, (text, colours, name) in enumerate(rows, 1):
        y = top + number * line
        _write(canvas, left, y, text, size, TEXT)
        for i, x in enumerate(columns):
            if colours is None:
                draw_shape(canvas, x + 0.4 * line, y, 0.36 * line, SHAPES[called.shapes[i]], HINT)
            else:
                rgb = called.rgb[colours[i]]
                _arrow(canvas, x + 0.4 * line, y, 0.36 * line, STEPS[i], rgb)
                _write(canvas, x + 1.0 * line, y, name(i), size, rgb)
    for i, text in enumerate(MARKS):
        x, y = right + (i % 2) * 0.5 * width, top + (i // 2) * line
        _mark(canvas, x + 0.4 * line, y, 0.4 * line, i)
        _write(canvas, x + 1.2 * line, y, text, size, TEXT)


def draw_disc(canvas: ImageDraw, x: float, y: float, radius: float, fill: Colour) -> None:
    canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def draw_shape(canvas: ImageDraw, x: float, y: float, radius: float, shape: str, fill: Colour) -> None:
    """Draw the shape of a hint, one of SHAPES."""
    if shape == "circle":
        draw_disc(canvas, x, y, 0.8 * radius, fill)
    else:
        canvas.regular_polygon((x, y, radius), {"triangle": 3, "square": 4, "pentagon": 5}[shape], fill=fill)


def _mark(canvas: ImageDraw, x: float, y: float, radius: float, number: int) -> None:
    if number == 0:
        draw_disc(canvas, x, y, radius, FLOOR)
        draw_disc(canvas, x, y, 0.8 * radius, AGENT)
    elif number == 1:
        canvas.line((x - radius, y, x + radius, y), fill=TRAIL, width=max(1, round(0.5 * radius)))
    elif number == 2:
        draw_disc(canvas, x, y, 0.8 * radius, START)
    elif number == 3:
        draw_disc(canvas, x, y, radius, GOAL)
        draw_disc(canvas, x, y, 0.6 * radius, FLOOR)
    else:
        draw_shape(canvas, x, y, radius, "pentagon", HINT)


def _arrow(canvas: ImageDraw, x: float, y: float, radius: float, step: tuple[int, int], fill: Colour) -> None:
    dx, dy = step[0] * radius, -step[1] * radius
    canvas.polygon([(x + dx, y + dy), (x - dx - dy, y - dy + dx), (x - dx + dy, y - dy - dx)], fill=fill)


def _write(canvas: ImageDraw, x: float, y: float, text: str, size: int, fill: Colour) -> None:
    from PIL import ImageFont

    canvas.text((x, y), text, fill=fill, font=ImageFont.load_default(size=size), anchor="lm")
