"""What every predictor gives people, and that any checkpoint opens by its kind."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.kg import ComplEx, NaryPredictor, Vocabulary, load_predictor

FACTS = [("fire", "makes", "steam"), ("fire", "makes", "smoke"), ("water", "makes", "steam"), ("earth", "makes", "mud")]


@pytest.fixture
def model() -> ComplEx:
    return ComplEx.fit(FACTS, rank=4, epochs=3, device="cpu")


def test_answers_that_are_left_out_take_their_probability_with_them(model: ComplEx) -> None:
    everything = model.predict(subject="fire", relation="makes", k=99)
    assert len(everything) == len(model.vocabulary.entities)
    assert sum(p for _, _, p in everything) == pytest.approx(1)
    others = model.predict(subject="fire", relation="makes", k=99, without=[*FACTS, ("dragon", "makes", "smoke")])
    assert [row[:2] for row in others] == [row[:2] for row in everything if row[0] not in ("steam", "smoke")]
    kept = sum(p for label, _, p in everything if label not in ("steam", "smoke"))
    expected = [p / kept for label, _, p in everything if label not in ("steam", "smoke")]
    assert [p for _, _, p in others] == pytest.approx(expected, rel=1e-5)
    subjects = model.predict(object="steam", relation="makes", k=99, without=(model.vocabulary, ids_of(model)))
    assert {label for label, _, _ in subjects} == set(model.vocabulary.entities) - {"fire", "water"}


def ids_of(model: ComplEx) -> np.ndarray:
    return model.vocabulary.triples_to_ids(FACTS)


def test_asking_changes_nothing_in_the_predictor(model: ComplEx) -> None:
    before = model.score(FACTS)
    model.predict(subject="fire", relation="makes", without=FACTS)
    np.testing.assert_array_equal(model.score(FACTS), before)


def test_bad_questions(model: ComplEx) -> None:
    with pytest.raises(InputError, match="k is 0; it is a whole number, at least 1"):
        model.predict(subject="fire", relation="makes", k=0)
    for question in ({"subject": "fire"}, {"relation": "makes"}, {"subject": "a", "relation": "b", "object": "c"}):
        with pytest.raises(InputError, match="predict needs a relation and either a subject or an object"):
            model.predict(**question)
    with pytest.raises(InputError, match="unknown relation 'make': did you mean 'makes'"):
        model.predict(subject="fire", relation="make")
    with pytest.raises(InputError, match="unknown entity 'fir': did you mean 'fire'"):
        model.predict(object="fir", relation="makes")
    with pytest.raises(InputError, match=r"the facts are ids of .*, the predictor has"):
        model.predict(subject="fire", relation="makes", without=(Vocabulary(["fire"], ["makes"]), np.zeros((1, 3))))


def test_any_predictor_opens_by_its_kind(model: ComplEx, tmp_path: Path) -> None:
    model.save(tmp_path / "complex")
    loaded = load_predictor(tmp_path / "complex", device="cpu")
    assert isinstance(loaded, ComplEx)
    assert loaded.predict(subject="fire", relation="makes") == model.predict(subject="fire", relation="makes")
    words = np.random.default_rng(0).normal(size=(3, 4))
    recipes = NaryPredictor.fit(
        np.array([[0, 1, 2]]), words, Vocabulary(["a", "b", "c"], ["with", "in"]), members=1, device="cpu"
    )
    recipes.save(tmp_path / "recipes")
    assert isinstance(load_predictor(tmp_path / "recipes", device="cpu"), NaryPredictor)
    (tmp_path / "complex").rename(tmp_path / ".complex.old")  # as after a kill while a new one was put in its place
    assert isinstance(load_predictor(tmp_path / "complex"), ComplEx)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "model: no checkpoint there"),
        ("{", "model: the checkpoint is damaged"),
        ("[]", "model: the checkpoint is damaged"),
        ("{}", "model: the checkpoint is damaged"),
        (json.dumps({"kind": "gumption/policy/1"}), "model: a checkpoint of 'gumption/policy/1', which is no link"),
        (json.dumps({"kind": "gumption/complex/99"}), "model: the checkpoint is damaged: tensors.safetensors is not"),
    ],
)
def test_what_is_no_predictor(model: ComplEx, tmp_path: Path, content: str | None, message: str) -> None:
    folder = tmp_path / "model"
    if content is not None:
        model.save(folder)
        (folder / "checkpoint.json").write_text(content)
    with pytest.raises(InputError, match=message):
        load_predictor(folder)


def test_a_model_with_nan_is_not_saved(model: ComplEx, tmp_path: Path) -> None:
    model.entity = model.entity.clone()
    model.entity[0, 0] = torch.nan
    with pytest.raises(InputError, match="entity holds NaN or infinity"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_questions_are_asked_as_many_at_a_time_as_memory_allows(model: ComplEx, monkeypatch) -> None:
    size = len(model.vocabulary.entities)
    assert model.questions_at_once(memory=4 * size * 3) == 3
    assert model.questions_at_once(memory=1) == 1
    whole = model.score(FACTS)
    monkeypatch.setattr(ComplEx, "score_bytes", 1 << 26)  # one at a time
    np.testing.assert_allclose(model.score(FACTS), whole, rtol=1e-6)
