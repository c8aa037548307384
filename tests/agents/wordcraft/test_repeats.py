"""What is selected already is selected again only where a recipe uses it twice: by every kind of knowledge."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.agents import Advice, TrainConfig
from gumption.agents.evaluation import play
from gumption.agents.knowledge import Knowledge
from gumption.agents.wordcraft.cross_fit import cross_fitted
from gumption.agents.wordcraft.evaluation import baseline, player_of
from gumption.envs.action_facts import action_facts
from gumption.envs.wordcraft import RecipeBook, WordCraftVectorEnv, facts, make_split
from gumption.envs.wordcraft.facts import RELATION_NAMES, RELATIONS, binary_facts, node_facts
from gumption.envs.worlds import WORLDS
from gumption.kg import ComplEx, KnowledgeGraph, NaryPredictor, Vocabulary, fit_pykeen
from gumption.kg.links.nary_predictor import NarySettings

from .conftest import SmallFits

pytestmark = pytest.mark.filterwarnings(
    "ignore::gumption.agents.knowledge.LeakedFacts", "ignore::gumption.agents.knowledge.UnknownEntities"
)
Pairs = set[tuple[str, str]]


def saved(path: Path, triples: Collection[tuple[str, str, str]]) -> str:
    graph = KnowledgeGraph()
    graph.add(triples, graph="mine")
    graph.save(path)
    return str(path)


# ---- the recipes of the shipped book that use one thing twice


@pytest.fixture(scope="module")
def shipped() -> RecipeBook:
    return RecipeBook.load("commonsense")


@pytest.fixture(scope="module")
def twice(shipped: RecipeBook) -> np.ndarray:
    """(95, 3) the rows of those recipes."""
    rows = shipped.recipes[shipped.recipes[:, 0] == shipped.recipes[:, 1]]
    assert (len(rows), len(shipped.recipes)) == (95, 4454)
    return rows


def tables(book: RecipeBook, rows: np.ndarray) -> tuple[WordCraftVectorEnv, np.ndarray]:
    """A table for each recipe: its thing, and eight that no recipe of the goal uses; the slots of the things."""
    env = WordCraftVectorEnv(len(rows), recipe_book=book, num_distractors=8, split=None, autoreset_mode="Disabled")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    slots = rng.integers(0, 9, size=len(rows))
    for i, (thing, _, goal) in enumerate(rows.tolist()):
        used = {goal, *book.recipes[book.recipes[:, 2] == goal][:, :2].ravel().tolist()}
        table = [entity for entity in rng.permutation(len(book.entities)).tolist() if entity not in used][:8]
        table.insert(slots[i], thing)
        options = {"goal": book.entities[goal], "table": [book.entities[entity] for entity in table]}
        env.reset(options={**options, "reset_mask": np.arange(len(rows)) == i})
    return env, slots


def looks_up(kg: str, scores: tuple[str, ...]) -> TrainConfig:
    return TrainConfig(kg=kg, kg_fit=False, kg_scores=scores, agent="graph", features="onehot", device="cpu")


@pytest.mark.parametrize(
    "scores", [("componentOf",), pytest.param(("combinesWith", "componentOf"), marks=pytest.mark.slow)]
)
def test_each_recipe_that_uses_a_thing_twice_is_solved_by_look_up(
    shipped: RecipeBook, twice: np.ndarray, tmp_path: Path, scores: tuple[str, ...]
) -> None:
    env, slots = tables(shipped, twice)
    rows = play(player_of("kg_only", looks_up("full", scores)), env)
    solved = {tuple(row) for row, success in zip(twice.tolist(), rows["success"], strict=True) if success}
    assert solved == set(map(tuple, twice.tolist()))

    # The same graph without the facts that pair a thing with itself: choosing it again is worth no more than the rest.
    others = shipped.recipes[shipped.recipes[:, 0] != shipped.recipes[:, 1]]
    known = binary_facts(shipped, shipped.recipes) | node_facts(shipped, others)
    unpaired = saved(tmp_path / "unpaired.nq", [fact for fact in known if fact[0] != fact[2]])
    player = player_of("kg_only", looks_up(unpaired, scores))
    env, slots = tables(shipped, twice)
    assert player(env, np.ones(len(twice), dtype=bool)).tolist() == slots.tolist(), "the goal's component is known"
    env.step(slots)
    advice = player.policy.advice
    said = advice(env)[torch.arange(len(twice)), torch.from_numpy(slots)]
    assert torch.equal(said, advice.said.amin(1)), "of the other things none is a component"
    again = player(env, np.zeros(len(twice), dtype=bool)) == slots
    assert again.mean() < 0.25, "nothing speaks for any of nine: chance decides"


# ---- every kind of knowledge


@pytest.fixture
def knowledge(book: RecipeBook, words_file: Path) -> Callable[..., Knowledge]:
    def make(kg: str, **given: Any) -> Knowledge:
        return Knowledge.of(
            SmallFits(kg=kg, **given),
            WORLDS["wordcraft"],
            ("", *book.entities),
            RELATIONS,
            {"recipe_book": book},
            word_vectors=str(words_file),
        )

    return make


def advised(made: Knowledge, folder: Path | None = None, turned: bool = False) -> Advice:
    """The advice of knowledge.

    :param folder: where it is kept and loaded from again.
    :param turned: for an environment whose vocabulary has another order.
    """
    entities = made.scores.entities
    vocabulary = ("", *(reversed(entities) if turned else entities))
    if folder is not None:
        made.save(folder)
        made = Knowledge.load(folder, vocabulary, RELATIONS)
    return made.advice(vocabulary, RELATIONS)


def check_repeats(advice: Advice, expected: Pairs) -> None:
    """Of each pair (thing, goal) the thing, once it is selected, has the scores that the paper's agents give it if the
    pair is expected, else the least scores of all."""
    entities = advice.vocabulary[1:]
    labels = [(thing, goal) for thing in entities for goal in entities]
    ids = {label: i for i, label in enumerate(advice.vocabulary)}
    thing, goal = (np.array([[ids[label]] for label in part]) for part in zip(*labels, strict=True))
    table = np.tile(np.arange(1, len(ids)), (len(labels), 1))
    parties = [(table, thing, 0), (table, goal, 0), (table, goal, thing)]
    asked = action_facts(RELATION_NAMES, table.shape, parties, partners=table, chosen=thing)
    by_paper = Advice(advice.scores, advice.vocabulary, RELATIONS, repeat="paper").score(asked)
    rows, slots = torch.arange(len(labels)), torch.from_numpy(thing[:, 0] - 1)
    paper, least, found = by_paper[rows, slots], by_paper.amin(1), advice.score(asked)[rows, slots]
    again = torch.tensor([pair in expected for pair in labels])
    assert torch.equal(found, torch.where(again[:, None], paper, least))
    differ = (paper != least).any(1)
    assert (again & differ).any() or not expected, "the check can fail"
    assert (~again & differ).any()


def used_twice(book: RecipeBook, rows: np.ndarray) -> Pairs:
    return {(book.entities[a], book.entities[c]) for a, b, c in rows.tolist() if a == b}


@pytest.fixture
def in_training(book: RecipeBook) -> Pairs:
    """(thing, goal) of the training recipes that use the thing twice; the test part has one, too."""
    found = used_twice(book, make_split(book).train_recipes)
    assert 2 < len(found) < len(used_twice(book, book.recipes))
    return found


def of_any_goal(book: RecipeBook, known: Pairs) -> Pairs:
    """Where facts of two parties alone are known, what combines with itself does so for any goal."""
    return {(thing, goal) for thing, _ in known for goal in book.entities}


@pytest.mark.parametrize(
    ("fit", "scores"),
    [(True, ()), *((fit, some) for fit in (False, True) for some in (("componentOf",), ("combinesWith", "makes")))],
)
def test_recipes_say_what_is_used_twice_whatever_is_scored(
    knowledge, in_training: Pairs, tmp_path: Path, fit: bool, scores: tuple[str, ...]
) -> None:
    made = knowledge("train", kg_fit=fit, kg_scores=scores)
    check_repeats(advised(made), in_training)
    check_repeats(advised(made, turned=True), in_training)
    check_repeats(advised(made, tmp_path / "kept"), in_training)
    check_repeats(advised(made, tmp_path / "kept", turned=True), in_training)


def test_scores_of_predictors_that_have_not_seen_a_recipe_have_its_exception(knowledge, in_training: Pairs) -> None:
    advice = advised(cross_fitted(knowledge("train", kg_scores=("componentOf", "makes"))))
    check_repeats(advice, in_training)
    advice.scores.train()
    check_repeats(advice, in_training)


def test_facts_of_two_parties_say_what_is_used_twice_where_no_recipe_does(
    knowledge, book: RecipeBook, in_training: Pairs, tmp_path: Path
) -> None:
    pairs = list(facts(book, partition="train"))
    whole, parts = (saved(tmp_path / f"{name}.nq", some) for name, some in (
        ("whole", pairs), ("parts", [fact for fact in pairs if fact[1] == "componentOf"]),
    ))  # fmt: skip
    expected = of_any_goal(book, in_training)
    for given in ({}, {"kg_scores": ("componentOf",)}, {"kg_fit": True}):
        made = knowledge(whole, **given)
        check_repeats(advised(made), expected)
        check_repeats(advised(made, tmp_path / f"kept{len(given)}", turned=True), expected)
    check_repeats(advised(knowledge(parts)), set())


def test_facts_of_other_names_and_those_that_rules_entail_count(
    knowledge, book: RecipeBook, in_training: Pairs, tmp_path: Path
) -> None:
    names = {"combinesWith": "goesWith", "componentOf": "partOf"}
    theirs = saved(tmp_path / "theirs.nq", [(s, names[r], o) for s, r, o in facts(book, partition="train")])
    rules = [{"head": f"{head}(x, y)", "body": [f"{body}(x, y)"]} for head, body in names.items()]
    (tmp_path / "rules.json").write_text(json.dumps({"rules": rules}))
    expected = of_any_goal(book, in_training)
    check_repeats(advised(knowledge(theirs, kg_relations=tuple(names.items()))), expected)
    check_repeats(advised(knowledge(theirs, kg_rules=str(tmp_path / "rules.json"))), expected)


def test_beside_recipes_an_outside_graph_says_nothing_of_what_is_used_twice(
    knowledge, book: RecipeBook, in_training: Pairs, tmp_path: Path
) -> None:
    links = [(thing, "near", thing) for thing in book.entities]
    links += [(s, "near", o) for s, r, o in facts(book, partition="train") if r == "componentOf"]
    graph = saved(tmp_path / "outside.nq", links)
    fed = knowledge("train", kg_beside=graph)
    check_repeats(advised(fed), in_training)
    check_repeats(advised(fed, tmp_path / "fed"), in_training)
    rules = [{"head": "combinesWith(x, y)", "body": ["near(x, y)"]}]
    (tmp_path / "rules.json").write_text(json.dumps({"rules": rules}))
    for scores in ((), ("componentOf",)):
        beside = knowledge("train", kg_scores=scores, kg_beside=graph, kg_rules=str(tmp_path / "rules.json"))
        assert "combinesWith" in beside.scores.relations
        check_repeats(advised(beside), in_training)
        check_repeats(advised(beside, tmp_path / f"beside{len(scores)}", turned=True), in_training)


@pytest.mark.parametrize("model", ["complex", "distmult"])
def test_a_link_predictor_has_the_exceptions_of_its_facts(
    knowledge, book: RecipeBook, in_training: Pairs, tmp_path: Path, model: str
) -> None:
    """One of ours, and one that PyKEEN trains."""
    vocabulary, known = ("", *book.entities), list(facts(book, partition="train"))
    predictor = (
        ComplEx.fit(known, rank=8, epochs=5, device="cpu")
        if model == "complex"
        else fit_pykeen(known, model, rank=8, epochs=1, device="cpu")
    )
    expected = of_any_goal(book, in_training)
    check_repeats(Advice(predictor, vocabulary, RELATIONS), expected)
    check_repeats(Advice(predictor, vocabulary, ("componentOf",)), set())
    predictor.save(tmp_path / "model")
    for given in ({}, {"kg_scores": ("componentOf",)}, {"kg_relations": (("combinesWith", "^combinesWith"),)}):
        made = knowledge(str(tmp_path / "model"), **given)
        check_repeats(advised(made), expected)
        check_repeats(advised(made, tmp_path / f"kept{len(given)}", turned=True), expected)


def test_a_predictor_of_recipes_has_the_exceptions_of_its_recipes(
    knowledge, book: RecipeBook, in_training: Pairs, tmp_path: Path
) -> None:
    vectors = np.random.default_rng(0).normal(size=(len(book.entities), 8))
    rows, words = make_split(book).train_recipes, Vocabulary(book.entities, ("p", "q"))
    small = NarySettings(width=8, hidden=8, epochs=5)
    recipes = NaryPredictor.fit(rows, vectors, words, settings=small, device="cpu")
    check_repeats(Advice(recipes, ("", *book.entities), RELATIONS), in_training)
    recipes.save(tmp_path / "recipes")
    check_repeats(advised(knowledge(str(tmp_path / "recipes")), tmp_path / "kept", turned=True), in_training)


# ---- playing


def test_components_alone_solve_training_tasks(configure, book: RecipeBook, tmp_path: Path) -> None:
    """C.4 of the paper: the component that fits best is chosen twice. By the rule two components are chosen."""
    parts = [fact for fact in facts(book, partition="train") if fact[1] == "componentOf"]
    config = configure(kg=saved(tmp_path / "parts.nq", parts), final_draws=10)
    by_rule = baseline("kg_only", config)
    by_paper = baseline("kg_only", configure(kg=config.kg, repeat="paper", final_draws=10))
    assert by_rule["train_success"] > 0.75
    assert by_rule["same_slot_twice"] < 0.15
    assert by_paper["train_success"] < by_rule["train_success"] - 0.3
    assert by_paper["same_slot_twice"] > 0.3
