"""Entailment: what rules make of a graph, kept in a named graph of its own.

    infer(graph, [symmetric("combinesWith")], source="wordcraft/train")     # -> wordcraft/train/inferred
    print(explain(graph, ("water", "combinesWith", "fire"), rules, source="wordcraft/train"))

The facts are read as arrays, joined there (fixpoint.py) and only what changed is written, so a store is asked for each
fact once and need not be able to evaluate rules. `Rule.construct` is the other way, for a graph larger than memory: one
application of a rule as a SPARQL query, which the store answers.

Memory of earlier runs: the annotation `inferenceState` of the graph of entailed facts has the rules and a 64-bit hash
of each fact they were applied to (11 bytes a fact). With it the next run tells new facts from old ones and follows only
the new ones. After anything else (a fact removed, other rules, entailed facts changed by hand, a run that was killed)
it starts from the beginning, says why, and takes away what no longer follows.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import checked
from gumption.kg.graph import KnowledgeGraph

from .fact_arrays import PROVENANCE, FactArrays, default_into, sources_of
from .fixpoint import Entailed, Fixpoint
from .horn import Rule, check_relations, rules_to_json
from .proof import write_provenance

STATE = "inferenceState"
_UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Result:
    """What a run of `infer` did.

    :ivar into: the graph of entailed facts.
    :ivar stated: how many facts the rules were applied to.
    :ivar entailed: how many facts `into` has now.
    :ivar added: how many of them are new.
    :ivar removed: how many facts it no longer has, because they are stated now or do not follow any more.
    :ivar recomputed: why the run started from the beginning; None where it followed only new facts.
    :ivar by_rule: rule -> how many facts of this run it was the first to entail.
    """

    into: str
    stated: int
    entailed: int
    added: int
    removed: int
    recomputed: str | None
    by_rule: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _State:
    """What an earlier run left: its rules and settings, and hashes of what it read and wrote."""

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
    """Write what the rules entail and is not stated into the graph `into`, so that it holds exactly that.

    A fact about a literal is not written, because RDF has no literal subjects. A licence and an attribution of the
    source are said about the entailed graph too.

    :param source: the graph with the stated facts; None for all graphs but those that this call writes.
    :param into: a graph that no other facts are in; by default "SOURCE/inferred", or "inferred" without a source.
    :param provenance: also write into "INTO/provenance" one derivation of each entailed fact: a node with rdf:subject,
        rdf:predicate, rdf:object, gum:entailedBy (the rule) and prov:wasDerivedFrom (the premises, described likewise).
        It is six to ten facts for each entailed one, so it is written only when asked for; a run that does not ask
        for it removes that of an earlier run.
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
    settings = json.dumps([rules_to_json(rules), source, provenance])
    content = FactArrays(graph, sources_of(graph, source, into, must_exist=state_text is None), into, rules)
    # After the first run facts may be gone, and with the last one of a relation its name.
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
        new = {r: _without(keys, derived.get(r)) for r, keys in content.keys(content.stated[is_new]).items()}
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


def _reason(
    state: _State | None, state_text: str | None, settings: str, stated: np.ndarray, content: FactArrays
) -> str | None:
    """Why what an earlier run left cannot be built on."""
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


def _without(keys: np.ndarray, others: np.ndarray | None) -> np.ndarray:
    return keys if others is None else np.setdiff1d(keys, others, assume_unique=True)


def _digest(hashes: np.ndarray) -> str:
    return hashlib.sha256(np.sort(hashes).astype("<u8").tobytes()).hexdigest()
