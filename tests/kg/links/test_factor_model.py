"""Models of a user: each is one class, and everything else is what ComplEx has."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.kg import ComplEx, DistMult, FactorModel, Regularizer, evaluate_ranking, load_predictor, why
from gumption.kg.checkpoint import load_checkpoint, save_checkpoint
from gumption.kg.links import training
from gumption.kg.vocabulary import Triple, Vocabulary

Tensors = dict[str, torch.Tensor]
SIZE = 20


class CP(FactorModel):
    """Two embeddings of each entity: one where it is asked about, one where it is an answer."""

    asked: torch.Tensor
    relation: torch.Tensor
    answer: torch.Tensor

    @staticmethod
    def tensors(entities: int, relations: int, rank: int, generator: torch.Generator) -> Tensors:
        sizes = {"asked": entities, "relation": relations, "answer": entities}
        return {name: 0.1 * torch.randn(size, rank, generator=generator) for name, size in sizes.items()}

    def scores(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return (self.asked[heads] * self.relation[relations]) @ self.answer.T

    def factors(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> list[torch.Tensor]:
        return [self.asked[heads], self.relation[relations], self.answer[tails]]


class RotatE(FactorModel):
    """Sun et al. (2019): minus the distance between a rotated head and the tail."""

    score_bytes = 4 * 2 * 8  # at the rank of these tests
    entity: torch.Tensor
    angle: torch.Tensor

    @staticmethod
    def tensors(entities: int, relations: int, rank: int, generator: torch.Generator) -> Tensors:
        angle = 6 * torch.rand(relations, rank, generator=generator)
        return {"entity": torch.randn(entities, 2 * rank, generator=generator), "angle": angle}

    def embedded(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.complex(*self.entity[ids].chunk(2, dim=1))

    def scores(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        angle = self.angle[relations]
        rotated = self.embedded(heads) * torch.polar(torch.ones_like(angle), angle)
        every = torch.complex(*self.entity.chunk(2, dim=1))
        return 6 - (rotated[:, None] - every).abs().sum(2)

    def factors(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> list[torch.Tensor]:
        return [self.embedded(heads), self.embedded(tails)]


class TuckER(FactorModel):
    """Balažević et al. (2019): a core tensor shared by all relations."""

    entity: torch.Tensor
    relation: torch.Tensor
    core: torch.Tensor

    @staticmethod
    def tensors(entities: int, relations: int, rank: int, generator: torch.Generator) -> Tensors:
        shapes = {"entity": (entities, rank), "relation": (relations, rank), "core": (rank, rank, rank)}
        return {name: 0.3 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}

    def queries(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bi,bj,ijk->bk", self.entity[heads], self.relation[relations], self.core)

    def factors(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> list[torch.Tensor]:
        return [self.entity[heads], self.relation[relations], self.entity[tails]]


MODELS = [CP, RotatE, TuckER, DistMult]
QUICK: dict[str, Any] = {"rank": 8, "epochs": 6, "batch_size": 16, "device": "cpu"}


def beside() -> tuple[list[Triple], list[Triple]]:
    """Who is beside whom in a circle, and who is two away, both ways; some facts are held out."""
    everything = [
        (f"n{a:02}", name, f"n{(a + away) % SIZE:02}")
        for a in range(SIZE)
        for name, step in (("beside", 1), ("two away", 2))
        for away in (step, -step)
    ]
    held_out = np.random.default_rng(0).choice(len(everything), size=8, replace=False)
    return [f for n, f in enumerate(everything) if n not in held_out], [everything[n] for n in held_out]


def same_bits(one: FactorModel, other: FactorModel) -> bool:
    assert one.parameters.keys() == other.parameters.keys()
    return all(torch.equal(tensor, other.parameters[name]) for name, tensor in one.parameters.items())


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weighting", ["fact", "query"])
def test_a_model_learns_its_facts(model: type[FactorModel], weighting: str) -> None:
    train, _ = beside()
    settings: dict[str, Any] = {**QUICK, "epochs": 60, "n3": 1e-3, "weighting": weighting}
    fitted = model.fit(train, **settings)
    assert evaluate_ranking(fitted, train, known=[train])["mrr"] > 0.95
    first = evaluate_ranking(model.fit(train, **{**settings, "learning_rate": 1e-30}), train, known=[train])
    assert first["mrr"] < 0.6
    losses = [row["loss"] for row in fitted.origin["history"]]
    assert len(losses) == 60
    assert losses[-1] < losses[0] / 2
    assert not any(tensor.requires_grad for tensor in fitted.parameters.values())


@pytest.mark.parametrize("model", MODELS)
def test_scores_predictions_and_reasons(model: type[FactorModel]) -> None:
    train, _ = beside()
    fitted = model.fit(train, **QUICK)
    answers = fitted.predict(subject="n03", relation="beside", k=SIZE)
    assert sum(probability for _, _, probability in answers) == pytest.approx(1, abs=1e-5)
    scores = fitted.score([("n03", "beside", label) for label, _, _ in answers])
    np.testing.assert_allclose(scores, [score for _, score, _ in answers], rtol=1e-4, atol=1e-5)
    assert len(fitted.predict(object="n03", relation="beside", k=SIZE)) == SIZE
    assert why(fitted, train, ("n03", "beside", "n04")).nearest


@pytest.mark.parametrize("model", MODELS)
def test_a_stopped_training_goes_on_to_the_same_bits(model: type[FactorModel], tmp_path: Path) -> None:
    train, valid = beside()
    settings: dict[str, Any] = {**QUICK, "valid": valid, "known": train, "valid_every": 2, "weighting": "query"}
    at_once = model.fit(train, **settings)
    model.fit(train, checkpoint=tmp_path / "state", **{**settings, "epochs": 2})
    resumed = model.fit(train, checkpoint=tmp_path / "state", **settings)
    assert same_bits(resumed, at_once)
    assert resumed.origin == at_once.origin
    assert not same_bits(at_once, model.fit(train, **{**settings, "seed": 1}))


def test_held_out_facts_choose_the_epoch_and_stop_the_training() -> None:
    train, valid = beside()
    settings: dict[str, Any] = {**QUICK, "epochs": 60, "n3": 0.0, "valid": valid, "valid_every": 4, "patience": 2}
    stopped = DistMult.fit(train, **settings)
    looks = [row["valid_mrr"] for row in stopped.origin["history"] if "valid_mrr" in row]
    best = looks.index(max(looks))
    assert len(looks) == best + 3 < 15
    assert same_bits(stopped, DistMult.fit(train, **{**QUICK, "n3": 0.0, "epochs": 4 * (best + 1)}))


def test_predicting_relations_beside_entities_changes_a_product_model() -> None:
    train, _ = beside()
    for model in (TuckER, DistMult):
        assert not same_bits(model.fit(train, **QUICK), model.fit(train, relation_weight=0.5, **QUICK))


@pytest.mark.parametrize("model", MODELS)
def test_a_saved_model_is_loaded_by_its_class(model: type[FactorModel], tmp_path: Path) -> None:
    train, _ = beside()
    fitted = model.fit(train, **QUICK)
    fitted.save(tmp_path / "model")
    loaded = model.load(tmp_path / "model", device="cpu")
    assert same_bits(loaded, fitted)
    assert loaded.score(train).tolist() == fitted.score(train).tolist()
    assert loaded.origin == fitted.origin
    with pytest.raises(InputError, match=r"a checkpoint of '.*/1', expected 'gumption/complex/1'"):
        ComplEx.load(tmp_path / "model")


def test_a_shipped_model_opens_by_its_kind(tmp_path: Path) -> None:
    train, _ = beside()
    DistMult.fit(train, **QUICK).save(tmp_path / "model")
    assert isinstance(load_predictor(tmp_path / "model"), DistMult)


def test_nothing_is_run_by_the_name_in_a_checkpoint(tmp_path: Path) -> None:
    train, _ = beside()
    CP.fit(train, **QUICK).save(tmp_path / "model")
    meta = json.loads((tmp_path / "model" / "checkpoint.json").read_text(encoding="utf-8"))
    (tmp_path / "hostile.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    for kind in ("model/hostile:CP/1", "model/hostile/1", "hostile/CP/1"):
        tensors = {"asked": torch.zeros(1, 1)}
        save_checkpoint(tmp_path / "other", tensors, {**meta, "kind": kind})
        with pytest.raises(InputError, match=r"which gumption lacks|which is no link predictor"):
            load_predictor(tmp_path / "other")
        with pytest.raises(InputError, match=f"a checkpoint of '{kind}', expected 'model/CP/1'"):
            CP.load(tmp_path / "other")
    assert not (tmp_path / "ran").exists()


def test_bad_models_and_states(tmp_path: Path) -> None:
    train, _ = beside()
    with pytest.raises(InputError, match="RotatE has no `queries`, which predict relations: leave relation_weight at"):
        RotatE.fit(train, relation_weight=0.1, **QUICK)

    class Silent(FactorModel):
        tensors, factors = CP.tensors, CP.factors

    with pytest.raises(NotImplementedError, match="Silent has neither `queries` nor `scores`"):
        Silent.fit(train, **QUICK)
    with pytest.raises(InputError, match="FactorModel has no tensors of its own: fit a class that gives them"):
        FactorModel.fit(train, **QUICK)
    with pytest.raises(InputError, match="DistMult needs its tensors, each by its name"):
        DistMult(Vocabulary.from_triples(train))
    with pytest.raises(InputError, match="n3 is -1"):
        CP.fit(train, n3=-1.0, **QUICK)

    CP.fit(train, checkpoint=tmp_path / "state", **QUICK)
    with pytest.raises(InputError, match="expected 'training of model/TuckER/1'"):
        TuckER.fit(train, checkpoint=tmp_path / "state", **QUICK)
    tensors, meta = load_checkpoint(tmp_path / "state", "training of model/CP/1")
    for changed in ({**tensors, "sum.answer": tensors["sum.answer"][:-1]}, {"parameter.asked": tensors["sum.asked"]}):
        save_checkpoint(tmp_path / "state", changed, meta)
        with pytest.raises(InputError, match=r"the state of training holds another '(answer|asked)' than the model"):
            CP.fit(train, checkpoint=tmp_path / "state", **{**QUICK, "epochs": 9})

    fitted = DistMult.fit(train, **QUICK)
    fitted.entity = fitted.entity[:-1]
    fitted.save(tmp_path / "short")
    with pytest.raises(InputError, match="short: 19 embeddings for 20 entities"):
        DistMult.load(tmp_path / "short")
    model = ComplEx.fit(train, **QUICK)
    meta = {"kind": "gumption/complex/1", "vocabulary": model.vocabulary.to_json()}
    save_checkpoint(tmp_path / "more", {**model.parameters, "gate": model.relation.clone()}, meta)
    with pytest.raises(InputError, match="more: entity, gate, relation are not the tensors of ComplEx"):
        ComplEx.load(tmp_path / "more")


@pytest.mark.parametrize("model", [ComplEx, DistMult])
def test_the_size_of_a_job_alone_says_how_many_threads_it_takes(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Watching(Regularizer):
        def penalty(self, factor: torch.Tensor) -> torch.Tensor:
            seen.append(torch.get_num_threads())
            return factor.abs().sum(-1)

    def threads_of_a_fit() -> set[int]:
        seen.clear()
        model.fit([("a", "near", "b"), ("b", "near", "c")], rank=4, epochs=1, device="cpu", regularizer=Watching(0.1))
        return set(seen)

    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    try:
        torch.set_num_threads(3)
        assert threads_of_a_fit() == {1}
        assert torch.get_num_threads() == 3
        monkeypatch.setattr(training, "ONE_THREAD", 4 * 3 * 8 - 1)  # queries, entities, numbers each
        assert threads_of_a_fit() == {3}, "a large job takes torch's"
        monkeypatch.setattr(training, "ONE_THREAD", 4 * 3 * 8)
        assert threads_of_a_fit() == {1}
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        assert threads_of_a_fit() == {3}, "the environment goes before"
    finally:
        torch.set_num_threads(before)
