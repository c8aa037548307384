"""An agent's network trained by supervision: it is told the right choices of its training tasks, and sees no reward and
no knowledge. It is what a graph and reinforcement are worth more than, or not."""

import numpy as np
import torch
from torch.nn import functional

from gumption.agents.learners.impala import ImpalaLearner
from gumption.agents.policy import MASKED, PolicyInput
from gumption.data.progress import Bar
from gumption.envs.wordcraft import WordCraftVectorEnv

from .evaluation import needed


def right_slots(env: WordCraftVectorEnv) -> np.ndarray:
    """(B, S) bool: the slots of the ingredients of the next recipe, of its other ingredient once one is selected."""
    one, other = needed(env)
    one, other = np.where(env.selection == one, other, one), np.where(env.selection == other, one, other)
    return (env.table == one[:, None]) | (env.table == other[:, None])


class SupervisedLearner(ImpalaLearner):
    """Plays right choices, and makes them likelier: the loss is the cross-entropy of the next right slot."""

    def learn(self, bar: Bar) -> None:
        """Play `unroll_length` steps, and update once; rates and batches are those of reinforcement."""
        states: list[PolicyInput] = []
        right: list[np.ndarray] = []
        for _ in range(self.learner.unroll_length):
            states.append(self.state_now)
            right.append(right_slots(self.env))
            _, over, won = self.env.step_arrays(chosen(right[-1], self.env.np_random))
            self.state_now = self.policy.read(self.env)
            self.counts.episodes += int(over.sum())
            self.counts.won += int(won.sum())
        seen = zip(*(state.seen for state in states), strict=True)
        joined = PolicyInput(tuple(map(torch.cat, seen)), torch.cat([state.scores for state in states]))
        logits = self.policy(joined).logits
        wanted = torch.from_numpy(np.concatenate(right)).to(logits.device)
        loss = -(functional.log_softmax(logits, dim=1).masked_fill(~wanted, MASKED).logsumexp(1)).mean()
        self.update(loss)
        if self.counts.updates % 10 == 1:  # as reinforcement does: reading a number off the device waits for it
            self.counts.loss = float(loss.detach())


def chosen(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(B,) one of the right slots of each table, each alike."""
    return np.where(right, rng.random(right.shape), -1.0).argmax(1)
