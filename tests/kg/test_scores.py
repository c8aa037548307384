"""Frozen relation scores: each relation against a loop over labels, held-out scores swapped in and out, in worlds."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn

from gumption.agents import Advice
from gumption.data import InputError, progress
from gumption.envs.action_facts import ActionFacts, action_facts
from gumption.envs.kg_wrapper import KGScores
from gumption.envs.wordcraft import LittleAlchemyEnv, RecipeBook, WordCraftEnv, WordCraftVectorEnv, facts
from gumption.envs.wordcraft.facts import RELATION_NAMES
from gumption.kg import ComplEx, NaryPredictor, RelationScores, Vocabulary
from gumption.kg.links.nary_predictor import NarySettings
from gumption.kg.links.predictor import LinkPredictor
from gumption.kg.scores import FLOOR, BinaryTable, HeldOut, PairTable, binary_scorer, pair_scorer

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
    wide = Vocabulary.from_triples(facts(book, partition="all")).extended([("yak", "componentOf", "yak")])
    return ComplEx.fit(facts(book, partition="all"), rank=8, epochs=30, vocabulary=wide, device="cpu")


@pytest.fixture(scope="module")
def recipes(book: RecipeBook) -> NaryPredictor:
    vectors = np.random.default_rng(0).normal(size=(len(book.entities), 6))
    settings = NarySettings(width=16, hidden=16, epochs=60, batch_size=8)
    vocabulary = Vocabulary(book.entities, RELATION_NAMES[:2])
    return NaryPredictor.fit(book.recipes, vectors, vocabulary, settings=settings, device="cpu")


def frozen(
    entities: Sequence[str], binary: LinkPredictor, recipes: NaryPredictor, calibrated: bool = True
) -> RelationScores:
    """The scores of all three relations of the world."""
    scorers: dict[str, nn.Module] = {
        name: binary_scorer(binary, name, entities, calibrated=calibrated) for name in RELATION_NAMES[:2]
    }
    return RelationScores(entities, {**scorers, RELATION_NAMES[2]: pair_scorer(recipes, entities)})


class Naive:
    """The definition, in labels and one at a time, from what the predictors tell anyone."""

    def __init__(self, binary: LinkPredictor, recipes: NaryPredictor | None = None, calibrated: bool = True) -> None:
        self.binary, self.recipes, self.calibrated = binary, recipes, calibrated

    def fact(self, s: str, p: str, o: str) -> float:
        if not self.calibrated:
            return float(self.binary.score([(s, p, o)])[0])
        objects = {label: probability for label, _, probability in self.binary.predict(subject=s, relation=p, k=99)}
        subjects = {label: probability for label, _, probability in self.binary.predict(relation=p, object=o, k=99)}
        chance = -np.log(len(self.binary.vocabulary.entities))
        return float(max(FLOOR, (np.log(objects[o]) + np.log(subjects[s])) / 2) - chance)

    def recipe(self, a: str, b: str, product: str) -> float:
        assert self.recipes is not None
        first, second, made = (torch.from_numpy(self.recipes.vocabulary.entity_ids([x])) for x in (a, b, product))
        log_p = self.recipes.log_probabilities(first, second)[0, made]
        return float(log_p) + np.log(len(self.recipes.vocabulary.entities))

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


def asked(goal: np.ndarray, table: np.ndarray, selection: np.ndarray) -> ActionFacts:
    """The facts that WordCraft states for (B,) goals, (B, S) tables and (B,) selections, empty slots included."""
    g, s, table = goal[:, None], selection[:, None], table.astype(np.int64)
    return action_facts(RELATION_NAMES, table.shape, [(table, s, 0), (table, g, 0), (table, g, s)], partners=table)


def everything(scores: RelationScores) -> torch.Tensor:
    """(N * N, N, K): every goal, candidate and selection."""
    size = len(scores.entities)
    goal, selection = (part.ravel() + 1 for part in np.indices((size, size)))
    return scores.action_scores(asked(goal, np.tile(np.arange(size) + 1, (size * size, 1)), selection))


def agree(found: torch.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found[..., :2], expected[..., :2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[..., 2], expected[..., 2], atol=0.02)  # the table of recipes has 16 bits


@pytest.mark.parametrize("calibrated", [True, False])
def test_every_score_is_what_a_loop_over_labels_gives(
    book: RecipeBook, model: ComplEx, recipes: NaryPredictor, calibrated: bool
) -> None:
    # Neither the order nor the number of the entities is that of the predictors.
    entities = tuple(np.random.default_rng(1).permutation(book.entities)[:11].tolist())
    scores = frozen(entities, model, recipes, calibrated)
    naive = Naive(model, recipes, calibrated)
    goal, table, selection = queries(len(entities))
    found = scores.action_scores(asked(goal, table, selection))
    assert found.shape == (12, 5, 3)
    assert found.dtype == torch.float32
    rows = zip(goal.tolist(), table.tolist(), selection.tolist(), strict=True)
    agree(found, np.stack([naive.action_scores(entities, *row) for row in rows]))
    assert (found[torch.from_numpy(table == 0)] == 0).all()
    assert (found[3] == 0).all()


def test_calibrated_scores_are_log_ratios(book: RecipeBook, model: ComplEx, recipes: NaryPredictor) -> None:
    calibrated = everything(frozen(book.entities, model, recipes))
    raw = everything(frozen(book.entities, model, recipes, calibrated=False))
    assert (calibrated[..., :2] <= np.log(len(model.vocabulary.entities)) + 1e-3).all()
    assert not torch.equal(calibrated[..., :2], raw[..., :2])
    assert torch.equal(calibrated[..., 2], raw[..., 2])


def test_relations_are_in_the_order_asked_for(book: RecipeBook, model: ComplEx, recipes: NaryPredictor) -> None:
    query = asked(*queries(len(book.entities)))
    whole = frozen(book.entities, model, recipes)
    full, scorers = whole.action_scores(query), dict(zip(whole.relations, whole.scorers, strict=True))
    assert whole.relations == RELATION_NAMES
    for chosen in ((2, 0), (0, 1), (2,), ()):
        some = RelationScores(book.entities, {RELATION_NAMES[k]: scorers[RELATION_NAMES[k]] for k in chosen})
        assert some.relations == tuple(RELATION_NAMES[k] for k in chosen)
        assert torch.equal(some.action_scores(query), full[..., list(chosen)])
    assert not whole.state_dict()  # the tables are made anew, not saved


def test_a_relation_that_nobody_states_facts_of_is_told(
    book: RecipeBook, model: ComplEx, recipes: NaryPredictor
) -> None:
    query = asked(*queries(len(book.entities)))
    some = query._replace(relations=("likes", *query.relations[1:]))
    with pytest.raises(InputError, match=r"choices are about likes, .*: nothing speaks for a choice by 'combinesWith'"):
        frozen(book.entities, model, recipes).action_scores(some)


def test_any_link_predictor_will_do(book: RecipeBook, recipes: NaryPredictor) -> None:
    scores = frozen(book.entities, recipes, recipes)
    naive = Naive(recipes, recipes)
    goal, table, selection = queries(len(book.entities))
    for row, found in enumerate(scores.action_scores(asked(goal, table, selection))):
        agree(found, naive.action_scores(book.entities, int(goal[row]), table[row].tolist(), int(selection[row])))


def test_of_pairs_that_are_not_wanted_the_table_is_empty(book: RecipeBook, recipes: NaryPredictor) -> None:
    size = len(book.entities)
    wanted = torch.from_numpy(np.random.default_rng(2).random((size, size)) < 0.5)
    some, every = pair_scorer(recipes, book.entities, wanted=wanted), pair_scorer(recipes, book.entities)
    assert isinstance(some, PairTable)
    assert isinstance(every, PairTable)
    there = wanted[*torch.triu_indices(size, size)]
    assert torch.equal(some.table, torch.where(there, every.table, 0))


def test_pairs_are_scored_when_they_are_needed_as_in_a_whole_table(book: RecipeBook, recipes: NaryPredictor) -> None:
    size = len(book.entities)
    lazy, whole = pair_scorer(recipes, book.entities), pair_scorer(recipes, book.entities)
    assert isinstance(lazy, PairTable)
    assert isinstance(whole, PairTable)
    assert whole.table.all(), "log-probabilities are below 0"
    assert not lazy.get_buffer("_table").any()
    few = torch.from_numpy(np.random.default_rng(0).integers(size // 2, size + 1, (20, 3)))
    both = [torch.cat([scorer(*few.T[:, :, None], None) for _ in range(2)]) for scorer in (lazy, whole)]
    assert torch.equal(*both)
    made = (lazy.get_buffer("_table") != 0).all(dim=0)
    assert 0 < made.sum() < len(made), "columns of some pairs"
    assert torch.equal(lazy.table, whole.table)
    moved = pair_scorer(recipes, book.entities).to("cpu")
    assert torch.equal(moved.get_buffer("_table"), whole.table), "a table is moved as a whole"


def test_how_far_the_scores_of_pairs_are_is_told(
    book: RecipeBook, recipes: NaryPredictor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0)
    made = pair_scorer(recipes, book.entities)
    assert isinstance(made, PairTable)
    assert made.table.any()
    assert f"scores of pairs: {len(book.entities)} of {len(book.entities)}, " in capsys.readouterr().err


# ---- scores by predictors that have not seen a fact


def held_out(book: RecipeBook, model: ComplEx, recipes: NaryPredictor) -> tuple[RelationScores, ...]:
    """Scores with other ones in training mode, the plain ones, and those others."""
    other = ComplEx.fit(list(facts(book, partition="all"))[::2], rank=4, vocabulary=model.vocabulary, device="cpu")
    vectors = np.random.default_rng(5).normal(size=(len(book.entities), 4))
    settings = NarySettings(width=4, hidden=4, epochs=5)
    part = NaryPredictor.fit(book.recipes[::2], vectors, recipes.vocabulary, settings=settings, device="cpu")
    whole, rest = frozen(book.entities, model, recipes), frozen(book.entities, other, part)
    both = zip(whole.relations, whole.scorers, rest.scorers, strict=True)
    return RelationScores(book.entities, {name: HeldOut(a, b) for name, a, b in both}), whole, rest


def test_in_training_facts_are_scored_by_other_predictors(
    book: RecipeBook, model: ComplEx, recipes: NaryPredictor
) -> None:
    scores, whole, rest = held_out(book, model, recipes)
    assert not scores.training
    policy = nn.Sequential(scores)  # a policy holds them as a part
    for _ in range(2):
        assert torch.equal(everything(scores), everything(whole))
        policy.train()
        assert torch.equal(everything(scores), everything(rest))
        assert not (everything(rest) == everything(whole)).all(2).any()
        policy.eval()


def test_a_twin_has_the_same_tables_and_a_mode_of_its_own(
    book: RecipeBook, model: ComplEx, recipes: NaryPredictor
) -> None:
    scores, whole, rest = held_out(book, model, recipes)
    scores.train()
    twin = scores.twin()
    assert not twin.training
    assert torch.equal(everything(twin), everything(whole))
    assert torch.equal(everything(scores), everything(rest))
    twin.train()
    scores.eval()
    assert torch.equal(everything(twin), everything(rest))
    assert torch.equal(everything(scores), everything(whole))
    ours, theirs = dict(scores.named_buffers()), dict(twin.named_buffers())
    assert ours.keys() == theirs.keys()
    assert all(table is theirs[name] for name, table in ours.items())


def test_without_held_out_scores_training_changes_nothing(
    book: RecipeBook, model: ComplEx, recipes: NaryPredictor
) -> None:
    scores = frozen(book.entities, model, recipes)
    assert torch.equal(everything(scores), everything(scores.train()))


# ---- in the worlds


def test_takes_the_facts_of_a_world_as_they_are(book: RecipeBook, model: ComplEx, recipes: NaryPredictor) -> None:
    scores, naive = frozen(book.entities, model, recipes), Naive(model, recipes)
    env = WordCraftVectorEnv(3, recipe_book=book, num_distractors=2, split="none")
    env.reset(seed=0)
    selected = 0
    for _ in range(3):
        found = scores.action_scores(env.action_facts()._replace(chosen=None))
        for row in range(3):
            expected = naive.action_scores(
                book.entities, int(env.goal[row]), env.table[row].tolist(), int(env.selection[row])
            )
            agree(found[row], expected)
        selected += int((env.selection > 0).sum())
        env.step(env.random_actions())
    assert selected


def test_as_a_part_of_the_observation(book: RecipeBook, model: ComplEx, recipes: NaryPredictor) -> None:
    naive = Naive(model, recipes)
    inner = WordCraftEnv(recipe_book=book, num_distractors=2, split="none")
    advice = Advice(frozen(book.entities, model, recipes), inner.vocabulary, inner.relations, repeat="paper")
    env = KGScores(inner, advice)
    observation, _ = env.reset(seed=3)
    observation, *_ = env.step(int(np.flatnonzero(env.action_masks())[0]))
    assert observation in env.observation_space
    named = inner.action_facts().labels(inner.vocabulary)
    assert any(named)
    for of_candidate, row in zip(named, observation["kg_scores"], strict=True):
        assert len(of_candidate) == 3 or not row.any()
        for s, p, o, *given in of_candidate:
            score = naive.recipe(s, given[0], o) if given else naive.fact(s, p, o)
            tolerance = 0.02 if given else 1e-3  # the table of recipes has 16 bits
            assert row[RELATION_NAMES.index(p)] == pytest.approx(np.clip(score, -20, 20), abs=tolerance)


def test_a_world_without_goals_asks_for_combinations_only(
    book: RecipeBook, model: ComplEx, recipes: NaryPredictor
) -> None:
    env = LittleAlchemyEnv(recipe_book=book)
    env.reset(seed=0)
    chosen = int(np.flatnonzero(env.action_masks())[0])
    env.step(chosen)
    scores = RelationScores(book.entities, {"combinesWith": binary_scorer(model, "combinesWith", book.entities)})
    found = scores.action_scores(env.action_facts()._replace(chosen=None))[0]
    naive, open_ = Naive(model), env.action_masks().astype(bool)
    assert found.shape == (len(book.entities), 1)
    assert (found[~torch.from_numpy(open_)] == 0).all()
    expected = [naive.fact(book.entities[x], "combinesWith", book.entities[chosen]) for x in np.flatnonzero(open_)]
    np.testing.assert_allclose(found[torch.from_numpy(open_), 0], expected, rtol=1e-4)
    with pytest.raises(InputError, match="nothing speaks for a choice by 'componentOf'"):
        frozen(book.entities, model, recipes).action_scores(env.action_facts())


def test_a_table_is_looked_up_row_by_column() -> None:
    scores = RelationScores(("a", "b"), {"r": BinaryTable(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))})
    subject, object_ = np.array([[1, 2, 1]]), np.array([[2, 1, 0]])
    found = scores.action_scores(action_facts(("r",), (1, 3), [(subject, object_, 0)]))
    assert found[0, :, 0].tolist() == [2.0, 3.0, 0.0]
