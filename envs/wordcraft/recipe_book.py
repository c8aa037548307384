"""Recipe books: the products of each pair of ingredients, read once into arrays that environments gather from."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from gumption import data
from gumption.data.errors import InputError, nearest
from gumption.data.recipe_files import Recipes, entities_of, read_recipe_table, read_recipes_json, read_recipes_tsv
from gumption.data.settings import Count, check, checked
from gumption.data.tables import grouped
from gumption.envs.priors import SEED, Laws, Names, other_than_real, relabelled

PAD = 0  # "nothing" in every array of env ids; entity i of a book has the env id i + 1
MAX_ENTITIES = 32_000  # env ids are int16
SHIPPED = "commonsense"
NAMES = (SHIPPED, "alchemy2")  # the latter is that of the 2020 release, which is fetched
Row = tuple[str, str, str]  # (product, ingredient, ingredient)
CLASSICAL = ("air", "earth", "fire", "water")  # Little Alchemy starts from these; some books also make them


class RecipeBook:
    """Entities and recipes. An unordered pair of ingredients, possibly twice the same, has a set of products.

    :ivar name: what it was loaded as, or the stem of its file; of a book under other names or laws with these behind.
    :ivar entities: labels in the sorted order of their real names; the index is the entity id (0..N-1).
    :ivar real_names: the real names of the entities, sorted; `entities` themselves, unless `names` is not "real".
    :ivar names, laws: what `under` made of it; both "real" of a book that was read.
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
        self,
        name: str,
        entities: Sequence[str],
        rows: Iterable[Row],
        origins: Sequence[str] | None = None,
        real_names: Mapping[str, str] | None = None,
    ) -> None:
        """`rows` are (product, a, b) in book order; one that needs its own product is dropped, repeats count once.

        :param origins: of each row.
        :param real_names: of each entity, where its label is another.
        :raises InputError: a row of something else than entities, no recipe is left, there are more entities than env
            ids, or another number of origins than of rows.
        """
        self.name = name
        self.names: Names = "real"
        self.laws: Laws = "real"
        real = dict(zip(entities, entities, strict=True)) if real_names is None else real_names
        if real.keys() != set(entities):
            raise InputError(f"recipe book {name}: real_names gives one for each entity, and for nothing else")
        self.entities: tuple[str, ...] = tuple(sorted(entities, key=real.__getitem__))
        self.real_names = tuple(real[label] for label in self.entities)
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
        """A book by name ("commonsense", "alchemy2"), or from a file: .tsv, .csv, or
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
                hint = f"did you mean {near[0]}?" if near else f"known books: {', '.join(NAMES)}."
                raise InputError(f"no recipe book is called {name!r}; {hint} A file ends in .tsv, .csv or .json.")
            path = data.path(name) if name == SHIPPED else data.fetch(name)
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
        return self._changed(self.name, rows, self.entities, self.recipes[:, 2], self.names, self.laws)

    @checked
    def under(self, names: Names = "real", laws: Laws = "real") -> "RecipeBook":
        """The book under other names or other laws; see `gumption.envs.priors`. Its ids are those of the real book, and
        so are its splits and, by the real laws, its tasks; its hash is another one.

        - names="anonymous": each thing is called by a code, of which no word vector and no graph knows anything.
        - names="shuffled": each thing has the name of another one.
        - laws="counterfactual": recipes make each other's products. What made steam now makes another thing of the same
          generation, everywhere the same one, and never an ingredient of its own. Each thing can be made in as many
          mixes as before, and there are as many recipes of it as there were of the thing in whose place it is; two
          pairs that made the same still do. Only what words say of it is no longer so.

        :raises InputError: a book that is under others already, or in which no products can change places.
        """
        if (names, laws) in (("real", "real"), (self.names, self.laws)):
            return self
        if (self.names, self.laws) != ("real", "real"):
            raise InputError(f"the recipe book {self.name} is not the real one: give that, and names and laws with it")
        products = self.recipes[:, 2] if laws == "real" else self._exchanged()[self.recipes[:, 2]]
        told = ", ".join(f"{dial} {value}" for dial, value in other_than_real(names=names, laws=laws).items())
        rows = np.arange(len(self))
        return self._changed(f"{self.name}, {told}", rows, relabelled(self.entities, names), products, names, laws)

    def _exchanged(self) -> np.ndarray:
        """(N,) int64: the thing that is made in place of each one that a recipe makes; see `under`."""
        from scipy.optimize import linear_sum_assignment

        rng = np.random.Generator(np.random.PCG64(SEED))
        made, component = np.unique(self.recipes[:, 2]), self.component.reshape(len(self.entities) + 1, -1)
        other = np.arange(len(self.entities))
        for generation in np.unique(self.generations[made]).tolist():
            among = made[self.generations[made] == generation]
            # Of all exchanges that leave no thing in its place and make no ingredient each is as likely; where there is
            # none, as few things as can be stay where they are.
            cost = rng.random((len(among), len(among)))
            cost[component[np.ix_(among + 1, among + 1)]] += len(self.entities) ** 2
            cost[np.diag_indices(len(among))] = len(self.entities)
            other[among] = among[linear_sum_assignment(cost)[1]]
        if np.array_equal(other, np.arange(len(other))):
            raise InputError(
                f"the recipe book {self.name} has no two products of one generation that could change places, so there "
                "are no counterfactual laws of it; take a larger book, or laws='real'"
            )
        return other

    def _changed(
        self, name: str, rows: np.ndarray, labels: tuple[str, ...], products: np.ndarray, names: Names, laws: Laws
    ) -> "RecipeBook":
        """A book of the same ids and order, with these rows, labels (N,) and products of all rows (R,)."""
        rows = rows[np.argsort(self.book_order[rows], kind="stable")]
        pairs = self.recipes[rows, :2].tolist()
        kept = [(labels[c], labels[a], labels[b]) for (a, b), c in zip(pairs, products[rows].tolist(), strict=True)]
        origins = None if self.origins is None else [self.origins[row] for row in rows.tolist()]
        listed = [labels[i] for i in self.file_order.tolist()]
        changed = RecipeBook(name, listed, kept, origins, dict(zip(labels, self.real_names, strict=True)))
        changed.names, changed.laws = names, laws
        return changed

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
        rows = self.recipes[np.argsort(self.book_order, kind="stable")].tolist()
        return {pair: tuple(made) for pair, made in grouped(((a, b), product) for a, b, product in rows).items()}

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
    def basic(self) -> np.ndarray:
        """(N,) bool: what Little Alchemy starts from: what nothing makes, and air, earth, fire and water, if they are
        among the real names."""
        basic = np.array([real in CLASSICAL for real in self.real_names], dtype=bool)
        basic[self.roots] = True
        return basic

    @cached_property
    def generations(self) -> np.ndarray:
        """(N,) int64: 0 of what is basic; of anything else 1 more than the latest of what it is made of, by the recipe
        by which it comes first; -1 of what the basic things do not lead to."""
        generations = np.where(self.basic, 0, -1)
        a, b, product = self.recipes.T
        while True:
            there = generations >= 0
            new = product[there[a] & there[b] & ~there[product]]
            if not len(new):
                return generations
            generations[new] = generations.max() + 1

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
            if self._goes_into and np.array_equal(table.reshape(-1), self._goes_into[-1]):
                return self._goes_into[-1]  # as with any more mixes
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


Read = tuple[list[str], list[Row], list[str] | None]  # entities, recipes, and the origin of each recipe
_READERS = {
    ".json": lambda path: (*read_recipes_json(path), None),
    ".tsv": lambda path: _parts(read_recipes_tsv(path)),
    ".csv": lambda path: _parts(read_recipe_table(path)),
}


def _parts(recipes: Recipes) -> Read:
    return entities_of(recipes.rows), recipes.rows, recipes.origins
