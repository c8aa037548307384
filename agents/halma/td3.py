"""TD3 (Fujimoto et al., 2018) for agents that choose options in HALMA (Xie et al., 2021, E.1 and Table S1).

A critic with twin values learns from replayed moves towards

    y = scale * r + discount * min(Q1'(s', o'), Q2'(s', o')),   o' drawn from the target actor

where Q' and the target actor follow the trained ones slowly. Where the move reached the goal, y = scale * r (decision:
a trial's value ends with the trial; later trials are worth the same whatever the agent does in a successful one).
Drawing o' instead of taking the best option is TD3's smoothing of the target policy, for discrete choices.

Options are discrete, so that dQ/do, along which TD3 moves its actor, does not exist; relaxed one-hot options would
follow the critic's slope between options that nobody can take. Instead, every `policy_delay` updates, the actor is
fitted to candidates with weights by the critic, as in maximum a posteriori policy optimisation (Abdolmaleki et al.,
2018):

    L(actor) = - sum_k w_k log pi(o_k | s),   w = softmax(min(Q1, Q2)(s, o_k) / temperature)

With the probability of the greedy option the agent draws an option from its actor, in tests too (decision: which of two
similar options is better, such as one step or two, only trying them shows; and the most probable option, taken each
time, may lead back to the same new panel for ever).

Metrics beside those of every run (see agents/run.py), a line per `log_interval` episodes: episode, finished_trials and
valid_moves (moving averages over the last num_mazes episodes, as in F.2: trials that reached the goal, share of valid
moves), return (undiscounted, per episode), critic_loss, value (mean Q1), greedy (probability of the greedy option).
"""

import copy
import shutil
from collections import deque
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from gumption.agents.knowledge import Knowledge
from gumption.agents.run import Learner, Line, Tensors
from gumption.agents.run_folder import KNOWLEDGE
from gumption.data.progress import Bar
from gumption.envs import worlds
from gumption.envs.halma import HALMAVectorEnv
from gumption.envs.halma.env import Outcome
from gumption.envs.halma.facts import RELATIONS, HALMAFacts
from gumption.envs.halma.maze import MAZES
from gumption.envs.halma.memory import FOLDER, MemoryWriter, flags
from gumption.kg.checkpoint import optimiser_tensors, pick_device, put_weights, restore_optimiser, under

from .acting import first_percept, next_percept, other_options
from .config import HALMAConfig
from .knowledge import knowledge_of_run
from .networks import ActorNetwork, CriticNetwork, Memo, NetworkActor, make_perception, scale_pictures

KIND = "gumption/halma-training/1"  # of checkpoints

# ---- The replay buffer: the latest moves of every environment, in the order in which they were made.


class Moves(NamedTuple):
    """n sequences of K consecutive moves.

    :ivar features: (n, K + 1, ...), of the panels before each move and after the last.
    :ivar action: (n, K + 1, 1 + T) int64 and `reward` (n, K + 1) float32, of the move *before* each panel; `first`
        (n, K + 1) bool: the panel begins an episode.
    :ivar option: (n, K, 1 + T) int64, the move; `gain` (n, K) float32, its reward.
    :ivar ended: (n, K) bool: the value ends with this move. `counts` (n, K) bool: learn from this move.
    :ivar memo: of the actor before the first panel.
    """

    features: torch.Tensor
    action: torch.Tensor
    reward: torch.Tensor
    first: torch.Tensor
    option: torch.Tensor
    gain: torch.Tensor
    ended: torch.Tensor
    counts: torch.Tensor
    memo: Memo


