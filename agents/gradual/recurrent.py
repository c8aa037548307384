"""Train a recurrent agent by V-trace on many streams at once (Espeholt et al., 2018): a baseline without facts or
skills. Everything that it learns during play is in the state of its LSTM.

Metrics in addition to agents/run.py: since the last line reward, mean of a step, and right, right answers per thousand
steps; tasks, mean number passed by a stream; loss, value_loss and entropy (nats) of a recent update.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from gumption.agents import setup
from gumption.agents.learners.impala import Counts, actor_critic_loss
from gumption.agents.run import (
    Learner,
    Line,
    Tensors,
    opened,
    put_network,
    put_training_state,
    run_learner,
    saved_network,
    training_state,
)
from gumption.agents.run_folder import NO_RUN, RunFolder, read_config, read_final
from gumption.agents.settings import CONFIG
from gumption.data.progress import Bar
from gumption.data.sealed import read_sealed
from gumption.data.settings import Seed, checked
from gumption.envs.gradual.curriculum import challenge, of_names
from gumption.envs.gradual.env import GradualVectorEnv
from gumption.kg.checkpoint import pick_device

from .recurrent_config import RecurrentConfig

BYTES = 256
REMEMBERED = "hidden", "cell", "seen"  # names in a checkpoint

LSTMState = tuple[torch.Tensor, torch.Tensor]  # (1, B, hidden) each


class RecurrentNetwork(nn.Module):
    """Map the received byte, the reward of the last reply, and that reply to logits of the next reply, and a value."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.heard = nn.Embedding(BYTES, 32)
        self.said = nn.Embedding(BYTES, 32)
        self.reward = nn.Embedding(3, 8)
        self.lstm = nn.LSTM(32 + 32 + 8, hidden_size)
        self.policy = nn.Linear(hidden_size, BYTES)
        self.value = nn.Linear(hidden_size, 1)

    def forward(self, seen: torch.Tensor, state: LSTMState) -> tuple[torch.Tensor, torch.Tensor, LSTMState]:
        """
        :param seen: (T, B, 3) int64: byte, reward + 1, the last reply.
        :returns: logits (T, B, 256), values (T, B), and the state after the last step.
        """
        parts = (self.heard(seen[..., 0]), self.reward(seen[..., 1]), self.said(seen[..., 2]))
        hidden, state = self.lstm(torch.cat(parts, dim=-1), state)
        return self.policy(hidden), self.value(hidden)[..., 0], state

    def first_state(self, batch: int) -> LSTMState:
        """Return the state before the first byte."""
        weight = self.value.weight
        return weight.new_zeros(1, batch, self.lstm.hidden_size), weight.new_zeros(1, batch, self.lstm.hidden_size)


@checked
def train_recurrent(
    config: RecurrentConfig, run_dir: Path, *, resume: bool = False, progress: bool = True
) -> dict[str, Any]:
    """Train, write metrics and checkpoints to a folder, and return the metrics of the last line.

    :param resume: continue from the folder's checkpoint, with the result of an uninterrupted run.
    :raises InputError: bad settings, or a folder that is in use or has another config.
    """
    folder = opened(run_dir, config, resume)
    if folder is not None and folder.complete:
        return read_final(folder.path)
    return run_learner(folder, lambda: RecurrentLearner(config), progress=progress)[2]


