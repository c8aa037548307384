"""Recipe books, rows of `result, ingredient, ingredient` labels: reading and checking one, and making one of a table.

`python -m gumption.data.recipe_check FILE` prints every problem with file:line and exits with code 2 when there is one;
a clean book gives one line of counts and exit code 0.
"""

import argparse
import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from gumption.data.errors import InputError
from gumption.data.tables import RECIPE, Row, TableLayout, csv_rows

Recipe = tuple[str, str, str]

HEADER = ("result", "ingredient", "ingredient")
_HEADER = "<TAB>".join(HEADER)
LABEL = re.compile(r"[a-z]+(?:[ '-][a-z]+)*")
MIN_BASIC, MAX_BASIC = 4, 12
# Two words one edit apart may be two spellings of one if they are at least this long and begin alike.
LONG_WORD = 7
SHARED_STEM = 5

# The same word in two spellings; a book uses the first of each pair.
SPELLINGS = (
    "airplane/aeroplane aluminum/aluminium armor/armour ax/axe catalog/catalogue center/centre "
    "color/colour cozy/cosy donut/doughnut fiber/fibre gray/grey harbor/harbour jewelry/jewellery "
    "ketchup/catsup mold/mould mustache/moustache omelet/omelette pajamas/pyjamas plow/plough "
    "program/programme sulfur/sulphur theater/theatre tire/tyre whiskey/whisky yogurt/yoghurt"
)
_CANONICAL = {other: kept for kept, other in (pair.split("/") for pair in SPELLINGS.split())}

# Pairs that look like one word in two spellings and are two words.
DIFFERENT_WORDS = (("glass", "glasses"),)  # sorted; the material, what one wears


@dataclass(frozen=True)
class Problem:
    """A fault of a book. `row` is its index among the checked rows, None for a fault of the whole book."""

    kind: str
    message: str
    row: int | None = None


@dataclass(frozen=True)
class Counts:
    """Size of a book; `ambiguous_pairs` counts unordered ingredient pairs with two or more results."""

    entities: int
    recipes: int
    basic: int
    terminals: int
    ambiguous_pairs: int
    self_combinations: int

    def __str__(self) -> str:
        return (
            f"{self.entities} entities, {self.recipes} recipes, {self.basic} basic, {self.terminals} terminals, "
            f"{self.ambiguous_pairs} ambiguous pairs, {self.self_combinations} self-combinations"
        )


def read_recipes_tsv(path: str | Path) -> list[Recipe]:
    """Rows of a tab-separated book in file order, without its header line: row i stands on line i + 2.

    :raises InputError: with file:line: an unreadable file, a missing header line, a row without three columns, an
        empty cell.
    """
    path = Path(path)
    rows: list[Recipe] = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            for line, cells in enumerate(reader, start=1):
                if line == 1:
                    if tuple(cells) != HEADER:
                        raise InputError(f"{path}:1: the first line must be the header {_HEADER}")
                    continue
                if len(cells) != 3:
                    raise InputError(
                        f"{path}:{line}: {len(cells)} columns where a recipe has 3 (result, ingredient, ingredient, "
                        "separated by tabs); mend or remove this row"
                    )
                if not all(cell.strip() for cell in cells):
                    raise InputError(f"{path}:{line}: empty cell; give the result and both ingredients")
                rows.append((cells[0], cells[1], cells[2]))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a tab-separated text in UTF-8 ({error}); save it as such") from error
    if not rows:
        raise InputError(f"{path}: holds no recipe; a book has a header line {_HEADER} and rows below it")
    return rows


def basic_entities(rows: Sequence[Recipe]) -> tuple[str, ...]:
    """Sorted labels that no recipe makes: a player of the whole book starts from them."""
    results = {result for result, _, _ in rows}
    return tuple(sorted({label for row in rows for label in row[1:]} - results))


