"""Regularisers: their penalties, the gradients written out for ComplEx, and one of a user."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.kg import F2, N3, ComplEx, DistMult, Regularizer

FACTS = [("a", "r", "b"), ("b", "r", "c"), ("c", "q", "a"), ("a", "q", "a"), ("b", "q", "d")]
QUICK: dict[str, Any] = {"rank": 4, "epochs": 3, "batch_size": 4, "device": "cpu"}


class OwnN3(Regularizer):
    """N3 as a user would write it: autograd finds the gradient."""

    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        return self.weight * factor.abs().pow(3).sum(-1)


def test_penalties_are_sums_of_powers_of_moduli() -> None:
    complex_rows = torch.tensor([[3 + 4j, 1j], [0j, 2 + 0j]])
    real_rows = torch.tensor([[-5.0, 1.0], [0.0, 2.0]])
    for rows in (complex_rows, real_rows):
        assert N3(0.5).penalty(rows).tolist() == pytest.approx([0.5 * 126, 0.5 * 8])
        assert F2(0.5).penalty(rows).tolist() == pytest.approx([0.5 * 26, 0.5 * 4])


@pytest.mark.parametrize("regularizer", [N3(0.3), F2(0.3), OwnN3(0.3)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_are_those_of_the_penalties(regularizer: Regularizer, dtype: torch.dtype) -> None:
    rows = torch.randn(5, 3, dtype=dtype, generator=torch.Generator().manual_seed(0)).requires_grad_()
    regularizer.penalty(rows).sum().backward()
    by, gradient = regularizer.gradient(rows.detach())
    torch.testing.assert_close(by * gradient, rows.grad)


def test_a_regularizer_of_a_user_needs_its_penalty_only() -> None:
    n3 = ComplEx.fit(FACTS, n3=0.2, **QUICK)
    named = ComplEx.fit(FACTS, regularizer=N3(0.2), **QUICK)
    assert torch.equal(named.entity, n3.entity)
    assert torch.equal(named.relation, n3.relation)
    own = ComplEx.fit(FACTS, regularizer=OwnN3(0.2), **QUICK)
    torch.testing.assert_close(own.entity, n3.entity)
    torch.testing.assert_close(own.relation, n3.relation)
    assert own.origin["settings"]["regularizer"] == "OwnN3(weight=0.2)"
    assert n3.origin["settings"]["regularizer"] is None


@pytest.mark.parametrize("model", [ComplEx, DistMult])
def test_a_regularizer_takes_the_place_of_n3(model: Any) -> None:
    def size(**settings: Any) -> float:
        return float(model.fit(FACTS, **{**QUICK, "epochs": 40, **settings}).parameters["entity"].square().sum())

    without, n3, f2 = size(n3=0.0), size(), size(regularizer=F2(0.01))
    assert size(n3=0.01) == n3
    assert size(n3=0.0, regularizer=F2(0.0)) == without
    assert size(regularizer=F2(0.1)) < f2 < without
    assert n3 < without


def test_a_training_goes_on_with_the_regularizer_that_it_began_with(tmp_path: Path) -> None:
    state = tmp_path / "state"
    ComplEx.fit(FACTS, regularizer=F2(0.1), checkpoint=state, **QUICK)
    for other in ({"regularizer": F2(0.2)}, {"regularizer": N3(0.1)}, {"n3": 0.0}):
        with pytest.raises(InputError, match=r"other settings: .*regularizer 'F2\(weight=0\.1\)' there, "):
            ComplEx.fit(FACTS, checkpoint=state, **other, **QUICK)
    more = {**QUICK, "epochs": 6, "regularizer": F2(0.1)}
    resumed = ComplEx.fit(FACTS, checkpoint=state, **more)
    np.testing.assert_array_equal(resumed.entity, ComplEx.fit(FACTS, **more).entity)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_bad_weights(weight: float) -> None:
    with pytest.raises(InputError, match=rf"weight is {weight}; it is a (finite )?number, at least 0"):
        F2(weight)


@pytest.mark.parametrize("model", [ComplEx, DistMult])
def test_n3_and_another_one_together(model: Any) -> None:
    with pytest.raises(InputError, match=r"n3 is 0\.1, the weight of N3, and F2\(weight=0\.2\) is given in its place"):
        model.fit(FACTS, n3=0.1, regularizer=F2(0.2), **QUICK)
