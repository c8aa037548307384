"""How entailed facts follow from stated ones: one derivation of a fact for people, of all of them as PROV facts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.settings import checked
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import PREFIXES, RELATION, Triple, label_to_iri

from .fact_arrays import FactArrays, default_into, sources_of
from .fixpoint import NONE, Entailed, Fixpoint
from .horn import Rule

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
    """How a fact follows: a derivation tree as a list, each fact once and after its premises, the fact itself last."""

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
    """How a fact follows from stated ones; nothing is read of, or written to, the graph of entailed facts.

    Of several derivations it is the one that evaluation finds first, the same one each time: a shortest path for a
    transitive relation. The rules that matter for the fact are applied anew, which takes as long as `infer` does for
    them; what `infer` writes with provenance=True can be asked by SPARQL instead.

    :param source, into: as for `infer`.
    :raises InputError: an unknown label, with near matches; a fact that does not follow.
    """
    sources = sources_of(graph, source, into or default_into(source), must_exist=True)
    rules = _relevant(rules, fact[1])
    content = FactArrays(graph, sources, None, rules)
    ((subject, relation, object_),) = content.vocabulary.triples_to_ids([fact]).tolist()
    stated = {r: keys for r, keys in content.keys(content.stated).items() if r in _relations(content, rules, relation)}
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
    """The rules that a derivation of this relation can use."""
    wanted, before = {relation}, set()
    while wanted != before:
        before = set(wanted)
        wanted.update(atom.relation for rule in rules if rule.head.relation in wanted for atom in rule.body)
    return [rule for rule in rules if rule.head.relation in wanted]


def _relations(content: FactArrays, rules: Sequence[Rule], relation: int) -> set[int]:
    return {relation, *(content.relations[atom.relation] for rule in rules for atom in (rule.head, *rule.body))}


def write_provenance(
    graph: KnowledgeGraph, name: str, content: FactArrays, found: Entailed, rules: Sequence[Rule], removed: np.ndarray,
    wanted: bool, fresh: bool,
) -> None:  # fmt: skip
    """Bring the graph `name` up to date with a run: see `infer` for what it holds.

    :param removed: (n, 3) ids of the facts that are not entailed any more.
    :param fresh: the run started from the beginning, so nothing of earlier ones is kept.
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


def _nodes(content: FactArrays, ids: np.ndarray) -> list[str]:
    return [f"urn:gumption:fact:{number:016x}" for number in content.hashes(ids).tolist()]


def _has(keys: np.ndarray | None, key: int) -> bool:
    if keys is None or not len(keys):
        return False
    return bool(keys[min(np.searchsorted(keys, key), len(keys) - 1)] == key)
