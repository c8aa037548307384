"""What the learner works with in any world whose choices are candidates, one for each action."""

from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.envs import worlds
from gumption.kg.checkpoint import pick_device

from .advice import Advice
from .evaluation import SIDE_BY_SIDE, Greedy, Player, random_player, success_rate
from .kg_policy import guided_policy
from .knowledge import Knowledge
from .learner_state import put_network, saved_network
from .readout import MASKED, Readout
from .run import own_random_numbers
from .run_folder import KNOWLEDGE, RunFolder, read_config
from .world_config import WorldConfig


class State(NamedTuple):
    """What a policy sees of B environments.

    :ivar observation: (B, F) float32; `mask` (B, A) bool, the open choices.
    :ivar scores: (B, A, K), or (B, A, 0) without knowledge.
    """

    observation: torch.Tensor
    mask: torch.Tensor
    scores: torch.Tensor


class FlatActorCritic(nn.Module):
    """One hidden layer over the flat observation; a logit for each action.

    :ivar size: of the hidden layer, which is the summary for `KGPolicy`.
    """

    def __init__(self, features: int, actions: int, hidden_size: int) -> None:
        super().__init__()
        self.size = hidden_size
        self.hidden = nn.Linear(features, hidden_size)
        self.policy = nn.Linear(hidden_size, actions)
        self.value = nn.Linear(hidden_size, 1)

    def forward(self, observation: torch.Tensor, mask: torch.Tensor, scores: torch.Tensor) -> Readout:
        """`scores` are not read: this is an agent without knowledge."""
        return self.read(observation, mask)[0]

    def read(self, observation: torch.Tensor, mask: torch.Tensor) -> tuple[Readout, torch.Tensor]:
        """The readout, and the hidden layer (B, size)."""
        hidden = self.hidden(observation).relu()
        logits = self.policy(hidden).masked_fill(~mask, MASKED)
        return Readout(logits, self.value(hidden)[:, 0], logits), hidden


class WorldPolicy(nn.Module):
    """A network and the advice that it mixes in, if any."""

    def __init__(self, network: nn.Module, space: spaces.Space[Any], advice: Advice | None, device: str) -> None:
        super().__init__()
        self.network, self.space, self.advice, self.device = network.to(device), space, advice, device

    def forward(self, state: State) -> Readout:
        return self.network(*state)

    def read(self, env: Any) -> State:
        """The state of a native batch of environments as it is now."""
        observation = torch.from_numpy(flat(self.space, env.observe())).to(self.device)
        mask = torch.from_numpy(env.info_arrays()["action_mask"].astype(bool)).to(self.device)
        if self.advice is None:
            return State(observation, mask, torch.empty(*mask.shape, 0, device=self.device))
        return State(observation, mask, self.advice(env))


class WorldSetup:
    """See `gumption.agents.impala.Setup`."""

    headline = ("test_success", "held out")

    def __init__(
        self,
        config: WorldConfig,
        *,
        network: nn.Module | None = None,
        advice: Advice | None = None,
        kept: Path | None = None,
    ) -> None:
        self.config, self.network, self.device = config, network, str(pick_device(config.device))
        world = worlds.find(config.world)
        self.entry = world.environments[0]
        self.env = self._make(config.learner.batch_size, {})
        if not isinstance(self.env.single_action_space, spaces.Discrete):
            raise InputError(
                f"{self.entry.id} has actions {self.env.single_action_space}: the general learner chooses one of A "
                f"candidates; the world {world.name!r} needs a learner of its own"
            )
        side_by_side = min(config.eval_episodes, SIDE_BY_SIDE)
        self.test_env = self._make(side_by_side, {**self.entry.held_out, "autoreset_mode": "SameStep"})
        self.train_env = self._make(side_by_side, {"autoreset_mode": "SameStep"})
        self.advice, self.knowledge = advice, None
        if advice is None and config.kg != "none":
            self.knowledge = Knowledge.of_run(
                kept, config, world, self.env.vocabulary, self.env.relations, dict(config.env), device=self.device
            )
            self.advice = self.knowledge.advice(self.env.vocabulary, self.env.relations)

    def _make(self, num_envs: int, more: Any) -> Any:
        settings = {**dict(self.config.env), **more}
        return gym.make_vec(self.entry.id, num_envs=num_envs, **settings).unwrapped

    def policy(self) -> WorldPolicy:
        return make_policy(self.config, self.env, self.advice, self.network)

    def measure(self, policy: WorldPolicy) -> dict[str, float]:
        count, seed = self.config.eval_episodes, self.config.seed
        return {"test_success": success_rate(Greedy(policy), self.test_env, count, seed)}

    def final(self, policy: WorldPolicy) -> dict[str, float]:
        count, seed = self.config.eval_episodes, self.config.seed + 1  # episodes that no evaluation has shown
        return {
            "test_success": success_rate(Greedy(policy), self.test_env, count, seed),
            "train_success": success_rate(Greedy(policy), self.train_env, count, seed),
            "random_success": success_rate(random_player, self.test_env, count, seed),
        }

    def manifest(self) -> dict[str, Any]:
        return {} if self.knowledge is None else {"knowledge": self.knowledge.about}

    def keep(self, path: Path) -> None:
        if self.knowledge is not None:
            self.knowledge.save(path / KNOWLEDGE)


