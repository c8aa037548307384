"""What the tests of the command line share."""

from pathlib import Path

import pytest

from gumption import data
from gumption.scripts import cli


@pytest.fixture(scope="session")
def small_book(tmp_path_factory) -> Path:
    """A recipe file with a few of the shipped book's recipes, on words that have vectors."""
    lines = data.path("commonsense").read_text(encoding="utf-8").splitlines()
    path = tmp_path_factory.mktemp("book") / "book.tsv"
    path.write_text("\n".join(lines[:150]) + "\n", encoding="utf-8")
    return path


class GumptionKg:
    """Runs `gumption kg`: exit code, stdout, stderr; `ok` gives stdout where nothing went wrong."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr("sys.argv", ["gumption", "kg", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        out, err = self.capsys.readouterr()
        return (code if isinstance(code, int) else 0), out, err

    def ok(self, *arguments: str) -> str:
        code, out, err = self(*arguments)
        assert (code, err) == (0, "")
        return out


@pytest.fixture
def gumption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> GumptionKg:
    """`gumption kg` in an empty folder and on a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return GumptionKg(monkeypatch, capsys)
