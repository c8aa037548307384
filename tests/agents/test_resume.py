"""The same config gives the same bits: twice, in another process, under another hash seed, and after any kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gumption.agents import TrainConfig, train_impala
from gumption.agents.run import RunResult
from gumption.agents.run_folder import read_final, read_metrics
from gumption.data import InputError

CLOCK = ("wall_s", "steps_per_s", "seconds", "sha256")  # and what is of them
ALL_SCORES = ("combinesWith", "componentOf", "makes")


def train(config: TrainConfig, run_dir: Path, **arguments: Any) -> RunResult:
    return train_impala(config, run_dir=run_dir, progress=False, **arguments)


def content(run_dir: Path) -> dict[str, Any]:
    """All bits of a run that do not tell the time: tensors (network, optimiser, environment, generator), counters,
    metrics and final figures."""
    tensors = load_file(run_dir / "checkpoint" / "tensors.safetensors")
    meta = json.loads((run_dir / "checkpoint" / "checkpoint.json").read_text())
    lines, final = read_metrics(run_dir), read_final(run_dir)
    for timed in (*lines, final, meta):
        for name in CLOCK:
            timed.pop(name, None)
    bits = {name: (tensor.dtype, tensor.shape, tensor.numpy().tobytes()) for name, tensor in tensors.items()}
    return {"tensors": bits, "meta": meta, "metrics": lines, "final": final}


def environment(cache: Path, **variables: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "GUMPTION_CACHE_DIR": str(cache), **variables}


# ---- once more


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"preset": "paper"},
        {"features": "random", "depth": 2},
        {"agent": "mlp"},
        {"kg": "train", "kg_scores": ALL_SCORES, "cross_fit": True},
    ],
    ids=["paper", "depth 2", "mlp", "knowledge"],
)
def test_the_same_config_gives_the_same_bits_and_resumes_exactly(
    configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any]
) -> None:
    config = configure(total_steps=2048, eval_interval=512, **changes)
    train(config, tmp_path / "one")
    torch.rand(5)  # the state of the caller's generator is of no account
    train(config, tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")
    interrupt(monkeypatch, 2)
    with pytest.raises(Killed):
        train(config, tmp_path / "three")
    monkeypatch.undo()
    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path / "cache"))  # the knowledge is fitted again
    train(config, tmp_path / "three", resume=True)
    assert content(tmp_path / "three") == content(tmp_path / "one")


IN_ANOTHER_PROCESS = """
import json, sys, torch
torch.set_num_threads(1)
from gumption.agents.wordcraft.config import TrainConfig
from gumption.agents.learners.impala import train_impala
config = TrainConfig(**json.loads(sys.argv[1]))
train_impala(config, run_dir=sys.argv[2], progress=False)
"""


@pytest.mark.slow
def test_other_processes_and_hash_seeds_give_the_same_bits(configure, tmp_path: Path) -> None:
    scores = ("componentOf", "makes")
    config = configure(kg="train", kg_scores=scores, cross_fit=True, total_steps=1024, eval_interval=512)
    settings = json.dumps({name: getattr(config, name) for name in config.to_json()})
    for seed in ("0", "1"):
        command = [sys.executable, "-c", IN_ANOTHER_PROCESS, settings, str(tmp_path / seed)]
        own = environment(tmp_path / f"cache-{seed}", PYTHONHASHSEED=seed)
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert content(tmp_path / "0") == content(tmp_path / "1")
    train(config, tmp_path / "here")
    assert content(tmp_path / "here") == content(tmp_path / "0")


# ---- killed

TO_KILL: dict[str, Any] = {"total_steps": 1536, "eval_interval": 512}


@pytest.fixture(scope="module")
def whole(configure, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run holds that nothing stops; the runs with its settings are killed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(configure(**TO_KILL), folder)
    return content(folder)


class Killed(BaseException):
    """Stands for the end of the process: nothing in the code under test catches it."""


def interrupt(monkeypatch: pytest.MonkeyPatch, count: int, name: str = "checkpoint") -> None:
    """Die instead of the `count`-th rename (from 0) onto something of that name."""
    rename, remove, done = os.replace, shutil.rmtree, []

    def rename_or_die(source: Any, target: Any) -> None:
        if Path(target).name == name:
            done.append(target)
            if len(done) > count:
                raise Killed
        rename(source, target)

    def rmtree(*where: Any, **how: Any) -> None:
        if len(done) <= count:  # a killed process does not tidy up
            remove(*where, **how)

    monkeypatch.setattr(os, "replace", rename_or_die)
    monkeypatch.setattr(shutil, "rmtree", rmtree)


@pytest.mark.parametrize(
    ("name", "count"),
    [("checkpoint", 0), ("checkpoint", 1), (".checkpoint.old", 0), ("metrics.jsonl", 0), ("final.json", 0)],
)
def test_a_kill_at_a_rename_costs_nothing(
    configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: dict[str, Any], name: str, count: int
) -> None:
    config = configure(**TO_KILL)
    with monkeypatch.context() as patch:
        interrupt(patch, count, name)
        with pytest.raises(Killed):
            train(config, tmp_path / "killed")
    assert not (tmp_path / "killed" / "final.json").exists()
    train(config, tmp_path / "killed", resume=True)
    assert content(tmp_path / "killed") == whole


def test_a_metrics_line_cut_short_is_written_again(
    configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: dict[str, Any]
) -> None:
    config = configure(**TO_KILL)
    with monkeypatch.context() as patch:
        interrupt(patch, 1)
        with pytest.raises(Killed):
            train(config, tmp_path / "killed")
    with (tmp_path / "killed" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 1536, "wall_')
    train(config, tmp_path / "killed", resume=True)
    assert content(tmp_path / "killed") == whole


@pytest.mark.slow
def test_a_command_killed_by_the_system_goes_on_where_it_was(configure, cache: Path, tmp_path: Path) -> None:
    config = configure(kg="train", num_distractors=1, total_steps=60_000, eval_interval=8192, final_draws=10)
    config = replace(config, overrides=())
    options = {
        "--recipe-book": config.recipe_book, "--word-vectors": config.word_vectors, "--distractors": "1",
        "--features": "onehot", "--kg": "train", "--device": "cpu", "--steps": "60000", "--eval-interval": "8192",
        "--run": str(tmp_path / "killed"),
    }  # fmt: skip
    words = [str(word) for pair in options.items() for word in pair]
    command = [sys.executable, "-m", "gumption.scripts.cli", "train", "wordcraft", *words]
    own = environment(cache)
    process = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "killed" / "checkpoint" / "checkpoint.json").exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "final.json").exists()
    before = (tmp_path / "killed" / "metrics.jsonl").read_bytes()
    resumed = subprocess.run([*command, "--resume"], env=own, capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert "success on unseen recipes" in resumed.stdout
    first_line = before.splitlines(keepends=True)[0]
    assert (tmp_path / "killed" / "metrics.jsonl").read_bytes().startswith(first_line)  # its clock reading, too
    train(config, tmp_path / "whole")
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


def test_another_book_of_the_same_name_is_not_resumed(configure, book_file: Path, tmp_path: Path) -> None:
    config = configure(total_steps=512, eval_interval=256)
    train(config, tmp_path / "run")
    (tmp_path / "run" / "final.json").unlink()
    other = tmp_path / book_file.name
    other.write_text(book_file.read_text().replace("mud\twater\tearth", "mud\twater\tsand"))
    with pytest.raises(InputError, match="was begun with another recipe_book; choose another name"):
        train(configure(total_steps=512, eval_interval=256, recipe_book=str(other)), tmp_path / "run", resume=True)
    train(config, tmp_path / "run", resume=True)
