"""Runs of HALMA agents: their folders, their checkpoints, and their agents ready to play.

A folder has config.json, manifest.json (versions, hardware, fingerprint of the mazes), mazes.jsonl (those of the
training), memory/ (its transitions), metrics.jsonl, checkpoint/ and, when the run is complete, final.json.
"""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gumption.agents.runs import CONFIG, FINAL, MANIFEST, read_metrics, write_metrics
from gumption.data import InputError
from gumption.data.provenance import hardware, versions
from gumption.data.writing import write_json
from gumption.envs.halma import HALMAVectorEnv, Mazes
from gumption.kg.checkpoint import (
    has_checkpoint,
    load_checkpoint,
    optimiser_tensors,
    pick_device,
    put_weights,
    restore_optimiser,
    save_checkpoint,
    under,
)

from .actor_critic import Actor
from .config import HALMAConfig
from .player import NetworkActor, knowledge_of, make_perception

if TYPE_CHECKING:
    from gumption.agents.td3 import Training

KIND = "gumption/halma-training/1"
CHECKPOINT, MAZES, MEMORY = "checkpoint", "mazes.jsonl", "memory"


@dataclass(frozen=True)
class HALMARun:
    """A run that is complete, or its last checkpoint.

    :ivar mazes: those of the training.
    :ivar final: {"episodes", "steps", "finished_trials", "valid_moves", "wall_s", "steps_per_s"}; empty for a run that
        is not complete.
    :ivar curve: the lines of metrics.jsonl.
    :ivar run_dir: None for a run that was not kept.
    """

    config: HALMAConfig
    mazes: Mazes
    final: dict[str, float]
    curve: list[dict[str, float]]
    run_dir: Path | None
    network: Actor = field(repr=False)
    player: NetworkActor = field(repr=False)

    def actor(self) -> NetworkActor:
        """A fresh actor, which plays as the training did at its end: the network's option with probability
        greedy_last."""
        generator = torch.Generator(pick_device(self.config.device))
        made = NetworkActor(self.network, self.player.perception, self.config.learner.greedy_last, generator)
        if self.player.knowledge is not None:
            made.consult(self.player.knowledge, self.config.guide_weight)
        return made


def training_env(config: HALMAConfig) -> HALMAVectorEnv:
    """The environments of a run's training."""
    return HALMAVectorEnv(
        config.learner.num_envs,
        num_mazes=config.num_mazes,
        maze_seed=config.maze_seed,
        mean_depth=config.mean_depth,
        mean_branches=config.mean_branches,
        observation=config.observation,
        images=config.images,
        max_opt_len=config.max_opt_len,
    )


