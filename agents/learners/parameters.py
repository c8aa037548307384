"""Parameters of the learners from replayed moves (replay.py), with the defaults of HALMA's agents. This module
imports no heavy library."""

from typing import Annotated, Literal

from annotated_types import Ge, Le

from gumption.data import InputError
from gumption.data.settings import Count, NonNegative, Positive, Share, Size, settings


@settings
class ReplayParameters:
    """Parameters of a learner from replayed moves. The defaults are those of Table S1 of HALMA's paper (Xie et al.,
    2021), where a note says nothing else.

    :ivar num_envs: environments, stepped together; one update follows each step of the batch.
    :ivar learning_rate: of Adam for the actor, 1e-4 in Table S1; `critic_learning_rate` is not in it.
    :ivar adam_epsilon: of Adam, 1e-8.
    :ivar batch_size: moves of an update, 128.
    :ivar reward_scale: of rewards as the critic sees them; not in Table S1. 0.05 makes values a few units: with rewards
        as they are, up to 100, TD3 learns little, or learns and then collapses.
    :ivar discount: gamma, 0.95.
    :ivar policy_delay: updates of the critic for one of the actor, 5.
    :ivar target_rate: the share that target networks keep of themselves in an update, 0.995.
    :ivar buffer_size: moves that are kept, 10,000.
    :ivar greedy_first, greedy_last, greedy_steps: the probability of the greedy option rises linearly from 0.1 to 0.95
        over 100,000 of `greedy_unit`, environment "steps" or "updates".
    :ivar hidden_size: units of all layers, 128 (Table S2).
    :ivar sequence, burn_in: consecutive moves from which an agent with an LSTM learns, after so many that only update
        its state; not in Table S1. Short sequences show more panels: 8 of 16 teach as much as 8 mazes do, 32 of 4 as
        much as 32.
    :ivar max_grad_norm: of the gradients; None does not clip them. Not in Table S1.
    """

    num_envs: Size = 1
    learning_rate: NonNegative = 1e-4
    critic_learning_rate: NonNegative = 1e-4
    adam_epsilon: NonNegative = 1e-8
    batch_size: Size = 128
    reward_scale: NonNegative = 0.05
    discount: Share = 0.95
    policy_delay: Count = 5
    target_rate: Share = 0.995
    buffer_size: Annotated[int, Ge(1), Le(10**8)] = 10_000
    greedy_first: Share = 0.1
    greedy_last: Share = 0.95
    greedy_steps: Count = 100_000
    greedy_unit: Literal["steps", "updates"] = "steps"
    hidden_size: Size = 128
    sequence: Size = 4
    burn_in: Annotated[int, Ge(0), Le(65_536)] = 4
    max_grad_norm: NonNegative | None = None

    def __post_init__(self) -> None:
        """:raises InputError: numbers that do not fit each other."""
        if self.batch_size % self.sequence:
            raise InputError(f"batch_size is {self.batch_size}; it is a multiple of sequence, {self.sequence}")
        if self.hidden_size % 4:
            raise InputError(f"hidden_size is {self.hidden_size}; it is a multiple of 4, the heads of the attention")
        if self.buffer_size < self.num_envs * (self.sequence + self.burn_in + 2):
            raise InputError(
                f"buffer_size is {self.buffer_size}: no room for sequences of {self.num_envs} environments"
            )


@settings
class TD3Parameters(ReplayParameters):
    """Parameters of TD3 (td3.py): Table S1's.

    :ivar gumbel_temperature: of the softmax through which the actor's gradient goes; not in Table S1.
    """

    gumbel_temperature: Positive = 1.0


@settings
class MPOParameters(ReplayParameters):
    """Parameters of MPO (mpo.py), where they differ from Table S1: an update follows each step of 32
    environments, so that updates are fewer; their rates are larger and their gradients clipped.

    :ivar candidates: options per state that the actor is fitted to, with weights that rise with the critic's value;
        `random_candidates` are drawn as in exploration and the others, at least half, from the actor itself.
    :ivar temperature: of these weights, in scaled reward.
    """

    num_envs: Size = 32
    learning_rate: NonNegative = 1e-3
    critic_learning_rate: NonNegative = 1e-3
    max_grad_norm: NonNegative | None = 10.0
    candidates: Annotated[int, Ge(2), Le(65_536)] = 12
    random_candidates: Annotated[int, Ge(0), Le(65_536)] = 4
    temperature: NonNegative = 0.02

    def __post_init__(self) -> None:
        """:raises InputError: numbers that do not fit each other."""
        if 2 * self.random_candidates > self.candidates:
            raise InputError(f"random_candidates is {self.random_candidates}; it is at most half of the candidates")
        super().__post_init__()
