"""Facts of a store that match a pattern, and the graphs that they are read from."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, islice
from typing import TypeAlias, TypeVar

import numpy as np
import pyoxigraph as ox

from gumption.data import InputError
from gumption.kg.vocabulary import (
    ABOUT,
    DEFAULT_GRAPH,
    ENTITY,
    GRAPH,
    LABELS,
    PREFIXES,
    RELATION,
    RESERVED,
    Triple,
    Vocabulary,
    label_to_iri,
    object_to_term,
    term_to_label,
)

from .answers import Answer, Rows, to_arrays
from .limits import Limits
from .quads import BASE, Remembered, uncollected
from .sparql import keywords, label_names, mentions_labels, refuse_bomb, syntax_error, with_blank_nodes
from .stores import Store

T = TypeVar("T")
#: The IRIs of the graphs that a query sees without GRAPH, and with it; None for no choice.
Dataset: TypeAlias = "tuple[Sequence[str] | None, Sequence[str] | None]"

SORTED = 20_000  # up to so many facts come sorted
_DEFAULT_IRI = label_to_iri(DEFAULT_GRAPH, GRAPH)


@dataclass(frozen=True)
class Graphs:
    """The graphs of a store, by IRI. The default graph has copies of the graphs that gumption made, but for the base.

    :ivar named: all but the reserved ones, sorted.
    :ivar foreign: those among them that other programs made.
    :ivar base: the base, if there is one.
    :ivar default: whether the default graph has facts, or a graph of gumption that could have copies there.
    :ivar merged: whether the server shows the facts of all graphs as its default graph, the reserved ones included.
    """

    named: list[str]
    foreign: list[str]
    base: list[str]
    default: bool
    merged: bool

    @property
    def beside(self) -> list[str]:
        """Those that are read beside the default graph for the union of all."""
        return self.base + self.foreign

    @property
    def unnamed(self) -> bool:
        """Whether the default graph has facts of other programs only, so that it is one more graph."""
        return self.default and len(self.foreign) == len(self.named)


class Selection:
    """Reads a store; a graph is named by its label, and None stands for the union of all graphs."""

    def __init__(self, store: Store, refresh: Callable[[], None]) -> None:
        """:param refresh: called before a store is read whose default graph is out of date."""
        self._store, self._refresh = store, refresh

    def graphs(self) -> Graphs:
        """The graphs of the store as it is now."""
        if self._store.stale:
            self._refresh()
        rows = self.select(
            f"SELECT ?g ?own ?base {{ {{ GRAPH ?g {{}} OPTIONAL {{ GRAPH <{LABELS}> {{ ?g rdfs:label ?own }} }} "
            f"OPTIONAL {{ GRAPH <{LABELS}> {{ ?g <{BASE}> ?base }} }} }} "
            "UNION { SELECT ?any { ?any ?p ?o } LIMIT 1 } }"
        )
        found: dict[str, ox.QuerySolution] = {}
        filled = False
        for row in rows:
            if isinstance(row["g"], ox.NamedNode):
                found[row["g"].value] = row
            filled |= row["g"] is None
        named = sorted(found.keys() - RESERVED)
        foreign = [iri for iri in named if found[iri]["own"] is None]
        base = [iri for iri in named if found[iri]["own"] is not None and found[iri]["base"] is not None]
        ours = len(foreign) < len(named)
        return Graphs(named, foreign, base, ours or filled, bool(named) and self._store.merged(ours))

    def answer(self, sparql: str, limits: Limits, read: Callable[[Answer], T], dataset: Dataset) -> T:
        """What `read` makes of the answer to a user's query, which sees the union of all graphs unless the dataset or
        FROM names some."""
        asked = with_blank_nodes(sparql)
        if dataset == (None, None) and "FROM" not in keywords(sparql):
            asked, dataset = self._united(asked)
        try:
            # The answer has no name here: rdflib's parser keeps its callers' frames alive, and Oxigraph's answers have
            # to be freed in the thread that asked.
            return read(self._store.query(asked, *dataset, limits=limits))
        except (OSError, RuntimeError) as error:
            raise InputError(f"the query could not be evaluated: {error}") from None
        except InputError:
            if asked != sparql and (reason := syntax_error(sparql)):
                raise InputError(reason) from None
            raise

    def _united(self, sparql: str) -> tuple[str, Dataset]:
        """A query over the union of all graphs, in which each fact counts once, and its dataset.

        :raises InputError: an endpoint that cannot answer it from all of its graphs at once.
        """
        graphs, labels = self.graphs(), mentions_labels(sparql)
        also = [LABELS] if labels else []
        named = graphs.named + also
        sources = Sources(graphs.default, graphs.beside + also, labels=labels and not graphs.beside)
        if self._store.near:
            # FROM does, as long as no two places of facts can share one.
            apart = graphs.default + len(graphs.foreign) < 2
            if apart and labels:  # an rdfs:label can be among the facts, too
                apart = not self._store.query("ASK { ?any rdfs:label ?label }", ["", *graphs.beside], [])
            whole = ["", *graphs.beside, *also]
        else:
            apart = graphs.merged or graphs.default + len(sources.named) < 2
            whole = named if graphs.named and (graphs.merged or sources.named) else [""]
        if not apart and (asked := over(sparql, sources)) is not None:
            refuse_bomb(asked)
            return asked, ([""], named)
        if whole == named and graphs.unnamed and not graphs.merged:
            raise InputError(
                "the endpoint has facts in its default graph and in named graphs, and cannot be asked for both at once "
                "by DESCRIBE, CONSTRUCT WHERE or a path with *, +, ? or !: call refresh() on a KnowledgeGraph opened "
                "with update=..., or name graphs with GRAPH or FROM"
            )
        return sparql, (whole, named)

    def adopt(self, iris: Iterable[str]) -> None:
        """To be called before a change: adopt the default graph, and other programs' graphs among these."""
        graphs = self.graphs()
        left = set(graphs.foreign).intersection(iris)
        if not self._store.near:  # a folder that a server serves: an endpoint keeps no base
            left.update(graphs.base)
        if left or graphs.unnamed:
            self._store.adopt(sorted(left), graphs.unnamed, graphs.merged)

    def select(self, sparql: str) -> ox.QuerySolutions | Rows:
        answer = self._store.query(sparql)
        assert isinstance(answer, (ox.QuerySolutions, Rows))
        return answer

    def where(self, pattern: str, graph: str | None = None) -> tuple[str, bool]:
        """The SPARQL group for a pattern in a graph, or in all; and whether it may repeat a row.

        It names the graphs that it reads, because not every server takes the dataset from the request.
        """
        if graph is not None and graph != DEFAULT_GRAPH:
            return f"GRAPH <{label_to_iri(graph, GRAPH)}> {{ {pattern} }}", False
        graphs = self.graphs()
        named = f"GRAPH <{_DEFAULT_IRI}> {{ {pattern} }}"
        if graph is None:
            return self._union(pattern, graphs)
        if not graphs.unnamed:
            return named, False
        apart = f" FILTER NOT EXISTS {{ GRAPH ?any {{ {pattern} }} }}" if graphs.merged else ""
        if _DEFAULT_IRI not in graphs.named:
            return pattern + apart, False
        return f"{{ {pattern}{apart} }} UNION {{ {named} }}", True

    def _union(self, pattern: str, graphs: Graphs) -> tuple[str, bool]:
        if graphs.merged:
            hidden = " ".join(f"FILTER NOT EXISTS {{ GRAPH <{iri}> {{ {pattern} }} }}" for iri in (LABELS, ABOUT))
            return f"{pattern} {hidden}", True
        if not graphs.beside:
            return pattern, False
        among = ", ".join(f"<{iri}>" for iri in graphs.beside)
        others = f"GRAPH ?g {{ {pattern} }} FILTER(?g IN ({among}))"
        if len(graphs.beside) == 1:
            others = f"GRAPH <{graphs.beside[0]}> {{ {pattern} }}"
        return f"{{ {pattern} }} UNION {{ {others} }}", bool(graphs.foreign) or not self._store.near

    def counts(self) -> dict[str, int]:
        """The name of each graph with facts -> how many, sorted by name."""
        graphs = self.graphs()
        counts: dict[str, int] = {}
        if graphs.named:
            names = " ".join(f"<{iri}>" for iri in graphs.named)
            rows = self.select(
                f"SELECT ?g (COUNT(*) AS ?n) {{ VALUES ?g {{ {names} }} GRAPH ?g {{ ?s ?p ?o }} }} GROUP BY ?g"
            )
            counts = {term_to_label(row["g"], GRAPH): int(row["n"].value) for row in rows if row["g"] is not None}
        if graphs.unnamed and (number := self.count(DEFAULT_GRAPH)):
            counts[DEFAULT_GRAPH] = number
        return dict(sorted(counts.items()))

    def count(self, graph: str | None = None) -> int:
        """How many facts a graph has, or the union of all."""
        where, repeats = self.where("?s ?p ?o", graph)
        rows = f"SELECT DISTINCT ?s ?p ?o {{ {where} }}" if repeats else where
        return sum(int(row["n"].value) for row in self.select(f"SELECT (COUNT(*) AS ?n) {{ {rows} }}"))

    def triples(
        self, subject: str | None, relation: str | None, object_: str | None, graph: str | None
    ) -> Iterator[Triple]:
        """The matching facts as labels, each once; sorted where they are few."""
        given = {
            "s": None if subject is None else f"<{label_to_iri(subject, ENTITY)}>",
            "p": None if relation is None else f"<{label_to_iri(relation, RELATION)}>",
            "o": None if object_ is None else str(object_to_term(object_)),
        }
        rows = iter(self.facts(given, graph))
        labels = Remembered[object, str](term_to_label, SORTED)
        relations = Remembered[object, str](partial(term_to_label, namespace=RELATION), SORTED)
        found = ((labels[row[0]], relations[row[1]], labels[row[2]]) for row in rows)
        if self._store.near and not any(given.values()):  # a local store counts without looking up a term
            where, _ = self.where("?s ?p ?o", graph)
            [row] = self.select(f"SELECT (COUNT(*) AS ?n) {{ SELECT ?s {{ {where} }} LIMIT {SORTED + 1} }}")
            if int(row["n"].value) > SORTED:
                return found
        first = list(islice(found, SORTED))
        return iter(sorted(first)) if len(first) < SORTED else chain(first, found)

    def read(self, graph: str | None) -> tuple[Vocabulary, np.ndarray]:
        """The sorted labels of the facts and (n, 3) int64 rows of ids, sorted."""
        if not self._store.near:
            return to_arrays([(None, self.facts({}, graph))])
        # Relation by relation: a local store looks up each term that it answers with, and this spares a third.
        where, _ = self.where("?s ?p ?o", graph)
        relations = [str(row["p"]) for row in self.select(f"SELECT DISTINCT ?p {{ {where} }}")]
        with uncollected():
            return to_arrays((term, self.facts({"p": term}, graph, "?s ?o")) for term in relations)

    def facts(
        self, given: Mapping[str, str | None], graph: str | None, columns: str = "?s ?p ?o"
    ) -> ox.QuerySolutions | Rows:
        """The facts that have the given terms, each once."""
        terms = {name: given.get(name) for name in ("s", "p", "o")}
        where, repeats = self.where(" ".join(term or f"?{name}" for name, term in terms.items()), graph)
        for name, term in terms.items():
            columns = columns.replace(f"?{name}", f"({term} AS ?{name})" if term else f"?{name}")
        return self.select(f"SELECT {'DISTINCT ' if repeats else ''}{columns} {{ {where} }}")


