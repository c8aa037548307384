"""Derive the facts that rules entail from a graph, and write them to a separate named graph.

    infer(graph, [symmetric("combinesWith")], source="wordcraft/train")     # -> wordcraft/train/inferred
    print(explain(graph, ("water", "combinesWith", "fire"), rules, source="wordcraft/train"))

The facts are read once as arrays and joined there (fixpoint.py). Only changes are written to the store, which evaluates
no rules.

The annotation `inferenceState` of the graph of entailed facts stores the rules and a 64-bit hash of each source fact
(11 bytes per fact), so that the next run evaluates only new facts. After any other change (removed facts, other rules,
entailed facts edited by hand, a killed run), the run starts from the beginning, reports the reason, and removes facts
that no longer follow. With uncertain rules (confidence below 1) it always starts from the beginning.
"""

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Share, checked
from gumption.kg.facts import fact_graphs
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import PREFIXES, PROVENANCE, RELATION, Triple, label_to_iri

from .fixpoint import LEAST, NONE, ROUNDING, Entailed, FactArrays, default_into, sources_of
from .horn import ANY, Rule, check_relations, of_any, rules_to_json

STATE = "inferenceState"
_UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Result:
    """The result of `infer`, in numbers of facts.

    :ivar into: the graph of entailed facts.
    :ivar stated: facts to which the rules were applied.
    :ivar entailed: facts in `into` after the run; `added` of them are new.
    :ivar removed: facts removed from `into`, because they are stated now or no longer follow.
    :ivar recomputed: why the run started from the beginning; None if it evaluated only new facts.
    :ivar by_rule: rule -> facts of this run that it entailed first, or with the highest confidence.
    :ivar uncertain: the entailed facts with a confidence below 1, in descending order of confidence.
    :ivar below: facts that are left out because their confidence is below `min_confidence`.
    """

    into: str
    stated: int
    entailed: int
    added: int
    removed: int
    recomputed: str | None
    by_rule: dict[str, int] = field(default_factory=dict)
    uncertain: tuple[tuple[Triple, float], ...] = ()
    below: int = 0


class _State(NamedTuple):
    """The rules and settings of an earlier run, the (n,) hashes of its stated facts, and one hash of all its entailed
    facts."""

    settings: str
    processed: np.ndarray
    entailed: str

    @classmethod
    def read(cls, text: str) -> "_State | None":
        try:
            content = parse_json(text)
            processed = np.frombuffer(base64.b64decode(content["processed"]), dtype="<u8")
            return cls(content["settings"], processed, content["entailed"])
        except (ValueError, KeyError, TypeError):  # unfinished, or changed by hand
            return None

    def text(self) -> str:
        processed = base64.b64encode(np.sort(self.processed).astype("<u8").tobytes()).decode()
        return json.dumps({"settings": self.settings, "entailed": self.entailed, "processed": processed})


