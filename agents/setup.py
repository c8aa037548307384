"""The environments, knowledge, policy and figures of a learner, in any world."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from gumption.data import InputError
from gumption.data.settings import Count, Seed, checked
from gumption.envs import worlds
from gumption.kg.checkpoint import pick_device
from gumption.kg.edges import EdgeScores

from .advice import Advice
from .evaluation import SIDE_BY_SIDE, Greedy, Player, compared, loaded, random_player, success_rate
from .knowledge import Knowledge
from .policy import MASKED, FlatActorCritic, KGPolicy, Policy, Reader, guided_policy
from .run import own_random_numbers, put_network, saved_network
from .run_folder import KNOWLEDGE, RunFolder, read_config, world_of
from .settings import Repeat, WorldConfig

FIRST_ENVS, FIRST_STEPS = 256, 16  # environments, and steps of each, that set a policy's first lambdas


class Setup:
    """The parts of a world that a learner uses. A world with other choices or figures names a subclass in its entry
    (`setup` of gumption.envs.worlds).

    :cvar place: index of the environment among the world's environments.
    :ivar env: a native batch that plays the training part.
    :ivar knowledge: the source of the config's advice; None without knowledge, or with advice of your own.
    """

    place = 0
    measured = property(lambda self: ("test_success", self.config.eval_episodes))  # see `Learner.measured`

    def __init__(
        self,
        config: Any,
        *,
        network: nn.Module | None = None,
        advice: Advice | None = None,
        kept: Path | None = None,
        trained: Path | None = None,
        known: Mapping[str, torch.Tensor] | None = None,
        num_envs: int | None = None,
    ) -> None:
        """
        :param network: your own network in place of the config's: (*seen, scores) -> Readout.
        :param advice: your own advice in place of the config's.
        :param kept: folder of a resumed run's knowledge; see `Knowledge.of`.
        :param trained: a run whose weights and knowledge the policy takes.
        :param known: weights of a trained network, from which a fresh network takes those that are not learned, such as
            word vectors; with `trained`, the weights of that run.
        :param num_envs: size of `env`; None for the learner's batch size.
        :raises InputError: actions that are not Discrete; knowledge that does not exist or fit; a run that was trained
            on other inputs.
        """
        self.config, self.own, self.trained = config, network, trained
        self.device = str(pick_device(config.device))
        self.world = worlds.find(config.world)
        self.entry = self.world.environments[self.place]
        self.env = self.make_env(num_envs or config.learner.batch_size)
        if not isinstance(self.env.single_action_space, spaces.Discrete):
            raise InputError(
                f"{self.entry.id} has actions {self.env.single_action_space}: the general learner chooses one of A "
                f"candidates; the world {config.world!r} needs a learner of its own"
            )
        self.saved = None if trained is None else saved_network(RunFolder.of(trained, config), **self.trained_on())
        self.known = known if self.saved is None else self.saved.weights
        self.advice, self.knowledge = advice, None
        if advice is None and config.kg != "none":
            if trained:
                where = trained / KNOWLEDGE
                self.knowledge = Knowledge.load(where, self.env.vocabulary, self.env.relations, self.device)
            else:
                self.knowledge = self.make_knowledge(kept)
            self.advice = self.knowledge.advice(
                self.env.vocabulary, self.env.relations, look_ahead=self.looks_ahead(), repeat=config.repeat
            )

    def looks_ahead(self) -> bool:
        """Return whether the advice looks ahead. By default it does not if the world or the knowledge has no relation
        that produces."""
        if self.config.look_ahead != "on" and self.config.looks_ahead:
            try:
                problem = self.env.planning_problem()
            except InputError:
                return False
            uses = int(problem.horizon.max(initial=0))
            return self.knowledge is not None and self.knowledge.produces(problem.relation, uses)
        return self.config.looks_ahead

    # ---- Methods that a world's own setup overrides

    def make_env(self, num_envs: int, **changes: Any) -> Any:
        """Make a native batch that plays the training part.

        :param changes: settings other than the config's.
        """
        settings = {**dict(self.config.env), **changes}
        return gym.make_vec(self.entry.id, num_envs=num_envs, **settings).unwrapped

    def make_knowledge(self, kept: Path | None) -> Knowledge:
        """Build the knowledge that the config names."""
        config, env = self.config, self.env
        return Knowledge.of(
            config, self.world, env.vocabulary, env.relations, dict(config.env), device=self.device, kept=kept
        )

    def make_network(self) -> nn.Module:
        """Make the config's network, without knowledge."""
        if self.saved:
            self.env.reset(seed=0)
        features = self.look(self.env)[0].shape[1]
        return FlatActorCritic(features, int(self.env.single_action_space.n), self.config.learner.hidden_size)

    def look(self, env: Any) -> tuple[np.ndarray, ...]:
        """Return the inputs of the network: observation (B, F) float32, and mask (B, A) bool of the open choices."""
        observation = flat(self.env.single_observation_space, env.observe())
        return observation, env.info_arrays()["action_mask"].astype(bool)

    def words(self, line: Mapping[str, float]) -> str:
        """Format the figures of `measure` for the progress bar."""
        return f"held out {line['test_success']:.1%}"

    def unseen(self, policy: Policy) -> float | None:
        """Return the success on test tasks, for a curve that only the finished run reports; None without that curve."""
        return None

    def measure(self, policy: Policy) -> dict[str, float]:
        """Return figures of the present policy, for a line of metrics."""
        count, seed = self.config.eval_episodes, self.config.seed
        return {"test_success": success_rate(Greedy(policy), self.test_env, count, seed)}

    def final(self, policy: Policy) -> dict[str, float]:
        """Return figures of the trained policy."""
        count, seed = self.config.eval_episodes, self.config.seed + 1  # episodes that no earlier evaluation played
        return {
            "test_success": success_rate(Greedy(policy), self.test_env, count, seed),
            "train_success": success_rate(Greedy(policy), self.train_env, count, seed),
            "random_success": success_rate(random_player, self.test_env, count, seed),
        }

    def manifest(self) -> dict[str, Any]:
        """Return hashes of the inputs of the run."""
        return {} if self.knowledge is None else {"knowledge": self.knowledge.about}

    def trained_on(self) -> dict[str, str]:
        """Return the hashes that the environment's state in a trained run must contain, by their names there."""
        return {}

    # ---- Methods that are the same in all worlds

    @cached_property
    def test_env(self) -> Any:
        size = min(self.config.eval_episodes, SIDE_BY_SIDE)
        return self.make_env(size, **{**self.entry.held_out, "autoreset_mode": "SameStep"})

    @cached_property
    def train_env(self) -> Any:
        return self.make_env(min(self.config.eval_episodes, SIDE_BY_SIDE), autoreset_mode="SameStep")

    def policy(self) -> Policy:
        """Return the policy of the trained run, or a fresh one with weights drawn from torch's present generator."""
        config, advice, network = self.config, self.advice, self.own
        if network is None:
            network = self.make_network()
            if advice is not None:
                how: dict[str, Any] = {
                    "kg_only": config.kg_only,
                    "mixing": config.mixing,
                    "by_candidate": self.of_edges,
                }
                network = guided_policy(network, advice.channels, **how)
        if self.trained and self.saved:
            put_network(network, self.saved, self.trained)
        policy = Policy(network, self.look, advice, self.device)
        if not self.saved and advice is not None and isinstance(network, KGPolicy) and network.mixing != "softmax":
            env = self.make_env(FIRST_ENVS)
            network.begin(*first_states(policy, env, config.seed, counted=self.of_edges))
        return policy

    @property
    def of_edges(self) -> bool:
        """Whether the advice consists of edge channels, whose first lambdas are counted; see `KGPolicy.begin`."""
        return self.advice is not None and isinstance(self.advice.scores, EdgeScores)

    def keep(self, path: Path) -> None:
        """Write the inputs of the run into its folder."""
        if self.knowledge is not None:
            self.knowledge.save(path / KNOWLEDGE)


