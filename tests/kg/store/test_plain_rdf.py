"""Other people's RDF keeps its meaning: in queries, in files that are read and in files that are written."""

from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from rdflib.compare import isomorphic

from gumption.data import InputError
from gumption.kg import KnowledgeGraph
from gumption.kg.vocabulary import ABOUT, RDFS_LABEL

X, XSD, RDF = "http://x.org/", "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
HEAD = f"PREFIX : <{X}> PREFIX xsd: <{XSD}> PREFIX rdf: <{RDF}> PREFIX ent: <urn:gumption:entity:>\n"
PRICES = """
    :a :price 5200.50 . :b :price "007"^^xsd:integer . :c :price 6.1e3 .
    :d :sold "1"^^xsd:boolean ; :at "2026-01-02T03:04:05.000Z"^^xsd:dateTime .
"""
COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o %s }"


def loaded(path: Path, turtle: str, **how: str) -> KnowledgeGraph:
    path.write_text(HEAD + turtle)
    return KnowledgeGraph.load(path, **how)


def ask(graph: KnowledgeGraph, query: str) -> list[object]:
    """The values of the first column."""
    return [next(iter(row.values())) for row in graph.query(HEAD + query)]


def nodes(*names: str) -> list[ox.NamedNode]:
    return [ox.NamedNode(X + name) for name in names]


def literal(text: str, kind: str) -> ox.Literal:
    return ox.Literal(text, datatype=ox.NamedNode(XSD + kind))


# ---- Literals, labels, terms


def test_a_number_takes_part_by_its_value(graph, tmp_path):
    (tmp_path / "x.ttl").write_text(HEAD + PRICES)
    graph.load_file(tmp_path / "x.ttl")
    assert ask(graph, "SELECT ?s { ?s :price ?o FILTER(?o > 4500) }") == [f"{X}a", f"{X}c"]
    [row] = graph.query(f"{HEAD} SELECT (SUM(?o) AS ?sum) (AVG(?o) AS ?mean) (MAX(?o) AS ?most) {{ ?s :price ?o }}")
    assert row == {"sum": pytest.approx(11307.5), "mean": pytest.approx(11307.5 / 3), "most": 6100.0}
    assert ask(graph, COUNT % "FILTER isLiteral(?o)") == [5]
    assert ask(graph, "SELECT ?s { ?s :sold true }") == [f"{X}d"]
    assert ask(graph, "SELECT ?s { ?s :at ?t FILTER(?t > '2026-01-02T03:04:04Z'^^xsd:dateTime) }") == [f"{X}d"]
    expected = {
        literal("5200.5", "decimal"), literal("7", "integer"), literal("6100", "double"), literal("true", "boolean"),
        literal("2026-01-02T03:04:05Z", "dateTime"),
    }  # fmt: skip
    assert {row["o"] for row in graph.query("SELECT ?o { ?s ?p ?o }", terms=True)} == expected
    assert {o for _, _, o in graph.triples()} == set(map(str, expected))
    assert graph.add([(f"{X}b", f"{X}price", f'"07"^^<{XSD}integer>')]) == 0


@pytest.mark.parametrize("iri", ["rdfs:label", f"<{RDFS_LABEL}>", f"<{RDFS_LABEL.replace('label', 'subClassOf')}>"])
def test_a_clause_that_matches_nothing_changes_no_count(graph, iri):
    graph.add([("a", "likes", "b")])
    for timeout in (None, 30):
        assert graph.query(COUNT % f"OPTIONAL {{ ?s {iri} ?c }}", timeout=timeout) == [{"n": 1}]
        assert graph.query(f"SELECT * {{ ?s {iri} ?o }}", timeout=timeout) == []


def test_labels_are_those_of_the_file(graph, tmp_path):
    (tmp_path / "x.ttl").write_text(
        f'{HEAD} :a :p ent:ice . :a <{RDFS_LABEL}> "A"@en . ent:fire <{RDFS_LABEL}> "fire" .'
    )
    assert graph.load_file(tmp_path / "x.ttl") == 3
    rows = graph.query("SELECT ?s ?o { ?s rdfs:label ?o }")
    assert rows == [{"s": "fire", "o": "fire"}, {"s": f"{X}a", "o": "A"}]
    assert ask(graph, "SELECT ?o { :a :p ?o }") == ["ice"]


