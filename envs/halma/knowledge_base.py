"""Knowledge bases: what an agent has understood, computed from the memory of its run (paper, section 3.4, Appendix D).

KB_S (semantics), KB_C (causality) and KB_A (affordance) are tables of visit counts over digits and directions. Where
the paper leaves choices open, these are the decisions:

- *Panels that count for KB_S.* Section 3.4 assumes that "valid decisions in experience were made upon understanding
  inequality configurations". So a visit of a pair is a valid move from a panel that shows it. Invalid moves do not
  count: an agent that runs into a wall two hundred times would otherwise pass any threshold. s' counts as s of the next
  record; counted in both, a pair met twice would pass a threshold of 3 (footnote 6: random exploration should not).
  `sightings` counts the records that show a pair in s or in s', valid or not, and `panels` holds whole panels. AfT and
  AnT, which query unseen pairs, use these two (diagnostics.py).
- *A pair of KB_S* is a crossing digit and a wall digit of one direction that differ.
- *KB_C* counts a digit that changes from s to s' by the option's length, in the option's own direction (it falls) and
  in the opposite direction (it rises): affordance and causality are partial relations, "defined within each type and
  its inverse" (Definitions 13 and 15). Crossing and wall digits are tracked separately. A crossing digit that changes
  by another amount belongs to another crossing and is no evidence about the option. The difference of the two digits is
  thus always the option's length.
- *KB_A* counts a digit of the option's own direction whose value is the option's length and which s' no longer shows:
  no crossing or wall digit of its colour has that value. If both digits show one value, this is one visit.
- *The pairs of KB_A* are all understood digits d1 > d2; their types may differ.
- *The threshold* (3 visits) is applied when a table is read; the counts are stored unchanged.

KB_C and KB_A are narrower than the text of Appendix D, which mentions neither the option's direction nor its length.
`knowledge_base="literal"` follows the text:

- *KB_C* counts a crossing or wall digit of any direction that "changes in states s and s', and if both digits are
  non-zero", by any amount. Crossing and wall digits are tracked separately, as above.
- *KB_A* counts a crossing or wall digit of any direction that "appears in state s and disappear[s] in s'": its place
  shows no digit in s', and no digit of its colour shows its value. A digit that is replaced by another has changed, and
  counts for KB_C. The option's direction and length may differ from the digit's.

"strict" counts more in a single case: an agent reaches a crossing, and the digit of the next crossing takes the place
of the old digit. "strict" counts the old digit as used up, "literal" as changed.

After a trial's last move, s' is the panel at the goal, or where the trial's time ended. The agent never observes it,
because it is put back at the start. s' counts all the same, as the environment's record of the transition. With the
setting `last_panel="dropped"` it counts neither as a sighting nor as an effect of the option.

As triples of labels, a digit is an entity named by its colour and value, "red 5"; an option by its direction and its
primitives without zeros, "left 2+3". Binary facts, which rules use and models train on, are in the graph `halma/RUN`:

    red 5       hasValue       5            seen
    red 5       hasColour      red          seen
    red 5       greaterThan    red 3        understood: a pair of KB_S, KB_C or KB_A (types differ in KB_A only)
    red 5       affords        left 2+3     understood: the option used the digit up (KB_A)
    red 5       indicates      left         understood: options in this direction use the digit up (KB_A)
    left 2+3    hasDirection   left         for the options that some digit affords
    left 2+3    hasPrimitives  dice 2+3

That the value 5 equals the dice 2+3 follows from hasValue(x, v) & affords(x, o) & hasPrimitives(o, p). An understood
digit affords every option that ever used it up: the effect of an option is not random (Definition 14), and the
threshold applies to digits.

The evidence is in the graph `halma/RUN/evidence`, also for pairs and digits met too rarely to count as understood. Each
pair of a knowledge base is a node, and so is each option that used up a digit:

    inequality:RUN:semantics:red 5>red 3       hasVisits, hasSightings (see KnowledgeBases)
    inequality:RUN:causality:red 5>red 3       hasVisits, hasDifference 2 (the length of the options, unless literal)
    inequality:RUN:affordance:red 5>orange 3   hasVisits (of the digit that was used up less often)
    use:RUN:red 5:left 2+3                     hasVisits, hasDigit red 5, hasOption left 2+3

An inequality also has ofRun, hasEvidence (semantics, causality or affordance), hasGreater red 5, hasLesser red 3,
hasGreaterType left, hasLesserType left and, if understood, inKnowledgeBase (KB_S, KB_C or KB_A); a use has ofRun.
Counts are literals (xsd:integer). The run is part of the node names, so that the union of several runs' graphs keeps
their counts apart. `gumption kg build halma --help` shows example queries.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, checked_methods
from gumption.envs.memory import EVIDENCE, OF_RUN, Triple, integer, state_facts

from .maze import DIRECTIONS
from .memory import Memory
from .rules import RULES, Rules
from .signs import signs

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph


# Binary relations.
GREATER_THAN, AFFORDS, INDICATES = "greaterThan", "affords", "indicates"
LEADS_TO, POINTS_TO = "leadsTo", "pointsTo"  # of hints, and of the goal's digits
HAS_VALUE, HAS_COLOUR = "hasValue", "hasColour"
HAS_DIRECTION, HAS_PRIMITIVES = "hasDirection", "hasPrimitives"
# Roles of the nodes.
HAS_GREATER, HAS_LESSER = "hasGreater", "hasLesser"
HAS_GREATER_TYPE, HAS_LESSER_TYPE = "hasGreaterType", "hasLesserType"
HAS_EVIDENCE, IN_KNOWLEDGE_BASE = "hasEvidence", "inKnowledgeBase"
HAS_VISITS, HAS_SIGHTINGS, HAS_DIFFERENCE = "hasVisits", "hasSightings", "hasDifference"
HAS_DIGIT, HAS_OPTION = "hasDigit", "hasOption"

SEMANTICS, CAUSALITY, AFFORDANCE = "semantics", "causality", "affordance"
BASES = {SEMANTICS: "KB_S", CAUSALITY: "KB_C", AFFORDANCE: "KB_A"}
PARTS = ("train", "test", "all")

# Selects the pairs of values that KB_A holds, but neither KB_S nor KB_C with any types.
THROUGH_AFFORDANCE_ONLY = """
SELECT DISTINCT ?greater ?lesser {
  ?n gum:ofRun ?run ; gum:inKnowledgeBase ent:KB_A .
  ?n gum:hasGreater/gum:hasValue ?greater ; gum:hasLesser/gum:hasValue ?lesser .
  FILTER NOT EXISTS {
    ?m gum:ofRun ?run ; gum:inKnowledgeBase ?other .
    ?m gum:hasGreater/gum:hasValue ?greater ; gum:hasLesser/gum:hasValue ?lesser .
    FILTER(?other != ent:KB_A) } }