def load_run(run_dir: str | Path, *, device: str | None = None, space_model: str | None = None) -> HALMARun:
    """The run in a folder, as of its last checkpoint, ready to play.

    :param device: other than the training's.
    :param space_model: where the SPACE model is now, if it was moved.
    :raises InputError: no run there, a damaged one, or a guided one without its memory.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, device=device, space_model=space_model)
    where = pick_device(config.device)
    tensors, meta = load_checkpoint(run_dir / CHECKPOINT, KIND)
    network = Actor(config).to(where)
    put_weights(network, under(tensors, "actor"), run_dir)
    player = NetworkActor(network.eval(), make_perception(config, where), config.learner.greedy_last)
    if config.guided and meta["guided_until"]:
        player.consult(knowledge_of(run_dir / MEMORY, meta["guided_until"]), config.guide_weight)
    final = json.loads((run_dir / FINAL).read_text(encoding="utf-8")) if (run_dir / FINAL).is_file() else {}
    return HALMARun(config, Mazes.load(run_dir / MAZES), final, read_metrics(run_dir), run_dir, network, player)


def read_config(run_dir: Path, **changes: Any) -> HALMAConfig:
    """The config of a run.

    :raises InputError: no run there, or one of another world.
    """
    path = run_dir / CONFIG
    try:
        return HALMAConfig.from_json(json.loads(path.read_text(encoding="utf-8")), **changes)
    except OSError as error:
        raise InputError(f"{path}: not a run ({error.strerror})") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None


class RunFolder:
    """What is written of a run, and when."""

    def __init__(self, path: Path, config: HALMAConfig) -> None:
        self.path, self.config = path, config
        self.memory = path / MEMORY

    def begin(self, mazes: Mazes, *, resume: bool) -> bool:
        """Make the folder of a training on these mazes. Returns whether there is a checkpoint to go on from.

        :raises InputError: a folder that is in use, or one begun with another config.
        """
        path = self.path
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file; choose another name for the run")
        if path.is_dir() and any(path.iterdir()):
            if not (path / CONFIG).is_file():
                raise InputError(f"{path} exists and is not a run; choose another name")
            if not resume:
                raise InputError(f"{path} holds a run already; go on with it (--resume), or choose another name")
            before, now = read_config(path).to_json(), self.config.to_json()
            changed = [name for name in now if before[name] != now[name]]
            if changed:
                raise InputError(f"{path} was begun with another {', '.join(changed)}; choose another name")
            if has_checkpoint(path / CHECKPOINT):
                return True
            shutil.rmtree(self.memory, ignore_errors=True)  # killed before its first checkpoint: begun anew
        write_json(path / CONFIG, self.config.to_json())
        mazes.save(path / MAZES)
        write_json(
            path / MANIFEST,
            {"versions": versions(), "hardware": hardware(self.config.device), "mazes": mazes.fingerprint},
        )
        return False

    def write_metrics(self, lines: list[dict[str, float]]) -> None:
        """Replace the metrics."""
        write_metrics(self.path, lines)

    def save(self, training: "Training") -> None:
        """Write a checkpoint of everything that the rest of the run depends on."""
        training.memory.flush()
        learner = training.learner
        tensors = {
            f"{name}.{key}": value
            for name, network in learner.networks().items()
            for key, value in network.state_dict().items()
        }
        for k, optimiser in enumerate(learner.optimisers):
            tensors |= optimiser_tensors(optimiser, f"optimiser.{k}")
        tensors |= {f"replay.{name}": part for name, part in training.replay.state_dict().items()}
        world = training.env.state_dict()
        tensors |= {f"env.{name}": torch.from_numpy(v) for name, v in world.items() if isinstance(v, np.ndarray)}
        percept = training.percept._asdict()
        tensors |= {f"percept.{name}": torch.from_numpy(np.ascontiguousarray(v)) for name, v in percept.items()}
        memo = training.player.memo_of(training.percept)
        tensors |= {"memo.hidden": memo.hidden, "memo.cell": memo.cell, "rng.torch": torch.get_rng_state()}
        tensors["episode"] = torch.from_numpy(training.episode)
        remembered = training.player.remembered()
        tensors |= {f"episodes.{name}": torch.from_numpy(array) for name, array in remembered.items()}
        meta = {
            "kind": KIND,
            "steps": training.steps,
            "begun": training.begun,
            "updates": learner.updates,
            "log": training.log.state(),
            "lines": training.lines,
            "seconds": training.seconds,
            "memory": training.memory.count,
            "guided_until": training.guided_until,
            "rng": training.rng.bit_generator.state,
            "env": {name: value for name, value in world.items() if not isinstance(value, np.ndarray)},
        }
        save_checkpoint(self.path / CHECKPOINT, tensors, meta)

    def load(self, training: "Training") -> int:
        """Put a saved state back in place; returns how many records of the memory belong to it.

        :raises InputError: a damaged checkpoint, or one of other mazes or networks.
        """
        tensors, meta = load_checkpoint(self.path / CHECKPOINT, KIND)
        learner = training.learner
        for name, network in learner.networks().items():
            put_weights(network, under(tensors, name), self.path)
        for k, optimiser in enumerate(learner.optimisers):
            restore_optimiser(optimiser, tensors, f"optimiser.{k}")
        training.replay.load_state_dict(under(tensors, "replay"))
        training.env.load_state_dict(meta["env"] | {k: t.numpy() for k, t in under(tensors, "env").items()})
        percept = {name: tensor.numpy() for name, tensor in under(tensors, "percept").items()}
        training.percept = training.percept._replace(**percept)
        memo = training.player.memo_of(training.percept)
        memo.hidden.copy_(tensors["memo.hidden"])
        memo.cell.copy_(tensors["memo.cell"])
        torch.set_rng_state(tensors["rng.torch"])
        training.episode[:] = tensors["episode"].numpy()
        training.rng.bit_generator.state = meta["rng"]
        training.steps, training.begun, learner.updates = meta["steps"], meta["begun"], meta["updates"]
        training.lines, training.seconds = meta["lines"], meta["seconds"]
        training.log.restore(meta["log"])
        training.guided_until = meta["guided_until"]
        if training.guided_until:
            knowledge = knowledge_of(self.memory, training.guided_until)
            training.player.consult(knowledge, self.config.guide_weight)
            remembered = {name: tensor.numpy() for name, tensor in under(tensors, "episodes").items()}
            training.player.remember(remembered, len(training.episode))
        return meta["memory"]

    def finish(self, training: "Training", *, kept: bool) -> HALMARun:
        """The last checkpoint, and final.json."""
        last = training.lines[-1]
        final = {
            "episodes": training.log.episodes,
            "steps": training.steps,
            "finished_trials": last["finished_trials"],
            "valid_moves": last["valid_moves"],
            "wall_s": last["wall_s"],
            "steps_per_s": round(training.steps / last["wall_s"], 1),
        }
        if kept:
            self.save(training)
            write_json(self.path / FINAL, final)
        return HALMARun(
            self.config,
            training.env.mazes,
            final,
            training.lines,
            self.path if kept else None,
            training.learner.actor.eval(),
            training.player,
        )
