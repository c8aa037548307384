"""Runs of HALMA agents: their folders, their checkpoints, and their agents ready to play.

A folder has config.json, manifest.json (versions, hardware, fingerprint of the mazes), mazes.jsonl (those of the
training), memory/ (its transitions), knowledge/ (the graph, if it was given one), metrics.jsonl, checkpoint/ and, when
the run is complete, final.json.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from gumption.agents.advice import Advice
from gumption.agents.knowledge import Knowledge
from gumption.agents.run_folder import (
    CHECKPOINT,
    FINAL,
    KNOWLEDGE,
    MANIFEST,
    RunFolder,
    read_config,
    read_final,
    read_metrics,
)
from gumption.data.provenance import hardware, versions
from gumption.data.sealed import damaged, read_sealed
from gumption.envs import worlds
from gumption.envs.halma import HALMAVectorEnv, Mazes
from gumption.envs.halma.action_facts import RELATIONS, HALMAFacts
from gumption.kg.checkpoint import (
    load_checkpoint,
    optimiser_tensors,
    pick_device,
    put_weights,
    restore_optimiser,
    under,
)

from .actor_critic import Actor
from .config import HALMAConfig
from .player import NetworkActor, knowledge_of, make_perception
from .td3 import Training

KIND = "gumption/halma-training/1"
MAZES, MEMORY = "mazes.jsonl", "memory"


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

    def actor(self, *, trained: bool = True, guided: bool = True) -> NetworkActor:
        """A fresh actor, which plays as the training did at its end: the network's option with probability
        greedy_last.

        :param trained: with the network of the training; else with one that has just been initialised.
        :param guided: with the knowledge of the run, if it has any.
        """
        device = pick_device(self.config.device)
        network = self.network if trained else _untrained(self.config, device)
        made = NetworkActor(network, self.player.perception, self.config.learner.greedy_last, torch.Generator(device))
        if guided and self.player.knowledge is not None:
            made.consult(self.player.knowledge, self.config.guide_weight)
        return made


def _untrained(config: HALMAConfig, device: torch.device) -> Actor:
    """The network that a training of this config begins with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return Actor(config).to(device).eval()


def training_env(config: HALMAConfig) -> HALMAVectorEnv:
    """The environments of a run's training."""
    return HALMAVectorEnv(
        config.learner.num_envs,
        num_mazes=config.num_mazes,
        maze_seed=config.maze_seed,
        mean_depth=config.mean_depth,
        mean_branches=config.mean_branches,
        observation=config.observation,
        panels=config.panels,
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
    config = read_config(run_dir, HALMAConfig, device=device, space_model=space_model)
    where = pick_device(config.device)
    tensors, meta = load_checkpoint(run_dir / CHECKPOINT, KIND)
    network = Actor(config).to(where)
    put_weights(network, under(tensors, "actor"), run_dir)
    player = NetworkActor(network.eval(), make_perception(config, where), config.learner.greedy_last)
    if config.guided and meta["guided_until"]:
        player.consult(knowledge_of(run_dir / MEMORY, meta["guided_until"]), config.guide_weight)
    if config.kg != "none":
        player.consult(graph_advice(run_dir, config), config.guide_weight)
    final = read_final(run_dir) if (run_dir / FINAL).is_file() else {}
    return HALMARun(config, _kept_mazes(run_dir), final, read_metrics(run_dir), run_dir, network, player)


def _kept_mazes(run_dir: Path) -> Mazes:
    """Those of the training; InputError where they are other ones than the manifest tells of."""
    mazes, manifest = Mazes.load(run_dir / MAZES), run_dir / MANIFEST
    if manifest.is_file() and read_sealed(manifest).get("mazes", mazes.fingerprint) != mazes.fingerprint:
        damaged(run_dir / MAZES, f"these are not the mazes that {MANIFEST} tells of")
    return mazes


def run_folder(path: Path, config: HALMAConfig) -> RunFolder:
    """The folder of a run with this config."""
    return RunFolder(path, config.to_json(), lambda stored: HALMAConfig.from_json(stored).to_json())


def graph_advice(run_dir: Path, config: HALMAConfig) -> Advice:
    """What the graph says that a run was given and has kept; InputError where it is missing."""
    vocabulary = HALMAFacts(config.max_opt_len).vocabulary
    return Knowledge.load(run_dir / KNOWLEDGE, vocabulary, RELATIONS).advice(vocabulary, RELATIONS)


def begin(folder: RunFolder, config: HALMAConfig, mazes: Mazes, *, resume: bool) -> bool:
    """Make the folder of a training on these mazes, with the graph that the config names. Returns whether there is a
    checkpoint to go on from.

    :raises InputError: a folder that is in use, or one begun with another config; a graph that is not there, or says
        nothing of what speaks for a choice.
    """
    folder.check(resume)
    if folder.has_checkpoint:
        folder.claim()
        return True
    knowledge = None
    if config.kg != "none":
        vocabulary = HALMAFacts(config.max_opt_len).vocabulary
        knowledge = Knowledge.of(config, worlds.find(config.world), vocabulary, RELATIONS)
    device = str(folder.settings["device"])
    told = {} if knowledge is None else {"knowledge": knowledge.about}
    folder.begin({"versions": versions(), "hardware": hardware(device), "mazes": mazes.fingerprint, **told})
    shutil.rmtree(folder.path / MEMORY, ignore_errors=True)  # killed before its first checkpoint: begun anew
    mazes.save(folder.path / MAZES)
    if knowledge is not None:
        knowledge.save(folder.path / KNOWLEDGE)
    return False


def save_state(folder: RunFolder, training: Training) -> None:
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
    folder.save(tensors, meta)


def load_state(folder: RunFolder, training: Training) -> int:
    """Put a saved state back in place; returns how many records of the memory belong to it.

    :raises InputError: a damaged checkpoint, or one of other mazes or networks.
    """
    tensors, meta = folder.load(KIND)
    learner = training.learner
    for name, network in learner.networks().items():
        put_weights(network, under(tensors, name), folder.path)
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
        knowledge = knowledge_of(folder.path / MEMORY, training.guided_until)
        training.player.consult(knowledge, training.config.guide_weight)
        remembered = {name: tensor.numpy() for name, tensor in under(tensors, "episodes").items()}
        training.player.remember(remembered, len(training.episode))
    return meta["memory"]


def finish(folder: RunFolder, training: Training, *, kept: bool) -> HALMARun:
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
        save_state(folder, training)
        folder.finish(final)
    return HALMARun(
        training.config,
        training.env.mazes,
        final,
        training.lines,
        folder.path if kept else None,
        training.learner.actor.eval(),
        training.player,
    )
