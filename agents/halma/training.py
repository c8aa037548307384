"""Train agents that choose options in HALMA (Xie et al., 2021, E.1), by TD3 or by MPO.

Every step of the batch adds a move of each environment to the replay buffer and is followed by one update of the
learner (agents/learners/replay.py). `objective` determines where a move's value ends:

- "trial": with the move that reaches the goal (decision: after a successful trial, later trials have the same value
  whatever the agent did in it). A move after which time ends the trial or the episode is not learned from, because the
  next panel belongs to another trial.
- "episode" (equation 1): with the move that ends the episode. The panel after any other move is the next panel that the
  agent sees, at the start where a trial ended, so that a trial is credited with gains in later trials.

With the probability of the greedy option the agent takes an option of its actor, in tests too. TD3 takes the likeliest
option. MPO draws it (decision: only trials show which of two similar options is better, such as one step or two; and
the most probable option, taken each time, may lead back to the same new panel for ever).

Metrics on top of agents/run.py, a line per `log_interval` episodes: episode, finished_trials and valid_moves (moving
averages over the last num_mazes episodes, as in F.2: trials that reached the goal, share of valid moves), return
(undiscounted, per episode), critic_loss, value (mean Q1), greedy (probability of the greedy option).
"""

import shutil
from collections import deque
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from gumption.agents.advice import Advice
from gumption.agents.knowledge import Knowledge
from gumption.agents.learners.mpo import MPO
from gumption.agents.learners.parameters import MPOParameters, TD3Parameters
from gumption.agents.learners.replay import Replay, ReplayLearner
from gumption.agents.learners.td3 import TD3
from gumption.agents.run import Learner, Line, Tensors
from gumption.agents.run_folder import KNOWLEDGE
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.envs import worlds
from gumption.envs.halma import HALMAVectorEnv
from gumption.envs.halma.env import Outcome
from gumption.envs.halma.facts import RELATIONS, HALMAFacts
from gumption.envs.halma.knowledge_base import KnowledgeBases
from gumption.envs.halma.maze import MAZES
from gumption.envs.halma.memory import FOLDER, Memory, MemoryWriter, flags
from gumption.kg import KnowledgeGraph
from gumption.kg.checkpoint import optimiser_tensors, pick_device, put_weights, restore_optimiser, under

from .acting import first_percept, next_percept, other_options, random_options
from .config import HALMAConfig
from .lived import GraphPlayer, Outlook, memory_of_run
from .networks import ActorNetwork, CriticNetwork, make_perception, make_player, scale_pictures

KIND = "gumption/halma-training/1"  # of checkpoints
FIRST_FACTS = 5_000  # moves after which an agent without a network derives its first facts

# ---- Fixed panels: the replay buffer stores places instead of pictures, which saves time and memory.
#
# A place is the number of a cell of a maze, 8 bytes instead of a picture's 49 KB. Pictures that occur several times in
# the replayed moves are drawn once for an update, and pass through each network once.


class Album:
    """The pictures of an update of the networks."""

    def __init__(self, env: HALMAVectorEnv, device: torch.device) -> None:
        """:param env: an environment with fixed panels."""
        self._env, self._device = env, device
        self._pictures = torch.empty(0)

    def places(self) -> torch.Tensor:
        """Return the (B,) int64 places of the environments."""
        return torch.from_numpy(self._env.places()).to(self._device)

    def open(self, places: torch.Tensor) -> torch.Tensor:
        """Draw the pictures of places (...) int64; return the index of each place's picture, (...) int64."""
        shown, which = places.unique(return_inverse=True)
        pictures = torch.from_numpy(self._env.pictures(shown.cpu().numpy())).to(self._device)
        self._pictures = scale_pictures(pictures)
        return which

    def encode(self, encoder: nn.Module, which: torch.Tensor) -> torch.Tensor:
        """Return the encoder's vectors (..., size) of the pictures with the indices (...) of `open`."""
        looked_at, which = which.unique(return_inverse=True)
        return encoder(self._pictures[looked_at])[which]


# ---- Training


def make_learner(config: HALMAConfig, device: torch.device, album: Album | None = None) -> ReplayLearner:
    """Return the learner that the config names, with fresh networks.

    :param album: the pictures, if the replay buffer stores places instead of pictures.
    """
    networks = ActorNetwork(config).to(device), CriticNetwork(config).to(device)
    parameters = config.parameters
    if isinstance(parameters, TD3Parameters):
        return TD3(*networks, parameters, recurrent=config.recurrent, album=album)
    assert isinstance(parameters, MPOParameters)
    explore = partial(other_options, rules=config.rules)
    return MPO(*networks, parameters, explore=explore, recurrent=config.recurrent, album=album)


