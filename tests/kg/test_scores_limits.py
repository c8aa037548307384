"""What relation scores refuse: predictors that give no numbers, tables too large for memory, names nobody knows."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.envs.action_facts import action_facts
from gumption.kg import ComplEx, NaryPredictor, RelationScores, Vocabulary
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.scores import FLOOR, PairProducts, PairTable, binary_scorer, chance_of, pair_scorer

ENTITIES = ("earth", "fire", "lava", "mud", "water")
FACTS = [("earth", "combinesWith", "fire"), ("earth", "componentOf", "lava"), ("water", "componentOf", "mud")]


@pytest.fixture(scope="module")
def model() -> ComplEx:
    return ComplEx.fit(FACTS, rank=2, epochs=1, device="cpu")


@pytest.fixture(scope="module")
def recipes() -> NaryPredictor:
    settings = NarySettings(width=2, hidden=2, epochs=1)
    vocabulary = Vocabulary(ENTITIES, ("combinesWith", "componentOf"))
    return NaryPredictor.fit(np.array([[0, 1, 2]]), np.eye(5), vocabulary, settings=settings, device="cpu")


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
    entities = ["fire", "mud"]
    scorer = binary_scorer(Extreme(model.vocabulary, 1e6), "combinesWith", entities)
    asked = action_facts(("combinesWith",), (1, 2), [(np.array([[1, 2]]), np.array([[1, 1]]), 0)])
    scores = RelationScores(entities, {"combinesWith": scorer})
    lowest = FLOOR - chance_of(model)
    assert scores.action_scores(asked).tolist() == [[[pytest.approx(lowest)]] * 2]
    for value in (float("nan"), float("inf")):
        for calibrated in (True, False):
            with pytest.raises(InputError, match="scores for combinesWith that are NaN or infinite; train it again"):
                binary_scorer(Extreme(model.vocabulary, value), "combinesWith", ENTITIES, calibrated=calibrated)


def test_a_predictor_of_pairs_that_gives_no_numbers_is_told(recipes: NaryPredictor) -> None:
    spoiled = deepcopy(recipes)
    spoiled.networks.product_bias[0, 0, 3] = float("nan")
    scores = RelationScores(ENTITIES, {"makes": pair_scorer(spoiled, ENTITIES)})
    one = action_facts(("makes",), (1, 1), [(1, 2, 3)])
    with pytest.raises(InputError, match="scores for the objects of pairs that are NaN or infinite"):
        scores.action_scores(one)


def test_a_table_of_pairs_too_large_for_memory_is_not_made(
    recipes: NaryPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(ENTITIES)
    needed = size * (size + 1) // 2 * size * 2
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", needed)
    table = pair_scorer(recipes, ENTITIES)
    assert isinstance(table, PairTable)
    assert table.table.nbytes == needed
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", needed - 1)
    assert isinstance(pair_scorer(recipes, ENTITIES), PairProducts)


def test_a_table_of_two_parties_too_large_for_memory_is_refused(
    model: ComplEx, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(ENTITIES)
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", size**2)
    assert binary_scorer(model, "componentOf", ENTITIES).table.nbytes == 4 * size**2
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", size**2 - 1)
    with pytest.raises(
        InputError,
        match=r"componentOf over 5 entities takes 0 MiB, more than 0: leave this relation out",
    ):
        binary_scorer(model, "componentOf", ENTITIES)


def test_bad_input(model: ComplEx, recipes: NaryPredictor) -> None:
    known = "knows none of the world's 1 entities: unknown entity 'fier': did you mean 'fire'"
    for make in (lambda names: binary_scorer(model, "combinesWith", names), lambda names: pair_scorer(recipes, names)):
        with pytest.raises(InputError, match=known):
            make(["fier"])
    other = ComplEx.fit([("fire", "combinesWith", "mud")], rank=2, epochs=1, device="cpu")
    with pytest.raises(InputError, match="unknown relation 'componentOf'"):
        binary_scorer(other, "componentOf", ["fire"])
