"""Learning from replayed moves: the replay buffer, and what TD3 and MPO share.

An actor draws options, and a critic with twin values learns from replayed moves towards

    y = scale * r + discount * min(Q1'(s', o'), Q2'(s', o')),   o' from the target actor

where Q' and the target actor follow the trained ones slowly; y = scale * r where the value ends with the move. Every
`policy_delay` updates the actor learns from the critic: how, is all in which the learners differ (td3.py and mpo.py).
"""

import copy
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from .parameters import ReplayParameters


class Memo(NamedTuple):
    """What an LSTM carries from move to move: (n, size) each, both empty (n, 0) for an agent without one."""

    hidden: torch.Tensor
    cell: torch.Tensor


class Moves(NamedTuple):
    """n sequences of K consecutive moves.

    :ivar features: (n, K + 1, ...), of the observations before each move and after the last.
    :ivar action: (n, K + 1, 1 + T) int64 and `reward` (n, K + 1) float32, of the move *before* each observation;
        `first` (n, K + 1) bool: the observation begins an episode.
    :ivar option: (n, K, 1 + T) int64, the move; `gain` (n, K) float32, its reward.
    :ivar ended: (n, K) bool: the value ends with this move. `counts` (n, K) bool: learn from this move.
    :ivar memo: of the actor before the first observation.
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


class Album(Protocol):
    """Gives the pictures of which the replay buffer keeps the places, where that is cheaper."""

    def open(self, places: torch.Tensor) -> torch.Tensor:
        """Prepare the pictures of places (...) int64 for an update; returns the index of each, (...) int64."""
        ...

    def encode(self, encoder: nn.Module, which: torch.Tensor) -> torch.Tensor:
        """The encoder's vectors (..., size) of the pictures with the indices (...) of `open`."""
        ...


class ReplayLearner:
    """Actor, critic, their targets and their optimisers.

    :ivar updates: so many were made. `critic_loss`, `value` (mean Q1): of the latest, tensors on the device.
    :ivar moves, burn_in: moves of a sequence to learn from, and those before them that only update the LSTM's state.
    :cvar targets_wait: whether the targets follow only when the actor learns, as in TD3.
    """

    targets_wait = False

    def __init__(
        self,
        actor: Any,
        critic: Any,
        parameters: ReplayParameters,
        *,
        recurrent: bool = False,
        album: Album | None = None,
    ) -> None:
        """
        :param actor: a network with `body`, from observations to vectors, and `decode`, from vectors to options.
        :param critic: a network with `body` that gives both values of options for vectors of its body.
        :param recurrent: whether the bodies have an LSTM, so that moves are learned in sequences.
        :param album: where the replay buffer keeps places instead of pictures.
        """
        self.parameters, self.recurrent, self.album = parameters, recurrent, album
        self.actor, self.critic = actor, critic
        self.target_actor, self.target_critic = copy.deepcopy(actor), copy.deepcopy(critic)
        self.trained: list[torch.Tensor] = [*actor.parameters(), *critic.parameters()]
        self.targets: list[torch.Tensor] = [*self.target_actor.parameters(), *self.target_critic.parameters()]
        rates = (actor, parameters.learning_rate), (critic, parameters.critic_learning_rate)
        self.optimisers = [
            torch.optim.Adam(part.parameters(), lr=rate, eps=parameters.adam_epsilon, fused=True)
            for part, rate in rates
        ]
        self.updates = 0
        self.critic_loss = self.value = torch.zeros((), device=self.trained[0].device)
        self.moves, self.burn_in = (parameters.sequence, parameters.burn_in) if recurrent else (1, 0)
        self.sequences = parameters.batch_size // self.moves

    def update(self, replay: Replay, rng: np.random.Generator) -> None:
        """One update of the critic, every `policy_delay` updates one of the actor, and one of the targets."""
        moves = replay.sample(self.sequences, self.burn_in + self.moves, rng)
        if self.album is not None:
            moves = moves._replace(features=self.album.open(moves.features))
        self._update_critic(moves)
        self.updates += 1
        actor_learns = self.updates % self.parameters.policy_delay == 0
        if actor_learns:
            self.update_actor(moves, rng)
        if actor_learns or not self.targets_wait:
            with torch.no_grad():
                for target, trained in zip(self.targets, self.trained, strict=True):
                    target.lerp_(trained, 1 - self.parameters.target_rate)

    def update_actor(self, moves: Moves, rng: np.random.Generator) -> None:
        """One update of the actor by what the critic knows."""
        raise NotImplementedError

    def _update_critic(self, moves: Moves) -> None:
        parameters = self.parameters
        with torch.no_grad():
            options = self.target_actor.decode(self.made(self.target_actor, moves, later=True, memo=True))
            values = self.target_critic(self.made(self.target_critic, moves, later=True), options)
            follows = parameters.discount * torch.minimum(*values) * ~self._learned(moves.ended)
            target = parameters.reward_scale * self._learned(moves.gain) + follows
            counts = self._learned(moves.counts).to(target.dtype)
        first, second = self.critic(self.made(self.critic, moves, later=False), self._learned(moves.option))
        loss = (counts * ((first - target) ** 2 + (second - target) ** 2)).mean()
        self.descend(1, loss, self.critic)
        self.critic_loss, self.value = loss.detach(), first.detach().mean()

    def made(self, network: Any, moves: Moves, *, later: bool, memo: bool = False) -> torch.Tensor:
        """The body's vectors (n * K, size) at the observations before, or after (`later`), the moves to learn from.

        An actor's LSTM starts from its memo when the moves were made, a critic's from zeros; the burn-in updates both.
        """
        start = moves.memo if memo else network.body.start(len(moves.first))
        begin = 1 if later and not self.recurrent else 0
        upto = moves.first.shape[1] - (0 if later else 1)
        seen = slice(begin, upto)
        if self.album is not None:  # agents that see pictures have no LSTM: the encoder is their whole body
            return self.album.encode(network.body.encoder, moves.features[:, seen]).flatten(0, 1)
        made, _ = network.body(
            moves.features[:, seen], moves.action[:, seen], moves.reward[:, seen], moves.first[:, seen], start
        )
        return made[:, -self.moves :].flatten(0, 1)

    def _learned(self, part: torch.Tensor) -> torch.Tensor:
        """Of the moves to learn from: (n, K, ...) -> (n * K', ...)."""
        return part[:, self.burn_in :].flatten(0, 1)

    def descend(self, which: int, loss: torch.Tensor, network: nn.Module) -> None:
        """A step of the optimiser of the actor (0) or the critic (1)."""
        optimiser, norm = self.optimisers[which], self.parameters.max_grad_norm
        optimiser.zero_grad()
        loss.backward()
        if norm is not None:
            nn.utils.clip_grad_norm_(network.parameters(), norm)
        optimiser.step()

    def networks(self) -> dict[str, nn.Module]:
        """All networks by their names in a checkpoint."""
        return {name: getattr(self, name) for name in ("actor", "critic", "target_actor", "target_critic")}