@checked
def infer(
    graph: KnowledgeGraph,
    rules: Sequence[Rule],
    source: str | None = None,
    into: str | None = None,
    *,
    provenance: bool = False,
    min_confidence: Share = LEAST,
) -> Result:
    """Update the graph `into`, so that it holds exactly the entailed facts that are not stated, each with a confidence
    of at least `min_confidence` (the confidence of its best proof, see fixpoint.py).

    Facts with a literal as subject are left out, because RDF does not allow them. The licence and attribution of the
    source are copied to the entailed graph.

    :param source: the graph with the stated facts; None for all graphs except those that this call writes.
    :param into: a graph without other facts; by default "SOURCE/inferred", or "inferred" without a source.
    :param provenance: also write the best proof of each entailed fact to "INTO/provenance", six to ten facts each: a
        node with rdf:subject, rdf:predicate, rdf:object, gum:entailedBy (the rule), gum:confidence if it is below 1,
        and prov:wasDerivedFrom (the premises, described in the same way). False removes the proofs of earlier runs.
    :raises InputError: no rules; an unknown graph; a relation that is neither in the source nor in a head; `into` is
        the source or has facts that inference did not write.
    """
    into = into or default_into(source)
    if not rules:
        raise InputError("there are no rules to apply")
    if source == into:
        raise InputError(f"the entailed facts cannot go into their own source {source!r}: name another graph")
    state_text = graph.annotations(into).get(STATE)
    if state_text is None and into in graph.graphs():
        raise InputError(
            f"the graph {into!r} has facts that inference did not write (or a TSV file lost the record of it): remove "
            "it, or name another graph for what follows"
        )
    state = None if state_text is None else _State.read(state_text)
    rules = _told_apart(graph, rules, sources_of(graph, source, into, must_exist=state_text is None))
    settings = json.dumps([rules_to_json(rules), source, provenance])
    content = FactArrays(graph, sources_of(graph, source, into, must_exist=state_text is None), into, rules)
    # In later runs a relation may be absent because its last fact was removed.
    if state is None or state.settings != settings:
        check_relations(rules, content.stated_relations if len(content.stated) else content.vocabulary.relations)

    stated = content.marks(content.stated)
    reason = _reason(state, state_text, settings, stated, content)
    if reason is None and any(rule.confidence < 1 for rule in rules):
        reason = "there are rules that are not certain"
    fixpoint = content.fixpoint(rules, provenance, min_confidence)
    if reason is None:
        assert state is not None
        is_new = ~np.isin(stated, state.processed)
        if not is_new.any():
            return Result(into, len(stated), len(content.derived), 0, 0, None)
        derived = content.keys(content.derived)
        none = np.empty(0, dtype=np.int64)
        new = {
            r: np.setdiff1d(keys, derived.get(r, none), assume_unique=True)
            for r, keys in content.keys(content.stated[is_new]).items()
        }
        old = content.keys(np.concatenate([content.stated[~is_new], content.derived]))
        whole = fixpoint.run(old, new)
    else:
        whole = fixpoint.run({}, content.keys(content.stated))
    found = whole.only(whole.confidences >= min_confidence - ROUNDING)
    added = content.rows(found.keys)
    before, after = content.marks(content.derived), content.marks(added)
    removed = content.derived[np.isin(before, stated) if reason is None else ~np.isin(before, after)]
    added = added[~np.isin(after, before)]

    graph.annotate(into, {STATE: _UNFINISHED})
    labels = content.vocabulary.ids_to_triples
    graph.remove(labels(removed), graph=into)
    graph.add(labels(added), graph=into)
    write_provenance(graph, into + PROVENANCE, content, found, rules, removed, provenance, fresh=reason is not None)
    kept = content.derived[~np.isin(content.marks(content.derived), content.marks(removed))]
    now = np.concatenate([content.marks(kept), content.marks(added)])
    inherited = {} if source is None else graph.annotations(source)
    graph.annotate(
        into,
        {
            **{key: inherited[key] for key in ("license", "attribution") if key in inherited},
            "description": f"entailed from {source or 'all graphs'}; Horn rules applied: {len(rules)}",
            STATE: _State(settings, stated, _digest(now)).text(),
        },
    )
    some = found.only(found.confidences < 1)
    some = some.only(np.argsort(-some.confidences, kind="stable"))
    uncertain = tuple(zip(labels(content.rows(some.keys)), some.confidences.tolist(), strict=True))
    numbers = len(stated), len(now), len(added), len(removed)
    return Result(into, *numbers, reason, _by_rule(found, rules), uncertain, len(whole.keys) - len(found.keys))


def _told_apart(graph: KnowledgeGraph, rules: Sequence[Rule], sources: Sequence[str]) -> Sequence[Rule]:
    """Expand rules with an atom of any relation (`ANY`) into rules with named relations."""
    if all(atom.relation != ANY for rule in rules for atom in rule.body):
        return rules
    return of_any(rules, {relation for name in sources for relation in graph.arrays(name)[0].relations})


def _reason(
    state: _State | None, state_text: str | None, settings: str, stated: np.ndarray, content: FactArrays
) -> str | None:
    """Return why the run has to start from the beginning; None if new facts suffice."""
    if state_text is None:
        return "first run"
    if state is None:
        return "the last run was not finished"
    if state.settings != settings:
        return "other rules, source or provenance than in the last run"
    if _digest(content.marks(content.derived)) != state.entailed:
        return "the entailed facts were changed since the last run"
    gone = int((~np.isin(state.processed, stated)).sum())
    return f"{gone} stated fact{'s were' if gone > 1 else ' was'} removed since the last run" if gone else None


def _by_rule(found: Entailed, rules: Sequence[Rule]) -> dict[str, int]:
    counts = np.bincount(found.rules, minlength=len(rules))
    totals: dict[str, int] = {}
    for rule, number in zip(rules, counts.tolist(), strict=True):  # the two rules of an inverse have one name
        totals[rule.name] = totals.get(rule.name, 0) + number
    return totals


def _digest(hashes: np.ndarray) -> str:
    return hashlib.sha256(np.sort(hashes).astype("<u8").tobytes()).hexdigest()


# ---- Proofs of entailed facts: of one fact as text, of all facts in PROV.

