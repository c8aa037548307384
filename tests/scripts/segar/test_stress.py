"""`gumption segar stress`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.scripts.segar import stress
from gumption.scripts.segar.commands import app
from gumption.scripts.segar.stress import Cell, Found, Worker

JAM = Cell("a part", "", "three balls jammed between posts")


@pytest.mark.slow
def test_what_was_found_is_saved_and_a_failure_is_an_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stress, "cells", lambda: [JAM])
    out, page = tmp_path / "stress.json", tmp_path / "stress.md"
    command = ["stress", "--steps", "600", "--seed", "2", "--out", str(out), "--markdown", str(page)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    saved = json.loads(out.read_text(encoding="utf-8"))
    assert {"command", "versions", "hardware", "seed"} <= saved.keys()
    (cell,) = saved["cells"]
    assert (cell["levels"], cell["steps"], cell["failures"]) == (JAM.levels, 1024, [])
    assert "| a part | 1 | 1,024 |" in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").startswith(done.stdout)

    monkeypatch.setattr(Worker, "play", lambda *_: Found(failures=["step 3: a Mass is not finite"]))
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert f"failed: {JAM.name}: step 3: a Mass is not finite" in done.stderr
    assert json.loads(out.read_text(encoding="utf-8"))["cells"][0]["failures"] == ["step 3: a Mass is not finite"]


@pytest.mark.slow
def test_a_cell_that_does_not_end_is_ended() -> None:
    with Worker() as worker:
        assert worker.play(JAM, 10**9, 0, seconds=1.0).failures == ["it did not end within 1 s"]
        assert worker.play(JAM, 100, 0, seconds=300.0).failures == []
