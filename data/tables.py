"""Tables in TSV and CSV files: whether the first line is a header, and which columns hold the wanted parts."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from .errors import InputError, did_you_mean

Row = tuple[int, list[str]]  # the number of its first line, and its cells
Bad = Callable[[int, str], None]  # is called with the line of a bad row and the reason


@dataclass(frozen=True)
class RowKind:
    """The parts that each row of a table has.

    :ivar parts: in the order of a table without a header.
    :ivar optional: parts that may follow them.
    :ivar names: usual name of a column, in small letters and digits -> the part.
    :ivar key: the part whose usual name at its place shows that a row is a header.
    :ivar rows: headers whose cells are none of the usual names.
    :ivar command: the command that reads such a table, with the options --columns and --header.
    """

    parts: tuple[str, ...]
    optional: tuple[str, ...]
    names: Mapping[str, str] = field(hash=False)
    key: str
    command: str
    rows: tuple[tuple[str, ...], ...] = ()

    def part(self, cell: str) -> str | None:
        """The part that a column of this usual name holds."""
        return self.names.get(re.sub(r"[\W_]", "", cell.lower()))

    def looks_like_header(self, cells: Sequence[str]) -> bool:
        """Whether two cells are usual names of different parts, the name of `key` stands at its place, or the cells
        are one of `rows`."""
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
    ("origin",),
    {
        **dict.fromkeys(("product", "result", "output"), "product"),
        **dict.fromkeys(("ingredient1", "firstingredient", "input1"), "first ingredient"),
        **dict.fromkeys(("ingredient2", "secondingredient", "input2"), "second ingredient"),
        "origin": "origin",
    },
    "product",
    "gumption data recipes",
)


@dataclass(frozen=True)
class TableLayout:
    """Which columns of a table hold the parts, and whether it has a header.

    :ivar columns: of each part the name in the header, or the number from 1; None for a table of the parts alone, in
        their order or under their usual names.
    :ivar header: whether the first row holds names; None where the caller does not know.
    """

    columns: tuple[str | int, ...] | None = None
    header: bool | None = None
    kind: RowKind = FACT

    @classmethod
    def of(cls, columns: str | Sequence[str | int] | None, header: bool | None, kind: RowKind = FACT) -> "TableLayout":
        """The layout of `columns`, a sequence or a text such as "subject,relation,3". A name implies a header.

        :raises InputError: a wrong number of columns, a repeated one, number 0, a name without a header.
        """
        if columns is None:
            return cls(None, header, kind)
        listed = next(csv.reader(columns.splitlines()), []) if isinstance(columns, str) else list(columns)
        texts = [str(each).strip() for each in listed]
        chosen = tuple(int(text) if text.isdecimal() else text for text in texts)
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
        """The line of each row with the cells of its parts and, where the table has them, of the optional ones.

        :param bad: called for each bad row, which is left out if the call returns.
        :raises InputError: with file and line: an undeclared row that looks like a header, a missing column.
        """
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        number, cells = first
        # A header is on line 1: an empty first line shows that there is none.
        if self.header is None and number == 1 and self.kind.looks_like_header(cells):
            raise InputError(
                f"{path}:1: {', '.join(cells[:4])} looks like a header. Say whether it is one: --header or --no-header "
                f"of `{self.kind.command}` (in Python header=True or header=False)"
            )
        places = self._places(path, number, cells)
        if not self.header:
            rows = chain([first], rows)
        yield from self._plain(rows, bad) if places is None else self._chosen(rows, bad, places, cells)

    def _places(self, path: Path, number: int, first: list[str]) -> list[int] | None:
        """The places of the parts in a row; None for rows of the parts alone."""
        names = [cell.strip() for cell in first]
        if self.columns is not None:
            return [self._place(path, number, names, column) for column in self.columns]
        if not self.header:
            return None
        parts, optional = self.kind.parts, self.kind.optional
        found = [self.kind.part(name) for name in names]
        left = iter([at for at, part in enumerate(found) if part is None])
        further = [found.index(part) for part in optional if part in found]
        if len(names) == len(parts) + len(further) and all(found.count(part) < 2 for part in (*parts, *optional)):
            # Columns with unusual names hold the remaining parts.
            return [found.index(part) if part in found else next(left) for part in parts] + further
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
            hint = did_you_mean(column, names)
            raise InputError(
                f"{path}:{number}: there is no column {column!r}{hint and f' ({hint})'}: there are {', '.join(names)}"
            )
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
    """The rows of a CSV file in UTF-8 (RFC 4180: quoted cells may hold commas, doubled quotes and line breaks), without
    empty lines; `bad` is called for broken rows."""
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
