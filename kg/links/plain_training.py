"""The objective as the papers write it, with its gradient by autograd: how any model learns, and what the closed form
of complex_training.py is checked against.

For a query q = (s, p, ?) with c true answers among the facts, the sum of the answers' cross entropies is

    c * logsumexp_o z(q, o) - sum over answers o of z(q, o),

so that each distinct query needs one row of scores. The regulariser adds its penalties of the factors of each fact,
and the auxiliary objective of Chen et al. (2021) adds weight * -log softmax_p z(s, p, o).
"""

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from gumption.data import InputError

from .queries import QueryPart
from .regularizers import Regularizer
from .training import Training
from .training_settings import TrainingSettings


class Model(Protocol):
    """What the objective asks of a model; `FactorModel` says what each of these is."""

    score_bytes: int

    @property
    def parameters(self) -> dict[str, torch.Tensor]: ...
    def scores(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor: ...
    def factors(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> Sequence[torch.Tensor]: ...
    def relation_scores(self, heads: torch.Tensor, tails: torch.Tensor) -> torch.Tensor: ...


class PlainTraining(Training):
    """The training of any model, by one process.

    :ivar model: scores by the parameters as they are now.
    """

    def __init__(
        self,
        begin: Callable[[torch.Generator], Model],
        ids: np.ndarray,
        entities: int,
        relations: int,
        settings: TrainingSettings,
        device: torch.device,
        regularizer: Regularizer | None = None,
    ) -> None:
        """
        :param begin: gives the model before its first epoch, on the device.
        :raises InputError: several processes.
        """
        self._make = begin
        super().__init__(ids, entities, relations, settings, device, regularizer)
        self.score_bytes = self.model.score_bytes
        if self.slice.processes > 1:
            raise InputError("several processes share the entities of ComplEx only: fit this model without torchrun")

    def _begin(self, generator: torch.Generator) -> dict[str, torch.Tensor]:
        self.model = self._make(generator)
        return {name: parameter.requires_grad_() for name, parameter in self.model.parameters.items()}

    def _step(self) -> Self:
        self.optimiser.zero_grad()
        return self

    def tensors(self) -> dict[str, torch.Tensor]:
        return {name: parameter.detach() for name, parameter in self.parameters.items()}

    @torch.enable_grad()
    def add(self, part: QueryPart, scale: float) -> torch.Tensor:
        """Take in some queries, their weights times `scale`; the weighted sum of their losses, on the device."""
        model = self.model
        scores = model.scores(part.anchor, part.kind)
        weight, anchor, kind = part.weight.to(scores.dtype), part.anchor[part.row], part.kind[part.row]
        loss = part.total.to(scores.dtype) @ scores.logsumexp(1) - weight @ scores[part.row, part.answer]
        objective = loss
        if self.regularizer:
            for factor in model.factors(anchor, kind, part.answer):
                objective = objective + weight @ self.regularizer.penalty(factor)
        if self.settings.relation_weight:
            relations = model.relation_scores(anchor, part.answer)
            scored = kind < relations.shape[1]  # a model without reciprocal relations predicts those of facts alone
            entropy = cross_entropy(relations, kind * scored, reduction="none")
            objective = objective + self.settings.relation_weight * ((weight * scored) @ entropy)
        (scale * objective).backward()
        return loss.detach()

    def apply(self) -> None:
        """One step of Adagrad."""
        self.optimiser.step()