class Log:
    """Moving averages over the latest `window` episodes."""

    def __init__(self, num_envs: int, window: int) -> None:
        self.counts = np.zeros((4, num_envs))  # per running episode: trials finished, valid moves, moves, reward
        self.recent: deque[list[float]] = deque(maxlen=window)
        self.episodes = 0

    def add(self, outcome: Outcome) -> None:
        self.counts += [outcome.reached, outcome.valid, np.ones(len(outcome.valid)), outcome.reward]
        for i in np.flatnonzero(outcome.done):
            trials, valid, moves, reward = self.counts[:, i]
            self.recent.append([float(trials), float(valid / moves), float(reward)])
            self.episodes += 1
        self.counts[:, outcome.done] = 0

    def line(self) -> dict[str, float]:
        means = np.mean(self.recent, axis=0)
        return dict(zip(("finished_trials", "valid_moves", "return"), (float(m) for m in means), strict=True))

    def state(self) -> dict[str, Any]:
        return {"counts": self.counts.tolist(), "recent": list(self.recent), "episodes": self.episodes}

    def restore(self, state: dict[str, Any]) -> None:
        self.counts = np.array(state["counts"])
        self.recent.extend(state["recent"])
        self.episodes = state["episodes"]


class Life(Learner):
    """The moves of a run: its environments, its memory, and its figures. Subclasses choose options.

    :ivar percept: the agents' current input; `rng` draws everything that they do not choose.
    """

    kind = KIND

    def __init__(self, config: HALMAConfig, env: HALMAVectorEnv, folder: Path) -> None:
        """:param folder: folder of the run, which holds its memory."""
        self.config, self.folder, self.env = config, folder, env
        self.rng = np.random.default_rng(config.seed)
        env.reset(seed=config.seed)
        self.log = Log(env.num_envs, config.num_mazes)
        self.episode = np.arange(env.num_envs)  # number of the current episode of each environment
        self.steps, self.begun = 0, env.num_envs
        self.percept = first_percept(env)
        self.total, self.measured_every, self.kept_every = (
            config.episodes, config.log_interval, config.checkpoint_interval,
        )  # fmt: skip
        self.measured = "finished_trials", min(config.log_interval, config.num_mazes)
        self.kept: int | None = None  # records of the memory at the checkpoint; None for a new run

    @cached_property
    def memory(self) -> MemoryWriter:
        """The transitions of the run, written as they occur."""
        return MemoryWriter(self.folder / FOLDER, self.config.max_opt_len, keep=self.kept, rules=self.config.rules)

    def close(self) -> None:
        if "memory" in self.__dict__:
            self.memory.close()

    @property
    def step(self) -> int:
        return self.steps

    @property
    def done(self) -> int:
        """The number of episodes; all of them once the steps are used up."""
        over = self.config.steps is not None and self.steps >= self.config.steps
        return max(self.total, self.log.episodes) if over else self.log.episodes

    def play(self, options: np.ndarray) -> tuple[Outcome, np.ndarray]:
        """Make a move (B, 1 + T) and record it; return its outcome, and (B,) bool: it ended a trial."""
        outcome = self.env.move(options)
        over = outcome.trial_over | outcome.done
        marks = flags(outcome.valid, outcome.reached, over)
        self.memory.append(outcome.before, options, outcome.after, outcome.maze, outcome.trial, self.episode, marks)
        ended = np.flatnonzero(outcome.done)
        self.episode[ended] = self.begun + np.arange(len(ended))
        self.begun += len(ended)
        self.percept = next_percept(self.env, options, outcome)
        self.log.add(outcome)
        self.steps += self.env.num_envs
        return outcome, over

    def measure(self) -> Line:
        return {"episode": self.log.episodes, **self.log.line()}

    def words(self, line: Line) -> str:
        return f"{line['finished_trials']:.1f} trials of {self.env.settings.trials} per episode"

    def manifest(self) -> dict[str, Any]:
        return {"mazes": self.env.mazes.fingerprint}

    def keep(self, path: Path) -> None:
        """Save the mazes, and delete a memory that was begun before the first checkpoint."""
        if self.kept is None:
            shutil.rmtree(path / FOLDER, ignore_errors=True)
            self.env.mazes.save(path / MAZES)

    def final(self, curve: list[Line]) -> dict[str, Any]:
        figures = {name: curve[-1][name] for name in ("finished_trials", "valid_moves")}
        return {"learner": self.config.learner, "episodes": self.log.episodes, "steps": self.steps, **figures}

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        self.memory.flush()
        world = self.env.state_dict()
        tensors = {f"env.{name}": torch.from_numpy(v) for name, v in world.items() if isinstance(v, np.ndarray)}
        percept = self.percept._asdict()
        tensors |= {f"percept.{name}": torch.from_numpy(np.ascontiguousarray(v)) for name, v in percept.items()}
        tensors["episode"] = torch.from_numpy(self.episode)
        return tensors, {
            "steps": self.steps,
            "begun": self.begun,
            "log": self.log.state(),
            "memory": self.memory.count,
            "rng": self.rng.bit_generator.state,
            "env": {name: value for name, value in world.items() if not isinstance(value, np.ndarray)},
        }

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        self.env.load_state_dict(meta["env"] | {k: t.numpy() for k, t in under(tensors, "env").items()})
        percept = {name: tensor.numpy() for name, tensor in under(tensors, "percept").items()}
        self.percept = self.percept._replace(**percept)
        self.episode[:] = tensors["episode"].numpy()
        self.rng.bit_generator.state = meta["rng"]
        self.steps, self.begun = meta["steps"], meta["begun"]
        self.log.restore(meta["log"])
        self.kept = meta["memory"]


