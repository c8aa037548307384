"""Measures of a run's knowledge: the two questions of pair_questions.py on a book's recipes."""

from typing import Any

import numpy as np

from gumption.envs.action_facts import action_facts
from gumption.envs.wordcraft import RecipeBook, Split
from gumption.envs.wordcraft.facts import RELATION_NAMES
from gumption.kg import RelationScores
from gumption.scripts.papers.wordcraft.pair_questions import draw_questions, pair_answers


def recipe_questions(
    scores: RelationScores, book: RecipeBook, split: Split, partition: str = "test", seed: int = 0
) -> dict[str, float]:
    """Return `pair_answers` for the recipes of a part, by the sum of all scores.

    The score of a product is the mean, over the two ingredients, of the summed scores for selecting the ingredient when
    the other ingredient is selected and the product is the goal.

    :param scores: of the book's entities, such as `Knowledge.scores`.
    :raises InputError: as `Split.recipes`.
    """
    products = np.arange(1, len(book.entities) + 1)

    def score(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        shape = (len(first), len(products))
        found: list[Any] = []
        for one, other in ((first, second), (second, first)):
            a, b = one[:, None] + 1, other[:, None] + 1
            asked = action_facts(RELATION_NAMES, shape, [(a, b, 0), (a, products, 0), (a, products, b)])
            found.append(scores.action_scores(asked).sum(2).cpu().numpy())
        return (found[0] + found[1]) / 2

    return pair_answers(score, draw_questions(split.recipes(partition), book.recipes, seed))
