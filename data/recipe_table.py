"""Recipes out of a table of one's own: a CSV or TSV file with a column for the product and one for each ingredient."""

from pathlib import Path

from .errors import InputError
from .recipe_check import HEADER, Problem, Recipe, check_recipes
from .tables import RECIPE, Row, TableLayout, csv_rows

ENDINGS = (".csv", ".tsv", ".txt")
# Of `check_recipes`: what is left out of a book, and what is told of. The others are rules of the shipped book alone.
LEFT_OUT = ("own result", "duplicate")
TOLD = (*LEFT_OUT, "unreachable", "spelling")
SHOWN = 20  # lines that are wrong, in an error

Line = tuple[int, Recipe]  # its number in the file


def read_recipe_table(path: Path, columns: str | None = None, header: bool | None = None) -> list[Line]:
    """The recipes (product, ingredient, ingredient) of a table, with their lines. Spaces around labels are left out.

    :param columns: names in the header, or numbers from 1 on, of product and ingredients: "makes,first,second".
    :param header: whether the first line holds names; None where these are product, result or the like.
    :raises InputError: a file that cannot be read, a header in doubt, a column that is not there; all rows with another
        number of cells, empty cells, or tabs or line breaks within a label, each with its line.
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
    """The recipes without those that make one of their own ingredients or are there before; and what was found, with
    its line (0 for the whole table): also things that cannot be made from the rest, and words in two spellings."""
    found = [
        (lines[problem.row][0] if problem.row is not None else 0, problem)
        for problem in check_recipes([recipe for _, recipe in lines])
        if problem.kind in TOLD
    ]
    out = {line for line, problem in found if problem.kind in LEFT_OUT}
    return [line for line in lines if line[0] not in out], found


def book_text(lines: list[Line]) -> str:
    """The file of a recipe book, as `gumption.data.recipe_check` reads it."""
    return "".join("\t".join(row) + "\n" for row in (HEADER, *(recipe for _, recipe in lines)))


def _tsv(path: Path, content: bytes) -> list[Row]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    rows = enumerate(text.split("\n"), start=1)
    return [(number, row.rstrip("\r").split("\t")) for number, row in rows if row.strip()]
