"""A network as an actor: it perceives, remembers, asks its knowledge and chooses."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from gumption.data import InputError

from .acting import Percept, other_options
from .actor_critic import Actor
from .config import HALMAConfig
from .encoders import COLUMNS, ROWS, Memo

if TYPE_CHECKING:
    from .guidance import Guide, Knowledge
    from .knowledge import HALMAKnowledge


class Perception(NamedTuple):
    """How observations become the features that networks take.

    :ivar shape, dtype: of the features of one observation.
    :ivar read: (B, ...) uint8 observations -> (B, *shape) features on the device.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    read: Callable[[np.ndarray], torch.Tensor]


def make_perception(config: HALMAConfig, device: torch.device) -> Perception:
    """Symbols and pictures as they are; for the SPACE agent the slots of its pretrained model.

    :raises InputError: no model where `space_model` says.
    """
    if config.space_model is not None:
        from .space_encoder import SpaceEncoder

        eyes = SpaceEncoder.load(config.space_model, str(device))
        return Perception(eyes.slots, torch.float32, eyes.encode)
    shape = (ROWS, COLUMNS) if config.observation == "symbolic" else (128, 128, 3)
    return Perception(shape, torch.uint8, lambda observation: torch.from_numpy(observation).to(device))


class NetworkActor:
    """Plays an option of a network with probability `greedy`, else one at random.

    :ivar greedy: may be changed at any time.
    :ivar generator: of the network's options, begun anew with the episodes; None for torch's own, as in training.
    :ivar features: of the latest percept.
    """

    def __init__(
        self, network: Actor, perception: Perception, greedy: float, generator: torch.Generator | None = None
    ) -> None:
        self.network, self.perception, self.greedy, self.generator = network, perception, greedy, generator
        self.features = torch.empty(0)
        self.memo: Memo | None = None
        self.knowledge: Knowledge | None = None
        self.guide: Guide | None = None
        self.guide_weight = 0.0
        self.max_opt_len = network.steps - 1

    def memo_of(self, percept: Percept) -> Memo:
        """What the network remembers before it takes in a percept."""
        if self.memo is None or len(self.memo.hidden) != len(percept.first):
            self.memo = self.network.body.start(len(percept.first))
        return self.memo

    @torch.no_grad()
    def act(self, percept: Percept, rng: np.random.Generator) -> np.ndarray:
        """Options (B, 1 + T) int64."""
        if self.generator is not None and percept.first.all():
            self.generator.manual_seed(int(rng.integers(2**63)))
        self.features = self.perception.read(percept.observation)
        where = self.features.device
        action, reward, first = (
            torch.from_numpy(part).to(where)[:, None] for part in (percept.action, percept.reward, percept.first)
        )
        made, self.memo = self.network.body(self.features[:, None], action, reward, first, self.memo_of(percept))
        chosen = self.network.decode(made[:, 0], generator=self.generator, advice=self._advice(percept))
        options = chosen.cpu().numpy()
        elsewhere = rng.random(len(options)) >= self.greedy
        return np.where(elsewhere[:, None], other_options(rng, options), options)

    def consult(self, knowledge: "Knowledge", weight: float) -> None:
        """Mix what some knowledge says into the logits, from now on. What a guide remembers of the episodes that are
        being played, it goes on remembering."""
        self.knowledge, self.guide_weight = knowledge, weight
        if self.guide is not None:
            self.guide.knowledge = knowledge  # pyright: ignore[reportAttributeAccessIssue]

    def remembered(self) -> dict[str, np.ndarray]:
        """What the guide remembers of the episodes that are being played; empty where it remembers nothing."""
        episodes = getattr(self.guide, "episodes", None)
        return {} if episodes is None else episodes.state_dict()

    def remember(self, state: dict[str, np.ndarray], num_envs: int) -> None:
        """Put back what `remembered` gave, of so many environments."""
        if state and self.knowledge is not None:
            self._make_guide(num_envs).episodes.load_state_dict(state)

    def mixed(self, chosen: torch.Tensor) -> torch.Tensor:
        """(B, 4) what the guide adds to the logits of the next choice, given those made so far (B, t)."""
        assert self.guide is not None
        bias = self.guide.bias(chosen.cpu().numpy())
        return self.guide_weight * torch.from_numpy(bias).to(chosen.device)

    def _make_guide(self, num_envs: int) -> Any:
        from .guidance import make_guide

        assert self.knowledge is not None
        self.guide = make_guide(self.knowledge, num_envs, self.max_opt_len)
        return self.guide

    def _advice(self, percept: Percept) -> Callable[[torch.Tensor], torch.Tensor] | None:
        if self.knowledge is None:
            return None
        size = len(percept.first)
        if self.guide is None or self.guide.num_envs != size:
            self._make_guide(size)
        assert self.guide is not None
        self.guide.observe(percept)
        return self.mixed


def knowledge_of(folder: Path, upto: int | None = None) -> "HALMAKnowledge":
    """What follows from the memory of a run, or from its first `upto` records.

    :raises InputError: a run without memory.
    """
    from gumption.envs.halma.memory import Memory

    from .knowledge import HALMAKnowledge

    memory = Memory.load(folder)
    if upto is not None and len(memory) < upto:
        raise InputError(f"{folder} has {len(memory)} records, fewer than the {upto} that the run's knowledge is of")
    return HALMAKnowledge.of_memory(replace(memory, records=memory.records[:upto]))
