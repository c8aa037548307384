"""A run in any world whose choices are candidates, one for each action: what `gumption train WORLD` is made of where a
world has no learner of its own."""

from dataclasses import replace
from typing import Any

from gumption.data.settings import Count, NonNegative, Seed, Share, Size, settings

from .settings import GuidedConfig, Optimiser, Overrides, Reduction, by_name


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
class WorldConfig(GuidedConfig):
    """One training run in a world.

    :ivar env: settings of the environment.
    :ivar total_steps: environment steps.
    :ivar eval_interval: steps between evaluations, and between checkpoints.
    :ivar eval_episodes: episodes of an evaluation.
    :ivar overrides: parameters of the learner that differ from its defaults.
    :ivar seed: fixes everything.
    :ivar device: auto, cpu or cuda.
    """

    world: str
    env: tuple[tuple[str, Any], ...] = ()
    total_steps: Count = 100_000
    eval_interval: Count = 20_000
    eval_episodes: Count = 500
    overrides: Overrides = ()
    seed: Seed = 0
    device: str = "auto"

    FILES = ("env",)

    def __post_init__(self) -> None:
        """:raises InputError: settings that do not go together, or parameters that the learner does not have."""
        for name in ("env", "overrides"):
            object.__setattr__(self, name, by_name(getattr(self, name)))
        self.check_knowledge()
        _ = self.learner

    @property
    def learner(self) -> WorldLearner:
        """The default parameters with the overrides."""
        return replace(WorldLearner(), **dict(self.overrides))
