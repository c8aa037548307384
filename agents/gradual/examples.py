"""Questions whose answers are known: right by reward, or shown by feedback."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from .texts import Tokens, shape, tokens

_KEPT = 600
_PART = 40  # of one shape


@dataclass
class Example:
    """A question with the answers that were right, that were shown and that were wrong."""

    question: str
    tokens: Tokens
    right: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)

    def verdict(self, answer: str | None) -> float:
        """How well an answer agrees: 1 right, 0.5 shown, 0 unknown, -0.5 unlike what is known, -1 wrong."""
        if answer is None:
            return 0
        if answer in self.right:
            return 1
        if answer in self.wrong:
            return -1
        if answer in self.shown:
            return 0.5
        return -0.5 if self.right or self.shown else 0

    @property
    def known(self) -> bool:
        """Whether any answer is known to be good."""
        return bool(self.right or self.shown)


class Examples:
    """The latest examples, by question."""

    def __init__(self) -> None:
        self.all: dict[str, Example] = {}

    def learn(self, question: str, said: str, reward: int, shown: str) -> Example:
        """Take in a verdict."""
        example = self.all.pop(question, None) or Example(question, tokens(question))
        self.all[question] = example
        if len(self.all) > _KEPT:
            del self.all[next(iter(self.all))]
        (example.right if reward > 0 else example.wrong).add(said)
        if shown and shown not in example.wrong:
            example.shown.add(shown)
        return example

    def alike(self, question: str) -> list[Example]:
        """Examples of the same shape, the latest last."""
        wanted = shape(question)
        alike = [example for example in self.all.values() if example.known and shape(example.question) == wanted]
        return alike[-_PART:]

    def drop(self, questions: Iterable[str]) -> None:
        """Forget examples that no longer hold."""
        for question in questions:
            self.all.pop(question, None)
