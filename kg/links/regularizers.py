"""What keeps embeddings small while a model is trained: a penalty of each embedding that a fact uses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from gumption.data import InputError
from gumption.data.settings import NonNegative, checked_methods

from .training_settings import TrainingSettings


@checked_methods
@dataclass(frozen=True)
class Regularizer(ABC):
    """A penalty that training adds to the loss of each fact, for each of the fact's factors.

    :ivar weight: what the penalty is multiplied by.
    :raises InputError: a weight that is no number of at least 0.
    """

    weight: NonNegative

    @abstractmethod
    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        """(n, width) real or complex embeddings -> (n,) the penalty of each."""

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        """A number and (n, width) whose product is the gradient of the summed penalties.

        They are two, so that the number joins the weights of the rows without another pass over the embeddings.
        Autograd finds them here; a formula is faster.
        """
        with torch.enable_grad():
            leaf = factor.detach().requires_grad_()
            return 1.0, torch.autograd.grad(self.penalty(leaf).sum(), leaf)[0].contiguous()


@checked_methods
class N3(Regularizer):
    """The nuclear 3-norm, weight * sum of |z|^3 (Lacroix et al., 2018)."""

    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        return self.weight * factor.abs().pow(3).sum(-1)

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        # The root of a product is several times faster than torch's abs of complex numbers.
        return 3 * self.weight, factor * (factor * factor.conj()).real.sqrt()


@checked_methods
class F2(Regularizer):
    """The squared Frobenius norm, weight * sum of |z|^2, which Lacroix et al. (2018) compare with N3."""

    def penalty(self, factor: torch.Tensor) -> torch.Tensor:
        return self.weight * factor.abs().pow(2).sum(-1)

    def gradient(self, factor: torch.Tensor) -> tuple[float, torch.Tensor]:
        return 2 * self.weight, factor


def n3_beside(n3: float | None, regularizer: Regularizer | None) -> float:
    """The weight of N3 that a fit is told: its default, or 0 where another regulariser takes its place.

    :raises InputError: both are given.
    """
    if regularizer is None:
        return TrainingSettings.n3 if n3 is None else n3
    if n3:
        raise InputError(f"n3 is {n3}, the weight of N3, and {regularizer} is given in its place: give one of them")
    return 0.0
