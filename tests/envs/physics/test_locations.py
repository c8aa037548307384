"""Distributions of positions and shapes."""

import json

import numpy as np
import pytest
from scipy import stats

from gumption.data import InputError
from gumption.envs.physics import locations
from gumption.envs.physics.locations import (
    Center,
    GaussianNoise2D,
    PlanarNoise,
    Point,
    RandomBottomLocation,
    RandomConvexHull,
    RandomEdgeLocation,
    RandomLeftLocation,
    RandomMiddleLocation,
    RandomTopLocation,
    RandomTopRightLocation,
    RandomUniformLocation,
    UniformNoise2D,
)
from gumption.envs.physics.noise import read_noise

PLANAR: list[PlanarNoise] = [
    Point((0.2, -0.3)),
    Center(),
    GaussianNoise2D((0.0, 1.0), (0.5, 2.0)),
    UniformNoise2D((0.0, -1.0), (2.0, 0.5)),
    RandomTopRightLocation(),
    RandomEdgeLocation(),
]


def drawn(noise: PlanarNoise, n: int = 4_000) -> np.ndarray:
    return np.asarray(noise.sample(np.random.default_rng(0), n))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("RandomUniformLocation", (-0.95, -0.95), (0.95, 0.95)),
        ("RandomBottomLocation", (-0.95, -0.95), (0.95, -0.475)),
        ("RandomTopLocation", (-0.95, 0.475), (0.95, 0.95)),
        ("RandomLeftLocation", (-0.95, -0.95), (-0.475, 0.95)),
        ("RandomRightLocation", (0.475, -0.95), (0.95, 0.95)),
        ("RandomTopRightLocation", (0.475, 0.475), (0.95, 0.95)),
        ("RandomTopLeftLocation", (-0.95, 0.475), (-0.475, 0.95)),
        ("RandomBottomRightLocation", (0.475, -0.95), (0.95, -0.475)),
        ("RandomBottomLeftLocation", (-0.95, -0.95), (-0.475, -0.475)),
        ("RandomMiddleLocation", (-0.475, -0.475), (0.475, 0.475)),
    ],
)
def test_locations_are_boxes_of_the_arena(name: str, low: tuple[float, ...], high: tuple[float, ...]) -> None:
    noise = getattr(locations, name)()
    samples = drawn(noise)
    assert (samples >= low).all()
    assert (samples <= high).all()
    np.testing.assert_allclose([samples.min(0), samples.max(0)], [low, high], atol=0.01)
    area = np.prod(np.subtract(high, low))
    assert noise.entropy() == pytest.approx(np.log(area))
    assert noise.pdf(np.mean([low, high], 0)) == pytest.approx(1 / area)
    assert noise.cdf(high) == 1


def test_a_wider_arena_has_wider_boxes() -> None:
    samples = drawn(RandomTopLocation(boundaries=(-10.0, 30.0), margin=0.0))
    assert samples[:, 1].min() >= 20
    assert samples[:, 0].min() < 0 < samples[:, 0].max()
    assert np.all(Center(boundaries=(0.0, 4.0)).sample(np.random.default_rng(0), 3) == 2.0)


def test_edge_locations_are_everywhere_but_in_the_middle() -> None:
    noise, middle = RandomEdgeLocation(), RandomMiddleLocation()
    samples = drawn(noise)
    assert np.isneginf(middle.log_pdf(samples)).all()
    assert (noise.pdf(samples) > 0).all()
    assert noise.pdf([0.0, 0.0]) == 0 == noise.pdf([1.0, 0.0])
    assert noise.entropy() == pytest.approx(np.log(12 * 0.475**2))
    assert noise.cdf([0.95, 0.95]) == pytest.approx(1)
    assert noise.cdf([0.0, 0.0]) == pytest.approx(3 / 12)
    # Up to the upper right corner of the middle: 5 of the 12 cells, against all of the middle.
    assert noise.ks(middle) == pytest.approx(1 - 5 / 12, abs=1e-14)


@pytest.mark.parametrize("noise", PLANAR, ids=repr)
def test_samples_follow_cdf_and_entropy(noise: PlanarNoise) -> None:
    samples = drawn(noise)
    points = samples[:200]
    share = (samples[None] <= points[:, None]).all(-1).mean(1)
    assert np.abs(share - noise.cdf(points)).max() < 0.03
    assert noise.empirical_entropy(samples) == pytest.approx(noise.entropy(), abs=0.1)
    assert noise.log_likelihood(samples) == pytest.approx(np.log(noise.pdf(samples)).sum())
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(noise.log_cdf(points), np.log(noise.cdf(points)))


@pytest.mark.parametrize("noise", PLANAR, ids=repr)
def test_they_are_written_and_read(noise: PlanarNoise) -> None:
    assert read_noise(json.loads(json.dumps(noise.to_data())), "here") == noise
    assert noise.w2(noise) == 0 == noise.ks(noise)


def test_w2_is_that_of_the_coordinates() -> None:
    # From the lowest quarter to the highest one all move by 1.425.
    assert RandomBottomLocation().w2(RandomTopLocation()) == pytest.approx(1.425)
    assert GaussianNoise2D((0, 0), (1, 1)).w2(GaussianNoise2D((3, 4), (1, 1))) == pytest.approx(5)
    expected = np.sqrt(2 * 0.95**2 / 12)
    assert RandomMiddleLocation().w2(Center()) == pytest.approx(expected)


def test_ks_is_exact_for_boxes() -> None:
    # Up to any point of the upper box's lower edge the lower box has all of its left part.
    assert RandomBottomLocation().ks(RandomTopLocation()) == pytest.approx(1)
    assert RandomLeftLocation().ks(RandomUniformLocation()) == pytest.approx(0.75)
    assert Center().ks(RandomUniformLocation()) == pytest.approx(0.75)
    assert Point((0.0, 0.0)).ks(Point((0.0, 0.1))) == 1
    shifted = 2 * stats.norm.cdf(0.5) - 1
    assert GaussianNoise2D((0, 0), (1, 1)).ks(GaussianNoise2D((1, 0), (1, 1))) == pytest.approx(shifted, abs=1e-8)


def test_each_hull_is_drawn_anew() -> None:
    noise = RandomConvexHull(0.3)
    first, second = noise.sample(np.random.default_rng(0), 2)
    assert first != second
    assert noise.sample(np.random.default_rng(0), 1) == [first]
    assert read_noise(noise.to_data(), "here") == noise


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomTopLocation(boundaries=(0.0, 0.1)), r"RandomTopLocation: between boundaries .* no room"),
        (lambda: RandomTopLocation(margin=-1.0), "margin is -1.0"),
        (lambda: UniformNoise2D((0, 0), (1, 0)), "low is less than high in both"),
        (lambda: RandomEdgeLocation().w2(Center()), "no exact formula; draw samples"),
        (lambda: Center().w2(RandomEdgeLocation()), "no exact formula; draw samples"),
    ],
)
def test_bad_input_is_told(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # pyright: ignore[reportCallIssue]
