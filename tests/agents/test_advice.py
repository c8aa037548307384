"""Advice: what a graph, predictors or frozen scores say to the choices of an environment, and the facts behind it."""

import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

import gumption.envs
from gumption.agents import Advice
from gumption.data import InputError
from gumption.envs.action_facts import action_facts
from gumption.envs.wordcraft import RecipeBook, WordCraftEnv, WordCraftVectorEnv, facts, recipe_facts
from gumption.envs.wordcraft.facts import RELATION_NAMES
from gumption.kg import ComplEx, KnowledgeGraph, NaryPredictor, RelationScores, Vocabulary
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.scores import BinaryTable, PairTable, binary_scorer


@pytest.fixture
def env(book: RecipeBook) -> WordCraftVectorEnv:
    """Five tables, something selected on each."""
    made = WordCraftVectorEnv(5, recipe_book=book, num_distractors=3)
    made.reset(seed=0)
    made.step(made.random_actions())
    return made


@pytest.fixture(scope="module")
def graph(book: RecipeBook) -> KnowledgeGraph:
    made = KnowledgeGraph()
    made.add(facts(book, partition="all"), graph="mine")
    made.add(recipe_facts(book, partition="all"), graph="mine/recipes")
    return made


@pytest.fixture(scope="module")
def model(book: RecipeBook) -> ComplEx:
    return ComplEx.fit(facts(book, partition="all"), rank=8, epochs=20, device="cpu")


@pytest.fixture(scope="module")
def recipes(book: RecipeBook) -> NaryPredictor:
    vectors = np.random.default_rng(0).normal(size=(len(book.entities), 8))
    settings = NarySettings(width=16, hidden=16, epochs=30)
    vocabulary = Vocabulary(book.entities, ("p", "q"))
    return NaryPredictor.fit(book.recipes, vectors, vocabulary, settings=settings, device="cpu")


# ---- from a graph


def test_a_graph_says_whether_it_states_a_fact(
    env: WordCraftVectorEnv, graph: KnowledgeGraph, book: RecipeBook
) -> None:
    advice = Advice(graph, env.vocabulary, env.relations, repeat="paper")
    assert advice.relations == RELATION_NAMES
    assert advice.report == ""
    stated = set(facts(book, partition="all"))
    seen = {name: set[float]() for name in RELATION_NAMES}
    for _ in range(20):
        found = advice(env)
        assert (found.shape, found.dtype) == ((5, 6, 3), torch.float32)
        expected = np.zeros((5, 6, 3))
        for b in range(5):
            table, goal = [e for e in env.table[b].tolist() if e], int(env.goal[b])
            for a, of_candidate in enumerate(env.action_facts().labels(env.vocabulary, b)):
                for fact in of_candidate:
                    k = RELATION_NAMES.index(fact[1])
                    if k < 2:
                        expected[b, a, k] = fact in stated
                    else:
                        partners = [int(env.selection[b])] if env.selection[b] else table
                        me = int(env.table[b, a])
                        expected[b, a, k] = any(goal - 1 in book.products(me - 1, x - 1) for x in partners)
                    seen[fact[1]].add(expected[b, a, k])
        assert found.tolist() == expected.tolist()
        env.step(env.random_actions())
    assert all(values == {0.0, 1.0} for values in seen.values())


def test_a_named_graph_is_asked_alone(env: WordCraftVectorEnv, graph: KnowledgeGraph) -> None:
    assert Advice(graph, env.vocabulary, env.relations, graph="mine").relations == RELATION_NAMES[:2]
    assert Advice(graph, env.vocabulary, env.relations, graph="mine/recipes").relations == ("makes",)
    assert Advice(graph, env.vocabulary, RELATION_NAMES[1:2]).relations == ("componentOf",)
    with pytest.raises(InputError, match="mine/recipe"):
        Advice(graph, env.vocabulary, env.relations, graph="mine/recipe")


def test_what_the_graph_does_not_know_is_reported(env: WordCraftVectorEnv) -> None:
    graph = KnowledgeGraph()
    graph.add([("water", "componentOf", "mud"), ("warter", "componentOf", "mud")])
    advice = Advice(graph, env.vocabulary, env.relations)
    assert advice.report == (
        "the graph knows 2 of the world's 33 entities, and 1 of its entities is not the world's ('warter': did you "
        "mean 'water'?)"
    )


