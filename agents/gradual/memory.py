"""Hold the learner's memory besides skills: questions and answers, positions of answers in feedback, guesses without
feedback, and judgements between few answers.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from .texts import SILENCE, Tokens, context, is_word, kind, tokens

# ---- Facts: permanent answers, and answers valid until the instance changes.

_SNAPSHOTS = 40  # earlier instances of a context


@dataclass
class Fact:
    """Hold the data on a question in this instance: the best answer, its right uses, all answers in feedback, and all
    wrong answers.
    """

    answer: str = ""
    right: int = 0
    shown: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)


@dataclass
class Mapping:
    """Hold the answers of an earlier instance, and the number of instances with these answers."""

    answers: dict[str, str]
    times: int = 1


class Facts:
    """Store facts by context.

    :ivar facts: context -> question -> fact. :ivar changing: context -> number of times a learned answer became wrong.
    :ivar earlier: context -> the mappings of earlier instances.
    """

    def __init__(self) -> None:
        self.facts: dict[str, dict[str, Fact]] = {}
        self.changing: dict[str, int] = {}
        self.earlier: dict[str, list[Mapping]] = {}

    def known(self, question: str) -> Fact | None:
        """Return the fact of a question, None if no answer is known."""
        fact = self.facts.get(context(question), {}).get(question)
        return fact if fact is not None and fact.answer else None

    def lasting(self, question: str) -> str | None:
        """Return the permanent answer to a question, None if there is none."""
        fact = None if self.changes(question) else self.known(question)
        return fact.answer if fact is not None else None

    def changes(self, question: str) -> bool:
        """Return whether facts of this context are valid for a single instance."""
        return context(question) in self.changing

    def learn(self, question: str, said: str, reward: int, shown: str) -> None:
        """Store the reward of an answer, and the answer in the feedback."""
        where = context(question)
        facts = self.facts.setdefault(where, {})
        fact = facts.setdefault(question, Fact())
        if reward > 0:
            fact.answer, fact.right = said, fact.right + 1
            return
        meant = said.rstrip(SILENCE)  # silence may follow an answer, and the verdict may cut it short
        failed = bool(meant) and fact.answer.startswith(meant) and shown != fact.answer
        if failed and not fact.right and where not in self.changing:
            fact.answer = ""  # never right: the learner misread feedback
        elif failed:
            # Another instance has begun: archive the answers of the last instance.
            self.changing[where] = self.changing.get(where, 0) + 1
            self.remember(where, {asked: fact.answer for asked, fact in facts.items() if fact.answer})
            fact = Fact()
            self.facts[where] = {question: fact}
        fact.wrong.add(said)
        if shown and shown not in fact.wrong:
            fact.shown.add(shown)
            if not fact.right:
                fact.answer = shown

    def forget_shown(self, question: str) -> list[str]:
        """Delete misread answers of this context, those that were never right; return their questions."""
        facts = self.facts.get(context(question), {})
        misread = [asked for asked, fact in facts.items() if not fact.right]
        for asked in misread:
            del facts[asked]
        return misread

    def recalled(self, question: str) -> str:
        """Return the answer in an earlier instance that agrees with all facts of this instance, "" for none."""
        where = context(question)
        now = {asked: fact for asked, fact in self.facts.get(where, {}).items() if fact.answer or fact.wrong}
        best, most = "", -1
        for mapping in reversed(self.earlier.get(where, [])):
            earlier = mapping.answers
            if question not in earlier or earlier[question] in now.get(question, Fact()).wrong:
                continue
            agree = sum(earlier.get(asked) == fact.answer for asked, fact in now.items() if fact.answer)
            refuted = any(
                (fact.answer and earlier.get(asked, fact.answer) != fact.answer) or earlier.get(asked) in fact.wrong
                for asked, fact in now.items()
            )
            if not refuted and agree > most:
                best, most = earlier[question], agree
        return best

    def remember(self, where: str, answers: dict[str, str]) -> None:
        """Store the mapping of an instance, merged into an earlier mapping that agrees with it."""
        earlier = self.earlier.setdefault(where, [])
        for mapping in earlier:
            shared = mapping.answers.keys() & answers.keys()
            if len(shared) > 1 and all(mapping.answers[asked] == answers[asked] for asked in shared):
                mapping.answers.update(answers)
                mapping.times += 1
                return
        earlier.append(Mapping(answers))
        del earlier[:-_SNAPSHOTS]


# ---- The position of the answer in feedback.

_COMPARED = 6  # unexplained texts


class Reader:
    """Extract the answer from feedback. `heads`: text before an answer -> number of confirmations."""

    def __init__(self) -> None:
        self.heads: Counter[str] = Counter()
        self._open: list[str] = []

    def shown(self, feedback: str, length: int, stop: str) -> str:
        """Return the right answer in the feedback on a wrong one, "" for none; `length` is 0 if a stop ends answers."""
        if not feedback:
            return ""
        if length:
            return feedback[-length:].lstrip(SILENCE)
        answer = feedback[len(self._head(feedback)) :]
        if answer == stop:
            return ""
        return answer if not stop or answer.endswith(stop) else answer + stop

    def confirm(self, said: str, feedback: str) -> None:
        """Learn from the feedback on a right answer, which may repeat it."""
        head = feedback.removesuffix(said)
        if said and head != feedback:
            self.heads[head] += 1

    def _head(self, feedback: str) -> str:
        known = [head for head in self.heads if head and feedback.startswith(head) and feedback != head]
        if known:
            return max(known, key=len)
        if self._open and self._open[-1] != feedback:
            self._open = [*self._open, feedback][-_COMPARED:]
            head = max((_shared(feedback, other) for other in self._open if other != feedback), key=len)
            if head:
                self.heads[head] += 1
                return head
        elif not self._open:
            self._open = [feedback]
        return feedback[: feedback.rstrip(SILENCE).rfind(SILENCE) + 1]


def _shared(one: str, other: str) -> str:
    """Return the common beginning of two texts, up to its last silence."""
    same = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return same[: same.rfind(SILENCE) + 1]


# ---- Guesses from rewards alone: an answer copies the question, is common to a kind of questions, or belongs only to
# this question.

_FADING = 0.9
_GIVEN_UP = 80  # failures in a row that imply a new instance


def _group(question: str) -> str:
    return "letter" if is_word(question) else "digit" if question.isdigit() else "sign"


class Guesser:
    """Guess answers, and estimate the success of each way to guess for each kind of question.

    :ivar trust: (way, kind of question) -> [number right, number wrong]; recent guesses weigh more.
    """

    def __init__(self) -> None:
        self.trust: dict[tuple[str, str], list[float]] = {}
        self.heard: dict[str, None] = {}
        self._failures = 0
        self._forget()

    def answer(self, question: str) -> str:
        if question in self._known:
            return self._known[question]
        self.heard.setdefault(question)
        self._seen.setdefault(question)
        group = _group(question)
        wrong, common = self._wrong.get(question, set()), self._common.get(group)
        everything = dict.fromkeys([*self._seen, *self.heard, *map(chr, range(32, 127))])
        free = self._rate("own", group)
        seen = 1 + sum(_group(other) == group for other in self._seen)

        def score(value: str) -> float:
            if value in wrong:
                return -1.0
            explored = (1.0 if _group(value) == group else 0.3) if value in self._seen else 0.02
            if value in self._refuted.get(group, ()):
                explored *= free
            result = explored / seen
            if value == question:
                result += self._rate("copy", group)
            if value == common:
                result += self._rate("common", group)
            return result

        return max(everything, key=score)

    def learn(self, question: str, said: str, reward: int) -> None:
        """Update from the reward of an answer."""
        group = _group(question)
        common = self._common.get(group)
        if reward > 0:
            self._failures = 0
            if question not in self._known:
                self._judge("copy", group, question == said)
                if common is not None:
                    self._judge("common", group, common == said)
                    self._judge("own", group, common != said)
            self._known[question] = self._common[group] = said
            return
        self._failures += 1
        expected = self._known.get(question) == said or (common == said and self._rate("common", group) > 0.6)
        if expected or self._failures > _GIVEN_UP:
            self._forget()
            self._seen[question] = None
        elif question == said:
            self._judge("copy", group, False)
        elif common == said:
            self._judge("common", group, False)
        self._wrong.setdefault(question, set()).add(said)
        self._refuted.setdefault(group, set()).add(said)

    def _forget(self) -> None:
        """Reset for a new instance."""
        self._known: dict[str, str] = {}
        self._common: dict[str, str] = {}
        self._wrong: dict[str, set[str]] = {}
        self._refuted: dict[str, set[str]] = {}
        self._seen: dict[str, None] = {}
        self._failures = 0

    def _rate(self, way: str, group: str) -> float:
        right, wrong = self.trust.get((way, group), (0, 0))
        return (right + 0.5) / (right + wrong + 1.5)

    def _judge(self, way: str, group: str, right: bool) -> None:
        counts = self.trust.setdefault((way, group), [0, 0])
        counts[:] = [count * _FADING for count in counts]
        counts[not right] += 1


# ---- Judgements: if questions have few different answers, features decide between the answers.
#
# The last content token of a question is the subject. The literal words sort the other content into lists by the word
# before it. A feature tests whether the subject contains or is covered by a list, perhaps only if some literal word is
# present. The better answer is right if all chosen features hold: few features that exclude the other answer's
# questions.

_FEW = 2  # different answers
_COVERED = 0.9  # least share of all answers that the few must cover; the rest count as misread
_ENOUGH = 4  # examples
_KEPT = 400
_COMMON = 0.05  # least share of questions that contain a literal word
_TOLERATED = 0.02  # share of the examples that may be wrong

#: A condition and a choice of lists, each (literal word, whether it must be present) or None for any; and a relation.
Feature: TypeAlias = tuple[tuple[str, bool] | None, tuple[str, bool] | None, str]


def covered(subject: str, items: Tokens) -> bool:
    """Return whether every character lies in an occurrence of some item; occurrences may overlap."""
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


def _conditions(literals: Tokens) -> list[tuple[str, bool] | None]:
    return [None, *((word, there) for word in literals for there in (True, False))]


def features(literals: Tokens) -> list[Feature]:
    conditions = _conditions(literals)
    return [(condition, which, relation) for condition in conditions for which in conditions for relation in RELATIONS]


@lru_cache(maxsize=1 << 12)
def _row(question: str, literals: Tokens) -> np.ndarray:
    """Return which features hold of a question; a feature with an unmet condition or an empty list also holds."""
    parts = [token for token in tokens(question) if kind(token) in "wd"]
    behind, content, before = [], [], ""
    for token in parts:
        if token in literals:
            before = token
        else:
            content.append(token)
            behind.append(before)
    subject = content.pop() if content else ""
    conditions = _conditions(literals)
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
    """Hold questions that begin alike with their answers, the latest last, and the features that hold if `better` is
    right.
    """

    answers: dict[str, str] = field(default_factory=dict)
    literals: Tokens = ()
    chosen: list[Feature] = field(default_factory=list)
    better: str = ""
    other: str = ""

    def answer(self, question: str) -> str | None:
        """Return the answer, None if the judge has no data."""
        if not self.better:
            return None
        if not self.chosen:
            return self.better
        every = features(self.literals)
        row = _row(question, self.literals)
        return self.better if all(row[every.index(feature)] for feature in self.chosen) else self.other

    def learn(self, question: str, answer: str) -> None:
        """Store a right answer. If the judge would have answered differently, select its features again."""
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
        """Return frequent words whose letter case is that of words in almost all questions."""
        counts = Counter(word for question in self.answers for word in set(filter(is_word, tokens(question))))
        number = len(self.answers)
        styles = {word.islower() for word, count in counts.items() if count >= 0.9 * number}
        return tuple(
            sorted(word for word, count in counts.items() if word.islower() in styles and count >= _COMMON * number)
        )


def _cover(positive: np.ndarray, negative: np.ndarray) -> tuple[list[int], int]:
    """Select greedily features that hold of almost all positive rows and together exclude negative rows; also return
    the number of negative rows left."""
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
    """Hold the judges, by the first word of a question."""

    def __init__(self) -> None:
        self.judges: dict[str, Judge] = {}

    def answer(self, question: str) -> str | None:
        """Return the answer, None if no judge has data."""
        judge = self.judges.get(_first(question))
        return judge.answer(question) if judge is not None else None

    def learn(self, question: str, answer: str) -> None:
        """Store a right answer."""
        self.judges.setdefault(_first(question), Judge()).learn(question, answer)

    def remember(self, question: str, answer: str) -> None:
        """Restore an answer that the judge of such questions has learned before."""
        judge = self.judges.get(_first(question))
        if judge is not None and answer in (judge.better, judge.other):
            judge.answers[question] = answer

    def forget(self, question: str) -> None:
        """Delete the misread answers to such questions."""
        self.judges.pop(_first(question), None)


def _first(question: str) -> str:
    return next(filter(is_word, tokens(question)), "")
