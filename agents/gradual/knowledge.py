"""What a learner knows as facts of a knowledge graph, and a learner made from them.

Readable facts say what was learned: question hasAnswer answer, symbol followedBy symbol, word standsFor word, and a
node for each skill with its evidence. What the learner needs beside them in order to go on stands in `state` facts, as
JSON.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from gumption.data import InputError
from gumption.kg import KnowledgeGraph

from .ends import EndRule
from .judgements import Judge
from .memory import Fact
from .mind import Mind
from .operations import OPERATIONS, parts
from .search import SOLVED
from .skills import RECALL, Skill
from .texts import context

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