def test_no_query_sees_bookkeeping(graph):
    graph.add([("fire", "componentOf", "steam")], graph="own")
    graph.annotate("own", {"license": "MIT"})
    for timeout in (None, 30):
        assert graph.query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }", timeout=timeout) == [{"g": "own"}]
        rows = graph.query("SELECT * { ?s ?p ?o }", timeout=timeout)
        assert rows == [{"s": "fire", "p": "componentOf", "o": "steam"}]
    assert graph.query(COUNT % "GRAPH ?g { }") == [{"n": 1}]
    assert graph.annotations("own") == {"license": "MIT"}


def test_terms_and_labels_find_their_facts(tmp_path):
    graph = loaded(tmp_path / "x.ttl", ':a :p ent:fire , "fire" , "tea" , "tea"@en , 7 , [] , <<( :a :p "b" )>> .')
    facts, fire = list(graph.triples()), ox.NamedNode("urn:gumption:entity:fire")
    a, p = nodes("a", "p")
    rows = graph.query("SELECT ?s ?p ?o ?none { ?s ?p ?o }", terms=True)
    objects = [row["o"] for row in rows]
    expected = {fire, ox.Literal("fire"), ox.Literal("tea"), ox.Literal("tea", language="en"), literal("7", "integer")}
    expected.add(ox.Triple(a, p, ox.Literal("b")))
    assert {term for term in objects if not isinstance(term, ox.BlankNode)} == expected
    assert sorted(list(graph.triples(row["s"], row["p"], row["o"])) for row in rows) == [[fact] for fact in facts]
    assert {row["none"] for row in rows} == {None}
    labels = {o for _, _, o in facts}
    assert {label for label in labels if not label.startswith("_:")} == {
        "fire", '"fire"', '"tea"', '"tea"@en', f'"7"^^<{XSD}integer>', f'<<( <{X}a> <{X}p> "b" )>>'
    }  # fmt: skip
    assert [list(graph.triples(object=fact[2])) for fact in facts] == [[fact] for fact in facts]
    built = graph.query("CONSTRUCT { ?o gum:of ?s } WHERE { ?s ?p ?o FILTER isIRI(?o) }", terms=True)
    assert built == [ox.Triple(fire, ox.NamedNode("urn:gumption:relation:of"), a)]
    assert graph.remove(facts) == 7


# ---- Blank nodes

NODES = ":a :has [ :p 1 ] , :b . [] :p [ :q [] ] ."


# At an endpoint a blank node has to be an IRI: the protocol has no name for it.
@pytest.mark.parametrize("home", ["memory", "disk"], indirect=True)
def test_a_blank_node_is_one_in_queries(graph, tmp_path):
    (tmp_path / "x.ttl").write_text(HEAD + NODES)
    graph.load_file(tmp_path / "x.ttl")
    for test in ("isBlank(?n)", "isBlank(COALESCE(?n))", "!isIRI(?n)"):
        assert ask(graph, f"SELECT (COUNT(*) AS ?k) {{ :a :has ?n FILTER({test}) }}") == [1]
    for timeout in (None, 30):  # a limited query has a process of its own
        [row] = graph.query(f"{HEAD} SELECT ?n {{ :a :has ?n FILTER(isBlank(?n)) }}", timeout=timeout)
        assert list(graph.triples(row["n"])) == [(row["n"], f"{X}p", f'"1"^^<{XSD}integer>')]


def test_a_file_is_loaded_once_and_exported_as_it_was(graph, tmp_path):
    (tmp_path / "x.ttl").write_text(HEAD + NODES)
    assert [graph.load_file(tmp_path / "x.ttl") for _ in range(2)] == [5, 0]
    graph.save(tmp_path / "y.nt")
    assert isomorphic(rdflib.Graph().parse(tmp_path / "y.nt"), rdflib.Graph().parse(tmp_path / "x.ttl"))


