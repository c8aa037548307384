"""The text of SPARQL queries: keywords, labels for variables, bounds, and the position of errors."""

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
    is_text,
    label_to_term,
    object_to_term,
    unknown_label,
)

from .limits import parse_problem

#: All threads share rdflib's parser, which changes while it parses.
_PARSING = Lock()
# A backslash in a name escapes the next character: "#" then begins no comment, a quote no string. <?x&&?y> is no IRI.
_TOKEN = re.compile(
    r"""(?P<quoted>\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'
        |<(?![?$]\w+(?:&&|[)*+,-]))[^<>"{}|^`\\\s]*>|\#[^\n]*|@[\w-]+|\^\^|(?<![?$\w])[\w.-]*:(?:[\w.:%-]|\\.)*)
    |(?P<run>(?<![?$\w])[\w.-]{100,}+(?!:))
    |(?P<variable>[?$]\w+)
    |(?P<word>(?<![\w:%-])[A-Za-z]+\b(?![:.%-]))
    |(?P<bracket><<|>>|[{}()\[\]])
    |(?P<operator>\|\||&&|[-+*/|!^])""",
    re.VERBOSE | re.DOTALL,
)
_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH")
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_CLAUSES = ("UNION", "OPTIONAL", "MINUS", "BIND", "FILTER", "GRAPH", "EXISTS")
# The engine's parser recurses: it crashed at 1,000 nested calls of functions and at chains of 10,000 operators.
DEEPEST, LONGEST = 200, 3_000


def _tokens(sparql: str) -> Iterator[tuple[str, str, int]]:
    """Yield (kind, text, start) of variables, words, brackets and operators; skip strings, IRIs and comments."""
    for match in _TOKEN.finditer(sparql):
        if match.lastgroup == "run":  # a single match, else a name would be searched to the end from each position
            yield from (("operator", "-", match.start()) for _ in range(match.group().count("-")))
        elif match.lastgroup not in (None, "quoted"):
            yield match.lastgroup, match.group(), match.start()


def keywords(sparql: str) -> frozenset[str]:
    """Return the bare words of a query in upper case, without words in strings, names and comments."""
    return frozenset(text.upper() for kind, text, _ in _tokens(sparql) if kind == "word")


def refuse_bomb(sparql: str) -> None:
    """Raise InputError for a query that could exhaust the stack of the engine's parser and so end the program."""
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
    """Return whether a text is a SPARQL update."""
    words = (text.upper() for kind, text, _ in _tokens(sparql) if kind == "word")
    return next((word for word in words if word not in ("PREFIX", "BASE")), "") in _UPDATES


def form_and_columns(sparql: str) -> tuple[str, list[str]]:
    """Return the form of a query, such as SELECT ("" for none), and the variables that a SELECT names."""
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


def bind(sparql: str, terms: Mapping[str, str]) -> str:
    """Replace the variables of `terms` (name -> term in N-Triples) by their values. Projected variables stay projected.

    Replacing text has the same effect in subqueries, filters and aggregates and at every endpoint: a VALUES clause
    would be joined too late for filters and aggregates.
    """
    out, done, depth = [], 0, 0  # depth: parentheses within a projection
    # "group": a bare term; "projection": (term AS ?x); "modifiers": (term). The last state is the innermost group's.
    states = ["group"]
    for kind, text, start in _tokens(sparql):
        if kind == "word" and text.upper() in ("SELECT", "BY"):
            states[-1], depth = "projection" if text.upper() == "SELECT" else "modifiers", 0
        elif text == "{":
            states[-1] = "modifiers" if states[-1] == "projection" else states[-1]
            states.append("group")
        elif text == "}" and len(states) > 1:
            states.pop()
        elif kind == "bracket":
            depth += (text == "(") - (text == ")")
        elif kind == "variable" and text[1:] in terms:
            form = {"group": "{}", "modifiers": "({})"}.get(states[-1], "{}" if depth else "({} AS {})")
            out += [sparql[done:start], form.format(terms[text[1:]], text)]
            done = start + len(text)
    return "".join(out) + sparql[done:]


def bounded(sparql: str, graphs: Iterable[str]) -> str:
    """Restrict each variable after GRAPH to these graphs."""
    values = " ".join(f"<{iri}>" for iri in graphs)
    out, done, graph_at = [], 0, None
    for kind, text, start in _tokens(sparql):
        if kind == "variable" and graph_at is not None:
            out += [sparql[done:graph_at], f"VALUES {text} {{ {values} }} "]
            done = graph_at
        graph_at = start if kind == "word" and text.upper() == "GRAPH" else None
    return "".join(out) + sparql[done:]


