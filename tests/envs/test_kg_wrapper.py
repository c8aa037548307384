import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gumption.data import InputError
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import LittleAlchemyEnv, WordCraftEnv, facts

RELATIONS = ("combinesWith", "componentOf")


class KnownFacts:
    """1 for a fact of the book, 0 for any other triple, NaN and infinities where asked for."""

    def __init__(self, book):
        self.book, self.facts = book, set(facts(book, split="all"))

    def score(self, triple):
        return 1.0 if triple in self.facts else 0.0

    def action_scores(self, goal, table, selection):
        scores = np.zeros((*table.shape, 2), dtype=np.float32)
        label = self.book.label
        for b, slot in np.ndindex(table.shape):
            entity = label(table[b, slot])
            scores[b, slot] = [
                self.score((entity, "combinesWith", label(selection[b]))),
                self.score((entity, "componentOf", label(goal[b]))),
            ]
        return scores


@pytest.mark.parametrize("world", [WordCraftEnv, LittleAlchemyEnv])
def test_scores_are_those_of_the_facts_that_the_world_names(book, world):
    scorer = KnownFacts(book)
    env = KGScores(world(recipe_book=book), scorer)
    observation, _ = env.reset(seed=1)
    rng = np.random.default_rng(0)
    positive = 0
    for _ in range(200):
        assert observation in env.observation_space
        named = env.unwrapped.action_facts()
        assert len(named) == len(observation["kg_scores"])
        for triples, row in zip(named, observation["kg_scores"], strict=True):
            if not triples:
                assert (row == -20).all() or row.tolist() == [0.0, 0.0]  # an empty slot, or nothing to combine with yet
            for triple in triples:
                assert row[RELATIONS.index(triple[1])] == scorer.score(triple)
                positive += scorer.score(triple)
        observation, _, terminated, truncated, _ = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        if terminated or truncated:
            observation, _ = env.reset()
    assert positive > 50


class Extreme:
    def action_scores(self, goal, table, selection):
        scores = np.full((*table.shape, 4), np.nan, dtype=np.float32)
        scores[..., 1], scores[..., 2], scores[..., 3] = np.inf, -np.inf, 3.0
        return scores


def test_scores_stay_in_the_space(book):
    env = KGScores(WordCraftEnv(recipe_book=book), Extreme(), bound=5.0)
    observation, _ = env.reset(seed=0)
    assert observation["kg_scores"].dtype == np.float32
    assert observation["kg_scores"][0].tolist() == [-5.0, 5.0, -5.0, 3.0]
    assert observation["kg_scores"][-1].tolist() == [-5.0] * 4
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        check_env(env, skip_render_check=True)


def test_a_world_without_the_question_is_refused(book):
    with pytest.raises(InputError, match="has no kg_query and Dict observation"):
        KGScores(gym.make("CartPole-v1"), KnownFacts(book))
