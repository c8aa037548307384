"""`gumption gradual`: agents are run and validated, and results are kept."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gumption.data import InputError
from gumption.data.sealed import read_sealed
from gumption.scripts.papers.gradual.bench import MIX, Settings, one_stream, rates_of_many
from gumption.scripts.papers.gradual.commands import app

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


@pytest.mark.slow
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
        "validate", "--agent", "echo", "--chain", "micro4>micro2", "--again", "micro4", "--again", "micro2",
        "--seeds", "2", "--max-steps", "500", "--out", str(out),
    )  # fmt: skip
    assert "Gradual learning" in told
    assert "passed on 0 of 1 chains" in told
    assert "0 of 0 kept, 2 not told" in told
    found = read_sealed(out)
    assert (found["schema"], found["agent"]) == ("gumption/gradual-validation/2", "echo")
    [chain] = found["chains"]
    assert chain["orders"][0]["after"] == chain["alone"] == [None, None]
    assert [(one["task"], one["fresh"], one["verdict"]) for one in found["again"]] == [
        ("micro4", [50, 50], "not told"), ("micro2", [None, None], "not told"),
    ]  # fmt: skip
    assert [order["order"] for order in found["again"][0]["orders"]] == [["micro4", "micro2"]]
    assert (found["settings"]["orders"], found["settings"]["seeds"]) == (2, 2)


OWN = """
from gumption.envs.gradual import Solution, Task, stateless

def named(name, *requires):
    def ask(hidden, draw):
        while True:
            yield f"{name}?"
    right = Solution(f"{name}.", ("+;",), ("-;",))
    return Task(name, "", stateless, ask, lambda asked, hidden: right, requires=requires)

TASKS = [named("a"), named("b", "a"), named("c", "a", "b")]
NUMBER = 7
def empty():
    return []
"""
# Answers a name that it has heard twenty times before, whatever task it was in.
REPEATING = """
import sys
heard, saying, name = {}, "", ""
while pair := sys.stdin.buffer.read(2):
    byte = chr(pair[1])
    if byte == "?":
        heard[name] = heard.get(name, 0) + 1
        saying = f"{name}." if heard[name] > 20 else "."
    elif byte.isalpha():
        name = byte
    said, saying = saying[:1] or " ", saying[1:]
    sys.stdout.buffer.write(said.encode())
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tasks and an agent of one's own."""
    (tmp_path / "tasks_of_mine.py").write_text(OWN)
    (tmp_path / "agent.py").write_text(REPEATING)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_an_agent_of_another_process_is_validated_on_tasks_of_ones_own(own: Path) -> None:
    command = shlex.join([sys.executable, str(own / "agent.py")])
    told = run(
        "validate", "--command", command, "--transport", "pipe", "--tasks", "tasks_of_mine:TASKS", "--seeds", "2",
        "--threshold", "1", "--max-steps", "600", "--out", "found.json",
    )  # fmt: skip
    assert "3 of 3 kept" in told
    found = read_sealed(own / "found.json")
    assert [chain["chain"] for chain in found["chains"]] == ["a -> b", "a ... b -> c"]
    assert [[order["order"] for order in chain["orders"]] for chain in found["chains"]] == [
        [["a"]], [["a", "b"], ["b", "a"]],
    ]  # fmt: skip
    assert [one["verdict"] for one in found["again"]] == ["kept"] * 3
    assert found["agent"] == found["settings"]["command"]
    assert str(own) not in (own / "found.json").read_text()


def test_tasks_of_ones_own_are_named_by_their_module(own: Path) -> None:
    assert "3 of 3 tasks passed" not in run(
        "run", "--agent", "echo", "--tasks", "tasks_of_mine:TASKS", "--max-steps", "50"
    )
    assert "micro4" in run("run", "--agent", "echo", "--tasks", "micro4,tasks_of_mine:TASKS", "--max-steps", "70")
    for name, message in (
        ("NUMBER", "tasks_of_mine has no curriculum, task or function 'NUMBER'"),
        ("NONE", "tasks_of_mine has no curriculum, task or function 'NONE'"),
        ("empty", "it is a Curriculum, a Task or a list of tasks"),
    ):
        with pytest.raises(InputError, match=message):
            run("run", "--agent", "echo", "--tasks", f"tasks_of_mine:{name}", "--max-steps", "50")