"""
THRESHOLD = 3  # visits from which something counts as understood (paper, footnote 6; decision: 3)
Reading = Literal["strict", "literal"]  # of Appendix D
LastPanel = Literal["counted", "dropped"]  # s' of a trial's last move


def digit_label(value: int, direction: int, rules: Rules = RULES) -> str:
    """Return the label of a digit of a wall or crossing, "red 5"."""
    called = signs(rules)
    return f"{called.colour(direction)} {called.value(value)}"


def goal_digit_label(value: int, direction: int, rules: Rules = RULES) -> str:
    """Return the label of a digit of the goal, "purple 3"."""
    called = signs(rules)
    return f"{called.goal_colour(direction)} {called.value(value)}"


def option_labels(max_opt_len: int, rules: Rules = RULES) -> list[tuple[int, int, str]]:
    """Return (direction, code, label) of each option of up to `max_opt_len` primitives shorter than the side."""
    parts = list(enumerate(rules.digits.tolist()))[1:]
    codes: list[int] = []
    level = [(0, 0)]  # code and length
    for _ in range(max_opt_len):
        level = [(rules.count * c + p, n + digit) for c, n in level for p, digit in parts if n + digit < rules.side]
        codes += [code for code, _ in level]
    return [(d, code, option_label(d, code, rules)) for d in range(4) for code in codes]


def option_label(direction: int, code: int, rules: Rules = RULES) -> str:
    """Return the label of an option, "left 2+3", from the code of its primitives (see `option_codes`)."""
    return f"{DIRECTIONS[direction]} {_sum(code, rules)}"


def graph_name(run: str) -> str:
    """Return the name of the graph of a run's binary facts; the evidence graph appends EVIDENCE to it."""
    return f"halma/{run}"


