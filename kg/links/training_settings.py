"""Settings of the training of link predictors, in a module without torch, so that commands check values quickly."""

from typing import Literal

from gumption.data.settings import Count, NonNegative, Positive, Seed, Size, SmallShare, settings

Weighting = Literal["fact", "query"]
Precision = Literal["float32", "tf32", "bfloat16"]
WordMode = Literal["add", "gate"]


@settings
class TrainingSettings:
    """The settings of a training of links; `ComplEx.fit` says more of each.

    :ivar rank: complex dimensions of an embedding.
    :ivar epochs: passes over the facts.
    :ivar batch_size: queries in a batch.
    :ivar learning_rate: step size of Adagrad.
    :ivar n3: weight of the nuclear 3-norm.
    :ivar reciprocal: learn each relation in both directions.
    :ivar relation_weight: weight of predicting the relation beside the entity.
    :ivar weighting: what weighs the same: each "fact", or each "query".
    :ivar precision: numbers of the products: float32, tf32 or bfloat16.
    :ivar valid_every: epochs between two looks at the validation facts.
    :ivar patience: stop after so many looks without a better MRR.
    :ivar word_mode: how a word's projection is used: "add" it, or "gate" it.
    :ivar word_dropout: share of the entities that learn from their words alone in a step.
    :ivar seed: fixes the first embeddings and the batches.
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
