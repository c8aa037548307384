"""Visual panels: what is drawn is what the row says, where the boxes say, in the handwriting that was asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.data.mnist import load_digits
from gumption.envs.halma import Mazes, sample_mazes, visual
from gumption.envs.halma.maze import COLOURS, GOAL_COLOURS
from gumption.envs.halma.visual import RGB, PanelPainter
from tests.processor import cost

Box = tuple[int, int, int, int]


def a_row(**places: int) -> np.ndarray:
    """A row of zeros but for p0=3, p9=-2 and so on."""
    row = np.zeros((1, 11), dtype=np.int8)
    for place, value in places.items():
        row[0, int(place[1:])] = value
    return row


FULL = np.array([[3, 4, 5, 6, 7, 8, 9, 1, -2, 3, 4]], dtype=np.int8)  # 10 digits and a hint: the most there can be

panel_rows = st.tuples(
    st.lists(st.integers(0, 9), min_size=8, max_size=8),
    st.lists(st.integers(-9, 9), min_size=2, max_size=2),
    st.integers(0, 4),
).map(lambda parts: np.array([*parts[0], *parts[1], parts[2]], dtype=np.int8))


def colour_of(slot: int, value: int) -> str:
    if slot == 10:
        return "grey"
    if slot < 8:
        return COLOURS[slot % 4]
    return GOAL_COLOURS[(2 if value > 0 else 0) if slot == 8 else (1 if value > 0 else 3)]


def check_panel(row: np.ndarray, picture: np.ndarray, boxes: np.ndarray) -> None:
    """The boxes are tight, apart, and hold items of the right colours; all else is black."""
    assert (boxes.any(1) == (row != 0)).all()
    covered = np.zeros((128, 128), dtype=int)
    for slot in np.flatnonzero(row):
        x0, y0, x1, y1 = boxes[slot].tolist()
        assert 0 <= x0 < x1 <= 128
        assert 0 <= y0 < y1 <= 128
        assert max(x1 - x0, y1 - y0) <= 36
        covered[y0:y1, x0:x1] += 1
        item = picture[y0:y1, x0:x1].astype(int)
        ink = item.any(2)
        assert ink[0].any()
        assert ink[-1].any()
        assert ink[:, 0].any()
        assert ink[:, -1].any()
        rgb = np.array(RGB[colour_of(slot, int(row[slot]))])
        strength = item.max(2, keepdims=True) / rgb.max()
        assert (np.abs(item - strength * rgb) < 2).all(), "each pixel is a shade of the one colour"
        assert item.max() > 0.5 * rgb.max()
    assert covered.max() <= 1
    assert not picture[covered == 0].any()


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(panel_rows, min_size=1, max_size=5), seed=st.integers(0, 2**32))
def test_any_panel_is_drawn_without_overlap_inside_its_boxes(rows: list[np.ndarray], seed: int) -> None:
    batch = np.array(rows)
    pictures, boxes = PanelPainter().draw(batch, np.random.default_rng(seed))
    assert (pictures.shape, pictures.dtype) == ((len(rows), 128, 128, 3), np.uint8)
    assert (boxes.shape, boxes.dtype) == ((len(rows), 11, 4), np.int16)
    for row, picture, found in zip(batch, pictures, boxes, strict=True):
        check_panel(row, picture, found)


def test_panels_of_real_mazes() -> None:
    mazes = Mazes(sample_mazes(30, 1))
    rows = mazes.rows[mazes.inside]
    for row, picture, found in zip(rows, *PanelPainter("test").draw(rows, np.random.default_rng(0)), strict=True):
        check_panel(row, picture, found)


def test_the_fullest_panel_always_finds_room() -> None:
    """Eleven items rarely fit at random, so most of these panels fall back on the grid."""
    rows = FULL.repeat(300, 0)
    pictures, boxes = PanelPainter().draw(rows, np.random.default_rng(0))
    for row, picture, found in zip(rows, pictures, boxes, strict=True):
        check_panel(row, picture, found)
    assert (boxes[..., 2:] - boxes[..., :2]).max() <= 32
    assert len(np.unique(boxes[:, 0], axis=0)) > 250, "the same item is all over the place"


def test_the_generator_decides() -> None:
    mazes = Mazes(sample_mazes(3, 0))
    rows = mazes.rows[mazes.inside]
    painter = PanelPainter()
    first, _ = painter.draw(rows, np.random.default_rng(5))
    again, _ = painter.draw(rows, np.random.default_rng(5))
    assert np.array_equal(first, again)
    rng = np.random.default_rng(6)
    one, two = painter.draw(rows, rng)[0], painter.draw(rows, rng)[0]
    assert all(not np.array_equal(a, b) for a, b in zip(one, two, strict=True)), "the same state looks different"


def test_what_it_draws_from_large_sets_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of a set that is too large to keep in every size are scaled when they are needed, with equal results."""
    rows = FULL.repeat(20, 0)
    kept = PanelPainter("test").draw(rows, np.random.default_rng(0))
    monkeypatch.setattr(visual, "MOST_SCALED", 0)
    monkeypatch.setattr(visual, "_stock", visual._stock.__wrapped__)
    scaled = PanelPainter("test").draw(rows, np.random.default_rng(0))
    assert np.array_equal(kept[0], scaled[0])
    assert np.array_equal(kept[1], scaled[1])