class Replay:
    """A ring of the latest `size` time steps of B environments, on one device; `added` of them were ever added."""

    def __init__(
        self,
        size: int,
        num_envs: int,
        features: tuple[int, ...],
        dtype: torch.dtype,
        tokens: int,
        memo: int,
        device: torch.device,
    ) -> None:
        """
        :param features: shape of one observation's features.
        :param tokens: 1 + T.
        :param memo: numbers in each part of an actor's memo.
        """
        self.size, self.num_envs, self.added = size, num_envs, 0

        def room(*shape: int, dtype: torch.dtype) -> torch.Tensor:
            return torch.zeros(size, num_envs, *shape, dtype=dtype, device=device)

        self.parts = {
            "features": room(*features, dtype=dtype),
            "action": room(tokens, dtype=torch.int8),
            "reward": room(dtype=torch.float32),
            "first": room(dtype=torch.bool),
            "option": room(tokens, dtype=torch.int8),
            "gain": room(dtype=torch.float32),
            "ended": room(dtype=torch.bool),
            "counts": room(dtype=torch.bool),
            "hidden": room(memo, dtype=torch.float32),
            "cell": room(memo, dtype=torch.float32),
        }

    def add(self, **parts: torch.Tensor) -> None:
        """Add a time step: (B, ...) of each part."""
        at = self.added % self.size
        for name, value in parts.items():
            self.parts[name][at] = value
        self.added += 1

    def ready(self, moves: int) -> bool:
        """Whether sequences of so many moves can be sampled."""
        return min(self.added, self.size) > moves + 1

    def sample(self, count: int, moves: int, rng: np.random.Generator) -> Moves:
        """Sequences uniformly from the whole ring; they may run over the end of an episode."""
        kept = min(self.added, self.size)
        begin = rng.integers(kept - moves, size=count) + self.added - kept
        column = torch.from_numpy(rng.integers(self.num_envs, size=count))
        where = self.parts["first"].device
        time = torch.from_numpy((begin[:, None] + np.arange(moves + 1)) % self.size).to(where)
        column = column.to(where)[:, None]

        def take(name: str, upto: int) -> torch.Tensor:
            return self.parts[name][time[:, :upto], column]

        whole = moves + 1
        return Moves(
            take("features", whole),
            take("action", whole).long(),
            take("reward", whole),
            take("first", whole),
            take("option", moves).long(),
            take("gain", moves),
            take("ended", moves),
            take("counts", moves),
            Memo(take("hidden", 1)[:, 0], take("cell", 1)[:, 0]),
        )

    def state_dict(self) -> dict[str, torch.Tensor]:
        return self.parts | {"added": torch.tensor(self.added)}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        for name, part in self.parts.items():
            part.copy_(state[name])
        self.added = int(state["added"])


# ---- Fixed panels: the replay buffer keeps places instead of pictures, which saves time and memory.
#
# A place is the number of a cell of a maze, 8 bytes instead of a picture's 49 KB. Pictures that occur several times in
# the replayed moves are drawn once for an update, and go through each network once.


class Album:
    """The pictures of an update of the networks."""

    def __init__(self, env: HALMAVectorEnv, device: torch.device) -> None:
        """:param env: shows fixed panels."""
        self._env, self._device = env, device
        self._pictures = torch.empty(0)

    def places(self) -> torch.Tensor:
        """(B,) int64 of the environments."""
        return torch.from_numpy(self._env.places()).to(self._device)

    def open(self, places: torch.Tensor) -> torch.Tensor:
        """Draw the pictures of places (...) int64; returns the index of each place's picture, (...) int64."""
        shown, which = places.unique(return_inverse=True)
        pictures = torch.from_numpy(self._env.pictures(shown.cpu().numpy())).to(self._device)
        self._pictures = scale_pictures(pictures)
        return which

    def encode(self, encoder: nn.Module, which: torch.Tensor) -> torch.Tensor:
        """The encoder's vectors (..., size) of the pictures with the indices (...) of `open`."""
        looked_at, which = which.unique(return_inverse=True)
        return encoder(self._pictures[looked_at])[which]


# ---- TD3


