"""One way to find an entity or a relation by name, at every door that takes a name."""

from pathlib import Path

import pytest
import torch

from gumption.agents import Advice
from gumption.data import InputError
from gumption.kg import ComplEx, KnowledgeGraph
from gumption.kg.leaks import Leaks, count_leaks
from gumption.kg.names import Names, prefixed
from tests.processor import cost

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
E = "http://example.org/"
TURTLE = """
@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix schema: <https://schema.org/> .
ex:e1 rdfs:label "fire"@en , "Feuer"@de ; ex:isMadeFrom ex:acid%20rain , ex:e3 .
ex:e2 rdfs:label "Feuer" .
ex:e3 skos:prefLabel "a \\"hot\\" day" ; a schema:Event .
ex:e4 schema:name "steam" ; ex:isMadeFrom ex:e1 .
ex:color rdfs:label "colour" . ex:Color rdfs:label "colour" . ex:e1 ex:color ex:Color .
"""


@pytest.fixture(params=["memory", "folder"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> KnowledgeGraph:
    (tmp_path / "my.ttl").write_text(TURTLE)
    made = KnowledgeGraph() if request.param == "memory" else KnowledgeGraph(str(tmp_path / "kg"))
    made.load_file(tmp_path / "my.ttl", graph="mine")
    made.add([("fire works", "componentOf", "party")], graph="ours")
    return made


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("fire works", "fire works"),
        ("urn:gumption:entity:fire%20works", "fire works"),
        ("ent:party", "party"),
        (E + "e1", E + "e1"),
        (f"<{E}e1>", E + "e1"),
        ("ex:e1", E + "e1"),
        ("schema:Event", "https://schema.org/Event"),
        ("fire", E + "e1"),
        ("Feuer", E + "e2"),  # the one without a language
        ('a "hot" day', E + "e3"),
        ("steam", E + "e4"),
        ("acid rain", E + "acid%20rain"),
        ("colour", E + "Color"),  # the other one is a relation
    ],
)
def test_an_entity_has_its_names(graph: KnowledgeGraph, name: str, label: str) -> None:
    names = Names(graph, prefixes={"ex": E})
    assert names.entity(name) == label
    assert names.known([name, "nothing of this name"]) == {name: label}


def test_a_language_that_is_asked_for_wins(graph: KnowledgeGraph) -> None:
    assert Names(graph, language="de").entity("Feuer") == E + "e1"


def test_a_relation_has_its_names(graph: KnowledgeGraph) -> None:
    names = Names(graph)
    assert [names.relation(name) for name in ("isMadeFrom", "gum:componentOf", "colour")] == [
        E + "isMadeFrom",
        "componentOf",
        E + "color",
    ]
    with pytest.raises(InputError, match="unknown relation 'isMadeform': did you mean 'isMadeFrom'"):
        names.relation("isMadeform")
    with pytest.raises(InputError, match="unknown entity 'steem': did you mean 'steam'"):
        names.entity("steem")


def test_a_named_graph_has_its_own_labels_and_the_names_of_all(graph: KnowledgeGraph) -> None:
    graph.add([(E + "e4", "componentOf", "party")], graph="ours")
    names = Names(graph, "ours")
    assert names.entity("steam") == E + "e4"
    with pytest.raises(InputError, match="unknown entity 'fire'"):
        names.entity("fire")


def test_arrays_know_labels_and_local_names(graph: KnowledgeGraph) -> None:
    names = Names(graph.arrays()[0])
    assert (names.entity("e4"), names.entity("party"), names.relation("isMadeFrom")) == (
        E + "e4",
        "party",
        E + "isMadeFrom",
    )


def test_a_graph_without_any_name_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="unknown entity 'fire': no known label is near it"):
        Names(KnowledgeGraph()).entity("fire")


def test_names_of_many_are_a_short_error_and_many_names_take_no_minutes(tmp_path: Path) -> None:
    lines = [f'<{E}n{i}> <{LABEL}> "{"same" if i < 10_000 else f"name {i}"}" .\n' for i in range(100_000)]
    (tmp_path / "many.nt").write_text("".join(lines))
    graph = KnowledgeGraph.load(tmp_path / "many.nt")

    def named() -> None:
        names = Names(graph)
        assert names.entity("name 20000") == E + "n20000"
        with pytest.raises(InputError, match="'same' names 10,000 entities, ") as refused:
            names.entity("same")
        assert len(str(refused.value)) < 300

    assert cost(named) < 150


def test_tables_show_prefixes() -> None:
    labels = ("https://schema.org/Event", LABEL, "acid rain", E + "e1", "https://schema.org/a/b")
    assert [prefixed(label) for label in labels] == ["schema:Event", "rdfs:label", *labels[2:]]


# ---- what guides, and what is counted as a leak, have one way to read names


class Kitchen:
    vocabulary = ("", "fire", "water", "steam")
    relations = ("isMadeFrom",)


def test_guidance_and_leaks_read_the_same_names(graph: KnowledgeGraph) -> None:
    """Once the count of leaks read rdfs:label, and guidance knew none of the world's entities."""
    scores = Advice(graph, Kitchen.vocabulary, Kitchen.relations).scores
    table = scores.scorers[scores.relations.index("isMadeFrom")]
    assert scores.relations == ("isMadeFrom",)
    steam, fire, none = torch.tensor([3]), torch.tensor([1]), torch.tensor([0])
    assert table(steam, fire, none, None).item() == 1
    assert table(fire, steam, none, None).item() == 0
    asked = {("steam", "isMadeFrom", "fire"), ("fire", "isMadeFrom", "steam")}
    assert count_leaks(graph, None, asked) == Leaks(1, 2)


def test_a_predictor_of_iris_guides_by_their_local_names() -> None:
    facts = [(E + s, E + "isMadeFrom", E + o) for s, o in (("steam", "fire"), ("steam", "water"), ("fire", "water"))]
    model = ComplEx.fit(facts, rank=2, epochs=1, device="cpu")
    advice = Advice(model, Kitchen.vocabulary, Kitchen.relations)
    assert advice.report == ""
    assert advice.scores.scorers[0].table.any()


def test_a_name_of_several_entities_is_no_guidance(graph: KnowledgeGraph) -> None:
    graph.add([(E + "e9", LABEL, '"water"'), (E + "e8", LABEL, '"water"')])
    with pytest.raises(InputError, match=r"'water' names 2 entities, .*map of names"):
        Advice(graph, Kitchen.vocabulary, Kitchen.relations)
