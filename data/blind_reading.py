"""The blind reading of the shipped recipe book: how many of its recipes make sense to a reader who does not know which
are its own.

    python -m gumption.data.blind_reading draw --older alchemy2.json --out sheet.tsv
    python -m gumption.data.blind_reading count sheet.tsv --out reading.tsv
    python -m gumption.data.blind_reading

The first command draws 300 recipes of the book, 60 of the book of the 2020 release (`gumption data fetch alchemy2`) and
40 whose products are exchanged, by the sha256 of the shipped file, and writes them unmarked and mixed. A reader puts a
verdict into the last column: s sensible, q questionable, n nonsense. The second command counts what one or several
readers wrote; the reading counts where at least 36 of the 40 are refused (q or n). The file that it
writes is kept beside the book: of the 2020 book's recipes it has the row number alone. The third tells what came of the
kept reading. A changed book has another draw, and needs a new reading.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .errors import InputError
from .manifest import file_sha256, path
from .recipe_files import Recipe, read_recipes_json, read_recipes_tsv, tab_separated
from .writing import write_text

OWN, OLDER, SHUFFLED = "book", "2020", "shuffled"
SIZES = {OWN: 300, OLDER: 60, SHUFFLED: 40}
REFUSED = 36  # least number of refused shuffled recipes, for a reading that counts
SENSIBLE = 0.95  # least share of sensible recipes of the book; none may be nonsense
OLDER_ROWS = 3_426  # of alchemy2.json
VERDICTS = {"s": "sensible", "q": "questionable", "n": "nonsense"}
SHEET = ("number", "recipe", "verdict")
KEPT = ("source", "row", "recipe", "verdict")
READING = path("commonsense").with_name("reading.tsv")


class Drawn(NamedTuple):
    """A recipe to read. `row` counts from 1 in the file of its book; `recipe` is None for the 2020 book."""

    source: str
    row: int
    recipe: Recipe | None

    def __str__(self) -> str:
        return "" if self.recipe is None else told(self.recipe)


def told(recipe: Recipe) -> str:
    """Return a recipe in the form that readers see."""
    return f"{' + '.join(sorted(recipe[1:]))} = {recipe[0]}"


def draw(rows: Sequence[Recipe], sha256: str) -> list[Drawn]:
    """Draw the 400 recipes, in the order of the reading.

    :param rows: the recipes of the book.
    :param sha256: of its file, in hex; it seeds the draw.
    :raises InputError: a book with too few recipes.
    """
    if len(rows) < SIZES[OWN] + SIZES[SHUFFLED]:
        raise InputError(f"a book of {len(rows)} recipes: a reading needs {SIZES[OWN] + SIZES[SHUFFLED]}")
    rng = np.random.Generator(np.random.PCG64(int(sha256, 16)))
    order = rng.permutation(len(rows)).tolist()
    own, rest = order[: SIZES[OWN]], order[SIZES[OWN] : SIZES[OWN] + SIZES[SHUFFLED]]
    older = rng.permutation(OLDER_ROWS)[: SIZES[OLDER]].tolist()
    there = {(result, *sorted(pair)) for result, *pair in rows}
    found = [Drawn(OWN, at + 1, rows[at]) for at in own]
    found += [Drawn(OLDER, at + 1, None) for at in older]
    while True:  # until no recipe is in the book or makes its own ingredient
        shuffled = [(rows[other][0], *rows[at][1:]) for at, other in zip(rest, rng.permutation(rest), strict=True)]
        if all(a != result != b and (result, *sorted((a, b))) not in there for result, a, b in shuffled):
            break
    found += [Drawn(SHUFFLED, at + 1, recipe) for at, recipe in zip(rest, shuffled, strict=True)]
    return [found[at] for at in rng.permutation(len(found)).tolist()]


def drawn_of(book: Path) -> list[Drawn]:
    """Return the draw of a book's file."""
    return draw(read_recipes_tsv(book).rows, file_sha256(book))


def sheet(drawn: Sequence[Drawn], older: Sequence[Recipe]) -> str:
    """Return the text that a reader fills in.

    :param older: the rows of the 2020 book.
    :raises InputError: another number of rows than that book has.
    """
    if len(older) != OLDER_ROWS:
        raise InputError(f"{len(older)} recipes, where the 2020 book has {OLDER_ROWS}: gumption data fetch alchemy2")
    lines = [SHEET, *((str(n), told(one.recipe or older[one.row - 1]), "") for n, one in enumerate(drawn, start=1))]
    return "".join("\t".join(line) + "\n" for line in lines)


