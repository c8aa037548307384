"""Rows in tables, as TSV and CSV files hold them: which line is a header, and which columns hold what is wanted."""

import csv
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .errors import InputError

Row = tuple[int, list[str]]  # the number of its first line, and its cells
Bad = Callable[[int, str], None]  # told of a bad row by its line and the reason


@dataclass(frozen=True)
class RowKind:
    """What the rows of a table are to hold.

    :ivar parts: what each row has, in the order in which a table without a header has it.
    :ivar optional: what may stand behind that.
    :ivar names: what programs call the columns, in small letters and digits -> the part.
    :ivar key: the part whose name, at its place in a row of these parts, is enough to know a header.
    :ivar rows: of first cells that are a header though none of them is among the names.
    :ivar command: what reads such a table, with the options --columns and --header.
    """

    parts: tuple[str, ...]
    optional: tuple[str, ...]
    names: Mapping[str, str] = field(hash=False)
    key: str
    command: str
    rows: tuple[tuple[str, ...], ...] = ()

    def part(self, cell: str) -> str | None:
        """What a column of this name holds, if it is one of the usual names."""
        return self.names.get(re.sub(r"[\W_]", "", cell.lower()))

    def looks_like_header(self, cells: Sequence[str]) -> bool:
        """Whether the cells of a row are the usual names of columns.

        That is so where two cells are names of different parts, where the name of `key` stands at its place, and for
        the `rows`.
        """
        found = {part for cell in cells if (part := self.part(cell))}
        at = self.parts.index(self.key)
        keyed = len(cells) > at and self.part(cells[at]) == self.key
        first = tuple(cell.strip().lower() for cell in cells[: len(self.parts)])
        return len(found) > 1 or keyed or first in self.rows


FACT = RowKind(
    ("subject", "relation", "object"),
    ("graph",),
    {
        **dict.fromkeys(("subject", "subj", "head", "source"), "subject"),
        **dict.fromkeys(("relation", "rel", "predicate", "pred", "property"), "relation"),
        **dict.fromkeys(("object", "obj", "tail", "target"), "object"),
        "graph": "graph",
    },
    "relation",
    "gumption kg load",
    (("s", "p", "o"), ("s", "r", "o"), ("h", "r", "t")),
)
RECIPE = RowKind(
    ("product", "first ingredient", "second ingredient"),
    (),
    {
        **dict.fromkeys(("product", "result", "output"), "product"),
        **dict.fromkeys(("ingredient1", "firstingredient", "input1"), "first ingredient"),
        **dict.fromkeys(("ingredient2", "secondingredient", "input2"), "second ingredient"),
    },
    "product",
    "gumption data recipes",
)


