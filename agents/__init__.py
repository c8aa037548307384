"""Agents: networks, knowledge in their policies, learners, baselines, and what their results are judged by."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import TrainConfig
    from .halma.config import HALMAConfig
    from .impala import train_impala
    from .kg_policy import KGPolicy
    from .networks import SelfAttentionActorCritic
    from .runs import evaluate
    from .td3 import train_td3

__all__ = [
    "HALMAConfig",
    "KGPolicy",
    "SelfAttentionActorCritic",
    "TrainConfig",
    "evaluate",
    "train_impala",
    "train_td3",
]

# These import torch: they are imported when first asked for.
_LAZY = {
    "HALMAConfig": "halma.config",
    "KGPolicy": "kg_policy",
    "SelfAttentionActorCritic": "networks",
    "TrainConfig": "config",
    "evaluate": "runs",
    "train_impala": "impala",
    "train_td3": "td3",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
