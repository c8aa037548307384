"""Settings of trainings, in a module without torch, so that a command refuses a bad value at once."""

from typing import Literal

from gumption.data.settings import Count, NonNegative, Positive, Seed, Size, SmallShare, settings

Weighting = Literal["fact", "query"]
Precision = Literal["float32", "tf32", "bfloat16"]
WordMode = Literal["add", "gate"]


@settings
class TrainingSettings:
    """What `ComplEx.fit` is told; see there.

    :raises InputError: a setting out of range.
    """

    rank: Size = 128
    epochs: Count = 50
    batch_size: Count = 512
    learning_rate: Positive = 0.1
    n3: NonNegative = 1e-2
    reciprocal: bool = True
    relation_weight: NonNegative = 0.0
    weighting: Weighting = "fact"
    precision: Precision = "float32"
    valid_every: Count = 10
    patience: Count | None = None
    word_mode: WordMode = "add"
    word_dropout: SmallShare = 0.3
    seed: Seed = 0