@dataclass(frozen=True)
class TableLayout:
    """What the caller knows of a table.

    :ivar columns: of each part the name in the header, or the number from 1 on; None where the table has just the
        parts, in their order or under their usual names.
    :ivar header: whether the first row holds names; None where nobody said.
    """

    columns: tuple[str | int, ...] | None = None
    header: bool | None = None
    kind: RowKind = FACT

    @classmethod
    def of(cls, columns: str | Sequence[str | int] | None, header: bool | None, kind: RowKind = FACT) -> "TableLayout":
        """The layout of `columns`, a sequence or its text with commas between ("subject,relation,3").

        A column that is given by its name means that there is a header.
        Raises InputError for another number of columns, one that is given twice, number 0, and names without a header.
        """
        if columns is None:
            return cls(None, header, kind)
        listed = next(csv.reader([columns]), []) if isinstance(columns, str) else list(columns)
        chosen = tuple(_column(each) for each in listed)
        most = len(kind.parts) + len(kind.optional)
        wrong = len(set(chosen)) < len(chosen) or any(each in ("", 0) for each in chosen)
        if wrong or not len(kind.parts) <= len(chosen) <= most:
            perhaps = f"; a further one may hold the {kind.optional[0]}" if kind.optional else ""
            raise InputError(
                f"the columns are {columns!r}: give the names of {len(kind.parts)} different ones, or their numbers "
                f"from 1 on, for {', '.join(kind.parts)}{perhaps}"
            )
        names = [each for each in chosen if isinstance(each, str)]
        if names and header is False:
            raise InputError(f"the column {names[0]!r} has a name and the table no header: give the column's number")
        return cls(chosen, True if names else header, kind)

    def cells(self, path: Path, rows: Iterable[Row], bad: Bad) -> Iterator[Row]:
        """Of each row its line and the cells of the parts and, where the table has them, of the optional ones.

        Raises InputError with file and line for a first row that may be a header where nobody said, and for a column
        that the table does not have. Rows that are otherwise bad are told to `bad`, and passed over if that returns.
        """
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        number, cells = first
        # The first line only: one that is empty says that no header follows.
        if self.header is None and number == 1 and self.kind.looks_like_header(cells):
            raise InputError(
                f"{path}:1: {', '.join(cells[:4])} looks like a header. Say whether it is one: --header or --no-header "
                f"of `{self.kind.command}` (in Python header=True or header=False)"
            )
        places = self._places(path, number, cells)
        if not self.header:
            rows = _chain(first, rows)
        yield from self._plain(rows, bad) if places is None else self._chosen(rows, bad, places, cells)

    def _places(self, path: Path, number: int, first: list[str]) -> list[int] | None:
        """Where the parts stand in a row; None where a row is nothing but them."""
        names = [cell.strip() for cell in first]
        if self.columns is not None:
            return [self._place(path, number, names, column) for column in self.columns]
        if not self.header:
            return None
        parts, optional = self.kind.parts, self.kind.optional
        found = [self.kind.part(name) for name in names]
        left = iter([at for at, part in enumerate(found) if part is None])
        if len(names) == len(parts) and all(found.count(part) < 2 for part in parts):
            # Columns of other names hold what the known names leave over.
            return [found.index(part) if part in found else next(left) for part in parts]
        if all(found.count(part) == 1 for part in parts):
            return [found.index(part) for part in (*parts, *optional) if part in found]
        raise InputError(
            f"{path}:{number}: the header is {', '.join(names)}: say which columns are {', '.join(parts)}, by "
            f"--columns of `{self.kind.command}` (in Python columns=...)"
        )

    def _place(self, path: Path, number: int, names: list[str], column: str | int) -> int:
        if isinstance(column, int):
            if column > len(names):
                raise InputError(f"{path}:{number}: there is no column {column}: the row has {len(names)}")
            return column - 1
        if names.count(column) > 1:
            raise InputError(f"{path}:{number}: {names.count(column)} columns are called {column!r}: give its number")
        if column not in names:
            near = difflib.get_close_matches(column, names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InputError(f"{path}:{number}: there is no column {column!r}{hint}: there are {', '.join(names)}")
        return names.index(column)

    def _plain(self, rows: Iterable[Row], bad: Bad) -> Iterator[Row]:
        least, most = len(self.kind.parts), len(self.kind.parts) + len(self.kind.optional)
        for number, cells in rows:
            if least <= len(cells) <= most and all(cells):
                yield number, cells
            else:
                perhaps = f" and perhaps a {self.kind.optional[0]}" if self.kind.optional else ""
                bad(number, f"expected {', '.join(self.kind.parts)}{perhaps}, none of them empty; found {cells}")

    def _chosen(self, rows: Iterable[Row], bad: Bad, places: list[int], first: list[str]) -> Iterator[Row]:
        parts = (*self.kind.parts, *self.kind.optional)
        for number, cells in rows:
            if len(cells) != len(first):
                bad(number, f"{len(cells)} cells where the {'header' if self.header else 'first row'} has {len(first)}")
                continue
            chosen = [cells[place] for place in places]
            if all(chosen):
                yield number, chosen
                continue
            part = chosen.index("")
            name = f" ({first[places[part]].strip()})" if self.header else ""
            bad(number, f"the cell of the {parts[part]}, column {places[part] + 1}{name}, is empty")


def csv_rows(stream: Iterable[bytes], bad: Bad) -> Iterator[Row]:
    """The rows of a CSV file in UTF-8 (RFC 4180: quoted cells may hold commas, doubled quotes and line breaks).

    Empty lines are passed over, rows that are broken told to `bad`.
    """
    broken: list[str] = []

    def lines() -> Iterator[str]:
        for number, line in enumerate(stream):
            try:
                yield line.decode("utf-8" if number else "utf-8-sig")
            except UnicodeDecodeError as error:
                broken.append(error.reason)
                yield line.decode("utf-8", "replace")

    reader = csv.reader(lines(), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad(number, f"not a row of CSV: {error} (is a quote missing or too many?)")
            continue
        if broken:
            bad(number, f"the text is not UTF-8: {broken[0]}")
            broken.clear()
        elif cells:
            yield number, cells


def _chain(first: Row, rows: Iterable[Row]) -> Iterator[Row]:
    yield first
    yield from rows


def _column(column: str | int) -> str | int:
    text = str(column).strip()
    return int(text) if text.isdecimal() else text
