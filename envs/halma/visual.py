"""Visual panels: handwritten digits and hint shapes, tinted, scaled and placed at random (paper, 3.1 and B.2).

Decisions where the paper is silent: an image of 28 px (with MNIST's margin) is scaled to a square of 20 to 36 px,
drawn uniformly. Items are placed one by one, the largest first, each uniformly over the positions where it overlaps no
earlier item: positions are drawn until one fits. If none fits in many tries, the items of the panel are put at random
into the slots of a grid, which always has room: 3 x 3 slots of 42 px. A panel of 10 or 11 items has 4 x 3 slots of 32 x
42 px, and therefore items of at most 32 px.

`make_painter` accepts a user-defined function instead.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.mnist import SIDE as DIGIT_SIDE
from gumption.data.mnist import Part, load_digits
from gumption.data.modules import of_module
from gumption.envs.priors import deranged

from .maze import ALL_COLOURS, Mazes
from .rules import Rules

PANEL = 128  # pixels, both ways
PICTURE = (PANEL, PANEL, 3)
DIGITS = "digits"  # the painter that ships
SMALLEST, LARGEST, LARGEST_OF_MANY = 20, 36, 32  # pixels of an item; the last in a panel that needs a 4 x 3 grid
FEW = 9  # items that the 3 x 3 grid holds
TRIES = (12, 120)  # places drawn at once for an item, in the first round and the second
FAINTEST = 8  # fainter ink is set to 0, so that a box encloses visible ink only
MOST_SCALED = 2**28  # bytes of images that are cached in all sizes; a larger set is scaled at each drawing
RGB: Mapping[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "orange": (255, 128, 0),
    "yellow": (255, 255, 0),
    "green": (0, 255, 0),
    "cyan": (0, 255, 255),
    "blue": (40, 72, 255),
    "purple": (168, 0, 255),
    "white": (255, 255, 255),
    "grey": (150, 150, 150),  # hints
}
IMAGES: Mapping[str, tuple[Part, bool]] = {
    "train": ("train", False),
    "test": ("test", False),
    "train-full": ("train", True),
    "test-full": ("test", True),
}

_COLOUR_NAMES = (*ALL_COLOURS, "grey")
#: Colours of anonymous signs, in the order of ALL_COLOURS; none of them occurs above.
OTHER_RGB = ((255, 96, 160), (150, 75, 30), (0, 140, 120), (150, 150, 255), (220, 190, 150), (120, 130, 0),
             (255, 0, 255), (90, 200, 140))  # fmt: skip


def _tints(colours: Sequence[tuple[int, int, int]]) -> np.ndarray:
    """Return (n, 3) uint16 in 256ths, so that full ink becomes the colour, within 1 level."""
    return np.rint(np.array(colours, dtype=np.float64) * 256 / 255).astype(np.uint16)


_TINTS, _OTHER_TINTS = _tints([RGB[name] for name in _COLOUR_NAMES]), _tints([*OTHER_RGB, RGB["grey"]])
_GREY = len(_COLOUR_NAMES) - 1
_SHAPE_KIND = 9  # kinds of image: 0 to 8 are the digits 1 to 9, then the shapes in the order of SHAPES


class Arrangement(NamedTuple):
    """The random choices of n panels; the same rows and arrangement give the same pictures.

    :ivar size: (n, 11) int16 pixels of the square of each place of the row, 0 if nothing is shown.
    :ivar left, top: (n, 11) int16 of the square's upper left corner.
    :ivar image: (n, 11) int32 index of the item's image in the handwriting.
    """

    size: np.ndarray
    left: np.ndarray
    top: np.ndarray
    image: np.ndarray


def make_painter(place: str, images: str, rules: Rules) -> "PanelPainter | OwnPainter":
    """Return the painter of a world's panels.

    :param place: "digits" for handwritten digits, or "module:name" of a function (rows, images, rng) -> pictures. Its
        arguments are n panel rows (n, 11) int8 (see `panel_row`), the name of the handwriting, so that training and
        tests may look different, and a NumPy generator; it returns (n, 128, 128, 3) uint8.
    :raises InputError: no such function; distances that no digit can show.
    """
    if place != DIGITS:
        return OwnPainter(place, images)
    if rules.side > 10:
        raise InputError(
            f"side is {rules.side}, and handwritten digits show distances up to 9: take observation='symbolic', or a "
            "painter of your own"
        )
    return PanelPainter(images, anonymous=rules.names == "anonymous")


class OwnPainter:
    """Panels drawn by a user-defined function."""

    def __init__(self, place: str, images: str) -> None:
        """:raises InputError: no such function, or no such handwriting."""
        _check_images(images)
        self.place, self.images = place, images
        self._paint: Callable[..., np.ndarray] = of_module(place, "painter")

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return pictures of rows (n, 11), and no boxes.

        :raises InputError: the function returns no pictures.
        """
        pictures = self._paint(rows, self.images, rng)
        if np.shape(pictures) != (len(rows), *PICTURE) or pictures.dtype != np.uint8:
            kind = getattr(pictures, "dtype", type(pictures).__name__)
            raise InputError(
                f"painter {self.place} gives {np.shape(pictures)} of {kind}; pictures are "
                f"({len(rows)}, {PANEL}, {PANEL}, 3) of uint8"
            )
        return pictures, np.zeros((0, 11, 4), dtype=np.int16)


