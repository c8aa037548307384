"""`gumption evaluate` on runs of HALMA as it is called: short trainings, their tests, the table and its plots."""

import json
import re
import shutil
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gumption.agents.halma.config import HALMAConfig
from gumption.agents.halma.evaluation import MEASURES, ROWS
from gumption.agents.halma.runs import train_halma
from gumption.data.sealed import read_sealed, write_sealed
from gumption.envs.halma import Memory, MemoryWriter
from gumption.envs.halma.splits import make_splits, read_run
from gumption.scripts import cli
from gumption.scripts.papers.halma.failures import MazeFailures

SMALL = (("num_envs", 4), ("batch_size", 32), ("hidden_size", 16), ("policy_delay", 20), ("candidates", 2),
         ("random_candidates", 1))  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run, the same once more under another seed, and the run without tests of its own."""
    folder = tmp_path_factory.mktemp("runs")
    config = HALMAConfig(episodes=2, log_interval=1, num_mazes=3, device="cpu", overrides=SMALL)
    train_halma(config, folder / "one")
    shutil.copytree(folder / "one", folder / "bare")
    make_splits(read_run(folder / "one"), folder / "one" / "splits", mazes=2)
    shutil.copytree(folder / "one", folder / "two")
    write_sealed(folder / "two" / "config.json", replace(config, seed=1).to_json())
    return folder


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def gumption(monkeypatch, capsys, tmp_path, trained):
    """Call the command line in a folder with copies of the runs."""
    shutil.copytree(trained, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["gumption", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return Result(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.mark.slow
def test_one_run_plays_its_own_tests(gumption, tmp_path):
    told = gumption("evaluate", "runs/one", "--seeds", "1", "--paper", "--plot", "table.svg")
    assert told.code == 0, told.err
    assert told.err == ""
    for word in (
        *ROWS[:-1],
        "all diagnostic",
        *MEASURES,
        "paper 94.8 ± 4.1",
        "Of one run: the deviation is over the seeds",
    ):
        assert word in told.out
    for name in ("table.png", "table.svg", "runs/one/plots/table.png", "runs/one/plots/curves.svg"):
        assert (tmp_path / name).is_file()
    assert "written: table.png" in told.out
    assert "paper's" in (tmp_path / "table.svg").read_text(encoding="utf-8")


def test_chosen_tests_of_a_run_are_played(gumption, tmp_path):
    told = gumption("evaluate", "runs/one", "--seeds", "1", "--tests", "RT", "--no-matched", "--json")
    assert told.code == 0, told.err
    tests = json.loads(told.out)["columns"]["MLP"]["tests"]
    assert [name for name, one in tests.items() if one["mazes"]] == ["RT"]


@pytest.mark.slow
def test_several_runs_are_one_column(gumption, tmp_path):
    told = gumption("evaluate", "runs/one", "runs/two", "--seeds", "1", "--json")
    assert (told.code, told.err) == (0, "")
    found = json.loads(told.out)
    assert list(found["columns"]) == ["MLP"]
    column = found["columns"]["MLP"]
    assert column["runs"] == 2
    assert column["tests"]["T"]["mazes"] == 6
    means = column["tests"]["RT"]["rho_a"]["per_run"]
    assert column["tests"]["RT"]["rho_a"]["mean"] == pytest.approx(sum(means) / 2, abs=1e-5)
    names = [path.name for path in sorted((tmp_path / "runs" / "two" / "plots").iterdir())]
    assert names == ["curves.png", "curves.svg", "table.png", "table.svg"]


@pytest.mark.slow
def test_tests_of_another_run(gumption, tmp_path):
    memory = Memory.load(tmp_path / "runs" / "bare" / "memory")
    shutil.rmtree(tmp_path / "runs" / "bare" / "memory")
    with closing(MemoryWriter(tmp_path / "runs" / "bare" / "memory", 5)) as writer:
        parts = (
            getattr(memory, name)[:-1] for name in ("before", "option", "after", "maze", "trial", "episode", "flags")
        )
        writer.append(*parts)
    told = gumption("evaluate", "runs/bare", "--splits", "runs/one/splits", "--seeds", "1", "--json")
    assert told.err == "warning: runs/bare: these tests were made for what another run has seen\n"
    assert json.loads(told.out)["columns"]["MLP"]["tests"]["T"]["mazes"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("runs/bare",),
            "runs/bare has no tests of its own in runs/bare/splits: make them with `gumption splits halma",
        ),
        (("runs/one", "--splits", "nowhere"), "nowhere/manifest.json: cannot be read"),
        (("runs/one", "--plot", "table.pdf"), "cannot write table.pdf: choose a name that ends in .png or .svg"),
        (("runs/one", "--tests", "RT,RX"), "tests is 'RX'; it can be T, "),
        (("runs/one", "--draws", "3"), "No such option: --draws"),
        (("runs/one", "--seed", "3"), "No such option: --seed"),
        (("nowhere", "--paper"), "nowhere/config.json: not a complete run"),
        (("nowhere",), "nowhere/config.json: not a complete run (No such file or directory)"),
        (("nowhere", "elsewhere"), "nowhere/config.json: not a complete run"),
        (("runs/one", "runs/other"), "these are runs of different worlds; evaluate them apart"),
    ],
)
def test_bad_calls(gumption, arguments, message):
    other = Path("runs/other")
    other.mkdir(exist_ok=True)
    write_sealed(other / "config.json", {"world": "wordcraft"})
    told = gumption("evaluate", *arguments)
    shutil.rmtree(other)
    assert (told.code, told.out) == (2, "")
    assert message in told.err


def test_a_damaged_run_is_told(gumption, tmp_path):
    config = tmp_path / "runs" / "one" / "config.json"
    write_sealed(config, read_sealed(config) | {"colour": "red"})
    told = gumption("evaluate", "runs/one")
    assert (told.code, told.err) == (
        2,
        "error: runs/one/config.json: not the config of a run: colour unknown\n",
    )


@pytest.mark.slow
def test_where_agents_fail(gumption, tmp_path):
    told = gumption("halma", "failures", "runs/one", "runs/two", "--seeds", "1", "--below", "1", "--plot", "worst.png")
    assert (told.code, told.err) == (0, "")
    for line in (
        "The cells where trials that miss the goal spend most moves.",
        "of 40 trials reached the goal; ",
        "at least 80% of the moves of failed trials began off the optimal path, in dead ends: in ",
        "... began in one of two cells, to and fro: in ",
        "training showed the panel of the commonest cell: seen in ",
        "saved: worst.svg",
    ):
        assert line in told.out
    assert "runs/two 1" in told.out
    assert (tmp_path / "worst.png").is_file()
    found = json.loads(gumption("halma", "failures", "runs/one", "--seeds", "1", "--json").out)
    assert list(found) == ["runs/one 0", "runs/one 1"]
    column = json.loads(gumption("evaluate", "runs/one", "--seeds", "1", "--json").out)["columns"]["MLP"]
    reached = sum(one["reached"] for one in found.values()) / sum(one["trials"] for one in found.values())
    assert column["tests"]["RT"]["rho_g"]["mean"] == pytest.approx(reached)
    none = gumption("halma", "failures", "runs/one", "--seeds", "1", "--below", "0", "--plot", "none.png").out
    assert none == f"RT: {round(20 * reached)} of 20 trials reached the goal; 0 of 2 mazes are listed\n"
    assert not (tmp_path / "none.png").exists()


def test_who_only_runs_out_of_moves_is_listed(gumption, monkeypatch):
    slow = MazeFailures(0, 10, 4, 0, 0.0, 0.0, (), ())
    monkeypatch.setattr("gumption.scripts.papers.halma.failures.find_failures", lambda *_: [slow])
    told = gumption("halma", "failures", "runs/one")
    assert (told.code, told.err) == (0, "")
    assert re.search(r"│ 0 +│ 4 of 10 +│ - +│ - +│ - +│ - +│", told.out)
    assert "training showed the panel of the commonest cell: seen in 0, goal elsewhere in 0, new in 0" in told.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("runs/bare",), "runs/bare has no tests of its own in runs/bare/splits: make them with"),
        (("runs/one", "--test", "RX"), "runs/one has no test 'RX'; it has T, RT"),
        (("runs/one", "--plot", "worst.pdf"), "cannot write worst.pdf: choose a name that ends in .png or .svg"),
    ],
)
def test_bad_calls_about_failures(gumption, arguments, message):
    told = gumption("halma", "failures", *arguments)
    assert (told.code, told.out) == (2, "")
    assert f"error: {message}" in told.err
