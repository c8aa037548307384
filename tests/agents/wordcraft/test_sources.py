"""Knowledge from several sources: a graph of other relations than the world's beside the training facts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import evaluate, train_impala
from gumption.agents.knowledge import Knowledge, LeakedFacts
from gumption.agents.outside import Outside
from gumption.agents.watch import scores_of
from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.wordcraft.setup import WordCraftSetup
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, facts
from gumption.kg import KnowledgeGraph, NaryPredictor
from gumption.kg.links.experts import PREDICTOR, Experts
from gumption.kg.scores import PairTable

from .conftest import Seen

pytestmark = pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")


def links_of(book: RecipeBook, share: float = 1.0) -> list[tuple[str, str, str]]:
    """Facts of an outside graph: of a share of the recipes, what the first ingredient is to the product."""
    rows = book.recipes[: int(len(book.recipes) * share)].tolist()
    return [(book.entities[c], "madeOf", book.entities[a]) for a, _, c in rows if a != c]


@pytest.fixture
def graph(tmp_path: Path, book: RecipeBook) -> str:
    outside = KnowledgeGraph()
    outside.add([*links_of(book), ("earth", "isA", "element"), ("water", "isA", "element")], graph="own")
    outside.save(tmp_path / "other.tsv")
    return str(tmp_path / "other.tsv")


@pytest.fixture(autouse=True)
def own_cache(seen: Seen) -> None:
    """Nothing is read from the cache of another test."""


def knowledge_of(config: TrainConfig) -> Knowledge:
    made = WordCraftSetup(config, num_envs=1).knowledge
    assert made is not None
    return made


def table_of(known: Knowledge) -> torch.Tensor:
    (scorer,) = known.scores.scorers
    assert isinstance(scorer, PairTable)
    return scorer.table


def test_a_graph_of_other_relations_beside_feeds_the_predictor(configure, graph: str, seen: Seen) -> None:
    alone, fed = knowledge_of(configure(kg="train")), knowledge_of(configure(kg="train", kg_beside=graph))
    experts = fed.predictors["makes"]
    assert isinstance(experts, Experts)
    assert experts.sources == (PREDICTOR, "rules")
    assert fed.scores.relations == ("makes",)
    assert fed.about["sources"] == ("words", "outside", "rules")
    assert not torch.equal(table_of(fed), table_of(alone))
    # The predictor has the same facts, and none of the outside graph.
    (first, _), (second, _) = seen.recipe
    assert first == second
    assert fed.certain == alone.certain


@pytest.mark.slow
def test_a_source_is_what_it_is_named(configure, graph: str) -> None:
    words = knowledge_of(configure(kg="train", kg_sources=("words",)))
    assert isinstance(words.predictors["makes"], NaryPredictor)
    assert torch.equal(table_of(words), table_of(knowledge_of(configure(kg="train"))))
    links = knowledge_of(configure(kg="train", kg_beside=graph, kg_sources=("links",))).predictors["makes"]
    assert isinstance(links, Experts)
    assert links.sources == ("links",)
    assert links.predictor is None
    rules = knowledge_of(configure(kg="train", kg_sources=("words", "rules"))).predictors["makes"]
    assert isinstance(rules, Experts)
    assert rules.sources == (PREDICTOR, "rules")
    features = knowledge_of(configure(kg="train", kg_beside=graph, kg_sources=("outside",))).predictors["makes"]
    assert isinstance(features, NaryPredictor)
    assert features.networks.words.shape[1] == 61


def test_a_choice_is_explained_by_facts_of_the_graph_beside(configure, graph: str, tmp_path: Path) -> None:
    config = configure(kg="train", kg_beside=graph)
    known = knowledge_of(config)
    env = WordCraftVectorEnv(1, **config.env_settings("all"))
    env.reset(seed=0, options={"goal": "mud", "table": ["water", "earth", "fire"]})
    known.save(tmp_path / "kept")
    for each in (known, Knowledge.load(tmp_path / "kept", env.vocabulary, env.relations)):
        advice = each.advice(env.vocabulary, env.relations)
        advice(env)
        names = {env.vocabulary[i]: place for place, i in enumerate(env.engine.table[:, 0].tolist()) if i}
        # Facts of things that are in no recipe with the goal, such as what water is, are no reason.
        link = next(fact for fact in links_of(env.book) if fact[0] == "mud")
        (score,) = scores_of(advice, names[link[2]])
        assert score.facts == (f"{link[2]} with something makes mud? (mud is made of {link[2]})",)
        other = ({"water", "earth"} - {link[2]}).pop()
        (score,) = scores_of(advice, names[other])
        assert score.facts == (f"{other} with something makes mud?",)
        for pair in ((link[2], other), (other, link[2])):
            assert advice.links((pair[0], "makes", "mud", pair[1])) == [link]
    with pytest.raises(InputError, match=r"the fact is \('mud', 'madeOf'\); it has a subject, a relation"):
        advice.links(("mud", "madeOf"))


def test_no_weight_is_learned_from_a_test_item(configure, graph: str, seen: Seen) -> None:
    config = configure(kg="train", kg_beside=graph)
    env = WordCraftVectorEnv(1, **config.env_settings("train"))
    known = knowledge_of(config)
    names = env.book.entities
    train = {tuple(names[i] for i in row) for row in env.split.of("recipes", "train").tolist()}
    assert all(facts_ == train for facts_, _ in (*seen.recipe, *seen.folds))
    experts = known.predictors["makes"]
    assert isinstance(experts, Experts)
    assert len(experts.trained_on) == len(train)  # type: ignore[arg-type]


@pytest.mark.slow
def test_what_the_graph_beside_tells_of_the_test_is_counted(configure, book: RecipeBook, tmp_path: Path) -> None:
    outside = KnowledgeGraph()
    outside.add([(book.entities[c], "madeOf", book.entities[a]) for a, _, c in book.recipes.tolist()])
    outside.save(tmp_path / "all.tsv")
    config = configure(kg="train", kg_beside=str(tmp_path / "all.tsv"))
    asked = set(facts(book, partition="test"))
    links = {frozenset(fact[::2]) for fact in outside.triples()}
    about = knowledge_of(config).about["beside"]
    assert about["test_facts"]["stated"] == 0
    assert about["linked_test_facts"]["of"] == about["test_facts"]["of"] >= len(asked)
    parts = {fact for fact in asked if fact[1] == "componentOf" and frozenset(fact[::2]) in links}
    assert about["linked_test_facts"]["stated"] >= len(parts) > 0
    # A graph that states test facts in the world's own words is told of, whatever source it is.
    outside.add(facts(book, partition="all"))
    outside.save(tmp_path / "leaky.tsv")
    leaky = configure(kg="train", kg_beside=str(tmp_path / "leaky.tsv"), kg_sources=("words", "links"))
    with pytest.warns(LeakedFacts, match=r"leaky.tsv states \d+ of the \d+ facts of the test"):
        told = knowledge_of(leaky).about["beside"]["test_facts"]
    assert told["stated"] >= len(asked)


@pytest.mark.slow
def test_shuffled_names_say_something_else(configure, graph: str) -> None:
    true, false = (knowledge_of(configure(kg="train", kg_beside=graph, **more)) for more in ({}, {"kg_shuffled": 3}))
    assert false.about["beside"]["shuffled"] == 3
    assert true.about["beside"]["graph"] == false.about["beside"]["graph"]
    assert not torch.equal(table_of(true), table_of(false))


@pytest.mark.slow
def test_a_run_keeps_its_experts_and_goes_on_without_the_graph(configure, graph: str, tmp_path: Path) -> None:
    config = configure(kg="train", kg_beside=graph, total_steps=512, eval_interval=256, final_draws=2)
    whole = train_impala(config, run_dir=tmp_path / "run", progress=False)
    kept = json.loads((tmp_path / "run" / "config.json").read_text())
    assert kept["kg_beside"] == "other.tsv"
    Path(graph).unlink()
    found = evaluate(tmp_path / "run", draws=2, seed=config.seed + 1)
    assert found["success"] == whole.final["test_success"]
    env = WordCraftVectorEnv(1, **config.env_settings("all"))
    loaded = Knowledge.load(tmp_path / "run" / "knowledge", env.vocabulary, env.relations)
    assert isinstance(loaded.predictors["makes"], Experts)


@pytest.mark.slow
def test_held_out_scores_are_those_of_sources_that_have_not_seen_the_fact(
    configure, graph: str, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = Outside.parts

    def parts(outside: Outside, rows: np.ndarray, vocabulary: Any) -> Any:
        asked.append(len(rows))
        return real(outside, rows, vocabulary)

    monkeypatch.setattr(Outside, "parts", parts)
    config = configure(kg="train", kg_beside=graph, cross_fit=True)
    known = knowledge_of(config)
    scores = known.scores.twin()
    env = WordCraftVectorEnv(32, **config.env_settings("train"))
    env.reset(seed=0)
    advice = known.advice(env.vocabulary, env.relations)
    whole = advice(env).clone()
    advice.scores.train()
    assert not torch.equal(advice(env), whole)
    assert scores.relations == ("makes",)
    assert sum(some < max(asked) for some in asked) == 10  # five folds for the weights, five for the scores


@pytest.mark.slow
def test_looking_ahead_and_watching_need_no_change(configure, graph: str) -> None:
    known = knowledge_of(configure(kg="train", kg_beside=graph))
    env = WordCraftVectorEnv(4, **configure(kg="none").env_settings("all"))
    env.reset(seed=1)
    advice = known.advice(env.vocabulary, env.relations, look_ahead=True)
    said = advice(env)
    assert advice.relations == ("plan",)
    assert np.isfinite(said.numpy()).all()


# ---- bad input


def test_what_is_no_source_is_told(configure, graph: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"kg_sources names 'word'; it names some of words, outside, links, rules"):
        configure(kg="train", kg_sources=("word",))
    with pytest.raises(InputError, match=r"kg_sources names 'words' twice"):
        configure(kg="train", kg_sources=("words", "words"))
    with pytest.raises(InputError, match=r"kg_sources names words, links: name a graph of other facts \(kg_beside\)"):
        configure(kg="train", kg_sources=("words", "links"))
    with pytest.raises(InputError, match=r"kg_rules and kg_relations are for a graph that is looked up"):
        configure(kg="train", kg_beside=graph, kg_sources=("words", "links"), kg_rules="linked")
    with pytest.raises(InputError, match=r"feed predictors of facts of three parties: add kg_fit=True"):
        knowledge_of(configure(kg="train", kg_fit=False, kg_beside=graph))
    with pytest.raises(InputError, match=r"feed predictors of facts of three parties: add kg_fit=True"):
        knowledge_of(configure(kg="train", kg_scores=("componentOf",), kg_beside=graph))
    (tmp_path / "far.tsv").write_text("proton\tpartOf\tatom\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"far.tsv: none of its facts is about one of the world's 33 entities"):
        knowledge_of(configure(kg="train", kg_beside=str(tmp_path / "far.tsv")))
