"""Recipe books: the products of each pair of ingredients, as arrays that environments index."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
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
NAMES = (SHIPPED, "alchemy2")  # alchemy2 is the book of the 2020 release; it is downloaded
Row = tuple[str, str, str]  # (product, ingredient, ingredient)
CLASSICAL = ("air", "earth", "fire", "water")  # Little Alchemy starts from these; some books also make them


class RecipeBook:
    """Entities and recipes. An unordered pair of ingredients, which may be equal, has a set of products.

    :ivar name: the name it was loaded by or the stem of its file; `under` appends other names and laws.
    :ivar entities: labels in the sorted order of their real names; the index is the entity id (0..N-1).
    :ivar real_names: the real names of the entities, sorted; equal to `entities` if `names` is "real".
    :ivar names, laws: set by `under`; both are "real" for a book that was read.
    :ivar recipes: (R, 3) int64 entity ids, distinct, sorted rows (a, b, product) with a <= b.
    :ivar book_order: (R,) int64, the position of each row of `recipes` in the file.
    :ivar file_order: (N,) int64, entity ids in the order of the file.
    :ivar origins: origin of each row of `recipes`: "paper", "own" or "family:NAME"; None for a book without origins.
    :ivar pairs: (P, 2) int64, the distinct pairs (a, b), sorted; `pair_of_recipe` (R,) int64 indexes it.
    :ivar hash: sha256 hex of the content: labels, recipes, and the order of products of a pair with several; not the
        origins.
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
        """Build a book of rows (product, a, b) in book order. Drop rows whose product is an ingredient, and repeats.

        :param origins: origin of each row.
        :param real_names: entity -> real name; None if the labels are the real names.
        :raises InputError: a row with an unknown entity, no recipe left, more entities than env ids, real names of
            other entities, or not one origin per row.
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
        """Load a book by name ("commonsense", "alchemy2") or from a file: .tsv, .csv, or .json as in the 2020 release.

        :raises InputError: unknown name (lists the known ones), missing file, or a bad entry (with file and place).
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
        stat = path.stat()
        return _read(name, path, (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))

    def only(self, recipes: np.ndarray) -> "RecipeBook":
        """Return a book of the same entities with only these recipes, in the same order.

        :param recipes: (n, 3) rows of `recipes`.
        :raises InputError: rows that are not in `recipes`.
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
        """Return the book under other names or laws; see `gumption.envs.priors`. Entity ids and splits stay the same;
        with the real laws, tasks do too. The hash changes.

        - names="anonymous": entities are named by codes that no word vector and no graph contains.
        - names="shuffled": each entity has the name of another.
        - laws="counterfactual": permute the products. All recipes of a product (steam) now make another entity of the
          same generation, which is no ingredient of these recipes. Every entity still needs as many mixes, and has as
          many recipes as the product it replaces. Pairs with equal products keep equal products. Only the meaning of
          the words no longer fits.

        :raises InputError: a book that is already under other names or laws, or without products to exchange.
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
        """Return (N,) int64: the entity that is made in place of each product; see `under`."""
        from scipy.optimize import linear_sum_assignment

        rng = np.random.Generator(np.random.PCG64(SEED))
        made, component = np.unique(self.recipes[:, 2]), self.component.reshape(len(self.entities) + 1, -1)
        other = np.arange(len(self.entities))
        for generation in np.unique(self.generations[made]).tolist():
            among = made[self.generations[made] == generation]
            # Random costs sample a permutation without fixed points in which no product is an ingredient of its
            # recipes. If none exists, as few products as possible stay in place.
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
        """Return a book with the same ids and order, these rows, labels (N,) and products of all rows (R,)."""
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
        """Return the id of a label.

        :raises InputError: a label that is not in the book; suggests near matches.
        """
        try:
            return self._ids[label]
        except (KeyError, TypeError):
            senses = [entity for entity in self.entities if entity.startswith(f"{label} (")]
            near = senses or nearest(str(label), self.entities, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise InputError(f"recipe book {self.name} has no entity {label!r}{hint}") from None

    @checked
    def label(self, env_id: int) -> str:
        """Return the label of an env id, "" for PAD.

        :raises InputError: no such id.
        """
        return "".join(self.labels([env_id]))

    @checked
    def labels(self, env_ids: Iterable[int]) -> list[str]:
        """Return the labels of env ids, without PAD.

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
        """Return the entity ids of the products of a pair, in book order; empty if it makes nothing."""
        return self._products.get((a, b) if a <= b else (b, a), ())

    @cached_property
    def roots(self) -> np.ndarray:
        """(n,) int64 ids of the entities that no recipe makes."""
        return np.setdiff1d(np.arange(len(self.entities)), self.recipes[:, 2])

    @cached_property
    def terminals(self) -> np.ndarray:
        """(n,) int64 ids of the entities that are not an ingredient of any recipe."""
        return np.setdiff1d(np.arange(len(self.entities)), self.recipes[:, :2])

    @cached_property
    def basic(self) -> np.ndarray:
        """(N,) bool: the entities that Little Alchemy starts from: those without a recipe, and those with the real name
        air, earth, fire or water."""
        basic = np.array([real in CLASSICAL for real in self.real_names], dtype=bool)
        basic[self.roots] = True
        return basic

    @cached_property
    def generations(self) -> np.ndarray:
        """(N,) int64: 0 for basic entities; else 1 + the generation of the later ingredient, minimized over the
        recipes of the entity; -1 for entities that cannot be made from basic ones."""
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
        """(N,) int64: number of distinct pairs with an entity (a pair of equal ingredients counts once)."""
        both = np.bincount(self.pairs[:, 0], minlength=len(self.entities))
        both += np.bincount(self.pairs[self.pairs[:, 0] != self.pairs[:, 1], 1], minlength=len(self.entities))
        return both

    # ---- look-up tables over env ids

    @cached_property
    def single(self) -> np.ndarray:
        """((N+1)**2,) int16, index a * (N+1) + b: 0 no product, p > 0 the only product, -k products `several[k]`."""
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
        """((N+1)**2,) int16 like `single`, but always the last product in book order, as in the 2020 code."""
        size = len(self.entities) + 1
        code = np.zeros((size, size), dtype=np.int16)
        for (a, b), products in self._products.items():
            code[a + 1, b + 1] = code[b + 1, a + 1] = products[-1] + 1
        return code.reshape(-1)

    @cached_property
    def component(self) -> np.ndarray:
        """((N+1)**2,) bool, index product * (N+1) + x: x is an ingredient of the product or the product itself."""
        size = len(self.entities) + 1
        table = np.eye(size, dtype=bool) | self.goes_into(1).reshape(size, size)
        table[0] = False
        return table.reshape(-1)

    @checked
    def goes_into(self, mixes: Count) -> np.ndarray:
        """Return ((N+1)**2,) bool, index product * (N+1) + x: at most `mixes` mixes can lead from x, with other
        entities, to the product."""
        tables, size = self._goes_into, len(self.entities) + 1
        while len(tables) < mixes:
            one, before = (each.reshape(size, size) for each in (tables[0], tables[-1]))
            table = before | (one.astype(np.float32) @ before.astype(np.float32) > 0)
            if np.array_equal(table, before):
                return tables[-1]  # further mixes change nothing
            tables.append(table.reshape(-1))
        return tables[mixes - 1]

    @cached_property
    def _goes_into(self) -> list[np.ndarray]:
        table = np.zeros((len(self.entities) + 1,) * 2, dtype=bool)
        for column in (0, 1):
            table[self.recipes[:, 2] + 1, self.recipes[:, column] + 1] = True
        return [table.reshape(-1)]

    @checked
    def makes(self, target: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return whether the pair (a, b) can make the target: env ids that broadcast -> bool. PAD makes nothing."""
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
        """Return the product of a mix: the goal if the pair can make it, else the first wanted product in book order,
        else the first product.

        :param a, b, goal: (n,) env ids.
        :param wanted: (n, k) env ids of intermediates not made yet, padded with PAD.
        :returns: (n,) int16 env ids, PAD if the pair makes nothing.
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
        """Return the product of a mix, as `mix`, from (n,) negative codes of `single`: (n,) int16 env ids."""
        products = self.several[-code.astype(np.int64)]
        rank = np.where(products == goal[:, None], 2, 0)
        hit = (products[:, :, None] == wanted[:, None, :]).any(axis=2) & (products > 0)
        np.maximum(rank, hit, out=rank)
        return products[np.arange(len(code)), rank.argmax(axis=1)]  # argmax takes the first of equals


def recipe_rows(book: RecipeBook, a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """Return (n,) int64 row numbers in a book's `recipes`, from (n,) env ids of recipes that it has."""
    size = np.int64(len(book.entities) + 1)
    return np.searchsorted(book._row_keys, (np.minimum(a, b) * size + np.maximum(a, b)) * size + product)


Read = tuple[list[str], list[Row], list[str] | None]  # entities, recipes, origin of each recipe
_READERS = {
    ".json": lambda path: (*read_recipes_json(path), None),
    ".tsv": lambda path: _parts(read_recipes_tsv(path)),
    ".csv": lambda path: _parts(read_recipe_table(path)),
}


@lru_cache(maxsize=4)
def _read(name: str, path: Path, content: tuple[int, ...]) -> RecipeBook:
    """Read a book once while its file is the same: all environments of a process share it."""
    entities, rows, origins = _READERS[path.suffix.lower()](path)
    try:
        return RecipeBook(name, entities, rows, origins)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _parts(recipes: Recipes) -> Read:
    return entities_of(recipes.rows), recipes.rows, recipes.origins