def test_equal_files_in_two_graphs_share_no_node(graph, tmp_path):
    (tmp_path / "x.ttl").write_text(f"{HEAD} [] :p :b .")
    for name in ("one", "two"):
        assert graph.load_file(tmp_path / "x.ttl", graph=name) == 1
    assert len(graph) == 2
    assert ask(graph, "SELECT (COUNT(DISTINCT ?n) AS ?k) { GRAPH ?g { ?n :p :b } }") == [2]


def test_graphs_of_one_file_share_its_nodes_which_may_also_name_a_graph(tmp_path):
    (tmp_path / "x.trig").write_text(f"{HEAD} :g {{ _:n :p :b }} :h {{ _:n :q :c }} _:n {{ :d :r _:n }}")
    graph = KnowledgeGraph.load(tmp_path / "x.trig")
    joined = "SELECT ?n { GRAPH :g { ?n :p :b } GRAPH :h { ?n :q :c } GRAPH ?n { :d :r ?n } }"
    [name] = ask(graph, joined)
    assert graph.graphs() == {f"{X}g": 1, f"{X}h": 1, name: 1}
    assert list(graph.triples(graph=name)) == [(f"{X}d", f"{X}r", name)]


@pytest.mark.parametrize("ending", ["ttl", "nt", "nq", "trig", "rdf", "jsonld"])
def test_other_programs_read_what_is_saved_as_what_was_loaded(tmp_path, ending):
    graph = loaded(tmp_path / "in.ttl", NODES + ':b :says "tea"@en , "2.5"^^xsd:decimal ; a :Cup .')
    graph.save(tmp_path / f"out.{ending}")
    form = {"rdf": "xml", "jsonld": "json-ld", "nq": "nquads"}.get(ending, ending)
    written = rdflib.Dataset(default_union=True).parse(tmp_path / f"out.{ending}", format=form)
    facts = rdflib.Graph()
    for triple in rdflib.Dataset.triples(written, (None, None, None)):
        facts.add(triple)
    assert isomorphic(facts, rdflib.Graph().parse(tmp_path / "in.ttl"))


def cycles(*lengths: int) -> str:
    """Blank nodes in cycles, as Turtle."""
    rings = [[f"_:r{ring}n{number}" for number in range(length)] for ring, length in enumerate(lengths)]
    return "".join(
        f"{one} :p {next_} .\n" for ring in rings for one, next_ in zip(ring, [*ring[1:], ring[0]], strict=True)
    )


def test_the_hash_is_that_of_the_facts_up_to_the_names_of_blank_nodes(tmp_path):
    def content_hash(turtle: str) -> str:
        return loaded(tmp_path / "x.ttl", turtle).content_hash()

    assert content_hash("_:a :p _:b . _:b :q 1 . :c :p :d .") == content_hash(":c :p :d . _:n :q 1 . _:b :p _:n .")
    assert content_hash("_:a :p _:b . _:b :q 1 .") != content_hash("_:a :p _:b . _:a :q 1 .")
    assert content_hash("_:a :p <<( _:a :p _:b )>> .") != content_hash("_:a :p <<( _:b :p _:a )>> .")
    assert content_hash(cycles(6)) == content_hash("# renamed\n" + cycles(6).replace("r0n", "node"))
    assert content_hash(cycles(6)) != content_hash(cycles(3, 3))  # each node looks alike


def test_a_hash_that_would_take_too_long_is_refused(tmp_path):
    graph = loaded(tmp_path / "x.ttl", cycles(20_000))
    assert len(graph) == 20_000
    with pytest.raises(InputError, match="blank nodes"):
        graph.content_hash()


# ---- Files

RELATIVE = {
    "ttl": f"<{X}a> <{X}p> <b> .",
    "trig": f"GRAPH <{X}g> {{ <{X}a> <{X}p> <b> }}",
    "rdf": f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="{X}"><rdf:Description rdf:about="{X}a"><x:p rdf:resource="b"/>'
    "</rdf:Description></rdf:RDF>",
    "jsonld": f'{{"@id": "{X}a", "{X}p": {{"@id": "b"}}}}',
}


