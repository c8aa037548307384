"""Read and write recipe books: rows of `result, ingredient, ingredient` labels, optionally with an origin, and the
rules of the families that origins name.

An origin is `paper` (the table of Appendix D of the WordCraft paper), `own`, or `family:NAME`. A family is a rule of
the world that many recipes follow.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .errors import InputError, did_you_mean
from .reading import read_json
from .tables import RECIPE, Row, TableLayout, csv_rows

Recipe = tuple[str, str, str]

HEADER = ("result", "ingredient", "ingredient")
ORIGIN = "origin"
FAMILY = "family:"  # begins the origin of a recipe that follows the rule of a family
FAMILIES = ("family", "rule")  # the header of a file of families
ENDINGS = (".csv", ".tsv", ".txt")
SHOWN = 20  # bad lines in an error message
_HEADER = "<TAB>".join(HEADER)


class Recipes(NamedTuple):
    """The content of a file of recipes.

    :ivar rows: (result, ingredient, ingredient), in file order.
    :ivar origins: the origin of each row, "" if it has none; None for a file without origins.
    :ivar lines: line number of each row.
    """

    rows: list[Recipe]
    origins: list[str] | None
    lines: list[int]

    def where(self, kept: Sequence[bool]) -> "Recipes":
        """Return the recipes whose entry in `kept` is true; `kept` has an entry for each row."""

        def some(values: list) -> list:
            return [value for value, keep in zip(values, kept, strict=True) if keep]

        return Recipes(some(self.rows), self.origins and some(self.origins), some(self.lines))


def family_of(origin: str) -> str | None:
    """Return the family that an origin names; None if it names none."""
    return origin.removeprefix(FAMILY) if origin.startswith(FAMILY) else None


def read_recipes_tsv(path: str | Path) -> Recipes:
    """Read a tab-separated book: a header line, then three columns, or four with the origin.

    :raises InputError: with file:line: an unreadable file, a missing header line, a row with another number of
        columns, an empty cell among the first three.
    """
    path = Path(path)
    rows = tab_separated(path, (HEADER, (*HEADER, ORIGIN)), f"the header {_HEADER}, perhaps with <TAB>{ORIGIN} behind")
    recipes: list[Recipe] = []
    origins: list[str] = []
    for line, cells in rows:
        if not all(cell.strip() for cell in cells[:3]):
            raise InputError(f"{path}:{line}: empty cell; give the result and both ingredients")
        recipes.append((cells[0], cells[1], cells[2]))
        origins += cells[3:]
    if not recipes:
        raise InputError(f"{path}: holds no recipe; a book has a header line {_HEADER} and rows below it")
    return Recipes(recipes, origins or None, list(range(2, len(recipes) + 2)))


def read_families(path: str | Path) -> dict[str, str]:
    """Return family -> its rule in words, from a tab-separated file with the header `family, rule`.

    :raises InputError: with file:line: an unreadable file, a missing header line, a row without two columns, a family
        without a name, a repeated family.
    """
    path = Path(path)
    families: dict[str, str] = {}
    for line, (family, rule) in tab_separated(path, (FAMILIES,), f"the header {'<TAB>'.join(FAMILIES)}"):
        if not family.strip() or family in families:
            raise InputError(f"{path}:{line}: {family!r} is {'there twice' if family.strip() else 'no family'}")
        families[family] = rule.strip()
    return families


def tab_separated(path: Path, headers: Sequence[tuple[str, ...]], wanted: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row below the header."""
    columns = 0
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            for line, cells in enumerate(reader, start=1):
                if line == 1:
                    if tuple(cells) not in headers:
                        raise InputError(f"{path}:1: the first line must be {wanted}")
                    columns = len(cells)
                elif len(cells) != columns:
                    raise InputError(
                        f"{path}:{line}: {len(cells)} columns where the header has {columns}, separated by tabs; mend "
                        "or remove this row"
                    )
                else:
                    yield line, cells
            if not columns:
                raise InputError(f"{path}:1: it is empty; the first line must be {wanted}")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a tab-separated text in UTF-8 ({error}); save it as such") from error


