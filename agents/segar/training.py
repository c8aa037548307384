"""PPO and SAC of Stable-Baselines3 on SEGAR's batched environments: a run with its folder, and a run that is loaded.

Metrics (metrics.jsonl): step; wall_s and steps_per_s of learning, without evaluations; train_ and test_return and
_success, means over the training and the test levels, each played once by the most probable actions; loss, value_loss,
policy_loss, entropy_loss, auxiliary_loss and others of the last update, as far as the algorithm has them.

The loop, its legs and its checkpoints are those of `gumption.agents.learners.sb3`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from gumption.agents.learners.sb3 import own_random_numbers, put_policy, train_model
from gumption.agents.run_folder import RunFolder, read_config, read_final, read_metrics
from gumption.data.sealed import content_hash
from gumption.data.settings import checked
from gumption.envs.sb3_adapter import SB3VecEnv
from gumption.envs.segar.levels import Levels
from gumption.envs.segar.vector_env import SegarVectorEnv
from gumption.kg.checkpoint import pick_device

from .auxiliary import AuxiliaryPPO
from .config import SegarConfig
from .evaluation import Score, make_env, play_levels
from .networks import ImpalaEncoder, StateEncoder

KIND = "gumption/segar/1"


@dataclass(frozen=True)
class SegarRun:
    """What a training came to.

    :ivar config: of the run. :ivar final: figures of final.json; empty before the end.
    :ivar curve: lines of metrics.jsonl. :ivar run_dir: its folder, if any. :ivar model: of Stable-Baselines3.
    """

    config: SegarConfig
    final: dict[str, float]
    curve: list[dict[str, float]]
    run_dir: Path | None
    model: BaseAlgorithm = field(repr=False)

    def player(self, env: SegarVectorEnv, observation: Any) -> np.ndarray:
        """The most probable actions."""
        return self.model.predict(observation, deterministic=True)[0]

    def play(self, levels: Levels) -> Score:
        """Play each level once; see `play_levels`."""
        return play_levels(self.player, self.config.task, levels, self.config.seen())

    @torch.no_grad()
    def features(self, observation: np.ndarray) -> np.ndarray:
        """What the encoder makes of observations (n, ...): (n, d) float32."""
        policy: Any = self.model.policy
        policy.set_training_mode(False)
        extractor = policy.actor.features_extractor if self.config.algorithm == "sac" else policy.features_extractor
        parts = [policy.obs_to_tensor(part)[0] for part in np.array_split(observation, -(-len(observation) // 512))]
        return torch.cat([policy.extract_features(part, extractor) for part in parts]).cpu().numpy()


def untrained_model(config: SegarConfig) -> BaseAlgorithm:
    """The learner that a training of this config begins with."""
    with own_random_numbers():
        return _make_model(config, config.draw("train"))


def _make_model(config: SegarConfig, levels: Levels) -> BaseAlgorithm:
    """Its weights depend on the seed alone."""
    env: VecEnv = SB3VecEnv(make_env(config.task, levels, config.seen(), config.parallel))
    if config.normalise_rewards:
        env = VecNormalize(env, norm_obs=False, gamma=config.gamma)
    encoder = ImpalaEncoder if config.observation == "rgb" else StateEncoder
    shared: dict[str, Any] = {
        "learning_rate": config.learning_rate,
        "gamma": config.gamma,
        "seed": config.seed,
        "device": pick_device(config.device),
    }
    policy: dict[str, Any] = {"features_extractor_class": encoder, "net_arch": []}
    if config.algorithm == "sac":
        model: BaseAlgorithm = SAC(
            "MlpPolicy",
            env,
            policy_kwargs=policy | {"net_arch": [256]},
            buffer_size=config.buffer_size,
            batch_size=config.batch_size,
            learning_starts=config.learning_starts,
            **shared,
        )
    else:
        kind, extra = PPO, {}
        if config.auxiliary != "none":
            kind = AuxiliaryPPO
            extra = {"auxiliary": config.auxiliary, "auxiliary_weight": config.auxiliary_weight}
        model = kind(
            "MlpPolicy",
            env,
            policy_kwargs=policy,
            n_steps=config.n_steps,
            batch_size=config.parallel * config.n_steps // config.minibatches,
            n_epochs=config.epochs,
            clip_range=config.clip_range,
            gae_lambda=config.gae_lambda,
            ent_coef=config.entropy_coefficient,
            vf_coef=config.value_coefficient,
            max_grad_norm=config.max_grad_norm,
            **extra,
            **shared,
        )
    return model


@checked
def train_segar(
    config: SegarConfig, run_dir: str | Path | None = None, *, resume: bool = False, progress: bool = True
) -> SegarRun:
    """Train, and keep metrics and checkpoints in a folder.

    :param run_dir: the folder; None keeps nothing.
    :param resume: go on from the folder's checkpoint, to the result of an uninterrupted run.
    :raises InputError: bad settings, a folder that is in use or has another config.
    """
    folder = None if run_dir is None else run_folder(Path(run_dir), config)
    if folder is not None:
        folder.check(resume)
        if folder.complete:
            return load_run(folder.path)
    train, test = config.draw("train"), config.draw("test")
    path = None if folder is None else folder.path

    def measure(model: BaseAlgorithm) -> dict[str, float]:
        run = SegarRun(config, {}, [], path, model)
        return {**run.play(train).figures("train"), **run.play(test).figures("test")}

    model, curve = train_model(
        config,
        KIND,
        lambda: _make_model(config, train),
        measure,
        lambda line: f"return {line['train_return']:.2f}, on test levels {line['test_return']:.2f}",
        folder=folder,
        manifest={
            "levels": {part.split: content_hash([one.to_data() for one in part.scenes]) for part in (train, test)}
        },
        progress=progress,
    )
    return SegarRun(config, dict(curve[-1]), curve, path, model)


def load_run(run_dir: str | Path, *, device: str | None = None) -> SegarRun:
    """A run as of its last checkpoint, ready to play.

    :param device: other than the training's.
    :raises InputError: no run there, or a damaged one.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, SegarConfig, device=device)
    model, folder = untrained_model(config), run_folder(run_dir, config)
    put_policy(folder, KIND, model)
    return SegarRun(config, read_final(run_dir) if folder.complete else {}, read_metrics(run_dir), run_dir, model)


def run_folder(path: Path, config: SegarConfig) -> RunFolder:
    """The folder of a run with this config."""
    return RunFolder(path, config.to_json(), lambda stored: SegarConfig.from_json(stored).to_json())
