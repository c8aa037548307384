"""Facts in files: N-Quads, TriG, Turtle and TSV.

TSV has one fact a line, `subject relation object [graph]`, separated by tabs; a tab, line break or backslash within a
label is written \\t, \\n, \\r or \\\\. Turtle and three-column TSV have no graph names: what they hold is in the graph
"default". RDF files also carry each name's rdfs:label, for other programs; reading leaves those out again, because
they are in the names. A blank node of a file becomes an IRI, the same one each time the file is read.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyoxigraph as ox

from gumption.data import InputError

from .vocabulary import (
    ENTITY,
    GRAPH,
    LABELS,
    PREFIXES,
    RDFS_LABEL,
    RELATION,
    UNION,
    Triple,
    iri_to_label,
    label_to_iri,
    object_to_term,
    term_to_label,
)

DEFAULT_GRAPH = "default"

_RDF = {".nq": ox.RdfFormat.N_QUADS, ".trig": ox.RdfFormat.TRIG, ".ttl": ox.RdfFormat.TURTLE}
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\ufeff": "\\uFEFF"}
_UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}
_ESCAPED = re.compile("|".join(map(re.escape, _UNESCAPES)))


class Quads:
    """Makes quads of label triples; each distinct label is turned into a term once."""

    def __init__(self) -> None:
        self._terms: dict[tuple[str, str], ox.NamedNode] = {}
        self._objects: dict[str, ox.NamedNode | ox.Literal] = {}

    def __call__(self, triples: Iterable[Triple], graph: str) -> list[ox.Quad]:
        name = self._named(graph, GRAPH)
        return [
            ox.Quad(self._named(subject, ENTITY), self._named(relation, RELATION), self._object(object_), name)
            for subject, relation, object_ in triples
        ]

    def _named(self, label: str, namespace: str) -> ox.NamedNode:
        term = self._terms.get((namespace, label))
        if term is None:
            term = self._terms[namespace, label] = ox.NamedNode(label_to_iri(label, namespace))
        return term

    def _object(self, label: str) -> ox.NamedNode | ox.Literal:
        term = self._objects.get(label)
        if term is None:
            term = self._objects[label] = object_to_term(label)
        return term


def label_quads(facts: Iterable[ox.Quad]) -> list[ox.Quad]:
    """The rdfs:label, in the graph LABELS, of each graph of these facts and of gumption's entities and relations."""
    quads = list(facts)
    terms: dict[object, str] = dict.fromkeys((quad.subject for quad in quads), ENTITY)
    terms |= dict.fromkeys((quad.object for quad in quads), ENTITY)
    terms |= dict.fromkeys((quad.predicate for quad in quads), RELATION)
    terms |= dict.fromkeys((quad.graph_name for quad in quads), GRAPH)
    relation, graph = ox.NamedNode(RDFS_LABEL), ox.NamedNode(LABELS)
    return [
        ox.Quad(term, relation, ox.Literal(iri_to_label(term.value, namespace)), graph)
        for term, namespace in terms.items()
        if isinstance(term, ox.NamedNode) and (namespace == GRAPH or term.value.startswith(namespace))
    ]


def read_facts(path: Path, default: str = DEFAULT_GRAPH) -> list[ox.Quad]:
    """The facts of a file, each in its named graph, `default` for those in none.

    Raises InputError with file and line for a file that is missing, of an unknown kind, or broken.
    """
    form = file_format(path)
    try:
        return list(_read_tsv(path, default) if form is None else _read_rdf(path, form, default))
    except SyntaxError as error:
        raise InputError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: the text is not UTF-8: {error.reason}") from None


def write_facts(path: Path, graphs: Mapping[str, Iterable[Triple]]) -> None:
    """Write label triples, graph by graph, through a file beside `path` that is renamed once it is complete."""
    form = file_format(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as out:
            if form is None:
                for name, triples in graphs.items():
                    tail = () if name == DEFAULT_GRAPH else (name,)
                    out.writelines(("\t".join(map(_escape, (*triple, *tail))) + "\n").encode() for triple in triples)
            else:
                make = Quads()
                quads = [quad for name, triples in graphs.items() for quad in make(triples, name)]
                quads += label_quads(quads)
                rows = quads if form.supports_datasets else (quad.triple for quad in quads)
                ox.serialize(rows, out, form, prefixes=PREFIXES)
        os.replace(beside, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if beside.exists():
            beside.unlink()


def file_format(path: Path) -> ox.RdfFormat | None:
    """The RDF format that a file's ending stands for, None for TSV; InputError for any other ending."""
    if path.suffix == ".tsv":
        return None
    if path.suffix not in _RDF:
        raise InputError(f"{path}: a graph's file ends in {', '.join(_RDF)} or .tsv, not in {path.suffix!r}")
    return _RDF[path.suffix]


def _read_tsv(path: Path, default: str) -> Iterator[ox.Quad]:
    make = Quads()
    # Not splitlines(): a label may hold the other characters that it takes for line ends.
    for number, line in enumerate(path.read_bytes().decode("utf-8-sig").split("\n"), start=1):
        fields = [_ESCAPED.sub(lambda match: _UNESCAPES[match[0]], field) for field in line.rstrip("\r").split("\t")]
        if fields == [""]:
            continue
        if len(fields) not in (3, 4) or not all(fields):
            raise InputError(
                f"{path}:{number}: expected subject, relation, object and perhaps a graph, separated by tabs and none "
                f"of them empty; found {fields}"
            )
        subject, relation, object_, *graph = fields
        yield from make([(subject, relation, object_)], graph[0] if graph else default)


def _read_rdf(path: Path, form: ox.RdfFormat, default: str) -> Iterator[ox.Quad]:
    content = path.read_bytes()
    blank = f"urn:gumption:blank:{hashlib.sha256(content).hexdigest()[:12]}-"
    blanks: dict[str, ox.NamedNode] = {}

    def named(term: object) -> ox.NamedNode:
        if isinstance(term, ox.BlankNode):
            return blanks.setdefault(term.value, ox.NamedNode(f"{blank}{len(blanks)}"))
        if isinstance(term, ox.DefaultGraph):
            return ox.NamedNode(label_to_iri(default, GRAPH))
        assert isinstance(term, ox.NamedNode)
        return term

    for quad in ox.parse(content, form):
        if isinstance(quad.object, ox.Triple) or isinstance(quad.subject, ox.Triple):
            raise InputError(f"{path}: a triple about a triple ({quad.object}) is not supported: name it with a node")
        if isinstance(quad.graph_name, ox.NamedNode) and quad.graph_name.value in (LABELS, UNION):
            continue
        if isinstance(quad.graph_name, ox.DefaultGraph) and _is_own_label(quad):
            continue
        object_ = quad.object if isinstance(quad.object, ox.Literal) else named(quad.object)
        yield ox.Quad(named(quad.subject), quad.predicate, object_, named(quad.graph_name))


def _is_own_label(quad: ox.Quad) -> bool:
    if quad.predicate.value != RDFS_LABEL or not isinstance(quad.subject, ox.NamedNode):
        return False
    namespaces = [ns for ns in (ENTITY, RELATION, GRAPH) if quad.subject.value.startswith(ns)]
    return any(quad.object == ox.Literal(term_to_label(quad.subject, ns)) for ns in namespaces)


def _escape(label: str) -> str:
    return label.translate(str.maketrans(_ESCAPES))
