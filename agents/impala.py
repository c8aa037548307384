"""IMPALA's learner (Espeholt et al., 2018) on a batch of environments: act, V-trace, update, log; read top to bottom.

Acting and learning alternate in one process on one device. The behaviour policy is the one being learned, but for the
dropout of its encoder, so V-trace corrects little here; it is what lets `unroll_length` and larger lags work.

Metrics (metrics.jsonl, one line per evaluation): step; wall_s and steps_per_s since the start; train_success, share of
the training episodes that ended since the last line, as the policy samples; test_success and train_success_eval,
greedy, on all test tasks and on as many training tasks; same_slot_twice, of the test episodes; loss, value_loss,
entropy (nats) and reward, means per step of one recent update.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from gumption.data import InputError
from gumption.data.provenance import hardware, versions
from gumption.data.writing import write_json
from gumption.envs.wordcraft import WordCraftVectorEnv

from .checkpoint import FOLDER, has_checkpoint, load_training, save_training
from .config import TrainConfig
from .evaluation import evaluation_env, success_rate
from .policies import State, build_policy
from .progress import Bar
from .runs import FINAL, Board, RunResult, add_metrics, begin, check_free, load_result, read_metrics, write_metrics

__all__ = ["RunResult", "TrainConfig", "load_result", "train_impala", "vtrace"]


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


def train_impala(
    config: TrainConfig, run_dir: str | Path | None = None, progress: bool = True, resume: bool = False
) -> RunResult:
    """Train an agent; with a run directory, keep metrics and checkpoints there.

    :param progress: show a bar with steps/s and success.
    :param resume: go on from the run directory's checkpoint, if it has one; the result is that of an uninterrupted run.
    :raises InputError: bad settings, a run directory that is in use or has another config, a reward that is NaN.
    """
    run_dir = None if run_dir is None else Path(run_dir)
    if run_dir is not None:
        check_free(run_dir, config, resume)
        if (run_dir / FINAL).is_file():
            return replace(load_result(run_dir), config=config)
    elif resume:
        raise InputError("there is nothing to resume without a run directory")
    devices = [] if not torch.cuda.is_available() else None
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(config.seed)
        return _Training(config, run_dir, resume).run(progress)


class _Training:
    def __init__(self, config: TrainConfig, run_dir: Path | None, resume: bool) -> None:
        learner = config.learner
        self.config, self.learner, self.run_dir = config, learner, run_dir
        self.env = WordCraftVectorEnv(learner.batch_size, **config.env_settings("train"))
        self.env.reset(seed=config.seed)
        split = self.env.split
        self.test_tasks = split.test_tasks if len(split.test_tasks) else split.train_tasks
        self.partition = "test" if len(split.test_tasks) else "train"
        self.train_tasks = _some(split.train_tasks, len(self.test_tasks))
        self.test_env = evaluation_env(config.env_settings(self.partition), len(self.test_tasks))
        self.train_env = evaluation_env(config.env_settings("train"), len(self.train_tasks))
        self.policy = build_policy(config, self.env)
        # Fitting the knowledge drew random numbers or, from the cache, did not: the agent's start from here.
        torch.manual_seed(config.seed)
        self.policy.train()
        self.optimiser = _optimiser(self.policy.network, config)
        self.done = Progress()
        self.curve: list[dict[str, float]] = []
        if run_dir is not None and resume and has_checkpoint(run_dir / FOLDER):
            self.done = Progress(**load_training(run_dir, self.policy.network, self.optimiser, self.env))
            self.curve = [line for line in read_metrics(run_dir) if line["step"] <= self.done.step]
        self.state = self.policy.read(self.env)
        if run_dir is not None:
            begin(run_dir, config, split, self._manifest())
            write_metrics(run_dir, self.curve)

    def run(self, progress: bool) -> RunResult:
        config, learner = self.config, self.learner
        frames = learner.batch_size * learner.unroll_length
        updates = 0 if config.kg_only else math.ceil(config.total_steps / frames)
        every = max(1, round(config.eval_interval / frames))
        with Board(self.run_dir, self.done.step) as board, Bar(updates * frames, "training", progress) as bar:
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
                    bar.show(
                        int(line["step"]), f"{line['steps_per_s']:,.0f} steps/s, unseen {line['test_success']:.1%}"
                    )
        return self._finish()

    # ---- acting and learning

    def _update(self) -> None:
        states, actions, behaviour, rewards, ended = self._act()
        learner = self.learner
        with torch.no_grad():
            bootstrap = self.policy(self.state).value
        readout = self.policy(State(*(torch.cat(parts) for parts in zip(*states, strict=True))))
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
    def _act(self) -> tuple[list[State], torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Play `unroll_length` steps: T states, then actions, log mu(a|x), rewards and ends, each (T, B)."""
        states: list[State] = []
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
        test = success_rate(self.policy, self.test_env, self.test_tasks, seed=self.config.seed)
        train = success_rate(self.policy, self.train_env, self.train_tasks, seed=self.config.seed)
        done = self.done
        done.wall_s += perf_counter() - started
        line = {
            "step": done.step,
            "wall_s": round(done.wall_s, 3),
            "steps_per_s": round(done.step / done.wall_s, 1),
            "train_success": done.won / max(done.episodes, 1),
            "test_success": test["success"],
            "train_success_eval": train["success"],
            "same_slot_twice": test["same_slot_twice"],
            "loss": done.loss,
            "value_loss": done.value_loss,
            "entropy": done.entropy,
            "reward": done.reward,
        }
        self.done = Progress(step=done.step, wall_s=done.wall_s)
        return line

    def _keep(self, line: dict[str, float]) -> None:
        self.curve.append(line)
        if self.run_dir is not None:
            add_metrics(self.run_dir, line)
            save_training(self.run_dir, self.policy.network, self.optimiser, self.env, vars(self.done))

    def _finish(self) -> RunResult:
        config, draws = self.config, self.config.final_draws
        seed = config.seed + 1  # tables that no evaluation on the way has shown
        test = success_rate(self.policy, self.test_env, self.test_tasks, draws, seed)
        train = success_rate(self.policy, self.train_env, self.train_tasks, draws, seed)
        open_env = evaluation_env(config.env_settings(self.partition), len(self.test_tasks), alternatives=True)
        final = {
            "test_success": test["success"],
            "train_success": train["success"],
            "test_success_alternatives": success_rate(self.policy, open_env, self.test_tasks, draws, seed)["success"],
            "same_slot_twice": test["same_slot_twice"],
            "wall_s": round(self.done.wall_s, 3),
            "steps_per_s": round(self.done.step / self.done.wall_s, 1) if self.done.wall_s else 0.0,
        }
        if self.run_dir is not None:
            if not has_checkpoint(self.run_dir / FOLDER):  # nothing was learned, but the policy can be loaded
                save_training(self.run_dir, self.policy.network, self.optimiser, self.env, vars(self.done))
            write_json(self.run_dir / FINAL, final)
        return RunResult(config, final, self.curve, self.run_dir, self.policy.eval())

    def _manifest(self) -> dict[str, Any]:
        book, split = self.env.book, self.env.split
        return {
            "versions": versions(),
            "hardware": hardware(str(next(self.policy.network.buffers()).device)),
            "threads": torch.get_num_threads(),
            "seed": self.config.seed,
            "recipe_book": {"name": book.name, "sha256": book.hash},
            "split": {"parameters": split.parameters, "sha256": split.hash},
            "parameters": sum(p.numel() for p in self.policy.network.parameters()),
        }


def _some(tasks: np.ndarray, count: int) -> np.ndarray:
    """At most `count` tasks, evenly spread."""
    return tasks[np.linspace(0, len(tasks) - 1, min(count, len(tasks))).astype(np.int64)]


def _optimiser(network: torch.nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    learner = config.learner
    if learner.optimiser == "rmsprop":
        return torch.optim.RMSprop(network.parameters(), lr=learner.learning_rate, alpha=0.99, eps=learner.epsilon)
    return torch.optim.Adam(network.parameters(), lr=learner.learning_rate, eps=learner.epsilon)