@lru_cache(maxsize=256)
def variable_namespaces(sparql: str) -> Mapping[str, str]:
    """Map variables to the namespace of their labels: RELATION for a predicate, GRAPH after GRAPH, else ENTITY.

    :raises InputError: a query that rdflib cannot parse.
    """
    from rdflib.plugins.sparql.algebra import traverse
    from rdflib.plugins.sparql.parser import parseQuery
    from rdflib.plugins.sparql.parserutils import CompValue
    from rdflib.term import Variable

    spaces = {text[1:]: ENTITY for kind, text, _ in _tokens(sparql) if kind == "variable"}

    def visit(node: object) -> None:
        if isinstance(node, CompValue):
            if node.name == "GraphGraphPattern" and isinstance(node.term, Variable):
                spaces[str(node.term)] = GRAPH
            for terms in [*(node.triples or ()), *(node.template or ())]:  # s, p, o, s, p, o, ...
                spaces.update((str(term), RELATION) for term in terms[1::3] if isinstance(term, Variable))

    try:
        with _PARSING:
            parsed = parseQuery(sparql)
        traverse(parsed, visitPre=visit)
    except Exception as error:  # pyparsing's own exceptions, and bare exceptions from rdflib's parse actions
        reason = syntax_error(sparql) or f"rdflib cannot parse this query, so no label can be bound in it: {error}"
        raise InputError(reason) from None
    return spaces


def label_terms(sparql: str, labels: Mapping[str, str | float]) -> dict[str, str]:
    """Map variables to the terms (N-Triples) of their labels, by the position of the variable in the query.

    :raises InputError: a name that is no variable of the query; a blank node.
    """
    namespaces, terms = variable_namespaces(sparql), {}
    for name, value in labels.items():
        if name not in namespaces:
            raise InputError(
                f"the query has no variable ?{name} to bind: {unknown_label('variable', name, namespaces)}"
            )
        label = check(f"?{name}", value, str | bool | int | float)
        if not isinstance(label, str):
            term = ox.Literal(label)
        else:
            space = namespaces[name]
            term = object_to_term(label) if space == ENTITY else label_to_term(label, space)
        if isinstance(term, ox.BlankNode):
            raise InputError(
                f"?{name}: SPARQL has no name for the blank node {label}: use triples() in place of query()"
            )
        terms[name] = f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)
    return terms


def syntax_error(sparql: str, reason: str | None = None) -> str | None:
    """Return where and why a query does not parse, with the line marked; None if it parses.

    :param reason: the engine's message; without it the engine parses the query in a separate process.
    """
    if reason is None:
        with suppress(InputError):  # it parses, and exceeds a limit or contacts another server
            reason = parse_problem(sparql)
    if reason is None:
        return None
    place = re.match(r"error at (\d+):(\d+): (.*)", reason, re.DOTALL)
    line, column, expected = (int(place[1]), int(place[2]), place[3]) if place else (1, 1, reason)
    if keywords(sparql).isdisjoint(_FORMS):
        expected = f"a query begins with {', '.join(_FORMS[:-1])} or {_FORMS[-1]}"
    elif "Prefix not found" in expected:
        expected = f"undeclared prefix; declared are {': '.join(PREFIXES)}: and what the query's PREFIX lines name"
    else:  # drop the parser's character classes; the rest may be empty
        expected = re.sub(r",?\s*\[.*", "", expected, flags=re.DOTALL).removesuffix("expected")
    marked = (sparql.splitlines() or [""])[line - 1 : line]
    pointer = "".join(f"\n  {text}\n  {' ' * (column - 1)}^" for text in marked)
    return f"SPARQL syntax error at line {line}, column {column}: {expected or 'this cannot follow here'}{pointer}"


def refuse_service(sparql: str) -> None:
    """Raise InputError for a query that contacts other servers, for programs that forward queries to an endpoint.

    A query that does not parse here is also refused if an escape could hide the word SERVICE.
    """
    if re.search(r"service|\\u", sparql, re.IGNORECASE) and (reason := parse_problem(sparql)):
        raise InputError(syntax_error(sparql, reason) or reason)
