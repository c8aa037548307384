"""IMPALA's learner (Espeholt et al., 2018) on a batch of environments: act, V-trace, update, log; read top to bottom.

Acting and learning alternate in one process on one device. The behaviour policy is the one being learned, but for the
dropout of its encoder, so V-trace corrects little here; it is what lets `unroll_length` and larger lags work.

What is learned in, by what network and with which advice, a `Setup` says: the config of a world's run makes it.

Metrics (metrics.jsonl, one line per evaluation): step; wall_s and steps_per_s since the start; train_success, share of
the training episodes that ended since the last line, as the policy samples; what the setup's `measure` gives; loss,
value_loss, entropy (nats) and reward, means per step of one recent update.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.provenance import hardware, versions
from gumption.data.settings import checked
from gumption.envs import worlds

from .advice import Advice
from .learner_state import load_training, save_training
from .readout import Readout
from .run_folder import Board, RunFolder, read_final, read_metrics
from .world_setup import WorldSetup


class Policy(Protocol):
    """Whose choices are learned: a module with the parameters in `network`.

    :ivar network: what is trained.
    """

    network: nn.Module

    def __call__(self, state: Any) -> Readout: ...

    def read(self, env: Any) -> NamedTuple:
        """The state of an environment as it is now, tensors with a leading batch axis, with its advice."""
        ...

    def train(self, mode: bool = True) -> Any: ...

    def eval(self) -> Any: ...


class Setup(Protocol):
    """What a world gives to the learner.

    :ivar env: a native batch of environments, with `step_arrays`, `reset` and a state that can be saved.
    :ivar headline: the name among what `measure` gives that the progress bar shows, and how it is called there.
    """

    env: Any

    @property
    def headline(self) -> tuple[str, str]: ...

    def policy(self) -> Policy:
        """A fresh policy, its weights drawn from torch's generator as it stands."""
        ...

    def measure(self, policy: Any) -> dict[str, float]:
        """Figures of the policy as it is, for a line of metrics."""
        ...

    def final(self, policy: Any) -> dict[str, float]:
        """Figures of the policy that was learned."""
        ...

    def manifest(self) -> dict[str, Any]:
        """Hashes of all that the run depends on."""
        ...

    def keep(self, path: Path) -> None:
        """Write what the run depends on into its folder."""
        ...


