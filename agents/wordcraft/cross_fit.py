"""Cross-fitting: during training, each recipe is scored by predictors that were fitted without it.

A policy trained only on facts that its predictors have memorised trusts them too much, and fails on unseen facts.
Recipes are divided into folds; recipes of the same pair share a fold. A fact belongs to the fold of the recipe that
implies it; a table entry that is not a fact may belong to any fold. Recipes that a split sets aside together, such as
all recipes of a goal or a family, share a fold: the scores in training are then as uncertain as in the test.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import nn

from gumption.agents.advice import BINARY, StatedFacts
from gumption.agents.knowledge import Knowledge
from gumption.data import InputError
from gumption.envs.wordcraft.facts import COMBINES_WITH, COMPONENT_OF, MAKES
from gumption.kg.links.nary_predictor import PairPredictor
from gumption.kg.scores import BinaryTable, HeldOut, PairTable, RelationScores, binary_scorer, pair_scorer

FOLDS = 5
FOLD_MEMBERS = 2
#: Recipes (n, 3) -> (n,) int64, the group with which each recipe is set aside, -1 for no group.
Together = Callable[[np.ndarray], np.ndarray]


def cross_fitted(knowledge: Knowledge, together: Together | None = None) -> Knowledge:
    """Return the same knowledge with held-out scores in training mode, from predictors fitted without the fact.

    :param together: groups of recipes that share a fold, by ids of the knowledge's entities.
    :raises InputError: knowledge that is only looked up or has no recipes, or more entities than tables can hold.
    """
    fits = knowledge.fits
    if not knowledge.predictors:
        raise InputError("cross_fit leaves recipes out of fits, and the graph is looked up: add kg_fit=True (--kg-fit)")
    if fits is None or MAKES.name not in fits.stated.rows:
        raise InputError(
            "cross_fit leaves recipes out, and the knowledge has none: use kg='train', or a graph of recipes"
        )
    entities, device = knowledge.scores.entities, fits.device
    stated, seed = fits.stated, fits.config.kg_seed
    rows = stated.rows[MAKES.name]
    folds = _folds(rows, None if together is None else together(rows), seed)
    of_product = None if together is None else _of_product(rows, folds, len(entities))
    entry_folds = _entry_folds(rows, folds, len(entities), seed, of_product)
    binary = []
    if BINARY in knowledge.predictors:
        binary = [fits.complex(_without(stated, folds == fold)) for fold in range(folds.max() + 1)]
    nary = fits.nary_folds(MAKES.name, folds, FOLD_MEMBERS) if MAKES.name in knowledge.predictors else []
    scorers: dict[str, nn.Module] = {}
    for relation, whole in zip(knowledge.scores.relations, knowledge.scores.scorers, strict=True):
        if relation in knowledge.weights:  # looked up, not fitted: no recipe to hold out
            scorers[relation] = whole
            continue
        table: torch.Tensor | None = None
        for fold, part in enumerate(nary if relation == MAKES.name else binary):
            mine = torch.from_numpy(entry_folds[relation] == fold)
            if isinstance(part, PairPredictor):
                wanted = mine if of_product is None else None
                made = pair_scorer(part, entities, wanted=wanted, unknown=knowledge.unknown[relation], device=device)
                mine = mine[*torch.triu_indices(len(entities), len(entities))]
                if of_product is not None:
                    product = torch.from_numpy(of_product)[:, None]
                    mine = torch.where(product < 0, mine, product == fold)
            else:
                made = binary_scorer(
                    part,
                    relation,
                    entities,
                    calibrated=knowledge.calibrated,
                    unknown=knowledge.unknown[BINARY],
                    device=device,
                )
            if not isinstance(made, BinaryTable | PairTable):
                raise InputError(f"cross_fit needs tables, and {len(entities)} entities are too many for them")
            table = made.table if table is None else torch.where(mine.to(device), made.table, table)
        assert table is not None
        held_out = PairTable(table, whole.chance) if isinstance(whole, PairTable) else BinaryTable(table)
        scorers[relation] = HeldOut(whole, held_out)
    return replace(knowledge, scores=RelationScores(entities, scorers, knowledge.scores.repeats))


def _folds(rows: np.ndarray, group: np.ndarray | None, seed: int) -> np.ndarray:
    """Return (n,) the fold of each recipe; recipes of the same pair or group share a fold, so that none leaks."""
    pairs, part = np.unique(rows[:, :2], axis=0, return_inverse=True)
    count = len(pairs)
    if group is not None:
        groups, group_of = np.unique(np.where(group < 0, group.max() + 1 + part, group), return_inverse=True)
        size = count + len(groups)
        linked = coo_array((np.ones(len(rows)), (part, count + group_of)), shape=(size, size))
        count, part_of = connected_components(linked, directed=False)
        part = part_of[part]
    rng = np.random.Generator(np.random.PCG64(seed))
    return (rng.permutation(count) % min(FOLDS, count))[part]


def _of_product(rows: np.ndarray, folds: np.ndarray, size: int) -> np.ndarray:
    """Return (N,) the fold with all recipes of a product, -1 for several or none. The predictor fitted without that
    fold scores the product for every pair; otherwise only the pair that makes it would have a different score."""
    stated = np.zeros((size, int(folds.max()) + 1), dtype=bool)
    inside = rows[:, 2] < size
    stated[rows[inside, 2], folds[inside]] = True
    return np.where(stated.sum(1) == 1, stated.argmax(1), -1)


def _entry_folds(
    rows: np.ndarray, folds: np.ndarray, size: int, seed: int, of_product: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return, for each relation, (N, N) the fold of each entry of its table.

    :param of_product: (N,) the fold of each product that has one, else -1.
    """
    count = int(folds.max()) + 1
    rng = np.random.Generator(np.random.PCG64(seed))
    pair = rng.integers(count, size=(size, size))
    pair = np.triu(pair) + np.triu(pair, 1).T
    component = rng.integers(count, size=(size, size))
    inside = (rows < size).all(1)
    a, b, product = rows[inside].T
    pair[a, b] = pair[b, a] = folds[inside]
    # An ingredient in recipes of several folds is never held out entirely: any fold may score it.
    stated = np.zeros((count, size, size), dtype=bool)
    stated[folds[inside], a, product] = stated[folds[inside], b, product] = True
    only = stated.sum(0) == 1
    component[only] = stated.argmax(0)[only]
    if of_product is not None:
        component = np.where(of_product >= 0, of_product, component)
    return {COMBINES_WITH: pair, MAKES.name: pair, COMPONENT_OF: component}


def _without(stated: StatedFacts, left_out: np.ndarray) -> np.ndarray:
    """Return (m, 3) the facts of two parties, without facts implied only by the recipes left out."""
    rows, relations = stated.rows[MAKES.name], stated.vocabulary.relations
    combines, component = (relations.index(name) if name in relations else -1 for name in (COMBINES_WITH, COMPONENT_OF))

    def implied(recipes: np.ndarray) -> set[tuple[int, ...]]:
        facts: set[tuple[int, ...]] = set()
        for a, b, product in recipes.tolist():
            facts |= {(a, combines, b), (b, combines, a), (a, component, product), (b, component, product)}
        return facts

    only = implied(rows[left_out]) - implied(rows[~left_out])
    kept = np.array([tuple(row) not in only for row in stated.ids.tolist()], dtype=bool)
    return stated.ids[kept]
