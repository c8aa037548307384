"""Implement the gradual learner, an agent that maps rewards and bytes to bytes."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Self

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

from .induction import Inducer
from .memory import Fact, Facts, Guesser, Judge, Judgements, Reader
from .programs import OPERATIONS, SOLVED, parts
from .skills import RECALL, Skill, Skills
from .texts import SILENCE, context, last_sign
from .turns import EndRule, Episode, Turns

_LEAST_TRUST = 0.2  # in an alias


class GradualLearner:
    """Learn in a stream of bytes: `learner(reward, byte)` returns the next byte of the agent.

    `update` exports the learned knowledge into a knowledge graph; `from_graph` makes a learner that continues from the
    export. No answer of the learner comes from a query of a graph.

    :ivar turns: the cycle of question, answer and feedback. :ivar reader: extracts answers from feedback.
    :ivar guesser: answers without feedback. :ivar facts: questions and answers. :ivar skills: programs.
    :ivar inducer: makes skills from examples. :ivar judgements: for questions with few different answers.
    """

    def __init__(self) -> None:
        self.turns, self.reader, self.guesser, self.facts = Turns(), Reader(), Guesser(), Facts()
        self.skills = Skills(self.facts.lasting)
        self.inducer, self.judgements = Inducer(self.skills), Judgements()
        self._plan = ""

    @classmethod
    def from_graph(cls, graph: KnowledgeGraph) -> Self:
        """Restore a learner from another learner's export: the fact `state`, and known answers.

        :raises InputError: the graph holds no export of a learner.
        """
        learner = cls()
        _read(learner, graph)
        return learner

    def update(self, graph: KnowledgeGraph) -> None:
        """Write the learned knowledge into a graph, and replace an earlier export there."""
        for name in graph.graphs():
            if name == GRAPH or name.startswith(_EARLIER):
                graph.drop(name)
        graph.add(sorted(set(_facts(self))), graph=GRAPH)
        several = ((where, each) for where, earlier in self.facts.earlier.items() for each in earlier if each.times > 1)
        for number, (where, mapping) in enumerate(several):
            name, answers = f"{_EARLIER}/{number}", sorted(mapping.answers.items())
            graph.add([(question, "hasAnswer", answer) for question, answer in answers], graph=name)
            graph.add([(name, "ofContext", where)], graph=GRAPH)

    def __call__(self, reward: int, byte: int) -> int:
        """Process a reward and a byte, and return the reply."""
        turns = self.turns
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
        """Answer the current question: the known answer, else the likeliest, else only the sign that ends answers,
        which soon produces feedback."""
        turns = self.turns
        if turns.missed or turns.question is None:
            return ""
        if turns.silent:
            return self.guesser.answer(turns.question)
        if turns.doubtful:
            return turns.stop
        question = turns.question.strip(SILENCE)
        fact = self.facts.known(question)
        answer = fact.answer if fact else self.judgements.answer(question) or self.facts.recalled(question)
        # If answers change, no evidence could refute an alias.
        answer = answer or self.skills.answer(question, 1 if self.facts.changes(question) else _LEAST_TRUST)
        return answer or (turns.stop if turns.stopped else "")

    def _learn(self, episode: Episode) -> None:
        turns = self.turns
        if turns.silent:
            if not episode.feedback:
                self.guesser.learn(episode.question, episode.said, episode.reward)
            return
        question, said, shown = episode.question.strip(SILENCE), episode.said, ""
        if episode.reward < 0:
            length = 0 if turns.parted else episode.length
            shown = self.reader.shown(episode.feedback, length, "" if episode.length else turns.stop)
            if episode.length and shown and turns.misread(said, shown):
                self.judgements.forget(question)
                self.inducer.examples.drop(self.facts.forget_shown(question))
                return
        elif not episode.length:
            self.reader.confirm(said, episode.feedback)
        self.facts.learn(question, said, episode.reward, shown)
        part = last_sign(shown or said) if turns.parted else ""
        self.skills.stop = part or (turns.stop if turns.stopped else "")
        if self.facts.changes(question):
            self.inducer.examples.drop([question])
            return
        if right := said if episode.reward > 0 else shown:
            self.judgements.learn(question, right)
        if self.judgements.answer(question) is None:
            self.inducer.learn(question, said, episode.reward, shown)


# ---- Export and import of a learner as facts of a knowledge graph.
#
# Readable facts state the learned knowledge: question hasAnswer answer, symbol followedBy symbol, word standsFor word,
# and a node for each skill with its evidence. Another learner continues from JSON in the fact `state`; from the
# readable facts it reads only known answers, and the contexts that change.

GRAPH = "gradual/learned"
_EARLIER = "gradual/earlier"
_LEARNER = "learner"

Triple = tuple[str, str, str]


def _facts(learner: GradualLearner) -> Iterator[Triple]:
    facts, skills = learner.facts, learner.skills
    for where, known in facts.facts.items():
        if where not in facts.changing:
            yield from ((asked, "hasAnswer", fact.answer) for asked, fact in known.items() if asked and fact.answer)
    for where, number in facts.changing.items():
        yield where, "changedBetweenInstances", str(number)
    first: dict[str, str] = {}
    for skill in skills.skills:
        right, wrong = skill.total()
        yield skill.name, "answersBy", _written(skill.program)
        yield skill.name, "uses", str(round(right + wrong))
        yield skill.name, "successes", str(round(right))
        yield from ((skill.name, "answersQuestionsWith", word) for word in skill.words)
        yield from ((skill.name, "answersQuestionsLike", shape) for shape in skill.record if shape)
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
    for word, judge in learner.judgements.judges.items():
        if judge.chosen and word:
            yield word, "judgedBy", "; ".join(map(_readable, judge.chosen))
    yield from (("feedback", "showsAnswerBehind", head) for head in learner.reader.heads if head)
    yield from ((_LEARNER, "goesOnBehind", reply) for reply in learner.turns.replies)
    yield _LEARNER, "state", json.dumps(_state(learner), sort_keys=True)


def _written(program: Any) -> str:
    """Format a program as text: row(chars(content(0)), space)."""
    if not isinstance(program, tuple):
        return str(program)
    name, *arguments = program
    return f"{name}({', '.join(map(_written, arguments))})" if arguments else name


def _readable(feature: Any) -> str:
    condition, which, relation = feature
    text = relation if which is None else f"{relation} {'under' if which[1] else 'outside'} {which[0]}"
    return text if condition is None else f"{text}, {'with' if condition[1] else 'without'} {condition[0]}"


def _state(learner: GradualLearner) -> dict[str, Any]:
    turns, splitter, skills = learner.turns, learner.turns.splitter, learner.skills
    return {
        "rule": None if turns.rule is None else asdict(turns.rule),
        "rules": [[asdict(rule), number] for rule, number in turns.rules.items()],
        "enders": dict(turns.enders), "stop": turns.stop, "stopped": turns.stopped, "parted": turns.parted,
        "replies": sorted(turns.replies),
        "starts": splitter.starts, "ends": [splitter.ends[False], splitter.ends[True]], "shapes": splitter.shapes,
        "offsets": list(splitter.offsets.items()), "heads": dict(learner.reader.heads),
        "trust": [[*key, *counts] for key, counts in learner.guesser.trust.items()],
        "heard": list(learner.guesser.heard),
        "aliases": [[*pair, *counts] for pair, counts in skills.aliases.evidence.items()],
        "judges": {
            word: [judge.literals, judge.chosen, judge.better, judge.other]
            for word, judge in learner.judgements.judges.items() if judge.better
        },
        "skills": [
            {
                "name": skill.name, "guard": sorted(skill.guard), "program": skill.program, "domain": skill.domain,
                "record": skill.record, "relation": skill.relation, "skeletons": list(skill.skeletons),
            }
            for skill in skills.skills
        ],
    }  # fmt: skip


def _read(learner: GradualLearner, graph: KnowledgeGraph) -> None:
    states = []
    if GRAPH in graph.graphs():
        states = [text for _, _, text in graph.triples(subject=_LEARNER, relation="state", graph=GRAPH)]
    if len(states) != 1:
        raise InputError(f"the graph holds no learner: {GRAPH!r} has {len(states)} facts ({_LEARNER}, state, ...)")
    try:
        _restore(learner, json.loads(states[0]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the state of the learner in {GRAPH!r} cannot be read: {error!r}") from None
    facts = learner.facts
    facts.changing = {
        where: int(number) for where, _, number in graph.triples(relation="changedBetweenInstances", graph=GRAPH)
    }
    for question, _, answer in sorted(graph.triples(relation="hasAnswer", graph=GRAPH)):
        facts.facts.setdefault(context(question), {})[question] = Fact(answer, right=1)
        learner.inducer.examples.learn(question, answer, 1, "")
        learner.judgements.remember(question, answer)
    for name, _, where in sorted(graph.triples(relation="ofContext", graph=GRAPH)):
        facts.remember(where, {question: answer for question, _, answer in graph.triples(graph=name)})


def _restore(learner: GradualLearner, state: dict[str, Any]) -> None:
    turns, splitter, skills = learner.turns, learner.turns.splitter, learner.skills
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
    learner.reader.heads = Counter(state["heads"])
    learner.guesser.trust = {(way, group): [right, wrong] for way, group, right, wrong in state["trust"]}
    learner.guesser.heard = dict.fromkeys(state["heard"])
    skills.aliases.evidence = {(word, meaning): [right, wrong] for word, meaning, right, wrong in state["aliases"]}
    for word, (literals, chosen, better, other) in state["judges"].items():
        features = [_tuples(feature) for feature in chosen]
        learner.judgements.judges[word] = Judge({}, tuple(literals), features, better, other)
    for entry in state["skills"]:
        skeletons = dict.fromkeys(map(tuple, entry["skeletons"]))
        skill = Skill(
            frozenset(entry["guard"]), _tuples(entry["program"]), entry["domain"], entry["record"], entry["relation"],
            skeletons, entry["name"],
        )  # fmt: skip
        skills.skills.append(skill)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
