"""The loop that every model of links learns in: batches of distinct queries, Adagrad, and the state to go on from."""

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import torch

from gumption.data import InputError

from .entity_slice import EntitySlice
from .queries import Queries, QueryPart
from .regularizers import N3, Regularizer
from .training_settings import TrainingSettings

LOGITS_BYTES = 1 << 28  # a batch with more logits is worked off in parts


class Step(Protocol):
    """One step of Adagrad, made of the parts of a batch."""

    def add(self, part: QueryPart, scale: float) -> torch.Tensor:
        """Take in some queries, their weights times `scale`; the weighted sum of their losses, on the device."""
        ...

    def apply(self) -> None:
        """Change the parameters."""
        ...


class Training(ABC):
    """Parameters, Adagrad's sums and the order of batches; `run_epoch` takes them one epoch further.

    :ivar parameters: what is learned, by name; "entity" has the rows of the entities that this process holds.
    :ivar regularizer: None where nothing is penalised.
    :ivar told: the settings with the regulariser that was given, as plain JSON.
    """

    score_bytes = 4  # of each score of a query while its gradient is found

    def __init__(
        self,
        ids: np.ndarray,
        entities: int,
        relations: int,
        settings: TrainingSettings,
        device: torch.device,
        regularizer: Regularizer | None = None,
    ) -> None:
        """
        :param ids: (n, 3) int64 facts.
        :param regularizer: in place of N3(settings.n3).
        """
        self.settings, self.device, self.relations = settings, device, relations
        self.told = {**asdict(settings), "regularizer": None if regularizer is None else str(regularizer)}
        regularizer = N3(settings.n3) if regularizer is None else regularizer
        self.regularizer = regularizer if regularizer.weight else None
        self.queries = Queries(ids, relations, settings.weighting == "query")
        self.slice = EntitySlice(entities)
        generator = torch.Generator().manual_seed(settings.seed)  # on the CPU, so that every device starts alike
        self.parameters = self._begin(generator)
        # Gradients are given to it: fused, it is the fastest on the CPU.
        self.optimiser = torch.optim.Adagrad(
            self.parameters.values(), lr=settings.learning_rate, fused=device.type == "cpu" or None
        )
        self.shuffle = np.random.Generator(np.random.PCG64(settings.seed))
        self.epoch = 0

    @abstractmethod
    def _begin(self, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """The parameters before the first epoch, on the device."""

    @abstractmethod
    def _step(self) -> Step:
        """The next step of Adagrad."""

    @abstractmethod
    def tensors(self) -> dict[str, torch.Tensor]:
        """The parameters of the model as they are now, of all entities."""

    def run_epoch(self) -> float:
        """One pass over all queries; their mean loss by what weighs the same, the penalties not counted."""
        settings = self.settings
        most = max(1, LOGITS_BYTES // (self.score_bytes * max(1, self.slice.high - self.slice.low)))
        total = torch.zeros((), device=self.device)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if settings.precision == "tf32" else "highest")
        try:
            for weight, parts in self.queries.epoch(self.shuffle, settings.batch_size, self.device, most):
                step = self._step()
                for part in parts:
                    total += step.add(part, 1.0 / weight)
                step.apply()
        finally:
            torch.set_float32_matmul_precision(before)
        self.epoch += 1
        return float(total) / (len(self.queries) if self.queries.by_query else 2 * self.queries.facts)

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Everything that the next epoch depends on: tensors (of the whole graph) and what JSON holds."""
        tensors = {}
        for name, parameter in self.parameters.items():
            for kind, value in (("parameter", parameter), ("sum", self.optimiser.state[parameter]["sum"])):
                tensors[f"{kind}.{name}"] = self.slice.whole(value) if name == "entity" else value
        return tensors, {"epoch": self.epoch, "shuffle": self.shuffle.bit_generator.state}

    @torch.no_grad()
    def restore(self, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
        """Go on from where `state` was taken.

        :raises InputError: a state with other parameters.
        """
        for name, parameter in self.parameters.items():
            for kind, value in (("parameter", parameter), ("sum", self.optimiser.state[parameter]["sum"])):
                saved = tensors.get(f"{kind}.{name}", torch.empty(0))
                held = saved[self.slice.low : self.slice.high] if name == "entity" else saved
                if held.shape != value.shape:
                    raise InputError(
                        f"the state of training holds another {name!r} than the model: choose another folder"
                    )
                value.copy_(held)
        self.epoch = state["epoch"]
        self.shuffle.bit_generator.state = state["shuffle"]
