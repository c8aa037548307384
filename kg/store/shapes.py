"""Validate a graph's facts against shapes: SHACL (W3C 2017), evaluated by pyshacl."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyshacl
import rdflib
from rdflib.util import from_n3

from gumption.data import InputError
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import ENTITY, RELATION, iri_to_label, label_to_iri, object_to_term

_SHACL = rdflib.Namespace("http://www.w3.org/ns/shacl#")


@dataclass(frozen=True, order=True)
class Violation:
    """A result of the validation, in labels; "" for a part that it does not name."""

    subject: str
    relation: str  # from the subject to the value; "^combinesWith" is inverted
    value: str
    message: str
    severity: str  # Violation, Warning or Info


@dataclass(frozen=True)
class Report:
    """
    :ivar checked: the number of nodes that the shapes target; None if they use targets of SHACL's extensions.
    """

    conforms: bool
    checked: int | None
    violations: list[Violation]


def validate(graph: KnowledgeGraph, shapes: str | os.PathLike[str] | rdflib.Graph, name: str | None = None) -> Report:
    """Check the facts of a named graph, or of the union of all, against shapes from a Turtle file or an rdflib Graph.

    The facts are copied into rdflib's memory; the 27,000 facts of the commonsense recipe book take about 1.5 s.

    :raises InputError: a file that cannot be read or has no shapes, the name of a graph without facts while others have
        facts, a graph without targets of the shapes.
    """
    place = str(shapes) if isinstance(shapes, str | os.PathLike) else "the shapes"
    rules = shapes if isinstance(shapes, rdflib.Graph) else _shapes(Path(shapes))
    facts = _facts(graph, name)
    checked = _targets(rules, facts)
    if checked == 0:
        raise InputError(f"the shapes speak of nothing in {f'the graph {name!r}' if name else 'this graph'}")
    try:
        conforms, results, text = pyshacl.validate(facts, shacl_graph=rules, inplace=True)
    except Exception as error:  # many kinds, also bare exceptions, for invalid shapes
        raise InputError(f"{place}: these shapes cannot be used: {getattr(error, 'message', error)}") from None
    if not isinstance(results, rdflib.Graph):
        raise InputError(f"{place}: these shapes cannot be used: {text}")
    return Report(bool(conforms), checked, _violations(results))


def _shapes(path: Path) -> rdflib.Graph:
    try:
        rules = rdflib.Graph().parse(data=path.read_bytes(), format="turtle")
    except OSError as error:
        raise InputError(f"cannot read the shapes {path}: {error.strerror or error}") from None
    except Exception as error:  # rdflib's BadSyntax, and bare exceptions for text that is not UTF-8
        line = getattr(error, "lines", 0) + 1
        raise InputError(f"{path}:{line}: the shapes are not Turtle: {getattr(error, 'message', error)}") from None
    if not any((None, rdflib.RDF.type, kind) in rules for kind in (_SHACL.NodeShape, _SHACL.PropertyShape)):
        raise InputError(f"{path} has no shapes: it needs a sh:NodeShape or a sh:PropertyShape")
    return rules


def _facts(graph: KnowledgeGraph, name: str | None) -> rdflib.Graph:
    vocabulary, ids = graph.arrays(name)
    entities: list[Any] = [
        None if label.startswith("<<(") else from_n3(str(object_to_term(label))) for label in vocabulary.entities
    ]
    relations = [rdflib.URIRef(label_to_iri(label, RELATION)) for label in vocabulary.relations]
    facts = rdflib.Graph()
    for subject, relation, object_ in ids.tolist():
        if entities[object_] is not None:  # rdflib has no triple terms
            facts.add((entities[subject], relations[relation], entities[object_]))
    return facts


def _targets(rules: rdflib.Graph, facts: rdflib.Graph) -> int | None:
    """Return `Report.checked`."""
    if (None, _SHACL.target, None) in rules:
        return None
    nodes: set[object] = set(rules.objects(None, _SHACL.targetNode))
    for relation in rules.objects(None, _SHACL.targetSubjectsOf):
        nodes.update(facts.subjects(relation, None))
    for relation in rules.objects(None, _SHACL.targetObjectsOf):
        nodes.update(facts.objects(None, relation))
    shapes, classes = (set(rules.subjects(rdflib.RDF.type, kind)) for kind in (_SHACL.NodeShape, rdflib.RDFS.Class))
    for kind in {*rules.objects(None, _SHACL.targetClass), *(shapes & classes)}:
        nodes.update(facts.subjects(rdflib.RDF.type, kind))
    return len(nodes)


def _violations(results: rdflib.Graph) -> list[Violation]:
    def label(node: Any, namespace: str = ENTITY) -> str:
        if isinstance(node, rdflib.URIRef):
            return iri_to_label(str(node), namespace)
        if isinstance(node, rdflib.BNode) and namespace == ENTITY:
            return f"_:{node}"
        return "" if node is None else node.n3() if isinstance(node, rdflib.Literal) else str(node)

    def path(node: Any) -> str:
        against = results.value(node, _SHACL.inversePath)
        return label(node, RELATION) if against is None else f"^{label(against, RELATION)}"

    found = {
        Violation(
            label(results.value(result, _SHACL.focusNode)),
            path(results.value(result, _SHACL.resultPath)),
            label(results.value(result, _SHACL.value)),
            " ".join(sorted(map(str, results.objects(result, _SHACL.resultMessage)))),
            str(results.value(result, _SHACL.resultSeverity)).removeprefix(_SHACL),
        )
        for result in results.subjects(rdflib.RDF.type, _SHACL.ValidationResult)
    }
    return sorted(found)
