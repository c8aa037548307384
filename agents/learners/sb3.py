"""Learners of Stable-Baselines3 and sb3-contrib as runs of any world: PPO, SAC, MaskablePPO.

Metrics beside those of every run (see agents/run.py): the figures that the world measures; loss, value_loss,
policy_gradient_loss, entropy_loss and others of the last update, as far as the algorithm has them.

Training goes in legs of `eval_interval` steps. The environments begin anew with each, and random numbers are seeded by
seed and leg, so that a run that was stopped goes on from its last checkpoint to the bits of an uninterrupted one.
Checkpoints are safetensors and JSON. A model that trains more than its policy names it in `more_modules` and
`more_optimisers`, dicts by name.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from gumption.agents.run import Learner, Line, Measured, Tensors
from gumption.agents.run_folder import RunFolder
from gumption.data.errors import extra
from gumption.data.progress import Bar
from gumption.kg.checkpoint import optimiser_tensors, put_weights, restore_optimiser, under

with extra("sb3", "a learner of Stable-Baselines3"):
    from stable_baselines3 import SAC
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_LOSSES = ("loss", "value_loss", "policy_gradient_loss", "entropy_loss", "auxiliary_loss", "actor_loss", "critic_loss")


class Config(Protocol):
    """The fields of a run's config that the learner reads.

    :ivar total_steps, eval_interval: environment steps, rounded to whole updates.
    """

    @property
    def seed(self) -> int: ...
    @property
    def total_steps(self) -> int: ...
    @property
    def eval_interval(self) -> int: ...


class SB3Learner(Learner):
    """Its step of learning is a leg.

    :ivar model: of Stable-Baselines3.
    """

    def __init__(
        self,
        config: Config,
        kind: str,
        model: BaseAlgorithm,
        measure: Callable[[BaseAlgorithm], Mapping[str, float]],
        words: Callable[[Line], str],
        *,
        manifest: Mapping[str, Any],
        keep: Callable[[Path], None] = lambda folder: None,
        threads: int | None = None,
        measured: Measured | None = None,
    ) -> None:
        """
        :param kind, words, manifest, keep, threads, measured: see `gumption.agents.run.Learner`.
        :param model: untrained.
        :param measure: its figures, at the end of each leg.
        """
        self.kind, self.model, self.device, self.seed = kind, model, str(model.device), config.seed
        self.threads, self.measured = threads, measured
        self._measure, self._words, self._manifest, self._keep = measure, words, dict(manifest), keep
        model.set_logger(Logger(folder=None, output_formats=[]))
        stride = model.n_envs * (model.n_steps if isinstance(model, OnPolicyAlgorithm) else 1)
        self.total = -(-config.total_steps // stride) * stride
        self.measured_every = self.kept_every = max(1, round(config.eval_interval / stride)) * stride

    @property
    def step(self) -> int:
        return self.model.num_timesteps

    def learn(self, bar: Bar) -> None:
        """A leg; beside the learner's state it depends on the number of its first step alone."""
        model, begun = self.model, self.model.num_timesteps
        model.set_random_seed(int(np.random.SeedSequence([self.seed, begun]).generate_state(1)[0]))
        model._last_obs = None  # the environments begin anew
        model.policy.set_training_mode(True)
        steps = min(self.measured_every, self.total - begun)
        model.learn(steps, callback=_Shown(bar), log_interval=None, reset_num_timesteps=False)  # pyright: ignore[reportArgumentType]

    def measure(self) -> Line:
        told = self.model.logger.name_to_value
        losses = {name: float(told[f"train/{name}"]) for name in _LOSSES if f"train/{name}" in told}
        return {**self._measure(self.model), **losses}

    def words(self, line: Line) -> str:
        return self._words(line)

    def keep(self, path: Path) -> None:
        self._keep(path)

    def manifest(self) -> dict[str, Any]:
        return self._manifest

    def final(self, curve: list[Line]) -> dict[str, Any]:
        """The last line of metrics, or, of a run of no steps, the figures of the untrained model."""
        return dict(curve[-1]) if curve else dict(self._measure(self.model))

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        return _state(self.model)

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        _put_state(self.model, tensors, meta, where)


class _Shown(BaseCallback):
    """Shows the progress of the learner."""

    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self.bar = bar

    def _on_rollout_end(self) -> None:
        self.bar.show(self.model.num_timesteps)

    def _on_step(self) -> bool:
        return True


# ---- checkpoints


def put_policy(folder: RunFolder, kind: str, model: BaseAlgorithm) -> None:
    """Give a learner the weights of the policy in a run's checkpoint.

    :raises InputError: no checkpoint there, a damaged one, or one of another network.
    """
    _put_policy(model, folder.load(kind)[0], folder.path)


def _put_policy(model: BaseAlgorithm, tensors: Tensors, where: Path) -> None:
    kept, names = under(tensors, "policy"), _shared_names(model.policy)
    put_weights(model.policy, {name: kept[same] for name, same in names.items() if same in kept}, where)


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


def _state(model: BaseAlgorithm) -> tuple[Tensors, dict[str, Any]]:
    shared = _shared_names(model.policy)
    weights = model.policy.state_dict()
    tensors = {f"policy.{name}": weights[name] for name in dict.fromkeys(shared.values())}
    for name, optimiser in _optimisers(model).items():
        tensors |= optimiser_tensors(optimiser, f"optimiser.{name}")
    meta: dict[str, Any] = {"step": model.num_timesteps, "updates": model._n_updates}
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
    return tensors, meta


def _put_state(model: BaseAlgorithm, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
    _put_policy(model, tensors, where)
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
        put_weights(module, under(tensors, part), where)
