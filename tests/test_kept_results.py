"""Small runs of every learner, whole and resumed, and of experiments have the figures of kept_results.json, bit by bit:
a step that only moves code changes none. Figures are numbers by key; no sentence is kept, so each may be rewritten.

Floating-point sums differ between processors, and what is learned from them more and more: results are kept for
several processors, some by the number of their model, and on any other one a run is compared with its resumed twin
alone. `python -m tests.test_kept_results [NAME ...]` keeps those of this processor, or some of them, for a change that
is meant to alter them.
"""

import hashlib
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from time import process_time
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from gumption.scripts import cli
from gumption.scripts.experiment import find_experiment
from gumption.scripts.papers.probsol import experiments as of_probsol
from gumption.scripts.papers.probsol import goals
from gumption.scripts.results import Job, slug
from tests.killed_commands import CLOCK
from tests.test_kills import BOOK

KEPT = Path(__file__).with_name("kept_results.json")
# Readings of a clock, and what a run is given.
LEFT_OUT = CLOCK | {"minutes", "seconds", "path", "played_s", "config", "settings", "parameters"}
SMALL_SEGAR = "--observation state --num-levels 2 --test-levels 2 --steps 64 --eval-interval 32"
# The learner -> its training, and what is called afterwards; the figures that this writes as JSON are kept, too.
RUNS = {
    "V-trace on WordCraft, with knowledge": (
        "train wordcraft --recipe-book small.tsv --features onehot --distractors 1 --preset paper --steps 512"
        " --eval-interval 256 --final-draws 2 --kg train --scores componentOf",
        "evaluate run --json",
    ),
    "V-trace on Gradual": (
        "train gradual --env max_steps=20 --steps 512 --eval-interval 256 --eval-episodes 2 --kg full",
        "evaluate run --json",
    ),
    "V-trace, recurrent": (
        "gradual pretrain --tasks micro4 --steps 256 --eval-interval 128 --batch-size 4 --unroll-length 8"
        " --hidden-size 8",
    ),
    "MPO on HALMA, with knowledge": (
        "train halma --agent lstm --mazes 2 --episodes 4 --log-interval 1 --checkpoint-interval 1 --kg full"
        " --set num_envs=2 --set batch_size=32 --set hidden_size=16 --set candidates=2 --set random_candidates=1",
        "splits halma --run run --mazes 1 --out run/splits",
        "evaluate run --seeds 1 --no-matched --json",
    ),
    "PPO on SEGAR": (
        f"train segar {SMALL_SEGAR} --num-envs 2 --n-steps 8 --minibatches 2",
        "evaluate run --json",
    ),
    "PPO on SEGAR, with knowledge": (
        "train segar --levels gates-3 --kg full --scores edges --num-levels 2 --test-levels 2 --num-envs 2 --n-steps 8"
        " --minibatches 2 --steps 64 --eval-interval 32",
        "evaluate run --json",
    ),
    "SAC on SEGAR": (
        f"train segar --algorithm sac {SMALL_SEGAR} --learning-starts 10 --buffer-size 50 --batch-size 4",
        "evaluate run --json",
    ),
    "MaskablePPO on ProbSol, with knowledge": (
        "train probsol --task fishing/0 --num-envs 2 --n-steps 8 --batch-size 8 --epochs 1 --steps 64"
        " --eval-interval 32 --eval-tasks 1 --stack 1 --kg full",
        "evaluate run --json",
    ),
    "SPACE": ("halma pretrain --steps 50 --preset fast --batch-size 1 --mazes 1",),
}
# The experiment, its conditions, and what is smaller than in the saved results -> settings of them all.
EXPERIMENTS: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "ProbSol's players": (
        "probsol-families",
        tuple(f"FindTheDiff: {one}" for one in ("random", "do nothing", "scripted (people wrote it)")),
        {"task": ("findthediff/generated",)},
    ),
    "ProbSol's graph agent": ("probsol-graph", ("Curling: graph, after 256 tries",), {"eval_tasks": 1}),
    "ProbSol's agent of discovery": (
        "probsol-discovery",
        ("monopoles: graph agent, facts that it lived", "with dipoles: knowledge taken away"),
        {"tasks": 2, "learned": 8},
    ),
    "ProbSol's goals and constraints": ("probsol-goals", ("naive", "random"), {}),
    "WordCraft's lives": ("wordcraft-living", ("memory and words", "empowerment, words and facts"), {"mixes": 60}),
    "Gradual's agents on the curriculum": (
        "gradual-curriculum",
        ("perfect knower", "gradual learner", "table", "echo", "random"),
        {"max_steps": 3000},
    ),
    "Gradual's chains of tasks": (
        "gradual-validation",
        ("micro5.1 ... micro5.18 -> micro6",),
        {"max_steps": 3000, "prerequisites": ["micro2", "micro5.2"], "target": "micro5.7"},
    ),
    "Gradual's tasks played again": (
        "gradual-validation",
        ("played again",),
        {"max_steps": 3000, "tasks": ["micro2", "micro5.7"]},
    ),
    "Gradual's tasks in another form": (
        "gradual-variations",
        ("as it is", "other letters"),
        {"max_steps": 3000, "tasks": ["micro5.2", "micro5.7"]},
    ),
    "ComplEx, fitted and ranked": (
        "wn18rr",
        ("rank 100",),
        {"facts": "facts", "rank": 8, "epochs": 4, "batch_size": 32, "valid_every": 2},
    ),
}
SMALLER = (
    mock.patch.multiple(of_probsol, TASKS=2, TAUGHT=12),
    mock.patch.object(goals, "LAYOUTS", 2),
)
# Its runs are resumed in agents/halma/test_space_training.py: fifty steps are the fewest, and keep one checkpoint.
ONE_CHECKPOINT = {"SPACE"}