def make_policy(config: WorldConfig, env: Any, advice: Advice | None, network: nn.Module | None = None) -> WorldPolicy:
    """A fresh policy; a network of your own takes (observation, mask, scores)."""
    space, device = env.single_observation_space, str(pick_device(config.device))
    if network is None:
        network = FlatActorCritic(
            flat(space, env.observe()).shape[1], int(env.single_action_space.n), config.learner.hidden_size
        )
        if advice is not None:
            network = guided_policy(network, advice.relations, kg_only=config.kg_only, mixing=config.mixing)
    return WorldPolicy(network, space, advice, device)


def load_policy(
    run_dir: str | Path, *, device: str | None = None, network: nn.Module | None = None
) -> tuple[WorldConfig, WorldPolicy]:
    """The config and the policy of a run's last checkpoint, with the knowledge that the run keeps.

    :param network: that of your own which the run was trained with, if it was.
    :raises InputError: no run there, or a damaged one, or another network than it was trained with.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, WorldConfig, device=device)
    entry = worlds.find(config.world).environments[0]
    env: Any = gym.make_vec(entry.id, num_envs=1, **dict(config.env)).unwrapped
    env.reset(seed=0)
    advice = None
    if config.kg != "none":
        device = str(pick_device(config.device))
        knowledge = Knowledge.load(run_dir / KNOWLEDGE, env.vocabulary, env.relations, device)
        advice = knowledge.advice(env.vocabulary, env.relations)
    policy = make_policy(config, env, advice, network)
    put_network(policy.network, saved_network(RunFolder.of(run_dir, config)), run_dir)
    return config, policy.eval()


def flat(space: spaces.Space[Any], observation: Any) -> np.ndarray:
    """(B, F) float32 of a batch of observations: numbers as they are, choices among n as one-hot vectors."""
    if isinstance(space, spaces.Dict):
        return np.concatenate([flat(part, observation[name]) for name, part in space.items()], axis=1)
    array = np.asarray(observation)
    if isinstance(space, spaces.Discrete):
        return np.eye(int(space.n), dtype=np.float32)[array - int(space.start)]
    if isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec.ravel()
        parts = array.reshape(len(array), -1)
        return np.concatenate([np.eye(n, dtype=np.float32)[parts[:, i]] for i, n in enumerate(sizes)], axis=1)
    return array.reshape(len(array), -1).astype(np.float32)


def untrained(config: WorldConfig, advice: Advice | None) -> Greedy:
    """The policy with which training begins, with the advice of its knowledge."""
    env: Any = gym.make_vec(worlds.find(config.world).environments[0].id, num_envs=1, **dict(config.env)).unwrapped
    env.reset(seed=config.seed)
    with own_random_numbers():
        torch.manual_seed(config.seed)
        return Greedy(make_policy(config, env, advice).eval())


@checked
def evaluate(
    run: Any, *, episodes: Count = 500, seed: Seed = 0, device: str | None = None, network: nn.Module | None = None
) -> dict[str, Any]:
    """How well a run of the general learner does, the best action always, beside players that it is compared with.

    :param run: its folder, or the result of a training.
    :param episodes: how many are played.
    :param seed: of the episodes.
    :param device: other than in training: auto, cpu or cuda.
    :param network: see `load_policy`.
    :returns: "success" and "random", shares of the run's and of random choices, "episodes" and "seed"; "players": name
        -> {"success"}.
    :raises InputError: as `load_policy`.
    """
    made = getattr(run, "policy", None)
    config, policy = (run.config, made) if made is not None else load_policy(run, device=device, network=network)
    entry = worlds.find(config.world).environments[0]
    settings = {**dict(config.env), **entry.held_out}
    env: Any = gym.make_vec(entry.id, num_envs=min(episodes, SIDE_BY_SIDE), autoreset_mode="SameStep", **settings)
    players: dict[str, Player] = {"trained": Greedy(policy)}
    if network is None:
        players["untrained"] = untrained(config, policy.advice)
    if policy.advice is not None:
        players["knowledge taken away"] = Greedy(policy, without_knowledge=True)
    players["random"] = random_player
    found = {name: {"success": success_rate(one, env.unwrapped, episodes, seed)} for name, one in players.items()}
    return {
        "success": found["trained"]["success"],
        "random": found["random"]["success"],
        "episodes": episodes,
        "seed": seed,
        "players": found,
        "about": f"{episodes:,} episodes " + ("that were held out" if entry.held_out else "drawn as in training"),
    }
