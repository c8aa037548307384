"""What the world states as triples of labels. The part must be named: nothing of a test recipe gets out unasked."""

from collections.abc import Iterator
from os import PathLike

import numpy as np

from gumption.data import InputError

from .recipe_book import RecipeBook
from .splits import PARTS, Split, make_split

COMBINES_WITH, COMPONENT_OF = "combinesWith", "componentOf"
HAS_INGREDIENT, HAS_PRODUCT = "hasIngredient", "hasProduct"
Triple = tuple[str, str, str]


def facts(
    recipe_book: str | PathLike[str] | RecipeBook = "commonsense",
    *,
    split: str,
    split_mode: str | Split = "by_recipe",
    train_ratio: float = 0.8,
    split_seed: int = 0,
) -> Iterator[Triple]:
    """The four binary facts of each recipe {a, b} -> c, distinct and sorted: a combinesWith b, b combinesWith a,
    a componentOf c, b componentOf c.

    A fact that a training recipe implies is a training fact, whatever else implies it: "test" gives the facts of the
    test recipes that are not among them.

    :param split: "train", "test" or "all".
    :param split_mode: a mode of `make_split` (at depth 1), or a Split: then ratio and seed are its own.
    :raises InputError: unknown part, mode or book; a test part that does not exist.
    """
    return _of_part(binary_facts, recipe_book, split, split_mode, train_ratio, split_seed)


def recipe_facts(
    recipe_book: str | PathLike[str] | RecipeBook = "commonsense",
    *,
    split: str,
    split_mode: str | Split = "by_recipe",
    train_ratio: float = 0.8,
    split_seed: int = 0,
) -> Iterator[Triple]:
    """Recipes as nodes, one per unordered pair: (recipe:fire+water, hasIngredient, fire), (.., hasProduct, steam).

    Arguments, order and what "test" means are those of `facts`.
    """
    return _of_part(node_facts, recipe_book, split, split_mode, train_ratio, split_seed)


def binary_facts(book: RecipeBook, recipes: np.ndarray) -> set[Triple]:
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


def node_facts(book: RecipeBook, recipes: np.ndarray) -> set[Triple]:
    """The triples of the recipe nodes of (n, 3) rows (a, b, product)."""
    triples: set[Triple] = set()
    for row in recipes.tolist():
        a, b, product = (book.entities[i] for i in row)
        node = f"recipe:{a}+{b}"
        triples |= {(node, HAS_INGREDIENT, a), (node, HAS_INGREDIENT, b), (node, HAS_PRODUCT, product)}
    return triples


def _of_part(make, recipe_book, split, split_mode, train_ratio, split_seed) -> Iterator[Triple]:
    if split not in PARTS:
        raise InputError(f"split is {split!r}; name the part whose facts you want: train, test or all")
    book = RecipeBook.load(recipe_book)
    if split == "all":
        return iter(sorted(make(book, book.recipes)))
    if isinstance(split_mode, Split):
        split_mode.check_book(book)
        parts = split_mode
    else:
        parts = make_split(book, split_mode, train_ratio, split_seed)
    if split == "test" and not len(parts.test_recipes):
        raise InputError(f"the split {parts.parameters['mode']!r} has no test recipes")
    train = make(book, parts.train_recipes)
    return iter(sorted(train if split == "train" else make(book, parts.test_recipes) - train))
