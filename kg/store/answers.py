"""Answers of a store as labels, Python values, ids and hashes."""

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import (
    ENTITY,
    GRAPH,
    PREFIXES,
    RELATION,
    Vocabulary,
    blank_nodes_named,
    iri_to_label,
    term_to_label,
)  # fmt: skip

from .files import FORMATS, NO_XML, refuse_unwritable

#: A store's answer to a query.
Answer: TypeAlias = "ox.QueryBoolean | ox.QuerySolutions | Rows | ox.QueryTriples | ox.QuadParser | list[ox.Quad]"

_CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f]")  # escape sequences first, such as colours
_XSD = "http://www.w3.org/2001/XMLSchema#"
_PYTHON = {
    _XSD + "integer": int,
    _XSD + "decimal": float,
    _XSD + "double": float,
    _XSD + "float": float,
    _XSD + "boolean": {"true": True, "1": True, "false": False, "0": False}.__getitem__,
}

_TSV, _JSON = ox.QueryResultsFormat.TSV, ox.QueryResultsFormat.JSON
OPEN = ("g", "kept", "many")  # columns of this package's own queries that may have no value


class Rows:
    """The rows of an endpoint or a folder, as ox.QuerySolutions, with InputError if they are broken.

    The engine parses an answer, and reads a folder, during the iteration over the rows.
    """

    def __init__(self, rows: ox.QuerySolutions, errors: Callable[[], AbstractContextManager[None]], own: bool) -> None:
        """
        :param errors: turns errors of the engine, and OSError, into InputError.
        :param own: whether the query is this package's: then all columns except OPEN are bound, and ?n and ?i are
            numbers.
        """
        self.names = [variable.value for variable in rows.variables]
        self._rows, self._errors = rows, errors
        self._bound = [name for name in self.names if own and name not in OPEN]

    def __iter__(self) -> Iterator[ox.QuerySolution]:
        with self._reading():
            for row in self._rows:
                for name in self._bound:
                    if row[name] is None or (name in ("n", "i") and not row[name].value.isdecimal()):
                        raise OSError(f"its column {name} has the value {row[name]}")
                yield row

    def serialize(self, output: Any = None, *, format: ox.QueryResultsFormat) -> bytes | None:
        """Serialize the rows in a format of the SPARQL standard."""
        with self._reading():
            return self._rows.serialize(output, format=format)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._errors():
                yield
        except InputError:
            del self._rows  # must be freed in this thread; the error's frames keep this object
            raise


@contextmanager
def parse_errors(what: str) -> Iterator[None]:
    """Turn errors of the engine's parser into an InputError that begins with `what`."""
    try:
        yield
    except (SyntaxError, OSError) as error:
        raise InputError(f"{what}: {clean(str(error))}") from None


def clean(text: str) -> str:
    """Remove characters that control a terminal from another program's text."""
    return _CONTROLS.sub(" ", text)


