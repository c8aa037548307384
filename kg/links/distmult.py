"""DistMult, a link predictor trained by autograd (see factor_model.py)."""

import torch

from gumption.data.settings import Count, checked_methods

from .factor_model import FactorModel


@checked_methods
class DistMult(FactorModel):
    """phi(s, p, o) = sum of e_s * w_p * e_o with real embeddings (Yang et al., 2015), here with reciprocal relations.

    For one row of `relation`, (s, p, o) and (o, p, s) have the same score.
    """

    KIND = "gumption/distmult/1"
    entity: torch.Tensor
    relation: torch.Tensor

    @staticmethod
    def tensors(entities: Count, relations: Count, rank: Count, generator: torch.Generator) -> dict[str, torch.Tensor]:
        sizes = {"entity": entities, "relation": relations}
        return {name: 1e-3 * torch.randn(size, rank, generator=generator) for name, size in sizes.items()}

    def queries(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self.entity[heads] * self.relation[relations]

    def factors(
        self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.entity[heads], self.relation[relations], self.entity[tails]