def count_recipes(rows: Sequence[Recipe]) -> Counts:
    """Counts of a book; a terminal is a result that no recipe uses."""
    ingredients = {label for row in rows for label in row[1:]}
    results = {row[0] for row in rows}
    products: dict[frozenset[str], set[str]] = defaultdict(set)
    for result, a, b in rows:
        products[frozenset((a, b))].add(result)
    return Counts(
        entities=len(ingredients | results),
        recipes=len(rows),
        basic=len(basic_entities(rows)),
        terminals=len(results - ingredients),
        ambiguous_pairs=sum(len(found) > 1 for found in products.values()),
        self_combinations=sum(a == b for _, a, b in rows),
    )


def check_recipes(rows: Sequence[Recipe]) -> list[Problem]:
    """Every problem of a book in a fixed order: those of single rows first, then those of the whole book."""
    return [*_row_problems(rows), *_unreachable_problems(rows), *_spelling_problems(rows)]


def _row_problems(rows: Sequence[Recipe]) -> Iterable[Problem]:
    for index, row in enumerate(rows):
        for label in row:
            if not LABEL.fullmatch(label):
                message = f"label {label!r} must be lower-case letters a-z, parted by a single space, ' or -"
                yield Problem("label", message, index)
    first_seen: dict[tuple[str, ...], int] = {}
    for index, (result, a, b) in enumerate(rows):
        if result in (a, b):
            yield Problem("own result", f"{result!r} is among its own ingredients", index)
        first = first_seen.setdefault((result, *sorted((a, b))), index)
        if first != index:
            yield Problem("duplicate", f"{a} + {b} -> {result} is there already, first as recipe {first + 1}", index)
    basic = basic_entities(rows)
    if not MIN_BASIC <= len(basic) <= MAX_BASIC:
        wanted = f"where {MIN_BASIC} to {MAX_BASIC} are wanted: {', '.join(basic)}"
        yield Problem("basic", f"{len(basic)} basic entities (made by no recipe) {wanted}")


def _unreachable_problems(rows: Sequence[Recipe]) -> Iterable[Problem]:
    reached = set(basic_entities(rows))
    waiting = list(rows)
    while True:
        later = [row for row in waiting if row[1] not in reached or row[2] not in reached]
        reached.update(row[0] for row in waiting if row[1] in reached and row[2] in reached)
        if len(later) == len(waiting):
            break
        waiting = later
    reported: set[str] = set()
    for index, row in enumerate(rows):
        for label in row:
            if label not in reached and label not in reported:
                reported.add(label)
                yield Problem("unreachable", f"{label!r} cannot be made from the basic entities", index)


def _spelling_problems(rows: Sequence[Recipe]) -> Iterable[Problem]:
    first_row: dict[str, int] = {}
    for index, row in enumerate(rows):
        for label in row:
            first_row.setdefault(label, index)
    labels = sorted(first_row)
    by_key: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        by_key[_spelling_key(label)].append(label)
    suspects = {pair for group in by_key.values() for pair in combinations(group, 2)}
    long_words: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        if len(label) >= LONG_WORD:
            long_words[label[:SHARED_STEM]].append(label)
    for group in long_words.values():
        suspects.update(pair for pair in combinations(group, 2) if _one_edit_apart(*pair))
    for one, other in sorted(suspects):
        if (one, other) not in DIFFERENT_WORDS:
            index = max(first_row[one], first_row[other])
            yield Problem("spelling", f"{one!r} and {other!r} look like one word in two spellings; keep one", index)


def _spelling_key(label: str) -> str:
    """The same key for spellings that differ in case, space, hyphen, plural ending or British/American form."""
    words = re.split(r"[ -]+", label.lower())
    return "".join(_CANONICAL.get(word, word) for word in (*words[:-1], _singular(words[-1])))


def _singular(word: str) -> str:
    if word in _CANONICAL or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def _one_edit_apart(one: str, other: str) -> bool:
    """Whether inserting, deleting or changing one letter turns `one` into `other`, a different word."""
    if abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    same = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    if len(short) == len(long):
        return short[same + 1 :] == long[same + 1 :]
    return short[same:] == long[same + 1 :]


