"""The environments, knowledge, policy and figures that a learner works with, in any world."""

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

FIRST_ENVS, FIRST_STEPS = 256, 16  # by which the first lambdas of a policy are set


class Setup:
    """What a world gives to the learner. A world with other choices or figures than these names a subclass in its entry
    (`setup` of gumption.envs.worlds).

    :cvar place: which of the world's environments it plays.
    :ivar env: a native batch that plays the training part.
    :ivar knowledge: what the config's advice was made from; None without knowledge, or with advice of one's own.
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
        :param network: one of your own in place of the config's: (*seen, scores) -> Readout.
        :param advice: knowledge of your own in place of the config's.
        :param kept: where a run that goes on keeps its knowledge; see `Knowledge.of_run`.
        :param trained: a run whose weights and knowledge the policy has.
        :param known: weights of a trained network, of which a fresh one takes those that are not learned, such as word
            vectors; those of `trained`, where it is given.
        :param num_envs: size of `env`; the learner's batch size without it.
        :raises InputError: actions that are no A candidates; knowledge that does not exist or fit; a run that was
            trained on something else.
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
        """Whether the advice looks ahead: not by default where the world or the knowledge has no relation that
        produces."""
        if self.config.look_ahead != "on" and self.config.looks_ahead:
            try:
                problem = self.env.planning_problem()
            except InputError:
                return False
            uses = int(problem.horizon.max(initial=0))
            return self.knowledge is not None and self.knowledge.produces(problem.relation, uses)
        return self.config.looks_ahead

    # ---- what a world's own setup overrides

    def make_env(self, num_envs: int, **changes: Any) -> Any:
        """A native batch that plays the training part.

        :param changes: settings other than the config's.
        """
        settings = {**dict(self.config.env), **changes}
        return gym.make_vec(self.entry.id, num_envs=num_envs, **settings).unwrapped

    def make_knowledge(self, kept: Path | None) -> Knowledge:
        """The knowledge that the config names."""
        config, env = self.config, self.env
        return Knowledge.of_run(
            kept, config, self.world, env.vocabulary, env.relations, dict(config.env), device=self.device
        )

    def make_network(self) -> nn.Module:
        """The config's network, without knowledge."""
        if self.saved:
            self.env.reset(seed=0)
        features = self.look(self.env)[0].shape[1]
        return FlatActorCritic(features, int(self.env.single_action_space.n), self.config.learner.hidden_size)

    def look(self, env: Any) -> tuple[np.ndarray, ...]:
        """The inputs of the network: observation (B, F) float32, and mask (B, A) bool of the open choices."""
        observation = flat(self.env.single_observation_space, env.observe())
        return observation, env.info_arrays()["action_mask"].astype(bool)

    def words(self, line: Mapping[str, float]) -> str:
        """What the progress bar shows of the figures of `measure`."""
        return f"held out {line['test_success']:.1%}"

    def unseen(self, policy: Policy) -> float | None:
        """Success on the test tasks, for a curve that only the finished run has; None where none is asked for."""
        return None

    def measure(self, policy: Policy) -> dict[str, float]:
        """Figures of the present policy, for a line of metrics."""
        count, seed = self.config.eval_episodes, self.config.seed
        return {"test_success": success_rate(Greedy(policy), self.test_env, count, seed)}

    def final(self, policy: Policy) -> dict[str, float]:
        """Figures of the trained policy."""
        count, seed = self.config.eval_episodes, self.config.seed + 1  # episodes that no evaluation has shown
        return {
            "test_success": success_rate(Greedy(policy), self.test_env, count, seed),
            "train_success": success_rate(Greedy(policy), self.train_env, count, seed),
            "random_success": success_rate(random_player, self.test_env, count, seed),
        }

    def manifest(self) -> dict[str, Any]:
        """Hashes of the inputs of the run."""
        return {} if self.knowledge is None else {"knowledge": self.knowledge.about}

    def trained_on(self) -> dict[str, str]:
        """Hashes that the environment's state in a trained run must have, by their names there."""
        return {}

    # ---- the same in all worlds

    @cached_property
    def test_env(self) -> Any:
        size = min(self.config.eval_episodes, SIDE_BY_SIDE)
        return self.make_env(size, **{**self.entry.held_out, "autoreset_mode": "SameStep"})

    @cached_property
    def train_env(self) -> Any:
        return self.make_env(min(self.config.eval_episodes, SIDE_BY_SIDE), autoreset_mode="SameStep")

    def policy(self) -> Policy:
        """A policy: that of the trained run, or a fresh one, its weights drawn from torch's generator as it stands."""
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
        """Whether the advice is of channels whose worth is to be counted; see `KGPolicy.begin`."""
        return self.advice is not None and isinstance(self.advice.scores, EdgeScores)

    def keep(self, path: Path) -> None:
        """Write the inputs of the run into its folder."""
        if self.knowledge is not None:
            self.knowledge.save(path / KNOWLEDGE)


def first_states(
    policy: Policy, env: Any, seed: int, *, counted: bool, steps: int = FIRST_STEPS
) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, torch.Tensor] | None]:
    """What `KGPolicy.begin` reads: attention and scores of choices in training tasks, and which are right.

    Where the world does not state that, the choices are drawn at random; those of an episode that succeeds count as
    right, those of others as wrong.

    :param env: a batch of B native environments. :param counted: whether right choices are wanted, else None.
    :param steps: of each environment.
    """
    env.reset(seed=seed)
    try:
        known = env.right_choices() is not None
    except InputError:
        known = False
    policy.eval()
    if policy.scores is not None:
        policy.scores.train()  # held-out scores, where there are such
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
    """The setup of a config's world: its own, else the general one."""
    return worlds.find(config.world).get("setup") or Setup


@checked
def load_policy(run_dir: str | Path, *, network: nn.Module | None = None, **changes: Any) -> tuple[Any, Policy]:
    """The config and the policy of a run's last checkpoint, ready to act, with the knowledge that the run keeps.

    :param network: the network of your own that the run was trained with, if it was.
    :param changes: fields of the config that differ here, such as the device, where they are not None.
    :raises InputError: no run, or a damaged one; a network other than it was trained with; other inputs.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, world_of(run_dir).get("config") or WorldConfig, **changes)
    return config, setup_of(config)(config, network=network, trained=run_dir, num_envs=1).policy().eval()


def policy_of(run: Any, **places: Any) -> tuple[Any, Policy]:
    """The config and the policy of the result of a training, or of a run in a folder.

    :param places: for `load_policy`, of a run in a folder.
    :raises InputError: as `load_policy` and `loaded`; a result without policy and folder.
    """
    if hasattr(run, "config") and run.policy is None:
        run = run.run_dir
        if run is None:
            raise InputError("this result has neither a policy nor a run directory")
    found = loaded(run, load_policy, **places)
    return found if isinstance(found, tuple) else (found.config, found.policy)


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


def untrained(config: Any, advice: Advice | None, known: Mapping[str, torch.Tensor] | None = None) -> Greedy:
    """The policy with which training begins.

    :param advice: None for that of the config.
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
