"""What a graph of anybody's states of the relations that a world asks for, as ids with the world's entities first."""

import numpy as np
import pytest

from gumption.agents.advice import StatedFacts
from gumption.data import InputError
from gumption.envs.wordcraft.facts import MAKES, RELATIONS
from gumption.kg import KnowledgeGraph
from gumption.kg.facts import FactTable
from gumption.kg.vocabulary import PROVENANCE, WEIGHTS

ENTITIES = ("water", "earth", "fire", "mud", "steam")  # in the world's own order
Triple = tuple[str, str, str]


def node(name: str, product: str, *ingredients: str) -> list[Triple]:
    return [*((name, "hasIngredient", part) for part in ingredients), (name, "hasProduct", product)]


def stated(*graphs: list[Triple], name: str | None = None) -> StatedFacts:
    """Of graphs g0, g1, ..."""
    graph = KnowledgeGraph()
    for number, triples in enumerate(graphs):
        graph.add(triples, graph=f"g{number}")
    return StatedFacts.of(FactTable.of(graph, name), ENTITIES, RELATIONS)


def labels(found: StatedFacts, rows: np.ndarray) -> set[tuple[str, ...]]:
    return {tuple(found.vocabulary.entities[i] for i in row) for row in rows.tolist()}


def test_facts_of_two_parties_are_ids_with_the_worlds_entities_first() -> None:
    mine = [("water", "componentOf", "mud"), ("zinc", "componentOf", "alloy"), ("water", "likes", "rain")]
    found = stated(mine, [("fire", "combinesWith", "water"), mine[0]])
    assert found.vocabulary.entities == (*ENTITIES, "alloy", "rain", "zinc")
    assert found.vocabulary.relations == ("combinesWith", "componentOf", "likes")
    assert found.ids.dtype == np.int64
    expected = {*mine, ("fire", "combinesWith", "water")}
    assert set(found.vocabulary.ids_to_triples(found.ids)) == expected
    assert len(found.ids) == len(expected)  # distinct, though two graphs state one of them
    assert found.ids.tolist() == sorted(found.ids.tolist())
    assert found.relations == RELATIONS[:2]
    assert found.rows == {}
    names = ("", *ENTITIES)
    rows = [tuple(names[i] for i in row) for row in found.world_rows("componentOf").tolist()]
    assert rows == [("water", "", "mud")]  # zinc and alloy are not the world's


def test_nodes_are_rows_of_their_parties() -> None:
    nodes = [
        *node("r1", "mud", "earth", "water"), *node("r2", "steam", "fire", "water"), *node("r3", "steam", "fire"),
        *node("r4", "gold", "fire", "iron"), ("r5", "hasIngredient", "fire"), ("r6", "hasProduct", "mud"),
    ]  # fmt: skip
    found = stated([*nodes, ("water", "componentOf", "mud")])
    assert labels(found, found.rows["makes"]) == {
        ("water", "earth", "mud"),
        ("water", "fire", "steam"),
        ("fire", "fire", "steam"),  # an entity with itself
        ("fire", "iron", "gold"),  # foreign ones are learned from, too
    }
    assert (found.rows["makes"][:, 0] <= found.rows["makes"][:, 1]).all()
    assert found.relations == ("componentOf", MAKES)
    # Nodes and their roles are no entities and relations that a link predictor learns.
    assert found.vocabulary.entities == (*ENTITIES, "gold", "iron")
    assert found.vocabulary.relations == ("componentOf",)
    assert "2 of its entities are not the world's ('gold': no known label is near it; 'iron'" in found.report
    names = ("", *ENTITIES)
    rows = {tuple(names[i] for i in row) for row in found.world_rows(MAKES).tolist()}
    assert rows == {("water", "earth", "mud"), ("water", "fire", "steam"), ("fire", "fire", "steam")}


def test_a_node_may_have_its_facts_in_several_graphs() -> None:
    first, second = node("r1", "mud", "earth", "water")[:2], node("r1", "mud")
    found = stated(first, second)
    assert labels(found, found.rows["makes"]) == {("water", "earth", "mud")}
    assert len(found.ids) == 0


def test_one_named_graph_is_read_alone() -> None:
    graphs = [("water", "componentOf", "mud")], node("r1", "mud", "earth", "water")
    assert stated(*graphs, name="g0").relations == ("componentOf",)
    assert stated(*graphs, name="g1").relations == (MAKES,)
    assert stated(*graphs).relations == ("componentOf", MAKES)
    with pytest.raises(InputError, match="g2"):
        stated(*graphs, name="g2")


@pytest.mark.parametrize("suffix", [WEIGHTS, PROVENANCE])
def test_graphs_that_only_say_something_about_facts_are_left_out(suffix: str) -> None:
    graph = KnowledgeGraph()
    graph.add([("water", "componentOf", "mud")], graph="mine")
    alone = StatedFacts.of(FactTable.of(graph), ENTITIES, RELATIONS)
    graph.add([("fact:1", "weight", "0.5"), ("fire", "componentOf", "mud")], graph=f"mine{suffix}")
    found = StatedFacts.of(FactTable.of(graph), ENTITIES, RELATIONS)
    assert found.vocabulary == alone.vocabulary
    assert found.ids.tolist() == alone.ids.tolist()


# ---- what is reported


def test_nothing_is_reported_where_all_is_known() -> None:
    facts = [("water", "componentOf", "mud"), ("earth", "componentOf", "mud"), ("fire", "componentOf", "steam")]
    assert stated([*facts, ("zinc", "likes", "gold")]).report == ""  # nobody asks who likes gold


def test_what_is_not_the_worlds_is_reported_with_near_matches() -> None:
    facts = [("water", "componentOf", "mud"), ("fier", "componentOf", "steem"), ("qqq", "componentOf", "mud")]
    assert stated(facts).report == (
        "the graph knows 2 of the world's 5 entities, and 3 of its entities are not the world's ('fier': did you mean "
        "'fire'?; 'qqq': no known label is near it; 'steem': did you mean 'steam'?)"
    )
    assert stated(facts[:1]).report == "the graph knows 2 of the world's 5 entities"


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        ([("water", "combineswith", "fire")], "It has combineswith; did you mean 'combineswith'"),
        ([("r", "hasIngredients", "fire")], "It has hasIngredients; did you mean 'hasIngredients'"),
        ([("r", "hasIngredient", "fire")], "It has hasIngredient; did you mean 'hasIngredient'"),  # and no product
        ([("a", "b", "c")], r"It has b$"),
        ([], "It has no facts at all"),
        (
            [("fier", "componentOf", "stone")],
            "about 2 entities, none of them one of the world's 5: 'fier': did you mean",
        ),
        (
            node("r1", "mud", "earth", "water", "fire"),
            "the node 'r1' has 3 hasIngredient; a fact of 'makes' has two at most",
        ),
    ],
)
def test_graphs_that_do_not_fit_are_refused(triples: list[Triple], message: str) -> None:
    with pytest.raises(InputError, match=message):
        stated(triples)
