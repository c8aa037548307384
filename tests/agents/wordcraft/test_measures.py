"""What knowledge answers to the two questions about pairs."""

import numpy as np
import pytest

from gumption.agents.knowledge import Knowledge
from gumption.agents.settings import KnowledgeConfig
from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.wordcraft import RecipeBook, make_split
from gumption.envs.wordcraft.facts import RELATIONS
from gumption.scripts.papers.wordcraft.measures import recipe_questions


def scores_of(book: RecipeBook, split, **config):
    played = {"recipe_book": book, "split": split}
    world = worlds.find("wordcraft")
    return Knowledge.of(KnowledgeConfig(**config), world, ("", *book.entities), RELATIONS, played).scores


@pytest.mark.filterwarnings("ignore")
def test_all_facts_answer_all_and_training_facts_some(small_book) -> None:
    book = RecipeBook.load(small_book)
    split = make_split(book)
    known = scores_of(book, split, kg="full", kg_fit=False)
    assert recipe_questions(known, book, split) == {"makes_anything": 1.0, "which_of_four": 1.0}
    # Looked-up facts of training say nothing of pairs that they do not have.
    blind = recipe_questions(scores_of(book, split, kg="train", kg_fit=False), book, split)
    assert blind == {"makes_anything": 0.5, "which_of_four": 0.25}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_answers_are_of_the_probabilities_that_the_predictor_gives(small_book) -> None:
    book = RecipeBook.load(small_book)
    split = make_split(book)
    scores = scores_of(book, split, kg="train")
    found = recipe_questions(scores, book, split, "train")
    assert found["which_of_four"] > 0.9  # it was fitted to them
    assert found["makes_anything"] > 0.9
    table = np.asarray(scores.scorers[0].table, dtype=np.float64)  # (N, pairs), log p
    start = scores.scorers[0].get_buffer("_pair_start").numpy()

    from gumption.scripts.papers.wordcraft.pair_questions import draw_questions, pair_answers

    questions = draw_questions(split.recipes("train"), book.recipes)
    expected = pair_answers(lambda a, b: table[:, start[np.minimum(a, b)] + np.maximum(a, b)].T, questions)
    assert found == pytest.approx(expected, abs=2e-3)


def test_what_is_refused(small_book) -> None:
    book = RecipeBook.load(small_book)
    split = make_split(book, "none")
    with pytest.raises(InputError, match="has no test part"):
        recipe_questions(scores_of(book, split, kg="full", kg_fit=False), book, split)