def to_arrays(answers: Iterable[tuple[str | None, ox.QuerySolutions | Rows]]) -> tuple[Vocabulary, np.ndarray]:
    """Return the sorted labels of facts and their (n, 3) int64 ids, sorted, each fact once.

    The facts are rows (subject, relation, object), or rows (subject, object) of a relation, which is named by its term.
    """
    # Python strings are made for distinct terms only; rows are processed as bytes and in NumPy.
    entity_codes, relation_codes = (defaultdict[bytes, int](itertools.count().__next__) for _ in range(2))
    columns: list[list[np.ndarray]] = [[np.zeros(0, np.int64)] for _ in range(3)]
    for relation, rows in answers:
        table = rows.serialize(format=ox.QueryResultsFormat.TSV)
        assert table is not None
        fields = table[table.index(b"\n") + 1 :].replace(b"\n", b"\t").split(b"\t")[:-1]
        width = 3 if relation is None else 2
        relations = fields[1::3] if relation is None else [relation.encode()] * (len(fields) // 2)
        columns[0].append(_number(entity_codes, fields[0::width]))
        columns[1].append(_number(relation_codes, relations))
        columns[2].append(_number(entity_codes, fields[width - 1 :: width]))
    entities, entity_places = _sorted_labels(entity_codes, ENTITY)
    relations, relation_places = _sorted_labels(relation_codes, RELATION)
    subjects, objects = (entity_places[np.concatenate(columns[i])] for i in (0, 2))
    predicates = relation_places[np.concatenate(columns[1])]
    # One number per row, 63 bits for a billion entities: to sort rows and drop duplicates (from other programs' graphs)
    # is several times faster than with three numbers.
    many, kinds = max(len(entities), 1), max(len(relations), 1)
    keys = np.sort((subjects * kinds + predicates) * many + objects)
    keys = keys[np.diff(keys, prepend=-1) > 0]
    ids = np.stack([keys // (kinds * many), keys // many % kinds, keys % many], axis=1)
    return Vocabulary(entities, relations), ids


def _number(codes: defaultdict[bytes, int], terms: list[bytes]) -> np.ndarray:
    return np.fromiter(map(codes.__getitem__, terms), np.int64, len(terms))


def _sorted_labels(codes: defaultdict[bytes, int], namespace: str) -> tuple[list[str], np.ndarray]:
    """Return the sorted labels of the terms, and for each code the index of its term's label."""
    others = [term for term in codes if term[:1] != b"<" or term[:2] == b"<<"]
    texts = dict(zip(others, literal_labels(others), strict=True))
    labels = [texts[term] if term in texts else iri_to_label(term[1:-1].decode(), namespace) for term in codes]
    names = sorted(set(labels))
    place = {label: index for index, label in enumerate(names)}
    return names, np.fromiter(map(place.__getitem__, labels), np.int64, len(labels))


def literal_labels(terms: list[bytes]) -> list[str]:
    """Return the labels of literals, triple terms and blank nodes in the form of a TSV answer."""
    answer = ox.parse_query_results(b"?x\n" + b"".join(term + b"\n" for term in terms), _TSV)
    assert isinstance(answer, ox.QuerySolutions)
    return [term_to_label(row["x"]) for row in answer]


#: Formats of rows or a bool in the SPARQL standard; and formats of facts, by the endings of their files.
ROWS = {"sparql-json": _JSON, "csv": ox.QueryResultsFormat.CSV, "tsv": _TSV, "xml": ox.QueryResultsFormat.XML}
FACTS = {ending: FORMATS[f".{ending}"] for ending in ("ttl", "nt", "rdf", "jsonld")}


def serialized(answer: Answer, form: ox.QueryResultsFormat | ox.RdfFormat) -> bytes:
    """Serialize an answer.

    :raises InputError: a format of rows for facts, or the reverse.
    """
    rows = isinstance(answer, (ox.QueryBoolean, ox.QuerySolutions, Rows))
    if rows and isinstance(form, ox.QueryResultsFormat):
        text = answer.serialize(format=form) or b""
        if form == ox.QueryResultsFormat.XML and NO_XML.search(text.decode()):
            raise InputError("XML has no place for a sign in the answer: ask for another format")
        return text
    if not rows and isinstance(form, ox.RdfFormat):
        facts = list(answer)
        refuse_unwritable("the answer", form, facts)
        return ox.serialize(facts, format=form, prefixes=PREFIXES) or b""
    names = ROWS if rows else FACTS
    raise InputError(f"the answer is {'rows or a yes or no' if rows else 'facts'}: its formats are {', '.join(names)}")


def plain(answer: Answer, ordered: bool, terms: bool = False) -> Any:
    """Return an answer as labels and Python values or, with `terms`, as terms."""
    if isinstance(answer, ox.QueryBoolean):
        return bool(answer)
    if isinstance(answer, (ox.QuerySolutions, Rows)):
        names = answer.names if isinstance(answer, Rows) else [variable.value for variable in answer.variables]
        rows = [
            {name: blank_nodes_named(row[name]) if terms else _value(row[name]) for name in names} for row in answer
        ]
        return rows if ordered else sorted(rows, key=lambda row: [str(value) for value in row.values()])
    if terms:
        return sorted({blank_nodes_named(ox.Triple(t.subject, t.predicate, t.object)) for t in answer}, key=str)
    found = {(term_to_label(t.subject), term_to_label(t.predicate, RELATION), term_to_label(t.object)) for t in answer}
    return sorted(found)


def _value(term: Any) -> Any:
    if isinstance(term, ox.Literal):
        try:
            return _PYTHON.get(term.datatype.value, str)(term.value)
        except (KeyError, ValueError):  # such as "many"^^xsd:integer
            return term.value
    if isinstance(term, ox.NamedNode):
        namespace = next((ns for ns in (ENTITY, RELATION, GRAPH) if term.value.startswith(ns)), ENTITY)
        return iri_to_label(term.value, namespace)
    return None if term is None else term_to_label(term)
