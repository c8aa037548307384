"""The text of SPARQL queries: keywords, labels for variables, bounds, and where an error is."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from threading import Lock

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.settings import check
from gumption.kg.vocabulary import (
    ENTITY,
    GRAPH,
    PREFIXES,
    RELATION,
    iri_to_label,
    is_text,
    label_to_term,
    object_to_term,
    unknown_label,
)

from .limits import parse_problem

#: rdflib's parser is one object for all threads, and changes while it parses.
_PARSING = Lock()
# A backslash in a name escapes what follows it: "#" begins no comment there, and a quote no string.
_TOKEN = re.compile(
    r"""(?P<quoted>\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|\#[^\n]*
        |@[\w-]+|\^\^|(?<![?$\w])[\w.-]*:(?:[\w.:%-]|\\.)*)
    |(?P<run>(?<![?$\w])[\w.-]{100,}+(?!:))
    |(?P<variable>[?$]\w+)
    |(?P<word>(?<![\w:%-])[A-Za-z]+\b(?![:.%-]))
    |(?P<bracket><<|>>|[{}()\[\]])
    |(?P<operator>\|\||&&|[-+*/|!^])""",
    re.VERBOSE | re.DOTALL,
)
_PREFIX = re.compile(r"\bPREFIX\s+([\w.-]*:)\s*<([^<>\s]*)>", re.IGNORECASE)
_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH")
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_CLAUSES = ("UNION", "OPTIONAL", "MINUS", "BIND", "FILTER", "GRAPH", "EXISTS")
# The engine's parser recurses: it crashed at 1,000 nested calls of functions and at chains of 10,000 operators.
DEEPEST, LONGEST = 200, 3_000


def _tokens(sparql: str) -> Iterator[tuple[str, str, int]]:
    """(kind, text, start) of variables, words, brackets and operators; strings, IRIs and comments are passed over."""
    for match in _TOKEN.finditer(sparql):
        if match.lastgroup == "run":  # one match: from each of its parts a name would be searched to the end
            yield from (("operator", "-", match.start()) for _ in range(match.group().count("-")))
        elif match.lastgroup not in (None, "quoted"):
            yield match.lastgroup, match.group(), match.start()


def keywords(sparql: str) -> frozenset[str]:
    """The bare words of a query in upper case, without those of its strings, names and comments."""
    return frozenset(text.upper() for kind, text, _ in _tokens(sparql) if kind == "word")


def refuse_bomb(sparql: str) -> None:
    """InputError for a query that could exhaust the stack of the engine's parser, and with it end the program."""
    if not is_text(sparql):
        raise InputError("the query holds a lone surrogate, which is no character: remove it")
    depth = length = 0
    for kind, text, start in _tokens(sparql):
        if kind == "bracket":
            depth += 1 if text in "([{<<" else -1
        length += kind == "operator" or text == "{" or (kind == "word" and text.upper() in _CLAUSES)
        if depth > DEEPEST:
            line = sparql.count("\n", 0, start) + 1
            raise InputError(f"the query nests brackets more than {DEEPEST} deep (line {line}): ask in a flatter way")
        if length > LONGEST:
            raise InputError(
                f"the query has more than {LONGEST:,} operators and clauses: put values into VALUES, or ask often"
            )


def is_update(sparql: str) -> bool:
    """Whether a text is a SPARQL update."""
    words = (text.upper() for kind, text, _ in _tokens(sparql) if kind == "word")
    return next((word for word in words if word not in ("PREFIX", "BASE")), "") in _UPDATES


def form_and_columns(sparql: str) -> tuple[str, list[str]]:
    """The word that a query begins with, SELECT or another ("" for none), and the variables that a SELECT names."""
    form, columns, last, depth = "", [], "", 0
    for kind, text, _ in _tokens(sparql):
        word = text.upper() if kind == "word" else ""
        if not form:
            form = word if word in _FORMS else ""
        elif form != "SELECT" or text == "{" or word in ("WHERE", "FROM"):
            break
        elif kind == "variable":
            last = text[1:]
            columns += [] if depth else [last]
        elif kind == "bracket":
            depth += (text == "(") - (text == ")")
            columns += [last] if text == ")" and depth == 0 else []  # (... AS ?last)
    return form, columns


