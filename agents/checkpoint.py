"""The whole state of a training run as one checkpoint: tensors in safetensors, the rest in JSON."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption.data import InputError
from gumption.envs.wordcraft import WordCraftVectorEnv
from gumption.kg.checkpoint import (
    has_checkpoint,
    load_checkpoint,
    optimiser_tensors,
    put_weights,
    restore_optimiser,
    save_checkpoint,
    under,
)

KIND = "gumption/training/1"
FOLDER = "checkpoint"

__all__ = ["FOLDER", "has_checkpoint", "load_network", "load_training", "save_training"]


def save_training(
    run_dir: Path,
    network: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    env: WordCraftVectorEnv,
    progress: dict[str, Any],
) -> None:
    """Write everything that the rest of the run depends on.

    :param progress: counters of the loop, what json.dump takes.
    """
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= optimiser_tensors(optimiser, "optimiser")
    world = env.state_dict()
    tensors |= {f"env.{name}": torch.from_numpy(v) for name, v in world.items() if isinstance(v, np.ndarray)}
    tensors["rng.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["rng.cuda"] = torch.cuda.get_rng_state()
    meta = {
        "kind": KIND,
        "progress": progress,
        "env": {name: value for name, value in world.items() if not isinstance(value, np.ndarray)},
    }
    save_checkpoint(run_dir / FOLDER, tensors, meta)


def load_training(
    run_dir: Path, network: torch.nn.Module, optimiser: torch.optim.Optimizer, env: WordCraftVectorEnv
) -> dict[str, Any]:
    """Put a saved state back in place; returns the progress.

    :raises InputError: no checkpoint, a damaged one, or one of another book, split, network or batch size.
    """
    tensors, meta = _load(run_dir)
    env.load_state_dict(meta["env"] | {name: tensor.numpy() for name, tensor in under(tensors, "env").items()})
    put_weights(network, under(tensors, "network"), run_dir)
    restore_optimiser(optimiser, tensors, "optimiser")
    torch.set_rng_state(tensors["rng.cpu"])
    if "rng.cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["rng.cuda"])
    return meta["progress"]


def load_network(run_dir: Path, network: torch.nn.Module, env: WordCraftVectorEnv) -> None:
    """Put the saved weights into a network.

    :raises InputError: as `load_training`.
    """
    tensors, meta = _load(run_dir)
    for name, mine in (("book", env.book.hash), ("split", env.split.hash)):
        if meta["env"][name] != mine:
            raise InputError(
                f"{run_dir}: trained on another {name} ({meta['env'][name][:12]}, here {mine[:12]}); "
                "give the one that it was trained on"
            )
    put_weights(network, under(tensors, "network"), run_dir)


def _load(run_dir: Path) -> tuple[dict[str, torch.Tensor], Any]:
    return load_checkpoint(run_dir / FOLDER, KIND)
