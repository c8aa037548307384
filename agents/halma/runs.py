"""Runs of HALMA agents: their training, their folders, and their agents ready to play.

In addition to the files of every run (see agents/run_folder.py) a folder has mazes.jsonl, the mazes of the training,
memory/, its transitions, and knowledge/, the graph, if it has one.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from gumption.agents.knowledge import Knowledge
from gumption.agents.run import RunResult, opened, run_learner
from gumption.agents.run_folder import CHECKPOINT, FINAL, KNOWLEDGE, MANIFEST, read_config, read_final, read_metrics
from gumption.data.sealed import damaged, read_sealed
from gumption.data.settings import checked
from gumption.envs.halma import HALMAVectorEnv, Mazes
from gumption.envs.halma.facts import RELATIONS, HALMAFacts
from gumption.envs.halma.maze import MAZES
from gumption.kg.checkpoint import load_checkpoint, pick_device, put_weights, under

from .config import GRAPH, HALMAConfig
from .lived import GraphPlayer, Outlook, memory_of_run
from .networks import ActorNetwork, NetworkActor, make_perception, make_player
from .training import KIND, Life, Living, Training, advice_of_memory


@dataclass(frozen=True)
class HALMARun(RunResult):
    """A complete run, or its last checkpoint; its policy is its player.

    :ivar mazes: the mazes of the training.
    :ivar final: {"learner", "episodes", "steps", "finished_trials", "valid_moves", "wall_s", "steps_per_s"}; empty for
        an incomplete run; runs from before TD3 have no "learner".
    """

    mazes: Mazes = field(kw_only=True)

    def actor(self, *, trained: bool = True, guided: bool = True, drawn: bool = False) -> NetworkActor:
        """Return a new actor as at the end of training: the network's option has probability greedy_last.

        :param trained: use the trained network; else the initial network of the training.
        :param guided: use the knowledge of the run, if it has any.
        :param drawn: draw options from the network with TD3 too, whose agents otherwise take the likeliest option.
        """
        device, network = pick_device(self.config.device), self.policy.network
        if not trained:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.config.seed)
                network = ActorNetwork(self.config).to(device).eval()
        made = make_player(self.config, network, self.policy.perception, torch.Generator(device), drawn=drawn)
        if guided and self.policy.guide is not None:
            made.consult(self.policy.guide.knowledge, self.config.guide_weight)
        return made


@dataclass(frozen=True)
class LivedRun(HALMARun):
    """A run of the agent without a network."""

    def actor(self, **_: Any) -> Any:
        return GraphPlayer(self.policy.outlook)


@checked
def train_halma(
    config: HALMAConfig, run_dir: str | Path | None = None, *, resume: bool = False, progress: bool = True
) -> HALMARun:
    """Train an agent of Table 1, optionally guided by its own knowledge or a graph, by TD3 or MPO; or run the agent
    "graph", which learns facts.

    The same config gives the same run, bit for bit on CPU, also after a kill and a resume.

    :param run_dir: folder of the run; None writes nothing to disk.
    :param resume: continue from the last checkpoint in `run_dir`, if there is one.
    :param progress: report the progress on stderr, on a terminal by a bar.
    :raises InputError: a folder in use or begun with another config; a graph that is missing or has no fact of the
        world's relations.
    """
    folder = opened(run_dir, config, resume)
    if folder is not None and folder.complete:
        return load_run(folder.path)
    with ExitStack() as stack:
        where = Path(stack.enter_context(TemporaryDirectory())) if folder is None else folder.path

        def make() -> Life:
            names = (
                "adjusted", "side", "panels_equal", "primitives", "observation", "panels", "images", "painter",
                "names", "laws", "max_opt_len",
            )  # fmt: skip
            same = {name: getattr(config, name) for name in names}
            env = HALMAVectorEnv(config.parameters.num_envs, **config.mazes, **same)
            training = (Living if config.agent == GRAPH else Training)(config, env, where)
            stack.callback(training.close)
            return training

        training, curve, final = run_learner(folder, make, title=f"training {config.agent}", progress=progress)
        made, mazes = (config, final, curve, folder and folder.path), training.env.mazes
        if isinstance(training, Training):
            training.learner.actor.eval()
            return HALMARun(*made, training.player, mazes=mazes)
        training.memory.flush()
        return LivedRun(*made, GraphPlayer(Outlook.of(memory_of_run(where))), mazes=mazes)


@checked
def load_run(run_dir: str | Path, *, device: str | None = None, space_model: str | None = None) -> HALMARun:
    """Load the run in a folder, as of its last checkpoint, ready to play.

    :param device: device, if it differs from the training's.
    :param space_model: the SPACE model's folder, if it was moved.
    :raises InputError: no run there, a damaged run, or a guided run without its memory.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, HALMAConfig, device=device, space_model=space_model)
    tensors, meta = load_checkpoint(run_dir / CHECKPOINT, KIND)
    final = read_final(run_dir) if (run_dir / FINAL).is_file() else {}
    mazes, manifest = Mazes.load(run_dir / MAZES, config.rules), run_dir / MANIFEST
    if manifest.is_file() and read_sealed(manifest).get("mazes", mazes.fingerprint) != mazes.fingerprint:
        damaged(run_dir / MAZES, f"these are not the mazes of the run's {MANIFEST}")
    kept = config, final, read_metrics(run_dir), run_dir
    if config.agent == GRAPH:
        return LivedRun(*kept, GraphPlayer(Outlook.of(memory_of_run(run_dir, meta["memory"]))), mazes=mazes)
    where = pick_device(config.device)
    network = ActorNetwork(config).to(where)
    put_weights(network, under(tensors, "actor"), run_dir)
    player = make_player(config, network.eval(), make_perception(config, where))
    if config.guided and meta["guided_until"]:
        advice = advice_of_memory(memory_of_run(run_dir, meta["guided_until"]))
        if advice is not None:
            player.consult(advice, config.guide_weight)
    if config.kg != "none":
        vocabulary = HALMAFacts(config.max_opt_len, config.rules).vocabulary
        knowledge = Knowledge.load(run_dir / KNOWLEDGE, vocabulary, RELATIONS)
        player.consult(knowledge.advice(vocabulary, RELATIONS), config.guide_weight)
    return HALMARun(*kept, player, mazes=mazes)
