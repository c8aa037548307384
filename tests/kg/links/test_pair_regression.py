"""What pairs of things are expected to be worth, after those that were tried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg.links.pair_regression import NOISE, Association, PairRegression, Source

SIZE = 12


def things(seed: int = 0) -> Association:
    return Association([Source.of_vectors(np.random.default_rng(seed).normal(size=(SIZE, 6)))])


def plain(known: Association, pairs: np.ndarray, worth: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """The posterior mean of all pairs, from the formula of the module's docstring, pair by pair."""
    r, everything = known.likeness, [(a, b) for a in range(SIZE) for b in range(SIZE)]
    f = known.features(np.arange(SIZE), np.arange(SIZE), possible)

    def k(one: tuple[int, int], other: tuple[int, int]) -> float:
        (a, b), (c, d) = one, other
        return r[a, c] * r[b, d] + r[a, d] * r[b, c] + r[a, c] + r[a, d] + r[b, c] + r[b, d] + f[a, b] @ f[c, d]

    rows = [tuple(pair) for pair in pairs.tolist()]
    kernel = np.array([[k(one, other) for other in rows] for one in rows]) + NOISE * np.eye(len(rows))
    weight = np.linalg.solve(kernel, worth - worth.mean())
    found = [worth.mean() + sum(k(one, row) * w for row, w in zip(rows, weight, strict=True)) for one in everything]
    return np.array(found).reshape(SIZE, SIZE)


@given(st.integers(0, 1000), st.integers(1, 15))
def test_it_is_the_posterior_mean(seed: int, count: int) -> None:
    rng, known = np.random.default_rng(seed), things(seed)
    pairs, worth = rng.integers(SIZE, size=(count, 2)), rng.random(count)
    possible = np.flatnonzero(rng.random(SIZE) < 0.5)
    expected = PairRegression(known, pairs, worth, possible).expected(np.arange(SIZE), np.arange(SIZE))
    assert np.allclose(expected, plain(known, pairs, worth, possible))
    assert np.allclose(expected, expected.T)
    turned = PairRegression(known, pairs[:, ::-1].copy(), worth, possible)
    assert np.allclose(expected, turned.expected(np.arange(SIZE), np.arange(SIZE)))


def test_pairs_of_like_things_are_worth_alike() -> None:
    vectors = np.eye(SIZE)
    vectors[1] = vectors[0] + 0.1 * vectors[1]  # 0 and 1 are alike
    known = Association([Source.of_vectors(vectors)])
    found = PairRegression(known, np.array([[0, 2], [4, 5]]), np.array([1.0, 0.0]), np.zeros(0, dtype=np.int64))
    expected = found.expected(np.arange(SIZE), np.arange(SIZE))
    assert expected[0, 2] > expected[1, 2] > expected[6, 2] > expected[6, 7] > expected[4, 5]


def test_links_through_what_is_possible_count_the_less_it_is_linked() -> None:
    links = np.zeros((SIZE, SIZE))
    for a, b in ((0, 2), (1, 2), (3, 5), (4, 5), (5, 6), (5, 7), (5, 8)):
        links[a, b] = links[b, a] = 1.0
    known = Association([Source.of_vectors(np.eye(SIZE), links)])
    both = known.features(np.arange(SIZE), np.arange(SIZE), np.array([2, 5]))[..., 2]
    assert both[0, 1] > both[3, 4] > both[0, 3] == 0
    assert not known.features(np.array([0]), np.array([1]), np.array([5]))[..., 2].any()


def test_bad_input_is_told() -> None:
    known, none = things(), np.zeros(0, dtype=np.int64)
    with pytest.raises(InputError, match=r"vectors of shape .*: one finite row for each thing"):
        Source.of_vectors(np.full((3, 2), np.nan))
    with pytest.raises(InputError, match="0 sources: give one at least"):
        Association([])
    with pytest.raises(InputError, match="2 sources: give one at least, all of the same things"):
        Association([Source.of_vectors(np.eye(3)), Source.of_vectors(np.eye(4))])
    for pairs, worth in (
        (np.zeros((0, 2), dtype=np.int64), []),
        (np.array([[0, 1]]), []),
        (np.array([[0, 12]]), [1.0]),
    ):
        with pytest.raises(InputError, match=r"pairs of 12 things, \d worths: one for each, at least one"):
            PairRegression(known, pairs, np.array(worth), none)