class TD3:
    """Actor, critic, their targets and their optimisers.

    :ivar critic_loss, value: of the latest update, tensors on the device.
    :ivar moves, burn_in: moves of a sequence to learn from, and those before them that only update the LSTM's state.
    """

    def __init__(self, config: HALMAConfig, device: torch.device, album: Album | None = None) -> None:
        """:param album: where the replay buffer keeps places instead of pictures."""
        self.config, self.settings, self.album = config, config.learner, album
        self.actor, self.critic = ActorNetwork(config).to(device), CriticNetwork(config).to(device)
        self.target_actor, self.target_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.trained: list[torch.Tensor] = [*self.actor.parameters(), *self.critic.parameters()]
        self.targets: list[torch.Tensor] = [*self.target_actor.parameters(), *self.target_critic.parameters()]
        rates = (self.actor, self.settings.learning_rate), (self.critic, self.settings.critic_learning_rate)
        self.optimisers = [
            torch.optim.Adam(part.parameters(), lr=rate, eps=self.settings.adam_epsilon, fused=True)
            for part, rate in rates
        ]
        self.updates = 0
        self.critic_loss = self.value = torch.zeros((), device=device)
        self.moves, self.burn_in = (self.settings.sequence, self.settings.burn_in) if config.recurrent else (1, 0)
        self.sequences = self.settings.batch_size // self.moves

    def update(self, replay: Replay, rng: np.random.Generator) -> None:
        """One update of the critic and of the targets, and every `policy_delay` updates one of the actor."""
        moves = replay.sample(self.sequences, self.burn_in + self.moves, rng)
        if self.album is not None:
            moves = moves._replace(features=self.album.open(moves.features))
        self._update_critic(moves)
        self.updates += 1
        if self.updates % self.settings.policy_delay == 0:
            self._update_actor(moves, rng)
        with torch.no_grad():
            for target, trained in zip(self.targets, self.trained, strict=True):
                target.lerp_(trained, 1 - self.settings.target_rate)

    def _update_critic(self, moves: Moves) -> None:
        settings = self.settings
        with torch.no_grad():
            after = self._made(self.target_actor, moves, later=True, memo=True)
            options = self.target_actor.decode(after)
            values = self.target_critic(self._made(self.target_critic, moves, later=True), options)
            follows = settings.discount * torch.minimum(*values) * ~self._learned(moves.ended)
            target = settings.reward_scale * self._learned(moves.gain) + follows
            counts = self._learned(moves.counts).to(target.dtype)
        first, second = self.critic(self._made(self.critic, moves, later=False), self._learned(moves.option))
        loss = (counts * ((first - target) ** 2 + (second - target) ** 2)).mean()
        self._descend(1, loss, self.critic, settings.max_grad_norm)
        self.critic_loss, self.value = loss.detach(), first.detach().mean()

    def _update_actor(self, moves: Moves, rng: np.random.Generator) -> None:
        settings = self.settings
        made = self._made(self.actor, moves, later=False, memo=True)
        with torch.no_grad():
            drawn, size = settings.candidates - settings.random_candidates, len(made)
            own = self.actor.decode(made.repeat_interleave(drawn, 0)).view(size, drawn, -1)
            other = other_options(
                rng, own[:, : settings.random_candidates].flatten(0, 1).cpu().numpy(), self.actor.rules
            )
            options = torch.cat([own, torch.from_numpy(other).to(made.device).view(size, -1, own.shape[2])], 1)
            values = self.critic(self._made(self.critic, moves, later=False)[:, None], options)
            weight = (torch.minimum(*values) / settings.temperature).softmax(1)
        loss = -(weight * self.actor.log_likelihood(made, options)).sum(1).mean()
        self._descend(0, loss, self.actor, settings.max_grad_norm)

    def _made(
        self, network: ActorNetwork | CriticNetwork, moves: Moves, *, later: bool, memo: bool = False
    ) -> torch.Tensor:
        """The body's vectors (n * K, size) at the panels before, or after (`later`), the moves to learn from.

        An actor's LSTM starts from its memo when the moves were made, a critic's from zeros; the burn-in updates both.
        """
        start = moves.memo if memo else network.body.start(len(moves.first))
        begin = 1 if later and not self.config.recurrent else 0
        upto = moves.first.shape[1] - (0 if later else 1)
        panels = slice(begin, upto)
        if self.album is not None:  # agents that see panels have no LSTM: the encoder is their whole body
            return self.album.encode(network.body.encoder, moves.features[:, panels]).flatten(0, 1)
        made, _ = network.body(
            moves.features[:, panels], moves.action[:, panels], moves.reward[:, panels], moves.first[:, panels], start
        )
        return made[:, -self.moves :].flatten(0, 1)

    def _learned(self, part: torch.Tensor) -> torch.Tensor:
        """Of the moves to learn from: (n, K, ...) -> (n * K', ...)."""
        return part[:, self.burn_in :].flatten(0, 1)

    def _descend(self, which: int, loss: torch.Tensor, network: torch.nn.Module, norm: float) -> None:
        optimiser = self.optimisers[which]
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), norm)
        optimiser.step()

    def networks(self) -> dict[str, torch.nn.Module]:
        """All networks by their names in a checkpoint."""
        return {name: getattr(self, name) for name in ("actor", "critic", "target_actor", "target_critic")}


class Log:
    """Moving averages over the latest `window` episodes."""

    def __init__(self, num_envs: int, window: int) -> None:
        self.counts = np.zeros((4, num_envs))  # of each running episode: trials finished, valid moves, moves, reward
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


