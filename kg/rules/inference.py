"""Entailment: the facts that follow from a graph by rules, in a named graph of their own.

    infer(graph, [symmetric("combinesWith")], source="wordcraft/train")     # -> wordcraft/train/inferred
    print(explain(graph, ("water", "combinesWith", "fire"), rules, source="wordcraft/train"))

The facts are read once as arrays and joined there (fixpoint.py), and only changes are written; the store evaluates no
rules. For a graph larger than memory, `Rule.construct` gives one application of a rule as a SPARQL query.

The annotation `inferenceState` of the graph of entailed facts keeps the rules and a 64-bit hash of each fact that they
were applied to (11 bytes a fact), so that the next run follows only new facts. After any other change (a fact removed,
other rules, entailed facts changed by hand, a killed run) it starts from the beginning, says why, and removes what no
longer follows.
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
from gumption.data.settings import checked
from gumption.kg.facts import fact_graphs
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import PREFIXES, PROVENANCE, RELATION, Triple, label_to_iri

from .fixpoint import NONE, Entailed, FactArrays, Fixpoint, default_into, sources_of
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
    :ivar by_rule: rule -> facts of this run that it entailed first.
    """

    into: str
    stated: int
    entailed: int
    added: int
    removed: int
    recomputed: str | None
    by_rule: dict[str, int] = field(default_factory=dict)


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
) -> Result:
    """Bring the graph `into` up to date: it then holds exactly the entailed facts that are not stated.

    Facts about literals are left out, because RDF has no literal subjects. The licence and attribution of the source
    are copied to the entailed graph.

    :param source: the graph with the stated facts; None for all graphs but those that this call writes.
    :param into: a graph without other facts; by default "SOURCE/inferred", or "inferred" without a source.
    :param provenance: also write one derivation of each entailed fact into "INTO/provenance", six to ten facts each: a
        node with rdf:subject, rdf:predicate, rdf:object, gum:entailedBy (the rule) and prov:wasDerivedFrom (the
        premises, described likewise). False removes the derivations of earlier runs.
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

    stated = content.hashes(content.stated)
    reason = _reason(state, state_text, settings, stated, content)
    fixpoint = Fixpoint(rules, content.relations, content.size, content.literals, traced=provenance)
    if reason is None:
        assert state is not None
        is_new = ~np.isin(stated, state.processed)
        if not is_new.any():
            return Result(into, len(stated), len(content.derived), 0, 0, None)
        restated = np.isin(content.hashes(content.derived), stated)
        derived = content.keys(content.derived)
        none = np.empty(0, dtype=np.int64)
        new = {
            r: np.setdiff1d(keys, derived.get(r, none), assume_unique=True)
            for r, keys in content.keys(content.stated[is_new]).items()
        }
        old = content.keys(np.concatenate([content.stated[~is_new], content.derived]))
        found = fixpoint.run(old, new)
        target = content.rows(found.keys)
        added, removed = target, content.derived[restated]
    else:
        found = fixpoint.run({}, content.keys(content.stated))
        target = content.rows(found.keys)
        before, after = content.hashes(content.derived), content.hashes(target)
        added, removed = target[~np.isin(after, before)], content.derived[~np.isin(before, after)]

    graph.annotate(into, {STATE: _UNFINISHED})
    labels = content.vocabulary.ids_to_triples
    graph.remove(labels(removed), graph=into)
    graph.add(labels(added), graph=into)
    write_provenance(graph, into + PROVENANCE, content, found, rules, removed, provenance, fresh=reason is not None)
    kept = content.derived[~np.isin(content.hashes(content.derived), content.hashes(removed))]
    now = np.concatenate([content.hashes(kept), content.hashes(added)])
    inherited = {} if source is None else graph.annotations(source)
    graph.annotate(
        into,
        {
            **{key: inherited[key] for key in ("license", "attribution") if key in inherited},
            "description": f"entailed from {source or 'all graphs'}; Horn rules applied: {len(rules)}",
            STATE: _State(settings, stated, _digest(now)).text(),
        },
    )
    return Result(into, len(stated), len(now), len(added), len(removed), reason, _by_rule(found, rules))


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
    if _digest(content.hashes(content.derived)) != state.entailed:
        return "the entailed facts were changed since the last run"
    gone = int((~np.isin(state.processed, stated)).sum())
    return f"{gone} stated fact{'s were' if gone > 1 else ' was'} removed since the last run" if gone else None


def _by_rule(found: Entailed, rules: Sequence[Rule]) -> dict[str, int]:
    counts = np.zeros(len(rules), dtype=np.int64)
    for each in found.rules.values():
        counts += np.bincount(each, minlength=len(rules))
    totals: dict[str, int] = {}
    for rule, number in zip(rules, counts.tolist(), strict=True):  # the two rules of an inverse have one name
        totals[rule.name] = totals.get(rule.name, 0) + number
    return totals


def _digest(hashes: np.ndarray) -> str:
    return hashlib.sha256(np.sort(hashes).astype("<u8").tobytes()).hexdigest()


# ---- How entailed facts follow from stated ones: a derivation of one fact for people, of all facts in PROV.

_SUBJECT, _PREDICATE, _OBJECT = (PREFIXES["rdf"] + part for part in ("subject", "predicate", "object"))
_DERIVED_FROM = PREFIXES["prov"] + "wasDerivedFrom"
_ENTAILED_BY, _RULE_TEXT = "entailedBy", "ruleText"


@dataclass(frozen=True)
class Step:
    """A fact of an explanation: stated (`rule` is None), or by a rule from earlier steps, numbered from 0."""

    fact: Triple
    rule: str | None
    premises: tuple[int, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """A derivation of a fact: each step once and after its premises, the fact itself last."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = []
        for number, step in enumerate(self.steps, start=1):
            why = "stated" if step.rule is None else f"{step.rule} from {', '.join(str(p + 1) for p in step.premises)}"
            lines.append(f"{number:3}. {' '.join(step.fact)}   [{why}]")
        return "\n".join(lines)


