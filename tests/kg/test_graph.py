"""One suite over the three homes of a graph."""

import re

import numpy as np
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import KnowledgeGraph, Vocabulary

from .conftest import RAIN, STEAM


def test_add_counts_what_is_new(graph):
    assert graph.add(STEAM, graph="wordcraft/train") == 4
    assert graph.add([*STEAM[:2], *RAIN, RAIN[0]], graph="wordcraft/train") == 2
    assert graph.add(iter(RAIN)) == 2
    assert graph.add([]) == 0
    assert graph.graphs() == {"default": 2, "wordcraft/train": 6}
    assert len(graph) == 6


def test_remove(graph):
    graph.add([*STEAM, *RAIN], graph="a")
    graph.add(RAIN, graph="b")
    assert graph.remove([RAIN[0], ("mud", "componentOf", "brick")], graph="a") == 1
    assert graph.graphs() == {"a": 5, "b": 2}
    assert graph.remove(RAIN) == 3
    assert graph.graphs() == {"a": 4}
    assert list(graph.triples()) == STEAM
    assert graph.remove(graph.triples(graph="a"), graph="a") == 4
    assert len(graph) == 0


def test_triples_by_any_of_their_parts(graph):
    graph.add(reversed(STEAM), graph="a")
    graph.add([*RAIN, STEAM[0]], graph="b")
    assert list(graph.triples()) == sorted([*STEAM, *RAIN])
    assert list(graph.triples(graph="b")) == [RAIN[0], STEAM[0], RAIN[1]]
    assert list(graph.triples(subject="fire")) == STEAM[:2]
    assert list(graph.triples(relation="componentOf", object="steam")) == [STEAM[1], STEAM[3]]
    assert list(graph.triples("fire", "combinesWith", "water", graph="b")) == [STEAM[0]]
    assert list(graph.triples(object="acid rain", graph="a")) == []
    assert list(graph.triples(subject="no such thing")) == []
    assert list(graph.triples(graph="no such graph")) == []


def test_arrays(graph):
    graph.add([*RAIN, *STEAM], graph="a")
    graph.add(STEAM, graph="b")
    vocabulary, ids = graph.arrays()
    assert vocabulary == Vocabulary.from_triples([*RAIN, *STEAM])
    assert ids.dtype == np.int64
    assert ids.tolist() == sorted(ids.tolist())
    assert vocabulary.ids_to_triples(ids) == list(graph.triples())
    vocabulary, ids = graph.arrays(graph="b")
    assert vocabulary.entities == ("fire", "steam", "water")
    assert ids.shape == (4, 3)
    with pytest.raises(InputError, match=re.escape("unknown graph 'c': no known label is near it (there are: a, b)")):
        graph.arrays(graph="c")


def test_an_empty_graph(graph):
    vocabulary, ids = graph.arrays()
    assert ids.shape == (0, 3)
    assert vocabulary == Vocabulary([], [])
    assert len(graph) == 0
    assert graph.graphs() == {}
    assert list(graph.triples()) == []
    assert graph.query("SELECT * { ?s ?p ?o }") == []
    assert graph.query("ASK { ?s ?p ?o }") is False
    assert graph.to_networkx().number_of_nodes() == 0


def test_queries_see_the_union_of_all_named_graphs(graph):
    graph.add(STEAM[:2], graph="a")
    graph.add([*STEAM, *RAIN], graph="b")
    assert graph.query("SELECT ?x WHERE { ?x gum:componentOf ent:steam }") == [{"x": "fire"}, {"x": "water"}]
    assert graph.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [{"n": 6}]
    joined = "SELECT ?g ?x { GRAPH ?g { ?x gum:combinesWith ?y } ?y gum:componentOf ent:steam }"
    assert graph.query(joined) == [{"g": "a", "x": "fire"}, {"g": "b", "x": "fire"}, {"g": "b", "x": "water"}]
    assert graph.query("SELECT ?p (COUNT(?s) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n)") == [
        {"p": "componentOf", "n": 4},
        {"p": "combinesWith", "n": 2},
    ]
    assert graph.query("SELECT ?s FROM <urn:gumption:graph:a> { ?s gum:componentOf ?o }") == [{"s": "fire"}]