# ---- A book out of a table of one's own: a CSV or TSV file with a column for the product and one for each ingredient.

ENDINGS = (".csv", ".tsv", ".txt")
# Kinds of problems that a book of one's own leaves out, and those that are reported; the other kinds are rules of the
# shipped book.
LEFT_OUT = ("own result", "duplicate")
TOLD = (*LEFT_OUT, "unreachable", "spelling")
SHOWN = 20  # bad lines in an error message

Line = tuple[int, Recipe]  # its number in the file


def read_recipe_table(path: Path, columns: str | None = None, header: bool | None = None) -> list[Line]:
    """The recipes (product, ingredient, ingredient) of a table, with their lines. Spaces around labels are removed.

    :param columns: names in the header, or numbers from 1, of product and ingredients: "makes,first,second".
    :param header: whether the first line holds names; None where these are product, result or the like.
    :raises InputError: an unreadable file, an unclear header, a missing column; all rows with another number of cells,
        an empty cell, or a tab or line break within a label, each with its line.
    """
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: a table of recipes ends in {', '.join(ENDINGS)}")
    layout = TableLayout.of(columns, header, RECIPE)
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
            raise InputError(
                f"{path}:{rows[0][0]}: {', '.join(rows[0][1])}: is that a header? Give --header or --no-header of "
                f"`{RECIPE.command}`, or begin with the line {','.join(HEADER)}"
            )
        layout = TableLayout.of(columns, True, RECIPE)
    lines: list[Line] = []
    for number, cells in layout.cells(path, [(number, [cell.strip() for cell in row]) for number, row in rows], bad):
        if broken := [cell for cell in cells if any(character in cell for character in "\t\n\r")]:
            bad(number, f"the label {broken[0]!r} holds a tab or a line break")
        else:
            lines.append((number, (cells[0], cells[1], cells[2])))
    if wrong:
        more = [f"... and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        raise InputError("\n".join([f"{len(wrong)} rows of {path} are no recipes:", *wrong[:SHOWN], *more]))
    if not lines:
        raise InputError(f"{path}: holds no recipe; each row has a product and two ingredients")
    return lines


def checked(lines: list[Line]) -> tuple[list[Line], list[tuple[int, Problem]]]:
    """The recipes without duplicates and those that make one of their own ingredients; and the problems with their
    lines (0 for the whole table): these, things that cannot be made from the rest, and words in two spellings."""
    found = [
        (lines[problem.row][0] if problem.row is not None else 0, problem)
        for problem in check_recipes([recipe for _, recipe in lines])
        if problem.kind in TOLD
    ]
    out = {line for line, problem in found if problem.kind in LEFT_OUT}
    return [line for line in lines if line[0] not in out], found


def book_text(lines: list[Line]) -> str:
    """The file of a recipe book, which `read_recipes_tsv` reads."""
    return "".join("\t".join(row) + "\n" for row in (HEADER, *(recipe for _, recipe in lines)))


def _tsv(path: Path, content: bytes) -> list[Row]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    rows = enumerate(text.split("\n"), start=1)
    return [(number, row.rstrip("\r").split("\t")) for number, row in rows if row.strip()]


# ---- The command.


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one file; 0 when it is clean, 2 when it has problems or cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m gumption.data.recipe_check", description="Check a recipe book (tab-separated)."
    )
    parser.add_argument("file", type=Path, help="recipe book: result, ingredient, ingredient per row, with a header")
    file: Path = parser.parse_args(arguments).file
    try:
        rows = read_recipes_tsv(file)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    problems = check_recipes(rows)
    for problem in problems:
        # Row i stands on line i + 2: lines count from 1 and the header is the first.
        place = f"{file}:{problem.row + 2}" if problem.row is not None else f"{file}"
        print(f"{place}: {problem.kind}: {problem.message}", file=sys.stderr)
    if problems:
        kinds = Counter(problem.kind for problem in problems)
        print("problems: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())), file=sys.stderr)
        return 2
    print(f"{file}: {count_recipes(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
