"""Entailment: the facts that follow from a graph by rules, in a named graph of their own.

    infer(graph, [symmetric("combinesWith")], source="wordcraft/train")     # -> wordcraft/train/inferred
    print(explain(graph, ("water", "combinesWith", "fire"), rules, source="wordcraft/train"))

The facts are read once as arrays and joined there (fixpoint.py), and only changes are written; the store evaluates no
rules.

The annotation `inferenceState` of the graph of entailed facts keeps the rules and a 64-bit hash of each fact that they
were applied to (11 bytes a fact), so that the next run follows only new facts. After any other change (a fact removed,
other rules, entailed facts changed by hand, a killed run) it starts from the beginning, says why, and removes what no
longer follows. With rules that are not certain it always does.
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
    """The outcome of `infer`, in numbers of facts.

    :ivar into: the graph of entailed facts.
    :ivar stated: facts that the rules were applied to.
    :ivar entailed: facts of `into` now; `added` of them are new.
    :ivar removed: facts that are stated now or no longer follow.
    :ivar recomputed: why the run started from the beginning; None where it followed only new facts.
    :ivar by_rule: rule -> facts of this run that it entailed first, or with most confidence.
    :ivar uncertain: the entailed facts with a confidence below 1, the most confident first.
    :ivar below: facts that follow from stated and entailed ones with less confidence than the least, and are left out.
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
    """The rules and settings of an earlier run, the (n,) hashes of the facts that it read, and one hash of the facts
    that it wrote."""

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
    """Bring the graph `into` up to date: it then holds exactly the entailed facts that are not stated, each with a
    confidence of at least `min_confidence` (the confidence of its best proof, see fixpoint.py).

    Facts about literals are left out, because RDF has no literal subjects. The licence and attribution of the source
    are copied to the entailed graph.

    :param source: the graph with the stated facts; None for all graphs but those that this call writes.
    :param into: a graph without other facts; by default "SOURCE/inferred", or "inferred" without a source.
    :param provenance: also write the best proof of each entailed fact into "INTO/provenance", six to ten facts each: a
        node with rdf:subject, rdf:predicate, rdf:object, gum:entailedBy (the rule), gum:confidence where it is below 1,
        and prov:wasDerivedFrom (the premises, described likewise). False removes the derivations of earlier runs.
    :raises InputError: no rules; an unknown graph; a relation that neither the source nor a head has; `into` is the
        source or has facts that inference did not write.
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
    # In later runs a relation may have lost its last fact, and with it its name.
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
    """The rules without atoms of any relation."""
    if all(atom.relation != ANY for rule in rules for atom in rule.body):
        return rules
    return of_any(rules, {relation for name in sources for relation in graph.arrays(name)[0].relations})


def _reason(
    state: _State | None, state_text: str | None, settings: str, stated: np.ndarray, content: FactArrays
) -> str | None:
    """Why the run has to start from the beginning; None where it need not."""
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


# ---- How entailed facts follow from stated ones: a derivation of one fact for people, of all facts in PROV.

_SUBJECT, _PREDICATE, _OBJECT = (PREFIXES["rdf"] + part for part in ("subject", "predicate", "object"))
_DERIVED_FROM = PREFIXES["prov"] + "wasDerivedFrom"
_ENTAILED_BY, _RULE_TEXT, _CONFIDENCE = "entailedBy", "ruleText", "confidence"


@dataclass(frozen=True)
class Step:
    """A fact of an explanation: stated (`rule` is None), or by a rule from earlier steps, numbered from 0; and the
    confidence of its proof."""

    fact: Triple
    rule: str | None
    premises: tuple[int, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True)
class Explanation:
    """A derivation of a fact: each step once and after its premises, the fact itself last."""

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
    """The best proof of a fact from stated ones; the graph of entailed facts is neither read nor written.

    Of equal ones it is the proof that evaluation finds first, for a certain transitive relation a shortest path. The
    rules that matter for the fact are applied anew, which takes as long as `infer` does for them; SPARQL can instead
    query what `infer` writes with provenance=True.

    :param source, into: as for `infer`.
    :param min_confidence: of the facts that the proof uses.
    :raises InputError: an unknown label, with near matches; a fact that does not follow.
    """
    sources = sources_of(graph, source, into or default_into(source), must_exist=True)
    return Closure(graph, sources, rules, fact[1], min_confidence).explain(fact, source)


class Closure:
    """The stated facts of some graphs and the facts that rules entail from them, with a proof of each.

    :ivar content: the stated facts.
    :ivar entailed: the other ones.
    """

    def __init__(
        self, graph: KnowledgeGraph, sources: Sequence[str], rules: Sequence[Rule], relation: str | None = None,
        least: float = LEAST,
    ) -> None:  # fmt: skip
        """:param relation: apply only the rules that facts of this relation can follow by."""
        rules = _told_apart(graph, rules, sources)
        self._rules, self._least = rules if relation is None else _relevant(rules, relation), least
        self.content = content = FactArrays(graph, sources, None, self._rules)
        self.entailed = content.fixpoint(self._rules, True, least).run({}, content.keys(content.stated))

    def explain(self, fact: Triple, source: str | None = None) -> Explanation:
        """As the function of this name."""
        content, found = self.content, self.entailed
        assert found.premises is not None
        ((subject, relation, object_),) = content.vocabulary.triples_to_ids([fact]).tolist()
        proven: dict[int, int] = {}
        steps: list[Step] = []
        waiting = [(relation * content.size + subject) * content.size + object_]
        while waiting:  # depth first, without recursion: a derivation may be thousands of steps deep
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
    """Bring the graph `name`, described at `infer`, up to date with a run.

    :param removed: (n, 3) ids of the facts that are no longer entailed.
    :param fresh: the run started from the beginning and replaces everything.
    """
    if fresh or not wanted:
        graph.remove(graph.triples(graph=name), graph=name)
    elif len(removed):
        nodes = set(_nodes(content, removed))
        for relation in (_ENTAILED_BY, _DERIVED_FROM):  # of certain rules: other runs start from the beginning
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
    """The graphs of entailed facts that go stale when these facts are removed from the graph `name`, or from all.

    :returns: the graph -> how many of its facts have a proof that uses any of these, perhaps by way of other entailed
        facts, None where no proofs are kept; and the graph that they are entailed from, None for all.
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
    """The place of a key among sorted ones."""
    place = int(np.searchsorted(keys, key))
    return place if place < len(keys) and keys[place] == key else None
