"""The plain objective is the oracle of ComplEx's closed form: the same loss, the same gradients, the same model."""

import numpy as np
import pytest
import torch
from torch import distributed

from gumption.data import InputError
from gumption.kg import F2, N3, ComplEx, DistMult, Regularizer, Vocabulary, evaluate_ranking
from gumption.kg.links import complex as complex_module
from gumption.kg.links import training
from gumption.kg.links.complex import ComplExTraining, halves
from gumption.kg.links.factor_model import PlainTraining
from gumption.kg.links.training_settings import TrainingSettings
from gumption.kg.vocabulary import Triple

CPU = torch.device("cpu")
ENTITIES, RELATIONS = 24, 3


def random_ids(count: int = 90) -> np.ndarray:
    """(count, 3) facts; some queries have many answers."""
    rng = np.random.default_rng(0)
    return np.stack([rng.integers(size, size=count) for size in (ENTITIES, RELATIONS, ENTITIES // 2)], axis=1)


def lattice() -> list[Triple]:
    """Thirty numbers in a circle and who is one, two or three further on."""
    return [(f"n{a}", f"plus{step}", f"n{(a + step) % 30}") for a in range(30) for step in (1, 2, 3)]


@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize("weighting", ["fact", "query"])
@pytest.mark.parametrize("relation_weight", [0.0, 0.5])
@pytest.mark.parametrize("regularizer", [N3(0.0), N3(0.2), F2(0.2)], ids=str)
@pytest.mark.parametrize("answers", ["entries", "rows", "rows in parts"])
def test_the_closed_form_has_the_loss_and_the_gradients_of_the_plain_objective(
    reciprocal: bool,
    weighting: str,
    relation_weight: float,
    regularizer: Regularizer,
    answers: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if answers != "entries":
        monkeypatch.setattr(complex_module, "BY_ENTRY", 0)
    if answers == "rows in parts":
        monkeypatch.setattr(training, "LOGITS_BYTES", 4 * ENTITIES * 7)
    settings = TrainingSettings(
        rank=5, batch_size=1000, learning_rate=1e-30, reciprocal=reciprocal, weighting=weighting,
        relation_weight=relation_weight,
    )  # fmt: skip
    ids = random_ids()
    closed = ComplExTraining(ids, ENTITIES, RELATIONS, settings, CPU, regularizer)
    draw = torch.Generator().manual_seed(1)
    for parameter in closed.parameters.values():
        parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.7)
    vocabulary = Vocabulary([f"e{n:02}" for n in range(ENTITIES)], [f"r{n}" for n in range(RELATIONS)])
    exact = {name: tensor.double() for name, tensor in closed.tensors().items()}
    plain = PlainTraining(
        lambda _: ComplEx(vocabulary, **exact), ids, ENTITIES, RELATIONS, settings, CPU, regularizer
    )  # fmt: skip
    assert closed.run_epoch() == pytest.approx(plain.run_epoch(), rel=1e-5)
    for name, parameter in plain.parameters.items():
        found, expected = closed.parameters[name].grad, parameter.grad
        assert found is not None
        assert expected is not None
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(halves(found).double(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"weighting": "query", "relation_weight": 0.3, "n3": 0.05}], ids=str)
def test_both_train_the_same_model(options: dict[str, float]) -> None:
    train = lattice()
    closed = ComplEx.fit(train, rank=12, epochs=25, batch_size=16, seed=4, device="cpu", **options)
    plain = super(ComplEx, ComplEx).fit(train, rank=12, epochs=25, batch_size=16, seed=4, device="cpu", **options)
    torch.testing.assert_close(plain.entity, closed.entity, rtol=0, atol=2e-3)
    torch.testing.assert_close(plain.relation, closed.relation, rtol=0, atol=2e-3)
    mrr = [evaluate_ranking(model, train, known=[train])["mrr"] for model in (plain, closed)]
    assert mrr[0] == pytest.approx(mrr[1], abs=1e-3)
    assert mrr[0] > 0.9
    losses = [[row["loss"] for row in model.origin["history"]] for model in (plain, closed)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(distributed, "get_rank", lambda: 1)
    with pytest.raises(InputError, match="several processes share the entities of ComplEx only"):
        DistMult.fit(lattice(), rank=2, device="cpu")
