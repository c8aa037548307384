"""Notes for people are lines of the command line; warnings of other libraries are as Python prints them."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from gumption.data import Note
from gumption.data.progress import Bar
from gumption.scripts.experiment import worker_pool

WARNS = """
import warnings
import pytest

from gumption.data import Note
from gumption.data.progress import print_notes
finish = print_notes()
warnings.warn("the text", Note)
warnings.warn("the text", Note)
warnings.warn("another text", Note)
warnings.warn("of a library", RuntimeWarning)
"""


def told(*arguments: str, where: Path | None = None) -> list[str]:
    """The lines that Python with these arguments leaves on stderr."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=where)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


@pytest.mark.slow
def test_a_command_tells_its_notes_in_a_line_each(tmp_path: Path, small_book: Path) -> None:
    book = tmp_path / "book.tsv"
    book.write_text(small_book.read_text(encoding="utf-8") + "qwxz\twood\tnut\n", encoding="utf-8")
    graph = tmp_path / "mine.tsv"
    graph.write_text("wood\tcomponentOf\tqwxz\nwoode\tcomponentOf\tqwxz\n", encoding="utf-8")
    size = "--distractors 3 --steps 256 --eval-interval 256 --final-draws 1 --device cpu"
    train = ["train", "wordcraft", "--run", "run", "--recipe-book", str(book), "--kg", str(graph), *size.split()]
    foreign, guessed, *more = sorted(told("-m", "gumption.scripts.cli", *train, where=tmp_path))
    assert guessed.startswith("note: 1 of ")
    assert guessed.endswith(" words have no vector of their own: 1 drawn at random (qwxz)")
    assert foreign.startswith(f"note: {graph}: the graph knows 2 of the world's ")
    assert more == []


def test_each_note_is_told_once_and_other_warnings_as_they_are() -> None:
    lines = told("-c", WARNS)
    assert lines[:2] == ["note: the text", "note: another text"]
    assert lines[2].endswith("RuntimeWarning: of a library")
    assert told("-W", "ignore", "-c", WARNS) == []


MANY = (
    WARNS[: WARNS.index("warnings.warn")]
    + """
for number in range(1, 31):
    warnings.warn(f"disc {number} is new", Note)
    warnings.warn("a note of another line", Note)
finish()
"""
)


def test_ten_notes_of_a_kind_are_told_and_the_others_counted() -> None:
    """Texts that differ in digits alone are different notes."""
    first, other, *more, last = told("-c", MANY)
    assert (first, other) == ("note: disc 1 is new", "note: a note of another line")
    assert more == [f"note: disc {number} is new" for number in range(2, 11)]
    assert last == "note: 20 more like this one: disc 10 is new"


@pytest.mark.slow
def test_workers_tell_notes_too(capfd) -> None:
    with worker_pool(1) as pool:
        for number in range(12):
            pool.submit(warnings.warn, f"from worker {number}", Note).result()
    *notes, last = capfd.readouterr().err.splitlines()
    assert notes == [f"note: from worker {number}" for number in range(10)]
    assert last == "note: 2 more like this one: from worker 9"


@pytest.mark.slow
def test_workers_leave_progress_to_their_parent() -> None:
    with worker_pool(1) as pool:
        assert pool.submit(Bar, 3, "fitting").result().visible is False
