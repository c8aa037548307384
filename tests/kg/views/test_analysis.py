"""The shape of a graph: golden cases by hand, the rest against networkx and counting in plain Python."""

from collections import Counter

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gumption.data import InputError
from gumption.kg import KnowledgeGraph, Vocabulary
from gumption.kg.facts import FactTable
from gumption.kg.views.analysis import (
    components,
    degrees,
    graph_statistics,
    neighbourhood,
    relation_statistics,
    shortest_path,
    top_entities,
)
from tests.processor import cost

FAMILY = [
    ("ann", "marriedTo", "bob"),
    ("bob", "marriedTo", "ann"),
    ("cid", "marriedTo", "dee"),
    ("ann", "parentOf", "cid"),
    ("ann", "parentOf", "eve"),
    ("bob", "parentOf", "cid"),
    ("bob", "parentOf", "eve"),
    ("cid", "childOf", "ann"),
    ("eve", "childOf", "ann"),
    ("eve", "childOf", "bob"),
    ("eve", "knows", "eve"),
    ("gus", "likes", "hal"),
    ("gus", "likes", "ida"),
]
FACTS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("rst"), st.sampled_from("abcdefgh")), min_size=1
)


def arrays(triples):
    vocabulary = Vocabulary.from_triples(triples)
    return vocabulary, np.unique(vocabulary.triples_to_ids(triples), axis=0)


def test_relation_statistics_of_a_family():
    rows = {row.relation: row for row in relation_statistics(*arrays(FAMILY))}
    assert list(rows) == ["parentOf", "childOf", "marriedTo", "likes", "knows"]  # by facts, then by label
    married, parent, child = rows["marriedTo"], rows["parentOf"], rows["childOf"]
    assert (married.facts, married.subjects, married.objects, married.loops) == (3, 3, 3, 0)
    assert (married.cardinality, married.symmetric, married.inverse) == ("1-1", pytest.approx(2 / 3), None)
    assert (parent.objects_per_subject, parent.subjects_per_object, parent.cardinality) == (2.0, 2.0, "N-N")
    assert (parent.inverse, parent.inverse_share) == ("childOf", 0.75)
    assert (child.inverse, child.inverse_share) == ("parentOf", 1.0)
    # 3 facts over 2 subjects and 2 objects: 1.5 is already "many".
    assert child.cardinality == "N-N"
    assert rows["likes"].cardinality == "1-N"
    backwards = relation_statistics(*arrays([(o, r, s) for s, r, o in FAMILY]))
    assert {row.relation: row for row in backwards}["likes"].cardinality == "N-1"
    assert (rows["knows"].loops, rows["knows"].symmetric) == (1, 0.0)  # a loop is no evidence of symmetry


def test_graph_statistics_components_and_degrees():
    vocabulary, ids = arrays(FAMILY)
    statistics = graph_statistics(vocabulary, ids)
    assert (statistics.facts, statistics.entities) == (13, 8)
    assert statistics.component_sizes.tolist() == [5, 3]
    assert components(vocabulary, ids).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert top_entities(vocabulary, ids, 3) == [("ann", 3, 3), ("eve", 3, 3), ("bob", 2, 3)]
    assert statistics.in_degree.sum() == statistics.out_degree.sum() == 13


def test_equal_components_come_in_order_of_their_labels():
    assert components(*arrays([("y", "r", "z"), ("a", "r", "b"), ("m", "r", "m")])).tolist() == [0, 0, 2, 1, 1]


def test_an_empty_graph_has_empty_statistics():
    statistics = graph_statistics(*KnowledgeGraph().arrays())
    assert (statistics.facts, statistics.entities, statistics.relations) == (0, 0, ())
    assert len(statistics.component_sizes) == len(statistics.in_degree) == 0


def test_a_relation_without_facts_has_no_row():
    vocabulary = Vocabulary(["a", "b"], ["r", "unused"])
    assert [row.relation for row in relation_statistics(vocabulary, np.array([[0, 0, 1]]))] == ["r"]


@given(FACTS)
def test_relation_statistics_are_those_of_plain_counting(triples):
    facts = set(triples)
    for row in relation_statistics(*arrays(triples)):
        own = [(s, o) for s, r, o in facts if r == row.relation]
        proper = [(s, o) for s, o in own if s != o]
        assert (row.facts, row.loops) == (len(own), len(own) - len(proper))
        assert (row.subjects, row.objects) == (len({s for s, _ in own}), len({o for _, o in own}))
        assert row.symmetric == pytest.approx(sum((o, s) in own for s, o in proper) / max(len(proper), 1))
        shares = {
            other: sum((o, other, s) in facts for s, o in proper) / max(len(proper), 1)
            for other in sorted({r for _, r, _ in facts} - {row.relation})
        }
        best = max(shares, key=lambda other: shares[other], default=None)
        if best is None or shares[best] < 0.5:
            assert (row.inverse, row.inverse_share) == (None, 0.0)
        else:
            assert (row.inverse, row.inverse_share) == (best, pytest.approx(shares[best]))


