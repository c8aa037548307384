"""The whole state of a learner and its environments as one checkpoint: tensors in safetensors, the rest in JSON."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from gumption.data import InputError
from gumption.kg.checkpoint import optimiser_tensors, put_weights, restore_optimiser, under

from .run_folder import RunFolder

KIND = "gumption/training/1"


def training_state(
    network: torch.nn.Module, optimiser: torch.optim.Optimizer, env: Any, progress: dict[str, Any]
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Everything that the rest of a run depends on: tensors, and values for JSON.

    :param env: with `state_dict`.
    :param progress: counters of the learner, what json.dump takes.
    """
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= optimiser_tensors(optimiser, "optimiser")
    world = env.state_dict()
    tensors |= {f"env.{name}": torch.from_numpy(v) for name, v in world.items() if isinstance(v, np.ndarray)}
    tensors["rng.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["rng.cuda"] = torch.cuda.get_rng_state()
    values = {name: value for name, value in world.items() if not isinstance(value, np.ndarray)}
    return tensors, {"classes": classes(network), "progress": progress, "env": values}


def put_training_state(
    tensors: dict[str, torch.Tensor],
    meta: dict[str, Any],
    network: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    env: Any,
    where: Path,
) -> None:
    """Put a saved state back in place.

    :raises InputError: that of another env, network or batch size.
    """
    env.load_state_dict(meta["env"] | {name: tensor.numpy() for name, tensor in under(tensors, "env").items()})
    put_network(network, SavedNetwork(under(tensors, "network"), meta.get("classes", {})), where)
    restore_optimiser(optimiser, tensors, "optimiser")
    torch.set_rng_state(tensors["rng.cpu"])
    if "rng.cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["rng.cuda"])


def classes(network: torch.nn.Module) -> dict[str, str]:
    """Name of a part -> "module:class", "" for the whole, without the parts that torch makes."""
    kinds = {name: type(part) for name, part in network.named_modules()}
    return {
        name: f"{kind.__module__}:{kind.__qualname__}"
        for name, kind in kinds.items()
        if not kind.__module__.startswith("torch.")
    }


class SavedNetwork(NamedTuple):
    """Weights by name, and the `classes` of the network that they are of; {} in runs from before 0.2."""

    weights: dict[str, torch.Tensor]
    classes: dict[str, str]


def saved_network(folder: RunFolder, **hashes: str) -> SavedNetwork:
    """The network of a run's last checkpoint.

    :param hashes: of what it has to have been trained on, as the env's state has them.
    :raises InputError: as `load_training`; another of these.
    """
    tensors, meta = folder.load(KIND)
    for name, mine in hashes.items():
        if meta["env"][name] != mine:
            raise InputError(
                f"{folder.path}: trained on another {name} ({meta['env'][name][:12]}, here {mine[:12]}); "
                "give the one that it was trained on"
            )
    return SavedNetwork(under(tensors, "network"), meta.get("classes", {}))


def put_network(network: torch.nn.Module, saved: SavedNetwork, where: Path) -> None:
    """Put saved weights into a network.

    :raises InputError: a network of other classes, which may have parameters of the same names and act by another
        formula; other parameters.
    """
    here = classes(network)
    for name, there in saved.classes.items():
        if here.get(name) != there:
            part = f"{name} of the network" if name else "the network"
            raise InputError(
                f"{where} was trained with {there} as {part}, and here that is {here.get(name)}; give the one that it "
                "was trained with: network=, or mixing=MODULE:NAME"
            )
    put_weights(network, saved.weights, where)
