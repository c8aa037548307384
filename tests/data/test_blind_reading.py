"""The blind reading: drawn by the book's bytes, marked nowhere, and kept with the book that was read."""

import re
from pathlib import Path

import pytest

from gumption.data import InputError, blind_reading, path
from gumption.data.blind_reading import (
    OLDER,
    OWN,
    READING,
    SHUFFLED,
    SIZES,
    draw,
    drawn_of,
    good,
    main,
    outcome,
    read_reading,
    read_sheets,
    reading_text,
)
from gumption.data.recipe_files import read_recipes_json, read_recipes_tsv

ROWS = [(f"thing{a}x{b}", f"one{a}", f"other{b}") for a in range(20) for b in range(20)]


def test_the_kept_reading_is_of_the_shipped_book_which_passes_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A changed book has another draw: this fails until readers have read it anew."""
    drawn = drawn_of(path("commonsense"))
    counts = outcome(drawn, read_reading(READING, drawn))
    assert {source: sum(count.values()) for source, count in counts.items()} == SIZES
    assert good(counts)
    assert main([]) == 0
    assert "of 40 recipes with exchanged products are refused: the reading counts" in capsys.readouterr().out


def test_nothing_of_the_2020_book_is_kept() -> None:
    kept = READING.read_text().splitlines()
    assert all(re.fullmatch(r"2020\t[0-9]+\t\t[sqn]", line) for line in kept if line.startswith("2020"))


def test_a_draw_depends_on_the_bytes_of_the_book_alone() -> None:
    drawn = draw(ROWS, "ab" * 32)
    assert drawn == draw(ROWS, "ab" * 32)
    assert drawn != draw(ROWS, "ac" * 32)
    assert {source: sum(one.source == source for one in drawn) for source in SIZES} == SIZES
    assert len({(one.source, one.row) for one in drawn}) == 400
    assert [one.source for one in drawn][:20] != [OWN] * 20, "mixed"
    for one in drawn:
        if one.source == OWN:
            assert one.recipe == ROWS[one.row - 1]
        if one.source == SHUFFLED:
            assert one.recipe not in ROWS
            assert one.recipe[1:] == ROWS[one.row - 1][1:]
    with pytest.raises(InputError, match="a book of 10 recipes: a reading needs 340"):
        draw(ROWS[:10], "ab" * 32)


def book_and_sheet(folder: Path, shared_data: Path) -> tuple[Path, Path]:
    book, sheet = folder / "book.tsv", folder / "sheet.tsv"
    rows = [("result", "ingredient", "ingredient"), *ROWS]
    book.write_text("".join("\t".join(row) + "\n" for row in rows))
    older = str(shared_data / "alchemy2.json")
    assert main(["--book", str(book), "draw", "--older", older, "--out", str(sheet)]) == 0
    return book, sheet


def judged(sheet: Path, verdicts: str) -> Path:
    lines = sheet.read_text().splitlines()
    told = [f"{line}{verdict.strip()}" for line, verdict in zip(lines[1:], verdicts, strict=True)]
    file = sheet.with_name(f"judged-{len(list(sheet.parent.iterdir()))}.tsv")
    file.write_text("\n".join([lines[0], *told, ""]))
    return file


def test_a_sheet_shows_no_source_and_readers_share_it(
    tmp_path: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book, sheet = book_and_sheet(tmp_path, shared_data)
    drawn, lines = drawn_of(book), sheet.read_text().splitlines()
    assert all(re.fullmatch(r"[0-9]+\t[^\t]+ \+ [^\t]+ = [^\t]+\t", line) for line in lines[1:])
    older = read_recipes_json(shared_data / "alchemy2.json")[1]
    for one, line in zip(drawn, lines[1:], strict=True):
        result, *pair = one.recipe or older[one.row - 1]
        assert line.split("\t")[1] == f"{min(pair)} + {max(pair)} = {result}"
    verdicts = "".join("n" if one.source == SHUFFLED else "s" for one in drawn)
    first, second = judged(sheet, verdicts[:200] + " " * 200), judged(sheet, " " * 200 + verdicts[200:])
    kept = tmp_path / "reading.tsv"
    assert main(["--book", str(book), "count", str(first), str(second), "--out", str(kept)]) == 0
    assert "the book: 100.0% sensible, 0.0% questionable, 0.0% nonsense of 300" in capsys.readouterr().out
    assert read_reading(kept, drawn) == list(verdicts)
    book.write_text(book.read_text().replace("thing3x3", "thing3y3"))
    with pytest.raises(InputError, match="a reading of another book than this one; draw a new sheet"):
        read_reading(kept, drawn_of(book))


@pytest.mark.parametrize(
    ("refused", "questionable", "nonsense", "told", "code"),
    [
        (36, 15, 0, "36 of 40 recipes with exchanged products are refused: the reading counts", 0),
        (35, 0, 0, "does not count, since at least 36 have to be", 2),
        (40, 16, 0, "the book: 94.7% sensible, 5.3% questionable, 0.0% nonsense of 300", 2),
        (40, 0, 1, "the book: 99.7% sensible, 0.0% questionable, 0.3% nonsense of 300", 2),
    ],
)
def test_what_counts(
    tmp_path: Path,
    shared_data: Path,
    capsys: pytest.CaptureFixture[str],
    refused: int,
    questionable: int,
    nonsense: int,
    told: str,
    code: int,
) -> None:
    book, sheet = book_and_sheet(tmp_path, shared_data)
    left = {SHUFFLED: ["q"] * refused, OWN: ["q"] * questionable + ["n"] * nonsense, OLDER: ["n"]}
    verdicts = "".join(left[one.source].pop() if left[one.source] else "s" for one in drawn_of(book))
    assert main(["--book", str(book), "count", str(judged(sheet, verdicts))]) == code
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("\ts\n", "\tx\n", 1), "the verdict is 'x'; write s, q or n"),
        (lambda text: text.replace("\ts\n", "\t\n", 1), "no verdict on 1 of 400 recipes: number 1"),
        (lambda text: re.sub(r"\n[0-9]+\tone", r"\n401\tone", text, count=1), "is not number 401 of the draw"),
        (lambda text: text.replace("thing", "thin", 1), "of the draw; draw a new sheet"),
        (lambda text: text + "1\t" + text.split("\t")[3] + "\tq\n", "number 1 has another verdict, too; leave one"),
    ],
)
def test_a_bad_sheet(tmp_path: Path, shared_data: Path, change, message: str) -> None:
    book, sheet = book_and_sheet(tmp_path, shared_data)
    file = judged(sheet, "s" * 400)
    file.write_text(change(file.read_text()))
    with pytest.raises(InputError, match=message):
        read_sheets([file], drawn_of(book))
    assert main(["--book", str(book), "count", str(file)]) == 2


def test_another_file_than_the_2020_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "other.json").write_text('{"entities": {"a": {"recipes": [["b", "b"]]}, "b": {}}}')
    monkeypatch.setattr(blind_reading, "drawn_of", lambda book: draw(ROWS, "ab" * 32))
    assert main(["draw", "--older", str(tmp_path / "other.json"), "--out", str(tmp_path / "sheet.tsv")]) == 2
    assert "1 recipes, where the 2020 book has 3426" in capsys.readouterr().err
    assert not (tmp_path / "sheet.tsv").exists()


def test_the_text_of_a_reading_has_the_recipes_of_the_book_alone() -> None:
    drawn = draw(ROWS, "ab" * 32)
    lines = reading_text(drawn, ["s"] * 400).splitlines()
    assert lines[0] == "source\trow\trecipe\tverdict"
    assert sum(line.split("\t")[2] == "" for line in lines) == SIZES[OLDER]
    assert read_recipes_tsv(path("commonsense")).origins is not None
