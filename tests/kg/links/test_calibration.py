"""Temperatures: they find what was done to scores, make probabilities honest, and travel with the model."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.data.sealed import read_sealed, sealed, write_sealed
from gumption.kg import Calibration, ComplEx, Vocabulary
from gumption.kg.links.calibration import HIGHEST, LOWEST, SIDES, Reliability
from gumption.kg.links.calibration import reliability as reliability_at
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.links.ranking import asked_and_true

SIZE = 12


class World(LinkPredictor):
    """Knows the true odds of each answer, but states them too sharp or too flat, by a factor for each relation."""

    def __init__(self, factors: list[float], seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.vocabulary = Vocabulary([f"e{n:02}" for n in range(SIZE)], [f"r{n}" for n in range(len(factors))])
        self.device = torch.device("cpu")
        self.odds = torch.from_numpy(rng.normal(scale=2.0, size=(SIZE, len(factors), SIZE)))
        self.factors = torch.tensor(factors)

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return (self.odds[subjects, relations] * self.factors[relations, None]).float()

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return (self.odds[:, relations, objects].T * self.factors[relations, None]).float()


def reliability(
    predictor: LinkPredictor, held_out: Any, known: Any = (), calibration: Any = None, memory: int | None = None
) -> Reliability:
    """The distance of a predictor's probabilities from frequencies, with a calibration or without."""
    ones = np.ones(len(predictor.vocabulary.relations))
    temperatures = {side: ones if calibration is None else getattr(calibration, side) for side in SIDES}
    return reliability_at(predictor, *asked_and_true(predictor.vocabulary, held_out, known), temperatures, memory)


def drawn(world: World, relation: int, seed: int) -> np.ndarray:
    """One object for each subject, by the true odds."""
    generator = torch.Generator().manual_seed(seed)
    p = world.odds[:, relation].softmax(1)
    objects = torch.multinomial(p, 1, generator=generator)[:, 0].numpy()
    return np.stack([np.arange(SIZE), np.full(SIZE, relation), objects], axis=1)


@pytest.mark.parametrize("side", ["object", "subject"])
def test_a_temperature_is_the_maximum_of_the_likelihood(side: str) -> None:
    world = World([3.0])
    facts = world.vocabulary, drawn(world, 0, 1)
    calibration = Calibration.fit(world, facts)
    best = np.array([calibration.temperature(world, side, 0)])
    assert not np.allclose(best, 1)
    likelihood = {
        factor: reliability(world, facts, calibration=replace(calibration, **{side: best * factor})).likelihood
        for factor in (0.97, 1.0, 1.03)
    }
    assert likelihood[1.0] > max(likelihood[0.97], likelihood[1.03])
    assert likelihood[1.0] == pytest.approx(calibration.after.likelihood)


def test_what_was_done_to_the_scores_is_undone() -> None:
    """Objects drawn by odds that the predictor states three times too sharp, and half as sharp, by relation."""
    factors = [3.0, 0.5]
    many = 150
    rng = np.random.default_rng(0)
    vocabulary = Vocabulary([f"e{n:03}" for n in range(many)], ["sharp", "flat"])
    odds = torch.from_numpy(rng.normal(scale=2.5, size=(2, many, many)))

    class Wide(World):
        def __init__(self) -> None:
            self.vocabulary, self.device = vocabulary, torch.device("cpu")
            self.odds, self.factors = odds.transpose(0, 1), torch.tensor(factors)

    world = Wide()
    generator = torch.Generator().manual_seed(0)
    parts = []
    for relation in range(2):
        objects = torch.multinomial(odds[relation].softmax(1), 1, generator=generator)[:, 0].numpy()
        parts.append(np.stack([np.arange(many), np.full(many, relation), objects], axis=1))
    calibration = Calibration.fit(world, (vocabulary, np.concatenate(parts)))
    assert calibration.object[0] == pytest.approx(3.0, rel=0.15)
    assert calibration.object[1] == pytest.approx(0.5, rel=0.15)


def test_few_facts_share_a_temperature() -> None:
    world = World([1.0, 2.0])
    calibration = Calibration.fit(world, (world.vocabulary, np.concatenate([drawn(world, 0, 0), drawn(world, 1, 0)])))
    assert calibration.object[0] == calibration.object[1]
    assert calibration.object[0] != calibration.subject[0]


def test_known_answers_count_neither_for_nor_against() -> None:
    world = World([1.0])
    facts = drawn(world, 0, 3)
    plain = Calibration.fit(world, (world.vocabulary, facts))
    # The likeliest other answers become known: what remains is easier.
    odds = world.odds[:, 0].clone()
    odds[facts[:, 0], facts[:, 2]] = -math.inf
    best = odds.argmax(1).numpy()
    known = np.stack([facts[:, 0], facts[:, 1], best], axis=1)
    filtered = Calibration.fit(world, (world.vocabulary, facts), [(world.vocabulary, known)])
    assert filtered.before.accuracy > plain.before.accuracy
    # The held-out facts themselves may be among what is known.
    both = [(world.vocabulary, known), (world.vocabulary, facts)]
    again = Calibration.fit(world, (world.vocabulary, facts), both)
    np.testing.assert_array_equal(again.object, filtered.object)