def _edited(sparql: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The query with other text in place of what stands between two places, for each edit in their order."""
    out, done = [], 0
    for start, stop, text in edits:
        out += [sparql[done:start], text]
        done = stop
    return "".join(out) + sparql[done:]


def bind(sparql: str, terms: Mapping[str, str]) -> str:
    """The query with the variables of `terms` (name -> term in N-Triples) replaced by their values.

    In the text, because that means the same in subqueries, filters and aggregates and at every endpoint: a VALUES
    clause would be joined too late for the last two. A projected variable is still projected.
    """
    return _edited(sparql, _bindings(sparql, terms))


def _bindings(sparql: str, terms: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    outer: list[str] = []  # the states of the enclosing groups
    state = "group"  # "group": a term stands bare; "projection": (term AS ?x); "modifiers": (term)
    depth = 0  # parentheses inside a projection
    for kind, text, start in _tokens(sparql):
        if kind == "word" and text.upper() == "SELECT":
            state, depth = "projection", 0
        elif kind == "word" and text.upper() == "BY":
            state = "modifiers"
        elif text == "{":
            outer.append("modifiers" if state == "projection" else state)
            state = "group"
        elif text == "}" and outer:
            state = outer.pop()
        elif kind == "bracket" and state == "projection":
            depth += (text == "(") - (text == ")")
        elif kind == "variable" and text[1:] in terms:
            term = terms[text[1:]]
            if state == "projection" and depth == 0:
                term = f"({term} AS {text})"
            elif state == "modifiers":
                term = f"({term})"
            yield start, start + len(text), term


def bounded(sparql: str, graphs: Iterable[str]) -> str:
    """The query where each variable after GRAPH ranges over these graphs only."""
    values = " ".join(f"<{iri}>" for iri in graphs)
    edits, graph_at = [], None
    for kind, text, start in _tokens(sparql):
        if kind == "variable" and graph_at is not None:
            edits.append((graph_at, graph_at, f"VALUES {text} {{ {values} }} "))
        graph_at = start if kind == "word" and text.upper() == "GRAPH" else None
    return _edited(sparql, edits)


@lru_cache(maxsize=256)
def variable_namespaces(sparql: str) -> Mapping[str, str]:
    """Variable -> namespace of the labels it can be bound to, from where it stands in the query.

    RELATION for a variable that is the predicate of a pattern, GRAPH for one after the word GRAPH, ENTITY for any
    other.

    :raises InputError: a query that rdflib cannot parse.
    """
    from rdflib.plugins.sparql.algebra import traverse
    from rdflib.plugins.sparql.parser import parseQuery
    from rdflib.plugins.sparql.parserutils import CompValue
    from rdflib.term import Variable

    found = {text[1:]: ENTITY for kind, text, _ in _tokens(sparql) if kind == "variable"}

    def visit(node: object) -> None:
        if not isinstance(node, CompValue):
            return
        if node.name == "GraphGraphPattern" and isinstance(node.term, Variable):
            found[str(node.term)] = GRAPH
        for terms in [*(node.triples or ()), *(node.template or ())]:  # s, p, o, s, p, o, ...
            found.update((str(term), RELATION) for term in terms[1::3] if isinstance(term, Variable))

    try:
        with _PARSING:
            parsed = parseQuery(sparql)
        traverse(parsed, visitPre=visit)
    except Exception as error:  # pyparsing's own exceptions, and bare ones from rdflib's parse actions
        reason = syntax_error(sparql) or f"rdflib cannot parse this query, so no label can be bound in it: {error}"
        raise InputError(reason) from None
    return found


def named_relations(sparql: str) -> list[str]:
    """The labels of gumption's relations that a query names, with a prefix or by their IRIs."""
    spaces = {"gum:": RELATION, **dict(_PREFIX.findall(sparql))}
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(_PREFIX.sub("", sparql)):
        prefix, colon, local = match.group().partition(":")
        iri = spaces[prefix + colon] + local if prefix + colon in spaces else match.group()[1:-1]
        if match.lastgroup == "quoted" and iri.startswith(RELATION):
            found[iri_to_label(iri, RELATION)] = None
    return list(found)


def label_terms(sparql: str, labels: Mapping[str, str | float]) -> dict[str, str]:
    """Variable -> the term (N-Triples) of its label, by where the variable stands in the query.

    :raises InputError: a name that is no variable of the query.
    """
    namespaces = variable_namespaces(sparql)
    terms = {}
    for name, label in labels.items():
        if name not in namespaces:
            unknown = unknown_label("variable", name, namespaces)
            raise InputError(f"the query has no variable ?{name} to bind: {unknown}")
        label = check(f"?{name}", label, str | bool | int | float)
        if not isinstance(label, str):
            terms[name] = str(ox.Literal(label))
        elif namespaces[name] == ENTITY:
            term = object_to_term(label)
            if isinstance(term, ox.BlankNode):
                raise InputError(f"?{name}: SPARQL has no name for the blank node {label}: ask triples() for its facts")
            terms[name] = f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)
        else:
            if isinstance(term := label_to_term(label, namespaces[name]), ox.BlankNode):
                raise InputError(f"?{name}: SPARQL has no name for the graph {label}: ask triples(graph=...)")
            terms[name] = str(term)
    return terms


def syntax_error(sparql: str, reason: str | None = None) -> str | None:
    """Where and why a query does not parse, with the line marked; None where it does.

    :param reason: the engine's message. Without it the engine evaluates the query in a process of its own, on no facts,
        because it cannot only parse.
    """
    if reason is None:
        with suppress(InputError):  # it parses, and exceeds a limit or asks another server
            reason = parse_problem(sparql)
    if reason is None:
        return None
    place = re.match(r"error at (\d+):(\d+): (.*)", reason, re.DOTALL)
    line, column, expected = (int(place[1]), int(place[2]), place[3]) if place else (1, 1, reason)
    if keywords(sparql).isdisjoint(_FORMS):
        expected = f"a query begins with {', '.join(_FORMS[:-1])} or {_FORMS[-1]}"
    elif "Prefix not found" in expected:
        expected = f"undeclared prefix; declared are {': '.join(PREFIXES)}: and what the query's PREFIX lines name"
    else:
        # What could follow, without the parser's classes of characters, and "" where only these could.
        expected = (
            re.sub(r",?\s*\[.*", "", expected, flags=re.DOTALL).removesuffix("expected") or "this cannot follow here"
        )
    marked = (sparql.splitlines() or [""])[line - 1 : line]
    pointer = "".join(f"\n  {text}\n  {' ' * (column - 1)}^" for text in marked)
    return f"SPARQL syntax error at line {line}, column {column}: {expected}{pointer}"


def refuse_service(sparql: str) -> None:
    """InputError for a query that asks other servers, for programs that pass queries on to an endpoint.

    A query that does not parse here is refused, too, where it could hide the word SERVICE behind an escape.
    """
    if re.search(r"service|\\u", sparql, re.IGNORECASE) and (reason := parse_problem(sparql)):
        raise InputError(syntax_error(sparql, reason) or reason)