class Killed(BaseException):
    """Stands for the end of the process: nothing in the code under test catches it."""


@contextmanager
def killed_after_a_checkpoint() -> Iterator[None]:
    """Die when the second checkpoint is about to take the place of the first one."""
    rename, seen = os.replace, []

    def rename_or_die(source: Any, target: Any) -> None:
        seen.append(Path(target).name)
        if seen.count("checkpoint") == 2:
            raise Killed
        rename(source, target)

    with mock.patch("os.replace", rename_or_die), suppress(Killed):
        yield
    assert seen.count("checkpoint") == 2


def called(command: str) -> str:
    """What a command prints."""
    printed = StringIO()
    arguments = ["gumption", *shlex.split(command)]
    with mock.patch("sys.argv", arguments), redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code, command
    return printed.getvalue()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def numbers(value: Any) -> Any:
    """The numbers of JSON by key; texts and what is in `LEFT_OUT` are none."""
    if isinstance(value, dict):
        inner = {key: numbers(part) for key, part in value.items() if key not in LEFT_OUT and not isinstance(part, str)}
        return {key: part for key, part in inner.items() if part not in ({}, [])}
    return [numbers(part) for part in value if not isinstance(part, str)] if isinstance(value, list) else value


def figures(run: Path) -> dict[str, Any]:
    """Hashes of a run's weights and metrics; the norm of each part of the weights, and the last line of the metrics."""
    tensors = load_file(run / "checkpoint" / "tensors.safetensors")
    bits = hashlib.sha256()
    squares: dict[str, float] = {}
    for name, tensor in sorted(tensors.items()):
        bits.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode() + tensor.numpy().tobytes())
        if tensor.is_floating_point():
            part = name.split(".")[0].split("/")[0]
            squares[part] = squares.get(part, 0.0) + float(tensor.double().square().sum())
    lines = [numbers(json.loads(line)) for line in (run / "metrics.jsonl").read_text().splitlines()]
    # The results were kept before lambda was in the metrics; the hash of the weights holds what it is made of.
    metrics = [{name: value for name, value in line.items() if not name.startswith("lambda/")} for line in lines]
    return {
        "weights": bits.hexdigest(),
        "metrics": digest(json.dumps(metrics, sort_keys=True).encode()),
        "norms": {part: square**0.5 for part, square in sorted(squares.items())},
        "last": {name: value for name, value in metrics[-1].items() if isinstance(value, float | int)},
    }


