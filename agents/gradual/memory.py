"""Questions and their answers: what holds for good, and what holds until the instance changes."""

from dataclasses import dataclass, field

from .texts import SILENCE, context

_SNAPSHOTS = 40  # earlier instances that are remembered in a context


@dataclass
class Fact:
    """What is known of a question.

    :ivar answer: the best known. :ivar right: how often it was said and right, in this instance.
    :ivar shown: all that feedback showed. :ivar wrong: all that was wrong.
    """

    answer: str = ""
    right: int = 0
    shown: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)


@dataclass
class Mapping:
    """The answers of an earlier instance, and how many instances had them."""

    answers: dict[str, str]
    times: int = 1


class Memory:
    """Facts by context.

    :ivar facts: context -> question -> fact. :ivar changing: contexts in which what was right became wrong, and how
        often. :ivar earlier: context -> the mappings of earlier instances.
    """

    def __init__(self) -> None:
        self.facts: dict[str, dict[str, Fact]] = {}
        self.changing: dict[str, int] = {}
        self.earlier: dict[str, list[Mapping]] = {}

    def known(self, question: str) -> Fact | None:
        """What is known of a question, where an answer is."""
        fact = self.facts.get(context(question), {}).get(question)
        return fact if fact is not None and fact.answer else None

    def lasting(self, question: str) -> str | None:
        """The answer to a question that holds for good."""
        fact = None if self.changes(question) else self.known(question)
        return fact.answer if fact is not None else None

    def changes(self, question: str) -> bool:
        """Whether facts of this kind hold for an instance only."""
        return context(question) in self.changing

    def learn(self, question: str, said: str, reward: int, shown: str) -> None:
        """Take in an answer's verdict, and the answer that feedback showed."""
        where = context(question)
        facts = self.facts.setdefault(where, {})
        fact = facts.setdefault(question, Fact())
        if reward > 0:
            fact.answer, fact.right = said, fact.right + 1
            return
        meant = said.rstrip(SILENCE)  # silence may follow an answer, and the verdict may cut it short
        failed = bool(meant) and fact.answer.startswith(meant) and shown != fact.answer
        if failed and not fact.right and where not in self.changing:
            fact.answer = ""  # nobody ever said that it is right: the feedback was misread
        elif failed:
            self._change(where)
            facts = self.facts[where]
            fact = facts.setdefault(question, Fact())
        fact.wrong.add(said)
        if shown and shown not in fact.wrong:
            fact.shown.add(shown)
            if not fact.right:
                fact.answer = shown

    def forget_shown(self, question: str) -> list[str]:
        """The answers to such questions were misread: drop those that were never right; their questions."""
        facts = self.facts.get(context(question), {})
        misread = [asked for asked, fact in facts.items() if not fact.right]
        for asked in misread:
            del facts[asked]
        return misread

    def recalled(self, question: str) -> str:
        """The answer in an earlier instance that agrees with all that is known of this one, "" where there is none."""
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
        """Take in the mapping of an instance, together with an earlier one that it goes on with."""
        earlier = self.earlier.setdefault(where, [])
        for mapping in earlier:
            shared = mapping.answers.keys() & answers.keys()
            if len(shared) > 1 and all(mapping.answers[asked] == answers[asked] for asked in shared):
                mapping.answers.update(answers)
                mapping.times += 1
                return
        earlier.append(Mapping(answers))
        del earlier[:-_SNAPSHOTS]

    def _change(self, where: str) -> None:
        """Another instance has begun: what was learned in this one is kept aside."""
        self.changing[where] = self.changing.get(where, 0) + 1
        self.remember(where, {asked: fact.answer for asked, fact in self.facts[where].items() if fact.answer})
        self.facts[where] = {}
