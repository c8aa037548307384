"""How ComplEx is trained. Without torch, so that a command refuses a bad value before anything is read."""

from dataclasses import dataclass
from math import inf

from gumption.data import InputError

PRECISIONS = ("float32", "tf32", "bfloat16")
WORD_MODES = ("add", "gate")
WEIGHTINGS = ("fact", "query")


@dataclass(frozen=True)
class TrainingSettings:
    """What `ComplEx.fit` is told; see there.

    :raises InputError: a setting out of range.
    """

    rank: int = 128
    epochs: int = 50
    batch_size: int = 512
    learning_rate: float = 0.1
    n3: float = 1e-2
    reciprocal: bool = True
    relation_weight: float = 0.0
    weighting: str = "fact"
    precision: str = "float32"
    valid_every: int = 10
    patience: int | None = None
    word_mode: str = "add"
    word_dropout: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (
            ("rank", self.rank, 1),
            ("epochs", self.epochs, 1),
            ("batch_size", self.batch_size, 1),
            ("valid_every", self.valid_every, 1),
            ("patience", self.patience, 1),
            ("seed", self.seed, 0),
        ):
            if value is not None and value < least:
                raise InputError(f"{name} is {value}; it is at least {least}")
        if not 0 < self.learning_rate < inf:
            raise InputError(f"learning_rate is {self.learning_rate}; it is a number above 0")
        for name, weight in (("n3", self.n3), ("relation_weight", self.relation_weight)):
            if not 0 <= weight < inf:
                raise InputError(f"{name} is {weight}; it is a number of at least 0")
        if not 0 <= self.word_dropout < 1:
            raise InputError(f"word_dropout is {self.word_dropout}; it is at least 0 and below 1")
        for name, choice, choices in (
            ("weighting", self.weighting, WEIGHTINGS),
            ("precision", self.precision, PRECISIONS),
            ("word_mode", self.word_mode, WORD_MODES),
        ):
            if choice not in choices:
                raise InputError(f"{name} is {choice!r}; it is one of {', '.join(choices)}")
