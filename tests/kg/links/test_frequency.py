"""The baseline that counts answers."""

import torch

from gumption.kg import Vocabulary, evaluate_ranking
from gumption.kg.links.predictor import FrequencyBaseline

FACTS = [("a", "r", "x"), ("b", "r", "x"), ("a", "r", "y"), ("a", "q", "b")]


def test_scores_are_counts_of_answers() -> None:
    vocabulary = Vocabulary.from_triples(FACTS)  # a, b, x, y; q, r
    model = FrequencyBaseline(vocabulary, vocabulary.triples_to_ids(FACTS))
    relations, anything = torch.tensor([1, 0]), torch.tensor([0, 0])
    assert model.object_scores(anything, relations).tolist() == [[0, 0, 2, 1], [0, 1, 0, 0]]
    assert model.subject_scores(relations, anything).tolist() == [[2, 1, 0, 0], [1, 0, 0, 0]]
    assert evaluate_ranking(model, [("b", "r", "y")])["mrr"] == 0.5  # x and a are counted twice, y and b once
    assert evaluate_ranking(model, [("b", "r", "y")], known=[FACTS])["mrr"] == 1