@pytest.mark.parametrize("ending", RELATIVE)
def test_a_relative_iri_is_resolved(tmp_path, ending):
    file = tmp_path / f"my facts.{ending}"
    file.write_text(RELATIVE[ending])
    facts = list(KnowledgeGraph.load(file).triples())
    assert facts == [(f"{X}a", f"{X}p", f"<{tmp_path.as_uri()}/b>")]
    facts = list(KnowledgeGraph.load(file, base="http://base.org/dir/x").triples())
    assert facts == [(f"{X}a", f"{X}p", "http://base.org/dir/b")]


def test_a_file_may_speak_of_itself(tmp_path):
    [(subject, _, _)] = loaded(tmp_path / "my facts.ttl", "<> :by :me .").triples()
    assert subject == f"<{tmp_path.as_uri()}/my%20facts.ttl>"


def test_turtle_speaks_of_facts_as_rdf_1_2_defines(tmp_path):
    graph = loaded(tmp_path / "x.ttl", "<< :a :p 7 >> :by :me . :b :q :c {| :by :you |} .")
    term = f'<<( <{X}a> <{X}p> "7"^^<{XSD}integer> )>>'
    [(reifier, _, _)] = graph.triples(relation=f"{RDF}reifies", object=term)
    assert list(graph.triples(reifier, f"{X}by")) == [(reifier, f"{X}by", f"{X}me")]
    assert len(graph) == 5  # `:a :p 7` is spoken of and not stated
    assert ask(graph, "SELECT ?y { ?x rdf:reifies <<( :b :q :c )>> ; :by ?y }") == [f"{X}you"]


@pytest.mark.parametrize("ending", ["nt", "nq"])
@pytest.mark.parametrize(
    "fact", ["<< <urn:a> <urn:b> <urn:c> >> <urn:p> <urn:d>", "<urn:d> <urn:p> << <urn:a> <urn:b> <urn:c> >>"]
)
def test_a_quoted_triple_of_rdf_star_is_refused_by_name(tmp_path, ending, fact):
    (tmp_path / f"x.{ending}").write_text(f"<urn:a> <urn:b> <urn:c> .\n{fact} .\n")
    with pytest.raises(InputError, match=rf"x\.{ending}:2: .*RDF-star"):
        KnowledgeGraph.load(tmp_path / f"x.{ending}")


@pytest.mark.parametrize("ending", ["owl", "xml", "rdf"])
def test_owl_xml_is_called_by_its_name(tmp_path, ending):
    (tmp_path / f"x.{ending}").write_text(
        '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://x.org/o">\n'
        '<Declaration><Class IRI="#Cup"/></Declaration></Ontology>\n'
    )
    with pytest.raises(InputError, match=rf"x\.{ending}.*: this is OWL/XML, not RDF/XML"):
        KnowledgeGraph.load(tmp_path / f"x.{ending}")


def test_a_remote_context_is_a_file_that_is_given(tmp_path):
    file, context = tmp_path / "x.jsonld", tmp_path / "context.jsonld"
    file.write_text(f'{{"@context": "http://x.org/context", "@id": "{X}a", "makes": "{X}b"}}')
    context.write_text(f'{{"@context": {{"makes": {{"@id": "{X}p", "@type": "@id"}}}}}}')
    graph = KnowledgeGraph()
    with pytest.raises(InputError, match=r"x\.jsonld.*http://x\.org/context.*context="):
        graph.load_file(file)
    assert graph.load_file(file, context=context) == 1
    assert list(graph.triples()) == [(f"{X}a", f"{X}p", f"{X}b")]
    with pytest.raises(InputError, match=r"none\.jsonld"):
        graph.load_file(file, context=tmp_path / "none.jsonld")


