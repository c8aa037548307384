"""Hold skills: programs, each with a guard that selects its questions, and the evidence for it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import TypeAlias

from .programs import Program, Setting, frame, parts, run
from .texts import SILENCE, Tokens, is_word, shape, tokens

# ---- Aliases, words that stand for others: a question that differs from a known question in some words may mean it.

#: A question with None for content tokens.
Skeleton: TypeAlias = tuple[str | None, ...]

_MOST = 2  # most words replaced in a question


@dataclass(frozen=True)
class Meaning:
    """Hold the possible meaning of another question, the pairs of words that differ, and the trust in the meaning."""

    question: str
    pairs: tuple[tuple[str, str], ...]
    trust: float


class Aliases:
    """Store aliases. `evidence`: (word, meaning) -> [number right, number wrong]."""

    def __init__(self) -> None:
        self.evidence: dict[tuple[str, str], list[int]] = {}

    def trust(self, pair: tuple[str, str]) -> float:
        """Estimate the probability that a word stands for another."""
        right, wrong = self.evidence.get(pair, (0, 0))
        return (right + 0.5) / (right + wrong + 1)

    def meanings(self, question: str, skills: "Sequence[Skill]", least: float = 0.0) -> list[Meaning]:
        """Return possible meanings of a question, the likeliest first, with at least `least` trust in each alias."""
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
                trust = prod(trusts)
                meaning = "".join(
                    pairs.get(token, token) if literal is not None else token
                    for token, literal in zip(asked, skeleton, strict=True)
                )
                if meaning not in found or trust > found[meaning].trust:
                    found[meaning] = Meaning(meaning, tuple(pairs.items()), trust)
        return sorted(found.values(), key=lambda meaning: -meaning.trust)

    def judge(self, meaning: Meaning, right: bool) -> None:
        """Record whether a meaning led to a right answer; a wrong answer counts against the least trusted alias."""
        for pair in meaning.pairs if right else [min(meaning.pairs, key=self.trust)]:
            self.evidence.setdefault(pair, [0, 0])[not right] += 1


def _replaced(asked: Tokens, skeleton: Skeleton) -> dict[str, str] | None:
    """Return the words to replace, None if the question differs in more than words."""
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


# ---- Skills

_SKELETONS = 8
_DEEPEST = 2  # most levels of nested questions
_TRUSTED, _SURE = 0.5, 0.9
_PROVED, _REFUTED = 5, 3  # right or wrong answers
_ODDS = 20  # right answers per wrong answer that prove a skill
RECALL: Program = ("recalled",)


@dataclass
class Skill:
    """Hold a learned program.

    :ivar guard: literal tokens; a question must contain the words in it. :ivar record: shape -> [right, wrong].
    :ivar domain: characters of earlier content. :ivar relation: content -> answer, for a look-up.
    :ivar skeletons: answered questions without their content. :ivar name: "skill 7".
    """

    guard: frozenset[str]
    program: Program
    domain: str = ""
    record: dict[str, list[float]] = field(default_factory=dict)
    relation: dict[str, str] = field(default_factory=dict)
    skeletons: dict[Skeleton, None] = field(default_factory=dict)
    name: str = ""

    @property
    def words(self) -> frozenset[str]:
        """Return the words that a question must contain."""
        return _words_of(self.guard)

    def matches(self, question: str) -> bool:
        words = self.words
        return words.issubset(tokens(question)) if words else shape(question) in self.record

    def rate(self, question: str) -> float:
        """Estimate the share of right answers to questions of this shape."""
        right, wrong = self.record.get(shape(question), (0, 0))
        every = self.total()
        prior = 0.3 + 0.5 * (every[0] + 1) / (sum(every) + 2)
        return (right + prior) / (right + wrong + 1)

    def total(self) -> tuple[float, float]:
        """Return the numbers of right and of wrong answers."""
        counts = self.record.values()
        return sum(right for right, _ in counts), sum(wrong for _, wrong in counts)

    def key(self, question: str) -> str:
        """Return the content of a question, the key of a look-up."""
        return " ".join(frame(question, self.guard).content)

    def note(self, question: str, verdict: float) -> None:
        """Count an answer: right if the verdict is positive, else add -verdict to the wrong count."""
        counts = self.record.setdefault(shape(question), [0, 0])
        if verdict > 0:
            counts[0] += 1
            literal = set(frame(question, self.guard).content)
            skeleton = tuple(None if token in literal else token for token in tokens(question))
            if len(self.skeletons) < _SKELETONS:
                self.skeletons.setdefault(skeleton)
        else:
            counts[1] -= verdict


@lru_cache(maxsize=1 << 10)
def _words_of(guard: frozenset[str]) -> frozenset[str]:
    return frozenset(filter(is_word, guard))


class Skills:
    """Hold all skills. `stop` is the sign that ends answers."""

    def __init__(self, recall: Callable[[str], str | None]) -> None:
        """:param recall: returns the permanent answer to a question, None if unknown."""
        self.skills: list[Skill] = []
        self.aliases = Aliases()
        self.stop = ""
        self._recall = recall
        self._around: tuple[str, ...] = ()  # the questions that enclose the current question
        self._solved: dict[tuple[str, ...], str | None] = {}

    def output(self, skill: Skill, question: str) -> str | None:
        """Return the answer of a skill, None if it has none."""
        if skill.program == RECALL:
            key = skill.key(question)
            # The relation may store the answer to an enclosing question, which would make any program seem right.
            if any(skill.matches(other) and skill.key(other) == key for other in self._around):
                return None
            return skill.relation.get(key)
        value = run(skill.program, frame(question, skill.guard), Setting(self.solve, skill.domain))
        return self.finished(value) if isinstance(value, str) and value else None

    def finished(self, answer: str) -> str:
        """Append the sign that ends answers, unless the answer has it."""
        return answer if answer.endswith(self.stop) else answer + self.stop

    def ranked(self, question: str, which: Callable[[Skill], bool] = bool) -> list[tuple[float, Skill, str]]:
        """Return the answers of skills to a question, the most trusted first."""
        found = []
        for skill in self.skills:
            if which(skill) and skill.matches(question) and (answer := self.output(skill, question)) is not None:
                found.append((skill.rate(question), skill, answer))
        found.sort(key=lambda entry: (-(entry[0] >= _TRUSTED), -len(entry[1].words), -entry[0]))
        return found

    def best(self, question: str, which: Callable[[Skill], bool] = bool) -> tuple[float, str | None]:
        """Return the rate of the most trusted skill, and its answer."""
        ranked = self.ranked(question, which)
        return (ranked[0][0], ranked[0][2]) if ranked and ranked[0][0] >= _TRUSTED else (0, None)

    def renamed(self, question: str, least: float) -> tuple[float, str | None]:
        """Return the best answer to the possible meanings of this question, with its rate times the trust."""
        best: tuple[float, str | None] = 0, None
        for meaning in self.aliases.meanings(question, self.skills, least):
            if meaning.trust > best[0]:
                rate, answer = self.best(meaning.question)
                best = max(best, (meaning.trust * rate, answer), key=lambda entry: entry[0])
        return best

    def answer(self, question: str, least: float) -> str | None:
        """Return the most trusted answer, with at least `least` trust in each alias."""
        rate, answer = self.best(question)
        if rate > _SURE:
            return answer
        return max((rate, answer), self.renamed(question, least), key=lambda entry: entry[0])[1]

    def solve(self, question: str, around: str) -> str | None:
        """Answer a question that a program has made from the question `around`."""
        if len(self._around) >= _DEEPEST:
            return None
        before = self._around
        key = *before, around, question
        if key not in self._solved:
            self._around = *before, around
            try:
                self._solved[key] = self._recall(question) or self.answer(question, 0.6)
            finally:
                self._around = before
        return self._solved[key]

    def refresh(self) -> None:
        """Clear the cached answers to nested questions, after learning."""
        self._solved.clear()

    def used(self) -> Counter[str]:
        """Count operations and leaves in proved skills."""
        proved = (skill for skill in self.skills if skill.total()[0] >= max(_PROVED, _ODDS * skill.total()[1]))
        return Counter(part for skill in proved for part in parts(skill.program))

    def drop_refuted(self) -> None:
        self.skills = [skill for skill in self.skills if skill.total()[1] < max(_REFUTED, skill.total()[0])]

    def add(self, skill: Skill) -> None:
        """Add a skill, and remove skills that it covers."""
        numbers = [int(other.name.split()[1]) for other in self.skills]
        skill.name = f"skill {max(numbers, default=0) + 1}"
        self.skills = [
            other
            for other in self.skills
            if other.program != skill.program or not skill.guard <= other.guard or not skill.words
        ]
        self.skills.append(skill)