@given(FACTS)
def test_components_degrees_and_paths_are_those_of_networkx(triples):
    vocabulary, ids = arrays(triples)
    graph = KnowledgeGraph()
    graph.add(triples)
    network = graph.to_networkx()
    found = components(vocabulary, ids)
    grouped = {frozenset(np.array(vocabulary.entities)[found == c].tolist()) for c in range(found.max() + 1)}
    assert grouped == set(map(frozenset, networkx.weakly_connected_components(network)))
    into, out = degrees(vocabulary, ids)
    assert dict(network.in_degree()) == dict(zip(vocabulary.entities, into.tolist(), strict=True))
    assert dict(network.out_degree()) == dict(zip(vocabulary.entities, out.tolist(), strict=True))
    start = vocabulary.entities[0]
    lengths = networkx.single_source_shortest_path_length(network.to_undirected(), start)
    for end in vocabulary.entities:
        if end not in lengths:
            with pytest.raises(InputError, match="different components"):
                shortest_path(vocabulary, ids, start, end)
            continue
        steps = shortest_path(vocabulary, ids, start, end)
        assert len(steps) == lengths[end]
        here = start
        for facts in steps:
            (there,) = {s if o == here else o for s, _, o in facts}
            assert set(facts) == {fact for fact in set(triples) if {fact[0], fact[2]} == {here, there}}
            here = there
        assert here == end