class Living(Life):
    """Run an agent without a network: at random until its memory holds a fact that identifies places, then by its
    facts, which are recomputed whenever the memory has doubled. A checkpoint discards the current mazes' places, so
    that a resumed run makes the same moves."""

    def __init__(self, config: HALMAConfig, env: HALMAVectorEnv, folder: Path) -> None:
        super().__init__(config, env, folder)
        self.player: GraphPlayer | None = None
        self.learned, self.due = 0, FIRST_FACTS  # records used for the current facts, and for the next

    def learn(self, bar: Bar) -> None:
        config, drawn = self.config, np.ones(self.env.num_envs, dtype=bool)
        options = random_options(self.rng, self.env.num_envs, config.max_opt_len, config.rules)
        if self.player is not None:
            planned = self.player.act(self.percept, self.rng)
            drawn = self.rng.random(self.env.num_envs) >= config.parameters.greedy_last
            options = np.where(drawn[:, None], options, planned)
            self.player.chosen[drawn] = 0
        self.play(options)
        if self.memory.count >= self.due:
            self.memory.flush()
            self.learned, self.due = self.memory.count, 2 * self.memory.count
            self._outlook()

    def _outlook(self) -> None:
        try:
            self.player = GraphPlayer(Outlook.of(memory_of_run(self.folder, self.learned)))
        except InputError:  # the memory is too short for a fact
            self.player = None

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        tensors, meta = super().state()
        if self.player is not None:
            self.player = GraphPlayer(self.player.outlook)
        return tensors, meta | {"learned": self.learned, "due": self.due}

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        super().put_state(tensors, meta, where)
        self.learned, self.due = meta["learned"], meta["due"]
        if self.learned:
            self._outlook()


def advice_of_memory(memory: Memory) -> Advice | None:
    """Return the facts of an agent's own knowledge bases as advice; None as long as they support no choice.

    The panel at the end of a trial does not count, because no agent sees it.
    """
    known = KnowledgeBases.of(memory, last_panel="dropped").facts()
    if not any(relation in RELATIONS for _, relation, _ in known):
        return None
    graph = KnowledgeGraph()
    graph.add(known)
    return Advice(graph, HALMAFacts(memory.max_opt_len, memory.rules).vocabulary, RELATIONS)


