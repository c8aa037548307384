"""`gumption splits` on what an agent met that walked at random: made, checked, repeated, refused."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gumption.agents.halma.acting import RandomActor, first_percept, next_percept
from gumption.envs.halma import Mazes, panel_row, sample_mazes
from gumption.envs.halma.env import HALMAVectorEnv
from gumption.envs.halma.memory import MemoryWriter
from gumption.envs.halma.splits import load_splits
from gumption.scripts import cli

ENVS, STEPS = 64, 1600  # 102,400 transitions, a fifth of what 2,000 episodes bring
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run whose agent walked at random."""
    folder = tmp_path_factory.mktemp("runs") / "walk"
    mazes = Mazes(sample_mazes(100, seed=0))
    mazes.save(folder / "mazes.jsonl")
    env = HALMAVectorEnv(ENVS, mazes=mazes, max_opt_len=1)
    env.reset(seed=0)
    actor, rng, percept = RandomActor(1), np.random.default_rng(0), first_percept(env)
    episode, begun = np.arange(ENVS), ENVS
    with MemoryWriter(folder / "memory", 1) as memory:
        for _ in range(STEPS):
            options = actor.act(percept, rng)
            outcome = env.move(options)
            flags = outcome.valid + 2 * outcome.reached + 4 * outcome.trial_over
            memory.append(
                outcome.before, options, outcome.after, outcome.maze, outcome.trial, episode, flags.astype(np.uint8)
            )
            over = np.flatnonzero(outcome.done)
            episode[over] = begun + np.arange(len(over))
            begun += len(over)
            percept = next_percept(env, options, outcome)
    return folder