def test_tasks_are_varied(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[variation]]\nname = "signs"\ncharacters = {"a" = "x"}\n')
    out = tmp_path / "varied.json"
    told = run(
        "vary", "--agent", "table", "--tasks", "micro4,micro7.1", "--seeds", "1", "--max-steps", "2000",
        "--variations", str(tmp_path / "mine.toml"), "--threshold", "1", "--out", str(out),
    )  # fmt: skip
    assert "1 of 2" in told
    found = read_sealed(out)
    assert found["schema"] == "gumption/gradual-variation/1"
    assert [one["variation"] for one in found["found"]] == ["as it is", "signs"]
    assert [one["passed"] for one in found["found"]] == [1, 1]
    assert found["found"][1]["steps"]["micro7.1"] == [None]
    assert found["variations"][1]["characters"] == [["a", "x"]]
    assert {"command", "versions", "hardware", "settings"} <= found.keys()


KILLED = """
import os, signal, sys
import gumption.scripts.papers.gradual.validation as validation
played, whole = [], validation.Player.steps
def steps(self, task, *how):
    played.append(task.name)
    if len(played) > 3:  # in the midst of the second variation
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(self, task, *how)
validation.Player.steps = steps
from gumption.scripts.cli import main
sys.argv = ["gumption", "gradual", *sys.argv[1:]]
main()
"""
VARY = (
    "vary",
    "--agent",
    "echo",
    "--tasks",
    "micro4,micro7.1",
    "--seeds",
    "1",
    "--max-steps",
    "300",
    "--out",
    "v.json",
)


def test_variations_that_were_done_before_a_kill_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(*VARY, "--out", "whole.json")
    assert subprocess.run([sys.executable, "-c", KILLED, *VARY], check=False).returncode == -signal.SIGKILL
    assert [one["variation"] for one in read_sealed(Path("v.json"))["found"]] == ["as it is"]
    with pytest.raises(InputError, match=r"v.json holds an unfinished trial of other settings: give another --out"):
        run(*VARY, "--seed", "9")
    monkeypatch.setenv("COLUMNS", "80")
    told = run(*VARY)
    assert "v.json has 1 of 5 variations already" in told
    assert read_sealed(Path("v.json"))["found"] == read_sealed(Path("whole.json"))["found"]
    assert told.count("none passed") == 5  # of 5 variations of micro7.1
    assert "…" not in told  # each cell is whole


@pytest.mark.parametrize("place", ["os:getcwd", "json:loads", "math:floor", "builtins:print"])
@pytest.mark.parametrize("command", [("run",), ("validate", "--chain", "micro4>micro2"), ("vary",)])
def test_what_makes_no_agent_is_refused(command: tuple[str, ...], place: str) -> None:
    with pytest.raises(InputError, match=f"--agent {place} made no agent of the seed 0"):
        run(*command, "--agent", place, "--tasks", "micro4")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--agent", "tabel"), "gumption has no 'tabel'; did you mean 'table'"),
        (("run", "--agent", "no_such_module:make"), "--agent no_such_module:make: there is no module"),
        (("run", "--tasks", "micro5"), "the curriculum has no 'micro5'"),
        (("validate", "--chain", "micro4"), "it has the form micro1,micro2>micro3"),
        (("validate", "--again", "micro4", "--chain", "micro4>micro2", "--max-steps", "9"), "name at least two tasks"),
        (("validate", "--tasks", "micro1"), "there is nothing to validate: the one task requires no other"),
        (("validate", "--agent", "echo", "--command", "python"), "--agent and --command are two agents"),
        (("vary", "--agent", "echo", "--command", "python"), "--agent and --command are two agents"),
    ],
)
def test_what_cannot_be_run_is_told(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments)


@pytest.mark.slow
def test_the_bench_plays_as_many_steps_as_it_says() -> None:
    assert Settings().streams == 4096
    assert one_stream("micro1")(0.05) > 0
    for name in ("micro5.18", MIX):
        rates, yardsticks = rates_of_many(name, range(64), 2)
        assert len(rates) == len(yardsticks) == 2
        assert min(rates + yardsticks) > 0
