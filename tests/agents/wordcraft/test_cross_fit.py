"""Cross-fitting: while learning, each fact is scored by predictors that have not seen it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from gumption.agents.knowledge import Knowledge
from gumption.agents.wordcraft.cross_fit import FOLDS, cross_fitted
from gumption.data import InputError
from gumption.envs.wordcraft import RecipeBook, facts, make_split
from gumption.envs.wordcraft.facts import RELATION_NAMES, RELATIONS
from gumption.envs.worlds import WORLDS
from gumption.kg import KnowledgeGraph

from .conftest import Seen, SmallFits, ask, tables


def test_recipes_of_one_pair_share_a_fold(book: RecipeBook, seen: Seen, scores) -> None:
    scores(book, relations=("makes",))
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["folds"]
    assert len(rows) == len(folds)
    assert set(folds.tolist()) == set(range(FOLDS))
    fold_of_pair: dict[tuple[str, str], int] = {}
    for (a, b, _), fold in zip(rows, folds.tolist(), strict=True):
        assert fold_of_pair.setdefault((a, b), fold) == fold
    assert len(fold_of_pair) < len(rows)  # there are pairs with several products
    sizes = np.bincount(list(fold_of_pair.values()))
    assert sizes.max() - sizes.min() <= 1


def test_in_training_a_fact_is_scored_by_a_predictor_that_has_not_seen_it(book: RecipeBook, seen: Seen, scores) -> None:
    split = make_split(book)
    held_out = tables(scores(book, split))
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["folds"]
    # The fits without a fold, in order, are those after the first, which saw all.
    without = seen.complex[1:]
    for fold, (shown, _) in enumerate(without):
        mine = [row for row, f in zip(rows, folds.tolist(), strict=True) if f == fold]
        assert mine
        for a, b, _ in mine:
            assert (a, "combinesWith", b) not in shown
        rest = [row for row, f in zip(rows, folds.tolist(), strict=True) if f != fold]
        expected = {(x, "componentOf", c) for a, b, c in rest for x in (a, b)}
        assert {triple for triple in shown if triple[1] == "componentOf"} == expected
    assert {name for name in held_out if ".held_out.table" in name} == {f"{r}.held_out.table" for r in RELATION_NAMES}


@pytest.mark.slow
def test_in_training_each_pair_is_scored_by_the_predictor_of_its_fold(book: RecipeBook, seen: Seen, scores) -> None:
    made = scores(book)
    assert not made.training
    everything = [(a, b, c) for a in range(1, 34) for b in range(1, 34) for c in range(1, 34, 4)]
    whole = ask(made, everything)
    learning = ask(made.train(), everything)
    assert torch.equal(ask(made.eval(), everything), whole)
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["folds"]
    parts = seen.parts[0]

    def of_fold(fold: int, some: Sequence[tuple[int, int, int]]) -> torch.Tensor:
        a, b, c = (torch.tensor(part) - 1 for part in zip(*some, strict=True))
        return parts[fold].log_probabilities(a, b).gather(1, c[:, None])[:, 0].clamp_min(-30) + np.log(33)

    each = torch.stack([of_fold(fold, everything) for fold in range(FOLDS)])
    assert torch.isclose(each, learning[:, 2], atol=0.02).any(0).all()  # that of some fold
    ids = {label: i + 1 for i, label in enumerate(book.entities)}
    for (a, b, c), fold in zip(rows, folds.tolist(), strict=True):
        for pair in ((a, b), (b, a)):  # and of a known pair that of its own
            query = [(ids[pair[0]], ids[pair[1]], ids[c])]
            torch.testing.assert_close(ask(made.train(), query)[:, 2], of_fold(fold, query), atol=0.02, rtol=0)


@pytest.mark.slow
def test_in_training_a_fact_is_less_likely_than_once_it_is_known(book: RecipeBook, seen: Seen, scores) -> None:
    split = make_split(book)
    known, learning = (scores(book, split, epochs=50).train(mode) for mode in (False, True))
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["folds"]
    folds_of_fact: dict[tuple[str, str], set[int]] = {}
    for (a, b, c), fold in zip(rows, folds.tolist(), strict=True):
        for x in (a, b):
            folds_of_fact.setdefault((x, c), set()).add(fold)
    ids = {label: i + 1 for i, label in enumerate(book.entities)}
    less: dict[str, list[bool]] = {name: [] for name in RELATION_NAMES}
    for a, b, c in rows:
        query = [(ids[a], ids[b], ids[c])]
        fall = (ask(known, query) - ask(learning, query))[0].tolist()
        for name, difference in zip(RELATION_NAMES, fall, strict=True):
            if name != "componentOf" or len(folds_of_fact[a, c]) == 1:
                less[name].append(difference > 0)
    assert {name: np.mean(falls) > 0.9 for name, falls in less.items()} == dict.fromkeys(RELATION_NAMES, True)
    assert len(less["componentOf"]) < len(rows)  # there are facts that no fold is without


def test_recipes_that_a_split_sets_aside_together_share_a_fold(book: RecipeBook, seen: Seen, scores) -> None:
    made = scores(book, relations=("makes",), together=lambda rows: rows[:, 2])
    rows, folds = seen.folds[0][1]["rows"], seen.folds[0][1]["folds"]
    fold_of: dict[object, int] = {}
    for (a, b, goal), fold in zip(rows, folds.tolist(), strict=True):
        assert fold_of.setdefault(goal, fold) == fold_of.setdefault((a, b), fold) == fold
    assert set(fold_of.values()) == set(range(FOLDS))
    # A goal is scored by one predictor, which knows no recipe of it, whichever pair is asked about.
    ids = {label: i + 1 for i, label in enumerate(book.entities)}
    pairs = [(a, b) for a in range(1, 34) for b in range(a, 34)]
    first, second = (torch.tensor(part) - 1 for part in zip(*pairs, strict=True))
    for goal in {goal for _, _, goal in rows}:
        known = seen.parts[0][fold_of[goal]].log_probabilities(first, second)[:, ids[goal] - 1]
        asked = ask(made.train(), [(a, b, ids[goal]) for a, b in pairs])[:, 0]
        torch.testing.assert_close(asked, known.clamp_min(-30) + np.log(33), atol=0.02, rtol=0)


@pytest.mark.parametrize("pairs", [2, 3])
def test_fewer_pairs_than_folds_make_fewer_folds(seen: Seen, scores, book: RecipeBook, pairs: int) -> None:
    rows = [("mud", "water", "earth"), ("steam", "water", "fire"), ("lava", "earth", "fire")][:pairs]
    small = RecipeBook("tiny", book.entities, [*rows, ("sand", "stone", "air")])
    split = make_split(small, "by_recipe", train_ratio=pairs / (pairs + 1))
    assert len(split.train_recipes) == pairs
    assert tables(scores(small, split))["makes.held_out.table"].isfinite().all()
    assert len(seen.complex) == 1 + pairs


def test_nothing_can_be_left_out_of_knowledge_without_recipes(book: RecipeBook, tmp_path: Path) -> None:
    graph = KnowledgeGraph()
    graph.add(facts(book, partition="train"), graph="pairs")
    graph.save(tmp_path / "pairs.nq")
    config = SmallFits(kg=str(tmp_path / "pairs.nq"), kg_fit=True)
    made = Knowledge.of(config, WORLDS["wordcraft"], ("", *book.entities), RELATIONS, {"recipe_book": book})
    assert made.scores.relations == RELATION_NAMES[:2]  # all that there is, where there are no recipes
    with pytest.raises(InputError, match="cross_fit leaves recipes out, and the knowledge has none"):
        cross_fitted(made)


def test_cross_fitting_needs_tables(book: RecipeBook, scores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gumption.kg.scores.TABLE_BYTES", 33 * 34 * 33 - 1)
    with pytest.raises(InputError, match="cross_fit needs tables, and 33 entities are too many for them"):
        scores(book)
