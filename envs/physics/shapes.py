"""Shapes of things: circles, and convex polygons by their vertices relative to the position.

A shape is data, in scenes and in files: {"kind": "circle", "size": 0.2} (the diameter) or
{"kind": "polygon", "vertices": [[x, y], ...]} in counter-clockwise order.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import cos, pi, sin
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from gumption.data import InputError
from gumption.data.settings import check, shown

Shape = dict[str, Any]
#: Bound of all numbers of a scene: products of six of them are finite.
HIGHEST = 1e50
#: Minimal width of a thing, and minimal distance of two corners of a polygon.
NARROWEST = 1e-12


def circle(size: float) -> Shape:
    """Return a circle of this diameter."""
    return {"kind": "circle", "size": size}


def polygon(vertices: Sequence[Sequence[float]]) -> Shape:
    """Return the convex polygon with these corners, relative to the position; raise InputError as `read_shape`."""
    return read_shape({"kind": "polygon", "vertices": [list(each) for each in vertices]}, "the polygon")


def rectangle(width: float, height: float) -> Shape:
    """Return a rectangle centred at the position."""
    x, y = width / 2, height / 2
    return {"kind": "polygon", "vertices": [[-x, -y], [x, -y], [x, y], [-x, y]]}


def square(side: float) -> Shape:
    """Return a square centred at the position."""
    return rectangle(side, side)


def regular_polygon(corners: int, width: float) -> Shape:
    """Return a regular polygon with at least three sides, inscribed in a circle of this diameter at the position."""
    if corners < 3:
        raise InputError(f"a polygon of {corners} corners; it has 3 at least")
    turns = [pi / 2 + 2 * pi * i / corners for i in range(corners)]
    return {"kind": "polygon", "vertices": [[width / 2 * cos(turn), width / 2 * sin(turn)] for turn in turns]}


def random_convex_hull(size: float, rng: np.random.Generator) -> Shape:
    """Return the convex hull of 100 points drawn from a normal distribution with the standard deviation size / 2."""
    points = rng.normal(0.0, size / 2, (100, 2))
    return {"kind": "polygon", "vertices": _hull(points.tolist())}


def read_shape(given: Any, where: str) -> Shape:
    """Check a shape and return it as data with plain numbers.

    :raises InputError: no shape, a size that is not positive, or a polygon that is not convex, crosses itself or has no
        area; the message begins with `where`.
    """
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if kind == "circle" and set(given) == {"kind", "size"}:
        size = check(f"{where}: the size of a circle", given["size"], Annotated[float, Ge(NARROWEST)])
        if size > HIGHEST:
            raise InputError(f"{where}: the size of a circle is {shown(size)}; it is not beyond {HIGHEST:g}")
        return circle(float(size))
    if kind == "polygon" and set(given) == {"kind", "vertices"}:
        return {"kind": "polygon", "vertices": _read_vertices(given["vertices"], where)}
    raise InputError(
        f"{where}: the shape is {shown(given)}; it is {{'kind': 'circle', 'size': s}} "
        "or {'kind': 'polygon', 'vertices': [[x, y], ...]}"
    )


def width(shape: Shape) -> float:
    """Return the diameter of a circle, or the largest extent of a polygon along an axis."""
    if shape["kind"] == "circle":
        return shape["size"]
    points = np.asarray(shape["vertices"])
    return float(np.ptp(points, axis=0).max())


def scaled(shape: Shape, factor: float) -> Shape:
    """Return the shape scaled by the factor."""
    if shape["kind"] == "circle":
        return circle(shape["size"] * factor)
    return {"kind": "polygon", "vertices": [[x * factor, y * factor] for x, y in shape["vertices"]]}


def _read_vertices(given: Any, where: str) -> list[list[float]]:
    points: np.ndarray = np.zeros(0)
    with suppress(TypeError, ValueError, OverflowError):
        points = np.asarray(given, dtype=float)
    fine = points.ndim == 2 and points.shape[1] == 2 and 3 <= len(points) <= 1000
    if not fine or not np.abs(points).max() <= HIGHEST:
        raise InputError(
            f"{where}: the vertices are {shown(given)}; they are 3 to 1,000 pairs of finite numbers, none beyond "
            f"{HIGHEST:g}"
        )
    vertices: list[list[float]] = [[float(x), float(y)] for x, y in points]
    if _area(vertices) < 0:
        vertices.reverse()
    hull, extent = _hull(vertices), float(np.ptp(points, axis=0).max())
    if extent < NARROWEST:
        raise InputError(f"{where}: the polygon is {extent:g} wide; it is {NARROWEST:g} wide at least")
    if _area(hull) <= NARROWEST * extent:
        raise InputError(f"{where}: the vertices lie on one line, so that nothing can lie on the polygon")
    if len(hull) < len({tuple(point) for point in vertices}):
        raise InputError(f"{where}: the polygon is not convex; its convex hull is {shown(hull)}")
    around = [one for one, before in zip(vertices, [vertices[-1], *vertices[:-1]], strict=True) if one != before]
    first = around.index(hull[0])
    if around[first:] + around[:first] != hull:
        raise InputError(f"{where}: the sides of the polygon cross or repeat; its convex hull is {shown(hull)}")
    apart = np.abs(np.subtract(around, [*around[1:], around[0]])).max(axis=1)
    if apart.min() < NARROWEST:
        raise InputError(f"{where}: two corners of the polygon are {apart.min():g} apart; take one of them")
    return vertices


def _hull(points: list[list[float]]) -> list[list[float]]:
    """Return the convex hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted({(x, y) for x, y in points})

    def half(run: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for point in run:
            while len(chain) > 1:
                (ax, ay), (bx, by), (cx, cy) = chain[-2], chain[-1], point
                if (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0:  # a turn to the left
                    break
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return [list(point) for point in half(ordered) + half(ordered[::-1])]


def _area(vertices: Sequence[Sequence[float]]) -> float:
    """Return the signed area, positive for counter-clockwise corners."""
    return sum(x * v - u * y for (x, y), (u, v) in zip(vertices, [*vertices[1:], vertices[0]], strict=True)) / 2