# ---- from predictors and scores


def test_complex_gives_log_ratios(env: WordCraftVectorEnv, model: ComplEx) -> None:
    advice = Advice(model, env.vocabulary, env.relations, repeat="paper")
    assert advice.relations == RELATION_NAMES[:2]
    tables = [binary_scorer(model, name, env.vocabulary[1:]) for name in RELATION_NAMES[:2]]
    found, asked = advice(env), env.action_facts()
    for k, table in enumerate(tables):
        s, o, g = (torch.from_numpy(part[:, :, k]) for part in (asked.subject, asked.object, asked.given))
        assert torch.equal(found[..., k], table(s, o, g, None))
    there = torch.from_numpy(env.table > 0)
    assert (found[there] < np.log(33)).all()
    assert (found[there] < 0).any()
    assert (found[~there] == 0).all()


def test_a_predictor_of_recipes_answers_for_the_whole_fact(env: WordCraftVectorEnv, recipes: NaryPredictor) -> None:
    advice = Advice(recipes, env.vocabulary, env.relations, repeat="paper")
    assert advice.relations == ("makes",)
    found = advice(env)
    for b, a in np.argwhere(env.table > 0).tolist():
        ids = [recipes.vocabulary.entity_ids([env.vocabulary[x[b]]]) for x in (env.table[:, a], env.selection)]
        log_p = recipes.log_probabilities(*(torch.from_numpy(i) for i in ids))[0, env.goal[b] - 1]
        assert found[b, a, 0] == pytest.approx(float(log_p) + np.log(33), abs=0.02)


def test_scores_are_taken_as_they_are(env: WordCraftVectorEnv, model: ComplEx) -> None:
    entities = env.vocabulary[1:]
    scores = RelationScores(entities, {"componentOf": binary_scorer(model, "componentOf", entities)})
    advice, whole = (Advice(one, env.vocabulary, env.relations, repeat="paper") for one in (scores, model))
    assert advice.scores is scores
    assert torch.equal(advice(env), whole(env)[..., 1:])


# ---- asking


def test_single_environments_are_a_batch_of_one(book: RecipeBook, graph: KnowledgeGraph) -> None:
    made: Any = gym.make("gumption/WordCraft-v0", recipe_book=book, num_distractors=3)
    assert gumption.envs
    advice = Advice(graph, made.unwrapped.vocabulary, made.unwrapped.relations)
    single = WordCraftEnv(recipe_book=book, num_distractors=3)
    for env in (made, single):
        env.reset(seed=4)
        assert advice(env).shape == (1, 6, 3)
    assert torch.equal(advice(made), advice(single))
    vector = gym.make_vec("gumption/WordCraft-v0", num_envs=3, recipe_book=book, num_distractors=3)
    vector.reset(seed=4)
    assert advice(vector).shape == (3, 6, 3)


def test_facts_can_be_asked_about_without_an_environment(book: RecipeBook, graph: KnowledgeGraph) -> None:
    env = WordCraftEnv(recipe_book=book)
    advice = Advice(graph, env.vocabulary, env.relations[1:2])
    ids = {label: i for i, label in enumerate(env.vocabulary)}
    subject = np.array([[ids["water"], ids["earth"], ids["sky"], 0]])
    found = advice.score(action_facts(("componentOf",), (1, 4), [(subject, ids["mud"], 0)]))
    assert found.tolist() == [[[1.0], [1.0], [0.0], [0.0]]]
    assert advice.why(0, 0) == [(("water", "componentOf", "mud"), 1.0)]
    assert advice.why(0, 3) == []


def test_why_names_the_facts_behind_each_choice(env: WordCraftVectorEnv, graph: KnowledgeGraph) -> None:
    advice = Advice(graph, env.vocabulary, env.relations)
    with pytest.raises(InputError, match=r"ask for scores first: advice\(env\)"):
        advice.why(0, 0)
    for _ in range(3):
        found = advice(env)
        for b in range(5):
            for a, of_candidate in enumerate(env.action_facts().labels(env.vocabulary, b)):
                said = advice.why(b, a)
                scores = [score for _, score in said]
                assert scores == sorted(scores, reverse=True)
                # The facts of a world do not say which relation has three parties; the advice does.
                assert {fact for fact, _ in said} == {
                    (*fact, "") if fact[1] == "makes" and len(fact) == 3 else fact for fact in of_candidate
                }
                for fact, score in said:
                    assert score == found[b, a, RELATION_NAMES.index(fact[1])]
        env.step(env.random_actions())


