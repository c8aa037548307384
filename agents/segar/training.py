"""PPO and SAC of Stable-Baselines3 on SEGAR's batched environments: a run with its folder, and a run that is loaded.

Metrics (metrics.jsonl): step; wall_s and steps_per_s of learning, without evaluations; train_ and test_return and
_success, means over the training and the test levels, each played once by the most probable actions; loss, value_loss,
policy_loss, entropy_loss, auxiliary_loss and others of the last update, as far as the algorithm has them.

Training goes in legs of `eval_interval` steps. The environments begin anew with each, and random numbers are seeded by
seed and leg, so that a run that was stopped goes on from its last checkpoint to the bits of an uninterrupted one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from gumption.agents.run_folder import Board, RunFolder, read_config, read_final, read_metrics
from gumption.data.progress import Bar
from gumption.data.provenance import hardware, versions
from gumption.data.sealed import content_hash
from gumption.data.settings import checked
from gumption.envs.sb3_adapter import SB3VecEnv
from gumption.envs.segar.levels import Levels
from gumption.envs.segar.vector_env import SegarVectorEnv
from gumption.kg.checkpoint import optimiser_tensors, pick_device, put_weights, restore_optimiser, under

from .auxiliary import AuxiliaryPPO
from .config import SegarConfig
from .evaluation import Score, make_env, play_levels
from .networks import ImpalaEncoder, StateEncoder

KIND = "gumption/segar/1"
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_LOSSES = ("loss", "value_loss", "policy_gradient_loss", "entropy_loss", "auxiliary_loss", "actor_loss", "critic_loss")


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
    with _own_random_numbers():
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
    model.set_logger(Logger(folder=None, output_formats=[]))
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
    try:
        with _own_random_numbers():
            return _train(config, folder, progress)
    finally:
        if folder is not None:
            folder.release()


def load_run(run_dir: str | Path, *, device: str | None = None) -> SegarRun:
    """A run as of its last checkpoint, ready to play.

    :param device: other than the training's.
    :raises InputError: no run there, or a damaged one.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, SegarConfig, device=device)
    model = untrained_model(config)
    tensors, _ = run_folder(run_dir, config).load(KIND)
    _put_policy(model, tensors, run_dir)
    complete = run_folder(run_dir, config).complete
    return SegarRun(config, read_final(run_dir) if complete else {}, read_metrics(run_dir), run_dir, model)


def run_folder(path: Path, config: SegarConfig) -> RunFolder:
    """The folder of a run with this config."""
    return RunFolder(path, config.to_json(), lambda stored: SegarConfig.from_json(stored).to_json())


