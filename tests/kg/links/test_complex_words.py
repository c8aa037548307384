"""ComplEx that reads words: an entity that no fact mentions gets a score from its word vector."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gensim.models import KeyedVectors

from gumption.data import InputError
from gumption.envs.wordcraft import facts
from gumption.kg import ComplEx, Vocabulary, WordVectors, evaluate_ranking
from gumption.kg.vocabulary import Triple

NAMES = [f"w{number}" for number in range(60)]
QUICK: dict[str, Any] = {"rank": 8, "epochs": 3, "batch_size": 16, "device": "cpu"}


def planted() -> WordVectors:
    """Sixty words in six groups of ten: a word's vector is its group's with some noise."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(6, 12))
    keyed = KeyedVectors(12)
    noise = rng.normal(size=(60, 12))
    keyed.add_vectors(NAMES, (np.repeat(groups, 10, axis=0) + 0.3 * noise).astype(np.float32))
    return WordVectors(keyed, "planted")


def group_facts() -> tuple[list[Triple], list[Triple]]:
    """Each word feeds the words of the next group; facts with the first two words of each group are held out."""
    everything = [(NAMES[a], "feeds", NAMES[b]) for a in range(60) for b in range(60) if b // 10 == (a // 10 + 1) % 6]
    unseen = {name for number, name in enumerate(NAMES) if number % 10 < 2}
    train = [fact for fact in everything if not unseen & {fact[0], fact[2]}]
    return train, [fact for fact in everything if (fact[0] in unseen) != (fact[2] in unseen)]


@pytest.mark.slow
@pytest.mark.parametrize("word_mode", ["add", "gate"])
@pytest.mark.parametrize("reciprocal", [True, False])
def test_an_unseen_entity_is_scored_by_its_word(word_mode: str, reciprocal: bool) -> None:
    train, unseen = group_facts()
    everything = Vocabulary.from_triples([*train, *unseen])
    settings: dict[str, Any] = {"rank": 16, "epochs": 60, "batch_size": 32, "reciprocal": reciprocal, "device": "cpu"}
    words = ComplEx.fit(train, vocabulary=everything, words=planted(), word_mode=word_mode, **settings)
    free = ComplEx.fit(train, vocabulary=everything, **settings)
    known = [train, unseen]
    with_words = evaluate_ranking(words, unseen, known=known)["mrr"]
    assert with_words > 0.6
    assert with_words > 3 * evaluate_ranking(free, unseen, known=known)["mrr"]
    assert evaluate_ranking(words, train, known=known)["mrr"] > 0.9


def test_entities_may_be_added_after_training(tmp_path: Path) -> None:
    train, unseen = group_facts()
    settings: dict[str, Any] = {"rank": 16, "epochs": 20, "batch_size": 32, "device": "cpu", "words": planted()}
    wide = ComplEx.fit(train, vocabulary=Vocabulary.from_triples([*train, *unseen]), **settings)
    narrow = ComplEx.fit(train, **settings)
    narrow.save(tmp_path / "model")
    loaded = ComplEx.load(tmp_path / "model", device="cpu")
    new = [label for label in wide.vocabulary.entities if label not in narrow.vocabulary.entities]
    assert len(new) == 12
    extended = loaded.extended(new, planted())
    np.testing.assert_allclose(extended.score(unseen), wide.score(unseen), rtol=1e-4, atol=1e-5)
    assert loaded.score(train).tolist() == narrow.score(train).tolist()
    np.testing.assert_allclose(extended.score(train), narrow.score(train), rtol=1e-5, atol=1e-6)


def test_training_follows_the_gradient_through_the_words() -> None:
    # What autograd finds through the composition, where the objective is the one of test_complex.py.
    rng = np.random.default_rng(1)
    words = planted()
    train = [(NAMES[a], "r", NAMES[b]) for a, b in rng.integers(12, size=(30, 2)).tolist()]
    vocabulary = Vocabulary.from_triples(train)
    vectors = torch.from_numpy(words.vectors(vocabulary.entities)).double()
    ids = torch.from_numpy(np.unique(vocabulary.triples_to_ids(train), axis=0))
    settings: dict[str, Any] = {"rank": 3, "batch_size": 1000, "n3": 0.05, "word_dropout": 0.0, "words": words}
    start = ComplEx.fit(train, epochs=1, learning_rate=1e-30, **settings)
    assert start.projection is not None
    projection = start.projection.double().requires_grad_()
    free = (start.entity.double() - vectors @ projection.detach()).requires_grad_()
    relation = start.relation.double().requires_grad_()
    optimiser = torch.optim.Adagrad([free, projection, relation], lr=0.1)
    for _ in range(5):
        optimiser.zero_grad()
        entity = torch.complex(*(free + vectors @ projection).chunk(2, dim=1))
        r = torch.complex(*relation.chunk(2, dim=1))
        loss = torch.zeros((), dtype=torch.float64)
        for a, kind, b in ((ids[:, 0], 0, ids[:, 2]), (ids[:, 2], 1, ids[:, 0])):
            scores = ((entity[a] * r[kind]) @ entity.conj().T).real
            cubes = entity[a].abs().pow(3).sum() + entity[b].abs().pow(3).sum() + len(a) * r[kind].abs().pow(3).sum()
            loss = loss + torch.nn.functional.cross_entropy(scores, b, reduction="sum") + 0.05 * cubes
        (loss / (2 * len(ids))).backward()
        optimiser.step()
    model = ComplEx.fit(train, epochs=5, learning_rate=0.1, **settings)
    torch.testing.assert_close(model.entity.double(), (free + vectors @ projection).detach(), rtol=0, atol=1e-4)
    torch.testing.assert_close(model.relation.double(), relation.detach(), rtol=0, atol=1e-4)


def test_options_of_words_have_an_effect() -> None:
    train, _ = group_facts()
    default = ComplEx.fit(train, words=planted(), **QUICK)
    assert torch.equal(default.entity, ComplEx.fit(train, words=planted(), **QUICK).entity)
    for options in ({"word_mode": "gate"}, {"word_dropout": 0.0}):
        assert not torch.equal(default.entity, ComplEx.fit(train, words=planted(), **options, **QUICK).entity)
    assert not torch.equal(default.entity, ComplEx.fit(train, **QUICK).entity)


def test_training_with_words_is_resumed_to_the_same_bits(tmp_path: Path) -> None:
    train, _ = group_facts()
    settings: dict[str, Any] = {**QUICK, "words": planted(), "word_mode": "gate"}
    at_once = ComplEx.fit(train, **{**settings, "epochs": 6})
    ComplEx.fit(train, checkpoint=tmp_path / "state", **settings)
    resumed = ComplEx.fit(train, checkpoint=tmp_path / "state", **{**settings, "epochs": 6})
    assert torch.equal(resumed.entity, at_once.entity)
    assert resumed.projection is not None
    assert at_once.projection is not None
    assert torch.equal(resumed.projection, at_once.projection)


def test_words_that_are_missing() -> None:
    train, _ = group_facts()
    with pytest.raises(InputError, match="planted has no word vector for 1 of 49 labels: 'nobody'"):
        ComplEx.fit([*train, ("nobody", "feeds", "w5")], words=planted(), **QUICK)
    model = ComplEx.fit(train, words=planted(), **QUICK)
    with pytest.raises(InputError, match="has no word vector for 1 of 1 labels: 'nobody'"):
        model.extended(["nobody"], planted())
    with pytest.raises(InputError, match="the entity 'w5' occurs twice"):
        model.extended(["w5"], planted())
    with pytest.raises(InputError, match="fitted without word vectors"):
        ComplEx.fit(train, **QUICK).extended(["w0"], planted())
    other = KeyedVectors(5)
    other.add_vectors(["w0"], np.ones((1, 5), dtype=np.float32))
    with pytest.raises(InputError, match="the words have 5 dimensions, those of the model 12"):
        model.extended(["w0"], WordVectors(other, "other"))


@pytest.mark.slow
def test_shipped_words_rank_unseen_things_of_the_recipe_book_above_chance() -> None:
    everything = list(facts("commonsense", partition="all"))
    names = sorted({label for s, _, o in everything for label in (s, o)})
    unseen = set(np.random.default_rng(0).choice(names, size=60, replace=False).tolist())
    train = [fact for fact in everything if not unseen & {fact[0], fact[2]}]
    test = [fact for fact in everything if (fact[0] in unseen) != (fact[2] in unseen) and fact[1] == "combinesWith"]
    settings: dict[str, Any] = {"rank": 64, "epochs": 25, "batch_size": 256, "n3": 0.005, "device": "cpu"}
    vocabulary = Vocabulary.from_triples(everything)
    with_or_without = (WordVectors.load(), None)
    models = [ComplEx.fit(train, vocabulary=vocabulary, words=words, **settings) for words in with_or_without]
    with_words, without = (evaluate_ranking(model, test, known=[train, test])["mrr"] for model in models)
    assert with_words > 2 * without