def test_sizes_and_places_are_spread() -> None:
    rows = a_row(p4=8).repeat(4000, 0)
    _, boxes = PanelPainter().draw(rows, np.random.default_rng(0))
    of_eight = boxes[:, 4]
    heights = of_eight[:, 3] - of_eight[:, 1]
    assert heights.min() <= 17, "20 px with its margin"
    assert heights.max() >= 25, "36 px with its margin"
    middles = (of_eight[:, :2] + of_eight[:, 2:]) / 2
    quarters = np.bincount((middles > 64) @ np.array([1, 2]), minlength=4)
    assert quarters.min() > 0.22 * len(rows)
    assert middles.min() < 15
    assert middles.max() > 113


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_handwriting_is_that_of_the_part_asked_for(part) -> None:
    """White digits drawn at 28 px are the very images: they are found in their own part and class, not in the other."""
    rows = a_row(p9=-7).repeat(600, 0)
    pictures, boxes = PanelPainter(part).draw(rows, np.random.default_rng(0))

    def cut(image: np.ndarray, box: Box) -> bytes:
        x0, y0, x1, y1 = box
        return bytes([x1 - x0]) + image[y0:y1, x0:x1].tobytes()

    def known(name, digit: int) -> set[bytes]:
        images, labels = load_digits(name)
        found = set()
        for image in images[labels == digit]:
            shown = np.where(image < visual.FAINTEST, 0, image)
            ys, xs = np.nonzero(shown)
            found.add(cut(shown, (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1)))
        return found

    drawn = [cut(picture[..., 0], tuple(box[9])) for picture, box in zip(pictures, boxes, strict=True)]
    own = known(part, 7)
    exact = [item for item in drawn if item in own]
    assert 15 < len(exact) < 75, "about one in 17 has 28 px"
    assert len(set(exact)) > 10, "different images of the class"
    other = "test" if part == "train" else "train"
    assert not set(drawn) & known(other, 7)
    assert not set(drawn) & known(part, 1)


def test_the_hints_are_circle_triangle_square_pentagon() -> None:
    filled, wider_below = [], []
    for hint in (1, 2, 3, 4):
        pictures, boxes = PanelPainter().draw(a_row(p10=hint).repeat(50, 0), np.random.default_rng(0))
        largest = np.argmax(boxes[:, 10, 2] - boxes[:, 10, 0])
        shape = pictures[largest, ..., 0] > RGB["grey"][0] // 2
        ys, xs = np.nonzero(shape)
        shape = shape[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1]
        filled.append(shape.mean())
        quarter = len(shape) // 4
        wider_below.append(shape[-quarter:].sum() / shape[:quarter].sum())
    assert np.allclose(filled, [np.pi / 4, 0.5, 1.0, 0.69], atol=0.07)
    assert np.allclose(wider_below[::2], 1, atol=0.1)
    assert wider_below[1] > 4
    assert 1.5 < wider_below[3] < 4


def test_nothing_shown_is_black() -> None:
    pictures, boxes = PanelPainter().draw(np.zeros((2, 11), dtype=np.int8), np.random.default_rng(0))
    assert not pictures.any()
    assert not boxes.any()


def test_unknown_and_missing_images(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    with pytest.raises(InputError, match="images is 'valid'; it can be train, test, train-full, test-full"):
        PanelPainter("valid")
    monkeypatch.setenv("GUMPTION_DATA_DIR", str(tmp_path))
    with pytest.raises(InputError, match="put the file here"):
        PanelPainter("train-full")


def test_a_batch_is_drawn_fast() -> None:
    """The bench measures it in earnest."""
    mazes = Mazes(sample_mazes(30, 0))
    rows = mazes.rows[mazes.inside][:512]
    painter, rng = PanelPainter(), np.random.default_rng(0)
    painter.draw(rows, rng)
    assert cost(lambda: painter.draw(rows, rng), repeats=3) < 3
