"""A graph under names of its own guides as the world's own facts do, by a map that is made of training facts alone."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from gumption.agents.knowledge import Knowledge
from gumption.agents.settings import KnowledgeConfig
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, facts, recipe_facts
from gumption.envs.wordcraft.facts import RELATIONS
from gumption.envs.worlds import WORLDS
from gumption.kg import KnowledgeGraph
from gumption.kg.facts import relation_labels
from gumption.kg.mapping import INVERSE, NameMap, propose, under_names
from gumption.kg.vocabulary import RDFS_LABEL

E = "http://example.org/"
TURNED = ("componentOf", "hasIngredient")
# Local names of IRIs. In the second the names of relations lead astray.
PLAIN = {"componentOf": "p1", "combinesWith": "p2", "hasIngredient": "p3", "hasProduct": "p4"}
ASTRAY = {"componentOf": "combinesWith", "combinesWith": "hasProduct", "hasIngredient": "seen", "hasProduct": "is"}
Write = Callable[..., Path]


def everything(book: RecipeBook, part: str) -> list[tuple[str, str, str]]:
    return [*facts(book, partition=part), *recipe_facts(book, partition=part)]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A Turtle file of facts under other names: IRIs of entities in an order of `seed`, rdfs:label with their words."""

    def make(triples: Iterable[tuple[str, str, str]], names: dict[str, str], seed: int, words: Iterable[str]) -> Path:
        rows = sorted(triples)
        labels = sorted({part for s, _, o in rows for part in (s, o)})
        random.Random(seed).shuffle(labels)
        iri = {label: f"{E}n{number}" for number, label in enumerate(labels)}
        graph = KnowledgeGraph()
        turned = [(o, r, s) if r in TURNED else (s, r, o) for s, r, o in rows]
        graph.add([(iri[s], E + names[r], iri[o]) for s, r, o in turned])
        graph.add([(iri[word], RDFS_LABEL, f'"{word}"') for word in words if word in iri])
        graph.save(tmp_path / f"graph-{seed}.ttl")
        return tmp_path / f"graph-{seed}.ttl"

    return make


def knowledge(book: RecipeBook, kg: str, **given: Any) -> Knowledge:
    config = KnowledgeConfig(kg=kg, kg_fit=False, kg_scores=("componentOf", "makes"), **given)
    return Knowledge.of(config, WORLDS["wordcraft"], ("", *book.entities), RELATIONS, {"recipe_book": book})


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> RecipeBook:
    """40 things, some 150 recipes."""
    draw, things = random.Random(0), [f"thing {number}" for number in range(40)]
    rows = sorted({"\t".join((draw.choice(things), *sorted(draw.sample(things, 2)))) for _ in range(150)})
    file = tmp_path_factory.mktemp("book") / "book.tsv"
    file.write_text("\n".join(["result\tingredient\tingredient", *rows]) + "\n")
    return RecipeBook.load(file)


@pytest.mark.parametrize(("names", "seed"), [(PLAIN, 1), (ASTRAY, 2)])
def test_a_graph_of_other_names_guides_as_the_facts_themselves(
    book: RecipeBook, write: Write, tmp_path: Path, names: dict[str, str], seed: int
) -> None:
    train = everything(book, "train")
    file = write(train, names, seed, book.entities)
    graph = KnowledgeGraph.load(file)
    found = propose(graph, None, book.entities, RELATIONS, train)
    assert found.map.relations == {
        mine: (INVERSE if mine in TURNED else "") + E + names[mine] for mine in relation_labels(RELATIONS)
    }
    assert all(evidence.links == evidence.right == evidence.of > 0 for evidence in found.evidence.values())
    found.map.save(tmp_path / "map.toml")
    assert NameMap.load(tmp_path / "map.toml") == found.map
    made, own = knowledge(book, str(file), kg_map=str(tmp_path / "map.toml")), knowledge(book, "train")
    assert made.scores.relations == own.scores.relations
    assert set(made.facts.triples(relation="componentOf")) == set(own.facts.triples(relation="componentOf"))
    assert made.about["test_facts"]["stated"] == 0
    made.save(tmp_path / "kept")
    kept = Knowledge.load(tmp_path / "kept", ("", *book.entities), RELATIONS)
    by_hand = tuple((mine, ("^" if mine in TURNED else "") + name) for mine, name in names.items())  # local names
    for other in (made, kept, knowledge(book, str(file), kg_relations=by_hand)):
        for one, true in zip(other.scores.scorers, own.scores.scorers, strict=True):
            for name, value in true.state_dict().items():
                assert one.state_dict()[name].equal(value), name


