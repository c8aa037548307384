"""IMPALA's learner (Espeholt et al., 2018) on a batch of environments: act, V-trace, update, log; read top to bottom.

Acting and learning alternate in one process on one device. The behaviour policy is the learned policy, except for the
dropout of its encoder, so V-trace corrects little here. It allows longer `unroll_length` and larger lags.

A `Setup`, made from the config of a world's run, provides the environments, the network and the advice.

More metrics than in every run (see run.py): train_success, the share of successes in the training episodes (sampled
actions) that ended since the last line; the figures of the setup's `measure`; loss, value_loss, entropy (nats), reward,
and with advice lambda/attention and lambda/NAME of each score (see `Readout.mixture`), means of one recent update.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gumption.agents.advice import Advice
from gumption.agents.policy import MASKED, PolicyInput, Readout
from gumption.agents.run import (
    Learner,
    Line,
    RunResult,
    Tensors,
    opened,
    put_training_state,
    run_learner,
    training_state,
)
from gumption.agents.run_folder import KNOWLEDGE, read_final, read_metrics
from gumption.agents.settings import RunConfig
from gumption.agents.setup import Setup, setup_of
from gumption.data import InputError
from gumption.data.progress import Bar
from gumption.data.settings import checked


def vtrace(
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap: torch.Tensor,
    ratios: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return V-trace targets and policy-gradient advantages (Espeholt et al., 2018, section 4.1), rho-bar = c-bar = 1.

    :param rewards: (T, B); `discounts` (T, B), 0 where the episode ended; `values` (T, B) of the states; `bootstrap`
        (B,), the value of the state after the last step; `ratios` (T, B) pi(a|x) / mu(a|x).
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


def actor_critic_loss(
    log_policy: torch.Tensor,
    values: torch.Tensor,
    bootstrap: torch.Tensor,
    actions: torch.Tensor,
    behaviour: torch.Tensor,
    rewards: torch.Tensor,
    ended: torch.Tensor,
    costs: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the V-trace loss of each step (T, B), and its parts, the value loss and the entropy, (T, B) each.

    :param log_policy: (T, B, A). :param values, bootstrap: see `vtrace`.
    :param actions, behaviour, rewards, ended: (T, B); `behaviour` is log mu(a|x), `ended` marks the end of an episode.
    :param costs: has `discount`, `baseline_cost` and `entropy_cost`.
    """
    log_pi = log_policy.gather(-1, actions[..., None])[..., 0]
    ratios = (log_pi.detach() - behaviour).exp()
    targets, advantages = vtrace(rewards, costs.discount * (~ended), values.detach(), bootstrap, ratios)
    entropy = -(log_policy.exp() * log_policy).sum(-1)
    value_loss = costs.baseline_cost * (targets - values).square()
    return -advantages * log_pi + value_loss - costs.entropy_cost * entropy, value_loss, entropy


@checked
def train_impala(
    config: RunConfig,
    run_dir: str | Path | None = None,
    progress: bool = True,
    resume: bool = False,
    *,
    network: nn.Module | None = None,
    advice: Advice | None = None,
) -> RunResult:
    """Train an agent; with a run directory, save metrics and checkpoints there.

    :param config: of a world's run, such as `TrainConfig`.
    :param progress: show steps/s and success on stderr, on a terminal with a bar.
    :param resume: resume from the run directory's checkpoint, if any; the result equals that of an uninterrupted run.
    :param network: your own network in place of the config's.
    :param advice: your own advice in place of the config's.
    :raises InputError: bad settings, a run directory that is in use or has another config, a reward that is NaN.
    """
    folder = opened(run_dir, config, resume)
    if folder is not None and folder.complete:
        return RunResult(config, read_final(folder.path), read_metrics(folder.path), folder.path)
    kept = folder.path / KNOWLEDGE if folder is not None and folder.has_checkpoint else None
    given = {"network": network, "advice": advice, "kept": kept}
    kind = SupervisedLearner if getattr(config, "supervised", False) else ImpalaLearner
    made, curve, final = run_learner(
        folder,
        lambda: kind(config, setup_of(config)(config, **given)),
        progress=progress,
    )
    return RunResult(config, final, curve, None if folder is None else folder.path, made.policy.eval())