def _check_images(images: str) -> None:
    if images not in IMAGES:
        raise InputError(f"images is {images!r}; it can be {', '.join(IMAGES)}")


class PanelPainter:
    def __init__(self, images: str = "train", anonymous: bool = False) -> None:
        """:param images: the handwriting, see `HALMASettings`.
        :param anonymous: cut digits and shapes into squares that change places, the same way in each image, and use
            other colours. They stay distinguishable, but look like no known thing.
        :raises InputError: another name; missing or damaged digits.
        """
        _check_images(images)
        self.images = images
        self._stock = _stock(images, anonymous)
        self._tints = _OTHER_TINTS if anonymous else _TINTS

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return pictures and boxes of rows (n, 11), see `render`, in a newly drawn arrangement."""
        return self.render(rows, self.arrange(rows, rng))

    def arrange(self, rows: np.ndarray, rng: np.random.Generator) -> Arrangement:
        """Draw sizes, positions and images of the items of rows (n, 11)."""
        shown = rows != 0
        largest = np.where(shown.sum(1, keepdims=True) > FEW, LARGEST_OF_MANY, LARGEST)
        sizes = np.where(shown, SMALLEST + _below(largest - SMALLEST + 1, shown.shape, rng), 0).astype(np.int16)
        left, top = _draw_places(sizes, rng)
        panel, slot = np.nonzero(sizes)
        image = np.zeros(sizes.shape, dtype=np.int32)
        kind = np.where(slot == 10, _SHAPE_KIND - 1, -1) + np.abs(rows[panel, slot].astype(np.int64))
        image[panel, slot] = self._stock.choose(kind, rng)
        return Arrangement(sizes, left, top, image)

    def render(self, rows: np.ndarray, arrangement: Arrangement) -> tuple[np.ndarray, np.ndarray]:
        """Draw the panels of rows (n, 11), see `panel_row`.

        :returns: (n, 128, 128, 3) uint8, and the boxes (n, 11, 4) int16: for each place of the row x0, y0, x1, y1, the
            smallest box (x0 <= x < x1, y0 <= y < y1, y from the top) around the ink of its item, zeros if
            nothing is shown.
        """
        panel, slot = np.nonzero(arrangement.size)
        tint = self._tints[_colours(slot, rows[panel, slot].astype(np.int64))]
        size, left, top, image = (part[panel, slot] for part in arrangement)
        pictures = np.zeros((len(rows), PANEL, PANEL, 3), dtype=np.uint8)
        found = np.zeros((len(rows), 11, 4), dtype=np.int16)
        for side in np.unique(size).tolist():
            chosen = np.flatnonzero(size == side)
            tiles, inked = self._stock.scaled(side, image[chosen])
            coloured = np.multiply(tiles[..., None], tint[chosen][:, None, None], dtype=np.uint16)
            coloured >>= 8
            place = panel[chosen], top[chosen], left[chosen]
            _windows(pictures, side)[place] = coloured.astype(np.uint8).reshape(len(chosen), side, 3 * side)
            corner = np.stack([left[chosen], top[chosen]] * 2, axis=1)
            found[panel[chosen], slot[chosen]] = inked + corner
        return pictures, found


def _windows(pictures: np.ndarray, side: int) -> np.ndarray:
    """Return a view of all squares of one size: [panel, top, left] is (side, 3 * side), a line's colours in a row."""
    last = PANEL - side + 1
    step = pictures.strides  # contiguous: panel, line, pixel, colour
    return np.lib.stride_tricks.as_strided(
        pictures, (len(pictures), last, last, side, 3 * side), (step[0], step[1], step[2], step[1], step[3])
    )