def first_states(
    policy: Policy, env: Any, seed: int, *, counted: bool, steps: int = FIRST_STEPS
) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, torch.Tensor] | None]:
    """Collect the inputs of `KGPolicy.begin`: attention and scores of choices in training tasks, and the right choices.

    If the world does not provide right choices, choices are drawn at random. Choices count as right in an episode that
    succeeds, and as wrong in other episodes.

    :param env: a batch of B native environments. :param counted: collect right and wrong choices; else return None.
    :param steps: of each environment.
    """
    env.reset(seed=seed)
    try:
        known = env.right_choices() is not None
    except InputError:
        known = False
    policy.eval()
    if policy.scores is not None:
        policy.scores.train()  # held-out scores, if there are any
    count = env.num_envs
    parts: list[tuple[torch.Tensor, torch.Tensor]] = []
    right, chosen, episodes = list[np.ndarray](), list[np.ndarray](), [np.arange(count)]
    won, ended = np.zeros((2, count * (steps + 1)), dtype=bool)
    for step in range(steps):
        state = policy.read(env)
        with torch.no_grad():
            attention = cast(Reader, policy.network.attention).read(*state.seen)[0].attention
        parts.append((attention, state.scores))
        mask = (attention > MASKED / 2).cpu().numpy()
        right.append(env.right_choices() if known else mask)
        action = np.where(right[-1] & mask, env.np_random.random(mask.shape), -1.0).argmax(1)
        chosen.append(np.arange(mask.shape[1]) == action[:, None])
        _, over, success = env.step_arrays(action)
        won[episodes[-1]], ended[episodes[-1]] = success, over
        episodes.append(np.where(over, count * (step + 1) + np.arange(count), episodes[-1]))
    attention, scores = (torch.cat(part) for part in zip(*parts, strict=True))
    if not counted:
        return attention, scores, None
    played = np.concatenate(episodes[:-1])
    good, picked = np.concatenate(right), np.concatenate(chosen)
    if not known:
        good, picked = picked & won[played, None], picked & ended[played, None]
    open_ = (attention > MASKED / 2) & (torch.from_numpy(picked | known).to(attention.device))
    good = torch.from_numpy(good).to(attention.device)
    return attention, scores, (open_ & good, open_ & ~good)


