"""What is selected already, on the command line: knowledge alone on the shipped book, and the setting `repeat`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gumption.data.sealed import read_sealed
from gumption.scripts import cli

TWICE = "of episodes choose one thing twice"


@pytest.fixture
def gumption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., str]:
    """`gumption` in an empty folder; gives what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["gumption", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, err
        return err if code else out

    return call


def figures(told: str) -> dict[str, Any]:
    return json.loads(told)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_knowledge_alone_does_as_well_as_it_can(gumption) -> None:
    looked_up = "train wordcraft --kg full --kg-lookup --scores componentOf --agent graph --run r"
    gumption(*looked_up.split())
    found = figures(gumption("evaluate", "r", "--json"))
    assert found["success"] >= 0.90
    assert found["failures"] == []
    told = gumption("evaluate", "r", "--repeat", "paper")
    assert f"% {TWICE}" in told.partition("note: ")[2]
    paper = figures(gumption("evaluate", "r", "--repeat", "paper", "--json"))
    assert paper["success"] < found["success"] - 0.4
    outside = "train wordcraft --kg commonsense-facts --kg-rules linked --split by_goal --agent graph --run s"
    gumption(*outside.split())
    assert figures(gumption("evaluate", "s", "--json"))["success"] >= 0.37


@pytest.mark.filterwarnings("ignore")
def test_the_setting_is_kept_and_may_differ_in_an_evaluation(gumption, book: Path) -> None:
    given = ("--recipe-book", str(book), "--distractors", "2", "--device", "cpu", "--features", "onehot")
    known = ("--kg", "full", "--kg-lookup", "--scores", "componentOf", "--agent", "graph")
    of_book = ("--recipe-book", str(book), "--draws", "20")
    found = {}
    for repeat, options in (("rule", ()), ("paper", ("--repeat", "paper"))):
        gumption("train", "wordcraft", *given, *known, *options, "--run", repeat)
        assert read_sealed(Path(repeat) / "config.json")["repeat"] == repeat
        found[repeat] = figures(gumption("evaluate", repeat, *of_book, "--json"))
    assert found["rule"]["success"] > found["paper"]["success"] + 0.3
    assert [TWICE in failure for failure in found["paper"]["failures"]] == [True]
    for run, other in (("rule", "paper"), ("paper", "rule")):
        assert figures(gumption("evaluate", run, *of_book, "--repeat", other, "--json")) == found[other]
    for call in (("train", "wordcraft"), ("evaluate", "rule")):
        assert "--repeat" in gumption(*call, "--help")
    assert "repeat: that is for knowledge" in gumption("train", "wordcraft", *given, "--repeat", "paper", code=2)
    assert "--repeat" in gumption("train", "wordcraft", *given, *known, "--repeat", "twice", code=2)