def _colours(slot: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return indices of _COLOUR_NAMES: by direction for crossing and wall (slots 0-7), by sign for the goal (8, 9)."""
    goal = np.where(slot == 8, np.where(values > 0, 2, 0), np.where(values > 0, 1, 3))
    return np.where(slot < 8, slot % 4, np.where(slot < 10, 4 + goal, _GREY))


# ---- sizes and positions of the items


def _below(limits: np.ndarray | int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw whole numbers from 0 to `limits` - 1 < 2**16, uniform to one part in 2**16."""
    return rng.integers(0, 2**16, shape, dtype=np.uint16).astype(np.uint32) * limits >> 16


def _draw_places(sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw x and y (n, 11) int16 of upper left corners of squares (n, 11) that do not overlap; 0 without a square."""
    order = np.argsort(-sizes, axis=1, kind="stable")
    side = np.take_along_axis(sizes, order, axis=1)
    x, y = np.zeros_like(sizes), np.zeros_like(sizes)
    stuck = np.zeros(len(sizes), dtype=bool)
    for item in range(np.count_nonzero(side.any(0))):
        left = np.flatnonzero(side[:, item])
        for tries in TRIES if item else (1,):
            left = left[~_place_item(left, item, side, x, y, tries, rng)]
            if not len(left):
                break
        stuck[left] = True
    if stuck.any():
        x[stuck], y[stuck] = _grid_places(side[stuck], rng)
    back = np.argsort(order, axis=1)
    return np.take_along_axis(x, back, axis=1), np.take_along_axis(y, back, axis=1)


def _place_item(
    panels: np.ndarray, item: int, side: np.ndarray, x: np.ndarray, y: np.ndarray, tries: int, rng: np.random.Generator
) -> np.ndarray:
    """Put an item of the panels (m,) at the first free one of `tries` random positions; return (m,) bool: success."""
    own = side[panels, item][:, None]
    corners = _below((PANEL + 1 - own)[..., None], (len(panels), tries, 2), rng).astype(np.int16)
    cx, cy = corners[..., 0], corners[..., 1]
    free = np.ones(cx.shape, dtype=bool)
    for other in range(item):
        size = side[panels, other][:, None]
        ox, oy = x[panels, other][:, None], y[panels, other][:, None]
        # Squares are disjoint if one ends before the other begins, along either axis.
        free &= (cx >= ox + size) | (cx + own <= ox) | (cy >= oy + size) | (cy + own <= oy)
    first = free.argmax(1)[:, None]
    x[panels, item] = np.take_along_axis(cx, first, axis=1)[:, 0]
    y[panels, item] = np.take_along_axis(cy, first, axis=1)[:, 0]
    return np.take_along_axis(free, first, axis=1)[:, 0]


def _grid_places(side: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw x and y (m, 11) of squares in different slots of a grid."""
    columns = np.where(np.count_nonzero(side, axis=1) > FEW, 4, 3)[:, None]
    keys = rng.random((len(side), 12))
    keys[(columns == 3)[:, 0], FEW:] = 1.0  # these slots do not exist: last in the order
    slot = np.argsort(keys, axis=1, kind="stable")[:, : side.shape[1]]
    places = []
    for index, length in ((slot % columns, PANEL // columns), (slot // columns, PANEL // 3)):
        room = np.maximum(length + 1 - side, 1)
        places.append(np.where(side > 0, index * length + _below(room, side.shape, rng), 0))
    return places[0], places[1]


# ---- images of the items


class _Stock:
    """Images by kind (the digits 1 to 9, then four shapes), in any size."""

    def __init__(self, images: np.ndarray, kinds: np.ndarray) -> None:
        """:param images: (N, 28, 28) uint8, sorted by their kinds (N,), 0 to 12."""
        self._images = images
        self._count = np.bincount(kinds, minlength=_SHAPE_KIND + 4)
        self._first = np.cumsum(self._count) - self._count
        self._kept: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._keeps = len(images) * sum(side * side for side in range(SMALLEST, LARGEST + 1)) <= MOST_SCALED

    def choose(self, kinds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw (m,) indices: an image of each kind."""
        return self._first[kinds] + _below(self._count[kinds], kinds.shape, rng)

    def scaled(self, side: int, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return images (m, side, side) uint8, and the boxes x0, y0, x1, y1 of their ink (m, 4)."""
        if not self._keeps:
            return _scale(self._images[chosen], side)
        if side not in self._kept:
            self._kept[side] = _scale(self._images, side)
        tiles, inked = self._kept[side]
        return tiles[chosen], inked[chosen]


_SQUARE = 7  # pixels, of a digit's 28


def _scrambled(images: np.ndarray) -> np.ndarray:
    """Cut images (n, 28, 28) into 4 x 4 squares and move each square to the place of another."""
    count = DIGIT_SIDE // _SQUARE
    squares = images.reshape(-1, count, _SQUARE, count, _SQUARE).swapaxes(2, 3).reshape(-1, count**2, _SQUARE, _SQUARE)
    squares = squares[:, deranged([None] * count**2)].reshape(-1, count, count, _SQUARE, _SQUARE)
    return squares.swapaxes(2, 3).reshape(images.shape)


@cache
def _stock(images: str, anonymous: bool = False) -> _Stock:
    part, full = IMAGES[images]
    digits, labels = load_digits(part, full=full)
    digits, labels = digits[labels > 0], labels[labels > 0]
    order = np.argsort(labels, kind="stable")
    shapes = _shapes()
    kinds = np.concatenate([labels[order].astype(np.int64) - 1, _SHAPE_KIND + np.arange(len(shapes))])
    all_images = np.concatenate([digits[order], shapes])
    return _Stock(_scrambled(all_images) if anonymous else all_images, kinds)


def _scale(images: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Scale images (m, 28, 28) uint8 to (m, side, side) uint8; also return the boxes of their ink (m, 4)."""
    weights = _scaling(side)
    # All numbers are whole and below 2**24: exact in float32, so the result is the same on every machine.
    grown = np.matmul(weights, images.astype(np.float32)) @ weights.T
    tiles = ((grown.astype(np.uint32) + 2**15) >> 16).astype(np.uint8)
    tiles[tiles < FAINTEST] = 0
    edges = []
    for axis in (1, 2):  # over lines: which columns have ink; over columns: which lines
        ink = tiles.any(axis)
        edges.append((ink.argmax(1), side - ink[:, ::-1].argmax(1)))
    (x0, x1), (y0, y1) = edges
    return tiles, np.stack([x0, y0, x1, y1], axis=1)


@cache
def _scaling(side: int) -> np.ndarray:
    """Return (side, 28) float32 weights in 256ths that sum to 256 in each row: linear interpolation, or an average over
    the source pixels if the image shrinks.
    """
    scale = DIGIT_SIDE / side
    reach = max(scale, 1.0)
    centres = (np.arange(side) + 0.5) * scale - 0.5
    exact = np.maximum(0, 1 - np.abs(np.arange(DIGIT_SIDE) - centres[:, None]) / reach)
    exact *= 256 / exact.sum(1, keepdims=True)
    weights = np.floor(exact)
    rest = np.argsort(np.argsort(weights - exact, axis=1, kind="stable"), axis=1)
    weights += rest < 256 - weights.sum(1, keepdims=True)  # distribute the rounding loss to the largest remainders
    return weights.astype(np.float32)


def _shapes() -> np.ndarray:
    """Draw (4, 28, 28) uint8 in the order of SHAPES, as large as MNIST's digits, antialiased (8 x 8 samples a px)."""
    fine = 8
    line = (np.arange(DIGIT_SIDE * fine) + 0.5) / fine - DIGIT_SIDE / 2
    x, y = line[None, :], -line[:, None]  # y upwards, from the centre

    def polygon(corners: int, radius: float, y: np.ndarray) -> np.ndarray:
        """Return the points inside a regular polygon with a corner on top."""
        angles = np.pi / 2 + (2 * np.arange(corners) + 1) * np.pi / corners
        out = [np.cos(angle) * x + np.sin(angle) * y for angle in angles]
        return np.max(out, axis=0) <= radius * np.cos(np.pi / corners)

    shapes = [
        x * x + y * y <= 10.2**2,
        polygon(3, 13, y + 3.2),  # a triangle's centre is not in the middle of its height
        np.maximum(np.abs(x), np.abs(y)) <= 9.0,
        polygon(5, 11, y + 1),
    ]
    samples = np.array(shapes).reshape(4, DIGIT_SIDE, fine, DIGIT_SIDE, fine)
    return np.rint(samples.mean((2, 4)) * 255).astype(np.uint8)


# ---- One picture for each cell of each maze: the paper's "100 mazes along with their visual panels".
#
# A maze's pictures are arranged once, by a generator that is seeded with the maze itself. They are therefore the same
# in any set, batch and process, whatever the seed of the environment. The arrangement is stored, some 100 bytes a cell;
# pictures (49 KB each) are rendered from it on demand. The pictures of a user-defined painter are stored themselves.


class FixedPanels:
    """The pictures of a set of mazes in one handwriting."""

    def __init__(self, mazes: Mazes, painter: PanelPainter | OwnPainter, panels: np.ndarray) -> None:
        """:param panels: (M, side * side, 11) int8, the panels of the mazes as shown; see `Signs.panels`."""
        self._mazes, self._painter, self._looks = mazes, painter, panels
        self._pictures: dict[int, np.ndarray] = {}  # of a user-defined painter: pictures of the cells, by maze
        places = (len(mazes), mazes.cells, 11)
        size, left, top = np.zeros((3, *places), dtype=np.int16)
        self._kept = Arrangement(size, left, top, np.zeros(places, dtype=np.int32))
        self._known = np.zeros(len(mazes), dtype=bool)

    def draw(self, maze: np.ndarray, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pictures and boxes as `PanelPainter.render` does, for maze and cell indices (n,)."""
        for new in np.unique(maze[~self._known[maze]]).tolist():
            cells = np.flatnonzero(self._mazes.inside[new])
            rng = np.random.default_rng(int(self._mazes[new].fingerprint, 16))
            self._known[new] = True
            if isinstance(self._painter, OwnPainter):
                self._pictures[new], _ = self._painter.draw(self._looks[new, cells], rng)
                continue
            for kept, part in zip(self._kept, self._painter.arrange(self._looks[new, cells], rng), strict=True):
                kept[new, cells] = part
        if isinstance(self._painter, OwnPainter):
            place = self._mazes.inside[maze].cumsum(1)[np.arange(len(maze)), cell] - 1
            pictures = [self._pictures[m][at] for m, at in zip(maze.tolist(), place.tolist(), strict=True)]
            return np.stack(pictures), np.zeros((0, 11, 4), dtype=np.int16)
        kept = Arrangement(*(part[maze, cell] for part in self._kept))
        return self._painter.render(self._looks[maze, cell], kept)