_SUBJECT, _PREDICATE, _OBJECT = (PREFIXES["rdf"] + part for part in ("subject", "predicate", "object"))
_DERIVED_FROM = PREFIXES["prov"] + "wasDerivedFrom"
_ENTAILED_BY, _RULE_TEXT, _CONFIDENCE = "entailedBy", "ruleText", "confidence"


@dataclass(frozen=True)
class Step:
    """A fact of a proof: stated (`rule` is None), or entailed by a rule from earlier steps, numbered from 0, with the
    confidence of its proof."""

    fact: Triple
    rule: str | None
    premises: tuple[int, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True)
class Explanation:
    """A proof of a fact: each step occurs once and after its premises; the fact itself is last."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = []
        for number, step in enumerate(self.steps, start=1):
            why = "stated" if step.rule is None else f"{step.rule} from {', '.join(str(p + 1) for p in step.premises)}"
            why += f"; confidence {step.confidence:.3f}" if step.confidence < 1 else ""
            lines.append(f"{number:3}. {' '.join(step.fact)}   [{why}]")
        return "\n".join(lines)


@checked
def explain(
    graph: KnowledgeGraph, fact: Triple, rules: Sequence[Rule], source: str | None = None, into: str | None = None,
    *, min_confidence: Share = LEAST,
) -> Explanation:  # fmt: skip
    """Return the best proof of a fact from stated facts; the graph of entailed facts is neither read nor written.

    Of equal proofs, the first in the order of evaluation is returned: a shortest path for a certain transitive
    relation. The rules that can lead to the fact are evaluated again, which takes as long as `infer` with these rules.
    Alternatively, query the proofs that `infer` writes with provenance=True by SPARQL.

    :param source, into: as for `infer`.
    :param min_confidence: minimum confidence of the facts that the proof uses.
    :raises InputError: an unknown label, with near matches; a fact that does not follow.
    """
    sources = sources_of(graph, source, into or default_into(source), must_exist=True)
    return Closure(graph, sources, rules, fact[1], min_confidence).explain(fact, source)


class Closure:
    """The stated facts of some graphs and the facts that rules entail from them, with a proof of each.

    :ivar content: the stated facts.
    :ivar entailed: the entailed facts.
    """

    def __init__(
        self, graph: KnowledgeGraph, sources: Sequence[str], rules: Sequence[Rule], relation: str | None = None,
        least: float = LEAST,
    ) -> None:  # fmt: skip
        """:param relation: apply only rules that can contribute to facts of this relation."""
        rules = _told_apart(graph, rules, sources)
        self._rules, self._least = rules if relation is None else _relevant(rules, relation), least
        self.content = content = FactArrays(graph, sources, None, self._rules)
        self.entailed = content.fixpoint(self._rules, True, least).run({}, content.keys(content.stated))

    def explain(self, fact: Triple, source: str | None = None) -> Explanation:
        """Return the best proof of a fact; see the function `explain`."""
        content, found = self.content, self.entailed
        assert found.premises is not None
        ((subject, relation, object_),) = content.vocabulary.triples_to_ids([fact]).tolist()
        proven: dict[int, int] = {}
        steps: list[Step] = []
        waiting = [(relation * content.size + subject) * content.size + object_]
        while waiting:  # depth first, without recursion: a proof may be thousands of steps deep
            key = waiting[-1]
            place = _place(found.keys, key)
            premises = [] if place is None else [each for each in found.premises[place].tolist() if each != NONE]
            if place is None and _place(content.stated_keys, key) is None:
                which = f"{' '.join(fact)} does not follow from {source or 'the stated facts'} by these rules"
                certain = all(rule.confidence == 1 for rule in self._rules)
                raise InputError(which + ("" if certain else f" and facts of a confidence of at least {self._least:g}"))
            if missing := [premise for premise in premises if premise not in proven]:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if key not in proven:
                proven[key] = len(steps)
                (labels,) = content.vocabulary.ids_to_triples(content.rows(np.array([key])))
                by = (None, 1.0) if place is None else (self._rules[found.rules[place]].name, found.confidences[place])
                steps.append(Step(labels, by[0], tuple(map(proven.__getitem__, premises)), float(by[1])))
        return Explanation(tuple(steps))


def _relevant(rules: Sequence[Rule], relation: str) -> list[Rule]:
    wanted, before = {relation}, set()
    while wanted != before:
        before = set(wanted)
        wanted.update(atom.relation for rule in rules if rule.head.relation in wanted for atom in rule.body)
    return [rule for rule in rules if rule.head.relation in wanted]


def write_provenance(
    graph: KnowledgeGraph, name: str, content: FactArrays, found: Entailed, rules: Sequence[Rule], removed: np.ndarray,
    wanted: bool, fresh: bool,
) -> None:  # fmt: skip
    """Update the graph of proofs `name` after a run; see `infer` for its content.

    :param removed: (n, 3) ids of the facts that are no longer entailed.
    :param fresh: the run started from the beginning and replaces everything.
    """
    if fresh or not wanted:
        graph.remove(graph.triples(graph=name), graph=name)
    elif len(removed):
        nodes = set(_nodes(content, removed))
        for relation in (_ENTAILED_BY, _DERIVED_FROM):  # no _CONFIDENCE: with uncertain rules every run is fresh
            gone = [triple for triple in graph.triples(relation=relation, graph=name) if triple[0] in nodes]
            graph.remove(gone, graph=name)
    if not wanted:
        return
    assert found.premises is not None
    nodes, by = _nodes(content, content.rows(found.keys)), [rules[index] for index in found.rules.tolist()]
    facts: list[Triple] = [(node, _ENTAILED_BY, rule.name) for node, rule in zip(nodes, by, strict=True)]
    for place in np.flatnonzero(found.confidences < 1).tolist():
        facts.append((nodes[place], _CONFIDENCE, str(ox.Literal(float(found.confidences[place])))))
    used = found.premises[found.premises != NONE]
    of = np.nonzero(found.premises != NONE)[0].tolist()
    facts += [
        (nodes[place], _DERIVED_FROM, node) for place, node in zip(of, _nodes(content, content.rows(used)), strict=True)
    ]
    told = content.rows(np.union1d(found.keys, used))
    relations = [label_to_iri(label, RELATION) for label in content.vocabulary.relations]
    for node, (subject, _, object_), r in zip(
        _nodes(content, told), content.vocabulary.ids_to_triples(told), told[:, 1].tolist(), strict=True
    ):
        facts += [(node, _SUBJECT, subject), (node, _PREDICATE, relations[r]), (node, _OBJECT, object_)]
    facts += [(rule.name, _RULE_TEXT, str(ox.Literal(str(rule)))) for rule in dict.fromkeys(by)]
    graph.add(facts, graph=name)


def stale_without(
    graph: KnowledgeGraph, facts: Collection[Triple], name: str | None = None
) -> dict[str, tuple[int | None, str | None]]:
    """Report which graphs of entailed facts go stale if these facts are removed from the graph `name`, or from all.

    :returns: graph -> the number of its facts whose proofs use any of these facts, directly or through other entailed
        facts (None if no proofs are stored), and the graph from which they are entailed (None for all graphs).
    """
    names, stale = graph.graphs(), {}
    states = {into: said[STATE] for into in names if STATE in (said := graph.annotations(into))}
    for into, text in states.items():
        state = _State.read(text)
        source = None if state is None else json.loads(state.settings)[1]
        if name == into or (None not in (name, source) and name != source):
            continue
        stated = set(fact_graphs(names)) - {name, *states} if name is not None and source is None else ()
        lost = set(facts).difference(*(graph.triples(graph=other) for other in stated))
        number = _resting_on(graph, into + PROVENANCE, lost) if into + PROVENANCE in names else None
        if lost and number != 0:
            stale[into] = number, source
    return stale


def _resting_on(graph: KnowledgeGraph, proofs: str, lost: Collection[Triple]) -> int:
    told: defaultdict[str, dict[str, str]] = defaultdict(dict)
    uses: defaultdict[str, list[str]] = defaultdict(list)
    for node, relation, value in graph.triples(graph=proofs):
        if relation == _DERIVED_FROM:
            uses[value].append(node)
        else:
            told[node][relation] = value
    lost = {(subject, label_to_iri(relation, RELATION), object_) for subject, relation, object_ in lost}
    parts = (_SUBJECT, _PREDICATE, _OBJECT)
    waiting = [node for node, said in told.items() if tuple(map(said.get, parts)) in lost]
    resting: set[str] = set()
    while waiting:
        new = set(uses[waiting.pop()]) - resting
        resting |= new
        waiting += new
    return len(resting)


def _nodes(content: FactArrays, ids: np.ndarray) -> list[str]:
    return [f"urn:gumption:fact:{number:016x}" for number in content.marks(ids).tolist()]


def _place(keys: np.ndarray, key: int) -> int | None:
    """Return the position of a key in sorted keys, or None if it is absent."""
    place = int(np.searchsorted(keys, key))
    return place if place < len(keys) and keys[place] == key else None