def ran(name: str, folder: Path) -> dict[str, Any]:
    """Train in a folder, whole and resumed, and call what follows."""
    train, *after = RUNS[name]
    train += " --device cpu"
    words = BOOK.split()
    rows = ["\t".join(words[i : i + 3]) for i in range(0, len(words), 3)]
    variables = {"GUMPTION_CACHE_DIR": str(folder / "cache"), "COLUMNS": "120"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("small.tsv").write_text("\n".join(["result\tingredient\tingredient", *rows]) + "\n")
        with mock.patch.dict(os.environ, variables):
            called(f"{train} --run run")
            if name not in ONE_CHECKPOINT:
                with killed_after_a_checkpoint():
                    called(f"{train} --run killed")
                called(f"{train} --run killed --resume")
            printed = {command.split()[0]: called(command) for command in after}
            result = figures(Path("run"))
            if name not in ONE_CHECKPOINT:
                assert figures(Path("killed")) == result
            if "evaluate" in printed:
                result["evaluate"] = numbers(json.loads(printed["evaluate"]))
            if "splits" in printed:
                result["splits"] = numbers(json.loads(Path("run/splits/manifest.json").read_text()))
    finally:
        os.chdir(before)
    return result


def measured(name: str, folder: Path) -> dict[str, Any]:
    """Run conditions of an experiment in a folder, each with one seed, and work out their figures."""
    of, labels, smaller = EXPERIMENTS[name]
    experiment, rows, bits = find_experiment(of), [], hashlib.sha256()
    write_facts(folder / "facts")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with ExitStack() as stack:
            for one in SMALLER:
                stack.enter_context(one)
            for label in labels:
                condition = experiment.conditions[label]
                settings = {**experiment.base, **condition.settings, "device": "cpu", **smaller}
                job = Job(label, 0, condition.method, settings, Path(slug(label)), last=experiment.kind.last)
                experiment.kind.run(job, False)
                row = {"condition": label, "settings": settings, "seeds": [0]}
                rows.append(row | experiment.kind.row(condition, {0: job.directory}))
            more = experiment.kind.more(rows, Path(), {})
        for path in sorted(Path().rglob("*.safetensors")):
            bits.update(path.read_bytes())
    finally:
        os.chdir(before)
    shown = {"rows": {row["condition"]: row for row in rows}, "more": more}
    return {"weights": bits.hexdigest(), **numbers(json.loads(json.dumps(shown)))}


def write_facts(folder: Path) -> None:
    """A third of the pairs of 24 entities are related, in three ways."""
    draw = np.random.default_rng(0)
    facts = [
        f"e{i}\tr{(i * j + i) % 3}\te{j}"
        for i, j in draw.permutation(np.stack(np.indices((24, 24)), -1).reshape(-1, 2))
    ]
    folder.mkdir()
    for part, some in (("train", facts[:150]), ("valid", facts[150:170]), ("test", facts[170:190])):
        (folder / f"{part}.txt").write_text("\n".join(some) + "\n")


def processors() -> list[str]:
    """What the bits of a sum depend on: the processor with its model's number, and, as several models have one name,
    by its name alone."""
    information = Path("/proc/cpuinfo")
    told = information.read_text() if information.exists() else ""
    parts = ("model name", "model", "stepping")
    name, *numbers = (re.search(rf"^{part}\s*: (.*)", told, re.MULTILINE) for part in parts)
    called = name[1] if name else platform.processor()
    exact = " ".join([called, *(number[1] for number in numbers if number)])
    made_by = f"{torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}"
    return [f"{each}, {made_by}" for each in dict.fromkeys((exact, called))]


NAMES = [*RUNS, *EXPERIMENTS]


def small_run(name: str, folder: Path) -> dict[str, Any]:
    return ran(name, folder) if name in RUNS else measured(name, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_small_run_comes_out_as_it_is_kept(name: str, tmp_path: Path) -> None:
    result, kept = small_run(name, tmp_path), json.loads(KEPT.read_text())
    own = next((kept[processor][name] for processor in processors() if name in kept.get(processor, {})), {})
    assert {part: result[part] for part in own} == own
    for runs in kept.values():
        for part, values in runs.get(name, {}).items():
            assert not isinstance(values, dict) or result[part].keys() == values.keys()


def keep(names: list[str]) -> None:
    """Write down what small runs come to on this processor: those with these names, or all of them."""
    from tempfile import TemporaryDirectory

    torch.set_num_threads(1)
    kept = json.loads(KEPT.read_text())
    runs = kept.setdefault(processors()[0], {})
    for name in names or NAMES:
        with TemporaryDirectory() as folder:
            started = process_time()
            runs[name] = small_run(name, Path(folder))
        print(f"{name}, {process_time() - started:.1f} s")
    write(kept)


def write(kept: dict[str, Any]) -> None:
    """Write the file, with the innermost figures in a line."""
    text = json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False)
    KEPT.write_text(re.sub(r"[\[{][^][{}]*[\]}]", lambda numbers: " ".join(numbers[0].split()), text) + "\n")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.exit(keep(sys.argv[1:]))