def test_a_map_is_made_of_training_facts_alone(book: RecipeBook, write: Write) -> None:
    """Facts of the test in the graph are links that are not right."""
    file = write(everything(book, "all"), PLAIN, 3, book.entities)
    train = everything(book, "train")
    found = propose(KnowledgeGraph.load(file), None, book.entities, RELATIONS, train).evidence["componentOf"]
    assert found.right == found.of == len({fact for fact in train if fact[1] == "componentOf"}) < found.links


def test_links_by_chance_are_no_evidence(book: RecipeBook) -> None:
    draw = random.Random(0)
    graph = KnowledgeGraph()
    graph.add([(draw.choice(book.entities), "near", draw.choice(book.entities)) for _ in range(400)])
    found = propose(graph, None, book.entities, RELATIONS, everything(book, "train"))
    assert not found.map.relations


def test_a_map_of_another_graph_is_refused(book: RecipeBook, write: Write, tmp_path: Path) -> None:
    train = everything(book, "train")
    file, other = (write(train, PLAIN, seed, book.entities) for seed in (4, 5))
    propose(KnowledgeGraph.load(other), None, book.entities, RELATIONS, train).map.save(tmp_path / "map.toml")
    with pytest.raises(InputError, match=r"map.toml is for a graph with the hash \w{12}, and graph-4.ttl has \w{12}"):
        knowledge(book, str(file), kg_map=str(tmp_path / "map.toml"))
    with pytest.raises(InputError, match="kg_map is for a graph of your own"):
        knowledge(book, "train", kg_map=str(tmp_path / "map.toml"))


@pytest.mark.parametrize(
    "content", ["graph = 1", "relations = 2\ngraph = ''", "[", "", "graph = ''\nmore = ''", "[relations.x]\ngraph = ''"]
)
def test_a_file_that_is_no_map_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "map.toml").write_text(content)
    with pytest.raises(InputError, match="is no map of names"):
        NameMap.load(tmp_path / "map.toml")


def test_any_name_is_kept(tmp_path: Path) -> None:
    odd = 'a "b"\n\\ ü\x7f\t= [x]'
    given = NameMap({odd: INVERSE + odd}, {odd: odd, "none": ""}, "0a", "de")
    given.save(tmp_path / "map.toml")
    assert NameMap.load(tmp_path / "map.toml") == given


def test_a_name_of_many_is_left_out_until_the_map_says_which() -> None:
    graph = KnowledgeGraph()
    graph.add([(f"{E}e{number}", RDFS_LABEL, '"bank"') for number in range(3)])
    graph.add([(E + "e1", "near", E + "river"), ("bank account", "near", E + "e2")])
    found = propose(graph, None, ("bank", "river"), ("near",), [])
    assert found.several == {"bank": [E + "e0", E + "e1", E + "e2"]}
    assert found.map.entities == {"bank": ""}
    assert found.known == 1
    without, _ = under_names(graph, None, ("bank", "river"), ("near",), found.map)
    assert set(without.triples(relation="near")) == {(E + "e1", "near", "river"), ("bank account", "near", E + "e2")}
    chosen, _ = under_names(graph, None, ("bank", "river"), ("near",), NameMap(entities={"bank": E + "e1"}))
    assert ("bank", "near", "river") in set(chosen.triples())


def test_what_a_graph_calls_as_the_map_calls_another_thing_is_not_that() -> None:
    graph = KnowledgeGraph()
    graph.add([("bank", "near", "river"), ("shore", "near", "sea")])
    named, _ = under_names(graph, None, ("bank",), ("near",), NameMap(entities={"bank": "shore"}))
    assert set(named.triples()) == {("bank", "near", "sea")}


def test_relations_that_have_each_others_names() -> None:
    graph = KnowledgeGraph()
    graph.add([("a", "near", "b"), ("a", "far", "c")])
    named, _ = under_names(graph, None, ("a", "b", "c"), ("near", "far"), NameMap({"near": "far", "far": "^near"}))
    assert set(named.triples()) == {("a", "near", "c"), ("b", "far", "a")}


def test_the_language_of_a_map_is_that_of_its_names() -> None:
    graph = KnowledgeGraph()
    graph.add([(E + "e1", RDFS_LABEL, '"gift"'), (E + "e2", RDFS_LABEL, '"gift"@de'), (E + "e2", "near", E + "e1")])
    for language, fact in (("", (E + "e2", "near", "gift")), ("de", ("gift", "near", E + "e1"))):
        found = propose(graph, None, ("gift",), ("near",), [], language)
        named, _ = under_names(graph, None, ("gift",), ("near",), found.map)
        assert list(named.triples(relation="near")) == [fact]
