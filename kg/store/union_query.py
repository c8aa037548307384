"""A query as one over several graphs at once, in which a fact that two of them share counts once.

Oxigraph repeats such a fact where the graphs come from FROM (0.5.13), and no server takes its own default graph there.
So each triple pattern of the query is replaced by one that says itself where it looks.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from gumption.kg.vocabulary import PREFIXES

from .sparql import label_names

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
    """Where the facts are that a query sees without GRAPH.

    :ivar default: whether the default graph is one of the places.
    :ivar named: the IRIs of the others.
    :ivar labels: only what rdfs:label could match is looked for in `named`.
    """

    default: bool
    named: Sequence[str]
    labels: bool = False

    def pattern(self, triple: str, fresh: Callable[[], str]) -> str:
        """The groups that match a triple pattern in any of the places, each fact once."""
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
    """The query over these sources; None for one that cannot be written so.

    That is DESCRIBE, CONSTRUCT WHERE, triples about triples, what does not parse, and, but for `sources.labels`, paths
    with *, +, ? or !. With `sources.labels`, such a path is followed in the default graph only.
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
        self._triples: list[tuple[str, _Path, str]] = []  # of the statement that is read

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

    # Tokens. Each method begins at the first token that it is about and ends behind the last.

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
        """Whether this token is the next one, which is then passed."""
        if there := self._peek()[1] == text:
            self._next()
        return there

    def _expect(self, text: str) -> None:
        if not self._is_next(text):
            raise _Unwritable

    def _replace(self, first: int, text: str) -> None:
        """Write something else for the tokens from number `first` up to the last one that was read."""
        self._out += [self._text[self._copied : self._tokens[first][2]], text]
        self._copied = self._tokens[self._at - 1][3]

    def _skip(self, opening: str, closing: str, named: bool = False) -> None:
        """Pass what stands between brackets; the groups of EXISTS within an expression are read."""
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

    # Groups. `seen` collects the variables that SELECT * would give; within GRAPH and SERVICE, which is `named`,
    # patterns stay as they are.

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
            depth = 1  # how that ends, with GROUP BY and so on, has no patterns
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
        """A subject or an object; what brackets say of it goes to the triples."""
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