@pytest.mark.parametrize(("name", "how"), [("x.tsv", {"base": X}), ("x.ttl", {"context": "c.jsonld"})])
def test_an_option_that_says_nothing_about_a_file_is_refused(tmp_path, name, how):
    (tmp_path / name).write_text("")
    with pytest.raises(InputError, match=next(iter(how))):
        KnowledgeGraph().load_file(tmp_path / name, **how)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_long_literal_comes_back_from_a_table(tmp_path, ending):
    graph = KnowledgeGraph()
    graph.add([("book", "text", f'"{"word, " * 40_000}"')])
    graph.save(tmp_path / f"x.{ending}")
    assert list(KnowledgeGraph.load(tmp_path / f"x.{ending}").triples()) == list(graph.triples())


def test_labels_in_files_of_earlier_versions_are_dropped(tmp_path):
    fire = "<urn:gumption:entity:fire>"
    (tmp_path / "x.nq").write_text(
        f"{fire} <urn:gumption:relation:r> {fire} <urn:gumption:graph:own> .\n"
        f'{fire} <{RDFS_LABEL}> "fire" <urn:gumption:labels> .\n'
        f'<urn:gumption:graph:own> <http://purl.org/dc/terms/license> "MIT" <{ABOUT}> .\n'
    )
    graph = KnowledgeGraph.load(tmp_path / "x.nq")
    assert graph.graphs() == {"own": 1}
    assert graph.annotations("own") == {"license": "MIT"}
    assert graph.query("SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } FILTER(?p = rdfs:label) }") == []
    with pytest.raises(InputError, match="is reserved"):  # what is dropped on reading cannot be written either
        graph.add([("fire", "r", "ice")], graph="urn:gumption:labels")


def test_labels_are_written_where_they_are_wanted(tmp_path):
    graph = KnowledgeGraph()
    graph.add([("acid rain", "madeOf", "cloud"), (f"{X}a", "madeOf", '"tea"')])
    label, rain = rdflib.RDFS.label, rdflib.URIRef("urn:gumption:entity:acid%20rain")
    for labels in (False, True):
        graph.save(tmp_path / "x.ttl", labels=labels)
        written = rdflib.Graph().parse(tmp_path / "x.ttl")
        texts = {"acid rain", "madeOf", "cloud"} if labels else set()
        assert {str(text) for text in written.objects(None, label)} == texts
        assert ((rain, label, rdflib.Literal("acid rain")) in written) == labels


# ---- Folders that other programs write to


@pytest.mark.parametrize("made", [False, True])
def test_facts_that_others_put_into_the_default_graph_are_the_graph_default(tmp_path, made):
    own = {"mine": 1} if made else {}
    if made:
        with KnowledgeGraph(tmp_path / "kg") as graph:
            graph.add([("mud", "componentOf", "brick")], graph="mine")
    store = ox.Store(str(tmp_path / "kg"))
    store.add(ox.Quad(*nodes("a", "p"), ox.Literal("tea")))
    store.flush()
    del store
    with KnowledgeGraph(tmp_path / "kg") as graph:
        assert graph.graphs() == {"default": 1, **own}
        assert list(graph.triples(graph="default")) == [(f"{X}a", f"{X}p", '"tea"')]
        assert graph.query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }") == [{"g": name} for name in ["default", *own]]
        assert len(graph) == len(graph.query("SELECT * { ?s ?p ?o }")) == 1 + made
        assert graph.drop("default") == 1
        assert len(graph) == made


def test_a_save_that_fails_leaves_the_licence_of_the_old_file(tmp_path):
    old, new = KnowledgeGraph(), KnowledgeGraph()
    old.add([("a", "b", "c")])
    old.annotate("default", {"license": "old"})
    old.save(tmp_path / "x.csv")
    new.add([("a", "b", f"<<( <{X}a> <{X}p> <{X}b> )>>")])
    new.annotate("default", {"license": "new"})
    with pytest.raises(InputError, match="triple term"):
        new.save(tmp_path / "x.csv")
    assert KnowledgeGraph.load(tmp_path / "x.csv").annotations("default") == {"license": "old"}