@dataclass
class Counts:
    """Counts of the learner; `updates` to `mixture` restart at each line of metrics.

    :ivar mixture: the mean lambda of a batch, for attention and each score; see `Readout`.
    :ivar curve: (step, success) on test tasks; see `Setup.unseen`.
    """

    step: int = 0
    updates: int = 0
    loss: float = 0.0
    value_loss: float = 0.0
    entropy: float = 0.0
    reward: float = 0.0
    episodes: int = 0
    won: int = 0
    mixture: list[float] = field(default_factory=list)
    curve: list[list[float]] = field(default_factory=list)


class ImpalaLearner(Learner):
    threads = 1

    def __init__(self, config: Any, setup: Setup) -> None:
        self.config, self.setup, self.learner = config, setup, config.learner
        self.env = setup.env
        self.env.reset(seed=config.seed)
        torch.manual_seed(config.seed)
        self.policy = setup.policy()
        torch.manual_seed(config.seed)  # the number of draws for weights depends on the network
        self.policy.train()
        weights, rate, eps = self.policy.network.parameters(), self.learner.learning_rate, self.learner.epsilon
        if self.learner.optimiser == "rmsprop":
            self.optimiser: torch.optim.Optimizer = torch.optim.RMSprop(weights, lr=rate, alpha=0.99, eps=eps)
        else:
            self.optimiser = torch.optim.Adam(weights, lr=rate, eps=eps)
        self.device = str(next(self.policy.network.buffers(), torch.empty(0)).device)
        self.frames = self.learner.batch_size * self.learner.unroll_length
        self.total = 0 if config.kg_only else math.ceil(config.total_steps / self.frames) * self.frames
        self.measured_every = self.kept_every = max(1, round(config.eval_interval / self.frames)) * self.frames
        self.measured, self.words, self.keep = setup.measured, setup.words, setup.keep
        self.counts = Counts()
        self.state_now = self.policy.read(self.env)

    @property
    def step(self) -> int:
        return self.counts.step

    def learn(self, bar: Bar) -> None:
        """Play `unroll_length` steps, and update once."""
        states, actions, behaviour, rewards, ended = self._act()
        learner = self.learner
        with torch.no_grad():
            bootstrap = self.policy(self.state_now).value
        seen = zip(*(state.seen for state in states), strict=True)
        joined = PolicyInput(tuple(map(torch.cat, seen)), torch.cat([state.scores for state in states]))
        readout = self.policy(joined)
        shape = rewards.shape
        log_policy, values = readout.logits.log_softmax(1).view(*shape, -1), readout.value.view(shape)
        played = actions, behaviour, rewards, ended
        terms, value_loss, entropy = actor_critic_loss(log_policy, values, bootstrap, *played, learner)
        terms = terms + self.policy.prior(readout).view(shape)
        self.update(terms.sum() if learner.reduction == "sum" else terms.mean())
        if self.note(terms.mean(), readout):
            self.counts.value_loss = float(value_loss.detach().mean())
            self.counts.entropy, self.counts.reward = float(entropy.detach().mean()), float(rewards.mean())

    def note(self, loss: torch.Tensor, readout: Readout) -> bool:
        """Store figures at every tenth update, and return whether it is such an update: each reading waits for the
        device."""
        if self.counts.updates % 10 != 1:
            return False
        self.counts.loss = float(loss.detach())
        if readout.mixture is not None:
            self.counts.mixture = readout.mixture.detach().mean(0).tolist()
        return True

    def update(self, loss: torch.Tensor) -> None:
        """Make a step of the optimiser; the learning rate falls linearly to 0 at the end of the run."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.learner.learning_rate * (1.0 - self.counts.step / self.total)
        self.optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.policy.network.parameters(), self.learner.max_grad_norm)
        if not norm.isfinite():
            raise InputError(f"the gradient is not a number at step {self.counts.step}; take a lower learning_rate")
        self.optimiser.step()
        self.counts.step += self.frames
        self.counts.updates += 1

    @torch.no_grad()
    def _act(self) -> tuple[list[PolicyInput], torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Play `unroll_length` steps. Returns T states, then actions, log mu(a|x), rewards and ends, each (T, B)."""
        states: list[PolicyInput] = []
        actions, behaviour, rewards, ended = [], [], [], []
        for _ in range(self.learner.unroll_length):
            state = self.state_now
            log_policy = self.policy(state).logits.log_softmax(1)
            # The argmax of log p + Gumbel noise is a sample of p; Gumbel noise is -log of exponential noise.
            action = (log_policy - torch.empty_like(log_policy).exponential_().log()).argmax(1)
            reward, over, won = self.env.step_arrays(action.cpu().numpy())
            self.state_now = self.policy.read(self.env)
            if not np.isfinite(reward).all():
                where = f"at step {self.counts.step}"
                raise InputError(f"the environment gave a reward that is NaN or infinite {where}; mend its rewards")
            self.counts.episodes += int(over.sum())
            self.counts.won += int(won.sum())
            states.append(state)
            actions.append(action)
            behaviour.append(log_policy.gather(1, action[:, None])[:, 0])
            rewards.append(torch.from_numpy(reward).to(action.device))
            ended.append(torch.from_numpy(over).to(action.device))
        return states, torch.stack(actions), torch.stack(behaviour), torch.stack(rewards), torch.stack(ended)

    def measure(self) -> Line:
        counts = self.counts
        self.counts = Counts(step=counts.step, curve=counts.curve)
        if (unseen := self.setup.unseen(self.policy)) is not None:
            counts.curve.append([counts.step, unseen])
        mixed = ("attention", *getattr(self.policy.network, "channels", ()))
        return {
            "train_success": counts.won / max(counts.episodes, 1),
            **self.setup.measure(self.policy),
            "loss": counts.loss,
            "value_loss": counts.value_loss,
            "entropy": counts.entropy,
            "reward": counts.reward,
            **{f"lambda/{name}": value for name, value in zip(mixed, counts.mixture, strict=False)},
        }

    def final(self, curve: list[Line]) -> dict[str, Any]:
        return {**self.setup.final(self.policy), **({"test_curve": self.counts.curve} if self.counts.curve else {})}

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        return training_state(self.policy.network, self.optimiser, self.env, vars(self.counts))

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        put_training_state(tensors, meta, self.policy.network, self.optimiser, self.env, where)
        self.counts = Counts(**meta["progress"])
        self.state_now = self.policy.read(self.env)

    def manifest(self) -> dict[str, Any]:
        parameters = sum(p.numel() for p in self.policy.network.parameters())
        return {"seed": self.config.seed, **self.setup.manifest(), "parameters": parameters}