@pytest.fixture
def gumption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], run: Path) -> Call:
    """Call the command line in a folder where the run is runs/halma."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gumption", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, run: Path, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "halma").symlink_to(run)
    return tmp_path


EXAMPLE = ("splits", "halma", "--run", "runs/halma", "--out", "splits/halma", "--seed", "0")


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_the_example_of_the_help_makes_tests(gumption: Call, here: Path) -> None:
    assert " ".join(EXAMPLE) in " ".join(gumption("splits", "halma", "--help")[1].split())
    code, out, err = gumption(*EXAMPLE)
    assert (code, err) == (0, "")
    assert "splits/halma: made and checked" in out
    splits = load_splits(here / "splits" / "halma")
    for test, entry in splits.manifest["tests"].items():
        line = next(line for line in out.splitlines() if f" {test} " in line)
        assert (entry["reason"] or f" {entry['mazes']} ") in line
    assert len(splits["T"]) == 100
    assert {len(splits[test]) for test in splits if test != "T"} == {50}
    assert {"ST-1", "ST-2", "AfT-1"} <= set(splits)
    assert splits.reasons


@pytest.mark.slow
def test_what_is_asked_is_in_no_panel_that_the_agent_met(gumption: Call, here: Path, run: Path) -> None:
    """Read from the records of the memory, in neither the knowledge bases' way nor the checker's."""
    from gumption.envs.halma.memory import Memory

    gumption(*EXAMPLE)
    memory = Memory.load(run / "memory")
    met = {row[:10].tobytes() for row in np.unique(np.concatenate([memory.before, memory.after]), axis=0)}
    asked = [
        (record.maze, record.asked)
        for records in load_splits("splits/halma").records.values()
        for record in records
        if record.asked
    ]
    assert len(asked) >= 150
    assert not any(panel_row(maze, question.cell)[:10].tobytes() in met for maze, question in asked)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_sets(here: Path, gumption: Call) -> None:
    gumption(*EXAMPLE)
    for seed in ("1", "2"):  # with that of this process, three
        command = [sys.executable, "-m", "gumption.scripts.cli", *EXAMPLE]
        command[command.index("splits/halma")] = f"again/{seed}"
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True)
        assert contents_of(here / "again" / seed) == contents_of(here / "splits" / "halma")
    assert gumption(*EXAMPLE)[0] == 0  # what is there already is left


@pytest.mark.slow
def test_seed_mazes_and_threshold_are_heard(gumption: Call, here: Path) -> None:
    code, _, err = gumption(*EXAMPLE[:-1], "4", "--mazes", "3", "--threshold", "9")
    assert (code, err) == (0, "")
    splits = load_splits(here / "splits" / "halma")
    found = splits.manifest["parameters"]
    assert (found["seed"], found["mazes"], found["threshold"]) == (4, 3, 9)
    assert len(splits["RT"]) == len(splits["ST-1"]) == 3
    assert gumption("splits", "halma", "--run", "runs/halma", "--check", "splits/halma")[0] == 0


@pytest.mark.slow
def test_the_reading_and_the_last_panel_are_heard_and_checked(gumption: Call, here: Path) -> None:
    settings = ("--knowledge-base", "literal", "--last-panel", "dropped")
    code, _, err = gumption(*EXAMPLE, "--mazes", "2", *settings)
    assert (code, err) == (0, "")
    splits = load_splits(here / "splits" / "halma")
    assert splits.choices == {"knowledge_base": "literal", "last_panel": "dropped"}
    code, out, _ = gumption("splits", "halma", "--run", "runs/halma", "--check", "splits/halma")
    assert (code, "every maze asks what it claims" in out) == (0, True)
    assert gumption(*EXAMPLE, "--mazes", "2", "--out", "splits/strict")[0] == 0
    pairs = [load_splits(here / "splits" / name).manifest["knowledge"]["pairs"] for name in ("halma", "strict")]
    assert pairs[0]["KB_C"]["any"] > pairs[1]["KB_C"]["any"]
    assert pairs[0]["KB_S"] == pairs[1]["KB_S"]


@pytest.mark.slow
def test_a_test_of_one_s_own_is_made_and_shown(gumption: Call, here: Path) -> None:
    (here / "my_tests.py").write_text(
        "from gumption.envs.halma import sample_maze\n\n\n"
        "def bushy(knowledge, training, rng, mazes):\n"
        "    return [sample_maze(rng, 2, 12) for _ in range(mazes)]\n"
    )
    code, out, err = gumption(*EXAMPLE, "--mazes", "3", "--own", "my_tests:bushy")
    assert (code, err) == (0, "")
    assert "bushy" in out
    splits = load_splits(here / "splits" / "halma")
    assert len(splits["bushy"]) == 3
    assert splits.manifest["tests"]["bushy"]["maker"] == "my_tests:bushy"
    assert gumption("splits", "halma", "--run", "runs/halma", "--check", "splits/halma")[0] == 0


@pytest.mark.slow
def test_other_tests_are_replaced_only_by_force(gumption: Call, here: Path) -> None:
    assert gumption(*EXAMPLE, "--mazes", "2")[0] == 0
    code, _, err = gumption(*EXAMPLE, "--mazes", "3")
    assert code == 2
    assert err == ("error: splits/halma holds other splits; choose another folder, or replace them with --force\n")
    assert gumption(*EXAMPLE, "--mazes", "3", "--force")[0] == 0
    assert len(load_splits("splits/halma")["RT"]) == 3


@pytest.mark.slow
def test_check_finds_nothing_or_says_what(gumption: Call, here: Path, run: Path) -> None:
    gumption(*EXAMPLE, "--mazes", "2")
    check = ("splits", "halma", "--run", "runs/halma", "--check", "splits/halma")
    code, out, err = gumption(*check)
    assert (code, err) == (0, "")
    assert "splits/halma: every maze asks what it claims" in out
    other = here / "runs" / "other"
    other.mkdir()
    (other / "memory").symlink_to(run / "memory")
    Mazes(reversed(list(Mazes.load(run / "mazes.jsonl")))).save(other / "mazes.jsonl")
    code, out, err = gumption(*check[:3], "runs/other", *check[4:])
    assert (code, out, err) == (1, "T: not the mazes that the run was trained on\n", "")


def test_a_memory_cut_short_is_told(gumption: Call, here: Path, run: Path) -> None:
    torn = here / "runs" / "torn"
    (torn / "memory").mkdir(parents=True)
    for name in ("mazes.jsonl", "memory/header.json"):
        (torn / name).write_bytes((run / name).read_bytes())
    (torn / "memory" / "records.bin").write_bytes((run / "memory" / "records.bin").read_bytes()[:-5])
    code, _, err = gumption("splits", "halma", "--run", "runs/torn", "--out", "splits/torn", "--mazes", "1")
    assert code == 0
    assert err.startswith("warning: ")
    assert "records lost: 1" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere", "--run", "runs/halma", "--out", "x"), "unknown world 'nowhere': there are "),
        (("halma", "--out", "x"), "give either --run, a run of gumption, or --memory"),
        (("halma", "--run", "runs/halma", "--memory", "runs/halma/memory", "--out", "x"), "give either --run, a run"),
        (("halma", "--memory", "runs/halma/memory", "--out", "x"), "runs/halma/memory: no mazes.jsonl there"),
        (("halma", "--memory", "runs/none", "--out", "x"), "runs/none: no memory of transitions there"),
        (("halma", "--run", "runs/halma"), "give either --out, a folder to write the tests to, or --check"),
        (("halma", "--run", "runs/halma", "--out", "x", "--check", "y"), "give either --out"),
        (("halma", "--run", "runs/halma", "--check", "y", "--seed", "0"), "--seed is for --out; --check has no use"),
        (("halma", "--run", "runs/halma", "--check", "y", "--force"), "--force is for --out; --check has no use"),
        (("halma", "--run", "runs/halma", "--check", "y"), "manifest.json: cannot be read"),
        (("halma", "--run", "runs/halma", "--check", "y", "--own", "a:b"), "--own is for --out; --check has no use"),
        (("halma", "--run", "runs/halma", "--out", "x", "--own", "a:b"), "--own a:b: there is no module a here"),
        (
            ("halma", "--run", "runs/halma", "--out", "x", "--knowledge-base", "wide"),
            "--knowledge-base is 'wide'; it can be strict, literal",
        ),
        (("halma", "--run", "runs/none", "--out", "x"), "runs/none: there is no such run"),
        (
            ("halma", "--run", "runs/halma", "--out", "x", "--mazes", "0"),
            "--mazes is 0; it is a whole number, at least 1",
        ),
        (
            ("halma", "--run", "runs/halma", "--out", "x", "--threshold", "0"),
            "--threshold is 0; it is a whole number, at least 1",
        ),
    ],
)
def test_bad_arguments_are_refused(gumption: Call, here: Path, arguments: tuple[str, ...], told: str) -> None:
    code, out, err = gumption("splits", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert told in err


def test_a_run_without_its_mazes_or_with_fewer_is_refused(gumption: Call, here: Path, run: Path) -> None:
    (here / "runs" / "bare").mkdir()
    (here / "runs" / "bare" / "memory").symlink_to(run / "memory")
    code, _, err = gumption("splits", "halma", "--run", "runs/bare", "--out", "x")
    assert (code, err) == (
        2,
        "error: runs/bare: the run has no mazes.jsonl, the mazes it was trained on; train it again\n",
    )
    first = (run / "mazes.jsonl").read_text().splitlines()[0]
    (here / "runs" / "bare" / "mazes.jsonl").write_text(json.dumps(json.loads(first)) + "\n")
    code, _, err = gumption("splits", "halma", "--run", "runs/bare", "--out", "x")
    assert code == 2
    assert "mazes.jsonl: 1 mazes, but the memory is of maze 99" in err
