"""Numba kernels of `gumption.envs.segar.render`: loops over environments, things and pixels.

Pixel boundaries lie at integers: the centre of pixel (r, c) is (r + 0.5, c + 0.5). The picture of a mirrored scene is
the mirrored picture.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from gumption.envs.physics.state import ABSENT, CIRCLE

_TINY = 1e-9  # pixels: tolerance, so that pixel centres on an edge belong to the polygon, on all sides alike


class Things(NamedTuple):
    """State columns that drawing reads."""

    positions: np.ndarray  # (2, N, B)
    sizes: np.ndarray  # (N, B)
    kinds: np.ndarray  # (N, B)
    corners: np.ndarray  # (V, 2, N, B)
    corner_counts: np.ndarray  # (N, B)
    drawn_size: np.ndarray  # (N, B)
    shown: np.ndarray  # (N, B) bool
    outlined: np.ndarray  # (N, B) bool
    sequence: np.ndarray  # (N, B)
    is_tile: np.ndarray  # (N,) bool
    walls: np.ndarray  # (2, B)


class Floors(NamedTuple):
    """Cached pictures of background and tiles, and the values they were painted from."""

    pictures: np.ndarray  # (B, R, R, 3) uint8
    stale: np.ndarray  # (B,) bool, repaint even if no tile changed
    seen: np.ndarray  # (4, N, B): x, y, size and visibility of the tiles when painted
    sequence: np.ndarray  # (N, B)


@njit(cache=True)
def paint(out: np.ndarray, floors: Floors, textures: np.ndarray, things: Things, centred: bool) -> None:
    """Paint a picture of each environment into `out`.

    :param out: (B, R, R, 3) uint8.
    :param textures: (B, N + 1, P, P, 3) uint8, one period of the pattern of each thing and, last, of the background.
    :param centred: place the centre of a polygon's bounding box at its position.
    """
    slots, num_envs = things.kinds.shape
    for b in range(num_envs):
        if _tiles_changed(floors, things, b) or floors.stale[b]:
            floors.stale[b] = False
            _fill(floors.pictures[b], textures[b, slots])
            for place in range(slots - 1, -1, -1):
                n = things.sequence[place, b]
                if things.is_tile[n]:
                    _paste(floors.pictures[b], textures[b, n], things, n, b, centred)
        _copy(out[b].reshape(-1), floors.pictures[b].reshape(-1))
        for place in range(slots):
            n = things.sequence[place, b]
            if not things.is_tile[n]:
                _paste(out[b], textures[b, n], things, n, b, centred)


@njit(cache=True)
def _copy(to: np.ndarray, of: np.ndarray) -> None:
    """Copy a flat array; the compiler turns this loop into one memory copy."""
    for i in range(to.shape[0]):
        to[i] = of[i]


@njit(cache=True, inline="always")
def _tiles_changed(floors: Floors, things: Things, b: int) -> bool:
    """Return whether a tile changed since the last call, and store the current values."""
    changed = False
    for n in range(things.kinds.shape[0]):
        if floors.sequence[n, b] != things.sequence[n, b]:
            floors.sequence[n, b] = things.sequence[n, b]
            changed = True
        if things.is_tile[n]:
            x, y, size = things.positions[0, n, b], things.positions[1, n, b], things.sizes[n, b]
            shown = 1.0 if things.shown[n, b] else 0.0
            seen = floors.seen
            if seen[0, n, b] != x or seen[1, n, b] != y or seen[2, n, b] != size or seen[3, n, b] != shown:
                seen[0, n, b], seen[1, n, b], seen[2, n, b], seen[3, n, b] = x, y, size, shown
                changed = True
    return changed


@njit(cache=True)
def _fill(image: np.ndarray, texture: np.ndarray) -> None:
    resolution, period = image.shape[0], texture.shape[0]
    for row in range(min(period, resolution)):
        for column in range(resolution):
            for channel in range(3):
                image[row, column, channel] = texture[row, column % period, channel]
    for row in range(period, resolution):
        _copy(image[row].reshape(-1), image[row - period].reshape(-1))


@njit(cache=True, inline="always")
def _paste(image: np.ndarray, texture: np.ndarray, things: Things, n: int, b: int, centred: bool) -> None:
    if not things.shown[n, b] or things.kinds[n, b] == ABSENT:
        return
    resolution, low = image.shape[0], things.walls[0, b]
    scale = resolution / (things.walls[1, b] - low)
    x, y, size = things.positions[0, n, b], things.positions[1, n, b], things.sizes[n, b]
    outlined = things.outlined[n, b]
    if things.kinds[n, b] == CIRCLE:
        column = int(np.rint((x - low) * scale))
        row = resolution - int(np.rint((y - low) * scale))
        radius = max(1, int(np.rint(size / 2 * scale)))
        _circle(image, texture, row, column, radius, outlined)
        return
    count = things.corner_counts[n, b]
    stretch = size / things.drawn_size[n, b]
    points = np.empty((count, 2))
    for i in range(count):
        points[i, 0] = things.corners[i, 0, n, b] * stretch
        points[i, 1] = things.corners[i, 1, n, b] * stretch
    if centred:
        for axis in range(2):
            points[:, axis] -= (points[:, axis].min() + points[:, axis].max()) / 2
    points[:, 0] = (points[:, 0] + x - low) * scale
    points[:, 1] = resolution - (points[:, 1] + y - low) * scale
    _polygon(image, texture, points, outlined)


@njit(cache=True)
def _circle(image: np.ndarray, texture: np.ndarray, row: int, column: int, radius: int, outlined: bool) -> None:
    """Paint the pixels whose centres lie in the circle."""
    first, last = max(row - radius, 0), min(row + radius, image.shape[0])
    above, here = _half_width(radius, first - 1 - row), _half_width(radius, first - row)
    for r in range(first, last):
        below = _half_width(radius, r + 1 - row)
        inner = min(here - 1, above, below) if outlined else here
        spans = column - here, column + here, column - inner, column + inner
        _row(image, texture, r, row - radius, column - radius, spans)
        above, here = here, below


@njit(cache=True)
def _half_width(radius: int, down: int) -> int:
    """Return the half width of the circle, in pixels, in the row `down` rows below its centre."""
    twice = 2 * down + 1  # twice the distance to the pixel centres, an integer
    rest = 4 * radius * radius - twice * twice
    return int((np.sqrt(rest) + 1) / 2) if rest > 0 else 0


@njit(cache=True)
def _polygon(image: np.ndarray, texture: np.ndarray, points: np.ndarray, outlined: bool) -> None:
    """Paint the pixels whose centres lie in a convex polygon with corners (V, 2), as (column, row)."""
    left, _ = _between(points[:, 0].min(), points[:, 0].max())
    top, bottom = _between(points[:, 1].min(), points[:, 1].max())
    first, last = max(top, 0), min(bottom, image.shape[0])
    above, here = _span(points, first - 0.5), _span(points, first + 0.5)
    for r in range(first, last):
        below = _span(points, r + 1.5)
        start, stop = here
        if outlined:
            start, stop = max(here[0] + 1, above[0], below[0]), min(here[1] - 1, above[1], below[1])
        _row(image, texture, r, top, left, (here[0], here[1], start, stop))
        above, here = here, below


@njit(cache=True)
def _row(image: np.ndarray, texture: np.ndarray, r: int, top: int, left: int, spans: tuple[int, int, int, int]) -> None:
    """Paint row r from spans[0] to spans[1]: the pattern from spans[2] to spans[3], black elsewhere."""
    period, start = np.uint32(texture.shape[0]), max(spans[0], 0)
    line, place = np.uint32(r - top) % period, np.uint32(start - left) % period
    for c in range(start, min(spans[1], image.shape[1])):
        kept = np.uint8(spans[2] <= c and c < spans[3])  # a product is faster than a branch
        image[r, c, 0] = texture[line, place, 0] * kept
        image[r, c, 1] = texture[line, place, 1] * kept
        image[r, c, 2] = texture[line, place, 2] * kept
        place += np.uint32(1)
        if place == period:
            place = np.uint32(0)


@njit(cache=True)
def _span(points: np.ndarray, y: float) -> tuple[int, int]:
    """Return the columns (start, stop) whose pixel centres lie in the polygon at row coordinate y; (0, 0) if none."""
    least, most = np.inf, -np.inf
    x0, y0 = points[-1, 0], points[-1, 1]
    for i in range(points.shape[0]):
        x1, y1 = points[i, 0], points[i, 1]
        if min(y0, y1) - _TINY <= y <= max(y0, y1) + _TINY:
            if abs(y1 - y0) <= _TINY:
                least, most = min(least, x0, x1), max(most, x0, x1)
            else:
                x = x0 + min(max((y - y0) / (y1 - y0), 0.0), 1.0) * (x1 - x0)
                least, most = min(least, x), max(most, x)
        x0, y0 = x1, y1
    if least > most:
        return 0, 0
    return _between(least, most)


@njit(cache=True)
def _between(least: float, most: float) -> tuple[int, int]:
    """Return the pixels (start, stop) whose centres lie between two coordinates."""
    return int(np.ceil(least - 0.5 - _TINY)), int(np.floor(most - 0.5 + _TINY)) + 1
