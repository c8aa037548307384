"""Recipe books: the products of each pair of ingredients, read once into arrays that environments gather from."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from gumption import data
from gumption.data import InputError
from gumption.data.errors import nearest
from gumption.data.recipe_files import entities_of, read_recipe_table, read_recipes_json, read_recipes_tsv
from gumption.data.settings import Count, check, checked

PAD = 0  # "nothing" in every array of env ids; entity i of a book has the env id i + 1
MAX_ENTITIES = 32_000  # env ids are int16
SHIPPED = ("commonsense", "commonsense-1")  # the book of gumption, and its first edition
NAMES = (*SHIPPED, "alchemy2")  # that of the 2020 release, which is fetched
#: `RecipeBook.hash` of a former edition of the shipped book -> what it is called today.
FORMER = {"14a07ed6cd5033dba15ca2b85ec9cf56e1ab4476257c2fa7ada07974311a714f": "commonsense-1"}
Row = tuple[str, str, str]  # (product, ingredient, ingredient)


class RecipeBook:
    """Entities and recipes. An unordered pair of ingredients, possibly twice the same, has a set of products.

    :ivar name: what it was loaded as, or the stem of its file.
    :ivar entities: labels in sorted order; the index is the entity id (0..N-1).
    :ivar recipes: (R, 3) int64, distinct rows (a, b, product) with a <= b, entity ids, rows sorted.
    :ivar book_order: (R,) int64, the position of each row of `recipes` in the file.
    :ivar file_order: (N,) int64, entity ids in the order of the file.
    :ivar origins: where each row of `recipes` comes from: "paper", "own" or "family:NAME"; None for a book without.
    :ivar pairs: (P, 2) int64, the distinct pairs (a, b), sorted; `pair_of_recipe` (R,) int64 points into it.
    :ivar hash: sha256 hex of the content: labels, recipes, and the order of products where a pair has several, without
        the origins.
    """

    @checked
    def __init__(
        self, name: str, entities: Sequence[str], rows: Iterable[Row], origins: Sequence[str] | None = None
    ) -> None:
        """`rows` are (product, a, b) in book order; one that needs its own product is dropped, repeats count once.

        :param origins: of each row.
        :raises InputError: a row of something else than entities, no recipe is left, there are more entities than env
            ids, or another number of origins than of rows.
        """
        self.name = name
        self.entities: tuple[str, ...] = tuple(sorted(entities))
        if len(self.entities) > MAX_ENTITIES:
            raise InputError(f"recipe book {name}: {len(self.entities)} entities, at most {MAX_ENTITIES} are supported")
        self._ids = {label: index for index, label in enumerate(self.entities)}
        self.file_order = np.array([self._ids[label] for label in entities], dtype=np.int64)
        listed = check("rows", list(rows), list[Row])
        if origins is not None and len(origins) != len(listed):
            raise InputError(f"recipe book {name}: {len(origins)} origins of {len(listed)} recipes; give one for each")
        kept: dict[tuple[int, int, int], int] = {}
        told: dict[tuple[int, int, int], str] = {}
        for (product, first, second), origin in zip(listed, origins or [""] * len(listed), strict=True):
            if unknown := {product, first, second}.difference(self._ids):
                raise InputError(f"recipe book {name}: a recipe names {min(unknown)!r}, which is none of the entities")
            if product not in (first, second):
                a, b = sorted((self._ids[first], self._ids[second]))
                kept.setdefault((a, b, self._ids[product]), len(kept))
                told.setdefault((a, b, self._ids[product]), origin)
        if not kept:
            raise InputError(f"recipe book {name}: no recipe makes anything new; give at least one")
        ordered = sorted(kept)
        self.recipes = np.array(ordered, dtype=np.int64)
        self.book_order = np.array([kept[row] for row in ordered], dtype=np.int64)
        self.origins = None if origins is None else tuple(told[row] for row in ordered)
        self.pairs, inverse = np.unique(self.recipes[:, :2], axis=0, return_inverse=True)
        self.pair_of_recipe = inverse.reshape(-1).astype(np.int64)

    @classmethod
    @checked
    def load(cls, source: "str | PathLike[str] | RecipeBook") -> "RecipeBook":
        """A book by name ("commonsense", its first edition "commonsense-1", "alchemy2"), or from a file: .tsv, .csv, or
        .json in the form of the 2020 release. Its page describes them.

        :raises InputError: unknown name (with the known ones), missing file, or a bad entry (with file and place).
        """
        if isinstance(source, RecipeBook):
            return source
        path = Path(source)
        if path.suffix.lower() not in _READERS:
            name = str(source)
            if name not in NAMES:
                near = nearest(name, NAMES)
                hint = f"did you mean {near[0]}?" if near else f"known books: {', '.join(NAMES)}"
                raise InputError(f"no recipe book is called {name!r}; {hint} A file ends in .tsv, .csv or .json.")
            path = data.path(name) if name in SHIPPED else data.fetch(name)
        else:
            name = path.stem
        if not path.is_file():
            raise InputError(f"{path}: no such recipe file")
        entities, rows, origins = _READERS[path.suffix.lower()](path)
        try:
            return cls(name, entities, rows, origins)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def only(self, recipes: np.ndarray) -> "RecipeBook":
        """The same entities with some of the recipes alone, in the same order.

        :param recipes: (n, 3) rows of `recipes`.
        :raises InputError: other rows.
        """
        are_rows = isinstance(recipes, np.ndarray) and recipes.ndim == 2 and recipes.shape[1] == 3
        ids = recipes if are_rows and recipes.dtype.kind in "iu" else self.recipes[:0]
        rows = np.unique(recipe_rows(self, *(ids.T + 1)).clip(max=len(self) - 1))
        if not len(rows) or not np.array_equal(self.recipes[rows], np.unique(ids, axis=0)):
            raise InputError(f"these are no recipes of the book {self.name}: give rows of its `recipes`")
        if len(rows) == len(self):
            return self
        rows = rows[np.argsort(self.book_order[rows], kind="stable")]
        names = [self.entities[i] for i in self.file_order.tolist()]
        kept = [(self.entities[c], self.entities[a], self.entities[b]) for a, b, c in self.recipes[rows].tolist()]
        origins = None if self.origins is None else [self.origins[row] for row in rows.tolist()]
        return RecipeBook(self.name, names, kept, origins)

    def __len__(self) -> int:
        return len(self.recipes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecipeBook) and (self.hash, self._last, self.origins) == (
            other.hash,
            other._last,
            other.origins,
        )

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    def __repr__(self) -> str:
        return f"RecipeBook({self.name!r}, {len(self.entities)} entities, {len(self)} recipes)"

    @cached_property
    def hash(self) -> str:
        listed = [[int(a), int(b), *map(int, self._products[a, b])] for a, b in self.pairs.tolist()]
        text = json.dumps([self.entities, listed], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def _last(self) -> int:
        return int(self.file_order[-1])

    # ---- labels

    def entity_id(self, label: str) -> int:
        """:raises InputError: for a label that is not in the book, with near matches."""
        try:
            return self._ids[label]
        except (KeyError, TypeError):
            senses = [entity for entity in self.entities if entity.startswith(f"{label} (")]
            near = senses or nearest(str(label), self.entities, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise InputError(f"recipe book {self.name} has no entity {label!r}{hint}") from None

    @checked
    def label(self, env_id: int) -> str:
        """The label of an env id; PAD is "".

        :raises InputError: no such id.
        """
        return "".join(self.labels([env_id]))

    @checked
    def labels(self, env_ids: Iterable[int]) -> list[str]:
        """Labels of env ids, PAD left out.

        :raises InputError: no such id.
        """
        try:
            return [self.entities[i - 1] for i in env_ids if i]
        except IndexError:
            raise InputError(f"recipe book {self.name}: env ids lie between 0 and {len(self.entities)}") from None

    # ---- recipes

    @cached_property
    def _products(self) -> dict[tuple[int, int], tuple[int, ...]]:
        made: dict[tuple[int, int], list[int]] = {}
        for row in np.argsort(self.book_order, kind="stable"):
            a, b, product = self.recipes[row].tolist()
            made.setdefault((a, b), []).append(product)
        return {pair: tuple(products) for pair, products in made.items()}

    @checked
    def products(self, a: int, b: int) -> tuple[int, ...]:
        """Entity ids of the products of a pair, in book order; empty where it makes nothing."""
        return self._products.get((a, b) if a <= b else (b, a), ())

    @cached_property
    def roots(self) -> np.ndarray:
        """(n,) int64 ids of the entities that nothing makes."""
        return np.setdiff1d(np.arange(len(self.entities)), self.recipes[:, 2])

    @cached_property
    def terminals(self) -> np.ndarray:
        """(n,) int64 ids of the entities that are no ingredient."""
        return np.setdiff1d(np.arange(len(self.entities)), self.recipes[:, :2])

    @cached_property
    def ingredient_counts(self) -> np.ndarray:
        """(N,) int64: in how many distinct pairs an entity occurs (twice the same ingredient counts once)."""
        both = np.bincount(self.pairs[:, 0], minlength=len(self.entities))
        both += np.bincount(self.pairs[self.pairs[:, 0] != self.pairs[:, 1], 1], minlength=len(self.entities))
        return both

    # ---- look-up tables over env ids

    @cached_property
    def single(self) -> np.ndarray:
        """((N+1)**2,) int16 at a * (N+1) + b: 0 nothing, p > 0 the only product, -k one of `several[k]`."""
        return self._tables[0]

    @cached_property
    def several(self) -> np.ndarray:
        """(K+1, most products of a pair) int16: products in book order, then PAD; row 0 is empty."""
        return self._tables[1]

    @cached_property
    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        size = len(self.entities) + 1
        code = np.zeros((size, size), dtype=np.int16)
        lists: list[tuple[int, ...]] = [()]
        for (a, b), products in sorted(self._products.items()):
            value = products[0] + 1
            if len(products) > 1:
                value = -len(lists)
                lists.append(products)
            code[a + 1, b + 1] = code[b + 1, a + 1] = value
        several = np.zeros((len(lists), max(2, *map(len, lists)) if len(lists) > 1 else 1), dtype=np.int16)
        for k, products in enumerate(lists):
            several[k, : len(products)] = np.add(products, 1)
        return code.reshape(-1), several

    @cached_property
    def last_product(self) -> np.ndarray:
        """((N+1)**2,) int16 like `single`, but always the last product in book order, as the 2020 code looked up."""
        size = len(self.entities) + 1
        code = np.zeros((size, size), dtype=np.int16)
        for (a, b), products in self._products.items():
            code[a + 1, b + 1] = code[b + 1, a + 1] = products[-1] + 1
        return code.reshape(-1)

    @cached_property
    def component(self) -> np.ndarray:
        """((N+1)**2,) bool, index product * (N+1) + x: x is an ingredient of the product, or is the product itself."""
        size = len(self.entities) + 1
        table = np.eye(size, dtype=bool)
        for column in (0, 1):
            table[self.recipes[:, 2] + 1, self.recipes[:, column] + 1] = True
        table[0] = False
        return table.reshape(-1)

    @checked
    def goes_into(self, mixes: Count) -> np.ndarray:
        """((N+1)**2,) bool, index product * (N+1) + x: so many mixes can be enough to make the product of x and other
        things."""
        while len(self._goes_into) < mixes:
            size = len(self.entities) + 1
            if not self._goes_into:
                table = np.zeros((size, size), dtype=bool)
                for column in (0, 1):
                    table[self.recipes[:, 2] + 1, self.recipes[:, column] + 1] = True
            else:
                one, before = (each.reshape(size, size) for each in (self._goes_into[0], self._goes_into[-1]))
                table = before | (one.astype(np.float32) @ before.astype(np.float32) > 0)
            self._goes_into.append(table.reshape(-1))
        return self._goes_into[mixes - 1]

    @cached_property
    def _goes_into(self) -> list[np.ndarray]:
        return []

    @checked
    def makes(self, target: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether the pair (a, b) can make the target: env ids of shapes that broadcast -> bool. PAD makes nothing."""
        target = np.where(target > PAD, target, np.int16(-(2**15)))  # a code that no pair has
        code = self.single.take(a * np.int32(len(self.entities) + 1) + b, mode="clip")
        found = code == target
        many = np.nonzero(np.broadcast_to(code, found.shape) < 0)
        if len(many[0]):
            products = self.several[-np.broadcast_to(code, found.shape)[many].astype(np.int64)]
            found[many] = (products == np.broadcast_to(target, found.shape)[many][:, None]).any(axis=1)
        return found

    @checked
    def mix(self, a: np.ndarray, b: np.ndarray, goal: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The product of a mix: the goal if the pair can make it, else the first product (book order) that is wanted,
        else the first product.

        :param a, b, goal: (n,) env ids.
        :param wanted: (n, k) env ids of intermediates not made yet, PAD where there is none.
        :returns: (n,) int16 env ids, PAD where the pair makes nothing.
        """
        made = self.single[a.astype(np.int64) * (len(self.entities) + 1) + b]
        many = np.flatnonzero(made < 0)
        if len(many):
            made[many] = self.choose(made[many], goal[many], wanted[many])
        return made

    @cached_property
    def _row_keys(self) -> np.ndarray:
        a, b, product = self.recipes.T + 1
        size = len(self.entities) + 1
        return (a * size + b) * size + product

    @checked
    def choose(self, code: np.ndarray, goal: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """`mix` for (n,) negative codes of `single`: (n,) int16 env ids."""
        products = self.several[-code.astype(np.int64)]
        rank = np.where(products == goal[:, None], 2, 0)
        hit = (products[:, :, None] == wanted[:, None, :]).any(axis=2) & (products > 0)
        np.maximum(rank, hit, out=rank)
        return products[np.arange(len(code)), rank.argmax(axis=1)]  # argmax takes the first of equals


def recipe_rows(book: RecipeBook, a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """(n,) int64 rows of a book's `recipes`, from (n,) env ids of recipes that it has."""
    size = np.int64(len(book.entities) + 1)
    return np.searchsorted(book._row_keys, (np.minimum(a, b) * size + np.maximum(a, b)) * size + product)


def _read_tsv(path: Path) -> "Read":
    recipes = read_recipes_tsv(path)
    return entities_of(recipes.rows), recipes.rows, recipes.origins


def _read_csv(path: Path) -> "Read":
    recipes = read_recipe_table(path)
    return entities_of(recipes.rows), recipes.rows, recipes.origins


def _read_json(path: Path) -> "Read":
    return *read_recipes_json(path), None


Read = tuple[list[str], list[Row], list[str] | None]  # entities, recipes, and the origin of each recipe
_READERS = {".json": _read_json, ".tsv": _read_tsv, ".csv": _read_csv}
