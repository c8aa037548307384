"""Questions with few different answers: which one is right is judged by what one text has to do with others.

The last content of a question is the subject. The other content is put into lists by the literal words before it, and
features say whether the subject contains or is covered by a list, perhaps only where some literal word is there. The
better answer is judged by the fewest features that hold wherever it was right and exclude where it was not.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from .texts import Tokens, is_word, kind, tokens

_FEW = 2  # different answers
_COVERED = 0.9  # share of the answers that are among these; the others were misunderstood
_ENOUGH = 4  # examples
_KEPT = 400
_COMMON = 0.05  # share of the questions that a literal word is in, at least
_TOLERATED = 0.02  # share of the examples that may be wrong

#: (literal word, whether it has to be there), which list, how the subject relates to it.
Feature: TypeAlias = tuple[tuple[str, bool] | None, tuple[str, bool] | None, str]


def covered(subject: str, items: Tokens) -> bool:
    """Whether every character lies in an occurrence of some item; occurrences may overlap."""
    covered_to = 0
    for end in range(1, len(subject) + 1):
        starts = [end - len(item) for item in items if subject.endswith(item, 0, end)]
        if starts and min(starts) <= covered_to:
            covered_to = end
    return covered_to == len(subject)


RELATIONS = {
    "covered": covered,
    "has all": lambda subject, items: all(item in subject for item in items),
    "has some": lambda subject, items: any(item in subject for item in items),
    "has none": lambda subject, items: not any(item in subject for item in items),
}


def features(literals: Tokens) -> list[Feature]:
    """All features, the plain ones first."""
    conditions = [None, *((word, there) for word in literals for there in (True, False))]
    return [(condition, which, relation) for condition in conditions for which in conditions for relation in RELATIONS]


@lru_cache(maxsize=1 << 12)
def _row(question: str, literals: Tokens) -> np.ndarray:
    """Which features hold of a question; one whose condition is not met or whose list is empty does."""
    parts = [token for token in tokens(question) if kind(token) in "wd"]
    behind, content, before = [], [], ""
    for token in parts:
        if token in literals:
            before = token
        else:
            content.append(token)
            behind.append(before)
    subject = content.pop() if content else ""
    conditions = [None, *((word, there) for word in literals for there in (True, False))]
    held = []
    for which in conditions:
        items = tuple(
            item for item, word in zip(content, behind, strict=False) if which is None or (word == which[0]) == which[1]
        )
        held += [not items or relation(subject, items) for relation in RELATIONS.values()]
    rows = [
        held if condition is None or (condition[0] in parts) == condition[1] else [True] * len(held)
        for condition in conditions
    ]
    return np.array(rows, bool).reshape(-1)


@dataclass
class Judge:
    """Questions that begin alike, and their answers.

    :ivar answers: question -> answer, the latest last. :ivar chosen: features that hold where `better` is right.
    """

    answers: dict[str, str] = field(default_factory=dict)
    literals: Tokens = ()
    chosen: list[Feature] = field(default_factory=list)
    better: str = ""
    other: str = ""

    def answer(self, question: str) -> str | None:
        """The answer judged right, None where this is no matter of judging."""
        if not self.better:
            return None
        if not self.chosen:
            return self.better
        every = features(self.literals)
        row = _row(question, self.literals)
        return self.better if all(row[every.index(feature)] for feature in self.chosen) else self.other

    def learn(self, question: str, answer: str) -> None:
        """Take in a right answer, and find the features anew where it was judged otherwise."""
        right = self.answer(question) == answer
        self.answers.pop(question, None)
        self.answers[question] = answer
        if len(self.answers) > _KEPT:
            del self.answers[next(iter(self.answers))]
        if not right:
            self._choose()

    def _choose(self) -> None:
        counts = Counter(self.answers.values()).most_common()
        common = dict(counts[:_FEW])
        self.better = ""
        if sum(common.values()) < _COVERED * len(self.answers) or len(self.answers) < _ENOUGH:
            return
        self.answers = {question: answer for question, answer in self.answers.items() if answer in common}
        labels = sorted(common)
        self.chosen, self.better, self.other = [], labels[-1], labels[0]
        if len(labels) == 1:
            return
        self.literals = self._literal_words()
        rows = np.stack([_row(question, self.literals) for question in self.answers])
        given = np.array(list(self.answers.values()))
        found = []
        for better, other in (labels, labels[::-1]):
            chosen, left = _cover(rows[given == better], rows[given == other])
            found.append((left, len(chosen), chosen, better, other))
        _, _, chosen, self.better, self.other = min(found, key=lambda entry: entry[:2])
        every = features(self.literals)
        self.chosen = [every[place] for place in chosen]

    def _literal_words(self) -> Tokens:
        """Words in many questions that are written like those in all of them."""
        counts: dict[str, int] = {}
        for question in self.answers:
            for word in dict.fromkeys(filter(is_word, tokens(question))):
                counts[word] = counts.get(word, 0) + 1
        number = len(self.answers)
        styles = {word.islower() for word, count in counts.items() if count >= 0.9 * number}
        return tuple(
            sorted(word for word, count in counts.items() if word.islower() in styles and count >= _COMMON * number)
        )


def _cover(positive: np.ndarray, negative: np.ndarray) -> tuple[list[int], int]:
    """Features that hold of all positive rows and together exclude the negative ones, chosen greedily; how many
    negative rows are left."""
    holds = (~positive).sum(0) <= _TOLERATED * len(positive)
    chosen: list[int] = []
    left = negative
    while len(left):
        excluded = (~left).sum(0) * holds
        best = int(excluded.argmax())
        if not excluded[best]:
            break
        chosen.append(best)
        left = left[left[:, best]]
    return chosen, len(left)


class Judgements:
    """Judges by the first word of a question."""

    def __init__(self) -> None:
        self.judges: dict[str, Judge] = {}

    def answer(self, question: str) -> str | None:
        """The answer judged right, None where this is no matter of judging."""
        judge = self.judges.get(_first(question))
        return judge.answer(question) if judge is not None else None

    def learn(self, question: str, answer: str) -> None:
        """Take in a right answer."""
        self.judges.setdefault(_first(question), Judge()).learn(question, answer)

    def remember(self, question: str, answer: str) -> None:
        """Take in an answer from which the judge of such questions has learned before."""
        judge = self.judges.get(_first(question))
        if judge is not None and answer in (judge.better, judge.other):
            judge.answers[question] = answer

    def forget(self, question: str) -> None:
        """The answers to such questions were misread."""
        self.judges.pop(_first(question), None)


def _first(question: str) -> str:
    return next(filter(is_word, tokens(question)), "")