def _train(config: SegarConfig, folder: RunFolder | None, progress: bool) -> SegarRun:
    train, test = config.draw("train"), config.draw("test")
    model = _make_model(config, train)
    curve: list[dict[str, float]] = []
    seconds = 0.0
    if folder is not None:
        if folder.has_checkpoint:
            seconds = _load(folder, model)
            curve = [line for line in read_metrics(folder.path) if line["step"] <= model.num_timesteps]
        told = {"versions": versions(), "hardware": hardware(str(model.device)), "threads": torch.get_num_threads()}
        told["levels"] = {part.split: content_hash([one.to_data() for one in part.scenes]) for part in (train, test)}
        folder.begin(told)
        folder.write_metrics(curve)
    run = SegarRun(config, {}, curve, None if folder is None else folder.path, model)
    stride = config.parallel * (config.n_steps if config.algorithm == "ppo" else 1)
    total, leg = -(-config.total_steps // stride) * stride, max(1, round(config.eval_interval / stride)) * stride
    path = None if folder is None else folder.path
    with Board(path, model.num_timesteps) as board, Bar(total, "training", progress) as bar:
        while model.num_timesteps < total:
            begun = perf_counter()
            _learn(model, config, min(leg, total - model.num_timesteps), bar)
            seconds += perf_counter() - begun
            line = {
                "step": model.num_timesteps,
                "wall_s": round(seconds, 3),
                "steps_per_s": round(model.num_timesteps / seconds, 1),
                **run.play(train).figures("train"),
                **run.play(test).figures("test"),
                **_losses(model),
            }
            curve.append(line)
            board.write(line)
            if folder is not None:
                folder.add_metrics(line)
                _save(folder, model, seconds)
            bar.show(
                model.num_timesteps, f"return {line['train_return']:.2f}, on test levels {line['test_return']:.2f}"
            )
    run.final.update(curve[-1])
    if folder is not None:
        folder.finish(run.final)
    return run


def _learn(model: BaseAlgorithm, config: SegarConfig, steps: int, bar: Bar) -> None:
    """A leg of training; all that it depends on beside the learner's state is the number of its first step."""
    model.set_random_seed(int(np.random.SeedSequence([config.seed, model.num_timesteps]).generate_state(1)[0]))
    model._last_obs = None  # the environments begin anew
    model.policy.set_training_mode(True)
    model.learn(steps, callback=_Told(bar), log_interval=None, reset_num_timesteps=False)  # pyright: ignore[reportArgumentType]


class _Told(BaseCallback):
    """Tells the bar how far the learner is."""

    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self.bar = bar

    def _on_rollout_end(self) -> None:
        self.bar.show(self.model.num_timesteps)

    def _on_step(self) -> bool:
        return True


def _losses(model: BaseAlgorithm) -> dict[str, float]:
    told = model.logger.name_to_value
    return {name: float(told[f"train/{name}"]) for name in _LOSSES if f"train/{name}" in told}


def _optimisers(model: BaseAlgorithm) -> dict[str, torch.optim.Optimizer]:
    if isinstance(model, SAC):
        found = {"actor": model.actor.optimizer, "critic": model.critic.optimizer}
        return found if model.ent_coef_optimizer is None else {**found, "temperature": model.ent_coef_optimizer}
    found = {"policy": model.policy.optimizer}
    return {**found, "auxiliary": model.auxiliary_optimiser} if isinstance(model, AuxiliaryPPO) else found


def _shared_names(network: torch.nn.Module) -> dict[str, str]:
    """The name of each tensor of a network -> the first name of the same tensor, which safetensors keeps once."""
    first: dict[int, str] = {}
    return {name: first.setdefault(tensor.data_ptr(), name) for name, tensor in network.state_dict().items()}


def _put_policy(model: BaseAlgorithm, tensors: dict[str, torch.Tensor], where: Path) -> None:
    kept = under(tensors, "policy")
    names = _shared_names(model.policy)
    put_weights(model.policy, {name: kept[same] for name, same in names.items() if same in kept}, where)


def _save(folder: RunFolder, model: BaseAlgorithm, seconds: float) -> None:
    shared = _shared_names(model.policy)
    weights = model.policy.state_dict()
    tensors = {f"policy.{name}": weights[name] for name in dict.fromkeys(shared.values())}
    for name, optimiser in _optimisers(model).items():
        tensors |= optimiser_tensors(optimiser, f"optimiser.{name}")
    meta: dict[str, Any] = {
        "kind": KIND,
        "step": model.num_timesteps,
        "updates": model._n_updates,
        "seconds": seconds,
    }
    if (rewards := model.get_vec_normalize_env()) is not None:
        meta["rewards"] = [float(part) for part in (rewards.ret_rms.mean, rewards.ret_rms.var, rewards.ret_rms.count)]
    if isinstance(model, SAC):
        tensors["temperature"] = model.log_ent_coef
        buffer: Any = model.replay_buffer
        filled = buffer.buffer_size if buffer.full else buffer.pos
        tensors |= {f"buffer.{name}": torch.from_numpy(getattr(buffer, name)[:filled]) for name in _BUFFER}
        meta |= {"position": buffer.pos, "full": buffer.full}
    if isinstance(model, AuxiliaryPPO):
        tensors |= {f"auxiliary.{name}": tensor for name, tensor in model.auxiliary.state_dict().items()}
    folder.save(tensors, meta)


def _load(folder: RunFolder, model: BaseAlgorithm) -> float:
    """Put a saved state back in place; the seconds that were spent before."""
    tensors, meta = folder.load(KIND)
    _put_policy(model, tensors, folder.path)
    for name, optimiser in _optimisers(model).items():
        restore_optimiser(optimiser, tensors, f"optimiser.{name}")
    model.num_timesteps, model._n_updates = meta["step"], meta["updates"]
    if (rewards := model.get_vec_normalize_env()) is not None:
        rewards.ret_rms.mean, rewards.ret_rms.var, rewards.ret_rms.count = map(np.float64, meta["rewards"])
    if isinstance(model, SAC):
        with torch.no_grad():
            model.log_ent_coef.copy_(tensors["temperature"])
        buffer: Any = model.replay_buffer
        for name, tensor in under(tensors, "buffer").items():
            getattr(buffer, name)[: len(tensor)] = tensor.numpy()
        buffer.pos, buffer.full = meta["position"], meta["full"]
    if isinstance(model, AuxiliaryPPO):
        put_weights(model.auxiliary, under(tensors, "auxiliary"), folder.path)
    return meta["seconds"]


@contextmanager
def _own_random_numbers() -> Iterator[None]:
    """Stable-Baselines3 seeds and draws from generators that the whole process shares; they stay as they were."""
    import random

    numbers, drawn = np.random.get_state(), random.getstate()  # noqa: NPY002
    devices = None if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        np.random.set_state(numbers)  # noqa: NPY002
        random.setstate(drawn)
