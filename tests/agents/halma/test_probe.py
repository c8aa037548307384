"""The probe: which slot is whose, what it says of latents that tell all and of such that tell nothing."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gumption.data import InputError
from gumption.envs.halma import Mazes, sample_mazes
from gumption.envs.halma.maze import ALL_COLOURS
from gumption.envs.halma.visual import RGB, PanelPainter
from gumption.scripts.papers.halma.probe import (
    DIGIT_CLASSES,
    assign_slots,
    classify,
    iou,
    linear_probe,
    look,
    plot_probe,
    true_pixels,
)


@pytest.fixture(scope="module")
def painter() -> PanelPainter:
    return PanelPainter()


@pytest.fixture(scope="module")
def mazes() -> Mazes:
    return Mazes(sample_mazes(10, seed=3))


class Seen(NamedTuple):
    slots: np.ndarray
    boxes: np.ndarray
    present: np.ndarray


class BrightestPixel:
    """An encoder whose one slot in four quarters of the picture is its brightest colour, which is a digit's colour."""

    def detect(self, pictures: np.ndarray) -> Seen:
        corners = [(0, 0), (64, 0), (0, 64), (64, 64)]
        boxes = np.array([[x, y, x + 64, y + 64] for x, y in corners], dtype=np.float32)
        slots = np.stack([pictures[:, y : y + 64, x : x + 64].max((1, 2)) for x, y in corners], axis=1)
        present = np.ones((len(pictures), 4), dtype=bool)
        return Seen(slots.astype(np.float32), np.tile(boxes, (len(pictures), 1, 1)), present)


class Blind(BrightestPixel):
    def detect(self, pictures: np.ndarray) -> Seen:
        seen = super().detect(pictures)
        return seen._replace(present=np.zeros_like(seen.present))


# ---- boxes


@pytest.mark.parametrize(
    ("box", "other", "expected"),
    [
        ((0, 0, 2, 2), (0, 0, 2, 2), 1.0),
        ((0, 0, 2, 2), (1, 0, 3, 2), 1 / 3),
        ((0, 0, 2, 2), (1, 1, 3, 3), 1 / 7),
        ((0, 0, 4, 4), (1, 1, 3, 3), 1 / 4),
        ((0, 0, 2, 2), (2, 0, 4, 2), 0.0),  # they touch
        ((0, 0, 2, 2), (5, 5, 6, 6), 0.0),
        ((-2, -2, 2, 2), (0, 0, 2, 2), 1 / 4),
        ((0, 0, 0, 0), (0, 0, 0, 0), 0.0),
    ],
)
def test_intersection_over_union(box: tuple[int, ...], other: tuple[int, ...], expected: float) -> None:
    assert iou(np.array([box]), np.array([other])).item() == pytest.approx(expected)


a_box = st.tuples(*(st.integers(0, 20) for _ in range(4))).map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]))


@settings(max_examples=50, deadline=None)
@given(a_box, a_box)
def test_intersection_over_union_counts_pixels(box: tuple[int, ...], other: tuple[int, ...]) -> None:
    canvas = np.zeros((2, 41, 41), dtype=bool)
    for layer, (x0, y0, x1, y1) in zip(canvas, (box, other), strict=True):
        layer[y0:y1, x0:x1] = True
    union = canvas.any(0).sum()
    expected = canvas.all(0).sum() / union if union else 0.0
    assert iou(np.array([box]), np.array([other])).item() == pytest.approx(expected)


def test_each_object_gets_the_present_slot_that_overlaps_it_most() -> None:
    predicted = np.array([[[0, 0, 4, 4], [0, 0, 3, 4], [10, 10, 12, 12], [0, 0, 4, 3.9]]])
    truth = np.array([[[0, 0, 4, 4], [10, 10, 14, 14], [30, 30, 32, 32]]])
    slot, overlap = assign_slots(predicted, np.array([[True, True, True, True]]), truth)
    assert slot[0, :2].tolist() == [0, 2]
    assert overlap[0].tolist() == pytest.approx([1.0, 0.25, 0.0])
    slot, overlap = assign_slots(predicted, np.array([[False, True, False, True]]), truth)
    assert slot[0, 0] == 3
    assert overlap[0].tolist() == pytest.approx([0.975, 0.0, 0.0])


# ---- what is looked at


def test_labels_are_those_of_the_digits_that_are_drawn(painter: PanelPainter) -> None:
    rows = np.array([[3, 0, 0, 0, 5, 0, 0, 2, -4, 9, 1], [0, 1, 0, 0, 0, 8, 0, 0, 6, -7, 0]], dtype=np.int8)
    probed = look(BrightestPixel(), rows, painter, np.random.default_rng(0))
    names = [(ALL_COLOURS[c], DIGIT_CLASSES[d]) for c, d in zip(probed.colour, probed.digit, strict=True)]
    assert names == [
        ("red", "3"), ("red", "5"), ("green", "2"), ("cyan", "4"), ("blue", "9"),
        ("orange", "1"), ("orange", "8"), ("purple", "6"), ("white", "7"),
    ]  # fmt: skip
    assert probed.found.all()
    assert probed.objects == 8
    for (colour, _), pixels in zip(names, probed.pixels, strict=True):
        brightest = pixels.reshape(3, -1).max(1)
        assert brightest.argmax() in np.flatnonzero(np.array(RGB[colour]) == max(RGB[colour]))