class Config(Protocol):
    """What the learner reads of a run's config; a world's config has its own fields besides."""

    @property
    def learner(self) -> Any: ...
    @property
    def total_steps(self) -> int: ...
    @property
    def eval_interval(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def kg_only(self) -> bool: ...
    @property
    def world(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...
    @classmethod
    def from_json(cls, value: Any) -> "Config": ...


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    :ivar final: what the setup's `final` gives, and "wall_s" and "steps_per_s".
    :ivar curve: the lines of metrics.jsonl.
    """

    config: Any
    final: dict[str, float]
    curve: list[dict[str, float]]
    run_dir: Path | None
    policy: Any = None


def vtrace(
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap: torch.Tensor,
    ratios: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """V-trace targets and policy-gradient advantages (Espeholt et al., 2018, section 4.1) with rho-bar = c-bar = 1.

    :param rewards: (T, B); `discounts` (T, B), 0 where the episode ended; `values` (T, B) of the states; `bootstrap`
        (B,) of the state after the last; `ratios` (T, B) pi(a|x) / mu(a|x).
    :returns: (T, B) targets v_s and (T, B) advantages rho_s (r_s + gamma v_{s+1} - V(x_s)).
    """
    clipped = ratios.clamp(max=1.0)
    following = torch.cat([values[1:], bootstrap[None]])
    deltas = clipped * (rewards + discounts * following - values)
    correction = torch.zeros_like(bootstrap)
    corrections = []
    for t in reversed(range(len(rewards))):
        correction = deltas[t] + discounts[t] * clipped[t] * correction
        corrections.append(correction)
    targets = values + torch.stack(corrections[::-1])
    next_targets = torch.cat([targets[1:], bootstrap[None]])
    return targets, clipped * (rewards + discounts * next_targets - values)


@dataclass
class Progress:
    """What the loop counts; `updates` to `won` are since the last line of metrics."""

    step: int = 0
    wall_s: float = 0.0
    updates: int = 0
    loss: float = 0.0
    value_loss: float = 0.0
    entropy: float = 0.0
    reward: float = 0.0
    episodes: int = 0
    won: int = 0


@checked
def train_impala(
    config: Config,
    run_dir: str | Path | None = None,
    progress: bool = True,
    resume: bool = False,
    *,
    network: nn.Module | None = None,
    advice: Advice | None = None,
) -> RunResult:
    """Train an agent; with a run directory, keep metrics and checkpoints there.

    :param config: of a world's run, such as `TrainConfig`.
    :param progress: tell steps/s and success on stderr, on a terminal with a bar.
    :param resume: go on from the run directory's checkpoint, if it has one; the result is that of an uninterrupted run.
    :param network: a network of your own in place of the config's.
    :param advice: knowledge of your own in place of the config's.
    :raises InputError: bad settings, a run directory that is in use or has another config, a reward that is NaN.
    """
    folder = None if run_dir is None else _folder(run_dir, config)
    if folder is not None:
        folder.check(resume)
        if folder.complete:
            final, curve = read_final(folder.path), read_metrics(folder.path)
            return RunResult(config, final, curve, folder.path)
    elif resume:
        raise InputError("there is nothing to resume without a run directory")
    devices = [] if not torch.cuda.is_available() else None
    try:
        with torch.random.fork_rng(devices=devices):
            setup = setup_of(config)(config, network=network, advice=advice)
            return _Training(config, setup, folder, resume).run(progress)
    finally:
        if folder is not None:
            folder.release()


class _Training:
    def __init__(self, config: Config, setup: Setup, folder: RunFolder | None, resume: bool) -> None:
        self.config, self.setup, self.learner, self.folder = config, setup, config.learner, folder
        self.env = setup.env
        self.env.reset(seed=config.seed)
        torch.manual_seed(config.seed)
        self.policy = setup.policy()
        torch.manual_seed(config.seed)  # what was drawn for the weights depends on the network, what follows does not
        self.policy.train()
        self.optimiser = _optimiser(self.policy.network, config)
        self.done = Progress()
        self.curve: list[dict[str, float]] = []
        if folder is not None and resume and folder.has_checkpoint:
            self.done = Progress(**load_training(folder, self.policy.network, self.optimiser, self.env))
            self.curve = [line for line in read_metrics(folder.path) if line["step"] <= self.done.step]
        self.state = self.policy.read(self.env)
        if folder is not None:
            folder.begin(self._manifest())
            setup.keep(folder.path)
            folder.write_metrics(self.curve)

    def run(self, progress: bool) -> RunResult:
        config, learner = self.config, self.learner
        frames = learner.batch_size * learner.unroll_length
        updates = 0 if config.kg_only else math.ceil(config.total_steps / frames)
        every = max(1, round(config.eval_interval / frames))
        run_dir = None if self.folder is None else self.folder.path
        with Board(run_dir, self.done.step) as board, Bar(updates * frames, "training", progress) as bar:
            for update in range(self.done.step // frames, updates):
                started = perf_counter()
                for group in self.optimiser.param_groups:
                    group["lr"] = learner.learning_rate * (1.0 - update / updates)
                self._update()
                self.done.step += frames
                self.done.wall_s += perf_counter() - started
                if (update + 1) % every == 0 or update + 1 == updates:
                    line = self._evaluate()
                    board.write(line)
                    self._keep(line)
                    name, called = self.setup.headline
                    bar.show(int(line["step"]), f"{line['steps_per_s']:,.0f} steps/s, {called} {line[name]:.1%}")
        return self._finish()

    # ---- acting and learning

    def _update(self) -> None:
        states, actions, behaviour, rewards, ended = self._act()
        learner = self.learner
        with torch.no_grad():
            bootstrap = self.policy(self.state).value
        readout = self.policy(type(states[0])(*(torch.cat(parts) for parts in zip(*states, strict=True))))
        shape = rewards.shape
        log_policy = readout.logits.log_softmax(1)
        log_pi = log_policy.gather(1, actions.view(-1, 1)).view(shape)
        values = readout.value.view(shape)
        targets, advantages = vtrace(
            rewards,
            learner.discount * (~ended),
            values.detach(),
            bootstrap,
            (log_pi.detach() - behaviour).exp(),
        )
        entropy = -(log_policy.exp() * log_policy).sum(1).view(shape)
        value_loss = learner.baseline_cost * (targets - values).square()
        terms = -advantages * log_pi + value_loss - learner.entropy_cost * entropy
        loss = terms.sum() if learner.reduction == "sum" else terms.mean()
        self.optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.policy.network.parameters(), learner.max_grad_norm)
        if not norm.isfinite():
            raise InputError(f"the gradient is not a number at step {self.done.step}; take a lower learning_rate")
        self.optimiser.step()
        self.done.updates += 1
        if self.done.updates % 10 == 1:  # reading a number off the device waits for it
            self.done.loss, self.done.value_loss = float(terms.detach().mean()), float(value_loss.detach().mean())
            self.done.entropy, self.done.reward = float(entropy.detach().mean()), float(rewards.mean())

    @torch.no_grad()
    def _act(self) -> tuple[list[Any], torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Play `unroll_length` steps: T states, then actions, log mu(a|x), rewards and ends, each (T, B)."""
        states: list[Any] = []
        actions, behaviour, rewards, ended = [], [], [], []
        for _ in range(self.learner.unroll_length):
            state = self.state
            log_policy = self.policy(state).logits.log_softmax(1)
            # argmax of log p + Gumbel noise is a sample of p; the noise is minus the log of exponential noise.
            action = (log_policy - torch.empty_like(log_policy).exponential_().log()).argmax(1)
            reward, over, won = self.env.step_arrays(action.cpu().numpy())
            self.state = self.policy.read(self.env)
            if not np.isfinite(reward).all():
                raise InputError(
                    f"the environment gave a reward that is NaN or infinite at step {self.done.step}; mend its rewards"
                )
            self.done.episodes += int(over.sum())
            self.done.won += int(won.sum())
            states.append(state)
            actions.append(action)
            behaviour.append(log_policy.gather(1, action[:, None])[:, 0])
            rewards.append(torch.from_numpy(reward).to(action.device))
            ended.append(torch.from_numpy(over).to(action.device))
        return states, torch.stack(actions), torch.stack(behaviour), torch.stack(rewards), torch.stack(ended)

    # ---- looking and keeping

    def _evaluate(self) -> dict[str, float]:
        """The line of metrics for now; its counters start anew."""
        started = perf_counter()
        measured = self.setup.measure(self.policy)
        done = self.done
        done.wall_s += perf_counter() - started
        line = {
            "step": done.step,
            "wall_s": round(done.wall_s, 3),
            "steps_per_s": round(done.step / done.wall_s, 1),
            "train_success": done.won / max(done.episodes, 1),
            **measured,
            "loss": done.loss,
            "value_loss": done.value_loss,
            "entropy": done.entropy,
            "reward": done.reward,
        }
        self.done = Progress(step=done.step, wall_s=done.wall_s)
        return line

    def _keep(self, line: dict[str, float]) -> None:
        self.curve.append(line)
        if self.folder is not None:
            self.folder.add_metrics(line)
            save_training(self.folder, self.policy.network, self.optimiser, self.env, vars(self.done))

    def _finish(self) -> RunResult:
        final = {
            **self.setup.final(self.policy),
            "wall_s": round(self.done.wall_s, 3),
            "steps_per_s": round(self.done.step / self.done.wall_s, 1) if self.done.wall_s else 0.0,
        }
        if self.folder is not None:
            if not self.folder.has_checkpoint:  # nothing was learned, but the policy can be loaded
                save_training(self.folder, self.policy.network, self.optimiser, self.env, vars(self.done))
            self.folder.finish(final)
        where = None if self.folder is None else self.folder.path
        return RunResult(self.config, final, self.curve, where, self.policy.eval())

    def _manifest(self) -> dict[str, Any]:
        network = self.policy.network
        return {
            "versions": versions(),
            "hardware": hardware(str(next(network.buffers(), torch.empty(0)).device)),
            "threads": torch.get_num_threads(),
            "seed": self.config.seed,
            **self.setup.manifest(),
            "parameters": sum(p.numel() for p in network.parameters()),
        }


def setup_of(config: Any) -> Callable[..., Setup]:
    """What makes the setup of a config: its world's own, else the general one."""
    made: Any = worlds.find(config.world).get("setup") or WorldSetup
    return made


def _folder(run_dir: str | Path, config: Config) -> RunFolder:
    return RunFolder(run_dir, config.to_json(), lambda stored: type(config).from_json(stored).to_json())


def _optimiser(network: torch.nn.Module, config: Config) -> torch.optim.Optimizer:
    learner = config.learner
    if learner.optimiser == "rmsprop":
        return torch.optim.RMSprop(network.parameters(), lr=learner.learning_rate, alpha=0.99, eps=learner.epsilon)
    return torch.optim.Adam(network.parameters(), lr=learner.learning_rate, eps=learner.epsilon)
