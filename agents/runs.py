"""Run directories: what is in them, who may write there, and how a run is shown, found again and evaluated.

config.json, manifest.json (versions, hardware, hashes), metrics.jsonl (a line per evaluation), a TensorBoard event
file, checkpoint/, split.json where the split was a file, and, when the run is complete, final.json.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.data.writing import write_json, write_text
from gumption.envs.wordcraft import Split, WordCraftVectorEnv

from .checkpoint import load_network
from .config import TrainConfig
from .evaluation import evaluation_env, success_rate
from .policies import Policy, build_policy

CONFIG, METRICS, FINAL, MANIFEST = "config.json", "metrics.jsonl", "final.json", "manifest.json"
SPLIT = "split.json"


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    :ivar final: {"test_success", "train_success", "test_success_alternatives", "same_slot_twice", "wall_s",
        "steps_per_s"}; the first is on tables without another way to the goal, the third on tables that may have one.
    :ivar curve: the lines of metrics.jsonl.
    """

    config: TrainConfig
    final: dict[str, float]
    curve: list[dict[str, float]]
    run_dir: Path | None
    policy: Policy | None = None


def load_result(run_dir: str | Path) -> RunResult:
    """A complete run, without its policy; InputError where it is not complete."""
    run_dir = Path(run_dir)
    final = _read_json(run_dir / FINAL)
    return RunResult(_read_config(run_dir), final, read_metrics(run_dir), run_dir)


def load_policy(
    run_dir: str | Path, *, recipe_book: str | None = None, word_vectors: str | None = None, device: str | None = None
) -> tuple[TrainConfig, Policy]:
    """The policy of a run's last checkpoint, ready to act.

    :param recipe_book, word_vectors: where these files are, if the run was not on what ships; config.json has names.
    :raises InputError: no run there, another book than it was trained on, or a damaged checkpoint.
    """
    run_dir = Path(run_dir)
    split = str(run_dir / SPLIT) if (run_dir / SPLIT).is_file() else None
    config = _read_config(run_dir, recipe_book=recipe_book, word_vectors=word_vectors, device=device, split=split)
    env = WordCraftVectorEnv(1, **config.env_settings("train"))
    policy = build_policy(replace(config, cross_fit=False), env)  # held-out scores are for learning
    load_network(run_dir, policy.network, env)
    return config, policy.eval()


def evaluate(
    run: "str | Path | RunResult",
    *,
    partition: str = "test",
    draws: int = 10,
    seed: int = 0,
    num_distractors: int | None = None,
    depth: int | None = None,
    alternatives: bool = False,
    recipe_book: str | None = None,
    word_vectors: str | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Greedy success of a run's policy on the tasks of a partition of its own split.

    :param run: a run directory, or the result of `train_impala`.
    :param draws: tables per task.
    :param num_distractors, depth: other tables than those it was trained on.
    :param alternatives: let tables offer other ways to the goal.
    :param recipe_book, word_vectors, device: see `load_policy`; for a run that is loaded.
    :returns: "success", "same_slot_twice", "episodes", and the settings.
    :raises InputError: as `load_policy`; an agent="mlp" on tables of another size.
    """
    if draws < 1 or seed < 0:
        raise InputError(f"draws is {draws} and seed {seed}; they are at least 1 and 0")
    if isinstance(run, RunResult) and run.policy is not None:
        if recipe_book or word_vectors or device:
            raise InputError("recipe_book, word_vectors and device are for a run directory: this policy is in memory")
        config, policy = run.config, run.policy
    else:
        where = run.run_dir if isinstance(run, RunResult) else run
        if where is None:
            raise InputError("this result has neither a policy nor a run directory")
        config, policy = load_policy(where, recipe_book=recipe_book, word_vectors=word_vectors, device=device)
    changed = replace(
        config,
        num_distractors=config.num_distractors if num_distractors is None else num_distractors,
        depth=config.depth if depth is None else depth,
    )
    if config.agent == "mlp" and (changed.num_distractors, changed.depth) != (config.num_distractors, config.depth):
        raise InputError("the simple MLP plays only tables of the size it was trained on")
    settings = changed.env_settings(partition)
    tasks = WordCraftVectorEnv(1, **settings).split.tasks(partition)
    found = success_rate(policy, evaluation_env(settings, len(tasks), alternatives=alternatives), tasks, draws, seed)
    told = {"partition": partition, "num_distractors": changed.num_distractors, "depth": changed.depth}
    return {**found, "episodes": len(tasks) * draws, **told, "alternatives": alternatives, "seed": seed}


def read_metrics(run_dir: Path) -> list[dict[str, float]]:
    """The lines of metrics.jsonl; a last line cut short by a crash is left out."""
    try:
        lines = (run_dir / METRICS).read_text(encoding="utf-8").split("\n")
    except OSError:
        return []
    return [json.loads(line) for line in lines[:-1]]


def check_free(run_dir: Path, config: TrainConfig, resume: bool) -> None:
    """Refuse a run directory that is in use; to resume is to have this very config. Nothing is written."""
    if not run_dir.exists() or (run_dir.is_dir() and not any(run_dir.iterdir())):
        return
    if not (run_dir / CONFIG).is_file():
        raise InputError(f"{run_dir} exists and is not a run; choose another name")
    if not resume:
        raise InputError(f"{run_dir} holds a run already; go on with it (--resume), or choose another name")
    before, now = _read_config(run_dir).to_json(), config.to_json()
    changed = [name for name in now if before[name] != now[name]]
    if changed:
        raise InputError(f"{run_dir} was begun with another {', '.join(changed)}; choose another name")


def begin(run_dir: Path, config: TrainConfig, split: Split, manifest: dict[str, Any]) -> None:
    """Write what a run directory has before the first metrics."""
    write_json(run_dir / CONFIG, config.to_json())
    if config.split.endswith(".json"):
        split.save(run_dir / SPLIT)
    write_json(run_dir / MANIFEST, manifest)


def _read_config(run_dir: Path, **changes: Any) -> TrainConfig:
    stored = _read_json(run_dir / CONFIG)
    try:
        return TrainConfig.from_json(stored, **changes)
    except (InputError, TypeError) as error:
        raise InputError(f"{run_dir / CONFIG}: {error}") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: not a complete run ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error})") from None


def write_metrics(run_dir: Path, lines: list[dict[str, float]]) -> None:
    """Replace the metrics of a run."""
    write_text(run_dir / METRICS, "".join(json.dumps(line) + "\n" for line in lines))


def add_metrics(run_dir: Path, line: dict[str, float]) -> None:
    """Append a line to the metrics of a run."""
    with (run_dir / METRICS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


class Board:
    """The run's TensorBoard file; nothing without a run directory."""

    def __init__(self, run_dir: Path | None, step: int) -> None:
        self.writer = None
        if run_dir is not None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(run_dir), purge_step=step or None)

    def __enter__(self) -> "Board":
        return self

    def write(self, line: dict[str, float]) -> None:
        if self.writer is not None:
            for name, value in line.items():
                if name != "step":
                    self.writer.add_scalar(name, value, int(line["step"]))

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()