def test_a_keyword_is_a_label_bound_to_a_variable(graph):
    graph.add([*STEAM, *RAIN], graph="a")
    graph.add(STEAM, graph="b")
    asked = "SELECT ?x WHERE { ?x gum:componentOf ?goal }"
    assert graph.query(asked, goal="acid rain") == [{"x": "cloud"}, {"x": "smog"}]
    assert graph.query("SELECT ?x WHERE { ent:fire ?how ?x }", how="combinesWith") == [{"x": "water"}]
    assert graph.query("SELECT ?goal { ?x gum:componentOf ?goal }", x="smog") == [{"goal": "acid rain"}]
    assert graph.query("SELECT ?goal { ?x gum:componentOf ?goal }", x="smog", goal="acid rain") == [
        {"goal": "acid rain"}
    ]
    assert graph.query("SELECT (COUNT(*) AS ?n) { GRAPH ?where { ?s ?p ?o } }", where="b") == [{"n": 4}]
    counted = "SELECT ?goal (COUNT(?x) AS ?n) { ?x gum:componentOf ?goal } GROUP BY ?goal HAVING (COUNT(?x) >= ?least)"
    assert graph.query(counted, goal="steam", least=2) == [{"goal": "steam", "n": 2}]
    assert graph.query(counted, goal="steam", least=3) == []
    nested = "SELECT ?x { { SELECT ?x { ?x ?how ?y FILTER(?y != ?goal) } } FILTER NOT EXISTS { ?x ?how ?goal } }"
    assert graph.query(nested, how="componentOf", goal="steam") == [{"x": "cloud"}, {"x": "smog"}]
    assert graph.query("ASK { ?x ?how ?goal }", goal="steam", how="componentOf", x="mud") is False


