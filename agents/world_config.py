"""A run in any world whose choices are candidates, one for each action: what `gumption train WORLD` is made of where a
world has no learner of its own."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from gumption.data import InputError

from .settings import MIXINGS, OPTIMISERS, REDUCTIONS, check_choices, check_overrides, check_ranges, config_values


@dataclass(frozen=True)
class WorldLearner:
    """Parameters of the learner (see `train_impala`) and of its network of one hidden layer."""

    batch_size: int = 64
    unroll_length: int = 4
    optimiser: str = "adam"
    learning_rate: float = 3e-3
    epsilon: float = 1e-8
    discount: float = 0.99
    entropy_cost: float = 0.01
    baseline_cost: float = 0.5
    max_grad_norm: float = 40.0
    reduction: str = "mean"
    hidden_size: int = 128

    def __post_init__(self) -> None:
        """:raises InputError: a value out of range."""
        check_choices(self, {"optimiser": OPTIMISERS, "reduction": REDUCTIONS})
        numbers = [field for field in fields(self) if not isinstance(field.default, str)]
        check_ranges(
            self, {field.name: 1 if isinstance(field.default, int) else 0.0 for field in numbers}, {"discount": 1}
        )


@dataclass(frozen=True)
class WorldConfig:
    """One training run in a world.

    :ivar env: settings of the environment.
    :ivar kg: knowledge in the policy: "none", the facts of the training part ("train") or all ("full") of the world, a
        graph (a file, folder or address, #NAME for one of its graphs) or the folder of a link predictor. Graphs are
        looked up: 1 for a fact that is stated or entailed, else 0.
    :ivar kg_only: act by the scores alone; nothing is learned.
    :ivar mixing: "linear" (Jiang et al., 2020, equation 5) or "softmax".
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
    total_steps: int = 100_000
    eval_interval: int = 20_000
    eval_episodes: int = 500
    overrides: tuple[tuple[str, Any], ...] = ()
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        """:raises InputError: a value that is unknown or out of range."""
        for name in ("env", "overrides"):
            object.__setattr__(self, name, tuple(sorted((str(k), v) for k, v in getattr(self, name))))
        check_ranges(self, {"total_steps": 1, "eval_interval": 1, "eval_episodes": 1, "seed": 0})
        check_choices(self, {"mixing": MIXINGS})
        if self.kg == "none" and (self.kg_only or self.mixing != "linear"):
            raise InputError("kg_only and mixing need knowledge: kg='train', 'full' or a graph")
        check_overrides(self.overrides, WorldLearner)
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
