"""What a HALMA agent knows: tables of a knowledge graph that is made of its own memory, and of what rules entail.

    knowledge = HALMAKnowledge.of_memory(Memory.load("RUN/memory"))
    knowledge.greater[COLOURS.index("yellow"), 8, 6]                        # whether it knows that yellow 8 > yellow 6
    print(knowledge.why("yellow 8", "greaterThan", "yellow 6"))             # and why, down to its experience

The graph halma/RUN/knowledge holds what was counted in MEM (experience.py), and what an agent sees without experience:
the digit and the colour of an entity, the primitives of an option, the two values of a pair. Everything else follows by
the Horn rules of rules.json, in the graph halma/RUN/knowledge/inferred. A table's entry is set where one of the two
graphs has its fact, so an empty memory gives empty tables. prior.py lists what people put in.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, checked
from gumption.envs.halma.knowledge_base import GREATER_THAN, HAS_COLOUR, HAS_VALUE, THRESHOLD, Triple, graph_name
from gumption.envs.halma.maze import ALL_COLOURS, DIRECTIONS, SHAPES
from gumption.envs.halma.memory import FOLDER, Memory
from gumption.kg import KnowledgeGraph, explain, infer, read_rules
from gumption.kg.rules.fixpoint import default_into
from gumption.kg.rules.horn import Rule, rules_to_json
from gumption.kg.rules.inference import Explanation

from .experience import (
    ENDS_AS,
    GOAL,
    HINT,
    LEADS_TO,
    LESSER,
    LOWERS,
    RAISES,
    REACHES,
    SHOWS,
    STOPPED,
    STOPPED_WITHOUT,
    OptionBags,
    experience_facts,
)

MEASURES, EQUALS, OPPOSITE = "measures", "equals", "opposite"
HAS_FIRST, HAS_SECOND, SWAPPED = "hasFirst", "hasSecond", "swapped"
HAS_REST, HAS_LAST = "hasRest", "hasLast"

_MAX_OPT_LEN = "maxOptLen"
_VALUES = tuple(str(value) for value in range(10))


@dataclass(frozen=True, eq=False)
class HALMAKnowledge:
    """Tables of what is known; False and 0 mean "unknown". Values and digits are 1 to 9, index 0 stays empty. Colours
    are indices of `ALL_COLOURS`, directions of DIRECTIONS, shapes of SHAPES.

    :ivar options: the options that `measure` and `stopped` are about.
    :ivar greater: (8, 10, 10) bool [colour, a, b]: the digit a of this colour is greater than b.
    :ivar sums: (10, 10) int64: a + b.
    :ivar measure: (options,) int64: the digit that an option uses up.
    :ivar stopped: (options,) bool: an option that was never carried out.
    :ivar lowers, raises: (4, 8) bool: a move in the direction lowers or raises the digits of the colour.
    :ivar stopped_without: (4, 8) bool: no move in the direction is carried out where the colour is not shown.
    :ivar opposite: (4, 4) bool.
    :ivar leads_to: (4, 4) bool [shape, direction].
    :ivar reaches_goal: (8,) bool: the move to the goal uses up the digit of the colour.
    :ivar lesser_shows_hint: bool: hints are at the lesser of two digits of a colour.
    :ivar fingerprint: sha256 (hex) of the facts and rules that the tables are made of.
    """

    options: OptionBags
    greater: np.ndarray
    sums: np.ndarray
    measure: np.ndarray
    stopped: np.ndarray
    lowers: np.ndarray
    raises: np.ndarray
    stopped_without: np.ndarray
    opposite: np.ndarray
    leads_to: np.ndarray
    reaches_goal: np.ndarray
    lesser_shows_hint: bool
    fingerprint: str
    _source: "_Source" = field(repr=False)

    @cached_property
    def differences(self) -> np.ndarray:
        """(10, 10) int64: a - b, where the sum of it and b is known to be a."""
        table = np.zeros((10, 10), dtype=np.int64)
        rest, b = np.nonzero(self.sums)
        table[self.sums[rest, b], b] = rest
        return table

    @classmethod
    @checked
    def of_memory(
        cls, memory: Memory, *, threshold: Count = THRESHOLD, rules: Sequence[Rule] | None = None
    ) -> "HALMAKnowledge":
        """What follows from a memory, through a graph of its own.

        :param threshold: cases that a pair, a change or a use takes.
        """
        graph = KnowledgeGraph()
        return cls.of(graph, add_knowledge(graph, "memory", memory, threshold=threshold), rules)

    @classmethod
    def of(cls, graph: KnowledgeGraph, name: str, rules: Sequence[Rule] | None = None) -> "HALMAKnowledge":
        """What a run's graph states and the rules entail, which is written into the graph NAME/inferred.

        :param name: halma/RUN/knowledge, which `add_knowledge` has filled.
        :param rules: Horn rules; None for those of rules.json.
        :raises InputError: no such graph.
        """
        max_opt_len = graph.annotations(name).get(_MAX_OPT_LEN)
        if max_opt_len is None:
            raise InputError(
                f"the graph {name!r} holds no agent's knowledge; make one of its memory with add_knowledge"
            )
        relations = {relation for _, relation, _ in graph.triples(graph=name)}
        rules = applicable(default_rules() if rules is None else rules, relations)
        if rules:
            infer(graph, rules, source=name)
        else:  # nothing follows any more
            graph.remove(list(graph.triples(graph=default_into(name))), graph=default_into(name))
        source = _Source(graph, name, rules)
        options = OptionBags(int(max_opt_len))
        greater = source.table(GREATER_THAN, [f"{c} {v}" for c in ALL_COLOURS for v in _VALUES])
        greater = greater.reshape(8, 10, 8, 10)[np.arange(8), :, np.arange(8)]
        equals = source.table(EQUALS, [_pair(a, b) for a in _VALUES for b in _VALUES], _VALUES)
        return cls(
            options=options,
            greater=greater,
            sums=_only(equals).reshape(10, 10),
            measure=_only(source.table(MEASURES, options.names, _VALUES)),
            stopped=source.table(ENDS_AS, options.names, (STOPPED,))[:, 0],
            lowers=source.table(LOWERS, DIRECTIONS, ALL_COLOURS),
            raises=source.table(RAISES, DIRECTIONS, ALL_COLOURS),
            stopped_without=source.table(STOPPED_WITHOUT, DIRECTIONS, ALL_COLOURS),
            opposite=source.table(OPPOSITE, DIRECTIONS),
            leads_to=source.table(LEADS_TO, SHAPES, DIRECTIONS),
            reaches_goal=source.table(REACHES, ALL_COLOURS, (GOAL,))[:, 0],
            lesser_shows_hint=bool(source.table(SHOWS, (LESSER,), (HINT,))[0, 0]),
            fingerprint=source.fingerprint,
            _source=source,
        )

    def why(self, subject: str, relation: str, object: str) -> Explanation:
        """The proof of a fact from the facts that were counted in MEM.

        :raises InputError: an unknown label, with near matches; a fact that does not follow.
        """
        return explain(self._source.graph, (subject, relation, object), self._source.rules, self._source.name)


@dataclass(frozen=True)
class _Source:
    graph: KnowledgeGraph
    name: str
    rules: tuple[Rule, ...]

    @cached_property
    def fingerprint(self) -> str:
        parts = [self.graph.content_hash(self.name), rules_to_json(self.rules)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def table(self, relation: str, subjects: Sequence[str], objects: Sequence[str] | None = None) -> np.ndarray:
        """(subjects, objects) bool: the fact is stated or entailed; without objects they are the subjects."""
        rows = {label: i for i, label in enumerate(subjects)}
        columns = rows if objects is None else {label: i for i, label in enumerate(objects)}
        found = np.zeros((len(rows), len(columns)), dtype=bool)
        known = self.graph.graphs()
        for name in (one for one in (self.name, default_into(self.name)) if one in known):
            for subject, _, object_ in self.graph.triples(relation=relation, graph=name):
                if subject in rows and object_ in columns:
                    found[rows[subject], columns[object_]] = True
        return found


def knowledge_of_run(run: Path, upto: int | None = None) -> HALMAKnowledge:
    """What follows from the memory of a run, or from its first `upto` records.

    :raises InputError: a run without a memory, or with fewer records.
    """
    memory = Memory.load(run / FOLDER)
    if upto is not None and len(memory) < upto:
        raise InputError(f"{run / FOLDER} has {len(memory)} records, but the run's knowledge is of {upto}")
    return HALMAKnowledge.of_memory(replace(memory, records=memory.records[:upto]))


@checked
def add_knowledge(graph: KnowledgeGraph, run: str, memory: Memory, *, threshold: Count = THRESHOLD) -> str:
    """Replace the graph halma/RUN/knowledge by the facts of a memory and of what agents see; returns its name."""
    name = f"{graph_name(run)}/knowledge"
    options = OptionBags(memory.max_opt_len)
    old = list(graph.triples(graph=name))
    with graph.transaction():
        graph.remove(old, graph=name)
        graph.add([*experience_facts(memory, options, threshold), *seen_facts(options)], graph=name)
        graph.annotate(
            name,
            {
                "source": f"the memory of the run {run}",
                "memory": memory.fingerprint,
                "threshold": str(threshold),
                _MAX_OPT_LEN: str(memory.max_opt_len),
            },
        )
    return name


def seen_facts(options: OptionBags) -> Iterator[Triple]:
    """What needs no experience: the parts of digits, pairs of values and options."""
    for colour in ALL_COLOURS:
        for value in _VALUES[1:]:
            yield f"{colour} {value}", HAS_VALUE, value
            yield f"{colour} {value}", HAS_COLOUR, colour
    for a in _VALUES[1:]:
        for b in _VALUES[1:]:
            yield _pair(a, b), HAS_FIRST, a
            yield _pair(a, b), HAS_SECOND, b
            yield _pair(a, b), SWAPPED, _pair(b, a)
    for bag in options.bags:
        if len(bag) > 1:
            yield options.name(bag), HAS_REST, options.name(bag[:-1])
            yield options.name(bag), HAS_LAST, options.name(bag[-1:])


def default_rules() -> tuple[Rule, ...]:
    """The rules of rules.json."""
    return read_rules(Path(__file__).with_name("rules.json"))


def applicable(rules: Sequence[Rule], relations: set[str]) -> tuple[Rule, ...]:
    """The rules all of whose body's relations are given, or heads of such rules: little experience leaves few."""
    reached: set[str] = set(relations)
    while new := {rule.head.relation for rule in rules if all(a.relation in reached for a in rule.body)} - reached:
        reached |= new
    return tuple(rule for rule in rules if all(atom.relation in reached for atom in rule.body))


def _pair(a: str, b: str) -> str:
    return f"{a} and {b}"


def _only(table: np.ndarray) -> np.ndarray:
    """(n, 10) bool -> (n,) int64: the only value of each row, 0 for none or several."""
    return np.where(table.sum(1) == 1, table.argmax(1), 0)