class RecurrentLearner(Learner):
    threads = 1
    measured = None  # tasks restart with a stream, and a harder task has fewer right answers

    def __init__(self, config: RecurrentConfig) -> None:
        self.config, self.torch_device = config, pick_device(config.device)
        self.device = str(self.torch_device)
        self.curriculum = of_names(config.tasks) if config.tasks else challenge()
        threshold = config.success_threshold
        self.env = GradualVectorEnv(config.batch_size, tasks=self.curriculum, success_threshold=threshold)
        self.env.reset(seed=config.seed)
        torch.manual_seed(config.seed)
        self.network = RecurrentNetwork(config.hidden_size).to(self.torch_device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate)
        self.lstm_state = self.network.first_state(config.batch_size)
        self.seen = self._seen(np.zeros(config.batch_size), np.full(config.batch_size, ord(" ")))
        self.counts = Counts()
        self.frames = config.batch_size * config.unroll_length
        self.total = -(-config.total_steps // self.frames) * self.frames
        self.measured_every = self.kept_every = max(1, round(config.eval_interval / self.frames)) * self.frames

    @property
    def step(self) -> int:
        return self.counts.step

    def learn(self, bar: Bar) -> None:
        """Play `unroll_length` bytes, and update once."""
        config, before = self.config, tuple(part.clone() for part in self.lstm_state)
        seen, actions, behaviour, rewards, ended = self._act()
        logits, values, _ = self.network(seen, before)
        with torch.no_grad():
            bootstrap = self.network(self.seen[None], self.lstm_state)[1][0]
        played = actions, behaviour, rewards, ended
        terms, value_loss, entropy = actor_critic_loss(logits.log_softmax(-1), values, bootstrap, *played, config)
        loss = terms.mean()
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), config.max_grad_norm)
        self.optimiser.step()
        if self.counts.step // self.frames % 10 == 0:  # reading a number synchronizes with the device
            self.counts.loss, self.counts.value_loss = float(loss.detach()), float(value_loss.detach().mean())
            self.counts.entropy = float(entropy.detach().mean())
        self.counts.step += self.frames
        self.counts.updates += 1

    @torch.no_grad()
    def _act(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Play `unroll_length` bytes; return inputs (T, B, 3), and actions, log mu(a|x), rewards and ends (T, B)."""
        seen, actions, behaviour, rewards, ended = [], [], [], [], []
        for _ in range(self.config.unroll_length):
            logits, _, self.lstm_state = self.network(self.seen[None], self.lstm_state)
            log_policy = logits[0].log_softmax(-1)
            action = (log_policy - torch.empty_like(log_policy).exponential_().log()).argmax(-1)
            said = action.cpu().numpy()
            reward, over, _ = self.env.step_arrays(said)
            seen.append(self.seen)
            actions.append(action)
            behaviour.append(log_policy.gather(-1, action[:, None])[:, 0])
            rewards.append(torch.from_numpy(reward).to(self.torch_device))
            ended.append(torch.from_numpy(over).to(self.torch_device))
            if over.any():  # a new stream starts with a zero state
                kept = (~ended[-1]).to(self.lstm_state[0].dtype)[None, :, None]
                self.lstm_state = self.lstm_state[0] * kept, self.lstm_state[1] * kept
            self.seen = self._seen(np.where(over, 0, reward), said)
            self.counts.reward += float(reward.sum())
            self.counts.won += int((reward > 0).sum())
        stacked = [torch.stack(part) for part in (seen, actions, behaviour, rewards, ended)]
        return stacked[0], stacked[1], stacked[2], stacked[3], stacked[4]

    def _seen(self, reward: np.ndarray, said: np.ndarray) -> torch.Tensor:
        parts = np.stack([self.env.observe(), reward.astype(np.int64) + 1, said.astype(np.int64)], axis=1)
        return torch.from_numpy(parts).to(self.torch_device)

    def measure(self) -> Line:
        counts, steps = self.counts, self.counts.updates * self.frames
        self.counts = replace(counts, updates=0, won=0, reward=0.0)
        return {
            "reward": counts.reward / steps,
            "right": 1_000 * counts.won / steps,
            "tasks": float(np.mean([len(self.env.records(i)) - 1 for i in range(self.config.batch_size)])),
            "loss": counts.loss,
            "value_loss": counts.value_loss,
            "entropy": counts.entropy,
        }

    def words(self, line: Line) -> str:
        return f"{line['tasks']:.1f} tasks passed"

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        tensors, meta = training_state(self.network, self.optimiser, self.env, vars(self.counts))
        remembered = zip(REMEMBERED, (*self.lstm_state, self.seen), strict=True)
        return tensors | {f"env.agent_{name}": part for name, part in remembered}, meta

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        put_training_state(tensors, meta, self.network, self.optimiser, self.env, where)
        self.counts = Counts(**meta["progress"])
        hidden, cell, self.seen = (tensors[f"env.agent_{name}"].to(self.torch_device) for name in REMEMBERED)
        self.lstm_state = hidden, cell

    def manifest(self) -> dict[str, Any]:
        return {"seed": self.config.seed, "curriculum": self.curriculum.name}


class RecurrentAgent:
    """Play a single stream with a trained network of fixed weights.

    It computes in NumPy, because a step of so small a network is mostly overhead in torch.
    """

    @checked
    def __init__(self, network: RecurrentNetwork, seed: Seed = 0) -> None:
        """:param seed: of the draws from the network's probabilities."""
        weights = {name: part.detach().cpu().numpy() for name, part in network.state_dict().items()}
        self._heard, self._said, self._reward = (weights[f"{name}.weight"] for name in ("heard", "said", "reward"))
        self._from_input, self._from_state = weights["lstm.weight_ih_l0"], weights["lstm.weight_hh_l0"]
        self._bias = weights["lstm.bias_ih_l0"] + weights["lstm.bias_hh_l0"]
        self._policy, self._policy_bias = weights["policy.weight"], weights["policy.bias"]
        self._hidden, self._cell = np.zeros((2, network.lstm.hidden_size), dtype=np.float32)
        self._last = ord(" ")
        self._draw = np.random.default_rng(seed)

    @classmethod
    def load(cls, run_dir: str | Path) -> Callable[[int], "RecurrentAgent"]:
        """Return a function that makes the agent of a run from a seed; InputError if the run does not exist."""
        config = read_config(Path(run_dir), RecurrentConfig)
        network = RecurrentNetwork(config.hidden_size)
        put_network(network, saved_network(RunFolder.of(run_dir, config)), Path(run_dir))
        return lambda seed: cls(network, seed)

    def logits(self, reward: int, byte: int) -> np.ndarray:
        """Step the LSTM and return the logits, (256,) float32."""
        seen = np.concatenate([self._heard[byte], self._reward[reward + 1], self._said[self._last]])
        gates = self._from_input @ seen + self._from_state @ self._hidden + self._bias
        enter, forget, new, out = np.split(gates, 4)
        self._cell = _sigmoid(forget) * self._cell + _sigmoid(enter) * np.tanh(new)
        self._hidden = _sigmoid(out) * np.tanh(self._cell)
        return self._policy @ self._hidden + self._policy_bias

    def __call__(self, reward: int, byte: int) -> int:
        self._last = int((self.logits(reward, byte) + self._draw.gumbel(size=BYTES)).argmax())
        return self._last


@checked
def load_policy(run_dir: str | Path, **places: Any) -> tuple[Any, Any]:
    """Return the config of a run in Gradual, and a function that makes its `RecurrentAgent` from a seed, or its policy.

    :raises InputError: no run there, or a damaged run.
    """
    if "env" in read_sealed(Path(run_dir) / CONFIG, missing=NO_RUN):
        return setup.load_policy(run_dir, **places)
    return read_config(Path(run_dir), RecurrentConfig), RecurrentAgent.load(run_dir)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 + 0.5 * np.tanh(0.5 * x)