class Training(Life):
    """A step of learning is one move of every environment and one update."""

    def __init__(self, config: HALMAConfig, env: HALMAVectorEnv, folder: Path) -> None:
        """
        :param folder: folder of the run, which holds its memory.
        :raises InputError: a graph that is missing or has no fact of the world's relations; too many options to have
            facts each.
        """
        super().__init__(config, env, folder)
        settings, device = config.parameters, pick_device(config.device)
        self.device = str(device)
        self.threads = None if config.observation == "visual" else 1
        self.knowledge: Knowledge | None = None
        vocabulary = HALMAFacts(config.max_opt_len, config.rules).vocabulary if config.has_knowledge else ()
        if config.kg != "none":
            world = worlds.find(config.world)
            self.knowledge = Knowledge.of(config, world, vocabulary, RELATIONS, kept=folder / KNOWLEDGE)
        torch.manual_seed(config.seed)
        self.album = Album(env, device) if config.keeps_places else None
        self.learner = make_learner(config, device, self.album)
        perception = make_perception(config, device)
        self.player = make_player(config, self.learner.actor, perception)
        self.replay = Replay(
            settings.buffer_size // settings.num_envs,
            settings.num_envs,
            perception.shape if self.album is None else (),
            perception.dtype if self.album is None else torch.int64,
            1 + config.max_opt_len,
            settings.hidden_size if config.recurrent else 0,
            device,
        )
        self.guided_until = 0
        if self.knowledge is not None:
            self.player.consult(self.knowledge.advice(vocabulary, RELATIONS), config.guide_weight)

    def learn(self, bar: Bar) -> None:
        before, every = self.log.episodes, self.config.guide_interval
        self._move()
        if self.config.guided and self.log.episodes // every > before // every:
            self.memory.flush()
            self._consult_memory(self.memory.count)

    def _move(self) -> None:
        settings, percept = self.config.parameters, self.percept
        done = self.steps if settings.greedy_unit == "steps" else self.learner.updates
        share = min(1.0, done / settings.greedy_steps)
        self.player.greedy = settings.greedy_first + share * (settings.greedy_last - settings.greedy_first)
        memo = self.player.memo_of(percept)
        options = self.player.act(percept, self.rng)
        features = self.player.features if self.album is None else self.album.places()
        outcome, over = self.play(options)
        value_ends, counts = outcome.done, np.ones_like(over)
        if self.config.objective == "trial":
            value_ends, counts = outcome.reached, outcome.reached | ~over
        self.replay.add(
            features=features,
            action=torch.from_numpy(percept.action),
            reward=torch.from_numpy(percept.reward),
            first=torch.from_numpy(percept.first),
            option=torch.from_numpy(options),
            gain=torch.from_numpy(outcome.reward),
            ended=torch.from_numpy(value_ends),
            counts=torch.from_numpy(counts),
            hidden=memo.hidden,
            cell=memo.cell,
        )
        if self.replay.ready(self.learner.burn_in + self.learner.moves) and self.steps >= settings.batch_size:
            self.learner.update(self.replay, self.rng)

    def _consult_memory(self, records: int) -> None:
        """Recompute the knowledge that guides the agent from its first `records` records."""
        self.guided_until = records
        advice = advice_of_memory(memory_of_run(self.folder, records))
        if advice is not None:
            self.player.consult(advice, self.config.guide_weight)

    def measure(self) -> Line:
        learner = self.learner
        figures = {"critic_loss": float(learner.critic_loss), "value": float(learner.value)}
        return {**super().measure(), **figures, "greedy": self.player.greedy}

    def manifest(self) -> dict[str, Any]:
        about = {} if self.knowledge is None else {"knowledge": self.knowledge.about}
        return {**super().manifest(), **about}

    def keep(self, path: Path) -> None:
        super().keep(path)
        if self.kept is None and self.knowledge is not None:
            self.knowledge.save(path / KNOWLEDGE)

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        tensors, meta = super().state()
        learner = self.learner
        tensors |= {
            f"{name}.{key}": value
            for name, network in learner.networks().items()
            for key, value in network.state_dict().items()
        }
        for k, optimiser in enumerate(learner.optimisers):
            tensors |= optimiser_tensors(optimiser, f"optimiser.{k}")
        tensors |= {f"replay.{name}": part for name, part in self.replay.state_dict().items()}
        memo = self.player.memo_of(self.percept)
        tensors |= {"memo.hidden": memo.hidden, "memo.cell": memo.cell, "rng.torch": torch.get_rng_state()}
        return tensors, meta | {"updates": learner.updates, "guided_until": self.guided_until}

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        super().put_state(tensors, meta, where)
        learner = self.learner
        for name, network in learner.networks().items():
            put_weights(network, under(tensors, name), where)
        for k, optimiser in enumerate(learner.optimisers):
            restore_optimiser(optimiser, tensors, f"optimiser.{k}")
        self.replay.load_state_dict(under(tensors, "replay"))
        memo = self.player.memo_of(self.percept)
        memo.hidden.copy_(tensors["memo.hidden"])
        memo.cell.copy_(tensors["memo.cell"])
        torch.set_rng_state(tensors["rng.torch"])
        learner.updates, self.guided_until = meta["updates"], meta["guided_until"]
        if self.guided_until:
            self._consult_memory(self.guided_until)