def test_one_file_read_in_two_ways_shares_no_blank_node(tmp_path):
    (tmp_path / "x.ttl").write_text("<#me> <knows> [ <name> 'Ann' ] .")
    graph = KnowledgeGraph()
    assert graph.load_file(tmp_path / "x.ttl", base="http://a.org/") == 2
    assert graph.load_file(tmp_path / "x.ttl", base="http://b.org/") == 2
    assert graph.query("SELECT (COUNT(DISTINCT ?n) AS ?k) { ?s ?p ?n FILTER(isBlank(?n)) }") == [{"k": 2}]


@pytest.mark.parametrize("size", [1, 1 << 40])  # the first file at once, and in batches
def test_a_graph_named_by_a_blank_node_gets_what_is_loaded(tmp_path, monkeypatch, size):
    monkeypatch.setattr("gumption.kg.store.stores.LARGE", size)
    (tmp_path / "x.nt").write_text(f"<{X}a> <{X}p> <{X}b> .\n")
    graph = KnowledgeGraph()
    assert [graph.load_file(tmp_path / "x.nt", "_:g") for _ in range(2)] == [1, 0]
    assert graph.graphs() == {"_:g": 1}
    with pytest.raises(InputError, match="no name for the blank node _:g"):
        graph.query("SELECT ?x { GRAPH ?g { ?x ?p ?y } }", g="_:g")


def test_graph_after_a_dot_sees_no_statements_about_graphs():
    graph = KnowledgeGraph()
    graph.add([("a", "q", "b")], graph="g")
    graph.annotate("g", {"title": "mine"})
    assert graph.query("SELECT ?g { ?a gum:q ?b.GRAPH ?g {?x ?p ?y} }") == [{"g": "g"}]


def test_answers_that_xml_cannot_hold_are_refused():
    graph = KnowledgeGraph()
    graph.add([("http://e.org/s", "http://e.org/1", '"x\\u0001y"')])
    with pytest.raises(InputError, match=r"e\.org/1, which ends in no name"):
        graph.query("CONSTRUCT WHERE { ?s ?p ?o }", format="rdf")
    with pytest.raises(InputError, match="XML has no place"):
        graph.query("SELECT ?o { ?s ?p ?o }", format="xml")


def test_a_context_is_named_when_it_is_wrong(tmp_path):
    (tmp_path / "x.jsonld").write_text(f'{{"@context": "http://x.org/c", "@id": "{X}a", "p": "x", "p": "y"}}')
    (tmp_path / "c.json").write_text('{"@context": {}}')
    with pytest.raises(InputError, match="has a key twice"):
        KnowledgeGraph().load_file(tmp_path / "x.jsonld", context=tmp_path / "c.json")
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(InputError, match=r"context .*c\.json is not JSON"):
        KnowledgeGraph().load_file(tmp_path / "x.jsonld", context=tmp_path / "c.json")


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "x.ttl": f"<{X}a> <{X}p> <{X}b> .",
        "x.nt": f"<{X}a> <{X}p> <{X}b> .\n",
        "x.rdf": f'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="{X}"><r:Description '
        f'r:about="{X}a"><x:p r:resource="{X}b"/></r:Description></r:RDF>',
        "x.jsonld": f'{{"@id": "{X}a", "{X}p": {{"@id": "{X}b"}}}}',
    }.items(),
)
def test_a_byte_order_mark_is_no_part_of_a_fact(tmp_path, name, text):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert list(KnowledgeGraph.load(tmp_path / name).triples()) == [(f"{X}a", f"{X}p", f"{X}b")]


def test_a_comparison_without_spaces_is_no_iri():
    graph = KnowledgeGraph()
    graph.add([("a", "q", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>')])
    assert graph.query("SELECT ?o { ?s gum:q ?o FILTER(?low<?o&&?o<?high) }", low=2, high=4) == [{"o": 3}]
    assert graph.query("SELECT ?o { ?s gum:q ?o FILTER(?low<?high&&?high>?o) }", low=5, high=4) == []
