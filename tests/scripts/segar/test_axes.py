"""`gumption segar axes`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.envs.segar.measures import axes_table, axis_pairs
from gumption.scripts.papers.segar.commands import app


@pytest.mark.slow
def test_the_table_is_shown_and_saved(tmp_path: Path) -> None:
    out = tmp_path / "axes.json"
    done = CliRunner().invoke(app, ["axes", "--levels", "3", "--seed", "1", "--out", str(out)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in axis_pairs())
    saved = json.loads(out.read_text(encoding="utf-8"))
    assert {"command", "versions"} <= saved.keys()
    assert saved["pairs"] == json.loads(json.dumps(axes_table(levels=3, seed=1)))["pairs"]
