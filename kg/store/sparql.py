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
    is_text,
    label_to_term,
    object_to_term,
    unknown_label,
)

from .limits import parse_problem

#: rdflib's parser is one object for all threads, and changes while it parses.
_PARSING = Lock()
# A backslash in a name escapes what follows it: "#" begins no comment there, and a quote no string. <?x&&?y> is no IRI.
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


def bind(sparql: str, terms: Mapping[str, str]) -> str:
    """Replace the variables of `terms` (name -> term in N-Triples) by their values. A projected one stays projected.

    Done in the text, which means the same in subqueries, filters and aggregates and at every endpoint: a VALUES clause
    would be joined too late for the last two.
    """
    out, done, depth = [], 0, 0  # depth: parentheses within a projection
    # "group": a term stands bare; "projection": (term AS ?x); "modifiers": (term). The last is the innermost group's.
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
    """Let each variable after GRAPH range over these graphs only."""
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
    """Variable -> namespace of its labels: RELATION for the predicate of a pattern, GRAPH after GRAPH, else ENTITY.

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
    except Exception as error:  # pyparsing's own exceptions, and bare ones from rdflib's parse actions
        reason = syntax_error(sparql) or f"rdflib cannot parse this query, so no label can be bound in it: {error}"
        raise InputError(reason) from None
    return spaces


def label_terms(sparql: str, labels: Mapping[str, str | float]) -> dict[str, str]:
    """Variable -> the term (N-Triples) of its label, by where the variable stands in the query.

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
    """Where and why a query does not parse, with the line marked; None where it does.

    :param reason: the engine's message; without it the engine parses the query in a process of its own.
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
    else:  # without the parser's classes of characters; where only these could follow, nothing is left
        expected = re.sub(r",?\s*\[.*", "", expected, flags=re.DOTALL).removesuffix("expected")
    marked = (sparql.splitlines() or [""])[line - 1 : line]
    pointer = "".join(f"\n  {text}\n  {' ' * (column - 1)}^" for text in marked)
    return f"SPARQL syntax error at line {line}, column {column}: {expected or 'this cannot follow here'}{pointer}"


def refuse_service(sparql: str) -> None:
    """InputError for a query that asks other servers, for programs that pass queries on to an endpoint.

    A query that does not parse here is refused, too, where it could hide the word SERVICE behind an escape.
    """
    if re.search(r"service|\\u", sparql, re.IGNORECASE) and (reason := parse_problem(sparql)):
        raise InputError(syntax_error(sparql, reason) or reason)
