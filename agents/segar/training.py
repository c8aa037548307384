"""PPO and SAC of Stable-Baselines3 on SEGAR's batched environments: train a run in a folder, and load it.

Metrics in addition to `gumption.agents.learners.sb3`: train_return, train_success, test_return and test_success, means
over the training and test levels, each played once by the most probable actions.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import nn
from torch.nn.functional import cosine_similarity, cross_entropy, layer_norm, pad

from gumption.agents.advice import Advice
from gumption.agents.evaluation import Rows, means
from gumption.agents.learners.sb3 import SB3Run, SB3Setup, load_sb3, ppo_settings, train_sb3
from gumption.agents.policy import Policy
from gumption.agents.run import Line
from gumption.agents.settings import GRAPH
from gumption.agents.setup import first_states, flat
from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.sealed import content_hash
from gumption.data.settings import checked
from gumption.envs.kg_wrapper import KG_SCORES, KGScores
from gumption.envs.priors import other_than_real
from gumption.envs.sb3_adapter import SB3VecEnv
from gumption.envs.segar.configurations import Levels
from gumption.envs.segar.env import SegarVectorEnv

from .config import SegarConfig
from .evaluation import env_of, play_levels
from .networks import GuidedPolicy, ImpalaEncoder, StateEncoder

with extra("sb3", "learning SEGAR"):
    from stable_baselines3 import PPO, SAC
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv, VecNormalize

KIND = "gumption/segar/1"
BOUND = 20.0  # clip scores in an observation to this magnitude; scores of facts are 0 or 1
#: Environments and steps per environment over which the initial lambdas of a policy are counted. TIES: factor of the
#: first initial lambda (the network's) of an agent that acts by the graph alone, so that the network only breaks ties.
COUNTED = (256, 48)
TIES = 1e-3


@dataclass(frozen=True)
class SegarRun(SB3Run):
    """A run of PPO or SAC. :ivar advice: advice to play with, if any; `setup.advice` is the advice in training."""

    advice: Advice | None = field(default=None, repr=False)

    def player(self, env: SegarVectorEnv, first: np.ndarray) -> np.ndarray:
        """Return the most probable actions."""
        seen: Any = env.observe()
        if self.setup.advice is not None:
            known = self.setup.advice.relations
            scores = np.zeros((*env.pushed().shape[:2], len(known)), dtype=np.float32)
            if self.advice is not None:  # possibly from another graph with fewer relations
                said = self.advice(env).numpy().clip(-BOUND, BOUND)
                for k, relation in enumerate(self.advice.relations):
                    if relation in known:
                        scores[:, :, known.index(relation)] = said[:, :, k]
            seen = {**(seen if isinstance(seen, dict) else {"observation": seen}), KG_SCORES: scores}
        return self.policy.predict(seen, deterministic=True)[0]

    def advised(self, kg: str) -> "SegarRun":
        """Return the same agent, advised by another source; "none" removes the advice."""
        if self.setup.advice is None:
            raise InputError("the run has no knowledge that another could take the place of: train it with kg")
        return replace(self, advice=None if kg == "none" else SegarSetup(replace(self.config, kg=kg)).advice)

    def play(self, levels: Levels) -> Rows:
        """Play each level once; see `play_levels`."""
        return play_levels(self.player, env_of(self.config, levels))

    @torch.no_grad()
    def features(self, observation: np.ndarray) -> np.ndarray:
        """Return the encoder's features (n, d) float32 of observations (n, ...)."""
        policy: Any = self.policy.policy
        policy.set_training_mode(False)
        extractor = policy.actor.features_extractor if self.config.algorithm == "sac" else policy.features_extractor
        parts = [policy.obs_to_tensor(part)[0] for part in np.array_split(observation, -(-len(observation) // 512))]
        return torch.cat([policy.extract_features(part, extractor) for part in parts]).cpu().numpy()


class SegarSetup(SB3Setup):
    """The levels, environments and networks of SEGAR. No figure rises reliably as an agent learns: the return is
    negative, and success often falls while the return rises."""

    kind = KIND
    config_class = SegarConfig
    threads = property(lambda self: None if self.config.observation == "rgb" else 1)

    @cached_property
    def levels(self) -> dict[str, Levels]:
        return {part: self.config.draw(part) for part in ("train", "test")}

    @cached_property
    def advice(self) -> Advice | None:
        if self.knowledge is None:
            return None
        env = self.asked()[0]
        return self.knowledge.advice(env.vocabulary, env.relations)

    def asked(self) -> tuple[Any, dict[str, Any]]:
        config, levels = self.config, self.levels["train"]
        played = {"levels": levels, "task": config.task, **other_than_real(names=config.names, laws=config.laws)}
        return env_of(config, levels, 1), played

    def run(self, model: Any, final: Line, curve: list[Line], run_dir: Path | None) -> SegarRun:
        return SegarRun(self.config, final, curve, run_dir, model, self, self.advice)

    def measure(self, model: Any) -> Line:
        rows = {part: self.run(model, {}, [], None).play(levels) for part, levels in self.levels.items()}
        return {
            f"{part}_{name}": value for part in rows for name, value in means(rows[part], "return", "success").items()
        }

    def words(self, line: Line) -> str:
        return f"return {line['train_return']:.2f}, on test levels {line['test_return']:.2f}"

    def inputs(self) -> dict[str, Any]:
        hashes = {part: content_hash([one.to_data() for one in drawn.scenes]) for part, drawn in self.levels.items()}
        return {"levels": hashes}

    def make_model(self) -> BaseAlgorithm:
        config, levels, advice = self.config, self.levels["train"], self.advice
        batch = env_of(config, levels, config.parallel)
        env: VecEnv = SB3VecEnv(batch if advice is None else KGScores(batch, advice, bound=BOUND))
        if config.normalise_rewards:
            env = VecNormalize(env, norm_obs=False, gamma=config.gamma)
        space = env.observation_space
        if not isinstance(space, spaces.Box) and advice is None:
            raise InputError(f"the observation {config.observation} is a {type(space).__name__}; learners see a Box")
        encoder = ImpalaEncoder if space.dtype == np.uint8 and len(space.shape or ()) == 3 else StateEncoder
        shared = ppo_settings(config)
        policy: dict[str, Any] = {"features_extractor_class": encoder, "net_arch": []}
        if advice is not None:
            policy = {"channels": advice.relations}
        elif config.observation == "names":  # two layers each for policy and value, none shared
            policy = {}
        if config.algorithm == "sac":
            model: BaseAlgorithm = SAC(
                "MlpPolicy",
                env,
                policy_kwargs=policy | {"net_arch": [256]},
                buffer_size=config.buffer_size,
                batch_size=config.batch_size,
                learning_starts=config.learning_starts,
                **{name: shared[name] for name in ("learning_rate", "gamma", "seed", "device")},
            )
        else:
            kind, extra = PPO, {}
            if config.auxiliary != "none":
                kind = AuxiliaryPPO
                extra = {"auxiliary": config.auxiliary, "auxiliary_weight": config.auxiliary_weight}
            model = kind(
                "MlpPolicy" if advice is None else GuidedPolicy,
                env,
                policy_kwargs=policy,
                batch_size=config.parallel * config.n_steps // config.minibatches,
                **extra,
                **shared,
            )
        if advice is not None:
            shown, counted = watched(model, advice), env_of(config, levels, COUNTED[0])
            network: Any = shown.network
            network.begin(*first_states(shown, counted, config.seed, counted=True, steps=COUNTED[1]))
            if config.agent == GRAPH:
                network.first[0] *= TIES
                network.mlp[-1].bias.data.copy_(network.first)
        return model


def watched(model: Any, advice: Advice) -> Policy:
    """Return the policy of a model trained with advice, for `gumption watch`."""

    def look(env: SegarVectorEnv) -> tuple[np.ndarray, ...]:
        numbers = flat(env.single_observation_space, env.observe())
        return numbers, np.ones(env.pushed().shape[:2], dtype=bool)

    return Policy(model.policy.features_extractor.network, look, advice, str(model.device))


@checked
def train_segar(
    config: SegarConfig, run_dir: str | Path | None = None, *, resume: bool = False, progress: bool = True
) -> SegarRun:
    """Train PPO or SAC; see `train_sb3`."""
    return train_sb3(SegarSetup, config, run_dir, resume=resume, progress=progress)


@checked
def load_run(run_dir: str | Path, *, device: str | None = None) -> SegarRun:
    """Load a run at its last checkpoint; see `load_sb3`."""
    return load_sb3(SegarSetup, run_dir, device)


# ---- Self-supervised losses in addition to PPO's: CURL (Laskin et al., 2020) and SPR (Schwarzer et al., 2021).
#
# Both learn from the pictures of PPO's roll-outs, with a separate Adam optimiser for the encoder and their heads,
# before each update of PPO. Crops keep the size of a picture: border pixels are first replicated outwards, as in SPR.

#: Largest shift of a crop, as a share of a side: CURL crops 84 of 100 pixels, SPR 84 of 92.
CURL_SHIFT, SPR_SHIFT = 8 / 84, 4 / 84
INTENSITY = 0.05  # SPR: standard deviation of the brightness of a picture
#: Weight of the encoder in an update of the momentum encoder.
CURL_MOMENTUM, SPR_MOMENTUM = 0.05, 0.01
AHEAD = 5  # SPR: number of predicted steps
TRANSITION = 256  # SPR: units of its transition model


def crop(pictures: torch.Tensor, shift: float) -> torch.Tensor:
    """Shift each picture (B, C, R, R) at random by up to `shift` sides in each direction."""
    count, _, _, side = pictures.shape
    margin = max(1, round(shift * side))
    wide = pad(pictures, (margin,) * 4, mode="replicate")
    down, right = torch.randint(0, 2 * margin + 1, (2, count, 1), device=pictures.device)
    at = torch.arange(side, device=pictures.device)
    rows = torch.arange(count, device=pictures.device)[:, None, None]
    moved = wide.permute(0, 2, 3, 1)[rows, (down + at)[:, :, None], (right + at)[:, None, :]]
    return moved.permute(0, 3, 1, 2)


def dim(pictures: torch.Tensor) -> torch.Tensor:
    """Scale the brightness of each picture (B, C, R, R) by a random factor."""
    noise = torch.randn((len(pictures), 1, 1, 1), device=pictures.device).clamp(-2.0, 2.0)
    return pictures * (1.0 + INTENSITY * noise)


class Auxiliary(nn.Module):
    """A loss on sequences of `steps` + 1 pictures and the actions between them, with a momentum encoder."""

    steps = 0
    momentum = CURL_MOMENTUM

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.target = deepcopy(encoder).requires_grad_(False)

    def loss(
        self, encoder: nn.Module, pictures: torch.Tensor, actions: torch.Tensor, going: torch.Tensor
    ) -> torch.Tensor:
        """:param pictures: (T + 1, B, C, R, R) in [0, 1]. :param actions: (T, B, A).
        :param going: (T + 1, B) bool, whether a picture is in the episode of the first picture.
        """
        raise NotImplementedError

    @torch.no_grad()
    def follow(self, encoder: nn.Module) -> None:
        """Move the momentum encoder towards the encoder."""
        for mine, its in zip(self.target.parameters(), encoder.parameters(), strict=True):
            mine.lerp_(its, self.momentum)


class Curl(Auxiliary):
    """CURL: two crops of the same picture agree more than crops of different pictures."""

    def __init__(self, encoder: Any, actions: int) -> None:
        super().__init__(encoder)
        self.bilinear = nn.Parameter(torch.rand(encoder.features_dim, encoder.features_dim))

    def loss(
        self, encoder: nn.Module, pictures: torch.Tensor, actions: torch.Tensor, going: torch.Tensor
    ) -> torch.Tensor:
        """Return the cross-entropy of identifying each picture's other crop in the batch."""
        query = encoder(crop(pictures[0], CURL_SHIFT))
        with torch.no_grad():
            key = self.target(crop(pictures[0], CURL_SHIFT))
        # CURL's encoder ends in a layer norm; without it, features after a ReLU all point in similar directions.
        size = query.shape[1:]
        logits = layer_norm(query, size) @ self.bilinear @ layer_norm(key, size).T
        return cross_entropy(logits, torch.arange(len(logits), device=logits.device))


class Spr(Auxiliary):
    """SPR: predict features several steps ahead from the current features and the actions between them."""

    steps = AHEAD
    momentum = SPR_MOMENTUM

    def __init__(self, encoder: Any, actions: int) -> None:
        super().__init__(encoder)
        size = encoder.features_dim
        self.transition = nn.Sequential(nn.Linear(size + actions, TRANSITION), nn.ReLU(), nn.Linear(TRANSITION, size))
        self.projection, self.prediction = nn.Linear(size, size), nn.Linear(size, size)
        self.target_projection = deepcopy(self.projection).requires_grad_(False)

    def loss(
        self, encoder: nn.Module, pictures: torch.Tensor, actions: torch.Tensor, going: torch.Tensor
    ) -> torch.Tensor:
        """Return minus the cosine similarity of predictions and features, averaged over steps within an episode."""
        latent = encoder(dim(crop(pictures[0], SPR_SHIFT)))
        with torch.no_grad():
            later = dim(crop(pictures[1:].flatten(0, 1), SPR_SHIFT))
            wanted = self.target_projection(self.target(later)).unflatten(0, (len(pictures) - 1, -1))
        found = []
        for action in actions:
            latent = (latent + self.transition(torch.cat([latent, action], dim=1))).relu()
            found.append(self.prediction(self.projection(latent)))
        alike = cosine_similarity(torch.stack(found), wanted, dim=-1)
        return -(alike * going[1:]).sum() / going[1:].sum().clamp(min=1)

    @torch.no_grad()
    def follow(self, encoder: nn.Module) -> None:
        super().follow(encoder)
        for mine, its in zip(self.target_projection.parameters(), self.projection.parameters(), strict=True):
            mine.lerp_(its, self.momentum)


AUXILIARY: dict[str, type[Curl] | type[Spr]] = {"curl": Curl, "spr": Spr}


class AuxiliaryPPO(PPO):
    """PPO whose picture encoder also learns from a self-supervised loss.

    :ivar more_modules, more_optimisers: the loss and its optimiser, by their names in checkpoints.
    """

    def __init__(self, *arguments: Any, auxiliary: str, auxiliary_weight: float = 1.0, **settings: Any) -> None:
        """:param auxiliary: "curl" or "spr". :param auxiliary_weight: of its loss."""
        super().__init__(*arguments, **settings)
        encoder: Any = self.policy.features_extractor
        self.auxiliary = AUXILIARY[auxiliary](encoder, int(np.prod(self.action_space.shape or (1,)))).to(self.device)
        self.auxiliary_weight = auxiliary_weight
        own = [each for each in self.auxiliary.parameters() if each.requires_grad]
        self.auxiliary_optimiser = torch.optim.Adam([*encoder.parameters(), *own], lr=float(self.learning_rate))  # pyright: ignore[reportArgumentType]
        self.more_modules = {"auxiliary": self.auxiliary}
        self.more_optimisers = {"auxiliary": self.auxiliary_optimiser}

    def train(self) -> None:
        """Make one pass of the auxiliary loss over the roll-outs, then PPO's update."""
        self.policy.set_training_mode(True)
        encoder: Any = self.policy.features_extractor
        losses = []
        for pictures, actions, going in self._sequences():
            loss = self.auxiliary.loss(encoder, pictures, actions, going)
            self.auxiliary_optimiser.zero_grad()
            (self.auxiliary_weight * loss).backward()
            nn.utils.clip_grad_norm_(encoder.parameters(), self.max_grad_norm)
            self.auxiliary_optimiser.step()
            self.auxiliary.follow(encoder)
            losses.append(float(loss.detach()))
        super().train()
        self.logger.record("train/auxiliary_loss", float(np.mean(losses)))

    def _sequences(self) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Yield batches of sequences, with random starts, that together hold about the pictures of a PPO epoch."""
        buffer = self.rollout_buffer
        steps = min(self.auxiliary.steps, buffer.buffer_size - 1)
        starts, envs = np.divmod(np.random.permutation((buffer.buffer_size - steps) * self.n_envs), self.n_envs)  # noqa: NPY002
        size = max(2, self.batch_size // (steps + 1))
        ahead = np.arange(steps + 1)[:, None]
        for first in range(0, len(starts) - size + 1, size):
            at, env = starts[first : first + size] + ahead, envs[first : first + size]
            pictures = self._tensor(buffer.observations[at, env]) / 255.0
            actions = self._tensor(buffer.actions[at[:-1], env])
            begun = np.logical_or.accumulate(buffer.episode_starts[at[1:], env] > 0, axis=0)
            going = np.concatenate([np.ones((1, size), dtype=bool), ~begun])
            yield pictures, actions, torch.from_numpy(going).to(self.device)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device, torch.float32)