def read_sheets(files: Sequence[Path], drawn: Sequence[Drawn]) -> list[str]:
    """Return the verdict on each recipe of the draw, from the sheets of one or several readers.

    :raises InputError: with file:line: no sheet, a recipe that is not in the draw, an invalid verdict, two verdicts on
        a recipe; or a recipe without a verdict.
    """
    verdicts: dict[int, str] = {}
    for file in files:
        for line, (number, text, verdict) in tab_separated(file, (SHEET,), f"the header {'<TAB>'.join(SHEET)}"):
            at = int(number) if number.isdecimal() else 0
            if not 0 < at <= len(drawn) or (drawn[at - 1].recipe is not None and str(drawn[at - 1]) != text):
                raise InputError(f"{file}:{line}: {text!r} is not number {number} of the draw; draw a new sheet")
            if not verdict.strip():
                continue
            if verdict.strip() not in VERDICTS:
                raise InputError(f"{file}:{line}: the verdict is {verdict!r}; write s, q or n")
            if verdicts.setdefault(at, verdict.strip()) != verdict.strip():
                raise InputError(f"{file}:{line}: number {number} has another verdict, too; leave one")
    if missing := [str(at) for at in range(1, len(drawn) + 1) if at not in verdicts]:
        raise InputError(f"no verdict on {len(missing)} of {len(drawn)} recipes: number {', '.join(missing[:8])}")
    return [verdicts[at] for at in range(1, len(drawn) + 1)]


def reading_text(drawn: Sequence[Drawn], verdicts: Sequence[str]) -> str:
    """Return the text of the file that is kept."""
    lines = [KEPT, *((one.source, str(one.row), str(one), one_) for one, one_ in zip(drawn, verdicts, strict=True))]
    return "".join("\t".join(line) + "\n" for line in lines)


def read_reading(file: Path, drawn: Sequence[Drawn]) -> list[str]:
    """Return the verdicts of a kept reading.

    :raises InputError: a file that is no reading, or a reading of another book than the draw's.
    """
    rows = [cells for _, cells in tab_separated(file, (KEPT,), f"the header {'<TAB>'.join(KEPT)}")]
    if [(*row[:3],) for row in rows] != [(one.source, str(one.row), str(one)) for one in drawn]:
        raise InputError(f"{file}: a reading of another book than this one; draw a new sheet and have it read")
    return [row[3] for row in rows]


def outcome(drawn: Sequence[Drawn], verdicts: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return source -> verdict in a word -> number of recipes."""
    counts: dict[str, Counter[str]] = {source: Counter() for source in SIZES}
    for one, verdict in zip(drawn, verdicts, strict=True):
        counts[one.source][verdict] += 1
    return {source: {word: count[letter] for letter, word in VERDICTS.items()} for source, count in counts.items()}


def verdict_lines(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield the outcome in words."""
    refused = SIZES[SHUFFLED] - counts[SHUFFLED]["sensible"]
    yield f"{refused} of {SIZES[SHUFFLED]} recipes with exchanged products are refused: the reading " + (
        "counts" if refused >= REFUSED else f"does not count, since at least {REFUSED} have to be"
    )
    for source, name in ((OWN, "the book"), (OLDER, "the 2020 book")):
        shares = ", ".join(f"{count / SIZES[source]:.1%} {word}" for word, count in counts[source].items())
        yield f"{name}: {shares} of {SIZES[source]}"


def good(counts: Mapping[str, Mapping[str, int]]) -> bool:
    """Return whether the reading counts and the book passes it."""
    refused = SIZES[SHUFFLED] - counts[SHUFFLED]["sensible"]
    own = counts[OWN]
    return refused >= REFUSED and own["sensible"] >= SENSIBLE * SIZES[OWN] and not own["nonsense"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 for a drawn sheet, and for a reading that counts and that the book passes; else 2."""
    parser = argparse.ArgumentParser(prog="python -m gumption.data.blind_reading", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--book", type=Path, default=path("commonsense"), help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command")
    drawing = commands.add_parser("draw", help="write a sheet for readers")
    drawing.add_argument("--older", type=Path, required=True, help="alchemy2.json")
    drawing.add_argument("--out", type=Path, required=True)
    counting = commands.add_parser("count", help="count what readers wrote")
    counting.add_argument("sheets", type=Path, nargs="+")
    counting.add_argument("--out", type=Path, help="the reading to keep")
    given = parser.parse_args(arguments)
    try:
        drawn = drawn_of(given.book)
        if given.command == "draw":
            write_text(given.out, sheet(drawn, read_recipes_json(given.older)[1]))
            print(f"{given.out}: {len(drawn)} recipes; write s, q or n behind each")
            return 0
        if given.command == "count":
            verdicts = read_sheets(given.sheets, drawn)
            if given.out is not None:
                write_text(given.out, reading_text(drawn, verdicts))
        else:
            verdicts = read_reading(READING, drawn)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    counts = outcome(drawn, verdicts)
    print(*verdict_lines(counts), sep="\n")
    return 0 if good(counts) else 2


if __name__ == "__main__":
    sys.exit(main())
