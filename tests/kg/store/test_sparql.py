import subprocess
import sys

import pytest

from gumption.data import InputError
from gumption.kg.store.sparql import bind, keywords, variable_namespaces
from gumption.kg.vocabulary import ENTITY, GRAPH, RELATION


@pytest.mark.parametrize(
    ("sparql", "bound"),
    [
        ("SELECT ?y { ?x gum:p ?y }", "SELECT ?y { <u> gum:p ?y }"),
        ("SELECT ?x ?y { ?x gum:p ?y }", "SELECT (<u> AS ?x) ?y { <u> gum:p ?y }"),
        ("SELECT (STR(?x) AS ?s) WHERE { $x gum:p ?xy }", "SELECT (STR(<u>) AS ?s) WHERE { <u> gum:p ?xy }"),
        (
            "SELECT ?x { ?x gum:p ?y } GROUP BY ?x ORDER BY DESC(?x)",
            "SELECT (<u> AS ?x) { <u> gum:p ?y } GROUP BY (<u>) ORDER BY DESC((<u>))",
        ),
        (
            "SELECT ?y { { SELECT ?x { ?x gum:p ?y } ORDER BY ?x } FILTER(?x<?y) }",
            "SELECT ?y { { SELECT (<u> AS ?x) { <u> gum:p ?y } ORDER BY (<u>) } FILTER(<u><?y) }",
        ),
        ("CONSTRUCT { ?x gum:q ?y } WHERE { ?x gum:p ?y }", "CONSTRUCT { <u> gum:q ?y } WHERE { <u> gum:p ?y }"),
        ("DESCRIBE ?x", "DESCRIBE <u>"),
        ('ASK { ent:a gum:p \'?x\', """?x""" } # ?x', 'ASK { ent:a gum:p \'?x\', """?x""" } # ?x'),
        (
            "ASK { ent:select gum:by ?x ; <http://select/?x> ?x }",
            "ASK { ent:select gum:by <u> ; <http://select/?x> <u> }",
        ),
        ("ASK { ?a gum:p?/gum:q ?x }", "ASK { ?a gum:p?/gum:q <u> }"),
    ],
)
def test_bind_writes_the_term_wherever_the_variable_stands(sparql, bound):
    assert bind(sparql, {"x": "<u>"}) == bound


def test_namespace_of_a_variable_is_where_it_stands():
    found = variable_namespaces("""
        SELECT ?x (COUNT(*) AS ?n) {
          GRAPH ?g { ?x ?first ?o ; ?second [ ?third ?z ] }
          FILTER NOT EXISTS { ?x gum:a/gum:b ?o . ?o ?fourth ?x FILTER(?o = ?free) }
          { SELECT ?x { ?x ?fifth "?quoted" } }
        } GROUP BY ?x""")
    relations = {"first", "second", "third", "fourth", "fifth"}
    assert found == dict.fromkeys("xnoz", ENTITY) | {"free": ENTITY, "g": GRAPH} | dict.fromkeys(relations, RELATION)
    assert variable_namespaces("CONSTRUCT { ?x ?r ?y } WHERE { ?x gum:p ?y }")["r"] == RELATION


def test_what_rdflib_cannot_parse_is_refused_when_a_label_is_bound():
    newer = "SELECT ?x { ?x gum:p ?y FILTER(isTRIPLE(?y)) }"
    with pytest.raises(InputError, match="rdflib cannot parse this query, so no label can be bound in it"):
        variable_namespaces(newer)


def test_keywords_are_not_what_names_and_strings_say():
    assert keywords("select ?from { ?x gum:order 'FROM', <urn:ORDER> . ent:from-BY ent:x }  # FROM") == {"SELECT"}
    assert keywords("SELECT ?x FROM <urn:g> { ?x a ?y } ORDER BY ?x") == {"SELECT", "FROM", "ORDER", "BY", "A"}


def test_threads_parse_at_once() -> None:
    """In a new process: a parser that has worked once would not be confused any more."""
    program = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from gumption.kg.store.sparql import variable_namespaces
import rdflib.plugins.sparql.parser

sys.setswitchinterval(1e-5)
together = Barrier(4)

def parse(number):
    together.wait()
    return variable_namespaces(f"SELECT ?x WHERE {{ ?x gum:p{number} ?z . FILTER (?z > 1) }}")

with ThreadPoolExecutor(4) as threads:
    print(len(list(threads.map(parse, range(4)))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("4\n", 0), done.stderr
