"""Whether a graph's facts have the shapes they should: SHACL (W3C 2017), evaluated by pyshacl."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.kg.graph import KnowledgeGraph
from gumption.kg.vocabulary import BLANK, ENTITY, RELATION, iri_to_label, label_to_iri, object_to_term

if TYPE_CHECKING:
    import rdflib

_SHACL = "http://www.w3.org/ns/shacl#"


@dataclass(frozen=True, order=True)
class Violation:
    """One thing that is not as a shape says: labels, "" where the result names none."""

    subject: str
    relation: str  # a relation, or how to get from the subject to the value: "^combinesWith" goes against the arrow
    value: str
    message: str
    severity: str  # Violation, Warning or Info


@dataclass(frozen=True)
class Report:
    """What a validation found. `checked` is how many nodes of the graph the shapes speak of (None: untold)."""

    conforms: bool
    checked: int | None
    violations: list[Violation]


def validate(graph: KnowledgeGraph, shapes: "str | os.PathLike[str] | rdflib.Graph", name: str | None = None) -> Report:
    """Check the facts of a named graph, or of the union of all, against shapes from a Turtle file or an rdflib Graph.

    The facts are copied into rdflib's memory; the 16,000 of the commonsense recipe book take about 1.5 s.

    Raises InputError for shapes that cannot be read or are none, for the name of a graph that has no facts while others
    have, and where the graph has nothing that the shapes speak of.
    """
    import pyshacl
    import rdflib

    rules = _shapes(shapes)
    facts = _facts(graph, name)
    checked = _targets(rules, facts)
    if checked == 0:
        raise InputError(f"the shapes speak of nothing in {f'the graph {name!r}' if name else 'this graph'}")
    try:
        # In place: the copy of the facts is nobody else's.
        conforms, results, text = pyshacl.validate(facts, shacl_graph=rules, inplace=True)  # pyright: ignore
    except Exception as error:  # of many kinds, also bare ones, for shapes that say what they may not
        raise InputError(f"{_place(shapes)}: these shapes cannot be used: {getattr(error, 'message', error)}") from None
    if not isinstance(results, rdflib.Graph):
        raise InputError(f"{_place(shapes)}: these shapes cannot be used: {text}")
    return Report(bool(conforms), checked, _violations(results))


def _shapes(shapes: "str | os.PathLike[str] | rdflib.Graph") -> "rdflib.Graph":
    import rdflib

    if isinstance(shapes, rdflib.Graph):
        return shapes
    path = Path(shapes)
    try:
        rules = rdflib.Graph().parse(data=path.read_bytes(), format="turtle")
    except OSError as error:
        raise InputError(f"cannot read the shapes {path}: {error.strerror or error}") from None
    except Exception as error:  # rdflib's BadSyntax, and bare ones for text that is not UTF-8
        line = getattr(error, "lines", 0) + 1
        raise InputError(f"{path}:{line}: the shapes are not Turtle: {getattr(error, 'message', error)}") from None
    kinds = [rdflib.URIRef(_SHACL + kind) for kind in ("NodeShape", "PropertyShape")]
    if not any((None, rdflib.RDF.type, kind) in rules for kind in kinds):
        raise InputError(f"{path} has no shapes: it needs a sh:NodeShape or a sh:PropertyShape")
    return rules


def _place(shapes: object) -> str:
    return str(shapes) if isinstance(shapes, str | os.PathLike) else "the shapes"


def _facts(graph: KnowledgeGraph, name: str | None) -> "rdflib.Graph":
    import rdflib
    from rdflib.util import from_n3

    vocabulary, ids = graph.arrays(name)
    entities: list[Any] = [
        rdflib.BNode(label.removeprefix(BLANK))
        if label.startswith(BLANK)
        else from_n3(str(object_to_term(label, stored=False)))
        for label in vocabulary.entities
    ]
    relations = [rdflib.URIRef(label_to_iri(label, RELATION)) for label in vocabulary.relations]
    facts = rdflib.Graph()
    for subject, relation, object_ in ids.tolist():
        facts.add((entities[subject], relations[relation], entities[object_]))
    return facts


def _targets(rules: "rdflib.Graph", facts: "rdflib.Graph") -> int | None:
    """How many nodes the shapes are about; None where they say that in a way that only SHACL's extensions know."""
    import rdflib

    shacl = rdflib.Namespace(_SHACL)
    if (None, shacl.target, None) in rules:
        return None
    nodes: set[object] = set(rules.objects(None, shacl.targetNode))
    for relation in rules.objects(None, shacl.targetSubjectsOf):
        nodes.update(facts.subjects(relation, None))
    for relation in rules.objects(None, shacl.targetObjectsOf):
        nodes.update(facts.objects(None, relation))
    implicit = [
        shape
        for shape in rules.subjects(rdflib.RDF.type, shacl.NodeShape)
        if shape in rules.subjects(rdflib.RDF.type, rdflib.RDFS.Class)
    ]
    for kind in [*rules.objects(None, shacl.targetClass), *implicit]:
        nodes.update(facts.subjects(rdflib.RDF.type, kind))
    return len(nodes)


def _violations(results: "rdflib.Graph") -> list[Violation]:
    import rdflib

    shacl = rdflib.Namespace(_SHACL)

    def label(node: Any, namespace: str = ENTITY) -> str:
        if isinstance(node, rdflib.URIRef):
            return iri_to_label(str(node), namespace)
        if isinstance(node, rdflib.BNode) and namespace == ENTITY:
            return BLANK + node
        return "" if node is None else node.n3() if isinstance(node, rdflib.Literal) else str(node)

    def path(node: Any) -> str:
        against = results.value(node, shacl.inversePath)
        return label(node, RELATION) if against is None else f"^{label(against, RELATION)}"

    found = set()
    for result in results.subjects(rdflib.RDF.type, shacl.ValidationResult):
        found.add(
            Violation(
                label(results.value(result, shacl.focusNode)),
                path(results.value(result, shacl.resultPath)),
                label(results.value(result, shacl.value)),
                " ".join(sorted(map(str, results.objects(result, shacl.resultMessage)))),
                str(results.value(result, shacl.resultSeverity)).removeprefix(_SHACL),
            )
        )
    return sorted(found)
