"""A product of experts: what abstaining sources, weights and held-out facts do to p(object | pair)."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from gumption.data import InputError
from gumption.kg import Vocabulary, load_predictor
from gumption.kg.links.experts import PREDICTOR, Experts, Sources, mixed_folds
from gumption.kg.links.nary_predictor import NaryPredictor, NarySettings
from gumption.kg.scores import PairTable, pair_scorer

SIZE = 40
SMALL = NarySettings(width=8, hidden=8, epochs=3, batch_size=32)
LABELS = [f"thing{number:02d}" for number in range(SIZE)]
VOCABULARY = Vocabulary(LABELS, ("pair", "part"))


def facts() -> np.ndarray:
    """(n, 3): what two of the first 20 things make is one of the other 20, which has both as its parts."""
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(20, size=(90, 2)), axis=1), axis=0)
    return np.column_stack([pairs, 20 + (pairs[:, 0] * 7 + pairs[:, 1] * 3) % 20])


ROWS = facts()
FOLDS = mixed_folds(ROWS, 3)


def matrix(pairs: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(pairs), dtype=np.float32), pairs.T), (SIZE, SIZE))


#: Links of every party to its product, and as many to others.
TRUE = np.unique(np.concatenate([ROWS[:, [0, 2]], ROWS[:, [1, 2]]]), axis=0)
NOISE = np.column_stack([np.arange(20), 20 + np.arange(20) * 3 % 20])
LINKS = [matrix(np.unique(np.concatenate([TRUE, NOISE]), axis=0))]
NONE = [sparse.csr_array((SIZE, SIZE), dtype=np.float32)]


@pytest.fixture(scope="module")
def predictors() -> list[NaryPredictor]:
    """Of all facts, and without those of each fold."""
    vectors = np.random.default_rng(1).normal(size=(SIZE, 6))
    whole = NaryPredictor.fit(ROWS, vectors, VOCABULARY, members=2, settings=SMALL, device="cpu")
    folds = NaryPredictor.fit_folds(ROWS, vectors, VOCABULARY, FOLDS, members=1, settings=SMALL, device="cpu")
    return [whole, *folds]


def fitted(predictors: list[NaryPredictor] | None, **parts: list[sparse.csr_array]) -> Experts:
    whole, *folds = [Sources(each, parts) for each in predictors or [None] * 4]
    return Experts.fit(ROWS, VOCABULARY, FOLDS, whole, folds, device="cpu")


def log_p(experts: Experts | NaryPredictor) -> torch.Tensor:
    first, second = (torch.from_numpy(part) for part in ROWS[:, :2].T)
    return experts.log_probabilities(first, second)


def of_facts(experts: Experts) -> float:
    return float(log_p(experts)[torch.arange(len(ROWS)), torch.from_numpy(ROWS[:, 2])].mean())


def test_a_source_that_abstains_changes_nothing(predictors: list[NaryPredictor]) -> None:
    alone, beside = fitted(predictors), fitted(predictors, links=NONE)
    assert torch.allclose(log_p(alone), log_p(beside), atol=1e-4)
    with_links = fitted(predictors, links=LINKS)
    assert torch.allclose(log_p(with_links), log_p(fitted(predictors, links=LINKS, more=NONE)), atol=1e-3)


def test_with_weights_of_zero_the_rest_remains(predictors: list[NaryPredictor]) -> None:
    learned = fitted(predictors, links=LINKS).weights
    silent = {"features": [[0.0], [0.0]], "both": [0.0, 0.0]}
    only = {"bias": [0.0, 0.0], "nothing": [0.0, 1.0], "sources": {PREDICTOR: [1.0, 1.0], "links": silent}}
    made = Experts.of(ROWS, VOCABULARY, Sources(predictors[0], {"links": LINKS}), only, "cpu")
    assert torch.allclose(log_p(made), log_p(predictors[0]), atol=1e-5)
    no_links = {**learned, "sources": {**learned["sources"], "links": silent}}
    one = Experts.of(ROWS, VOCABULARY, Sources(predictors[0], {"links": LINKS}), no_links, "cpu")
    other = Experts.of(ROWS, VOCABULARY, Sources(predictors[0], {"links": NONE}), learned, "cpu")
    assert torch.allclose(log_p(one), log_p(other), atol=1e-5)


def test_links_that_tell_the_product_get_weight_and_noise_does_not(predictors: list[NaryPredictor]) -> None:
    links = fitted(predictors, links=LINKS)
    assert of_facts(links) > of_facts(fitted(predictors)) + 0.5
    unseen, seen = links.weights["sources"]["links"]["both"]
    assert unseen > 0
    assert seen > 0
    rng = np.random.default_rng(3)
    noise = [matrix(np.unique(np.column_stack([rng.integers(20, size=80), 20 + rng.integers(20, size=80)]), axis=0))]
    both = fitted(predictors, links=LINKS, noise=noise)
    of_noise = np.abs(both.weights["sources"]["noise"]["features"]).max()
    assert of_noise < np.min(both.weights["sources"]["links"]["features"])


def test_probabilities_sum_to_one_and_the_order_of_a_pair_does_not_matter(predictors: list[NaryPredictor]) -> None:
    experts = fitted(predictors, links=LINKS)
    assert torch.allclose(log_p(experts).exp().sum(1), torch.ones(len(ROWS)), atol=1e-5)
    first, second = (torch.from_numpy(part) for part in ROWS[:, :2].T)
    assert torch.allclose(experts.log_probabilities(second, first), log_p(experts), atol=1e-5)


def test_single_products_are_those_of_all_and_shares_add_up(predictors: list[NaryPredictor]) -> None:
    for experts in (fitted(predictors, links=LINKS), fitted(None, links=LINKS)):
        first, second, product = (torch.from_numpy(part) for part in ROWS.T)
        normalisers = experts.normalisers(first, second)
        assert normalisers.shape == (len(ROWS), experts.members)
        expected = log_p(experts)[torch.arange(len(ROWS)), product]
        assert torch.allclose(experts.log_probability(first, second, product, normalisers), expected, atol=1e-4)
        shares = experts.shares(first, second, product)
        assert tuple(shares) == experts.sources
        total = sum(shares.values()) + experts.tensors["bias"][product] - normalisers[:, -1]
        assert torch.allclose(total, expected, atol=1e-4)
        assert not shares["links"][torch.from_numpy(~np.isin(ROWS[:, 2], ROWS[:, 2]))].any()


def test_what_a_source_says_nothing_of_has_no_share() -> None:
    experts = fitted(None, links=LINKS)
    linked = LINKS[0].toarray() > 0
    first, second, product = (part.ravel() for part in np.meshgrid(*(np.arange(0, SIZE, 3),) * 3))
    silent = ~linked[first, product] & ~linked[second, product]
    share = experts.shares(*(torch.from_numpy(part) for part in (first, second, product)))["links"]
    assert not share[torch.from_numpy(silent)].any()
    assert share[torch.from_numpy(~silent)].all()


def test_a_thing_that_is_paired_with_itself_is_one_party() -> None:
    experts = fitted(None, links=LINKS)
    row, column = (int(part[0]) for part in LINKS[0].nonzero())
    ids = torch.tensor([row, row]), torch.tensor([row, (row + 1) % 20]), torch.tensor([column, column])
    twice, pair = experts.shares(*ids)["links"].tolist()
    alone = float(experts.tensors["value"][0, row, column])
    assert twice == pytest.approx(alone)
    with_other = alone + float(experts.tensors["value"][0, (row + 1) % 20, column])
    assert pair == pytest.approx(
        with_other + (float(experts.tensors["both"][0, column]) if with_other > alone else 0.0)
    )


def test_other_names_give_the_same_table_under_these_names(predictors: list[NaryPredictor]) -> None:
    """Entities in another order, with all that is said of them."""
    order = np.random.default_rng(5).permutation(SIZE)  # new place -> old
    place = np.argsort(order)
    rows, links = place[ROWS], [sparse.csr_array(LINKS[0][order][:, order])]
    moved = Experts.fit(rows, VOCABULARY, FOLDS, Sources(None, {"links": links}),
                        [Sources(None, {"links": links})] * 3, device="cpu")  # fmt: skip
    known = fitted(None, links=LINKS)
    # Pairs that make nothing are drawn by place, so weights are near, not equal; with the same ones tables are equal.
    assert np.allclose(moved.weights["sources"]["links"]["both"], known.weights["sources"]["links"]["both"], atol=1.0)
    same = Experts.of(rows, VOCABULARY, Sources(None, {"links": links}), known.weights, "cpu")
    first, second = (torch.from_numpy(part) for part in ROWS[:, :2].T)
    found = same.log_probabilities(torch.from_numpy(place)[first], torch.from_numpy(place)[second])
    assert torch.allclose(found[:, [*place, SIZE]], log_p(known), atol=1e-5)


def test_the_same_call_gives_the_same_bits_and_a_checkpoint_keeps_them(
    predictors: list[NaryPredictor], tmp_path: Path
) -> None:
    one, other = fitted(predictors, links=LINKS), fitted(predictors, links=LINKS)
    assert one.weights == other.weights
    one.save(tmp_path / "experts")
    loaded = load_predictor(tmp_path / "experts", "cpu")
    assert isinstance(loaded, Experts)
    assert torch.equal(log_p(loaded), log_p(other))
    assert np.array_equal(loaded.trained_on, one.trained_on)  # type: ignore[arg-type]
    assert loaded.sources == (PREDICTOR, "links")
    assert loaded.to("cpu").weights == one.weights
    alone = fitted(None, links=LINKS)
    alone.save(tmp_path / "experts")
    assert torch.equal(log_p(load_predictor(tmp_path / "experts", "cpu")), log_p(alone))  # type: ignore[arg-type]


def test_a_table_of_experts_is_one_of_pairs(predictors: list[NaryPredictor]) -> None:
    experts = fitted(predictors, links=LINKS)
    table = pair_scorer(experts, LABELS)
    assert isinstance(table, PairTable)
    a, b, product = (torch.from_numpy(ROWS[:4, part])[:, None] + 1 for part in (0, 1, 2))
    expected = log_p(experts)[:4][torch.arange(4), torch.from_numpy(ROWS[:4, 2])] - table.chance
    assert torch.allclose(table(a, product, b, None)[:, 0], expected, atol=2e-2)


def test_folds_hold_whole_objects_out_and_single_facts() -> None:
    folds = mixed_folds(ROWS, 3)
    kept = {int(product): len(set(folds[ROWS[:, 2] == product].tolist())) for product in np.unique(ROWS[:, 2])}
    assert sum(count == 1 for count in kept.values()) >= len(kept) // 2
    assert sum(count > 1 for count in kept.values()) >= len(kept) // 4
    turned = np.concatenate([ROWS, ROWS[:, [1, 0, 2]]])
    twice = mixed_folds(turned, 3)
    assert np.array_equal(twice[: len(ROWS)], twice[len(ROWS) :])
    assert np.array_equal(folds, mixed_folds(ROWS, 3))
    assert not np.array_equal(folds, mixed_folds(ROWS, 3, seed=1))


# ---- bad input


def test_what_is_no_source_is_told(predictors: list[NaryPredictor]) -> None:
    whole, *held_out = predictors
    nan = [sparse.csr_array(LINKS[0] * np.float32("nan"))]
    with pytest.raises(InputError, match="the source 'links' says NaN or infinity of some entities"):
        fitted(predictors, links=nan)
    with pytest.raises(InputError, match="there is no source: give a predictor, or parts"):
        fitted(None)
    small = [sparse.csr_array((3, 3), dtype=np.float32)]
    with pytest.raises(InputError, match="the source 'links' has features of another shape"):
        fitted(predictors, links=small)
    sources = [Sources(each, {}) for each in held_out]
    with pytest.raises(InputError, match="the sources of a fold are not those of the whole"):
        Experts.fit(ROWS, VOCABULARY, FOLDS, Sources(whole, {"links": LINKS}), sources, device="cpu")
    with pytest.raises(InputError, match="facts in 3 folds, and sources without 2"):
        Experts.fit(ROWS, VOCABULARY, FOLDS, Sources(whole, {}), sources[:2], device="cpu")
    two = np.array([[0, 1, 21], [1, 0, 22], [2, 3, 21]])
    with pytest.raises(InputError, match="facts of one pair lie in different folds"):
        Experts.fit(two, VOCABULARY, np.array([0, 1, 2]), Sources(whole, {}), sources, device="cpu")
    many = Vocabulary([str(number) for number in range(12_000)], ("pair", "part"))
    huge = sparse.csr_array((12_000, 12_000), dtype=np.float32)
    weights = {
        "bias": [0.0, 0.0],
        "nothing": [0.0, 1.0],
        "sources": {"links": {"features": [[0.0], [0.0]], "both": [0, 0]}},
    }
    with pytest.raises(InputError, match="a table of 12,000 x 12,000 entities, which is too large"):
        Experts.of(ROWS, many, Sources(None, {"links": [huge]}), weights, "cpu")
    with pytest.raises(InputError, match="of one pair alone"):
        mixed_folds(two[:2], 3)
