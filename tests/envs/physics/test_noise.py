"""Distributions of one number: their statistics against scipy's, and their distances against what is known."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from gumption.data import InputError
from gumption.envs.physics.locations import RandomUniformLocation
from gumption.envs.physics.noise import (
    NOISES,
    Choice,
    Deterministic,
    DiscreteRangeNoise,
    GaussianMixtureNoise,
    GaussianNoise,
    ScalarNoise,
    UniformNoise,
    read_noise,
)

CLIPPED = GaussianNoise(0.2, 0.1, clip=(0.1, 0.35))
MIXTURE = GaussianMixtureNoise((-1.0, 0.5, 2.0), (0.1, 0.8, 0.3), (0.5, 0.2, 0.3))
NOISES_1D: list[ScalarNoise] = [
    Deterministic(0.3),
    DiscreteRangeNoise(1, 4),
    Choice((0.5, -1.0, 3.0), (0.2, 0.5, 0.3)),
    UniformNoise(2.0, 3.0),
    GaussianNoise(1.0, 2.0),
    CLIPPED,
    GaussianMixtureNoise((-1.0, 1.0), (0.1, 0.1)),
    MIXTURE,
]
GRID = np.linspace(-4.0, 5.0, 181)


def drawn(noise: ScalarNoise, n: int, seed: int = 0) -> np.ndarray:
    return noise.sample(np.random.default_rng(seed), n)


@pytest.mark.parametrize(
    ("noise", "reference"),
    [
        (UniformNoise(2.0, 3.0), stats.uniform(2, 1)),
        (UniformNoise(-0.5, 2.0), stats.uniform(-0.5, 2.5)),
        (GaussianNoise(1.0, 2.0), stats.norm(1, 2)),
        (GaussianNoise(-3.0, 0.2), stats.norm(-3, 0.2)),
    ],
)
def test_continuous_noises_are_those_of_scipy(noise: ScalarNoise, reference: object) -> None:
    its: stats.rv_continuous = reference  # pyright: ignore[reportAssignmentType]
    np.testing.assert_allclose(noise.pdf(GRID), its.pdf(GRID), atol=1e-14)
    np.testing.assert_allclose(noise.cdf(GRID), its.cdf(GRID), atol=1e-14)
    np.testing.assert_allclose(noise.log_pdf(GRID), its.logpdf(GRID), rtol=1e-12)
    np.testing.assert_allclose(noise.log_cdf(GRID), its.logcdf(GRID), rtol=1e-9)
    np.testing.assert_allclose(noise.quantile([0.1, 0.5, 0.99]), its.ppf([0.1, 0.5, 0.99]))
    assert noise.entropy() == pytest.approx(float(its.entropy()), abs=1e-12)


def test_far_tails_keep_their_logarithms() -> None:
    assert GaussianNoise(0, 1).log_pdf(100.0) == pytest.approx(stats.norm.logpdf(100))
    assert GaussianNoise(0, 1).log_cdf(-100.0) == pytest.approx(stats.norm.logcdf(-100))
    assert GaussianMixtureNoise((0, 1), (1, 1)).log_cdf(-100.0) == pytest.approx(stats.norm.logcdf(-100) - np.log(2))


def test_discrete_noises_are_those_of_scipy() -> None:
    reference = stats.randint(1, 5)
    noise, points = DiscreteRangeNoise(1, 4), np.arange(-1, 7)
    np.testing.assert_allclose(noise.pdf(points), reference.pmf(points))
    np.testing.assert_allclose(noise.cdf(points + 0.5), reference.cdf(points))
    assert noise.entropy() == pytest.approx(float(reference.entropy()))
    assert noise.sample(np.random.default_rng(0), 5).dtype.kind == "i"
    assert Choice((True, False)).sample(np.random.default_rng(0), 5).dtype == bool


def test_a_clipped_gaussian_is_a_mixture_of_its_ends_and_a_truncated_one() -> None:
    low, high = (0.1 - 0.2) / 0.1, (0.35 - 0.2) / 0.1
    inside = stats.truncnorm(low, high, 0.2, 0.1)
    ends = [stats.norm.cdf(low), stats.norm.sf(high)]
    share = 1 - sum(ends)
    np.testing.assert_allclose(CLIPPED.pdf([0.1, 0.35]), ends)
    np.testing.assert_allclose(CLIPPED.pdf([0.0, 0.2, 0.4]), [0, share * inside.pdf(0.2), 0])
    np.testing.assert_allclose(CLIPPED.cdf([0.09, 0.1, 0.2, 0.35]), [0, ends[0], 0.5, 1])
    np.testing.assert_allclose(CLIPPED.cdf_before([0.1, 0.35]), [0, 1 - ends[1]], atol=1e-15)
    expected = stats.entropy([*ends, share]) + share * inside.entropy()
    assert CLIPPED.entropy() == pytest.approx(float(expected), abs=1e-12)


def test_mixtures_are_the_sums_of_their_parts() -> None:
    parts = [stats.norm(*each) for each in ((-1, 0.1), (0.5, 0.8), (2, 0.3))]
    for ours, theirs in ((MIXTURE.pdf, "pdf"), (MIXTURE.cdf, "cdf")):
        expected = sum(p * getattr(part, theirs)(GRID) for p, part in zip((0.5, 0.2, 0.3), parts, strict=True))
        np.testing.assert_allclose(ours(GRID), expected, atol=1e-14)
    levels = np.array([1e-6, 0.1, 0.49, 0.51, 0.9, 1 - 1e-6])
    np.testing.assert_allclose(MIXTURE.cdf(MIXTURE.quantile(levels)), levels, rtol=1e-9)
    numeric = integrate.quad(lambda x: -MIXTURE.pdf(x) * MIXTURE.log_pdf(x), -6, 8, limit=400)[0]
    assert MIXTURE.entropy() == pytest.approx(numeric, abs=1e-7)
    apart = GaussianMixtureNoise((-50.0, 50.0), (0.1, 0.1))
    assert apart.entropy() == pytest.approx(GaussianNoise(0, 0.1).entropy() + np.log(2), abs=1e-11)


def test_log_likelihood_is_that_of_the_mixture_not_of_its_parts() -> None:
    samples = drawn(MIXTURE, 50)
    assert MIXTURE.log_likelihood(samples) == pytest.approx(np.log(MIXTURE.pdf(samples)).sum())


@pytest.mark.parametrize("noise", NOISES_1D, ids=repr)
def test_samples_follow_the_cdf(noise: ScalarNoise) -> None:
    samples = np.sort(drawn(noise, 20_000).astype(float))
    points = np.unique(samples)
    share = np.searchsorted(samples, points, side="right") / len(samples)
    assert np.abs(share - noise.cdf(points)).max() < 0.012  # the 1 in 200 value of Kolmogorov is 0.0122


@pytest.mark.parametrize("noise", NOISES_1D, ids=repr)
def test_empirical_entropy_finds_the_entropy(noise: ScalarNoise) -> None:
    assert noise.empirical_entropy(drawn(noise, 20_000)) == pytest.approx(noise.entropy(), abs=0.03)


@pytest.mark.parametrize("noise", NOISES_1D, ids=repr)
def test_noises_are_written_and_read(noise: ScalarNoise) -> None:
    assert read_noise(json.loads(json.dumps(noise.to_data())), "here") == noise


def test_w2_of_gaussians_and_uniforms_is_that_of_the_formulas() -> None:
    assert GaussianNoise(1, 2).w2(GaussianNoise(-2, 0.5)) == pytest.approx(np.hypot(3, 1.5))
    # The integral of (2 + u - 4u)^2 is 1.
    assert UniformNoise(2, 3).w2(UniformNoise(0, 4)) == pytest.approx(1.0, abs=1e-12)
    assert UniformNoise(-1, 1).w2(Deterministic(0)) == pytest.approx(np.sqrt(1 / 3), abs=1e-12)
    # The covariance of a normal variable and its own cdf is 1 / (2 sqrt(pi)).
    expected = np.sqrt(1 + 1 / 12 - 1 / np.sqrt(np.pi))
    assert GaussianNoise(0.5, 1).w2(UniformNoise(0, 1)) == pytest.approx(expected, abs=1e-9)
    assert DiscreteRangeNoise(1, 2).w2(DiscreteRangeNoise(3, 5)) == pytest.approx(np.sqrt(13 / 2), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("first", NOISES_1D, ids=repr)
@pytest.mark.parametrize("second", NOISES_1D, ids=repr)
def test_w2_and_ks_agree_with_quantiles_and_cdfs_on_fine_grids(first: ScalarNoise, second: ScalarNoise) -> None:
    u = (np.arange(20_000) + 0.5) / 20_000
    expected = np.sqrt(((first.quantile(u) - second.quantile(u)) ** 2).mean())
    assert first.w2(second) == pytest.approx(expected, abs=5e-3)
    assert first.w2(second) == pytest.approx(second.w2(first), abs=1e-12)
    x = np.unique(np.concatenate([np.linspace(-8, 10, 20_001), first.edges, second.edges]))
    gap = max(np.abs(first.cdf(x) - second.cdf(x)).max(), np.abs(first.cdf_before(x) - second.cdf_before(x)).max())
    assert gap <= first.ks(second) + 1e-12
    assert first.ks(second) == pytest.approx(gap, abs=2e-3)
    assert (first.w2(second) == 0) == (first == second)


def test_ks_is_exact_where_it_is_known() -> None:
    shifted = 2 * stats.norm.cdf(0.5) - 1
    assert GaussianNoise(0, 1).ks(GaussianNoise(1, 1)) == pytest.approx(shifted, abs=1e-14)
    x = np.sqrt(2 * np.log(2) / (1 - 1 / 4))  # where the densities of N(0, 1) and N(0, 2) are equal
    wider = stats.norm.cdf(x) - stats.norm.cdf(x / 2)
    assert GaussianNoise(0, 1).ks(GaussianNoise(0, 2)) == pytest.approx(wider, abs=1e-14)
    assert UniformNoise(0, 1).ks(UniformNoise(0.25, 1.25)) == pytest.approx(0.25)
    assert Deterministic(0.5).ks(UniformNoise(0, 1)) == pytest.approx(0.5)


@given(st.floats(-5, 5), st.floats(0.05, 3), st.floats(-5, 5), st.floats(0.05, 3))
def test_the_general_integral_agrees_with_the_gaussian_formula(a: float, s: float, b: float, t: float) -> None:
    as_mixture = GaussianMixtureNoise((a, a), (s, s))
    assert as_mixture.w2(GaussianNoise(b, t)) == pytest.approx(np.hypot(a - b, s - t), abs=1e-7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformNoise(1, 1), "low is 1 and high 1; low is less than high"),
        (lambda: GaussianNoise(0, 0), "std is 0; it is a number above 0"),
        (lambda: GaussianNoise(0, 1, clip=(-0.5, -1.0)), r"clip is \(-0.5, -1.0\); the first is less"),
        (lambda: GaussianMixtureNoise((0, 1), (1,)), "2 means and 1 stds"),
        (lambda: GaussianMixtureNoise((0, 1), (1, 1), (0.5, 0.6)), "pvals is .*2 probabilities whose sum is 1"),
        (lambda: DiscreteRangeNoise(2, 1), "low is at most high"),
        (lambda: DiscreteRangeNoise(0, 10**12), "at most a million values"),
        (lambda: Choice(()), "one value or more"),
        (lambda: Choice((1, 1)), "each once"),
        (lambda: Choice((1, 2), (1.0,)), "p is .*2 probabilities"),
        (lambda: read_noise({"noise": "GausianNoise"}, "here"), "here: noise has no 'GausianNoise'; did you mean"),
        (lambda: read_noise({"noise": "Deterministic"}, "here"), "here: Deterministic: .*needs value"),
        (lambda: read_noise(3, "here"), "here is 3; it is {'noise': name"),
        (lambda: UniformNoise(0, 1).w2(RandomUniformLocation()), "cannot be compared"),
        (lambda: UniformNoise(0, 1).ks(RandomUniformLocation()), "cannot be compared"),
    ],
)
def test_bad_input_is_told(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # pyright: ignore[reportCallIssue]


def test_a_noise_of_ones_own_is_read_by_its_name() -> None:
    class Coin(Choice):
        pass

    try:
        assert isinstance(read_noise({"noise": "Coin", "values": [0, 1]}, "here"), Coin)
    finally:
        del NOISES["Coin"]