@given(FACTS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(triples, random):
    vocabulary, ids = arrays(triples)
    rows = list(range(len(ids)))
    random.shuffle(rows)
    shuffled = ids[rows]
    start, end = vocabulary.entities[0], vocabulary.entities[-1]
    assert relation_statistics(vocabulary, ids) == relation_statistics(vocabulary, shuffled)
    assert components(vocabulary, ids).tolist() == components(vocabulary, shuffled).tolist()
    one, other = neighbourhood(vocabulary, ids, start, 2, 4), neighbourhood(vocabulary, shuffled, start, 2, 4)
    assert (one.entities, one.facts) == (other.entities, other.facts)
    if components(vocabulary, ids)[[0, -1]].tolist() == [0, 0]:
        assert shortest_path(vocabulary, ids, start, end) == shortest_path(vocabulary, shuffled, start, end)


def test_a_path_walks_facts_in_both_directions_and_shows_all_of_a_step():
    steps = shortest_path(*arrays(FAMILY), "dee", "bob")
    assert steps == (
        (("cid", "marriedTo", "dee"),),
        (("bob", "parentOf", "cid"),),
    )
    (step,) = shortest_path(*arrays(FAMILY), "ann", "cid")
    assert step == (("ann", "parentOf", "cid"), ("cid", "childOf", "ann"))
    assert shortest_path(*arrays(FAMILY), "eve", "eve") == ()


def test_neighbours_are_the_nearest_then_those_with_most_facts_then_by_label():
    triples = [("hub", "r", x) for x in "abcd"] + [("c", "r", x) for x in "xyz"] + [("b", "r", "x")]
    part = neighbourhood(*arrays(triples), "hub", hops=2, max_entities=60)
    assert part.entities == ("hub", "c", "b", "a", "d", "x", "y", "z")
    assert part.hops.tolist() == [0, 1, 1, 1, 1, 2, 2, 2]
    assert (part.centre, part.left_out, len(part.facts)) == ("hub", 0, len(triples))
    part = neighbourhood(*arrays(triples), "hub", hops=2, max_entities=3)
    assert (part.entities, part.left_out) == (("hub", "c", "b"), 5)
    assert part.facts == (("hub", "r", "b"), ("hub", "r", "c"))
    part = neighbourhood(*arrays(triples), "hub", hops=1)
    assert part.entities == ("hub", "c", "b", "a", "d")
    assert part.left_out == 0  # only what is within reach can be left out


@given(FACTS, st.integers(1, 3), st.integers(2, 6))
def test_a_neighbourhood_is_an_ego_graph_and_stays_connected_when_cut(triples, hops, room):
    vocabulary, ids = arrays(triples)
    graph = networkx.Graph()
    graph.add_edges_from((s, o) for s, _, o in triples)
    centre = vocabulary.entities[0]
    ego = networkx.ego_graph(graph, centre, radius=hops)
    whole = neighbourhood(vocabulary, ids, centre, hops)
    assert set(whole.entities) == set(ego)
    assert set(whole.facts) == {fact for fact in triples if fact[0] in ego and fact[2] in ego}
    part = neighbourhood(vocabulary, ids, centre, hops, room)
    assert len(part.entities) == min(room, len(ego))
    assert len(part.entities) + part.left_out == len(ego)
    assert networkx.is_connected(graph.subgraph(part.entities))


def test_merged_graphs_have_each_fact_once():
    graph = KnowledgeGraph()
    graph.add(FAMILY[:8], graph="one")
    graph.add(FAMILY[5:], graph="two")
    graph.add([("x", "y", "z")], graph="three")
    vocabulary, ids = FactTable.joined([FactTable(*graph.arrays("two")), FactTable(*graph.arrays("one"))]).arrays()
    assert vocabulary.ids_to_triples(ids) == sorted(FAMILY)


def test_bad_input_is_told():
    with pytest.raises(InputError, match="unknown entity 'anne': did you mean 'ann'"):
        shortest_path(*arrays(FAMILY), "anne", "bob")
    with pytest.raises(InputError, match="no facts lead from 'ann' to 'hal': they are in different components"):
        shortest_path(*arrays(FAMILY), "ann", "hal")
    with pytest.raises(InputError, match="unknown entity 'bobb': did you mean 'bob'"):
        neighbourhood(*arrays(FAMILY), "bobb")
    with pytest.raises(InputError, match="hops is 0"):
        neighbourhood(*arrays(FAMILY), "ann", hops=0)
    with pytest.raises(InputError, match="max_entities is 1; it is a whole number, at least 2"):
        neighbourhood(*arrays(FAMILY), "ann", max_entities=1)


def test_networkx_has_every_fact_with_its_relation():
    graph = KnowledgeGraph()
    graph.add([*FAMILY, ("ann", "parentOf", "cid"), ("ann", "loves", "cid")])
    network = graph.to_networkx()
    assert isinstance(network, networkx.MultiDiGraph)
    assert sorted((s, data["relation"], o) for s, o, data in network.edges(data=True)) == sorted(graph.triples())
    assert Counter(key for _, _, key in network.edges(keys=True)) == Counter(r for _, r, _ in graph.triples())
    assert sorted(network["ann"]["cid"]) == ["loves", "parentOf"]
    assert network.has_edge("eve", "eve", key="knows")


@pytest.mark.slow
def test_half_a_million_facts_take_little_time():
    generator = np.random.default_rng(0)
    columns = [generator.zipf(1.3, 500_000) % 40_000, generator.integers(0, 30, 500_000)]
    ids = np.unique(np.column_stack([*columns, generator.integers(0, 40_000, 500_000)]), axis=0)
    vocabulary = Vocabulary([f"e{i:05}" for i in range(40_000)], [f"r{i:02}" for i in range(30)])

    def counted() -> None:
        statistics = graph_statistics(vocabulary, ids)
        neighbourhood(vocabulary, ids, "e00001", hops=2)
        shortest_path(vocabulary, ids, "e00011", "e30001")
        assert sum(row.facts for row in statistics.relations) == len(ids)

    assert cost(counted) < 150


RECIPES = [
    *(("n1", "uses", "fire"), ("n1", "uses", "water"), ("n1", "gives", "steam")),
    *(("n2", "uses", "steam"), ("n2", "uses", "air"), ("n2", "gives", "cloud")),
    *(("n3", "uses", "cloud"), ("n3", "uses", "fire"), ("n3", "gives", "rain")),
]


def test_from_party_to_party_of_an_n_ary_fact_is_one_hop():
    nodes = {"n1", "n2", "n3"}
    part = neighbourhood(*arrays(RECIPES), "steam", 1, nodes=nodes)
    assert part.entities == ("steam", "cloud", "fire", "air", "water", "n1", "n2")
    assert part.hops.tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert (part.nodes, part.left_out, len(part.facts)) == ({"n1", "n2"}, 0, 6)
    part = neighbourhood(*arrays(RECIPES), "steam", 2, nodes=nodes)
    assert set(part.entities) == {label for fact in RECIPES for label in (fact[0], fact[2])}
    assert dict(zip(part.entities, part.hops.tolist(), strict=True))["rain"] == 2
    assert part.nodes == nodes
    # A fact that lacks a party in the picture is not there at all; nodes take no room.
    part = neighbourhood(*arrays(RECIPES), "steam", 1, max_entities=4, nodes=nodes)
    assert part.entities == ("steam", "cloud", "fire", "air", "n2")
    assert (part.left_out, len(part.facts)) == (1, 3)
    part = neighbourhood(*arrays(RECIPES), "n1", 1, nodes=nodes)
    assert part.entities == ("n1", "fire", "steam", "water")
    assert part.nodes == frozenset()
