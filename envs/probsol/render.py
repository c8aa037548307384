"""Draw a table as shapes (plain data, also for a browser's canvas) and as an array of pixels.

A picture shows only what the player may see: colours, ids, names, places, areas, and the boundary of a held disc, which
looks the same for monopoles and dipoles.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import cos, radians, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from .engine import Tables
from .geometry import ABSENT, GRABBED, HELD, STORED
from .magnets import RADIUS, TABLE
from .tasks import CELL, GRID, Task, in_the_dark

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

#: Width and height in px of a cell of the side bar, number of cells in a column above the hand, and the hand's place.
BAR, SLOT, SLOTS = 48, 36, 12
HAND = BAR / 2, TABLE - (TABLE - SLOT * SLOTS) / 2
#: The drawing is larger than the picture by this factor and then reduced, for smooth lines.
FINE = 2
PAPER, GRIDLINE, DARK, WALL = "#f4f1e8", "#e9e4d6", "#6f6d69", "#3a3937"
SIDE, SLOT_FILL, SLOT_LINE, WEAK = "#d9d4c6", "#efebe0", "#b9b2a0", "#8d8674"
RED, RED_IN_DARK, PALE_RED, PALE_RED_IN_DARK, GREY, GOLD, INK = (
    "#d62728", "#8c1414", "#f3cfca", "#7c4f4b", "#8a8a8a", "#e0a100", "#26241f",
)  # fmt: skip
Shape = dict[str, Any]


def picture_size(cells: int) -> tuple[int, int]:
    """Return the width and height in px of the picture of a table with a number of cells in the side bar."""
    return BAR * -(-cells // SLOTS) + int(TABLE), int(TABLE)


def pixels(tables: Tables, task: Task, i: int = 0) -> np.ndarray:
    """Draw table i as (480, 528, 3) uint8; wider if there are more than 12 cells."""
    return np.array(painted(shapes(tables, task, i), picture_size(tables.cells)))


def shapes(tables: Tables, task: Task, i: int = 0) -> list[Shape]:
    """Return the shapes of a picture of table i, from back to front, as plain data for JSON.

    Each is a dict with "shape" and, in px of the picture (y downwards), its measures: "rect" x, y, width, height;
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
        dark = in_the_dark(task, x + wide / 2, y + high / 2)
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
    x, y = HAND
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
            x, y = HAND
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
    """Draw a ring, the boundary across the disc, a dot on the side of theta, and the name on the other side."""
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


@lru_cache(maxsize=256)
def _readable_on(color: str) -> str:
    """Return black or white, whichever is legible on the colour."""
    from PIL import ImageColor

    red, green, blue = ImageColor.getrgb(color)[:3]
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _rect(
    x: float, y: float, wide: float, high: float, fill: str | None, line: str | None = None, thick: float = 0
) -> Shape:
    place = {"shape": "rect", "x": x, "y": y, "width": wide, "height": high}
    return {**place, "fill": fill, "line": line, "thick": thick}


def _circle(x: float, y: float, radius: float, fill: str | None, line: str | None, thick: float) -> Shape:
    return {"shape": "circle", "x": x, "y": y, "radius": radius, "fill": fill, "line": line, "thick": thick}


def _path(points: Sequence[tuple[float, float]], line: str, thick: float, *, closed: bool = True) -> Shape:
    listed = [list(point) for point in points]
    return {"shape": "path", "points": listed, "closed": closed, "fill": None, "line": line, "thick": thick}


def _text(x: float, y: float, text: str, size: float, fill: str) -> Shape:
    return {"shape": "text", "x": x, "y": y, "text": text, "size": size, "fill": fill, "line": None, "thick": 0}


# ---- pixels


def painted(drawn: Sequence[Shape], size: tuple[int, int]) -> "Image":
    """Draw the shapes as a picture of `size`, (width, height) in px."""
    from PIL import Image as images
    from PIL import ImageDraw

    picture = images.new("RGB", (size[0] * FINE, size[1] * FINE), PAPER)
    draw = ImageDraw.Draw(picture)
    for shape in drawn:
        _paint(draw, shape)
    return picture.reduce(FINE)


def _paint(draw: "ImageDraw", shape: Shape) -> None:
    kind, fill, line, thick = shape["shape"], shape["fill"], shape["line"], round(shape["thick"] * FINE)
    if kind == "path":
        points = [(x * FINE, y * FINE) for x, y in shape["points"]]
        ends = [*points, *points[:2]] if shape["closed"] else points
        draw.line(ends, fill=line, width=thick, joint="curve")
        return
    x, y = shape["x"] * FINE, shape["y"] * FINE
    if kind == "text":
        draw.text((x, y), shape["text"], fill=fill, font=_font(shape["size"] * FINE), anchor="mm")
    elif kind == "circle":
        radius = shape["radius"] * FINE
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill, outline=line, width=thick)
    else:
        corners = (x, y, x + shape["width"] * FINE - 1, y + shape["height"] * FINE - 1)
        draw.rectangle(corners, fill=fill, outline=line, width=thick)


@lru_cache(maxsize=16)
def _font(size: float) -> "FreeTypeFont | ImageFont":
    from PIL import ImageFont

    return ImageFont.load_default(size=size)
