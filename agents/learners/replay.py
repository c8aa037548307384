"""Learning from replayed moves: the replay buffer, and the common part of TD3 and MPO.

An actor draws options, and a critic with twin values is fitted, on replayed moves, to

    y = scale * r + discount * min(Q1'(s', o'), Q2'(s', o')),   o' from the target actor

where Q' and the target actor slowly follow the trained networks; y = scale * r if the value ends with the move. Every
`policy_delay` updates the actor learns from the critic; this step differs between the learners (td3.py and mpo.py).
"""

import copy
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from .parameters import ReplayParameters


class Memo(NamedTuple):
    """The state of an LSTM between moves: (n, size) each, or empty (n, 0) for an agent without an LSTM."""

    hidden: torch.Tensor
    cell: torch.Tensor


class Moves(NamedTuple):
    """n sequences of K consecutive moves.

    :ivar features: (n, K + 1, ...), of the observations before each move and after the last move.
    :ivar action: (n, K + 1, 1 + T) int64 and `reward` (n, K + 1) float32, of the move *before* each observation;
        `first` (n, K + 1) bool: the observation begins an episode.
    :ivar option: (n, K, 1 + T) int64, the move; `gain` (n, K) float32, its reward.
    :ivar ended: (n, K) bool: the value ends with this move. `counts` (n, K) bool: learn from this move.
    :ivar memo: the actor's LSTM state before the first observation.
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
    """A ring buffer of the latest `size` time steps of B environments, on one device; `added` counts all time steps."""

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
        :param memo: size of each part of an actor's memo.
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
        """Add a time step, (B, ...) for each part."""
        at = self.added % self.size
        for name, value in parts.items():
            self.parts[name][at] = value
        self.added += 1

    def ready(self, moves: int) -> bool:
        """Return whether sequences of this many moves can be sampled."""
        return min(self.added, self.size) > moves + 1

    def sample(self, count: int, moves: int, rng: np.random.Generator) -> Moves:
        """Sample sequences uniformly from the whole buffer; a sequence may cross the end of an episode."""
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
    """Provides pictures for a replay buffer that stores only their places, where that is cheaper."""

    def open(self, places: torch.Tensor) -> torch.Tensor:
        """Prepare the pictures of places (...) int64 for an update. Returns the index of each picture, (...) int64."""
        ...

    def encode(self, encoder: nn.Module, which: torch.Tensor) -> torch.Tensor:
        """Return the encoder's vectors (..., size) of the pictures with the indices (...) from `open`."""
        ...


class ReplayLearner:
    """Actor, critic, their targets and their optimisers.

    :ivar updates: number of updates made. `critic_loss`, `value` (mean Q1): of the latest, tensors on the device.
    :ivar moves, burn_in: moves of a sequence to learn from, and moves before them that only update the LSTM's state.
    :cvar targets_wait: update the targets only when the actor learns, as in TD3.
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
        :param critic: a network with `body`; computes both values of options from the body's vectors.
        :param recurrent: whether the bodies have an LSTM, so that moves are learned in sequences.
        :param album: the pictures, if the replay buffer stores only their places.
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
        """Update the critic, every `policy_delay` updates also the actor, and then the targets (see `targets_wait`)."""
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
        """Update the actor by the critic's values."""
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
        """Return the body's vectors (n * K, size) at the observations before, or after (`later`), the learned moves.

        An actor's LSTM starts from its memo at the time of the moves, a critic's from zeros; the burn-in updates both.
        """
        start = moves.memo if memo else network.body.start(len(moves.first))
        begin = 1 if later and not self.recurrent else 0
        upto = moves.first.shape[1] - (0 if later else 1)
        seen = slice(begin, upto)
        if self.album is not None:  # agents with pictures have no LSTM: the encoder is their whole body
            return self.album.encode(network.body.encoder, moves.features[:, seen]).flatten(0, 1)
        made, _ = network.body(
            moves.features[:, seen], moves.action[:, seen], moves.reward[:, seen], moves.first[:, seen], start
        )
        return made[:, -self.moves :].flatten(0, 1)

    def _learned(self, part: torch.Tensor) -> torch.Tensor:
        """Select the moves to learn from: (n, K, ...) -> (n * K', ...)."""
        return part[:, self.burn_in :].flatten(0, 1)

    def descend(self, which: int, loss: torch.Tensor, network: nn.Module) -> None:
        """Make a step of the optimiser of the actor (0) or the critic (1)."""
        optimiser, norm = self.optimisers[which], self.parameters.max_grad_norm
        optimiser.zero_grad()
        loss.backward()
        if norm is not None:
            nn.utils.clip_grad_norm_(network.parameters(), norm)
        optimiser.step()

    def networks(self) -> dict[str, nn.Module]:
        """Return all networks by their names in a checkpoint."""
        return {name: getattr(self, name) for name in ("actor", "critic", "target_actor", "target_critic")}