def perceived(shown: np.ndarray, rules: Rules = RULES) -> set[Triple]:
    """Return facts of the value and the colour of each digit in a (10, 4) table of shown digits."""
    called, facts = signs(rules), set[Triple]()
    for value, d in np.argwhere(shown).tolist():
        if value:
            digit = digit_label(value, d, rules)
            facts |= {(digit, HAS_VALUE, called.value(value)), (digit, HAS_COLOUR, called.colour(d))}
    return facts


def affordance_facts(
    digit: int, direction: int, code: int, rules: Rules = RULES, moved: int | None = None
) -> set[Triple]:
    """Return the facts of an option that uses a digit up, and of the option's parts.

    :param moved: the option's direction, if it differs from the digit's.
    """
    moved = direction if moved is None else moved
    option = option_label(moved, code, rules)
    return {
        (digit_label(digit, direction, rules), AFFORDS, option),
        (option, HAS_DIRECTION, DIRECTIONS[moved]),
        (option, HAS_PRIMITIVES, f"dice {_sum(code, rules)}"),
    }


def _inequality(
    triples: list[Triple],
    run: str,
    evidence: str,
    greater: tuple[int, int],
    lesser: tuple[int, int],
    visits: int,
    understood: bool,
    rules: Rules,
) -> str:
    """Append the roles common to all inequalities; return the node."""
    names = digit_label(*greater, rules), digit_label(*lesser, rules)
    node = f"inequality:{run}:{evidence}:{names[0]}>{names[1]}"
    triples += [
        (node, OF_RUN, run),
        (node, HAS_EVIDENCE, evidence),
        (node, HAS_GREATER, names[0]),
        (node, HAS_LESSER, names[1]),
        (node, HAS_GREATER_TYPE, DIRECTIONS[greater[1]]),
        (node, HAS_LESSER_TYPE, DIRECTIONS[lesser[1]]),
        (node, HAS_VISITS, integer(visits)),
    ]
    if understood:
        triples.append((node, IN_KNOWLEDGE_BASE, BASES[evidence]))
    return node