class Training(Learner):
    """A step of learning is one move of every environment and one update."""

    kind = KIND

    def __init__(self, config: HALMAConfig, env: HALMAVectorEnv, folder: Path) -> None:
        """
        :param folder: of the run, where its memory is kept.
        :raises InputError: a graph that is not there, or has no fact of the world's relations.
        """
        settings, device = config.learner, pick_device(config.device)
        self.config, self.folder, self.device = config, folder, str(device)
        self.threads = None if config.observation == "visual" else 1
        self.knowledge: Knowledge | None = None
        if config.kg != "none":
            vocabulary, world = HALMAFacts(config.max_opt_len, config.rules).vocabulary, worlds.find(config.world)
            self.knowledge = Knowledge.of_run(folder / KNOWLEDGE, config, world, vocabulary, RELATIONS)
        torch.manual_seed(config.seed)
        self.rng = np.random.default_rng(config.seed)
        self.env = env
        env.reset(seed=config.seed)
        self.album = Album(env, device) if config.keeps_places else None
        self.learner = TD3(config, device, self.album)
        perception = make_perception(config, device)
        self.player = NetworkActor(self.learner.actor, perception, settings.greedy_first)
        self.replay = Replay(
            settings.buffer_size // settings.num_envs,
            settings.num_envs,
            perception.shape if self.album is None else (),
            perception.dtype if self.album is None else torch.int64,
            1 + config.max_opt_len,
            settings.hidden_size if config.recurrent else 0,
            device,
        )
        self.log = Log(settings.num_envs, config.num_mazes)
        self.episode = np.arange(settings.num_envs)  # the number of the episode that each environment is in
        self.steps, self.begun, self.guided_until = 0, settings.num_envs, 0
        self.percept = first_percept(self.env)
        self.total, self.measured_every, self.kept_every = (
            config.episodes, config.log_interval, config.checkpoint_interval,
        )  # fmt: skip
        self.kept: int | None = None  # records of the memory at the checkpoint; None for a run that begins
        if self.knowledge is not None:
            vocabulary = HALMAFacts(config.max_opt_len, config.rules).vocabulary
            self.player.consult(self.knowledge.advice(vocabulary, RELATIONS), config.guide_weight)

    @cached_property
    def memory(self) -> MemoryWriter:
        """The transitions of the run, which are written as they come."""
        return MemoryWriter(self.folder / FOLDER, self.config.max_opt_len, keep=self.kept, rules=self.config.rules)

    def close(self) -> None:
        if "memory" in self.__dict__:
            self.memory.close()

    @property
    def step(self) -> int:
        return self.steps

    @property
    def done(self) -> int:
        return self.log.episodes

    def learn(self, bar: Bar) -> None:
        before, every = self.done, self.config.guide_interval
        self._move()
        if self.config.guided and self.done // every > before // every:
            self.memory.flush()
            self._consult_memory(self.memory.count)

    def _move(self) -> None:
        settings, percept = self.config.learner, self.percept
        done = self.steps if settings.greedy_unit == "steps" else self.learner.updates
        share = min(1.0, done / settings.greedy_steps)
        self.player.greedy = settings.greedy_first + share * (settings.greedy_last - settings.greedy_first)
        memo = self.player.memo_of(percept)
        options = self.player.act(percept, self.rng)
        features = self.player.features if self.album is None else self.album.places()
        outcome = self.env.move(options)
        over = outcome.trial_over | outcome.done
        marks = flags(outcome.valid, outcome.reached, over)
        self.memory.append(outcome.before, options, outcome.after, outcome.maze, outcome.trial, self.episode, marks)
        ended = np.flatnonzero(outcome.done)
        self.episode[ended] = self.begun + np.arange(len(ended))
        self.begun += len(ended)
        ends = outcome.done | (outcome.trial_over & ~outcome.reached)  # the next panel is another trial's
        self.replay.add(
            features=features,
            action=torch.from_numpy(percept.action),
            reward=torch.from_numpy(percept.reward),
            first=torch.from_numpy(percept.first),
            option=torch.from_numpy(options),
            gain=torch.from_numpy(outcome.reward),
            ended=torch.from_numpy(outcome.reached),
            counts=torch.from_numpy(outcome.reached | ~ends),
            hidden=memo.hidden,
            cell=memo.cell,
        )
        self.percept = next_percept(self.env, options, outcome)
        self.log.add(outcome)
        self.steps += settings.num_envs
        if self.replay.ready(self.learner.burn_in + self.learner.moves) and self.steps >= settings.batch_size:
            self.learner.update(self.replay, self.rng)

    def _consult_memory(self, records: int) -> None:
        """Make the knowledge that guides the agent anew from its first records."""
        self.guided_until = records
        self.player.consult(knowledge_of_run(self.folder, records), self.config.guide_weight)

    def measure(self) -> Line:
        learner = self.learner
        figures = {"critic_loss": float(learner.critic_loss), "value": float(learner.value)}
        return {"episode": self.done, **self.log.line(), **figures, "greedy": self.player.greedy}

    def words(self, line: Line) -> str:
        return f"{line['finished_trials']:.1f} trials of {self.env.settings.trials} per episode"

    def manifest(self) -> dict[str, Any]:
        about = {} if self.knowledge is None else {"knowledge": self.knowledge.about}
        return {"mazes": self.env.mazes.fingerprint, **about}

    def keep(self, path: Path) -> None:
        """A memory that was begun before the first checkpoint is begun anew."""
        if self.kept is None:
            shutil.rmtree(path / FOLDER, ignore_errors=True)
            self.env.mazes.save(path / MAZES)
            if self.knowledge is not None:
                self.knowledge.save(path / KNOWLEDGE)

    def final(self, curve: list[Line]) -> Line:
        figures = {name: curve[-1][name] for name in ("finished_trials", "valid_moves")}
        return {"episodes": self.done, "steps": self.steps, **figures}

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        self.memory.flush()
        learner = self.learner
        tensors = {
            f"{name}.{key}": value
            for name, network in learner.networks().items()
            for key, value in network.state_dict().items()
        }
        for k, optimiser in enumerate(learner.optimisers):
            tensors |= optimiser_tensors(optimiser, f"optimiser.{k}")
        tensors |= {f"replay.{name}": part for name, part in self.replay.state_dict().items()}
        world = self.env.state_dict()
        tensors |= {f"env.{name}": torch.from_numpy(v) for name, v in world.items() if isinstance(v, np.ndarray)}
        percept = self.percept._asdict()
        tensors |= {f"percept.{name}": torch.from_numpy(np.ascontiguousarray(v)) for name, v in percept.items()}
        memo = self.player.memo_of(self.percept)
        tensors |= {"memo.hidden": memo.hidden, "memo.cell": memo.cell, "rng.torch": torch.get_rng_state()}
        tensors["episode"] = torch.from_numpy(self.episode)
        remembered = self.player.remembered()
        tensors |= {f"episodes.{name}": torch.from_numpy(array) for name, array in remembered.items()}
        return tensors, {
            "steps": self.steps,
            "begun": self.begun,
            "updates": learner.updates,
            "log": self.log.state(),
            "memory": self.memory.count,
            "guided_until": self.guided_until,
            "rng": self.rng.bit_generator.state,
            "env": {name: value for name, value in world.items() if not isinstance(value, np.ndarray)},
        }

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        learner = self.learner
        for name, network in learner.networks().items():
            put_weights(network, under(tensors, name), where)
        for k, optimiser in enumerate(learner.optimisers):
            restore_optimiser(optimiser, tensors, f"optimiser.{k}")
        self.replay.load_state_dict(under(tensors, "replay"))
        self.env.load_state_dict(meta["env"] | {k: t.numpy() for k, t in under(tensors, "env").items()})
        percept = {name: tensor.numpy() for name, tensor in under(tensors, "percept").items()}
        self.percept = self.percept._replace(**percept)
        memo = self.player.memo_of(self.percept)
        memo.hidden.copy_(tensors["memo.hidden"])
        memo.cell.copy_(tensors["memo.cell"])
        torch.set_rng_state(tensors["rng.torch"])
        self.episode[:] = tensors["episode"].numpy()
        self.rng.bit_generator.state = meta["rng"]
        self.steps, self.begun, learner.updates = meta["steps"], meta["begun"], meta["updates"]
        self.log.restore(meta["log"])
        self.kept, self.guided_until = meta["memory"], meta["guided_until"]
        if self.guided_until:
            self._consult_memory(self.guided_until)
            remembered = {name: tensor.numpy() for name, tensor in under(tensors, "episodes").items()}
            self.player.remember(remembered, len(self.episode))
