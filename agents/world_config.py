"""A run in any world whose choices are candidates, one for each action: what `gumption train WORLD` is made of where a
world has no learner of its own."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Seed, Share, Size, settings

from .settings import Optimiser, Overrides, Reduction, by_name, check_mixing, config_values


@settings
class WorldLearner:
    """Parameters of the learner (see `train_impala`) and of its network of one hidden layer."""

    batch_size: Size = 64
    unroll_length: Size = 4
    optimiser: Optimiser = "adam"
    learning_rate: NonNegative = 3e-3
    epsilon: NonNegative = 1e-8
    discount: Share = 0.99
    entropy_cost: NonNegative = 0.01
    baseline_cost: NonNegative = 0.5
    max_grad_norm: NonNegative = 40.0
    reduction: Reduction = "mean"
    hidden_size: Size = 128


@settings
class WorldConfig:
    """One training run in a world.

    :ivar env: settings of the environment.
    :ivar kg: knowledge in the policy: "none", the facts of the training part ("train") or all ("full") of the world, a
        graph (a file, folder or address, #NAME for one of its graphs) or the folder of a link predictor. Graphs are
        looked up: 1 for a fact that is stated or entailed, else 0.
    :ivar kg_only: act by the scores alone; nothing is learned.
    :ivar mixing: "linear" (Jiang et al., 2020, equation 5), "softmax", or MODULE:NAME of a subclass of `KGPolicy`.
    :ivar total_steps: environment steps.
    :ivar eval_interval: steps between evaluations, and between checkpoints.
    :ivar eval_episodes: episodes of an evaluation.
    :ivar overrides: parameters of the learner that differ from its defaults.
    :ivar seed: fixes everything.
    :ivar device: auto, cpu or cuda.
    """

    world: str
    env: tuple[tuple[str, Any], ...] = ()
    kg: str = "none"
    kg_only: bool = False
    mixing: str = "linear"
    total_steps: Count = 100_000
    eval_interval: Count = 20_000
    eval_episodes: Count = 500
    overrides: Overrides = ()
    seed: Seed = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        """:raises InputError: settings that do not go together, or parameters that the learner does not have."""
        for name in ("env", "overrides"):
            object.__setattr__(self, name, by_name(getattr(self, name)))
        check_mixing(self.mixing)
        if self.kg == "none" and (self.kg_only or self.mixing != "linear"):
            raise InputError("kg_only and mixing need knowledge: kg='train', 'full' or a graph")
        _ = self.learner

    @property
    def learner(self) -> WorldLearner:
        """The default parameters with the overrides."""
        return replace(WorldLearner(), **dict(self.overrides))

    def to_json(self) -> dict[str, Any]:
        """A dict for json.dump; a graph's file is reduced to its name, its hash is in the manifest."""
        return {**asdict(self), "kg": Path(self.kg).name}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], **changes: Any) -> "WorldConfig":
        """The config of such a dict; InputError for unknown fields."""
        return cls(**config_values(value, cls, changes))
