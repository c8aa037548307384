"""What a memory of WordCraft tells: the recipes that were seen, how often, and by whom."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gumption.data import InputError
from gumption.data.sealed import read_sealed, write_sealed
from gumption.envs.record_memory import RecordMemory
from gumption.envs.wordcraft import Memory, WordCraftVectorEnv, add_memory, facts, memory_evidence, memory_facts
from gumption.envs.wordcraft.memory import stated_sightings
from gumption.kg import KnowledgeGraph


@pytest.fixture
def lived(book, tmp_path: Path) -> tuple[Path, Counter]:
    """A memory of random mixes, and how often each (a, b, product) was made, as the environment tells it."""
    env = RecordMemory(WordCraftVectorEnv(16, recipe_book=book, depth=2, split=None), tmp_path / "memory")
    env.reset(seed=0)
    batch, made = env.unwrapped, Counter()
    for _ in range(150):
        selected, actions = batch.selection.copy(), batch.random_actions()
        picked = batch.table[np.arange(16), actions]
        env.step(actions)
        for first, second, product in zip(selected, picked, batch.engine.product, strict=True):
            if product:
                a, b = sorted((book.label(first), book.label(second)))
                made[a, b, book.label(product)] += 1
    env.close()
    return tmp_path / "memory", made


def test_recipes_are_those_that_were_made_as_often_as_they_were(lived, book) -> None:
    folder, made = lived
    memory = Memory.load(folder)
    found = {tuple(memory.entities[i] for i in row): times for *row, times in memory.recipes.tolist()}
    assert found == made
    assert len(made) > 10


def test_facts_are_those_of_the_book_for_what_was_seen(lived, book) -> None:
    folder, made = lived
    told = memory_facts(Memory.load(folder))
    assert told == sorted(told)
    assert set(told) <= set(facts(book, partition="all"))
    expected = set()
    for a, b, product in made:
        expected |= {(a, "combinesWith", b), (b, "combinesWith", a)}
        expected |= {(a, "componentOf", product), (b, "componentOf", product)}
    assert set(told) == expected


def test_a_graph_can_be_asked_who_saw_what_how_often(lived) -> None:
    folder, made = lived
    memory, graph = Memory.load(folder), KnowledgeGraph()
    graph.add([("old", "combinesWith", "news")], graph="wordcraft/ada")
    counts = add_memory(graph, memory, "ada")
    assert counts == dict(graph.graphs())
    assert not list(graph.triples(subject="old"))
    assert counts["wordcraft/ada/evidence"] == len(memory_evidence(memory, "ada"))
    outcomes = list(graph.triples(relation="hasOutcome", graph="wordcraft/ada/evidence"))
    visits = list(graph.triples(relation="hasVisits", graph="wordcraft/ada/evidence"))
    assert len(outcomes) == len(made)
    assert len(visits) == len(made) + (memory.sightings[:, 2] < 0).sum() > len(made)
    assert np.array_equal(stated_sightings(graph, "ada", memory.entities), memory.sightings)
    add_memory(graph, memory, "bob")
    (a, b, product), times = made.most_common(1)[0]
    rows = graph.query(
        "SELECT ?who ?times { GRAPH ?g { ?n gum:hasRecipe ?recipe ; gum:hasOutcome ?product ; gum:ofRun ?who ; "
        "gum:hasVisits ?times } } ORDER BY ?who",
        recipe=f"recipe:{a}+{b}",
        product=product,
    )
    assert [tuple(map(str, row.values() if isinstance(row, dict) else row)) for row in rows] == [
        ("ada", str(times)),
        ("bob", str(times)),
    ]
    assert add_memory(graph, memory, "ada") == counts


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: path.unlink(), r"entities.json: cannot be read \(No such file"),
        (lambda path: path.write_text("[1]"), "entities.json: no list of entities"),
        (lambda path: write_sealed(path, {"entities": [], "book": {"hash": "x"}}), "not the entities of these records"),
        (
            lambda path: write_sealed(path, {**read_sealed(path), "entities": ["mud"]}),
            "not the entities of these records",
        ),
    ],
)
def test_entities_that_do_not_fit_are_told(lived, change, told) -> None:
    change(lived[0] / "entities.json")
    with pytest.raises(InputError, match=told):
        Memory.load(lived[0])


def test_a_memory_of_another_book_or_table_is_not_gone_on_with(lived, book) -> None:
    for settings in ({"recipe_book": "commonsense", "depth": 2}, {"recipe_book": book, "depth": 1}):
        with pytest.raises(InputError, match=r"a memory of slots 6, book [0-9a-f]+, not slots"):
            RecordMemory(WordCraftVectorEnv(1, split=None, **settings), lived[0])
