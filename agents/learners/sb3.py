"""Learners of Stable-Baselines3 and sb3-contrib as runs of any world: PPO, SAC, MaskablePPO.

More metrics than in every run (see agents/run.py): the figures that the world measures; loss, value_loss,
policy_gradient_loss, entropy_loss and others of the last update, if the algorithm has them.

Training is divided into legs of `eval_interval` steps. Each leg resets the environments and seeds the random generators
by seed and leg, so that a stopped run, resumed from its last checkpoint, ends with the same bits as an uninterrupted
run. Checkpoints are safetensors and JSON. A model that trains more than its policy lists the rest in `more_modules` and
`more_optimisers`, dicts by name.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gumption.agents.knowledge import Knowledge
from gumption.agents.run import Learner, Line, RunResult, Tensors, opened, own_random_numbers, run_learner
from gumption.agents.run_folder import KNOWLEDGE, RunFolder, read_config, read_final, read_metrics
from gumption.agents.settings import GRAPH
from gumption.data.errors import extra
from gumption.data.progress import Bar
from gumption.envs import worlds
from gumption.kg.checkpoint import optimiser_tensors, pick_device, put_weights, restore_optimiser, under

with extra("sb3", "a learner of Stable-Baselines3"):
    from stable_baselines3 import SAC
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_LOSSES = ("loss", "value_loss", "policy_gradient_loss", "entropy_loss", "auxiliary_loss", "actor_loss", "critic_loss")


@dataclass(frozen=True)
class SB3Run(RunResult):
    """A run, trained or loaded, whose policy is a model of Stable-Baselines3. :ivar setup: its `SB3Setup`."""

    setup: Any = field(default=None, repr=False)


class SB3Setup:
    """The parts of a world that a learner of Stable-Baselines3 uses; a world derives its own class.

    :cvar kind: kind of its checkpoints. :cvar config_class: class of its configs.
    :ivar config: `total_steps` and `eval_interval` are environment steps, rounded up or down to whole updates.
    :ivar knowledge: the config's knowledge, the source of the policy's advice; None without knowledge.
    """

    kind: str
    config_class: type[Any]
    threads = property(lambda self: None)  # this and the next: see `Learner`
    measured = property(lambda self: None)

    def __init__(self, config: Any, kept: Path | None = None, *, begun: bool = True) -> None:
        """
        :param kept: folder of the run's saved knowledge.
        :param begun: read the source of the knowledge, if it still exists; False reads the saved knowledge.
        """
        self.config = config
        self.knowledge: Knowledge | None = None
        if config.kg != "none":
            env, played = self.asked()
            where = env.vocabulary, env.relations
            if begun or kept is None:
                self.knowledge = Knowledge.of(config, worlds.find(config.world), *where, played, kept=kept)
            else:
                self.knowledge = Knowledge.load(kept, *where)

    def asked(self) -> tuple[Any, dict[str, Any]]:
        """Return an environment whose choices need advice, and the settings on which its own facts depend."""
        raise NotImplementedError

    def make_model(self) -> BaseAlgorithm:
        """Make the untrained learner; its weights depend on the seed alone."""
        raise NotImplementedError

    def run(self, model: Any, final: Line, curve: list[Line], run_dir: Path | None) -> "SB3Run":
        """Return the result of a training."""
        raise NotImplementedError

    def measure(self, model: Any) -> Line:
        """Return the figures of the present learner, for a line of metrics."""
        raise NotImplementedError

    def words(self, line: Line) -> str:
        """Format a line of metrics for the progress bar."""
        raise NotImplementedError

    def inputs(self) -> dict[str, Any]:
        """Return hashes of the training inputs, for the manifest."""
        raise NotImplementedError

    def untrained(self) -> Any:
        """Return a run before its training."""
        with own_random_numbers():
            return self.run(self.make_model(), {}, [], None)


def train_sb3(
    setup_class: type[SB3Setup], config: Any, run_dir: str | Path | None, *, resume: bool, progress: bool
) -> Any:
    """Train, and save metrics and checkpoints in a folder.

    :param run_dir: the folder; None saves nothing.
    :param resume: resume from the folder's checkpoint; the result equals that of an uninterrupted run.
    :raises InputError: bad settings, a folder that is in use or has another config.
    """
    folder = opened(run_dir, config, resume)
    if folder is not None and folder.complete:
        return load_sb3(setup_class, folder.path)
    path = None if folder is None else folder.path
    setup = setup_class(config, path and path / KNOWLEDGE)
    learner, curve, final = run_learner(folder, lambda: SB3Learner(setup), progress=progress)
    return setup.run(learner.model, final, curve, path)


def load_sb3(setup_class: type[SB3Setup], run_dir: str | Path, device: str | None = None) -> Any:
    """Load a run at its last checkpoint, ready to play.

    :param device: a device to use instead of the training's.
    :raises InputError: no run, or a damaged run.
    """
    run_dir = Path(run_dir)
    config = read_config(run_dir, setup_class.config_class, device=device)
    run, folder = setup_class(config, run_dir / KNOWLEDGE, begun=False).untrained(), RunFolder.of(run_dir, config)
    _put_policy(run.policy, folder.load(setup_class.kind)[0], run_dir)
    final = read_final(run_dir) if folder.complete else {}
    return replace(run, final=final, curve=read_metrics(run_dir), run_dir=run_dir)


def ppo_settings(config: Any) -> dict[str, Any]:
    """Return the arguments of PPO and MaskablePPO from the fields of a config."""
    return {
        "learning_rate": config.learning_rate,
        "n_steps": config.n_steps,
        "n_epochs": config.epochs,
        "gamma": config.gamma,
        "gae_lambda": config.gae_lambda,
        "clip_range": config.clip_range,
        "ent_coef": config.entropy_coefficient,
        "vf_coef": config.value_coefficient,
        "max_grad_norm": config.max_grad_norm,
        "seed": config.seed,
        "device": pick_device(config.device),
    }


class SB3Learner(Learner):
    """A learner whose step of learning is a leg.

    :ivar model: of Stable-Baselines3.
    """

    def __init__(self, setup: SB3Setup) -> None:
        config, model = setup.config, setup.make_model()
        self.setup, self.model, self.device = setup, model, str(model.device)
        self.kind, self.threads, self.measured, self.words = setup.kind, setup.threads, setup.measured, setup.words
        model.set_logger(Logger(folder=None, output_formats=[]))
        stride = model.n_envs * (model.n_steps if isinstance(model, OnPolicyAlgorithm) else 1)
        self.total = 0 if config.agent == GRAPH else -(-config.total_steps // stride) * stride
        self.measured_every = self.kept_every = max(1, round(config.eval_interval / stride)) * stride

    @property
    def step(self) -> int:
        return self.model.num_timesteps

    def learn(self, bar: Bar) -> None:
        """Train for a leg, which depends only on the learner's state and the number of its first step."""
        model, begun = self.model, self.model.num_timesteps
        model.set_random_seed(int(np.random.SeedSequence([self.setup.config.seed, begun]).generate_state(1)[0]))
        model._last_obs = None  # resets the environments
        model.policy.set_training_mode(True)
        steps = min(self.measured_every, self.total - begun)
        model.learn(steps, callback=_Shown(bar), log_interval=None, reset_num_timesteps=False)  # pyright: ignore[reportArgumentType]

    def measure(self) -> Line:
        told = self.model.logger.name_to_value
        losses = {name: float(told[f"train/{name}"]) for name in _LOSSES if f"train/{name}" in told}
        return {**self.setup.measure(self.model), **losses}

    def keep(self, path: Path) -> None:
        if self.setup.knowledge is not None:
            self.setup.knowledge.save(path / KNOWLEDGE)

    def manifest(self) -> dict[str, Any]:
        knowledge = self.setup.knowledge
        return {**self.setup.inputs(), **({} if knowledge is None else {"knowledge": knowledge.about})}

    def final(self, curve: list[Line]) -> dict[str, Any]:
        """Return the last line of metrics, or the figures of the untrained model for a run without steps."""
        return dict(curve[-1]) if curve else self.setup.measure(self.model)

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


def _put_policy(model: BaseAlgorithm, tensors: Tensors, where: Path) -> None:
    kept, names = under(tensors, "policy"), _shared_names(model.policy)
    put_weights(model.policy, {name: kept[same] for name, same in names.items() if same in kept}, where)


def _shared_names(network: torch.nn.Module) -> dict[str, str]:
    """Map each tensor's name to the first name of the same tensor, since safetensors stores it only once."""
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