def _nodes(graph: "KnowledgeGraph", name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the nodes of a graph with their roles; a node with a repeated role gets no roles."""
    nodes: dict[str, dict[str, str]] = {}
    twice = set()
    for node, role, value in graph.triples(graph=name):
        roles = nodes.setdefault(node, {})
        if role in roles:
            twice.add(node)
        roles[role] = value
    return ((node, {} if node in twice else roles) for node, roles in nodes.items())


def _sum(code: int, rules: Rules) -> str:
    """Return the primitives of a code in order, "2+3"."""
    return "+".join(rules.primitive_names[primitive] for primitive in primitives_of(code, rules))


def primitives_of(code: int, rules: Rules = RULES) -> list[int]:
    """Return the indices of a code's primitives, in order; see `option_codes`."""
    primitives = []
    while code:
        code, primitive = divmod(code, rules.count)
        primitives.append(primitive)
    return primitives[::-1]


def _option(label: str, rules: Rules) -> tuple[int, int]:
    """Return the direction and the code of a label."""
    direction, _, primitives = label.partition(" ")
    code = 0
    for primitive in primitives.split("+"):
        code = code * rules.count + rules.primitive_names.index(primitive)
    return DIRECTIONS.index(direction), code


def _integer(literal: str) -> int:
    return int(literal.split('"')[1])


SCHEMA = "gumption/halma-knowledge/1"
_CHOICES = {"knowledge_base": "knowledgeBase", "last_panel": "lastPanel"}  # in a graph's annotations


@checked_methods
@dataclass(frozen=True, eq=False)
class KnowledgeBases:
    """The knowledge bases of a memory. Directions are indices into DIRECTIONS. Index 0 of a digit's axis is empty, and
    the axis length, here 10, is `rules.side`.

    :ivar semantics: (10, 10, 4) int64 [greater, lesser, direction], valid moves from panels that show the pair.
    :ivar sightings: (10, 10, 4) int64, records that show the pair in s or s'.
    :ivar causality: (10, 10, 4) int64, valid moves that changed one digit of the pair into the other.
    :ivar affordance: (10, 4) int64 [digit, direction], valid moves that used the digit up.
    :ivar affordance_options: (k, 5) int64 sorted rows: digit, its direction, the option's direction, option code (see
        `option_codes`), visits. Visits sum to `affordance`. The directions differ in literal knowledge bases only.
    :ivar shown: (10, 4) bool [digit, direction], some panel of the memory shows the digit.
    :ivar threshold: visits from which a pair or a digit counts as understood.
    :ivar records: transitions of the memory.
    :ivar max_opt_len: primitives of an option.
    :ivar memory: fingerprint of the memory.
    :ivar knowledge_base: the reading of Appendix D; `last_panel` whether s' of a trial's last move counts; see above.
    :ivar rules: rules of the world.
    """

    semantics: np.ndarray
    sightings: np.ndarray
    causality: np.ndarray
    affordance: np.ndarray
    affordance_options: np.ndarray
    shown: np.ndarray
    threshold: int
    records: int
    max_opt_len: int
    memory: str
    knowledge_base: Reading = "strict"
    last_panel: LastPanel = "counted"
    _panels: tuple[np.ndarray, np.ndarray] | None = None
    rules: Rules = RULES

    @classmethod
    def of(
        cls,
        memory: Memory,
        threshold: Count = THRESHOLD,
        *,
        knowledge_base: Reading = "strict",
        last_panel: LastPanel = "counted",
    ) -> "KnowledgeBases":
        """Compute the knowledge bases of a memory; an empty memory gives empty knowledge bases."""
        before, after = np.ascontiguousarray(memory.before), np.ascontiguousarray(memory.after)
        if last_panel == "dropped":  # a state that stays shows nothing new and brings nothing about
            after = np.where(memory.seen_after[:, None], after, before)
        valid, direction, length = memory.valid, memory.direction, memory.length
        side = memory.rules.side
        panels, counts = _distinct_panels(before, after, side)
        codes = option_codes(memory.option, memory.rules.count)
        if knowledge_base == "strict":
            opposite = (direction + 2) % 4
            towards = [length * (direction == d) - length * (opposite == d) for d in range(4)]
            causality = _changes(before, after, valid, side, towards)
            # An option uses up a digit of its own direction and length if s shows that digit and s' does not.
            each = np.arange(len(before))
            shows, still = (
                (rows[each, direction] == length) | (rows[each, 4 + direction] == length) for rows in (before, after)
            )
            used = valid & (length > 0) & shows & ~still
            options = _uses(length[used], direction[used], direction[used], codes[used])
        else:
            causality = _changes(before, after, valid, side)
            options = _all_gone(before, after, valid, direction, codes)
        affordance = np.zeros((side, 4), dtype=np.int64)
        np.add.at(affordance, (options[:, 0], options[:, 1]), options[:, 4])
        return cls(
            semantics=_shown_pairs(before[valid], side=side),
            sightings=_shown_pairs(before, after, side=side),
            causality=causality,
            affordance=affordance,
            affordance_options=options,
            shown=_shown_digits(panels, side),
            threshold=threshold,
            records=len(memory),
            max_opt_len=memory.max_opt_len,
            memory=memory.fingerprint,
            knowledge_base=knowledge_base,
            last_panel=last_panel,
            _panels=(panels, counts),
            rules=memory.rules,
        )

    @property
    def choices(self) -> dict[str, str]:
        """The settings that differ from the defaults "strict" and "counted"."""
        settings = {"knowledge_base": self.knowledge_base, "last_panel": self.last_panel}
        return {name: value for name, value in settings.items() if value not in ("strict", "counted")}

    @property
    def panels(self) -> np.ndarray:
        """(n, 11) int8 distinct panel rows of the memory, sorted; InputError if read from a graph."""
        return self._from_memory()[0]

    @property
    def panel_counts(self) -> np.ndarray:
        """(n,) int64: records with each of `panels` as s or s'; InputError if read from a graph."""
        return self._from_memory()[1]

    @cached_property
    def s(self) -> np.ndarray:
        """(10, 10, 4) bool: KB_S, the pairs whose visits reach the threshold."""
        return self.semantics >= self.threshold

    @cached_property
    def c(self) -> np.ndarray:
        """(10, 10, 4) bool: KB_C, the pairs whose visits reach the threshold."""
        return self.causality >= self.threshold

    @cached_property
    def understood(self) -> np.ndarray:
        """(10, 4) bool: digits whose uses reach the threshold."""
        return self.affordance >= self.threshold

    @cached_property
    def a(self) -> np.ndarray:
        """(10, 4, 10, 4) bool [greater, its direction, lesser, its direction]: KB_A."""
        digit = np.arange(self.rules.side)
        greater = digit[:, None, None, None] > digit[:, None]
        return self.understood[:, :, None, None] & self.understood & greater

    @cached_property
    def fingerprint(self) -> str:
        """sha256 (hex) of the tables, the settings and the memory's fingerprint."""
        choices = [self.choices] if self.choices else []
        settings = json.dumps([SCHEMA, self.threshold, self.records, self.max_opt_len, self.memory, *choices])
        digest = hashlib.sha256(settings.encode())
        uses = self.affordance_options
        if self.knowledge_base == "strict":  # the option's direction is the digit's
            uses = np.delete(uses, 2, axis=1)
        for table in (self.semantics, self.sightings, self.causality, uses, self.shown):
            digest.update(table.astype("<i8").tobytes())
        return digest.hexdigest()

    def facts(self) -> list[Triple]:
        """Return the binary facts, sorted."""
        triples = perceived(self.shown, self.rules)
        for d1, d2, d in np.argwhere(self.s | self.c).tolist():
            triples.add((digit_label(d1, d, self.rules), GREATER_THAN, digit_label(d2, d, self.rules)))
        for d1, type1, d2, type2 in np.argwhere(self.a).tolist():
            greater, lesser = digit_label(d1, type1, self.rules), digit_label(d2, type2, self.rules)
            triples.add((greater, GREATER_THAN, lesser))
        for digit, d in np.argwhere(self.understood).tolist():
            triples.add((digit_label(digit, d, self.rules), INDICATES, DIRECTIONS[d]))
        for digit, d, moved, code, _ in self.affordance_options.tolist():
            if self.understood[digit, d]:
                triples |= affordance_facts(digit, d, code, self.rules, moved)
        return sorted(triples)

    def evidence(self, run: str) -> list[Triple]:
        """Return the nodes of the evidence as sorted triples; node names contain the run."""
        triples: list[Triple] = []
        for d1, d2, d in np.argwhere(self.sightings).tolist():
            visits, in_base = self.semantics[d1, d2, d], self.s[d1, d2, d]
            node = _inequality(triples, run, SEMANTICS, (d1, d), (d2, d), visits, in_base, self.rules)
            triples.append((node, HAS_SIGHTINGS, integer(self.sightings[d1, d2, d])))
        for d1, d2, d in np.argwhere(self.causality).tolist():
            visits, in_base = self.causality[d1, d2, d], self.c[d1, d2, d]
            node = _inequality(triples, run, CAUSALITY, (d1, d), (d2, d), visits, in_base, self.rules)
            triples.append((node, HAS_DIFFERENCE, integer(d1 - d2)))
        for d1, type1, d2, type2 in np.argwhere(self.a).tolist():
            visits = min(self.affordance[d1, type1], self.affordance[d2, type2])
            _inequality(triples, run, AFFORDANCE, (d1, type1), (d2, type2), visits, True, self.rules)
        for value, d, moved, code, visits in self.affordance_options.tolist():
            digit, option = digit_label(value, d, self.rules), option_label(moved, code, self.rules)
            node = f"use:{run}:{digit}:{option}"
            roles = {OF_RUN: run, HAS_DIGIT: digit, HAS_OPTION: option, HAS_VISITS: integer(visits)}
            triples += [(node, role, value) for role, value in roles.items()]
        return sorted(triples)

    def add_to(self, graph: "KnowledgeGraph", run: str) -> dict[str, int]:
        """Replace the graphs halma/RUN and halma/RUN/evidence; return the number of facts by graph name."""
        about = {
            "source": f"the memory of the run {run}", "run": run, "memory": self.memory, "records": str(self.records),
            "maxOptLen": str(self.max_opt_len), "threshold": str(self.threshold), "fingerprint": self.fingerprint,
            **{_CHOICES[name]: value for name, value in self.choices.items()},
            **({"rules": json.dumps(self.rules.changes, sort_keys=True)} if self.rules.changes else {}),
        }  # fmt: skip
        return state_facts(graph, graph_name(run), self.facts(), self.evidence(run), about)

    @classmethod
    def from_graph(cls, graph: "KnowledgeGraph", name: str) -> "KnowledgeBases":
        """Read the knowledge bases that `add_to` wrote to a graph, without `panels`.

        :param name: name of the graph, halma/RUN.
        :raises InputError: no such graph, a graph with other contents than a run's knowledge bases, or one changed
            since.
        """
        evidence = name + EVIDENCE
        about = graph.annotations(evidence)
        if not about:
            raise InputError(
                f"there is no graph {evidence!r} of knowledge bases; make it with `gumption kg build halma`"
            )
        rules = Rules(**json.loads(about.get("rules", "{}")))
        read = signs(rules).read
        tables: dict[str, Any] = {
            part: np.zeros((rules.side, rules.side, 4), dtype=np.int64) for part in (SEMANTICS, "sightings", CAUSALITY)
        }
        affordance, shown = np.zeros((rules.side, 4), dtype=np.int64), np.zeros((rules.side, 4), dtype=bool)
        uses: list[tuple[int, ...]] = []
        place = ""
        try:
            for place, _, _ in graph.triples(relation=HAS_VALUE, graph=name):
                shown[read(place)] = True
            for node, roles in _nodes(graph, evidence):
                place = node
                visits = _integer(roles[HAS_VISITS])
                if HAS_OPTION in roles:
                    value, d = read(roles[HAS_DIGIT])
                    uses.append((value, d, *_option(roles[HAS_OPTION], rules), visits))
                    affordance[value, d] += visits
                elif roles[HAS_EVIDENCE] != AFFORDANCE:  # those follow from the uses
                    (d1, d), (d2, _) = read(roles[HAS_GREATER]), read(roles[HAS_LESSER])
                    tables[roles[HAS_EVIDENCE]][d1, d2, d] = visits
                    if HAS_SIGHTINGS in roles:
                        tables["sightings"][d1, d2, d] = _integer(roles[HAS_SIGHTINGS])
        except (KeyError, ValueError, IndexError):
            raise InputError(
                f"{name}: {place!r} does not belong to knowledge bases; "
                f"`gumption kg validate STORE#{evidence} --shapes halma` says what is wrong"
            ) from None
        try:
            settings: dict[str, Any] = {
                "threshold": int(about["threshold"]),
                "records": int(about["records"]),
                "max_opt_len": int(about["maxOptLen"]),
                "memory": about["memory"],
                **{name: about[word] for name, word in _CHOICES.items() if word in about},
            }
        except (KeyError, ValueError):
            raise InputError(
                f"{evidence}: its annotations threshold, records, maxOptLen and memory are missing or wrong (a TSV "
                "file has them in FILE.license); make it anew with `gumption kg build halma`"
            ) from None
        options = np.array(sorted(uses), dtype=np.int64).reshape(-1, 5)
        bases = cls(**tables, affordance=affordance, affordance_options=options, shown=shown, rules=rules, **settings)
        if bases.fingerprint != about.get("fingerprint"):
            raise InputError(
                f"{name}: this graph was changed after it was made of a run's memory: its fingerprint does not fit; "
                "make it anew with `gumption kg build halma`"
            )
        return bases

    def counts(self) -> dict[str, dict[str, int]]:
        """Count the pairs of each knowledge base by the direction of both digits, and with "any" types."""
        same = np.einsum("aibi->abi", self.a)
        tables: dict[str, tuple[np.ndarray, Any]] = {
            "KB_S": (self.s, self.s.any(2)),
            "KB_C": (self.c, self.c.any(2)),
            "KB_A": (same, self.a.any((1, 3))),
            "KB_AC": (same | self.c, self.a.any((1, 3)) | self.c.any(2)),
        }
        return {
            name: {**dict(zip(DIRECTIONS, table.sum((0, 1)).tolist(), strict=True)), "any": int(pairs.sum())}
            for name, (table, pairs) in tables.items()
        }

    def _from_memory(self) -> tuple[np.ndarray, np.ndarray]:
        if self._panels is None:
            raise InputError(
                "these knowledge bases were read from a graph, which has no panels; make them of the run's memory: "
                'KnowledgeBases.of(Memory.load("RUN/memory"))'
            )
        return self._panels


def option_codes(options: np.ndarray, base: int = RULES.count) -> np.ndarray:
    """Encode the primitives of (n, 1 + T) options as (n,) int64: digits of a number in `base`, zeros left out.

    Zeros move nothing, so 2+0+3 and 2+3 are one option; 3+2 is another option with the same effect (paper, 3.2).
    """
    codes = np.zeros(len(options), dtype=np.int64)
    for primitive in options[:, 1:].T:
        codes = np.where(primitive > 0, codes * base + primitive, codes)
    return codes


def _distinct_panels(before: np.ndarray, after: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of both, sorted, and the number of records that contain each."""
    # Encode a row as one number, in mixed radix: eight distances, two offsets from -9 to 9, the hint.
    radices = np.array([side] * 8 + [2 * side - 1, 2 * side - 1, 5])
    weights = np.append(np.cumprod(radices[:0:-1])[::-1], 1)
    lowest = np.array([0] * 8 + [1 - side, 1 - side, 0])
    s, s_next = ((rows - lowest) @ weights for rows in (before, after))
    codes, counts = np.unique(np.concatenate([s, s_next[s_next != s]]), return_counts=True)
    return (codes[:, None] // weights % radices + lowest).astype(np.int8), counts


def _shown_pairs(*panels: np.ndarray, side: int) -> np.ndarray:
    """Return (10, 10, 4): the number of records that show a pair in any of their panels (n, 11)."""
    total = np.zeros((side, side, 4), dtype=np.int64)
    for direction in range(4):
        codes = []
        for rows in panels:
            crossing, wall = rows[:, direction].astype(np.int64), rows[:, 4 + direction].astype(np.int64)
            pair = np.maximum(crossing, wall) * side + np.minimum(crossing, wall)
            codes.append(np.where((crossing > 0) & (wall > 0) & (crossing != wall), pair, 0))
        total[..., direction] = _count_once(codes, side)
    return total


def _changes(
    before: np.ndarray, after: np.ndarray, valid: np.ndarray, side: int, by: Sequence[np.ndarray] | None = None
) -> np.ndarray:
    """Return (10, 10, 4): valid moves that change a digit of a direction into another (Appendix D).

    :param by: for each direction (n,), the amount by which the digit must fall; None for any change.
    """
    total = np.zeros((side, side, 4), dtype=np.int64)
    for d in range(4):
        codes = []
        for slot in (d, 4 + d):
            old, new = before[:, slot].astype(np.int64), after[:, slot].astype(np.int64)
            changed = valid & (old > 0) & (new > 0) & (old != new)
            if by is not None:
                changed &= old - new == by[d]
            codes.append(np.where(changed, np.maximum(old, new) * side + np.minimum(old, new), 0))
        total[..., d] = _count_once(codes, side)
    return total


def _count_once(codes: list[np.ndarray], side: int) -> np.ndarray:
    """Return (10, 10): records by pair code greater * side + lesser; a pair in several lists counts once a record."""
    first, *rest = codes
    total = np.bincount(first, minlength=side * side)
    for second in rest:
        total = total + np.bincount(second[second != first], minlength=side * side)
    total[0] = 0  # no pair
    return total.reshape(side, side)


def _all_gone(
    before: np.ndarray, after: np.ndarray, valid: np.ndarray, direction: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """Return `affordance_options` of digits that appear in s and disappear in s' (Appendix D)."""
    parts: list[tuple[np.ndarray, ...]] = []
    for d in range(4):
        here, there = before[:, (d, 4 + d)], after[:, (d, 4 + d)]
        gone = valid[:, None] & (here > 0) & (there == 0) & (here != there[:, ::-1])
        gone[:, 1] &= ~gone[:, 0] | (here[:, 0] != here[:, 1])  # both digits showing one value is one visit
        record, slot = np.nonzero(gone)
        parts.append((here[record, slot].astype(np.int64), np.full_like(record, d), direction[record], codes[record]))
    return _uses(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _uses(digit: np.ndarray, type_: np.ndarray, direction: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return (k, 5) int64 sorted rows: digit, type, the option's direction, option code, visits."""
    # Sorting one number for each row is many times faster than sorting rows.
    size = int(codes.max(initial=0)) + 1
    found, visits = np.unique(((digit * 4 + type_) * 4 + direction) * size + codes, return_counts=True)
    return np.stack([found // (16 * size), found // (4 * size) % 4, found // size % 4, found % size, visits], axis=1)


def _shown_digits(panels: np.ndarray, side: int) -> np.ndarray:
    """Return (10, 4) bool: digits of distances that panels (n, 11) show."""
    shown = np.zeros((side, 4), dtype=bool)
    for slot in range(8):
        shown[panels[:, slot], slot % 4] = True
    shown[0] = False
    return shown
