"""The gradual learner: rewards and bytes in, bytes out."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import takewhile
from typing import Any, Self

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

from .ends import EndRule
from .induction import Inducer
from .judgements import Judge, Judgements
from .memory import Fact, Memory
from .operations import OPERATIONS, parts
from .search import SOLVED
from .skills import RECALL, Skill, Skills
from .texts import SILENCE, context, is_word, last_sign
from .turns import Episode, Turns


class Mind:
    """What a learner has learned, by kind.

    :ivar turns: the cycle of question, answer and feedback. :ivar reader: where feedback shows answers.
    :ivar guesser: questions without feedback. :ivar memory: questions and answers. :ivar skills: programs.
    :ivar inducer: makes skills from examples. :ivar judgements: questions with few different answers.
    """

    def __init__(self) -> None:
        self.turns = Turns()
        self.reader = Reader()
        self.guesser = Guesser()
        self.memory = Memory()
        self.skills = Skills(self.memory.lasting)
        self.inducer = Inducer(self.skills)
        self.judgements = Judgements()


_LEAST_TRUST = 0.2  # in a word that may stand for another


class GradualLearner:
    """An agent for a stream of bytes: `learner(reward, byte)` is the byte that it says.

    `update` writes what it has learned into a knowledge graph; `from_graph` makes a learner that goes on from there.
    """

    def __init__(self) -> None:
        self._mind = Mind()
        self._plan = ""

    @classmethod
    def from_graph(cls, graph: KnowledgeGraph) -> Self:
        """A learner that knows what a graph says.

        :raises InputError: the graph holds nothing that a learner wrote.
        """
        learner = cls()
        read(learner._mind, graph)
        return learner

    def update(self, graph: KnowledgeGraph) -> None:
        """Write what it has learned into a graph, in place of what it wrote there before."""
        write(self._mind, graph)

    def __call__(self, reward: int, byte: int) -> int:
        """Hear a reward and a byte, and say one."""
        turns = self._mind.turns
        for episode in turns.hear(reward, chr(byte)):
            self._learn(episode)
        if not turns.open or turns.reply:
            return ord(SILENCE)
        place = len(turns.said)
        if not place:
            self._plan = self._answer()
        said = turns.sign() if turns.waiting else self._plan[place : place + 1] or SILENCE
        turns.said += said
        return ord(said)

    def _answer(self) -> str:
        """What to say to the running question: what is known for sure, else the best guess, else just the sign that
        ends an answer, so that feedback comes soon."""
        mind, turns = self._mind, self._mind.turns
        if turns.missed or turns.question is None:
            return ""
        if turns.silent:
            return mind.guesser.answer(turns.question)
        if turns.doubtful:
            return turns.stop
        question = turns.question.strip(SILENCE)
        fact = mind.memory.known(question)
        answer = fact.answer if fact else mind.judgements.answer(question) or mind.memory.recalled(question)
        # Where answers change, nothing would tell that a word does not stand for the other.
        answer = answer or mind.skills.answer(question, 1 if mind.memory.changes(question) else _LEAST_TRUST)
        return answer or (turns.stop if turns.stopped else "")

    def _learn(self, episode: Episode) -> None:
        mind, turns = self._mind, self._mind.turns
        if turns.silent:
            if not episode.feedback:
                mind.guesser.learn(episode.question, episode.said, episode.reward)
            return
        question, said, shown = episode.question.strip(SILENCE), episode.said, ""
        if episode.reward < 0:
            length = 0 if turns.parted else episode.length
            shown = mind.reader.shown(episode.feedback, length, "" if episode.length else turns.stop)
            if episode.length and shown and turns.misread(said, shown):
                mind.judgements.forget(question)
                mind.inducer.examples.drop(mind.memory.forget_shown(question))
                return
        elif not episode.length:
            mind.reader.confirm(said, episode.feedback)
        mind.memory.learn(question, said, episode.reward, shown)
        part = last_sign(shown or said) if turns.parted else ""
        mind.skills.stop = part or (turns.stop if turns.stopped else "")
        if mind.memory.changes(question):
            mind.inducer.examples.drop([question])
            return
        if right := said if episode.reward > 0 else shown:
            mind.judgements.learn(question, right)
        if mind.judgements.answer(question) is None:
            mind.inducer.learn(question, said, episode.reward, shown)


# ---- What a learner knows as facts of a knowledge graph, and a learner made from them.
#
# Readable facts say what was learned: question hasAnswer answer, symbol followedBy symbol, word standsFor word, and a
# node for each skill with its evidence. What the learner needs beside them in order to go on stands in `state` facts,
# as
# JSON.


GRAPH = "gradual/learned"
_EARLIER = "gradual/earlier"
_LEARNER = "learner"

Triple = tuple[str, str, str]


def write(mind: Mind, graph: KnowledgeGraph) -> None:
    """Replace what a graph says of a learner by what is in its mind now."""
    for name in graph.graphs():
        if name == GRAPH or name.startswith(_EARLIER):
            graph.drop(name)
    graph.add(sorted(set(_facts(mind))), graph=GRAPH)
    for number, (where, mapping) in enumerate(_recurring(mind)):
        name = f"{_EARLIER}/{number}"
        graph.add([(question, "hasAnswer", answer) for question, answer in sorted(mapping.items())], graph=name)
        graph.add([(name, "ofContext", where)], graph=GRAPH)


def _facts(mind: Mind) -> Iterator[Triple]:
    memory, skills = mind.memory, mind.skills
    for where, facts in memory.facts.items():
        if where not in memory.changing:
            yield from ((asked, "hasAnswer", fact.answer) for asked, fact in facts.items() if asked and fact.answer)
    for where, number in memory.changing.items():
        yield where, "changedBetweenInstances", str(number)
    first: dict[str, str] = {}
    for skill in skills.skills:
        yield from _skill(skill)
        if skill.program == RECALL:
            yield from (
                (symbol, "followedBy", answer.removesuffix(skills.stop)) for symbol, answer in skill.relation.items()
            )
        for operation in dict.fromkeys(parts(skill.program)):
            if operation in OPERATIONS or operation == SOLVED:
                yield skill.name, "usesOperation", operation
                if first.setdefault(operation, skill.name) != skill.name:
                    yield first[operation], "prerequisiteOf", skill.name
    for (word, meaning), (right, wrong) in skills.aliases.evidence.items():
        if right > wrong:
            yield word, "standsFor", meaning
    for word, judge in mind.judgements.judges.items():
        if judge.chosen and word:
            yield word, "judgedBy", "; ".join(map(_readable, judge.chosen))
    yield from (("feedback", "showsAnswerBehind", head) for head in mind.reader.heads if head)
    yield from ((_LEARNER, "goesOnBehind", reply) for reply in mind.turns.replies)
    yield _LEARNER, "state", json.dumps(_state(mind), sort_keys=True)


def _skill(skill: Skill) -> Iterator[Triple]:
    right, wrong = skill.total()
    yield skill.name, "answersBy", _written(skill.program)
    yield skill.name, "uses", str(round(right + wrong))
    yield skill.name, "successes", str(round(right))
    yield from ((skill.name, "answersQuestionsWith", word) for word in skill.words)
    yield from ((skill.name, "answersQuestionsLike", shape) for shape in skill.record if shape)


def _written(program: Any) -> str:
    """A program as people read it: row(chars(content(0)), space)."""
    if not isinstance(program, tuple):
        return str(program)
    name, *arguments = program
    return f"{name}({', '.join(map(_written, arguments))})" if arguments else name


def _readable(feature: Any) -> str:
    condition, which, relation = feature
    text = relation if which is None else f"{relation} {'under' if which[1] else 'outside'} {which[0]}"
    return text if condition is None else f"{text}, {'with' if condition[1] else 'without'} {condition[0]}"


def _recurring(mind: Mind) -> list[tuple[str, dict[str, str]]]:
    """The mappings that came more than once."""
    earlier = mind.memory.earlier.items()
    return [(where, mapping.answers) for where, found in earlier for mapping in found if mapping.times > 1]


def _state(mind: Mind) -> dict[str, Any]:
    turns, splitter, skills = mind.turns, mind.turns.splitter, mind.skills
    return {
        "rule": None if turns.rule is None else asdict(turns.rule),
        "rules": [[asdict(rule), number] for rule, number in turns.rules.items()],
        "enders": dict(turns.enders), "stop": turns.stop, "stopped": turns.stopped, "parted": turns.parted,
        "replies": sorted(turns.replies),
        "starts": splitter.starts, "ends": [splitter.ends[False], splitter.ends[True]], "shapes": splitter.shapes,
        "offsets": list(splitter.offsets.items()), "heads": dict(mind.reader.heads),
        "trust": [[*key, *counts] for key, counts in mind.guesser.trust.items()],
        "heard": list(mind.guesser.heard),
        "aliases": [[*pair, *counts] for pair, counts in skills.aliases.evidence.items()],
        "judges": {
            word: [judge.literals, judge.chosen, judge.better, judge.other]
            for word, judge in mind.judgements.judges.items() if judge.better
        },
        "skills": [
            {
                "name": skill.name, "guard": sorted(skill.guard), "program": skill.program, "domain": skill.domain,
                "record": skill.record, "relation": skill.relation, "skeletons": list(skill.skeletons),
            }
            for skill in skills.skills
        ],
    }  # fmt: skip


def read(mind: Mind, graph: KnowledgeGraph) -> None:
    """Put what a graph says into a new mind.

    :raises InputError: the graph holds nothing that a learner wrote, or something else under its names.
    """
    states = []
    if GRAPH in graph.graphs():
        states = [text for _, _, text in graph.triples(subject=_LEARNER, relation="state", graph=GRAPH)]
    if len(states) != 1:
        raise InputError(f"the graph holds no learner: {GRAPH!r} has {len(states)} facts ({_LEARNER}, state, ...)")
    try:
        _restore(mind, json.loads(states[0]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the state of the learner in {GRAPH!r} cannot be read: {error!r}") from None
    memory = mind.memory
    memory.changing = {
        where: int(number) for where, _, number in graph.triples(relation="changedBetweenInstances", graph=GRAPH)
    }
    for question, _, answer in sorted(graph.triples(relation="hasAnswer", graph=GRAPH)):
        memory.facts.setdefault(context(question), {})[question] = Fact(answer, right=1)
        mind.inducer.examples.learn(question, answer, 1, "")
        mind.judgements.remember(question, answer)
    for name, _, where in sorted(graph.triples(relation="ofContext", graph=GRAPH)):
        memory.remember(where, {question: answer for question, _, answer in graph.triples(graph=name)})


def _restore(mind: Mind, state: dict[str, Any]) -> None:
    turns, splitter, skills = mind.turns, mind.turns.splitter, mind.skills
    turns.rules = Counter({EndRule(**rule): number for rule, number in state["rules"]})
    turns.enders = Counter(state["enders"])
    turns.stop, turns.stopped = state["stop"], state["stopped"]
    turns.parted, turns.replies = state["parted"], set(state["replies"])
    skills.stop = turns.stop if turns.stopped else ""
    if state["rule"] is not None:
        turns.follow(EndRule(**state["rule"]))
    splitter.starts, splitter.shapes = state["starts"], state["shapes"]
    splitter.ends = dict(zip((False, True), state["ends"], strict=True))
    splitter.offsets = dict(state["offsets"])
    mind.reader.heads = Counter(state["heads"])
    mind.guesser.trust = {(way, group): [right, wrong] for way, group, right, wrong in state["trust"]}
    mind.guesser.heard = dict.fromkeys(state["heard"])
    skills.aliases.evidence = {(word, meaning): [right, wrong] for word, meaning, right, wrong in state["aliases"]}
    for word, (literals, chosen, better, other) in state["judges"].items():
        features = [_tuples(feature) for feature in chosen]
        mind.judgements.judges[word] = Judge({}, tuple(literals), features, better, other)
    for entry in state["skills"]:
        skeletons = dict.fromkeys(map(tuple, entry["skeletons"]))
        skill = Skill(
            frozenset(entry["guard"]), _tuples(entry["program"]), entry["domain"], entry["record"], entry["relation"],
            skeletons, entry["name"],
        )  # fmt: skip
        skills.skills.append(skill)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# ---- Which part of the feedback is the answer.


_KEPT = 6  # unexplained texts that are compared


class Reader:
    """Finds the answer that feedback shows, by what stood before answers in earlier feedback.

    :ivar heads: what stands before an answer -> how often that was confirmed.
    """

    def __init__(self) -> None:
        self.heads: Counter[str] = Counter()
        self._open: list[str] = []

    def shown(self, feedback: str, length: int, stop: str) -> str:
        """The answer shown after a wrong one, "" where none is.

        :param length: of the answer, 0 where a stop ends it.
        """
        if not feedback:
            return ""
        if length:
            return feedback[-length:].lstrip(SILENCE)
        answer = feedback[len(self._head(feedback)) :]
        if answer == stop:
            return ""
        return answer if not stop or answer.endswith(stop) else answer + stop

    def confirm(self, said: str, feedback: str) -> None:
        """A right answer: feedback that repeats it shows its place."""
        head = feedback.removesuffix(said)
        if said and head != feedback:
            self.heads[head] += 1

    def _head(self, feedback: str) -> str:
        known = [head for head in self.heads if head and feedback.startswith(head) and feedback != head]
        if known:
            return max(known, key=len)
        if self._open and self._open[-1] != feedback:
            self._open = [*self._open, feedback][-_KEPT:]
            alike = [_shared(feedback, other) for other in self._open if other != feedback]
            head = max(alike, key=len)
            if head:
                self.heads[head] += 1
                return head
        elif not self._open:
            self._open = [feedback]
        return feedback[: feedback.rstrip(SILENCE).rfind(SILENCE) + 1]


def _shared(one: str, other: str) -> str:
    """What two texts begin with, up to its last silence."""
    same = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return same[: same.rfind(SILENCE) + 1]


# ---- Answers to questions about which nothing but a reward is ever heard: copies, one common answer, or one of its
# own.


_FADING = 0.9
_GIVEN_UP = 80  # failures in a row after which the instance must have changed unnoticed


def _group(question: str) -> str:
    return "letter" if is_word(question) else "digit" if question.isdigit() else "sign"


class Guesser:
    """Guesses, and learns how good each way to guess has been for each kind of question.

    :ivar trust: (way, kind of question) -> [how often right, how often wrong], recent ones count more.
    """

    def __init__(self) -> None:
        self.trust: dict[tuple[str, str], list[float]] = {}
        self.heard: dict[str, None] = {}
        self._failures = 0
        self._forget()

    def answer(self, question: str) -> str:
        """The likeliest answer."""
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
        """An answer was right or wrong."""
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
        """Another instance has begun."""
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
