"""Frozen relation scores: each channel against a loop over labels, held-out scores swapped in and out, in worlds."""

from typing import Any

import numpy as np
import pytest
import torch

from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import LittleAlchemyEnv, RecipeBook, WordCraftEnv, WordCraftVectorEnv, facts
from gumption.kg import ComplEx, RecipePredictor, RelationScores, Vocabulary
from gumption.kg.predictor import LinkPredictor
from gumption.kg.recipe_predictor import RecipeSettings
from gumption.kg.scores import CHANNELS, FLOOR, CrossFit

ROWS = [
    ("mud", "water", "earth"), ("steam", "water", "fire"), ("lava", "earth", "fire"), ("brick", "mud", "fire"),
    ("stone", "lava", "air"), ("sand", "stone", "air"), ("glass", "sand", "fire"), ("wall", "brick", "brick"),
    ("house", "wall", "wall"), ("ash", "brick", "fire"), ("geyser", "steam", "earth"), ("dust", "earth", "air"),
]  # fmt: skip
Ids = tuple[np.ndarray, np.ndarray, np.ndarray]
TOGETHER = np.max  # what a candidate's ways to the goal count, before anything is selected


@pytest.fixture(scope="module")
def book() -> RecipeBook:
    return RecipeBook("small", list(dict.fromkeys(label for row in ROWS for label in row)), ROWS)


@pytest.fixture(scope="module")
def model(book: RecipeBook) -> ComplEx:
    # A word that is not in the book: answers compete with all that the predictor knows.
    wide = Vocabulary.from_triples(facts(book, split="all")).extended([("yak", "componentOf", "yak")])
    return ComplEx.fit(facts(book, split="all"), rank=8, epochs=30, vocabulary=wide, device="cpu")


@pytest.fixture(scope="module")
def recipes(book: RecipeBook) -> RecipePredictor:
    vectors = np.random.default_rng(0).normal(size=(len(book.entities), 6))
    settings = RecipeSettings(width=16, hidden=16, epochs=60, batch_size=8)
    return RecipePredictor.fit(
        [(a, b, product) for product, a, b in ROWS], vectors, book.entities, settings=settings, device="cpu"
    )


class Naive:
    """The definition, in labels and one at a time, from what the predictors tell anyone."""

    def __init__(self, binary: LinkPredictor, recipes: RecipePredictor | None = None, calibrated: bool = True) -> None:
        self.binary, self.recipes, self.calibrated = binary, recipes, calibrated

    def fact(self, s: str, p: str, o: str) -> float:
        if not self.calibrated:
            return float(self.binary.score([(s, p, o)])[0])
        objects = {label: probability for label, _, probability in self.binary.predict(subject=s, relation=p, k=99)}
        subjects = {label: probability for label, _, probability in self.binary.predict(relation=p, object=o, k=99)}
        return float(max(FLOOR, (np.log(objects[o]) + np.log(subjects[s])) / 2))

    def recipe(self, a: str, b: str, product: str) -> float:
        assert self.recipes is not None
        first, second, made = (torch.from_numpy(self.recipes.vocabulary.entity_ids([x])) for x in (a, b, product))
        return float(self.recipes.log_probabilities(first, second)[0, made])

    def action_scores(self, entities: tuple[str, ...], goal: int, table: list[int], selection: int) -> np.ndarray:
        """(S, 3) of one environment."""
        scores = np.zeros((len(table), 3))
        for slot, candidate in enumerate(table):
            if not candidate:
                continue
            label = entities[candidate - 1]
            if selection:
                scores[slot, 0] = self.fact(label, "combinesWith", entities[selection - 1])
            if goal:
                scores[slot, 1] = self.fact(label, "componentOf", entities[goal - 1])
                partners = [entities[x - 1] for x in ([selection] if selection else table) if x]
                ways = [self.recipe(label, partner, entities[goal - 1]) for partner in partners]
                scores[slot, 2] = TOGETHER(ways)
        return scores


