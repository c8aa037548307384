"""Facts of WordCraft as triples of labels. The partition is required, so that no test fact leaks by default."""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Literal, Protocol

import numpy as np

from gumption.data.settings import Seed, checked
from gumption.envs.memory import Triple
from gumption.envs.priors import Laws, Names
from gumption.kg import KnowledgeGraph, NaryRelation

from .recipe_book import RecipeBook
from .splits import PARTS, Mode, Split, TrainRatio, make_split

COMBINES_WITH, COMPONENT_OF = "combinesWith", "componentOf"
HAS_INGREDIENT, HAS_PRODUCT = "hasIngredient", "hasProduct"
# A recipe is one n-ary fact; it entails binary facts.
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
# Relations of an agent's evidence: see memory.py.
HAS_MIXED, HAS_FIRST_MIX = "hasMixed", "hasFirstMix"
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
    fit_validation: bool = False,
    names: Names = "real",
    laws: Laws = "real",
) -> Iterator[Triple]:
    """Yield the four binary facts of each recipe {a, b} -> c, distinct and sorted: a combinesWith b, b combinesWith a,
    a componentOf c, b componentOf c.

    A fact that recipes of several parts imply belongs to the first of these parts. So "validation" has the facts that
    validation recipes imply and training recipes do not; "test" has the facts that only test recipes imply.

    :param partition: "train", "validation" (for choosing settings), "test" or "all".
    :param split: a mode of `make_split` (at depth 1), or a Split, which replaces ratio, seed and fit_validation.
    :param fit_validation: add the facts of validation to "train"; see `make_split`.
    :param names, laws: of the book, see `RecipeBook.under`.
    :raises InputError: unknown part, mode or book; a part that does not exist.
    """
    book = RecipeBook.load(recipe_book).under(names, laws)
    return _of_part(binary_facts, book, partition, split, train_ratio, split_seed, fit_validation)


@checked
def recipe_facts(
    recipe_book: str | PathLike[str] | RecipeBook = "commonsense",
    *,
    partition: FactPart,
    split: Mode | Split = "by_recipe",
    train_ratio: TrainRatio = 0.8,
    split_seed: Seed = 0,
    fit_validation: bool = False,
    names: Names = "real",
    laws: Laws = "real",
) -> Iterator[Triple]:
    """Yield recipe nodes, one per unordered pair: (recipe:fire+water, hasIngredient, fire), (.., hasProduct, steam).

    Arguments, order and parts are as for `facts`. However, every part with a product of a node also has the node's
    ingredients, since they identify the recipe.
    """
    book = RecipeBook.load(recipe_book).under(names, laws)
    found = set(_of_part(node_facts, book, partition, split, train_ratio, split_seed, fit_validation))
    nodes = {node for node, relation, _ in found if relation == HAS_PRODUCT}
    every = node_facts(book, book.recipes)
    return iter(sorted(found | {fact for fact in every if fact[0] in nodes and fact[1] == HAS_INGREDIENT}))


def binary_facts(book: Named, recipes: np.ndarray) -> set[Triple]:
    """Return the four triples of each of the (n, 3) rows (a, b, product)."""
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
    """Return the triples of the recipe nodes of (n, 3) rows (a, b, product)."""
    triples: set[Triple] = set()
    for row in recipes.tolist():
        a, b, product = (book.entities[i] for i in row)
        node = f"recipe:{a}+{b}"
        triples |= {(node, HAS_INGREDIENT, a), (node, HAS_INGREDIENT, b), (node, HAS_PRODUCT, product)}
    return triples


@checked
def linked(graph: KnowledgeGraph, entities: Sequence[str]) -> np.ndarray:
    """Return (N, N) bool: whether a graph has a fact of any relation and direction between two different entities."""
    ids = {label: i for i, label in enumerate(entities)}
    links = np.zeros((len(ids), len(ids)), dtype=bool)
    pairs = [(ids[s], ids[o]) for s, _, o in graph.triples() if s in ids and o in ids and s != o]
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    links[one, other] = links[other, one] = True
    return links


def both_linked(book: RecipeBook, links: np.ndarray) -> np.ndarray:
    """Return (R,) bool: the recipes of a book that a graph entails, that is, both ingredients link to the product.

    :param links: (N, N) bool of the book's entities, see `linked`.
    """
    a, b, product = book.recipes.T
    return links[a, product] & links[b, product]


def _of_part(make, book, partition, split, train_ratio, split_seed, fit_validation) -> Iterator[Triple]:
    if partition == "all":
        return iter(sorted(make(book, book.recipes)))
    if isinstance(split, Split):
        split.check_book(book)
    else:
        split = make_split(book, split, train_ratio, split_seed, fit_validation=fit_validation)
    found = make(book, split.recipes(partition))
    for earlier in PARTS[: PARTS.index(partition)]:
        found -= make(book, split.of("recipes", earlier))
    return iter(sorted(found))