def test_values_come_as_python_values(graph):
    graph.add(
        [
            ("fire", "heat", '"900"^^<http://www.w3.org/2001/XMLSchema#integer>'),
            ("fire", "heat", '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
            ("fire", "heat", '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'),
            ("fire", "heat", '"a lot"@en'),
            ("fire", "heat", '"many"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ]
    )
    assert [row["h"] for row in graph.query("SELECT ?h { ent:fire gum:heat ?h }")] == [1.5, 900, True, "a lot", "many"]
    assert graph.query("SELECT ?x ?none { ?x gum:heat 900 OPTIONAL { ?x gum:colour ?none } }") == [
        {"x": "fire", "none": None}
    ]
    assert graph.query("ASK { ?x gum:heat ?h FILTER(?h > ?limit) }", limit=899.5) is True


def test_ask_construct_describe(graph):
    graph.add(STEAM, graph="a")
    assert graph.query("ASK { ent:fire gum:componentOf ent:steam }") is True
    inverse = graph.query("CONSTRUCT { ?y gum:madeOf ?x } WHERE { ?x gum:componentOf ?y }")
    assert inverse == [("steam", "madeOf", "fire"), ("steam", "madeOf", "water")]
    assert graph.add(inverse, graph="derived") == 2
    assert graph.query("DESCRIBE ent:fire") == STEAM[:2]


def test_names_of_bookkeeping_are_reserved(graph):
    for reserved in ("urn:gumption:labels", "urn:gumption:about"):
        with pytest.raises(InputError, match=f"the graph '{reserved}' is reserved"):
            graph.add(RAIN, graph=reserved)


def test_the_same_facts_as_an_rdflib_dataset(graph):
    graph.add(STEAM, graph="a")
    entity, relation = (rdflib.Namespace(f"urn:gumption:{kind}:") for kind in ("entity", "relation"))
    named = graph.dataset.get_context(rdflib.URIRef("urn:gumption:graph:a"))
    assert set(named.subjects(relation.componentOf, entity.steam)) == {entity.fire, entity.water}
    named.add((entity.ice, relation.componentOf, entity.steam))
    assert ("ice", "componentOf", "steam") in list(graph.triples(graph="a"))


def test_networkx(graph):
    graph.add(STEAM, graph="a")
    graph.add([("fire", "heats", "water")], graph="b")
    network = graph.to_networkx()
    assert sorted(network) == ["fire", "steam", "water"]
    assert sorted(network.edges(keys=True)) == sorted((s, o, r) for s, r, o in [*STEAM, ("fire", "heats", "water")])
    assert network.edges["fire", "water", "heats"]["relation"] == "heats"
    assert graph.to_networkx(graph="b").number_of_edges() == 1


def test_pykeen_factory_has_the_ids_of_arrays(graph):
    graph.add([*STEAM, *RAIN], graph="a")
    factory = graph.to_triples_factory(graph="a")
    vocabulary, ids = graph.arrays(graph="a")
    assert factory.mapped_triples.tolist() == ids.tolist()
    assert factory.num_entities == len(vocabulary.entities)
    assert factory.relation_to_id["componentOf"] == vocabulary.relation_id("componentOf")
    assert sorted(map(tuple, factory.triples.tolist())) == sorted([*STEAM, *RAIN])


def test_a_pykeen_factory_of_no_facts_is_refused(graph):
    with pytest.raises(InputError, match="there are no facts: a TriplesFactory of PyKEEN holds at least one"):
        graph.to_triples_factory()


def test_any_label_survives_a_store(graph):
    odd = ["a\tb", "a\nb", 'say "so"', "back\\slash", "é", "日本", "\u2028", "%41", "<x>", "http://x.org/a b", "-", "."]
    facts = sorted((label, "is " + label, odd[i - 1]) for i, label in enumerate(odd))
    graph.add(facts, graph="odd\tname")
    assert list(graph.triples()) == facts
    assert list(graph.graphs()) == ["odd\tname"]
    for label in odd:
        assert [row["x"] for row in graph.query("SELECT ?x { ?x ?rel ?o }", rel="is " + label)] == [label]
        assert len(graph.query("SELECT ?x { ?x ?r ?o }", o=label)) == 1
        assert len(list(graph.triples(object=label))) == 1


@pytest.mark.parametrize(
    ("sparql", "message"),
    [
        ("SELECT ?x WHERE {\n ?x gum:componentOf }", "syntax error at line 2, column 21: expected one of "),
        ("SELECT ?x WHERE {\n ?x gum:componentOf }", "\n   ?x gum:componentOf }\n                      ^"),
        ("SELECT ?x { ?x foo:bar ?y }", "undeclared prefix; declared are gum: ent: rdf: rdfs: prov:"),
        ("INSERT DATA { ent:a gum:b ent:c }", "that is an update, and a query only reads"),
        ("PREFIX a: <urn:insert> # SELECT\nDELETE { ?s ?p ?o } WHERE { SELECT * { ?s ?p ?o } }", "that is an update"),
        ("", "a query begins with SELECT"),
        ("SELECT ?x { ?x gum:a ent:b } }", "line 1, column 31: this cannot follow here"),
    ],
)
def test_a_syntax_error_says_where(graph, sparql, message):
    with pytest.raises(InputError, match=re.escape(message)):
        graph.query(sparql)


def test_bad_keywords(graph):
    with pytest.raises(InputError, match=re.escape("no variable ?gaol to bind: unknown variable 'gaol': did you mean")):
        graph.query("SELECT ?x { ?x gum:componentOf ?goal }", gaol="steam")
    with pytest.raises(InputError, match="syntax error at line 1, column 17: expected one of BIND"):
        graph.query("SELECT ?x { ?x }", x="steam")


@pytest.mark.parametrize("row", [("fire", "componentOf"), "abc", ("fire", "componentOf", 3), ("fire", "", "steam")])
def test_a_bad_row_is_named_and_nothing_is_written(graph, row):
    with pytest.raises(InputError, match=re.escape("triple 2: expected three labels (subject, relation, object), got")):
        graph.add([*RAIN, row])
    assert len(graph) == 0


def test_order_of_adding_does_not_matter(home, graph, tmp_path):
    graph.add([*STEAM, *RAIN], graph="a")
    graph.save(tmp_path / "one.nq")
    first = graph.arrays()
    graph.remove(graph.triples())
    for fact in reversed([*STEAM, *RAIN]):
        graph.add([fact], graph="a")
    graph.save(tmp_path / "two.nq")
    assert (tmp_path / "one.nq").read_bytes() == (tmp_path / "two.nq").read_bytes()
    assert graph.arrays()[0].hash == first[0].hash
    assert graph.arrays()[1].tolist() == first[1].tolist()


LABEL = st.text(min_size=1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(LABEL, LABEL, LABEL), min_size=1), LABEL)
def test_whatever_is_added_is_found(facts, name):
    graph = KnowledgeGraph()
    assert graph.add(facts, graph=name) == len(set(facts))
    assert list(graph.triples(graph=name)) == sorted(set(facts))
    subject, relation, object_ = facts[0]
    rows = graph.query("SELECT ?o { GRAPH ?g { ?s ?r ?o } }", g=name, s=subject, r=relation)
    assert len(rows) == len(list(graph.triples(subject, relation)))
    assert facts[0] in graph.triples(object=object_)
