"""A table as shapes to draw (data that a browser's canvas draws as well), and as an array of pixels.

Only what the player may see goes in: colours, ids, names, places, areas; of a held disc the boundary, drawn alike for
discs of one pole and dipoles.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import cos, radians, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from .engine import Tables
from .geometry import ABSENT, GRABBED, HELD, STORED
from .magnets import RADIUS, TABLE
from .tasks import CELL, GRID, Task

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

#: Of the side bar, in px: a cell's width and height, and how many cells stand below one another above the hand.
BAR, SLOT, SLOTS = 48, 36, 12
#: Pixels of the drawing to a pixel of the picture, along each side: lines come out smooth.
FINE = 2
PAPER, GRIDLINE, DARK, WALL = "#f4f1e8", "#e9e4d6", "#6f6d69", "#3a3937"
SIDE, SLOT_FILL, SLOT_LINE, WEAK = "#d9d4c6", "#efebe0", "#b9b2a0", "#8d8674"
RED, RED_IN_DARK, PALE_RED, PALE_RED_IN_DARK, GREY, GOLD, INK = (
    "#d62728", "#8c1414", "#f3cfca", "#7c4f4b", "#8a8a8a", "#e0a100", "#26241f",
)  # fmt: skip
Shape = dict[str, Any]


def picture_size(cells: int) -> tuple[int, int]:
    """Width and height in px of the picture of a table whose side bar has so many cells."""
    return BAR * -(-cells // SLOTS) + int(TABLE), int(TABLE)


def pixels(tables: Tables, task: Task, i: int = 0) -> np.ndarray:
    """Table i as (480, 528, 3) uint8; wider with more than 12 cells."""
    return np.array(painted(shapes(tables, task, i), picture_size(tables.cells)))


def shapes(tables: Tables, task: Task, i: int = 0) -> list[Shape]:
    """What a picture of table i is drawn of, from back to front; plain data for JSON.

    Each is a dict with "shape" and, in px of the picture (y downwards), what it needs: "rect" x, y, width, height;
    "circle" x, y, radius; "path" points, closed; "text" x, y (its middle), text, size. `fill` and `line` are CSS
    colours or None, `thick` is the width of the line.
    """
    left = picture_size(tables.cells)[0] - TABLE
    return [*_table(task, left), *_bar(tables.cells, left), *_discs(tables, task, i, left)]


def _table(task: Task, left: float) -> Iterator[Shape]:
    yield _rect(left, 0, TABLE, TABLE, PAPER)
    for k in range(1, GRID // 4):
        at = k * 4 * CELL
        yield _path([(left + at, 0), (left + at, TABLE)], GRIDLINE, 1, closed=False)
        yield _path([(left, at), (left + TABLE, at)], GRIDLINE, 1, closed=False)
    for x, y, wide, high in task.inaccessible:
        yield _rect(left + x, y, wide, high, DARK)
    for x, y, wide, high in task.targets:
        dark = _in_dark(task, x + wide / 2, y + high / 2)
        fill, line = (PALE_RED_IN_DARK, RED_IN_DARK) if dark else (PALE_RED, RED)
        yield _rect(left + x, y, wide, high, fill, line, 2)
    for x, y, wide, high in task.walls:
        yield _rect(left + x, y, wide, high, WALL)
    for polygons, line in ((task.building, GREY), (task.blocks, RED)):
        for corners in polygons:
            yield _path([(left + x, y) for x, y in corners], line, 2)


def _bar(cells: int, left: float) -> Iterator[Shape]:
    yield _rect(0, 0, left, TABLE, SIDE)
    for cell in range(cells):
        x, y = _slot(cell)
        yield _rect(x - BAR / 2 + 3, y - SLOT / 2 + 2, BAR - 6, SLOT - 4, SLOT_FILL, SLOT_LINE, 1)
        yield _text(x - BAR / 2 + 9, y - SLOT / 2 + 9, f"{cell}", 9, WEAK)
    x, y = _hand()
    yield _rect(x - BAR / 2 + 3, y - 21, BAR - 6, 42, PAPER, INK, 1)
    yield _text(x, y - 14, "hand", 10, WEAK)


def _discs(tables: Tables, task: Task, i: int, left: float) -> Iterator[Shape]:
    places = tables.place[i].tolist()
    for k, disc in enumerate(task.objects):
        state = int(tables.where[i, k])
        if state == ABSENT:
            continue
        if state == STORED:
            x, y = _slot(int(tables.cell[i, k]) - 1)
            x, y = x + 4, y + 1
        elif state == GRABBED:
            x, y = _hand()
            y += 5
        else:
            x, y = left + places[k][0], places[k][1]
        if disc.id in task.goal:
            yield _rect(x - RADIUS - 3, y - RADIUS - 3, 2 * RADIUS + 6, 2 * RADIUS + 6, None, GOLD, 2)
        yield _circle(x, y, RADIUS - 0.5, disc.color, INK, 1)
        size = 13 if len(disc.id) < 3 else 9
        if state == HELD:
            yield from _held(x, y, int(tables.theta[i, k]) * 45, disc.id[:4], size)
        else:
            yield _text(x, y, disc.id[:4], size, _readable_on(disc.color))
        if disc.name:
            yield _text(x, y + RADIUS + 6, disc.name, 9, INK)


def _held(x: float, y: float, theta: int, name: str, size: float) -> Iterator[Shape]:
    """A ring, the boundary across the disc, a dot on the side that theta points to, and the name on the other side."""
    yield _circle(x, y, RADIUS + 3.5, None, INK, 2)
    dx, dy = cos(radians(theta)), -sin(radians(theta))
    reach = RADIUS - 1
    ends = [(x - reach * dy, y + reach * dx), (x + reach * dy, y - reach * dx)]
    yield _path(ends, "#ffffff", 4, closed=False)
    yield _path(ends, INK, 2, closed=False)
    yield _circle(x + (RADIUS + 4) * dx, y + (RADIUS + 4) * dy, 3, "#ffffff", INK, 1)
    yield _text(x - (RADIUS + 11) * dx, y - (RADIUS + 11) * dy, name, size, INK)


def _slot(cell: int) -> tuple[float, float]:
    column, row = divmod(cell, SLOTS)
    return BAR * (column + 0.5), SLOT * (row + 0.5)


def _hand() -> tuple[float, float]:
    return BAR / 2, TABLE - (TABLE - SLOT * SLOTS) / 2


def _in_dark(task: Task, x: float, y: float) -> bool:
    return any(left <= x < left + wide and top <= y < top + high for left, top, wide, high in task.inaccessible)


@lru_cache(maxsize=256)
def _readable_on(color: str) -> str:
    """Black or white, whichever is read on the colour."""
    from PIL import ImageColor

    red, green, blue = ImageColor.getrgb(color)[:3]
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _rect(
    x: float, y: float, wide: float, high: float, fill: str | None, line: str | None = None, thick: float = 0
) -> Shape:
    return {
        "shape": "rect", "x": x, "y": y, "width": wide, "height": high, "fill": fill, "line": line, "thick": thick,
    }  # fmt: skip


def _circle(x: float, y: float, radius: float, fill: str | None, line: str | None, thick: float) -> Shape:
    return {"shape": "circle", "x": x, "y": y, "radius": radius, "fill": fill, "line": line, "thick": thick}


def _path(points: Sequence[tuple[float, float]], line: str, thick: float, *, closed: bool = True) -> Shape:
    listed = [list(point) for point in points]
    return {"shape": "path", "points": listed, "closed": closed, "fill": None, "line": line, "thick": thick}


def _text(x: float, y: float, text: str, size: float, fill: str) -> Shape:
    return {"shape": "text", "x": x, "y": y, "text": text, "size": size, "fill": fill, "line": None, "thick": 0}


# ---- pixels


def painted(drawn: Sequence[Shape], size: tuple[int, int]) -> "Image":
    """The shapes as a picture of so many pixels."""
    from PIL import Image as images
    from PIL import ImageDraw

    picture = images.new("RGB", (size[0] * FINE, size[1] * FINE), PAPER)
    draw = ImageDraw.Draw(picture)
    for shape in drawn:
        _PAINT[shape["shape"]](draw, shape)
    return picture.reduce(FINE)


def _paint_rect(draw: "ImageDraw", shape: Shape) -> None:
    x, y = shape["x"] * FINE, shape["y"] * FINE
    corners = (x, y, x + shape["width"] * FINE - 1, y + shape["height"] * FINE - 1)
    draw.rectangle(corners, fill=shape["fill"], outline=shape["line"], width=round(shape["thick"] * FINE))


def _paint_circle(draw: "ImageDraw", shape: Shape) -> None:
    x, y, radius = shape["x"] * FINE, shape["y"] * FINE, shape["radius"] * FINE
    box = (x - radius, y - radius, x + radius, y + radius)
    draw.ellipse(box, fill=shape["fill"], outline=shape["line"], width=round(shape["thick"] * FINE))


def _paint_path(draw: "ImageDraw", shape: Shape) -> None:
    points = [(x * FINE, y * FINE) for x, y in shape["points"]]
    ends = [*points, *points[:2]] if shape["closed"] else points
    draw.line(ends, fill=shape["line"], width=round(shape["thick"] * FINE), joint="curve")


def _paint_text(draw: "ImageDraw", shape: Shape) -> None:
    at = shape["x"] * FINE, shape["y"] * FINE
    draw.text(at, shape["text"], fill=shape["fill"], font=_font(shape["size"] * FINE), anchor="mm")


_PAINT = {"rect": _paint_rect, "circle": _paint_circle, "path": _paint_path, "text": _paint_text}


@lru_cache(maxsize=16)
def _font(size: float) -> "FreeTypeFont | ImageFont":
    from PIL import ImageFont

    return ImageFont.load_default(size=size)