# ---- A query over several graphs at once, in which a fact that two of them share counts once.
#
# Oxigraph repeats such a fact where the graphs come from FROM (0.5.13), and no server takes its own default graph
# there. So each triple pattern of the query is replaced by groups that name the graphs.


_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<string>\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<iri><[^<>"{}|^`\\\s]*>)
    |(?P<name>(?:\w[\w.-]*)?:(?:(?:[\w.:%-]|\\.)*(?:[\w:%-]|\\.))?)
    |(?P<variable>[?$]\w+)
    |(?P<number>[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z]\w*)
    |(?P<language>@[\w-]+)
    |(?P<mark><<|>>|\{\||\|\}|\^\^|&&|\|\||[<>!]=|.)""",
    re.VERBOSE | re.DOTALL,
)
_FIRST, _REST, _NIL = (f"<{PREFIXES['rdf']}{name}>" for name in ("first", "rest", "nil"))


@dataclass(frozen=True)
class Sources:
    """The graphs that a query sees without GRAPH.

    :ivar default: whether the default graph is one of them.
    :ivar named: the IRIs of the others.
    :ivar labels: only patterns that rdfs:label could match look into `named`.
    """

    default: bool
    named: Sequence[str]
    labels: bool = False

    def pattern(self, triple: str, fresh: Callable[[], str]) -> str:
        """The groups that match a triple pattern in any of the graphs, each fact once."""
        parts = [f"{{ {triple} }}"] if self.default else []
        known = f" FILTER NOT EXISTS {{ {triple} }}" if self.default else ""
        if len(self.named) == 1:
            parts.append(f"{{ GRAPH <{self.named[0]}> {{ {triple} }}{known} }}")
        elif self.named:
            graph, before = fresh(), fresh()
            among = ", ".join(f"<{iri}>" for iri in self.named)
            earlier = f"GRAPH {before} {{ {triple} }} FILTER({before} IN ({among}) && STR({before}) < STR({graph}))"
            parts.append(
                f"{{ GRAPH {graph} {{ {triple} }} FILTER({graph} IN ({among})){known} "
                f"FILTER NOT EXISTS {{ {earlier} }} }}"
            )
        return " UNION ".join(parts)


def over(sparql: str, sources: Sources) -> str | None:
    """The query over these sources; None where it cannot be written so: for DESCRIBE, CONSTRUCT WHERE, triples about
    triples, a text that does not parse, and, but for `sources.labels`, paths with *, +, ? or !.

    With `sources.labels`, such a path is followed in the default graph only.
    """
    try:
        return _Rewriting(sparql, sources).query()
    except _Unwritable:
        return None


class _Unwritable(Exception):
    """The query cannot be written over several graphs, or does not parse."""


# A path: an IRI or a variable, or an operator and the paths that it joins; of a closure only its text is kept.
_Path: TypeAlias = "str | tuple[str, list[_Path]]"


class _Rewriting:
    """Walks through the tokens of a query once and writes it anew."""

    def __init__(self, sparql: str, sources: Sources) -> None:
        self._text, self._sources = sparql, sources
        matches = [match for match in _TOKEN.finditer(sparql) if match.lastgroup != "space"]
        self._tokens = [(match.lastgroup or "", match.group(), match.start(), match.end()) for match in matches]
        self._at = 0
        self._out: list[str] = []
        self._copied = 0  # the place in the text up to which it is written
        self._labels = label_names(sparql)
        self._numbers = count()
        self._blank: dict[str, str] = {}  # blank node -> the variable that stands for it, also in other groups
        self._triples: list[tuple[str, _Path, str]] = []  # of the present statement

    def query(self) -> str:
        while self._word() in ("PREFIX", "BASE"):
            self._at += 3 if self._word() == "PREFIX" else 2
        word = self._word()
        if word == "SELECT":
            self._select({})
        elif word in ("ASK", "CONSTRUCT"):
            self._next()
            if word == "CONSTRUCT":
                self._skip("{", "}")
            self._where({})
        else:
            raise _Unwritable
        return "".join(self._out) + self._text[self._copied :]

    # Tokens. Each method begins at the first token of its part and ends behind the last.

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at][:2] if self._at < len(self._tokens) else ("", "")

    def _next(self) -> str:
        text = self._peek()[1]
        if text in ("", "<<", "{|"):
            raise _Unwritable
        self._at += 1
        return text

    def _word(self) -> str:
        kind, text = self._peek()
        return text.upper() if kind == "word" else ""

    def _is_next(self, text: str) -> bool:
        """Whether this token is the next one; if so, it is passed over."""
        if there := self._peek()[1] == text:
            self._next()
        return there

    def _expect(self, text: str) -> None:
        if not self._is_next(text):
            raise _Unwritable

    def _replace(self, first: int, text: str) -> None:
        """Write another text for the tokens from number `first` up to the last one that was read."""
        self._out += [self._text[self._copied : self._tokens[first][2]], text]
        self._copied = self._tokens[self._at - 1][3]

    def _skip(self, opening: str, closing: str, named: bool = False) -> None:
        """Pass over what stands between brackets, but for the groups of EXISTS within an expression."""
        self._expect(opening)
        depth = 1
        while depth:
            if opening == "(" and self._peek()[1] == "{":
                self._group({}, named)
            else:
                text = self._next()
                depth += (text == opening) - (text == closing)

    def _fresh(self) -> str:
        return next(name for number in self._numbers if (name := f"?_{number}") not in self._text)

    # Groups. `seen` collects the variables of SELECT *; within GRAPH and SERVICE (`named`) patterns stay as they are.

    def _select(self, seen: dict[str, None], named: bool = False) -> None:
        self._next()
        star: int | None = None
        columns: dict[str, None] = {}
        while self._peek()[1] != "{" and self._word() != "WHERE":
            if self._peek()[1] == "(":
                self._skip("(", ")", named)
                self._see(self._tokens[self._at - 2][1], columns)  # (... AS ?name)
            elif self._is_next("*"):
                self._replace(self._at - 1, "*")
                star = len(self._out) - 1
            else:
                self._see(self._next(), columns)
        inside: dict[str, None] = {}
        self._where(inside, named)
        if star is not None and inside:
            self._out[star] = " ".join(inside)
        seen.update(columns if star is None else inside)

    def _where(self, seen: dict[str, None], named: bool = False) -> None:
        if self._word() == "WHERE":
            self._next()
        self._group(seen, named)

    def _group(self, seen: dict[str, None], named: bool = False) -> None:
        self._expect("{")
        if self._word() == "SELECT":
            self._select(seen, named)
            depth = 1  # the rest, GROUP BY and so on, has no patterns
            while depth:
                text = self._next()
                depth += (text == "{") - (text == "}")
            return
        while not self._is_next("}"):
            self._part(seen, named)

    def _part(self, seen: dict[str, None], named: bool) -> None:
        """One part of a group: a statement, another group or a clause."""
        word = self._word()
        if word in ("", "A", "TRUE", "FALSE"):
            if self._peek()[1] == "{":
                self._group(seen, named)
            elif not self._is_next("."):
                self._statement(seen, named)
            return
        self._next()
        if word == "MINUS":
            self._group({}, named)
        elif word in ("GRAPH", "SERVICE"):
            if self._word() == "SILENT":
                self._next()
            self._see(self._next(), seen)
            self._group(seen, named=True)
        elif word == "FILTER":
            while self._peek()[1] not in ("(", "{"):
                self._next()
            if self._peek()[1] == "{":
                self._group({}, named)
            else:
                self._skip("(", ")", named)
        elif word == "BIND":
            self._skip("(", ")", named)
            self._see(self._tokens[self._at - 2][1], seen)
        elif word == "VALUES":
            while self._peek()[1] != "{":
                self._see(self._next(), seen)
            self._skip("{", "}")
        elif word not in ("UNION", "OPTIONAL"):
            raise _Unwritable

    def _see(self, text: str, seen: dict[str, None]) -> None:
        if text[0] in "?$":
            seen[f"?{text[1:]}"] = None

    # Statements: triples with a common subject.

    def _statement(self, seen: dict[str, None], named: bool) -> None:
        first = self._at
        self._triples = []
        subject = self._node(seen)
        if self._peek()[1] not in (".", "}"):
            self._properties(subject, seen)
        self._is_next(".")
        if not self._triples:
            raise _Unwritable
        if not named:
            self._replace(first, " ".join(self._written(*triple) for triple in self._triples))

    def _properties(self, subject: str, seen: dict[str, None]) -> None:
        while True:
            path = self._verb(seen)
            while True:
                self._triples.append((subject, path, self._node(seen)))
                if not self._is_next(","):
                    break
            if self._peek()[1] != ";":
                break
            while self._is_next(";"):
                pass
            if self._peek()[1] in (".", "]", "}"):
                break

    def _node(self, seen: dict[str, None]) -> str:
        """A subject or an object; the triples within its brackets join those of the statement."""
        kind, word = self._peek()[0], self._word()
        text = self._next()
        if text == "[":
            node = self._fresh()
            if not self._is_next("]"):
                self._properties(node, seen)
                self._expect("]")
            return node
        if text == "(":
            items = []
            while not self._is_next(")"):
                items.append(self._node(seen))
            node = _NIL
            for item in reversed(items):
                rest, node = node, self._fresh()
                self._triples += [(node, _FIRST, item), (node, _REST, rest)]
            return node
        if text.startswith("_:"):
            return self._blank.setdefault(text, self._fresh())
        if kind == "string":
            if self._peek()[0] == "language":
                text += self._next()
            elif self._is_next("^^"):
                text += "^^" + self._next()
        elif kind not in ("iri", "name", "variable", "number") and word not in ("TRUE", "FALSE"):
            raise _Unwritable
        self._see(text, seen)
        return text

    def _verb(self, seen: dict[str, None]) -> _Path:
        if self._peek()[0] != "variable":
            return self._path()
        text = self._next()
        self._see(text, seen)
        return text

    def _path(self) -> _Path:
        parts = [self._sequence()]
        while self._is_next("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else ("|", parts)

    def _sequence(self) -> _Path:
        parts = [self._step()]
        while self._is_next("/"):
            parts.append(self._step())
        return parts[0] if len(parts) == 1 else ("/", parts)

    def _step(self) -> _Path:
        if self._is_next("^"):
            return "^", [self._step()]
        start = self._tokens[self._at][2] if self._at < len(self._tokens) else 0
        closure = self._is_next("!")
        kind, word = self._peek()[0], self._word()
        if closure and self._peek()[1] == "(":
            self._skip("(", ")")
            path = ""
        elif self._is_next("("):
            path = self._path()
            self._expect(")")
        elif (closure and self._is_next("^")) or kind in ("iri", "name") or word == "A":
            path = self._next()
        else:
            raise _Unwritable
        closure |= self._is_next("*") or self._is_next("+") or self._is_next("?")
        return ("closure", [self._text[start : self._tokens[self._at - 1][3]]]) if closure else path

    def _written(self, subject: str, path: _Path, object_: str) -> str:
        if isinstance(path, str):
            triple = f"{subject} {path} {object_}"
            anywhere = not self._sources.labels or path[0] in "?$" or path in self._labels
            return self._sources.pattern(triple, self._fresh) if anywhere else f"{triple} ."
        kind, parts = path
        if kind == "^":
            return self._written(object_, parts[0], subject)
        if kind == "|":
            return " UNION ".join(f"{{ {self._written(subject, part, object_)} }}" for part in parts)
        if kind == "/":
            between = [subject, *(self._fresh() for _ in parts[1:]), object_]
            return " ".join(map(self._written, between, parts, between[1:]))
        if not self._sources.labels:
            raise _Unwritable
        return f"{subject} {parts[0]} {object_} ."