class SupervisedLearner(ImpalaLearner):
    """Learns from a world's `right_choices` instead of rewards: plays them and increases their probability.

    The loss is the cross-entropy of the next right choice. A policy with knowledge learns the weight of each channel.
    """

    def learn(self, bar: Bar) -> None:
        """Play `unroll_length` steps, and update once, with the rates and batches of reinforcement learning."""
        states: list[PolicyInput] = []
        right: list[np.ndarray] = []
        for _ in range(self.learner.unroll_length):
            states.append(self.state_now)
            right.append(self.env.right_choices())
            _, over, won = self.env.step_arrays(one_of(right[-1], self.env.np_random))
            self.state_now = self.policy.read(self.env)
            self.counts.episodes += int(over.sum())
            self.counts.won += int(won.sum())
        seen = zip(*(state.seen for state in states), strict=True)
        joined = PolicyInput(tuple(map(torch.cat, seen)), torch.cat([state.scores for state in states]))
        readout = self.policy(joined)
        wanted = torch.from_numpy(np.concatenate(right)).to(readout.logits.device)
        likelihood = functional.log_softmax(readout.logits, dim=1).masked_fill(~wanted, MASKED).logsumexp(1)
        loss = (self.policy.prior(readout) - likelihood).mean()
        self.update(loss)
        self.note(loss, readout)


def one_of(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw for each row one of the right choices (B, A) uniformly; returns (B,)."""
    return np.where(right, rng.random(right.shape), -1.0).argmax(1)
