"""A graph of any relations, beside the recipes, as knowledge: rules that ship, links to its entities, a graph beside
fitted scores, and the control of shuffled names."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import evaluate, train_impala
from gumption.agents.knowledge import Knowledge, UnknownEntities
from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.wordcraft.setup import WordCraftSetup
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, facts
from gumption.kg import KnowledgeGraph
from gumption.kg.sources.linking import add_links, link

from .conftest import Seen

OUTSIDE = [
    ("mud", "madeOf", "earth"),
    ("water", "partOf", "mud"),
    ("glass", "madeOf", "sand"),
    ("fire", "usedFor", "glass"),
    ("glass", "hasProperty", "brittle"),
]


@pytest.fixture
def graph(tmp_path: Path) -> str:
    graph = KnowledgeGraph()
    graph.add(OUTSIDE, graph="own")
    graph.save(tmp_path / "outside.tsv")
    return str(tmp_path / "outside.tsv")


def knowledge_of(config: TrainConfig) -> Knowledge:
    made = WordCraftSetup(config, num_envs=1).knowledge
    assert made is not None
    return made


def scored(config: TrainConfig, goal: str, *things: str) -> list[list[float]]:
    """The scores of each thing on a table for a goal, a list for each relation."""
    env = WordCraftVectorEnv(1, **config.env_settings("all"))
    env.reset(seed=0, options={"goal": goal, "table": list(things)})
    known = knowledge_of(config)
    scores = known.advice(env.vocabulary, env.relations)(env)[0]
    order = [env.table[0].tolist().index(env.vocabulary.index(thing)) for thing in things]
    return scores[order].T.tolist()


def quiet(configure: Any, **changes: Any) -> TrainConfig:
    return configure(split="none", **changes)


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_what_is_linked_to_the_goal_speaks_for_a_choice_whatever_the_relation(configure, graph: str) -> None:
    config = quiet(configure, kg=graph, kg_rules="linked")
    assert scored(config, "mud", "water", "earth", "fire", "sand") == [[1.0, 1.0, 0.0, 0.0]]
    assert scored(config, "glass", "water", "earth", "fire", "sand") == [[0.0, 0.0, 1.0, 1.0]]
    # The same by a mapping: each relation of the graph is named.
    mapped = (("componentOf", "^madeOf"), ("componentOf", "partOf"), ("componentOf", "usedFor"))
    named = quiet(configure, kg=graph, kg_relations=mapped)
    assert scored(named, "mud", "water", "earth", "fire", "sand") == [[1.0, 1.0, 0.0, 0.0]]


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_the_manifest_says_how_many_test_facts_it_entails(configure, graph: str) -> None:
    config = configure(kg=graph, kg_rules="linked")
    about = knowledge_of(config).about
    linked = {(s, o) for s, _, o in OUTSIDE} | {(o, s) for s, _, o in OUTSIDE}
    test = set(facts(config.recipe_book, partition="test"))
    entailed = {(s, o) for s, relation, o in test if relation == "componentOf"} & linked
    assert about["test_facts"]["stated"] == 0
    assert about["rules"]["entailed_test_facts"]["stated"] == len(entailed)
    assert about["rules"]["file"] == "linked.rules.json"


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_links_to_entities_of_the_graph_are_followed(configure, tmp_path: Path) -> None:
    """ "camp fire" of the graph is the campfire of the book, and what is said of other things is not read."""
    graph = KnowledgeGraph()
    graph.add([("camp fire", "MadeOf", "woods"), ("far", "RelatedTo", "away")], graph="conceptnet")
    links = link(["campfire", "wood"], ["camp fire", "woods", "far", "away"])
    add_links(graph, links, "links/wordcraft/conceptnet")
    graph.save(tmp_path / "linked.nq")
    config = quiet(configure, kg=str(tmp_path / "linked.nq"), kg_rules="linked")
    assert scored(config, "campfire", "water", "wood") == [[0.0, 1.0]]
    assert knowledge_of(config).about["rules"]["entailed"] == 2
    only = quiet(configure, kg=f"{tmp_path / 'linked.nq'}#conceptnet", kg_rules="linked")
    assert scored(only, "campfire", "water", "wood") == [[0.0, 1.0]]


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_a_graph_beside_counts_by_how_much_it_says_of_training_recipes(
    configure, graph: str, seen: Seen, book: RecipeBook
) -> None:
    alone = configure(kg="train")
    beside = configure(kg="train", kg_beside=graph, kg_rules="linked")
    one, both = knowledge_of(alone), knowledge_of(beside)
    assert (one.scores.relations, both.scores.relations) == (("makes",), ("makes", "componentOf"))
    train = {(s, o) for s, relation, o in facts(alone.recipe_book, partition="train") if relation == "componentOf"}
    pairs = {(s, o) for s, _, o in OUTSIDE[:4]} | {(o, s) for s, _, o in OUTSIDE[:4]}
    expected = math.log(len(pairs & train) / len(train) / (len(pairs) / len(book.entities) ** 2))
    assert both.weights == {"componentOf": pytest.approx(expected)}
    assert both.about["beside"]["weights"] == both.weights
    env = WordCraftVectorEnv(8, **beside.env_settings("train"))
    env.reset(seed=0)
    scores = both.advice(env.vocabulary, env.relations)(env)
    assert torch.equal(scores[:, :, :1], one.advice(env.vocabulary, env.relations)(env))
    assert set(np.unique(scores[:, :, 1].numpy()).tolist()) <= {0.0, float(np.float32(expected))}
    # Many choices at once are scored as few.
    many = WordCraftVectorEnv(200, **beside.env_settings("all"))
    many.reset(seed=0)
    advice = both.advice(many.vocabulary, many.relations)
    whole, part = advice(many), [advice.scores.action_scores(many.action_facts())[i] for i in (0, 199)]
    assert torch.equal(whole[[0, 199]], torch.stack(part))


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_a_run_keeps_the_graph_beside_and_goes_on_without_its_file(configure, graph: str, tmp_path: Path) -> None:
    config = configure(
        kg="train", kg_beside=graph, kg_rules="linked", total_steps=512, eval_interval=256, final_draws=2
    )
    whole = train_impala(config, run_dir=tmp_path / "run", progress=False)
    kept = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (kept["kg_beside"], kept["kg_rules"]) == ("outside.tsv", "linked")
    Path(graph).unlink()
    found = evaluate(tmp_path / "run", draws=2, seed=config.seed + 1)
    assert found["success"] == whole.final["test_success"]
    loaded = Knowledge.load(tmp_path / "run" / "knowledge", *vocabulary_of(config))
    assert set(loaded.weights) == {"componentOf"}
    assert loaded.scores.relations == ("makes", "componentOf")


def vocabulary_of(config: TrainConfig) -> tuple[Any, Any]:
    env = WordCraftVectorEnv(1, **config.env_settings("all"))
    return env.vocabulary, env.relations


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_a_graph_beside_is_kept_where_recipes_are_held_out(configure, graph: str) -> None:
    config = configure(kg="train", kg_beside=graph, kg_rules="linked", cross_fit=True)
    made = knowledge_of(config)
    assert made.scores.relations == ("makes", "componentOf")
    assert made.weights["componentOf"] > 0


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_shuffled_names_say_something_else(configure, graph: str) -> None:
    true, false = (quiet(configure, kg=graph, kg_rules="linked", **more) for more in ({}, {"kg_shuffled": 3}))
    things = ("water", "earth", "fire", "sand")
    assert scored(true, "mud", *things) != scored(false, "mud", *things)
    assert knowledge_of(false).about["shuffled"] == 3
    assert len(list(knowledge_of(false).facts.triples())) == len(list(knowledge_of(true).facts.triples()))  # type: ignore[union-attr]
    again, other = (set(knowledge_of(config).facts.triples()) for config in (false, true))  # type: ignore[union-attr]
    assert again != other
    # Beside training facts it is the graph whose names are shuffled.
    one, other = (
        knowledge_of(configure(kg="train", kg_beside=graph, kg_rules="linked", **more))
        for more in ({}, {"kg_shuffled": 3})
    )
    assert one.about["graph"] == other.about["graph"]
    assert set(one.facts.triples()) != set(other.facts.triples())  # type: ignore[union-attr]


# ---- bad input


def test_a_graph_without_a_word_of_the_book_is_told(configure, tmp_path: Path) -> None:
    (tmp_path / "far.tsv").write_text("proton\tpartOf\tatom\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"about 2 entities, none of them one of the world's 33: 'atom'"):
        knowledge_of(configure(kg=str(tmp_path / "far.tsv"), kg_rules="linked"))
    with pytest.raises(InputError, match=r"none of them one of the world's 33"):
        knowledge_of(configure(kg="train", kg_beside=str(tmp_path / "far.tsv"), kg_rules="linked"))


def test_a_mapping_to_a_relation_that_is_not_there_is_told(configure, graph: str) -> None:
    with pytest.raises(InputError, match=r"kg_relations: .*unknown relation 'madeof': did you mean 'madeOf'"):
        knowledge_of(configure(kg=graph, kg_relations=(("componentOf", "madeof"),)))
    with pytest.raises(InputError, match=r"kg_relations: .*unknown relation 'componentof': did you mean 'componentOf'"):
        knowledge_of(configure(kg=graph, kg_relations=(("componentof", "madeOf"),)))


def test_rules_that_are_not_there_are_told(configure, graph: str) -> None:
    with pytest.raises(InputError, match=r"kg_rules: unknown rules 'linkd': did you mean 'linked'\?, or give a file"):
        knowledge_of(configure(kg=graph, kg_rules="linkd"))


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_what_does_not_go_beside_is_told(configure, graph: str, book: RecipeBook, tmp_path: Path) -> None:
    stated = KnowledgeGraph()
    stated.add(facts(book, partition="train"))
    stated.save(tmp_path / "stated.tsv")
    with pytest.raises(InputError, match=r"two graphs that are looked up are put into one"):
        knowledge_of(configure(kg=str(tmp_path / "stated.tsv"), kg_beside=graph, kg_rules="linked"))
    with pytest.raises(InputError, match=r"kg and kg_beside both score componentOf"):
        knowledge_of(configure(kg="train", kg_scores=("componentOf",), kg_beside=graph, kg_rules="linked"))
    with pytest.raises(InputError, match=r"there is no graph at nowhere.tsv"):
        knowledge_of(configure(kg="train", kg_beside="nowhere.tsv", kg_rules="linked"))
    with pytest.raises(InputError, match=r"that is for knowledge; add kg="):
        configure(kg="none", kg_beside=graph)


def test_how_much_a_graph_does_not_know_is_told(configure, graph: str) -> None:
    with pytest.warns(UnknownEntities, match=r"the graph knows 6 of the world's 33 entities, and 1 of its entities is"):
        knowledge_of(configure(kg=graph, kg_rules="linked"))
