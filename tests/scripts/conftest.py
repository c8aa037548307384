"""What the tests of the command line share."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import progress
from gumption.data.writing import is_part
from gumption.scripts import cli
from gumption.scripts import experiment as command


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """`gumption experiment` in an empty folder; gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["gumption", "experiment", *arguments])
        result = CliRunner().invoke(command.app, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    return call


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the lines that a player will type; after them the input ends."""

    def make(*lines: str) -> None:
        typed = iter(lines)

        def answer(_: str = "") -> str:
            try:
                return next(typed)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", answer)

    return make


class GumptionKg:
    """Runs `gumption kg`: exit code, stdout, stderr; `ok` gives stdout where nothing went wrong, `refused` stderr."""

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

    def refused(self, *arguments: str) -> str:
        """What is said of bad input. Nothing else is printed, and no file is made."""
        before = sorted(path.name for path in Path.cwd().iterdir() if not is_part(path))
        code, out, err = self(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert sorted(path.name for path in Path.cwd().iterdir() if not is_part(path)) == before
        return err


@pytest.fixture
def gumption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> GumptionKg:
    """`gumption kg` in an empty folder and on a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(progress, "SECONDS", math.inf)  # a busy machine takes long enough to print lines
    return GumptionKg(monkeypatch, capsys)