@checked
def explain(
    graph: KnowledgeGraph, fact: Triple, rules: Sequence[Rule], source: str | None = None, into: str | None = None
) -> Explanation:
    """A derivation of a fact from stated ones; the graph of entailed facts is neither read nor written.

    It is the derivation that evaluation finds first, for a transitive relation a shortest path. The rules that matter
    for the fact are applied anew, which takes as long as `infer` does for them; SPARQL can instead query what `infer`
    writes with provenance=True.

    :param source, into: as for `infer`.
    :raises InputError: an unknown label, with near matches; a fact that does not follow.
    """
    sources = sources_of(graph, source, into or default_into(source), must_exist=True)
    rules = _relevant(_told_apart(graph, rules, sources), fact[1])
    content = FactArrays(graph, sources, None, rules)
    ((subject, relation, object_),) = content.vocabulary.triples_to_ids([fact]).tolist()
    relevant = {relation, *(content.relations[atom.relation] for rule in rules for atom in (rule.head, *rule.body))}
    stated = {r: keys for r, keys in content.keys(content.stated).items() if r in relevant}
    found = Fixpoint(rules, content.relations, content.size, content.literals, traced=True).run({}, stated)
    proven: dict[tuple[int, int], int] = {}
    steps: list[Step] = []
    waiting = [(relation, subject * content.size + object_)]
    while waiting:  # depth first, without recursion: a derivation may be thousands of steps deep
        r, key = waiting[-1]
        premises, rule = _derivation(content, found, rules, r, key)
        if rule is None and not _has(stated.get(r), key):
            raise InputError(f"{' '.join(fact)} does not follow from {source or 'the stated facts'} by these rules")
        if missing := [premise for premise in premises if premise not in proven]:
            waiting += reversed(missing)
            continue
        waiting.pop()
        if (r, key) not in proven:
            proven[r, key] = len(steps)
            (labels,) = content.vocabulary.ids_to_triples(content.rows({r: np.array([key])}))
            steps.append(Step(labels, rule, tuple(proven[premise] for premise in premises)))
    return Explanation(tuple(steps))


def _derivation(
    content: FactArrays, found: Entailed, rules: Sequence[Rule], relation: int, key: int
) -> tuple[list[tuple[int, int]], str | None]:
    if not _has(found.keys.get(relation), key):
        return [], None
    place = int(np.searchsorted(found.keys[relation], key))
    rule = rules[int(found.rules[relation][place])]
    keys = found.premises[relation][place].tolist()
    return [(content.relations[atom.relation], keys[k]) for k, atom in enumerate(rule.body)], rule.name


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
        for relation in (_ENTAILED_BY, _DERIVED_FROM):
            gone = [triple for triple in graph.triples(relation=relation, graph=name) if triple[0] in nodes]
            graph.remove(gone, graph=name)
    if not wanted:
        return
    rows, premises = content.rows(found.keys), content.premises(found, rules)
    by = np.concatenate([np.empty(0, dtype=np.int64), *found.rules.values()])
    nodes = _nodes(content, rows)
    facts: list[Triple] = [
        (node, _ENTAILED_BY, rules[index].name) for node, index in zip(nodes, by.tolist(), strict=True)
    ]
    for place in range(premises.shape[1]):
        here = premises[:, place, 0] != NONE
        of = [node for node, there in zip(nodes, here.tolist(), strict=True) if there]
        facts += [(a, _DERIVED_FROM, b) for a, b in zip(of, _nodes(content, premises[here, place]), strict=True)]
    told = np.unique(np.concatenate([rows, premises[premises[:, :, 0] != NONE]]), axis=0)
    relations = [label_to_iri(label, RELATION) for label in content.vocabulary.relations]
    for node, (subject, _, object_), r in zip(
        _nodes(content, told), content.vocabulary.ids_to_triples(told), told[:, 1].tolist(), strict=True
    ):
        facts += [(node, _SUBJECT, subject), (node, _PREDICATE, relations[r]), (node, _OBJECT, object_)]
    facts += [(rules[i].name, _RULE_TEXT, str(ox.Literal(str(rules[i])))) for i in np.unique(by).tolist()]
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
    return [f"urn:gumption:fact:{number:016x}" for number in content.hashes(ids).tolist()]


def _has(keys: np.ndarray | None, key: int) -> bool:
    if keys is None or not len(keys):
        return False
    return bool(keys[min(np.searchsorted(keys, key), len(keys) - 1)] == key)
