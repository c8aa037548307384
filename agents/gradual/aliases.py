"""Words that stand for others: a question like a known one but for some words may mean that one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from .texts import SILENCE, Tokens, is_word, tokens

#: A question whose content is None.
Skeleton: TypeAlias = tuple[str | None, ...]

_MOST = 2  # words replaced in a question


class HasSkeletons(Protocol):
    """A skill, as far as it matters here."""

    skeletons: dict[Skeleton, None]


@dataclass(frozen=True)
class Meaning:
    """A question that another one may mean, and the words replaced for that."""

    question: str
    pairs: tuple[tuple[str, str], ...]
    trust: float


class Aliases:
    """What stands for what.

    :ivar evidence: (word, meaning) -> [how often it was right, how often wrong].
    """

    def __init__(self) -> None:
        self.evidence: dict[tuple[str, str], list[int]] = {}

    def trust(self, pair: tuple[str, str]) -> float:
        """How likely a word stands for another."""
        right, wrong = self.evidence.get(pair, (0, 0))
        return (right + 0.5) / (right + wrong + 1)

    def meanings(self, question: str, skills: Sequence[HasSkeletons], least: float = 0.0) -> list[Meaning]:
        """What a question may mean, the likeliest first.

        :param least: the least trust in each replaced word.
        """
        asked = tokens(question)
        found: dict[str, Meaning] = {}
        for skill in skills:
            for skeleton in skill.skeletons:
                if len(skeleton) != len(asked):
                    continue
                pairs = _replaced(asked, skeleton)
                if not pairs or len(pairs) > _MOST:
                    continue
                trusts = [self.trust(pair) for pair in pairs.items()]
                if min(trusts) < least:
                    continue
                trust = 1.0
                for each in trusts:
                    trust *= each
                meaning = "".join(
                    pairs.get(token, token) if literal is not None else token
                    for token, literal in zip(asked, skeleton, strict=True)
                )
                if meaning not in found or trust > found[meaning].trust:
                    found[meaning] = Meaning(meaning, tuple(pairs.items()), trust)
        return sorted(found.values(), key=lambda meaning: -meaning.trust)

    def judge(self, meaning: Meaning, right: bool) -> None:
        """A meaning gave a right or a wrong answer; a wrong one speaks against the least trusted word."""
        if right:
            for pair in meaning.pairs:
                self.evidence.setdefault(pair, [0, 0])[0] += 1
        else:
            pair = min(meaning.pairs, key=self.trust)
            self.evidence.setdefault(pair, [0, 0])[1] += 1


def _replaced(asked: Tokens, skeleton: Skeleton) -> dict[str, str] | None:
    """The words that have to be replaced, None where that is not enough."""
    pairs: dict[str, str] = {}
    for token, literal in zip(asked, skeleton, strict=True):
        if literal is None:
            if token == SILENCE:
                return None
        elif token != literal and (
            token == SILENCE or not is_word(literal) or pairs.setdefault(token, literal) != literal
        ):
            return None
    return pairs
