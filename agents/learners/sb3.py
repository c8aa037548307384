"""Learners of Stable-Baselines3 and sb3-contrib as runs of any world: PPO, SAC, MaskablePPO.

Metrics (metrics.jsonl): step; wall_s and steps_per_s of learning, without evaluations; the figures that the world
measures; loss, value_loss, policy_gradient_loss, entropy_loss and others of the last update, as far as the algorithm
has them.

Training goes in legs of `eval_interval` steps. The environments begin anew with each, and random numbers are seeded by
seed and leg, so that a run that was stopped goes on from its last checkpoint to the bits of an uninterrupted one.
Checkpoints are safetensors and JSON. A learner of one's own that trains more than its policy tells of it in
`more_modules` and `more_optimisers`, dicts by name.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from gumption.agents.run_folder import Board, RunFolder, read_metrics
from gumption.data.progress import Bar
from gumption.data.provenance import hardware, versions
from gumption.kg.checkpoint import optimiser_tensors, put_weights, restore_optimiser, under

Line = dict[str, float]
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_LOSSES = ("loss", "value_loss", "policy_gradient_loss", "entropy_loss", "auxiliary_loss", "actor_loss", "critic_loss")


class Config(Protocol):
    """What the loop reads of a run's config.

    :ivar total_steps, eval_interval: environment steps, rounded to whole updates.
    """

    @property
    def seed(self) -> int: ...
    @property
    def total_steps(self) -> int: ...
    @property
    def eval_interval(self) -> int: ...


def train_model(
    config: Config,
    kind: str,
    make: Callable[[], BaseAlgorithm],
    measure: Callable[[BaseAlgorithm], Mapping[str, float]],
    words: Callable[[Line], str],
    *,
    folder: RunFolder | None,
    manifest: Mapping[str, Any],
    keep: Callable[[Path], None] = lambda folder: None,
    progress: bool,
) -> tuple[BaseAlgorithm, list[Line]]:
    """Train from the beginning, or from the folder's checkpoint, to the end.

    :param kind: of the checkpoints.
    :param make: makes the untrained learner. :param measure: figures of it at the end of each leg.
    :param words: what the progress bar says of a line.
    :param folder: of the run, checked; None keeps nothing.
    :param manifest: what it tells beside versions and hardware.
    :param keep: writes what else the run depends on into its folder.
    :returns: the learner, and the lines of metrics.
    :raises InputError: a folder that another process writes.
    """
    try:
        with own_random_numbers():
            return _train(config, kind, make(), measure, words, folder, manifest, keep, progress)
    finally:
        if folder is not None:
            folder.release()


def _train(
    config: Config,
    kind: str,
    model: BaseAlgorithm,
    measure: Callable[[BaseAlgorithm], Mapping[str, float]],
    words: Callable[[Line], str],
    folder: RunFolder | None,
    manifest: Mapping[str, Any],
    keep: Callable[[Path], None],
    progress: bool,
) -> tuple[BaseAlgorithm, list[Line]]:
    model.set_logger(Logger(folder=None, output_formats=[]))
    curve: list[Line] = []
    seconds = 0.0
    if folder is not None:
        if folder.has_checkpoint:
            seconds = _load(folder, kind, model)
            curve = [line for line in read_metrics(folder.path) if line["step"] <= model.num_timesteps]
        told = {"versions": versions(), "hardware": hardware(str(model.device)), "threads": torch.get_num_threads()}
        folder.begin({**told, **manifest})
        keep(folder.path)
        folder.write_metrics(curve)
    stride = model.n_envs * (model.n_steps if isinstance(model, OnPolicyAlgorithm) else 1)
    total, leg = -(-config.total_steps // stride) * stride, max(1, round(config.eval_interval / stride)) * stride
    path = None if folder is None else folder.path
    with Board(path, model.num_timesteps) as board, Bar(total, "training", progress) as bar:
        while model.num_timesteps < total:
            begun = perf_counter()
            _learn(model, config.seed, min(leg, total - model.num_timesteps), bar)
            seconds += perf_counter() - begun
            line = {
                "step": model.num_timesteps,
                "wall_s": round(seconds, 3),
                "steps_per_s": round(model.num_timesteps / seconds, 1),
                **measure(model),
                **_losses(model),
            }
            curve.append(line)
            board.write(line)
            if folder is not None:
                folder.add_metrics(line)
                _save(folder, kind, model, seconds)
            bar.show(model.num_timesteps, words(line))
    if folder is not None:
        folder.finish(curve[-1])
    return model, curve


def _learn(model: BaseAlgorithm, seed: int, steps: int, bar: Bar) -> None:
    """A leg of training; all that it depends on beside the learner's state is the number of its first step."""
    model.set_random_seed(int(np.random.SeedSequence([seed, model.num_timesteps]).generate_state(1)[0]))
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


