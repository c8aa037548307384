"""The legend below a picture of HALMA: what the colours, shapes and marks of the panel and of the maze mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .maze import COLOURS, DIRECTIONS, GOAL_COLOURS, SHAPES, STEPS
from .visual import RGB

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Colour = tuple[int, int, int]

TEXT, FAINT = (236, 238, 240), (160, 166, 174)
HINT, TRAIL, AGENT, START, GOAL, FLOOR = (
    (172, 172, 168),
    (86, 140, 216),
    (30, 84, 172),
    (208, 60, 52),
    (46, 148, 84),
    (244, 244, 240),
)
MARKS = ("agent", "its way in this trial", "start", "goal", "hint: its shape tells where to go")


def draw_legend(canvas: ImageDraw, left: float, right: float, top: float, width: float) -> None:
    """Two columns of four lines: of the panel from `left`, of the maze from `right`; both are `width` pixels wide."""
    line, size = 0.052 * width, round(0.03 * width)
    rows = (
        ("cells to a wall or crossing", [RGB[colour] for colour in COLOURS]),
        ("cells to the goal", [RGB[colour] for colour in GOAL_COLOURS]),
        ("hint at a crossing: go", None),
    )
    columns = [left + (0.37 + 0.165 * i) * width for i in range(4)]
    for x, direction in zip(columns, DIRECTIONS, strict=True):
        _write(canvas, x, top, direction, size, FAINT)
    for number, (told, colours) in enumerate(rows, 1):
        y = top + number * line
        _write(canvas, left, y, told, size, TEXT)
        for i, x in enumerate(columns):
            if colours is None:
                draw_shape(canvas, x + 0.4 * line, y, 0.36 * line, SHAPES[i], HINT)
            else:
                _arrow(canvas, x + 0.4 * line, y, 0.36 * line, STEPS[i], colours[i])
                _write(canvas, x + 1.0 * line, y, (COLOURS, GOAL_COLOURS)[number - 1][i], size, colours[i])
    for i, told in enumerate(MARKS):
        x, y = right + (i % 2) * 0.5 * width, top + (i // 2) * line
        _mark(canvas, x + 0.4 * line, y, 0.4 * line, i)
        _write(canvas, x + 1.2 * line, y, told, size, TEXT)


def draw_disc(canvas: ImageDraw, x: float, y: float, radius: float, fill: Colour) -> None:
    """A filled circle."""
    canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def draw_shape(canvas: ImageDraw, x: float, y: float, radius: float, shape: str, fill: Colour) -> None:
    """The shape of a hint: circle, triangle, square or pentagon."""
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
