"""Facts of three parties, such as recipes: in a world whose rules lie in the word vectors, seen and unseen ones."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.kg import ComplEx, NaryPredictor, Vocabulary
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.vocabulary import Triple

KINDS = ("metal", "plant", "stone", "tool", "water")
MAKES = {
    ("metal", "plant"): "trellis",
    ("metal", "stone"): "ore",
    ("metal", "tool"): "blade",
    ("plant", "water"): "garden",
    ("stone", "tool"): "statue",
    ("tool", "water"): "pump",
}
NEVER_MET = ("metal9", "water9")  # entities with a vector and no recipe
SETTINGS = NarySettings(
    width=32, hidden=64, epochs=40, batch_size=64, learning_rate=1e-2, weight_decay=0.3, word_dropout=0.3,
    free_dropout=0.2, hidden_dropout=0.5, negatives=2.0, self_pairs=0.2,
)  # fmt: skip
# Nothing holds these networks back from learning single recipes by heart.
BY_HEART = replace(SETTINGS, epochs=80, weight_decay=0.0, word_dropout=0.0, free_dropout=0.0, hidden_dropout=0.0)


def of_kind(kind: str) -> list[str]:
    return [f"{kind}{number}" for number in range(6)]


@pytest.fixture(scope="module")
def world() -> tuple[list[str], np.ndarray, list[Triple]]:
    """Entities, vectors that lie around the centre of their kind, and recipes in random order: what two kinds make."""
    rng = np.random.default_rng(0)
    centre = {kind: rng.normal(size=20) for kind in KINDS}
    vectors = {name: centre[kind] + 0.3 * rng.normal(size=20) for kind in KINDS for name in of_kind(kind)}
    vectors |= {product: rng.normal(size=20) for product in (*MAKES.values(), "alloy", "moss")}
    vectors |= {name: centre[name[:-1]] + 0.3 * rng.normal(size=20) for name in NEVER_MET}
    recipes = [(a, b, product) for (k, m), product in MAKES.items() for a in of_kind(k) for b in of_kind(m)]
    entities = sorted(vectors)
    return entities, np.stack([vectors[name] for name in entities]), [recipes[i] for i in rng.permutation(len(recipes))]


def vocabulary_of(entities: list[str]) -> Vocabulary:
    return Vocabulary(entities, ("combinesWith", "componentOf"))


def rows_of(world: tuple, recipes: list[Triple]) -> np.ndarray:
    """(n, 3) ids"""
    return vocabulary_of(world[0]).entity_ids([part for recipe in recipes for part in recipe]).reshape(-1, 3)


def fit(world: tuple, recipes: list[Triple], **options: Any) -> NaryPredictor:
    entities, vectors, _ = world
    options = {"members": 2, "settings": SETTINGS, "device": "cpu", **options}
    rows = rows_of(world, recipes)
    return NaryPredictor.fit(rows, options.pop("vectors", vectors), vocabulary_of(entities), **options)


def fit_folds(world: tuple, recipes: list[Triple], folds: np.ndarray, **options: Any) -> list[NaryPredictor]:
    entities, vectors, _ = world
    rows = rows_of(world, recipes)
    return NaryPredictor.fit_folds(rows, vectors, vocabulary_of(entities), folds, device="cpu", **options)


def log_p(model: NaryPredictor, pairs: list[tuple[str, str]]) -> np.ndarray:
    """(n, N + 1)"""
    ids = [torch.from_numpy(model.vocabulary.entity_ids(part)) for part in zip(*pairs, strict=True)]
    return model.log_probabilities(*ids).numpy()


def log_p_of(model: NaryPredictor, recipes: list[Triple]) -> np.ndarray:
    products = model.vocabulary.entity_ids([product for _, _, product in recipes])
    return np.take_along_axis(log_p(model, [recipe[:2] for recipe in recipes]), products[:, None], 1)[:, 0]


ODD = [("metal0", "metal0", "alloy"), ("stone1", "plant3", "moss")]


@pytest.fixture(scope="module")
def model(world: tuple) -> NaryPredictor:
    """Trained on three quarters of the recipes."""
    return fit(world, world[2][:162])


def test_probabilities_of_all_products_and_of_nothing_sum_to_one(world: tuple, model: NaryPredictor) -> None:
    entities = world[0]
    found = log_p(model, [(a, b) for a in entities[::3] for b in entities[::2]])
    assert found.shape[1] == len(entities) + 1
    np.testing.assert_allclose(np.exp(found).sum(1), 1, atol=1e-5)


def test_the_order_of_the_ingredients_does_not_matter(world: tuple, model: NaryPredictor) -> None:
    pairs = [(a, b) for a in world[0][::2] for b in world[0]]
    np.testing.assert_array_equal(log_p(model, pairs), log_p(model, [pair[::-1] for pair in pairs]))
    recipes = world[2][:50]
    turned = [(b, a, product) if number % 2 else (a, b, product) for number, (a, b, product) in enumerate(recipes)]
    once, twice = fit(world, recipes), fit(world, turned)
    np.testing.assert_array_equal(log_p(once, pairs), log_p(twice, pairs))


def test_predicts_recipes_that_it_never_saw(world: tuple, model: NaryPredictor) -> None:
    unseen = world[2][162:]
    assert len(unseen) == 54
    best = log_p(model, [recipe[:2] for recipe in unseen]).argmax(1)
    assert (best == model.vocabulary.entity_ids([product for *_, product in unseen])).mean() > 0.95
    assert log_p_of(model, unseen).mean() > -0.3  # chance: -log of 41, -3.7


def test_pairs_that_make_nothing(model: NaryPredictor) -> None:
    pairs = [(a, b) for a in of_kind("metal") for b in of_kind("water")]
    assert np.exp(log_p(model, pairs)[:, -1]).mean() > 0.9


def test_an_entity_combines_with_itself_only_where_that_is_known(world: tuple, model: NaryPredictor) -> None:
    same = [(name, name) for name in world[0]]
    assert np.exp(log_p(model, same)[:, -1]).mean() > 0.95
    told = fit(world, [*world[2], *ODD], settings=BY_HEART)
    assert np.exp(log_p_of(told, ODD[:1])) > 0.9
    others = [pair for pair in same if pair[0] != "metal0"]
    assert np.exp(log_p(told, others)[:, -1]).mean() > 0.95


def test_a_pair_may_have_two_products(world: tuple) -> None:
    recipes = [*world[2], ("metal1", "plant1", "alloy")]
    model = fit(world, recipes, settings=BY_HEART)
    both = log_p_of(model, [("metal1", "plant1", "alloy"), ("plant1", "metal1", "trellis")])
    np.testing.assert_allclose(np.exp(both), 0.5, atol=0.1)


def test_an_entity_without_recipes_is_known_by_its_word(world: tuple, model: NaryPredictor) -> None:
    expected = [("metal9", name, "trellis") for name in of_kind("plant")]
    expected += [("water9", name, "garden") for name in of_kind("plant")]
    assert np.exp(log_p_of(model, expected)).mean() > 0.6
    # With the vectors of the two exchanged, so are the predictions.
    entities, vectors, recipes = world
    order = np.arange(len(entities))
    order[[entities.index(name) for name in NEVER_MET]] = [entities.index(name) for name in NEVER_MET[::-1]]
    turned = fit(world, recipes, vectors=vectors[order])
    assert np.exp(log_p_of(turned, expected)).mean() < 0.1
    exchanged = [(NEVER_MET[name == "metal9"], other, product) for name, other, product in expected]
    assert np.exp(log_p_of(turned, exchanged)).mean() > 0.6


# ---- as a link predictor


def test_answers_two_relations(world: tuple, model: NaryPredictor) -> None:
    entities = world[0]
    size = len(entities)
    all_pairs = log_p(model, [(a, b) for a in entities for b in entities]).reshape(size, size, size + 1)
    combines = np.logaddexp.reduce(all_pairs[:, :, :-1], axis=2)  # that the pair makes anything
    component = np.logaddexp.reduce(all_pairs[:, :, :-1], axis=1)  # with any partner
    facts = [(a, b) for a in range(0, size, 3) for b in range(size)]
    for relation, expected in (("combinesWith", combines), ("componentOf", component)):
        found = model.score([(entities[a], relation, entities[b]) for a, b in facts])
        np.testing.assert_allclose(found, [expected[a, b] for a, b in facts], atol=1e-4)
    best = {label for label, _, _ in model.predict(relation="componentOf", object="pump", k=12)}
    assert best <= {*of_kind("tool"), *of_kind("water"), *NEVER_MET}
    assert model.predict(subject="plant2", relation="combinesWith", k=1)[0][0][:-1] in ("metal", "water")


# ---- cross-fitting


@pytest.mark.slow
def test_a_predictor_of_a_fold_has_not_seen_it(world: tuple) -> None:
    entities, _, recipes = world
    recipes = [*recipes, *ODD]
    folds = np.arange(len(recipes)) % 4

    def of_folds(recipes: list[Triple], settings: NarySettings) -> list[NaryPredictor]:
        return fit_folds(world, recipes, folds, settings=settings)

    parts = of_folds(recipes, SETTINGS)
    assert len(parts) == 4
    for fold, part in enumerate(parts):  # the rules carry over to a fold that was not seen
        assert (
            log_p_of(part, [recipe for recipe, its in zip(world[2], folds, strict=False) if its == fold]).mean() > -0.3
        )
    # What follows no rule does not, however well it is learned where it is seen.
    for fold, part in enumerate(of_folds(recipes, BY_HEART)):
        for recipe, its in zip(ODD, folds[-2:], strict=True):
            found = log_p_of(part, [recipe])[0]
            assert found < -8 if fold == its else found > -0.2

    # Another product for one recipe of fold 0 changes nothing for the predictor of that fold, and all others.
    changed = [(*recipe[:2], "moss") if number == 4 else recipe for number, recipe in enumerate(recipes)]
    pairs = [(a, b) for a in entities for b in entities]
    twice = [of_folds(each, QUICK) for each in (recipes, changed)]
    same = [np.array_equal(*(log_p(part, pairs) for part in both)) for both in zip(*twice, strict=True)]
    assert same == [True, False, False, False]


def test_a_predictor_of_a_fold_is_one_like_any_other(world: tuple, tmp_path: Path) -> None:
    recipes = world[2]
    folds = np.arange(60) % 2

    def of_folds(**options: Any) -> np.ndarray:
        parts = fit_folds(world, recipes[:60], folds, settings=QUICK, **options)
        return np.stack([log_p(part, [recipe[:2] for recipe in recipes]) for part in parts])

    default = of_folds()
    np.testing.assert_array_equal(default, of_folds())
    for options in ({"members": 1}, {"seed": 1}):
        assert (of_folds(**options) != default).any(axis=(1, 2)).all()
    part = fit_folds(world, recipes[:60], folds, settings=QUICK)[1]
    part.save(tmp_path / "part")
    loaded = NaryPredictor.load(tmp_path / "part", device="cpu")
    np.testing.assert_array_equal(log_p(loaded, [recipe[:2] for recipe in recipes]), default[1])


# ---- seeds, options, saving, errors


QUICK = NarySettings(width=8, hidden=8, epochs=2, batch_size=16)
CHANGES = {
    "width": 9, "hidden": 9, "epochs": 3, "batch_size": 17, "learning_rate": 5e-3, "weight_decay": 0.0,
    "word_dropout": 0.0, "free_dropout": 0.7, "hidden_dropout": 0.0, "negatives": 3.0, "self_pairs": 0.9,
}  # fmt: skip


def test_every_option_has_an_effect(world: tuple) -> None:
    recipes = world[2][:60]
    pairs = [recipe[:2] for recipe in recipes]
    state = torch.get_rng_state()
    default = log_p(fit(world, recipes, settings=QUICK), pairs)
    assert torch.equal(torch.get_rng_state(), state)  # the random numbers of others are left alone
    np.testing.assert_array_equal(log_p(fit(world, recipes, settings=QUICK), pairs), default)
    assert asdict(QUICK).keys() == CHANGES.keys()
    others = [{"settings": replace(QUICK, **{name: value})} for name, value in CHANGES.items()]
    for options in (*others, {"settings": QUICK, "seed": 1}, {"settings": QUICK, "members": 3}, {"settings": None}):
        assert not np.array_equal(log_p(fit(world, recipes, **options), pairs), default), options


def test_save_and_load(world: tuple, model: NaryPredictor, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = NaryPredictor.load(tmp_path / "model", device="cpu")
    pairs = [(a, b) for a in world[0][::2] for b in world[0]]
    np.testing.assert_array_equal(log_p(loaded, pairs), log_p(model, pairs))
    assert loaded.vocabulary == model.vocabulary
    assert loaded.predict(subject="metal0", relation="combinesWith") == model.predict(
        subject="metal0", relation="combinesWith"
    )
    with pytest.raises(InputError, match="a checkpoint of 'gumption/nary-predictor/1', expected 'gumption/complex/1"):
        ComplEx.load(tmp_path / "model")


def test_probabilities_of_single_products_are_those_of_all(world: tuple, model: NaryPredictor) -> None:
    """What scores without a table are made of."""
    size = len(world[0])
    first, second, product = torch.randint(size, (3, 500), generator=torch.Generator().manual_seed(0))
    normalisers = model.normalisers(first, second)
    assert normalisers.shape == (500, model.members)
    found = model.log_probability(first, second, product, normalisers)
    expected = model.log_probabilities(first, second).gather(1, product[:, None])[:, 0]
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)


def test_bad_input(world: tuple) -> None:
    entities, vectors, recipes = world
    rows, vocabulary = rows_of(world, recipes), vocabulary_of(entities)
    broken = vectors.copy()
    broken[3, 2] = np.nan
    for given, message in ((vectors[:-1], "word vectors of shape"), (vectors[0], "shape"), (broken, "one finite row")):
        with pytest.raises(InputError, match=message):
            NaryPredictor.fit(rows, given, vocabulary, settings=QUICK)
    with pytest.raises(InputError, match="no facts of three parties to learn from"):
        NaryPredictor.fit(rows[:0], vectors, vocabulary)
    for outside in (-1, len(entities)):
        with pytest.raises(InputError, match=f"ids outside their vocabulary of {len(entities)} entities"):
            NaryPredictor.fit(np.array([[0, 1, 2], [0, outside, 2]]), vectors, vocabulary)
    for names in (("combinesWith",), ("a", "b", "c")):
        with pytest.raises(InputError, match=f"answers two relations, and the vocabulary has {len(names)}"):
            NaryPredictor.fit(rows, vectors, Vocabulary(entities, names))
    for options in ({"members": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=r"(members|seed) is .*; it is a whole number"):
            NaryPredictor.fit(rows, vectors, vocabulary, **options)
    both = [*recipes[:3], (recipes[0][1], recipes[0][0], "moss")]
    for folds, message in (
        ([0, 1, 0, 1], "facts of one pair lie in different folds"),
        ([0, 1, 0], "3 folds for 4 facts"),
        ([0, 0, 0, 0], "all facts lie in one fold"),
    ):
        with pytest.raises(InputError, match=message):
            fit_folds(world, both, np.array(folds), settings=QUICK)
    with pytest.raises(InputError, match="device 'nonsense' cannot be used"):
        NaryPredictor.fit(rows, vectors, vocabulary, settings=QUICK, device="nonsense")


def test_the_rows_given_are_left_as_they_are(world: tuple) -> None:
    rows = rows_of(world, world[2][:20])[:, [1, 0, 2]]
    before = rows.copy()
    NaryPredictor.fit(rows, world[1], vocabulary_of(world[0]), settings=QUICK, device="cpu")
    np.testing.assert_array_equal(rows, before)
