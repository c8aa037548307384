"""What relation scores refuse: predictors that give no numbers, tables too large for memory, names nobody knows."""

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.kg import ComplEx, RecipePredictor, RelationScores, Vocabulary
from gumption.kg.predictor import LinkPredictor
from gumption.kg.recipe_predictor import RecipeSettings
from gumption.kg.scores import CHANNELS, FLOOR

ENTITIES = ("earth", "fire", "lava", "mud", "water")
FACTS = [("earth", "combinesWith", "fire"), ("earth", "componentOf", "lava"), ("water", "componentOf", "mud")]


@pytest.fixture(scope="module")
def model() -> ComplEx:
    return ComplEx.fit(FACTS, rank=2, epochs=1, device="cpu")


@pytest.fixture(scope="module")
def recipes() -> RecipePredictor:
    settings = RecipeSettings(width=2, hidden=2, epochs=1)
    return RecipePredictor.fit([("earth", "fire", "lava")], np.eye(5), ENTITIES, settings=settings, device="cpu")


class Extreme(LinkPredictor):
    def __init__(self, vocabulary: Vocabulary, value: float) -> None:
        self.vocabulary, self.value, self.device = vocabulary, value, torch.device("cpu")

    def object_scores(self, subjects: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        scores = torch.zeros(len(subjects), len(self.vocabulary.entities))
        scores[:, 0] = self.value
        return scores

    def subject_scores(self, relations: torch.Tensor, objects: torch.Tensor) -> torch.Tensor:
        return self.object_scores(objects, relations)


def test_scores_have_a_floor_and_are_numbers(model: ComplEx) -> None:
    scores = RelationScores(["fire", "mud"], Extreme(model.vocabulary, 1e6), channels=("combinesWith",))
    assert scores.action_scores(np.array([1]), np.array([[1, 2]]), np.array([1])).tolist() == [[[FLOOR], [FLOOR]]]
    for value in (float("nan"), float("inf")):
        with pytest.raises(InputError, match="scores for combinesWith that are NaN or infinite"):
            RelationScores(["fire"], Extreme(model.vocabulary, value), channels=("combinesWith",))


def test_a_table_too_large_for_memory_is_refused(
    model: ComplEx, recipes: RecipePredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(ENTITIES)
    needed = size * (size + 1) // 2 * size * 2
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", needed)
    assert RelationScores(ENTITIES, model, recipes).get_buffer("recipe").nbytes == needed
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", needed - 1)
    with pytest.raises(InputError, match=rf"recipes over {size} entities .*; take a smaller book or leave out"):
        RelationScores(ENTITIES, model, recipes)
    RelationScores(ENTITIES, model, channels=CHANNELS[:2])


def test_bad_input(model: ComplEx, recipes: RecipePredictor) -> None:
    with pytest.raises(InputError, match="no score is called 'combines'; there are combinesWith, componentOf, recipe"):
        RelationScores(ENTITIES, model, recipes, channels=("combines",))
    with pytest.raises(InputError, match="the score 'recipe' needs a predictor that was not given"):
        RelationScores(ENTITIES, model)
    with pytest.raises(InputError, match="the score 'combinesWith' needs a predictor"):
        RelationScores(ENTITIES, recipe=recipes)
    with pytest.raises(InputError, match="unknown entity 'fier': did you mean 'fire'"):
        RelationScores(["fier"], model, recipes)
    other = ComplEx.fit([("fire", "combinesWith", "mud")], rank=2, epochs=1, device="cpu")
    with pytest.raises(InputError, match="unknown relation 'componentOf'"):
        RelationScores(["fire"], other, channels=("componentOf",))
