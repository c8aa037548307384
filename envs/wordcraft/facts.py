"""The world's facts as triples of labels. The part must be named, so that no fact of a test recipe leaks by default."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Literal, Protocol

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Seed, SmallShare, checked
from gumption.envs.memory import Triple
from gumption.kg import KnowledgeGraph, NaryRelation

from .recipe_book import RecipeBook
from .splits import Mode, Split, TrainRatio, make_split

COMBINES_WITH, COMPONENT_OF = "combinesWith", "componentOf"
HAS_INGREDIENT, HAS_PRODUCT = "hasIngredient", "hasProduct"
# A recipe as the one fact that it is, and the facts of two parties that follow from it.
MAKES = NaryRelation(
    "makes",
    HAS_INGREDIENT,
    HAS_INGREDIENT,
    HAS_PRODUCT,
    entails=(("subject", COMBINES_WITH, "given"), ("subject", COMPONENT_OF, "object")),
)
NARY = (MAKES,)
RELATIONS = (COMBINES_WITH, COMPONENT_OF, MAKES)
RELATION_NAMES = (COMBINES_WITH, COMPONENT_OF, MAKES.name)
FactPart = Literal["train", "validation", "test", "all"]
# What an agent saw of a recipe: see memory.py.
HAS_RECIPE, HAS_OUTCOME, HAS_VISITS = "hasRecipe", "hasOutcome", "hasVisits"


class Named(Protocol):
    """A RecipeBook, or another object with its labels."""

    @property
    def entities(self) -> tuple[str, ...]: ...


@checked
def facts(
    recipe_book: str | PathLike[str] | RecipeBook = "commonsense",
    *,
    partition: FactPart,
    split: Mode | Split = "by_recipe",
    train_ratio: TrainRatio = 0.8,
    split_seed: Seed = 0,
    validation_ratio: SmallShare = 0.0,
) -> Iterator[Triple]:
    """The four binary facts of each recipe {a, b} -> c, distinct and sorted: a combinesWith b, b combinesWith a,
    a componentOf c, b componentOf c.

    A fact that a training recipe implies is a training fact, whatever else implies it: "test" gives the facts of the
    test recipes that are not among them. "validation", on which settings are chosen, is taken out of the training
    facts: the facts that only the recipes set aside imply, `validation_ratio` of the training pairs; "train" is then
    the facts of the others.

    :param partition: "train", "validation", "test" or "all".
    :param split: a mode of `make_split` (at depth 1), or a Split: then ratio and seed are its own.
    :raises InputError: unknown part, mode or book; a test or validation part that does not exist; a validation_ratio
        that leaves nothing to one of the two.
    """
    return _of_part(binary_facts, recipe_book, partition, split, train_ratio, split_seed, validation_ratio)


@checked
def recipe_facts(
    recipe_book: str | PathLike[str] | RecipeBook = "commonsense",
    *,
    partition: FactPart,
    split: Mode | Split = "by_recipe",
    train_ratio: TrainRatio = 0.8,
    split_seed: Seed = 0,
    validation_ratio: SmallShare = 0.0,
) -> Iterator[Triple]:
    """Recipes as nodes, one per unordered pair: (recipe:fire+water, hasIngredient, fire), (.., hasProduct, steam).

    Arguments, order and what "test" means are those of `facts`.
    """
    return _of_part(node_facts, recipe_book, partition, split, train_ratio, split_seed, validation_ratio)


def binary_facts(book: Named, recipes: np.ndarray) -> set[Triple]:
    """The four triples of each of the (n, 3) rows (a, b, product)."""
    triples: set[Triple] = set()
    for row in recipes.tolist():
        a, b, product = (book.entities[i] for i in row)
        triples |= {
            (a, COMBINES_WITH, b),
            (b, COMBINES_WITH, a),
            (a, COMPONENT_OF, product),
            (b, COMPONENT_OF, product),
        }
    return triples


def node_facts(book: Named, recipes: np.ndarray) -> set[Triple]:
    """The triples of the recipe nodes of (n, 3) rows (a, b, product)."""
    triples: set[Triple] = set()
    for row in recipes.tolist():
        a, b, product = (book.entities[i] for i in row)
        node = f"recipe:{a}+{b}"
        triples |= {(node, HAS_INGREDIENT, a), (node, HAS_INGREDIENT, b), (node, HAS_PRODUCT, product)}
    return triples


@checked
def linked(graph: KnowledgeGraph, entities: Sequence[str]) -> np.ndarray:
    """(N, N) bool: whether a graph of any relations has a fact between two different entities, in either direction."""
    ids = {label: i for i, label in enumerate(entities)}
    links = np.zeros((len(ids), len(ids)), dtype=bool)
    pairs = [(ids[s], ids[o]) for s, _, o in graph.triples() if s in ids and o in ids and s != o]
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    links[one, other] = links[other, one] = True
    return links


def both_linked(book: RecipeBook, links: np.ndarray) -> np.ndarray:
    """(R,) bool: the recipes of a book that a graph entails, both of whose ingredients are linked to the product.

    :param links: of the book's entities, see `linked`.
    """
    a, b, product = book.recipes.T
    return links[a, product] & links[b, product]


def _of_part(make, recipe_book, partition, split, train_ratio, split_seed, validation_ratio) -> Iterator[Triple]:
    book = RecipeBook.load(recipe_book)
    if partition == "all":
        return iter(sorted(make(book, book.recipes)))
    if isinstance(split, Split):
        split.check_book(book)
        parts = split
    else:
        parts = make_split(book, split, train_ratio, split_seed)
    if partition == "test" and not len(parts.test_recipes):
        raise InputError(f"the split {parts.parameters['mode']!r} has no test recipes")
    if partition == "test":
        return iter(sorted(make(book, parts.test_recipes) - make(book, parts.train_recipes)))
    rest, validation = _set_aside(parts.train_recipes, validation_ratio, parts.parameters["seed"])
    if partition == "validation" and not validation_ratio:
        raise InputError(
            "there is no validation part: say by validation_ratio which share of the training pairs it has"
        )
    train = make(book, rest)
    return iter(sorted(train if partition == "train" else make(book, validation) - train))


def _set_aside(recipes: np.ndarray, ratio: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) recipes in two parts, the second with a share of the distinct pairs."""
    if not ratio:
        return recipes, recipes[:0]
    pairs, pair_of = np.unique(recipes[:, :2], axis=0, return_inverse=True)
    count = round(ratio * len(pairs))
    if not 0 < ratio < 1 or not 0 < count < len(pairs):
        raise InputError(
            f"validation_ratio is {ratio!r}: it is a share between 0 and 1 of the {len(pairs)} training pairs that "
            "leaves some to both parts"
        )
    chosen = np.random.Generator(np.random.PCG64(seed)).permutation(len(pairs))[:count]
    held_out = np.isin(pair_of.reshape(-1), chosen)
    return recipes[~held_out], recipes[held_out]
