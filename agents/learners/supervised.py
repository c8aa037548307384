"""Supervision in place of rewards: a policy learns from the right choices of its training tasks, in any world that
states them (`right_choices` of an environment). A policy with knowledge learns by it what each channel is worth."""

import numpy as np
import torch
from torch.nn import functional

from gumption.agents.policy import MASKED, PolicyInput
from gumption.data.progress import Bar

from .impala import ImpalaLearner


class SupervisedLearner(ImpalaLearner):
    """Plays right choices, and makes them likelier: the loss is the cross-entropy of the next right choice."""

    def learn(self, bar: Bar) -> None:
        """Play `unroll_length` steps, and update once; rates and batches are those of reinforcement."""
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
        loss = -(functional.log_softmax(readout.logits, dim=1).masked_fill(~wanted, MASKED).logsumexp(1)).mean()
        self.update(loss)
        self.note(loss, readout)


def one_of(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B,) one of the right choices (B, A), each alike."""
    return np.where(right, rng.random(right.shape), -1.0).argmax(1)
