"""Induce skills from examples: group examples that share words, and search for a program that fits a group."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from .programs import Program, Search, Setting, frame, run
from .skills import RECALL, Skill, Skills
from .texts import Tokens, is_word, shape, tokens

# ---- Questions with known answers, confirmed by a reward or shown in feedback.

_KEPT = 600
_PART = 40  # examples of the same shape


@dataclass
class Example:
    """Hold a question with its right answers, answers shown in feedback, and wrong answers."""

    question: str
    tokens: Tokens
    right: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)

    def verdict(self, answer: str | None) -> float:
        """Score an answer: 1 right, 0.5 shown, 0 unknown, -0.5 unlike the known answers, -1 wrong."""
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
        """Return whether an answer was right, or shown."""
        return bool(self.right or self.shown)


class Examples:
    """Store the latest examples, by question."""

    def __init__(self) -> None:
        self.all: dict[str, Example] = {}

    def learn(self, question: str, said: str, reward: int, shown: str) -> Example:
        """Store the reward of an answer, and the answer in the feedback."""
        example = self.all.pop(question, None) or Example(question, tokens(question))
        self.all[question] = example
        if len(self.all) > _KEPT:
            del self.all[next(iter(self.all))]
        (example.right if reward > 0 else example.wrong).add(said)
        if shown and shown not in example.wrong:
            example.shown.add(shown)
        return example

    def alike(self, question: str) -> list[Example]:
        """Return known examples with a question of the same shape, the latest last."""
        wanted = shape(question)
        alike = [example for example in self.all.values() if example.known and shape(example.question) == wanted]
        return alike[-_PART:]

    def drop(self, questions: Iterable[str]) -> None:
        for question in questions:
            self.all.pop(question, None)


# ---- Groups of examples, and the programs that fit them

_SIZES = (2, 3, 4, 6, 8, 11, 15, 20, 27, 40)  # group sizes at which the inducer searches for a program
_SHOWN = 5  # examples of a search
_BUDGET = 6_000  # programs for each example of a search
_LAST_BUDGET = 60_000  # the same in the last search of a group
_PARTLY = 5  # group size from which a program need not produce all shown answers
_MISUNDERSTOOD = 0.1  # greatest share of misread examples
_WORDLESS = 4  # least size of a group without a common word
_RARE = 0.5  # a word in at most this share of examples is rare: a single program should answer all of them
_RELIABLE = 0.85  # rate of a skill whose examples need no other skill
_STANDS = 0.8  # least trust in an alias that explains an answer
_LOOKED_UP = 4  # least examples of a look-up skill


class Inducer:
    """Induce skills from verdicts."""

    def __init__(self, skills: Skills) -> None:
        self.skills = skills
        self.examples = Examples()
        self._searched: set[tuple[str, frozenset[str], int]] = set()

    def learn(self, question: str, said: str, reward: int, shown: str) -> None:
        """Learn from the reward of an answer, and the answer in the feedback."""
        self.skills.refresh()
        example = self.examples.learn(question, said, reward, shown)
        if not example.known:
            for _, skill, answer in self.skills.ranked(question):
                if answer in example.wrong:
                    skill.note(question, -1)
            return
        self._judge(example)
        self.skills.drop_refuted()
        self.skills.refresh()
        if self._explained(example):
            return
        if not self._renamed(example) and not self._widened(example):
            self._induce(example)

    def _judge(self, example: Example) -> None:
        skills, question = self.skills, example.question
        for skill in list(skills.skills):
            if not skill.matches(question):
                continue
            if skill.program == RECALL:
                skill.relation[skill.key(question)] = min(example.right or example.shown)
            answer = skills.output(skill, question)
            if answer is not None:
                skill.note(question, example.verdict(answer))

    def _explained(self, example: Example, least: float = 0) -> bool:
        """Return whether a skill with at least this rate computes the answer; a look-up does not count."""
        rate, answer = self.skills.best(example.question, lambda skill: skill.program != RECALL)
        return rate >= least and example.verdict(answer) > 0

    def _renamed(self, example: Example) -> bool:
        """Learn aliases from the example; return whether they explain the answer."""
        skills, explained = self.skills, False
        for meaning in skills.aliases.meanings(example.question, skills.skills):
            verdict = example.verdict(skills.best(meaning.question)[1])
            if verdict:
                skills.aliases.judge(meaning, verdict > 0)
            sure = all(skills.aliases.trust(pair) > _STANDS for pair in meaning.pairs)
            explained |= verdict > 0 and sure  # an unsure alias may be right by chance
        return explained

    # Programs.

    def _widened(self, example: Example) -> bool:
        """Drop the tokens that the example lacks from a skill's guard; return whether a skill then explains it."""
        for skill in self.skills.skills:
            guard = skill.guard & frozenset(example.tokens)
            if not any(map(is_word, guard)) or guard == skill.guard or skill.program == RECALL:
                continue
            alike = [other for other in self.examples.alike(example.question) if guard <= set(other.tokens)]
            if self._fits(skill.program, guard, skill.domain, [*alike, example]):
                skill.guard = guard
                self._judge(example)
                return True
        return False

    def _fits(self, program: Program, guard: frozenset[str], domain: str, examples: list[Example]) -> bool:
        """Return whether a program produces all answers, except for a few that may be misread."""
        setting, misses = Setting(self.skills.solve, domain), 0
        for example in examples:
            value = run(program, frame(example.question, guard), setting)
            verdict = example.verdict(self.skills.finished(value)) if isinstance(value, str) else 0
            misses += verdict <= 0
            if verdict == -1 or misses > _MISUNDERSTOOD * len(examples):
                return False
        return True

    def _groups(self, example: Example) -> list[tuple[frozenset[str], list[Example]]]:
        """Group the unexplained examples like this one; return each group with the tokens common to its questions."""
        every = self.examples.alike(example.question)
        alike = [other for other in every if not self._explained(other, _RELIABLE)]
        groups: dict[tuple[str, ...], tuple[frozenset[str], list[Example]]] = {}
        for word in [None, *dict.fromkeys(filter(is_word, example.tokens))]:
            members = [other for other in every if word is not None and word in other.tokens]
            if word is None or len(members) > _RARE * len(every):
                members = [other for other in alike if word is None or word in other.tokens]
            groups.setdefault(tuple(member.question for member in members), (_common(members), members))
        ordered = sorted(groups.values(), key=lambda group: -len(group[1]))
        for skill in self.skills.skills:  # a single program may answer this example and a skill's examples
            if skill.program != RECALL and shape(example.question) in skill.record:
                members = [other for other in every if other is not example and skill.matches(other.question)]
                members = [*members[-_SHOWN + 1 :], example]
                ordered.append((_common(members), members))
        return [group for group in ordered if _worthwhile(*group)]

    def _induce(self, example: Example) -> None:
        groups = self._groups(example)
        partly: tuple[frozenset[str], Program, str, list[Example]] | None = None
        known = list(dict.fromkeys(skill.program for skill in reversed(self.skills.skills) if skill.program != RECALL))
        for guard, members in groups:
            content = {token for member in members for token in frame(member.question, guard).content}
            domain = "".join(sorted(token for token in content if len(token) == 1))
            for program in known:
                if self._fits(program, guard, domain, members):
                    return self._add(guard, program, domain, members)
            size = max((size for size in _SIZES if size <= len(members)), default=0)
            key = shape(example.question), guard, size
            if key not in self._searched:
                program, whole = self._search(guard, members, domain)
                if program is not None and whole:
                    return self._add(guard, program, domain, members)
                self._searched.add(key)
                if program is not None and partly is None:
                    partly = guard, program, domain, members
        if partly:
            return self._add(*partly)
        for guard, members in groups:
            if self._relates(guard, members):
                return self._add(guard, RECALL, "", members)
        return None

    def _search(self, guard: frozenset[str], members: list[Example], domain: str) -> tuple[Program | None, bool]:
        """Search a program for a group; return it and whether it produces all answers."""
        chosen = members[-_SHOWN:]
        setting = Setting(self.skills.solve, domain)
        frames, used = [frame(member.question, guard) for member in chosen], self.skills.used()
        best, most = None, 0.0
        budget = (_BUDGET if len(members) < _SIZES[-1] else _LAST_BUDGET) * len(chosen)
        searches = [Search(frames, setting, used, rewriting) for rewriting in (True, False)]
        found = (search.programs(tried) for tried in (budget // 8, budget) for search in searches)
        for program, values in chain.from_iterable(found):
            verdicts = [
                member.verdict(self.skills.finished(value)) for member, value in zip(chosen, values, strict=True)
            ]
            if min(verdicts) > 0:
                if self._fits(program, guard, domain, members):
                    return program, True
            elif len(members) >= _PARTLY and min(verdicts) > -1 and sum(verdicts) > -0.5 * len(chosen):
                score = self._partly(program, guard, domain, members)
                if score > most:
                    best, most = program, score
        return best, False

    def _partly(self, program: Program, guard: frozenset[str], domain: str, members: list[Example]) -> float:
        """Count the examples that a program answers; 0 if an example refutes it."""
        setting, agreed = Setting(self.skills.solve, domain), 0
        for member in members:
            value = run(program, frame(member.question, guard), setting)
            verdict = member.verdict(self.skills.finished(value)) if isinstance(value, str) and value else -1
            if verdict == -1:
                return 0
            agreed += verdict > 0
        return agreed

    def _relates(self, guard: frozenset[str], members: list[Example]) -> bool:
        """Return whether the single content token of a question can be the key of a look-up in this group."""
        content = {frame(member.question, guard).content for member in members}
        return (
            len(content) == len(members) >= _LOOKED_UP
            and all(len(tokens) == 1 for tokens in content)
            and any(map(is_word, guard))
            and not any(skill.program == RECALL and skill.guard == guard for skill in self.skills.skills)
        )

    def _add(self, guard: frozenset[str], program: Program, domain: str, members: list[Example]) -> None:
        skill = Skill(guard, program, domain)
        self.skills.add(skill)
        for member in members:
            if program == RECALL:
                skill.relation[skill.key(member.question)] = min(member.right or member.shown)
            skill.note(member.question, member.verdict(self.skills.output(skill, member.question)))


def _common(members: list[Example]) -> frozenset[str]:
    """Return the tokens common to all questions."""
    return frozenset.intersection(*(frozenset(member.tokens) for member in members))


def _worthwhile(guard: frozenset[str], members: list[Example]) -> bool:
    """Return whether a group has different answers, and either a common word or enough examples."""
    answers = {min(member.right or member.shown) for member in members}
    return len(answers) > 1 and (len(members) >= _WORDLESS or any(map(is_word, guard)))
