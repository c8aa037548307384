"""`gumption gradual`: agents are run and validated, and results are kept."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.scripts.gradual.bench import MIX, Settings, one_stream, rates_of_many
from gumption.scripts.gradual.commands import app

AGENT = """
def make(seed):
    return lambda reward, byte: byte

def broken(seed):
    return lambda reward, byte: "no byte"
"""


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def test_a_run_keeps_its_result_and_its_plot(tmp_path: Path) -> None:
    told = run("run", "--agent", "table", "--tasks", "micro4", "--max-steps", "60000", "--out", str(tmp_path / "run"))
    assert "1 of 1 tasks passed" in told
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["ended"] == "solved"
    assert result["knower"] == {"micro4": 50}
    assert result["tasks"][0]["passed"]
    assert result["steps"] == result["tasks"][0]["steps"]
    assert {"agent", "command", "versions", "hardware", "settings"} <= result.keys()
    assert (tmp_path / "run" / "steps.png").exists()
    assert "micro4" in (tmp_path / "run" / "steps.svg").read_text()


def test_two_runs_are_the_same(tmp_path: Path) -> None:
    results = []
    for name in ("a", "b"):
        run("run", "--tasks", "micro4", "--seed", "3", "--max-steps", "60000", "--out", str(tmp_path / name))
        result = json.loads((tmp_path / name / "result.json").read_text())
        results.append({key: result[key] for key in result if key not in ("command", "sha256")})
    assert results[0] == results[1]


def test_an_agent_of_ones_own_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agents_of_mine.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    assert "1 of 1 tasks passed" in run("run", "--agent", "agents_of_mine:make", "--tasks", "micro4")
    with pytest.raises(InputError, match=r"the agent said 'no byte': it has to be a byte.* \(at step 1, in micro4\)"):
        run("run", "--agent", "agents_of_mine:broken", "--tasks", "micro4", "--out", "broken")
    assert json.loads(Path("broken/result.json").read_text())["ended"] == "agent"


def test_chains_and_tasks_that_come_again_are_validated(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    told = run(
        "validate", "--agent", "echo", "--chain", "micro4>micro2", "--again", "micro4", "--seeds", "2",
        "--max-steps", "500", "--out", str(out),
    )  # fmt: skip
    assert "Gradual learning" in told
    found = json.loads(out.read_text())
    assert found["chains"][0]["after"] == found["chains"][0]["alone"] == [None, None]
    assert found["again"] == [{"task": "micro4", "first": [50, 50], "again": [50, 50], "kept": True}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--agent", "tabel"), "gumption has no 'tabel'; did you mean 'table'"),
        (("run", "--agent", "no_such_module:make"), "--agent no_such_module:make: there is no module"),
        (("run", "--tasks", "micro5"), "the curriculum has no 'micro5'"),
        (("validate", "--chain", "micro4"), "it has the form micro1,micro2>micro3"),
    ],
)
def test_what_cannot_be_run_is_told(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments)


@pytest.mark.slow
def test_the_bench_plays_as_many_steps_as_it_says() -> None:
    assert Settings().streams == 4096
    assert one_stream("micro1")(0.05) > 1_000
    for name in ("micro5.18", MIX):
        rates, yardsticks = rates_of_many(name, range(64), 2)
        assert len(rates) == len(yardsticks) == 2
        assert min(rates + yardsticks) > 1_000
