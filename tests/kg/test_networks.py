"""Networks of other programs: graphs of networkx, GraphML and GEXF as facts."""

import io
import warnings

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gumption.data import InputError, Note
from gumption.kg import KnowledgeGraph
from gumption.kg.networks import Network, network_facts, read_network
from gumption.kg.store.files import NETWORKS

LABEL = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
    st.sampled_from(["label", "id", "relatedTo", "http://e.org/a", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>']),
)
NEWSPAPERS = [("fire", "makes", "steam"), ("fire", "near", "steam"), ("steam", "drives", "steam"), ("ash", "is a", "5")]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LABEL, LABEL, LABEL), max_size=6))
def test_facts_survive_the_way_to_networkx_and_back(facts):
    graph = KnowledgeGraph()
    graph.add(facts, graph="a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = KnowledgeGraph.from_networkx(graph.to_networkx(), graph="b")
    assert again.content_hash() == graph.content_hash()
    assert list(again.graphs()) == (["b"] if facts else [])


def test_the_relation_of_an_edge():
    network = networkx.MultiDiGraph()
    network.add_edge(1, 2, key="key", label="label", relation="relation")
    network.add_edge(1, 3, key="key", label="label")
    network.add_edge(1, 4, key="key", relation="")
    network.add_edge(1, 5, weight=0.5)
    facts = [("1", "relation", "2"), ("1", "label", "3"), ("1", "key", "4"), ("1", "relatedTo", "5")]
    with pytest.warns(Note, match=r"^left out: edges' attributes \(3\)$"):
        assert list(KnowledgeGraph.from_networkx(network).triples()) == sorted(facts)


def test_an_undirected_edge_is_a_fact_in_each_direction():
    network = networkx.Graph([("a", "b"), ("c", "c")])
    both = [("a", "relatedTo", "b"), ("b", "relatedTo", "a"), ("c", "relatedTo", "c")]
    assert list(KnowledgeGraph.from_networkx(network).triples()) == both


def test_nodes_are_named_by_labels_that_tell_them_apart():
    network = networkx.DiGraph([(0, 1)])
    network.add_node(0, label="fire", size=3)
    network.add_node(1, label="fire")
    assert network_facts([network]) == Network([("0", "relatedTo", "1")], "nodes' attributes (2)")
    network.add_node(1, label="steam")
    network.add_node(2, label="ash")
    with pytest.warns(Note, match=r"^left out: nodes without edges \(1\), nodes' attributes \(1\)$"):
        assert list(KnowledgeGraph.from_networkx(network).triples()) == [("fire", "relatedTo", "steam")]


def test_what_is_no_network_of_labels_is_refused():
    with pytest.raises(InputError, match=r"expected a graph of networkx, got list|network is \["):
        KnowledgeGraph.from_networkx([("a", "b")])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"the node '1' of the network has the name of another"):
        KnowledgeGraph.from_networkx(networkx.Graph([(1, "1")]))
    with pytest.raises(InputError, match=r"the node '' of the network has no name"):
        KnowledgeGraph.from_networkx(networkx.Graph([("", "1")]))


# ---- Files


def written(network, ending) -> io.BytesIO:
    file = io.BytesIO()
    (networkx.write_gexf if ending == ".gexf" else networkx.write_graphml)(network, file)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize("ending", NETWORKS)
@pytest.mark.parametrize("facts", [NEWSPAPERS, NEWSPAPERS[1:]])  # with edges in parallel, and without
def test_what_networkx_writes_is_read(ending, facts):
    graph = KnowledgeGraph()
    graph.add(facts)
    triples, _ = read_network(written(graph.to_networkx(), ending), ending)
    assert sorted(triples) == sorted(facts)


GEXF = """<gexf xmlns="http://gexf.net/1.3" version="1.3"><graph defaultedgetype="directed">
<nodes><node id="0" label="Fire"/><node id="1" label="Steam"/></nodes>
<edges><edge id="7" source="0" target="1" label="makes" weight="2.0"/></edges></graph></gexf>"""
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="edge" attr.name="relation"
attr.type="string"/><graph edgedefault="directed"><node id="Fire"/><node id="Steam"/>
<edge id="e0" source="Fire" target="Steam"><data key="d0">makes</data></edge>
<edge id="e1" source="Fire" target="Steam"/></graph></graphml>"""
SECOND = '<graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>'


def test_what_other_programs_write_is_read():
    assert read_network(io.BytesIO(GEXF.encode()), ".gexf") == Network(
        [("Fire", "makes", "Steam")], "edges' attributes (1)"
    )
    facts = [("Fire", "makes", "Steam"), ("Fire", "relatedTo", "Steam")]  # not "e1", which only counts edges
    assert read_network(io.BytesIO(GRAPHML.encode()), ".graphml") == Network(facts, "")
    both = GRAPHML.replace("</graphml>", SECOND)
    found = read_network(io.BytesIO(both.encode()), ".graphml")
    assert found.triples == [*facts, ("a", "relatedTo", "b"), ("b", "relatedTo", "a")]


@pytest.mark.parametrize("ending", NETWORKS)
@pytest.mark.parametrize(
    "text",
    [
        "<a/>",
        GEXF.replace("<edge ", '<edge type="undirected" '),
        GRAPHML.replace('<edge id="e0"', '<edge id="e0" directed="false"'),
        GRAPHML.replace("<node ", "<hyperedge/><node "),
        GRAPHML.replace('key="d0"', 'key="d9"'),
        GRAPHML.replace("<edge ", '<node id="in"><graph edgedefault="directed"/></node><edge ', 1),
        GEXF.replace('weight="2.0"', 'weight="x"'),
    ],
)
def test_what_cannot_be_read_is_refused(text, ending):
    with pytest.raises(SyntaxError, match=r"networkx cannot read this \.|it has (no graph: is it|graphs within)"):
        read_network(io.BytesIO(text.encode()), ending)