def test_the_error_is_the_gap_in_each_bin() -> None:
    class Stated(World):
        """Says e00 with probability 0.9 when asked for an object; knows the subjects for sure."""

        def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
            row = torch.full((SIZE,), 0.1 / (SIZE - 1))
            row[0] = 0.9
            return row.log().repeat(len(subjects), 1)

        def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
            return torch.where((torch.arange(SIZE) < 6) == (objects[:, None] == 0), 0.0, -100.0)

    world = Stated([1.0])
    facts = [(f"e{n:02}", "r0", "e00" if n < 6 else "e01") for n in range(10)]
    found = reliability(world, facts, [[("e10", "r0", "e01"), ("e11", "r0", "e01")]])
    assert found.predictions == 20
    assert found.error == pytest.approx((10 * abs(0.9 - 0.6) + 10 * 0) / 20, abs=1e-6)
    assert found.confidence == pytest.approx((0.9 + 1) / 2, abs=1e-6)
    assert found.accuracy == pytest.approx((0.6 + 1) / 2)
    assert found.likelihood == pytest.approx((6 * math.log(0.9) + 4 * math.log(0.1 / 11)) / 20, abs=1e-6)


def test_stated_probabilities_meet_frequencies_on_a_trained_model(tmp_path: Path) -> None:
    import pykeen.datasets

    data = pykeen.datasets.UMLS()
    vocabulary = Vocabulary(list(data.training.entity_to_id), list(data.training.relation_to_id))
    train, valid, test = (
        (vocabulary, part.mapped_triples.numpy()) for part in (data.training, data.validation, data.testing)
    )
    model = ComplEx.fit(
        vocabulary.ids_to_triples(train[1]), rank=20, epochs=15, batch_size=64, vocabulary=vocabulary, device="cpu"
    )
    calibration = Calibration.fit(model, valid, [train])
    assert calibration.after.error < calibration.before.error
    assert calibration.after.likelihood > calibration.before.likelihood
    assert calibration.after.accuracy == calibration.before.accuracy  # no rank changes
    before = reliability(model, test, [train, valid])
    after = reliability(model, test, [train, valid], calibration)
    assert after.error < 0.6 * before.error
    assert after.accuracy == before.accuracy
    assert reliability(model, test, [train, valid], calibration, memory=1 << 20).error == pytest.approx(after.error)

    model.save(tmp_path / "model")
    assert Calibration.load(tmp_path / "model", model) is None
    calibration.save(tmp_path / "model", model)
    loaded = Calibration.load(tmp_path / "model", ComplEx.load(tmp_path / "model"))
    assert loaded is not None
    np.testing.assert_array_equal(loaded.object, calibration.object)
    np.testing.assert_array_equal(loaded.subject, calibration.subject)
    assert (loaded.before, loaded.after) == (calibration.before, calibration.after)

    subject, relation, _ = vocabulary.ids_to_triples(test[1][:1])[0]
    plain = model.predict(subject=subject, relation=relation, k=200, without=train)
    honest = model.predict(subject=subject, relation=relation, k=200, without=train, calibration=loaded)
    assert [row[:2] for row in honest] == [row[:2] for row in plain]
    temperature = loaded.temperature(model, "object", vocabulary.relation_id(relation))
    scores = torch.tensor([score for _, score, _ in plain])
    assert [p for _, _, p in honest] == pytest.approx((scores / temperature).softmax(0).tolist(), rel=1e-4)


def test_temperatures_end_somewhere() -> None:
    """Where the truth is always the likeliest answer, no temperature is low enough."""

    class Right(World):
        def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
            return torch.eye(SIZE)[subjects]

        def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
            return -torch.eye(SIZE)[objects]

    world = Right([1.0])
    facts = [(entity, "r0", entity) for entity in world.vocabulary.entities]
    calibration = Calibration.fit(world, facts)
    assert LOWEST <= calibration.object[0] < 0.05
    assert calibration.subject[0] == pytest.approx(HIGHEST, rel=0.01)


def test_bad_input(tmp_path: Path) -> None:
    world = World([1.0])
    with pytest.raises(InputError, match="there are no test facts"):
        Calibration.fit(world, [])
    with pytest.raises(InputError, match="unknown entity 'x'"):
        Calibration.fit(world, [("x", "r0", "e00")])
    found = Reliability(1, 0.0, 0.5, 0.5, -1.0)
    calibration = Calibration(world.vocabulary.hash, np.ones(1), np.ones(1), found, found)
    other = World([1.0, 2.0])
    with pytest.raises(InputError, match="fitted for a predictor with another vocabulary"):
        other.predict(subject="e00", relation="r0", calibration=calibration)
    calibration.save(tmp_path, world)
    content = read_sealed(tmp_path / "calibration.json")
    others = (json.dumps(sealed({**content, **other})) for other in ({"kind": "other"}, {"object": {}}))
    for damage in ('{"kind"', "[]", *others):
        (tmp_path / "calibration.json").write_text(damage)
        with pytest.raises(InputError, match=r"calibration.json: .*; fit it again"):
            Calibration.load(tmp_path, world)
    write_sealed(tmp_path / "calibration.json", {**content, "vocabulary": "0"})
    with pytest.raises(InputError, match="another vocabulary"):
        Calibration.load(tmp_path, world)
    world.odds[0, 0, 3] = math.nan
    with pytest.raises(InputError, match="scores that are NaN or infinite"):
        Calibration.fit(world, [("e00", "r0", "e01")])
