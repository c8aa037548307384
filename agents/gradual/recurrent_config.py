"""The settings of a training run of the recurrent agent."""

from gumption.agents.settings import RunConfig
from gumption.data.settings import Count, NonNegative, Seed, Share, Size, settings


@settings
class RecurrentConfig(RunConfig):
    """A training run of the recurrent agent.

    :ivar tasks: names; none for all of the challenge. Each stream begins with the first.
    :ivar success_threshold: solved instances in a row that end a task.
    :ivar total_steps: bytes, of all streams together.
    :ivar eval_interval: of them between lines of metrics.
    :ivar batch_size: streams.
    :ivar unroll_length: bytes of each in an update, over which gradients go back.
    :ivar hidden_size: of the LSTM.
    :ivar learning_rate: of Adam.
    :ivar discount: of rewards.
    :ivar entropy_cost, baseline_cost: weights of these parts of the loss.
    :ivar max_grad_norm: to which gradients are clipped.
    :ivar seed: fixes everything.
    :ivar device: auto, cpu or cuda.
    """

    tasks: tuple[str, ...] = ()
    success_threshold: Count = 5
    total_steps: Count = 2_000_000
    eval_interval: Count = 100_000
    batch_size: Size = 128
    unroll_length: Size = 32
    hidden_size: Size = 128
    learning_rate: NonNegative = 1e-3
    discount: Share = 0.9
    entropy_cost: NonNegative = 0.01
    baseline_cost: NonNegative = 0.5
    max_grad_norm: NonNegative = 40.0
    seed: Seed = 0
    device: str = "auto"
    world: str = "gradual"