def read_recipes_json(path: Path) -> tuple[list[str], list[Recipe]]:
    """Return the entities and rows of a book in the format of the 2020 release, both in file order.

    :raises InputError: an unreadable file or a bad entry, with file and place.
    """

    repeated: list[str] = []

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        repeated.extend(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)
        return dict(pairs)

    content = read_json(path, object_pairs_hook=once)
    if repeated:
        raise InputError(f"{path}: {repeated[0]!r} is listed twice; merge the two entries")
    entries = content.get("entities") if isinstance(content, dict) else None
    if not isinstance(entries, dict) or not entries:
        raise InputError(f'{path}: expected {{"entities": {{name: {{"recipes": [[a, b], ...]}}}}}}, found no entities')
    rows: list[Recipe] = []
    for product, entry in entries.items():
        if not product.strip():
            raise InputError(f"{path}: an entity has an empty name")
        recipes = entry.get("recipes", []) if isinstance(entry, dict) else None
        if not isinstance(recipes, list):
            raise InputError(f'{path}: entity {product!r}: expected {{"recipes": [[a, b], ...]}}, found {entry!r:.60}')
        for number, recipe in enumerate(recipes, start=1):
            place = f"{path}: entity {product!r}, recipe {number}"
            if not isinstance(recipe, list) or len(recipe) != 2 or not all(isinstance(x, str) for x in recipe):
                raise InputError(f"{place}: a recipe is a list of two names, found {recipe!r:.60}")
            for ingredient in recipe:
                if ingredient not in entries:
                    hint = did_you_mean(ingredient, entries, "add it to the entities")
                    raise InputError(f"{place}: unknown ingredient {ingredient!r}; {hint}")
            rows.append((product, recipe[0], recipe[1]))
    return list(entries), rows


def read_recipe_table(path: Path, columns: str | None = None, header: bool | None = None) -> Recipes:
    """Read a user's table with columns for the product, both ingredients and optionally the origin. Spaces around
    labels are removed.

    :param columns: names in the header, or numbers from 1, of product, ingredients and optionally the origin, in this
        order: "makes,first,second".
    :param header: whether the first line holds names; None if these are usual names such as product or result.
    :raises InputError: an unreadable file, an unclear header, a missing column; all rows with another number of cells,
        an empty cell, or a tab or line break within a label, each with its line.
    """
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: a table of recipes ends in {', '.join(ENDINGS)}")
    layout = TableLayout.of(columns, header, kind=RECIPE)
    wrong: list[str] = []

    def bad(number: int, reason: str) -> None:
        wrong.append(f"{path}:{number}: {reason}")

    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    rows = list(
        csv_rows(content.splitlines(keepends=True), bad) if path.suffix.lower() == ".csv" else _tsv(path, content)
    )
    if layout.header is None and rows:
        if not RECIPE.looks_like_header(rows[0][1]):
            raise RECIPE.question(path, *rows[0], "may be", f", or begin with the line {','.join(HEADER)}")
        layout = TableLayout.of(columns, True, kind=RECIPE)
    found: list[Row] = []
    for number, cells in layout.cells(path, [(number, [cell.strip() for cell in row]) for number, row in rows], bad):
        if broken := [cell for cell in cells if any(character in cell for character in "\t\n\r")]:
            bad(number, f"the label {broken[0]!r} holds a tab or a line break")
        else:
            found.append((number, cells))
    if wrong:
        more = [f"... and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        raise InputError("\n".join([f"{len(wrong)} rows of {path} are no recipes:", *wrong[:SHOWN], *more]))
    if not found:
        raise InputError(f"{path}: holds no recipe; each row has a product and two ingredients")
    with_origin = any(len(cells) > 3 for _, cells in found)
    return Recipes(
        [(cells[0], cells[1], cells[2]) for _, cells in found],
        ["".join(cells[3:]) for _, cells in found] if with_origin else None,
        [number for number, _ in found],
    )


def _tsv(path: Path, content: bytes) -> list[Row]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    rows = enumerate(text.split("\n"), start=1)
    return [(number, row.rstrip("\r").split("\t")) for number, row in rows if row.strip()]


def book_text(recipes: Recipes) -> str:
    """Return the text of a recipe book, which `read_recipes_tsv` reads."""
    if recipes.origins is None:
        rows: list[tuple[str, ...]] = [HEADER, *recipes.rows]
    else:
        told = zip(recipes.rows, recipes.origins, strict=True)
        rows = [(*HEADER, ORIGIN), *((*row, origin) for row, origin in told)]
    return "".join("\t".join(row) + "\n" for row in rows)


def entities_of(rows: Sequence[Recipe]) -> list[str]:
    """Return the labels of recipes, in the order of their first occurrence."""
    return list(dict.fromkeys(label for row in rows for label in row))
