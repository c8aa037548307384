"""The product of embeddings: what `@` gives, whichever library multiplies."""

import pytest
import torch

from gumption.kg.links.training import against_all


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 2), (64, 1001, 37), (0, 4, 3), (4, 0, 3)])
def test_is_the_matrix_product(shape: tuple[int, int, int]) -> None:
    few, many, width = shape
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(few, width, generator=generator)
    rows = torch.randn(many, 2 * width, generator=generator)[:, ::2]  # not contiguous
    found = against_all(queries, rows)
    assert found.shape == (few, many)
    torch.testing.assert_close(found.double(), queries.double() @ rows.double().T, rtol=1e-5, atol=1e-4)
    assert torch.equal(found, against_all(queries, rows))


def test_other_precisions_and_gradients_are_left_to_torch() -> None:
    a, b = torch.randn(3, 4).double(), torch.randn(5, 4).double()
    assert torch.equal(against_all(a, b), a @ b.T)
    assert torch.equal(against_all(a.bfloat16(), b.bfloat16()), a.bfloat16() @ b.bfloat16().T)
    c = a.float().requires_grad_()
    against_all(c, b.float()).sum().backward()
    torch.testing.assert_close(c.grad, b.float().sum(0).expand(3, 4))