def test_the_true_pixels_are_the_square_around_the_box() -> None:
    pictures = np.zeros((2, 64, 64, 3), dtype=np.uint8)
    pictures[1, 10:26, 20:28] = 255  # 16 high, 8 wide: the square is 16 wide
    pixels = true_pixels(pictures, np.array([1]), np.array([[20, 10, 28, 26]])).reshape(3, 16, 16)
    assert np.allclose(pixels[:, :, 4:12], 1, atol=1e-5)
    assert np.allclose(pixels[:, :, :4], 0, atol=1e-5)
    assert np.allclose(pixels[:, :, 12:], 0, atol=1e-5)


# ---- the classifier


def separable(count: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 3
    return np.eye(3)[labels] * 5 + rng.normal(0, 0.2, (count, 3)), labels


def test_latents_that_tell_all_are_read_without_an_error() -> None:
    result = classify(*separable(), ("a", "b", "c"))
    assert result.accuracy.tolist() == [1.0] * 10
    assert np.array_equal(result.confusion.mean(0), np.eye(3))
    assert result.classes_seen.tolist() == [100, 100, 100]


def test_shuffled_labels_are_read_at_chance() -> None:
    samples, labels = separable(600)
    result = classify(samples, np.random.default_rng(1).permutation(labels), ("a", "b", "c"))
    assert 0.25 < result.accuracy.mean() < 0.42


def test_splits_are_70_to_30_and_follow_the_seed() -> None:
    samples, labels = separable(100)
    noisy = samples + np.random.default_rng(2).normal(0, 3, samples.shape)
    one, same, other = (classify(noisy, labels, ("a", "b", "c"), seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.accuracy, same.accuracy)
    assert not np.array_equal(one.accuracy, other.accuracy)
    assert np.allclose(one.accuracy * 30, np.rint(one.accuracy * 30))  # thirty are asked about


def test_a_rare_class_counts_as_much_as_a_frequent_one() -> None:
    """Balanced: 20 of one class and 400 of another, overlapping; unbalanced, the rare class would never be guessed."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [400, 20])
    samples = rng.normal(0, 1, (420, 1)) + labels[:, None]
    confusion = np.nanmean(classify(samples, labels, ("often", "rare")).confusion, axis=0)
    assert confusion[1, 1] > 0.4


def test_a_class_that_no_test_part_has_is_null_in_the_result() -> None:
    samples, labels = separable(60)
    told = classify(samples, labels, ("a", "b", "c", "never")).to_json()
    assert told["confusion"][3] == [None] * 4
    assert told["confusion"][0][0] == 1.0
    assert told["samples_of_class"] == [20, 20, 20, 0]


def test_principal_components_hold_what_is_large() -> None:
    samples, labels = separable(90)
    wide = np.concatenate([samples, np.random.default_rng(0).normal(0, 1e-3, (90, 40))], axis=1)
    assert classify(wide, labels, ("a", "b", "c"), components=2).accuracy.mean() == 1.0


@pytest.mark.parametrize(("count", "labels"), [(9, 3), (40, 1)])
def test_too_little_to_classify_is_told(count: int, labels: int) -> None:
    with pytest.raises(InputError, match="too few to probe"):
        classify(np.zeros((count, 2)), np.arange(count) % labels, ("a", "b", "c"))


# ---- all of it


@pytest.mark.slow
def test_the_probe_of_a_real_world(mazes: Mazes, painter: PanelPainter, tmp_path: Path) -> None:
    told = linear_probe(BrightestPixel(), mazes, painter, panels=40)
    again = linear_probe(BrightestPixel(), mazes, painter, panels=40)
    assert told == again
    assert told["digits_with_slot"] == told["digits"]
    assert told["present_slots_per_panel"] == 4
    assert told["digits_at_iou_half"] == 0.0
    # A bright colour tells colours better than digits.
    assert told["colour"]["accuracy"] > told["digit"]["accuracy"] + 0.1
    assert told["colour_pixels"]["samples"] == told["digits"]
    plot_probe(told, tmp_path / "probe.png")
    plot_probe(json.loads(json.dumps(told)), tmp_path / "again.png")
    with Image.open(tmp_path / "probe.png") as image:
        assert image.size == (1320, 594)
    assert (tmp_path / "probe.png").read_bytes() == (tmp_path / "again.png").read_bytes()


def test_an_encoder_that_finds_nothing_is_told(mazes: Mazes, painter: PanelPainter) -> None:
    with pytest.raises(InputError, match="train the encoder until it finds digits"):
        linear_probe(Blind(), mazes, painter, panels=5)


@pytest.mark.parametrize("arguments", [{"panels": 0}, {"seed": -1}, {"mazes": np.zeros((4, 10), dtype=np.int8)}])
def test_bad_arguments_are_told(mazes: Mazes, painter: PanelPainter, arguments: dict[str, Any]) -> None:
    settings = {"mazes": mazes, "panels": 4} | arguments
    with pytest.raises(InputError, match=r"the probe needs rows|it is a whole number"):
        linear_probe(BrightestPixel(), painter=painter, **settings)