def setup_of(config: Any) -> type[Setup]:
    """Return the setup class of a config's world, or the general one."""
    return worlds.find(config.world).get("setup") or Setup


@checked
def load_policy(run_dir: str | Path, *, network: nn.Module | None = None, **changes: Any) -> tuple[Any, Policy]:
    """Load the config and the policy of a run's last checkpoint, with the run's knowledge, in eval mode.

    :param network: your own network, if the run was trained with it.
    :param changes: fields of the config to replace, such as the device; None leaves a field unchanged.
    :raises InputError: no run, or a damaged one; another network or other inputs than in training.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, world_of(run_dir).get("config") or WorldConfig, **changes)
    return config, setup_of(config)(config, network=network, trained=run_dir, num_envs=1).policy().eval()


def policy_of(run: Any, **places: Any) -> tuple[Any, Policy]:
    """Return the config and the policy of a training result or of a run in a folder.

    :param places: arguments of `load_policy`, for a run in a folder.
    :raises InputError: as `load_policy` and `loaded`; a result with neither policy nor folder.
    """
    if hasattr(run, "config") and run.policy is None:
        run = run.run_dir
        if run is None:
            raise InputError("this result has neither a policy nor a run directory")
    found = loaded(run, load_policy, **places)
    return found if isinstance(found, tuple) else (found.config, found.policy)


def flat(space: spaces.Space[Any], observation: Any) -> np.ndarray:
    """Flatten a batch of observations to (B, F) float32; discrete values become one-hot vectors."""
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


def untrained(config: Any, advice: Advice | None, known: Mapping[str, torch.Tensor] | None = None) -> Greedy:
    """Return a player of the policy with which training begins.

    :param advice: None for the config's advice.
    :param known: see `Setup`.
    """
    setup = setup_of(config)(config, advice=advice, known=known, num_envs=1)
    setup.env.reset(seed=config.seed)
    with own_random_numbers():
        torch.manual_seed(config.seed)
        return Greedy(setup.policy().eval())


@checked
def evaluate(
    run: Any,
    *,
    episodes: Count = 500,
    seed: Seed = 0,
    repeat: Repeat | None = None,
    device: str | None = None,
    network: nn.Module | None = None,
) -> dict[str, Any]:
    """How well a run of the general learner does with its most probable actions, beside the players to compare it with.

    :param run: its folder, or the result of a training.
    :param episodes: how many are played.
    :param seed: of the episodes.
    :param repeat: other than in training: rule, or paper; see `GuidedConfig`.
    :param device: other than in training: auto, cpu or cuda.
    :param network: see `load_policy`.
    :returns: "success" and "random", shares of the run's and of random choices, "episodes" and "seed"; "players": name
        -> {"success"}; "failures", sentences on the run's choices.
    :raises InputError: as `load_policy`.
    """
    config, policy = policy_of(run, device=device, network=network, repeat=repeat)
    entry = worlds.find(config.world).environments[0]
    settings = {**dict(config.env), **entry.held_out}
    env: Any = gym.make_vec(entry.id, num_envs=min(episodes, SIDE_BY_SIDE), autoreset_mode="SameStep", **settings)
    players: dict[str, Player] = {"trained": Greedy(policy)}
    if network is None:
        players["untrained"] = untrained(config, policy.advice)
    if policy.advice is not None:
        players["knowledge taken away"] = Greedy(policy, without_knowledge=True)
    players["random"] = random_player

    rows = compared(players, lambda player: {"success": success_rate(player, env.unwrapped, episodes, seed)})
    return {
        "success": rows["players"]["trained"]["success"],
        "random": rows["players"]["random"]["success"],
        "episodes": episodes,
        "seed": seed,
        **rows,
        "about": f"{episodes:,} episodes " + ("that were held out" if entry.held_out else "drawn as in training"),
    }