def queries(size: int, seed: int = 0) -> Ids:
    """Tables with empty slots at any place, with and without a goal and a selection; one is all empty."""
    rng = np.random.default_rng(seed)
    table = rng.integers(1, size + 1, size=(12, 5)) * (rng.random((12, 5)) < 0.8)
    table[3] = 0
    selection = np.where(np.arange(12) % 3, rng.integers(1, size + 1, size=12), 0)
    goal = np.where(np.arange(12) % 5, rng.integers(1, size + 1, size=12), 0)
    return goal.astype(np.int16), table.astype(np.int16), selection.astype(np.int16)


def everything(scores: RelationScores) -> torch.Tensor:
    """(N * N, N, K): every goal, candidate and selection."""
    size = len(scores.entities)
    goal, selection = (part.ravel() + 1 for part in np.indices((size, size)))
    return scores.action_scores(goal, np.tile(np.arange(size) + 1, (size * size, 1)), selection)


def agree(found: torch.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found[..., :2], expected[..., :2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[..., 2], expected[..., 2], atol=0.02)  # the table of recipes has 16 bits


@pytest.mark.parametrize("calibrated", [True, False])
def test_every_channel_is_what_a_loop_over_labels_gives(
    book: RecipeBook, model: ComplEx, recipes: RecipePredictor, calibrated: bool
) -> None:
    # Neither the order nor the number of the entities is that of the predictors.
    entities = tuple(np.random.default_rng(1).permutation(book.entities)[:11].tolist())
    scores = RelationScores(entities, model, recipes, calibrated=calibrated)
    naive = Naive(model, recipes, calibrated)
    goal, table, selection = queries(len(entities))
    found = scores.action_scores(goal, table, selection)
    assert found.shape == (12, 5, 3)
    assert found.dtype == torch.float32
    rows = zip(goal.tolist(), table.tolist(), selection.tolist(), strict=True)
    agree(found, np.stack([naive.action_scores(entities, *row) for row in rows]))
    assert (found[torch.from_numpy(table == 0)] == 0).all()
    assert (found[3] == 0).all()
    as_tensors = [torch.from_numpy(part.astype(np.int64)) for part in (goal, table, selection)]
    assert torch.equal(scores.action_scores(*as_tensors), found)


def test_calibrated_scores_are_log_probabilities(book: RecipeBook, model: ComplEx, recipes: RecipePredictor) -> None:
    calibrated = everything(RelationScores(book.entities, model, recipes))
    raw = everything(RelationScores(book.entities, model, recipes, calibrated=False))
    assert (calibrated[..., :2] < 0).all()
    assert (raw[..., :2] > 0).any()
    assert torch.equal(calibrated[..., 2], raw[..., 2])


def test_channels_are_in_the_order_asked_for(book: RecipeBook, model: ComplEx, recipes: RecipePredictor) -> None:
    query = queries(len(book.entities))
    full = RelationScores(book.entities, model, recipes).action_scores(*query)
    two = RelationScores(book.entities, model, recipes, channels=("recipe", "combinesWith"))
    assert torch.equal(two.action_scores(*query), full[..., [2, 0]])
    assert torch.equal(RelationScores(book.entities, model, channels=CHANNELS[:2]).action_scores(*query), full[..., :2])
    assert torch.equal(
        RelationScores(book.entities, recipe=recipes, channels=("recipe",)).action_scores(*query), full[..., 2:]
    )
    assert not RelationScores(book.entities, model, recipes).state_dict()  # the tables are made anew, not saved


def test_any_link_predictor_will_do(book: RecipeBook, recipes: RecipePredictor) -> None:
    scores = RelationScores(book.entities, recipes, recipes)
    naive = Naive(recipes, recipes)
    goal, table, selection = queries(len(book.entities))
    for row, found in enumerate(scores.action_scores(goal, table, selection)):
        agree(found, naive.action_scores(book.entities, int(goal[row]), table[row].tolist(), int(selection[row])))


# ---- scores by predictors that have not seen the fold of a fact


def test_in_training_each_entry_is_scored_by_the_predictor_of_its_fold(
    book: RecipeBook, model: ComplEx, recipes: RecipePredictor
) -> None:
    size = len(book.entities)
    known = list(facts(book, split="all"))
    vectors = np.random.default_rng(5).normal(size=(size, 4))
    settings = RecipeSettings(width=4, hidden=4, epochs=5)
    rows = [(a, b, product) for product, a, b in ROWS]
    binary = [
        ComplEx.fit(known[fold::2], rank=4, epochs=5, vocabulary=model.vocabulary, device="cpu") for fold in (0, 1)
    ]
    ternary = RecipePredictor.fit_folds(
        rows, vectors, book.entities, np.arange(len(rows)) % 2, settings=settings, device="cpu"
    )
    rng = np.random.default_rng(0)
    of_pair, of_component = rng.integers(2, size=(2, size, size))
    of_pair = np.triu(of_pair) + np.triu(of_pair, 1).T
    folds = {"combinesWith": of_pair, "componentOf": of_component, "recipe": of_pair}
    for calibrated in (True, False):
        scores = RelationScores(
            book.entities, model, recipes, calibrated=calibrated, cross_fit=CrossFit(binary, ternary, folds)
        )
        plain = everything(RelationScores(book.entities, model, recipes, calibrated=calibrated))
        assert not scores.training
        assert torch.equal(everything(scores), plain)
        per_fold = [
            RelationScores(book.entities, *pair, calibrated=calibrated) for pair in zip(binary, ternary, strict=True)
        ]
        expected = torch.stack([everything(part) for part in per_fold]).reshape(2, size, size, size, 3)
        goal, selection, candidate = np.indices((size, size, size))
        chosen = (of_pair[selection, candidate], of_component[candidate, goal], of_pair[selection, candidate])
        expected = torch.stack(
            [expected[fold, goal, selection, candidate, channel] for channel, fold in enumerate(chosen)], dim=3
        )
        policy = torch.nn.Sequential(scores)  # a policy holds them as a part
        for _ in range(2):
            policy.train()
            assert torch.equal(everything(scores).reshape(expected.shape), expected)
            policy.eval()
            assert torch.equal(everything(scores), plain)


def test_without_cross_fitting_training_changes_nothing(
    book: RecipeBook, model: ComplEx, recipes: RecipePredictor
) -> None:
    scores = RelationScores(book.entities, model, recipes)
    assert torch.equal(everything(scores), everything(scores.train()))


# ---- in the worlds


def test_takes_the_arrays_of_a_world_as_they_are(book: RecipeBook, model: ComplEx, recipes: RecipePredictor) -> None:
    scores, naive = RelationScores(book.entities, model, recipes), Naive(model, recipes)
    env = WordCraftVectorEnv(3, recipe_book=book, num_distractors=2, split="none")
    env.reset(seed=0)
    selected = 0
    for _ in range(3):
        goal, table, selection = env.kg_query()
        assert table.dtype == np.int16
        found = scores.action_scores(goal, table, selection)
        for row in range(3):
            expected = naive.action_scores(book.entities, int(goal[row]), table[row].tolist(), int(selection[row]))
            agree(found[row], expected)
        selected += int((selection > 0).sum())
        env.step(env.random_actions())
    assert selected


def test_as_a_part_of_the_observation(book: RecipeBook, model: ComplEx, recipes: RecipePredictor) -> None:
    naive = Naive(model, recipes)
    env = KGScores(
        WordCraftEnv(recipe_book=book, num_distractors=2, split="none"),
        RelationScores(book.entities, model, recipes),
    )
    observation, _ = env.reset(seed=3)
    observation, *_ = env.step(int(np.flatnonzero(env.action_masks())[0]))
    assert observation in env.observation_space
    named: Any = env.unwrapped
    for triples, row in zip(named.action_facts(), observation["kg_scores"], strict=True):
        assert len(triples) == 2 or (row == -20).all()
        for triple in triples:
            expected = np.clip(naive.fact(*triple), -20, 20)
            assert row[CHANNELS.index(triple[1])] == pytest.approx(expected, rel=1e-4)


def test_a_world_without_goals_asks_for_combinations_only(
    book: RecipeBook, model: ComplEx, recipes: RecipePredictor
) -> None:
    env = LittleAlchemyEnv(recipe_book=book)
    env.reset(seed=0)
    env.step(int(np.flatnonzero(env.action_masks())[0]))
    goal, table, selection = env.kg_query()
    found = RelationScores(book.entities, model, recipes).action_scores(goal, table, selection)[0]
    assert (found[:, 1:] == 0).all()
    assert (found[torch.from_numpy(table[0] > 0), 0] < 0).all()