def test_why_says_whether_the_third_party_is_chosen(book: RecipeBook, graph: KnowledgeGraph) -> None:
    env = WordCraftVectorEnv(1, recipe_book=book, num_distractors=1, split=None)
    env.reset(options={"goal": "steam", "table": ["water", "fire", "earth"]})
    advice = Advice(graph, env.vocabulary, env.relations)
    advice(env)
    assert advice.why(0, 0) == [(("water", "componentOf", "steam"), 1.0), (("water", "makes", "steam", ""), 1.0)]
    assert advice.why(0, 2) == [(("earth", "componentOf", "steam"), 0.0), (("earth", "makes", "steam", ""), 0.0)]
    env.step(np.array([0]))
    advice(env)
    assert advice.why(0, 1) == [
        (("fire", "combinesWith", "water"), 1.0),
        (("fire", "componentOf", "steam"), 1.0),
        (("fire", "makes", "steam", "water"), 1.0),
    ]


# ---- what does not fit


def test_a_graph_of_other_relations_is_told(env: WordCraftVectorEnv) -> None:
    graph = KnowledgeGraph()
    graph.add([("water", "componentof", "mud"), ("water", "likes", "mud")])
    message = (
        r"none of the relations that the world asks for: combinesWith; componentOf; makes \(nodes with hasIngredient, "
        r"hasProduct\)\. It has componentof, likes; did you mean 'componentof'\?"
    )
    with pytest.raises(InputError, match=message):
        Advice(graph, env.vocabulary, env.relations)
    with pytest.raises(InputError, match="It has no facts at all"):
        Advice(KnowledgeGraph(), env.vocabulary, env.relations)


def test_a_graph_about_other_things_is_told(env: WordCraftVectorEnv) -> None:
    graph = KnowledgeGraph()
    graph.add([("Wasser", "componentOf", "Schlamm"), ("watr", "componentOf", "Schlamm"), ("mud", "likes", "rain")])
    message = (
        r"the graph's facts are about 3 entities, none of them one of the world's 33: .*'watr': did you mean 'water'"
    )
    with pytest.raises(InputError, match=message):
        Advice(graph, env.vocabulary, env.relations)


def test_a_predictor_that_does_not_fit_is_told(
    env: WordCraftVectorEnv, book: RecipeBook, recipes: NaryPredictor
) -> None:
    some = [fact for fact in facts(book, partition="all") if "tool" not in fact]
    little = Advice(ComplEx.fit(some, rank=2, epochs=1, device="cpu"), env.vocabulary, env.relations)
    assert re.fullmatch(r"the predictor knows (\d\d) of the world's 33 entities", little.report)
    other = ComplEx.fit([("water", "likes", "mud")], rank=2, epochs=1, device="cpu")
    with pytest.raises(InputError, match="none of the relations combinesWith, componentOf, makes; it has likes"):
        Advice(other, env.vocabulary, env.relations)
    with pytest.raises(InputError, match="none of the relations combinesWith, componentOf; it has p, q"):
        Advice(recipes, env.vocabulary, env.relations[:2])


def test_scores_of_another_vocabulary_are_refused(env: WordCraftVectorEnv, model: ComplEx) -> None:
    turned = tuple(reversed(env.vocabulary[1:]))
    scores = RelationScores(turned, {"componentOf": binary_scorer(model, "componentOf", turned)})
    with pytest.raises(InputError, match="other entities than the world's vocabulary: make them from it"):
        Advice(scores, env.vocabulary, env.relations)


def test_kinds_of_tables(env: WordCraftVectorEnv, model: ComplEx, recipes: NaryPredictor) -> None:
    kinds = [type(s) for m in (model, recipes) for s in Advice(m, env.vocabulary, env.relations).scores.scorers]
    assert kinds == [BinaryTable, BinaryTable, PairTable]
