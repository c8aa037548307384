"""Read tables in TSV and CSV files: detect the delimiter and the header, choose the columns, and group rows by key."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from typing import TypeVar

from .errors import InputError, did_you_mean
from .packed import LINE

Row = tuple[int, list[str]]  # number of the first line, cells
Key = TypeVar("Key")
Value = TypeVar("Value")
Bad = Callable[[int, str], None]  # called with the line of a bad row and the reason

DELIMITERS = ",;\t|"  # delimiters in the order of the detection
_DETECTED_BY = 20  # rows read to detect the delimiter
_COMPARED = 1_000  # rows read to detect a header
_CHARACTERS = 1 << 20  # characters read for either, at most
_COLUMN_NAME = re.compile(r"[^\W\d_][\w .()/-]{0,39}")


@dataclass(frozen=True)
class RowKind:
    """The parts of each row of a table.

    :ivar parts: names of the parts, in the order of a table without a header.
    :ivar optional: parts that may follow them.
    :ivar names: usual name of a column, in small letters and digits -> the part.
    :ivar key: the part that marks a header: a row with one of its usual names at its place.
    :ivar rows: further headers, whose cells are none of the usual names.
    :ivar command: the command that reads such a table, with the options --columns and --header.
    """

    parts: tuple[str, ...]
    optional: tuple[str, ...]
    names: Mapping[str, str] = field(hash=False)
    key: str
    command: str
    rows: tuple[tuple[str, ...], ...] = ()

    def part(self, cell: str) -> str | None:
        """Return the part that a column of this usual name holds; None for any other name."""
        return self.names.get(re.sub(r"[\W_]", "", cell.lower()))

    def looks_like_header(self, cells: Sequence[str]) -> bool:
        """Return whether two cells are usual names of different parts, the name of `key` is at its place, or the cells
        are one of `rows`."""
        found = {part for cell in cells if (part := self.part(cell))}
        at = self.parts.index(self.key)
        keyed = len(cells) > at and self.part(cells[at]) == self.key
        first = tuple(cell.strip().lower() for cell in cells[: len(self.parts)])
        return len(found) > 1 or keyed or first in self.rows

    def may_be_header(self, cells: Sequence[str], rows: Iterator[Row]) -> tuple[bool, Iterator[Row]]:
        """Return whether all cells look like column names and none recurs in the following rows, and these rows, of
        which some have been read.

        The answer is False if no row follows, or if a cell is a number, an IRI, a literal or a sentence.
        """
        names = [text for cell in cells if (text := cell.strip())]
        distinct = set(names)
        if not len(self.parts) <= len(names) == len(distinct) or not all(map(_COLUMN_NAME.fullmatch, names)):
            return False, rows
        seen: list[Row] = []
        left, again = _CHARACTERS, False
        for row in islice(rows, _COMPARED):
            seen.append(row)
            left -= sum(map(len, row[1]))
            again = not distinct.isdisjoint(map(str.strip, row[1]))
            if again or left < 0:
                break
        return bool(seen) and not again, chain(seen, rows)

    def question(self, path: Path, number: int, cells: Sequence[str], looks: str, otherwise: str = "") -> InputError:
        """Return the error for a first row that may be a header, with the options that decide.

        :param looks: the verb of the message: "looks like" or "may be".
        :param otherwise: a further way to decide.
        """
        return InputError(
            f"{path}:{number}: {', '.join(cells[:4])} {looks} a header. Say whether it is one: --header or --no-header "
            f"of `{self.command}` (in Python header=True or header=False){otherwise}"
        )


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
    """The columns of a table that hold the parts, and whether it has a header.

    :ivar columns: for each part its name in the header, or its number from 1; None for a table of the parts alone, in
        their order or under their usual names.
    :ivar header: whether the first row holds names; None if unknown: a first row that may be a header is then refused.
    :ivar delimiter: separates the cells; None for tabs in .tsv and .txt, and for the detected delimiter in .csv.
    """

    columns: tuple[str | int, ...] | None = None
    header: bool | None = None
    delimiter: str | None = None
    kind: RowKind = FACT

    @classmethod
    def of(
        cls, columns: str | Sequence[str | int] | None = None, header: bool | None = None,
        delimiter: str | None = None, kind: RowKind = FACT,
    ) -> "TableLayout":  # fmt: skip
        """Return the layout of `columns`, a sequence or a text such as "subject,relation,3". A name implies a header.

        :param delimiter: one character, or "tab".
        :raises InputError: a wrong number of columns, a repeated column, number 0, a name without a header; an invalid
            delimiter.
        """
        delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
        if delimiter is not None and (len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n'):
            raise InputError(f"the delimiter is {delimiter!r}: give one character, such as ; or |, or the word tab")
        if columns is None:
            return cls(None, header, delimiter, kind)
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
        return cls(chosen, True if names else header, delimiter, kind)

    def cells(self, path: Path, rows: Iterable[Row], bad: Bad) -> Iterator[Row]:
        """Yield the line of each row, with the cells of its parts and of the optional parts that the table has.

        :param bad: called for each bad row, which is left out if the call returns.
        :raises InputError: with file and line: a first row that may be a header while `header` is None, a missing
            column.
        """
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        number, cells = first
        # A header is on line 1: an empty first line means that the table has none.
        if self.header is None and number == 1:
            if self.kind.looks_like_header(cells):
                raise self.kind.question(path, number, cells, "looks like")
            asked, rows = self.kind.may_be_header(cells, rows)
            if asked:
                otherwise = "; --columns chooses columns by name, and an empty first line says that there is none"
                raise self.kind.question(path, number, cells, "may be", otherwise)
        places = self._places(path, number, cells)
        if not self.header:
            rows = chain([first], rows)
        yield from self._plain(rows, bad) if places is None else self._chosen(rows, bad, places, cells)

    def _places(self, path: Path, number: int, first: list[str]) -> list[int] | None:
        """Return the indices of the parts in a row; None for rows of the parts alone."""
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
                continue
            perhaps = f" and perhaps a {self.kind.optional[0]}" if self.kind.optional else ""
            more = "; --delimiter gives what separates the cells" if len(cells) == 1 else ""
            more = "; --columns says which cells they are" if len(cells) > most else more
            bad(number, f"expected {', '.join(self.kind.parts)}{perhaps}, none of them empty; found {cells}{more}")

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


def needs_empty_line(rows: Iterator[Sequence[str]], kind: RowKind = FACT) -> tuple[bool, Iterator[Sequence[str]]]:
    """Return whether a new table without a header must begin with an empty line, because a reader might take its first
    row for a header; and the rows."""
    numbered = ((0, list(row)) for row in rows)
    first = next(numbered, None)
    if first is None:
        return False, iter(())
    asked, following = kind.may_be_header(first[1], numbered)
    return asked or kind.looks_like_header(first[1]), (row for _, row in chain([first], following))


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return key -> its values, both in the order of their first occurrence."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


# ---- CSV


def csv_rows(stream: Iterable[bytes], bad: Bad, delimiter: str | None = None) -> Iterator[Row]:
    """Yield the rows of a CSV file in UTF-8 (RFC 4180: quoted cells may hold commas, doubled quotes and line breaks),
    without empty lines. `bad` is called for broken rows, and for rows with a cell of more than LINE characters.

    :param delimiter: separates the cells; None to detect it.
    """
    source = iter(stream)
    if delimiter is None:
        delimiter, source = detected(source)
    broken: list[str] = []
    read: list[str] = []  # the lines of a row
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for line in source:
            try:
                read.append(line.decode("utf-8" if count else "utf-8-sig"))
            except UnicodeDecodeError as error:
                broken.append(error.reason)
                read.append(line.decode("utf-8", "replace"))
            count += 1
            yield read[-1]

    texts = lines()
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        number = count + 1
        read.clear()
        try:
            try:
                cells = next(reader)
            except csv.Error:
                # The limit of csv for a cell holds for the whole process: a row that may exceed it is read here.
                if sum(map(len, read)) <= csv.field_size_limit():
                    raise
                cells = csv_row(chain(tuple(read), texts), delimiter)
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


_CSV_LIMIT = Lock()  # csv has one limit for all threads


def csv_row(lines: Iterator[str], delimiter: str) -> list[str]:
    """Return the cells of the row that begins in the next line, as csv.reader, with a limit of LINE characters a cell.

    :raises csv.Error: as the strict csv.reader.
    :raises StopIteration: no line is left.
    """
    with _CSV_LIMIT:
        limit = csv.field_size_limit(LINE)
        try:
            return next(csv.reader(lines, delimiter=delimiter, strict=True))
        finally:
            csv.field_size_limit(limit)


def detected(stream: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the delimiter of a CSV file, and its lines, of which some have been read.

    The delimiter is the first of DELIMITERS that splits all of the first rows into the same number of cells, at least
    three; with commas some rows may have a fourth cell, the graph. If none does, it is the comma.
    """
    seen: list[bytes] = []

    def again() -> Iterator[str]:
        yield from (line.decode("utf-8-sig", "replace") for line in tuple(seen))
        for line in stream:
            seen.append(line)
            yield line.decode("utf-8-sig", "replace")

    def whole() -> Iterator[bytes]:
        yield from seen
        yield from stream

    for delimiter in DELIMITERS:
        lines, sizes = again(), set[int]()
        rows = left = 0
        try:
            while rows < _DETECTED_BY and left < _CHARACTERS:
                if cells := csv_row(lines, delimiter):
                    sizes.add(len(cells))
                    rows += 1
                    left += sum(map(len, cells))
        except StopIteration:
            pass
        except csv.Error:
            continue
        if sizes and min(sizes) >= 3 and (len(sizes) == 1 or (delimiter == "," and max(sizes) == 4)):
            return delimiter, whole()
    return ",", whole()
