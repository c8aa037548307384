"""Agents: networks, knowledge in their policies, learners, baselines, and what their results are judged by."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .advice import Advice
    from .halma.config import HALMAConfig
    from .halma.runs import train_halma
    from .learners.impala import train_impala
    from .policy import KGPolicy
    from .run_folder import evaluate
    from .wordcraft.config import TrainConfig
    from .wordcraft.networks import SelfAttentionActorCritic

__all__ = [
    "Advice",
    "HALMAConfig",
    "KGPolicy",
    "SelfAttentionActorCritic",
    "TrainConfig",
    "evaluate",
    "train_halma",
    "train_impala",
]

# These import torch: they are imported when first asked for.
_LAZY = {
    "Advice": "advice",
    "HALMAConfig": "halma.config",
    "KGPolicy": "policy",
    "SelfAttentionActorCritic": "wordcraft.networks",
    "TrainConfig": "wordcraft.config",
    "evaluate": "run_folder",
    "train_impala": "learners.impala",
    "train_halma": "halma.runs",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