def _losses(model: BaseAlgorithm) -> Line:
    told = model.logger.name_to_value
    return {name: float(told[f"train/{name}"]) for name in _LOSSES if f"train/{name}" in told}


# ---- checkpoints


def put_policy(folder: RunFolder, kind: str, model: BaseAlgorithm) -> None:
    """Give a learner the weights of the policy in a run's checkpoint.

    :raises InputError: no checkpoint there, a damaged one, or one of another network.
    """
    tensors, _ = folder.load(kind)
    _put_policy(folder, model, tensors)


def _put_policy(folder: RunFolder, model: BaseAlgorithm, tensors: dict[str, torch.Tensor]) -> None:
    kept, names = under(tensors, "policy"), _shared_names(model.policy)
    put_weights(model.policy, {name: kept[same] for name, same in names.items() if same in kept}, folder.path)


def _shared_names(network: torch.nn.Module) -> dict[str, str]:
    """The name of each tensor of a network -> the first name of the same tensor, which safetensors keeps once."""
    first: dict[int, str] = {}
    return {name: first.setdefault(tensor.data_ptr(), name) for name, tensor in network.state_dict().items()}


def _optimisers(model: BaseAlgorithm) -> dict[str, torch.optim.Optimizer]:
    if isinstance(model, SAC):
        found = {"actor": model.actor.optimizer, "critic": model.critic.optimizer}
        return found if model.ent_coef_optimizer is None else {**found, "temperature": model.ent_coef_optimizer}
    return {"policy": model.policy.optimizer, **getattr(model, "more_optimisers", {})}


def _more_modules(model: BaseAlgorithm) -> dict[str, torch.nn.Module]:
    return getattr(model, "more_modules", {})


def _save(folder: RunFolder, kind: str, model: BaseAlgorithm, seconds: float) -> None:
    shared = _shared_names(model.policy)
    weights = model.policy.state_dict()
    tensors = {f"policy.{name}": weights[name] for name in dict.fromkeys(shared.values())}
    for name, optimiser in _optimisers(model).items():
        tensors |= optimiser_tensors(optimiser, f"optimiser.{name}")
    meta: dict[str, Any] = {
        "kind": kind,
        "step": model.num_timesteps,
        "updates": model._n_updates,
        "seconds": seconds,
    }
    if (rewards := model.get_vec_normalize_env()) is not None:
        meta["rewards"] = [float(part) for part in (rewards.ret_rms.mean, rewards.ret_rms.var, rewards.ret_rms.count)]
    if isinstance(model, SAC):
        assert model.log_ent_coef is not None
        tensors["temperature"] = model.log_ent_coef
        buffer: Any = model.replay_buffer
        filled = buffer.buffer_size if buffer.full else buffer.pos
        tensors |= {f"buffer.{name}": torch.from_numpy(getattr(buffer, name)[:filled]) for name in _BUFFER}
        meta |= {"position": buffer.pos, "full": buffer.full}
    for part, module in _more_modules(model).items():
        tensors |= {f"{part}.{name}": tensor for name, tensor in module.state_dict().items()}
    folder.save(tensors, meta)


def _load(folder: RunFolder, kind: str, model: BaseAlgorithm) -> float:
    """Put a saved state back in place; the seconds that were spent before."""
    tensors, meta = folder.load(kind)
    _put_policy(folder, model, tensors)
    for name, optimiser in _optimisers(model).items():
        restore_optimiser(optimiser, tensors, f"optimiser.{name}")
    model.num_timesteps, model._n_updates = meta["step"], meta["updates"]
    if (rewards := model.get_vec_normalize_env()) is not None:
        mean, variance, rewards.ret_rms.count = meta["rewards"]
        rewards.ret_rms.mean, rewards.ret_rms.var = np.array(mean), np.array(variance)
    if isinstance(model, SAC):
        assert model.log_ent_coef is not None
        with torch.no_grad():
            model.log_ent_coef.copy_(tensors["temperature"])
        buffer: Any = model.replay_buffer
        for name, tensor in under(tensors, "buffer").items():
            getattr(buffer, name)[: len(tensor)] = tensor.numpy()
        buffer.pos, buffer.full = meta["position"], meta["full"]
    for part, module in _more_modules(model).items():
        put_weights(module, under(tensors, part), folder.path)
    return meta["seconds"]


@contextmanager
def own_random_numbers() -> Iterator[None]:
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
