"""Run any learner from start to end: begin or resume, learn, measure, save, finish.

A `Learner` defines a step of learning, its figures and its state; `run_learner` drives it, in the same way in every
world. Metrics (metrics.jsonl, one line for each measurement): step; wall_s, seconds of learning and measuring since the
start; steps_per_s of learning; then the learner's own figures.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch

from gumption.data import InputError, Note
from gumption.data.progress import Bar
from gumption.data.provenance import hardware, versions
from gumption.kg.checkpoint import optimiser_tensors, put_weights, restore_optimiser, torch_threads, under

from .run_folder import Board, RunFolder, read_metrics

KIND = "gumption/training/1"  # kind of the checkpoints of V-trace learners
CLOCK = ("step", "wall_s", "steps_per_s")  # figures that `run_learner` adds to a line of metrics
LOW_LINES = 3  # low lines in a row that make a collapse
SURE = 30  # successes; half of a smaller number lies within its own noise
Line = dict[str, float]
Measured = tuple[str, int]  # see `Learner.measured`
Tensors = dict[str, torch.Tensor]


class Learner(Protocol):
    """Interface of a learner for `run_learner`. A derived class defines `total`, `measured_every`, `kept_every`,
    `step`, `learn`, `measure`, `state` and `put_state`; the rest have defaults.

    :ivar kind: kind of its checkpoints.
    :ivar device: the device on which it computes.
    :ivar threads: torch threads on a CPU; None for torch's default. A network of small layers uses one thread: several
        threads wait for each other at every product, on a busy machine ten times as long as they compute.
    :ivar step: steps done, "step" in the metrics.
    :ivar done, total: the progress and its end, in steps or in episodes.
    :ivar measured_every, kept_every: interval between lines of metrics, and between checkpoints, in the same unit.
    :ivar measured: the figure that shows a `collapse`: its name in the lines of metrics, and the number of episodes in
        it that are in no earlier line. The figure is a mean over episodes, 0 or more, and higher is better. None if no
        figure must rise as the agent learns.
    """

    kind: str = KIND
    device: str = "cpu"
    threads: int | None = None
    total: int
    measured_every: int
    kept_every: int
    measured: Measured | None = None

    @property
    def step(self) -> int: ...

    @property
    def done(self) -> int:
        return self.step

    def learn(self, bar: Bar) -> None:
        """Do a step of learning: act, and update. A long step shows its progress in the bar."""
        ...

    def measure(self) -> Line:
        """Return the figures of a line of metrics, and reset the counts since the last line."""
        ...

    def words(self, line: Line) -> str:
        """Format a line of metrics for the progress bar."""
        return ", ".join(f"{name} {value:.3g}" for name, value in line.items() if name not in CLOCK)

    def state(self) -> tuple[Tensors, dict[str, Any]]:
        """Return tensors, and values for JSON, that determine the rest of the run; see `training_state`."""
        ...

    def put_state(self, tensors: Tensors, meta: dict[str, Any], where: Path) -> None:
        """Restore a saved state. :raises InputError: a state of other networks or another world."""
        ...

    def manifest(self) -> dict[str, Any]:
        """Return hashes of the inputs of the run; `run_learner` adds versions and hardware."""
        return {}

    def keep(self, path: Path) -> None:
        """Write the inputs of the run into its folder."""

    def final(self, curve: list[Line]) -> dict[str, Any] | None:
        """Return the figures of the finished run; None for a run without an end."""
        return dict(curve[-1])


@dataclass(frozen=True)
class RunResult:
    """A run that was trained or loaded.

    :ivar final: its final figures, with "wall_s" and "steps_per_s"; empty for a run that is not complete.
    :ivar curve: the lines of metrics.jsonl.
    :ivar run_dir: its folder; None for a run that was not saved.
    :ivar policy: the trained policy, ready to act; None if it is not loaded.
    """

    config: Any
    final: Line
    curve: list[Line]
    run_dir: Path | None
    policy: Any = None


Made = TypeVar("Made", bound=Learner)


def run_learner(
    folder: RunFolder | None, make: Callable[[], Made], *, title: str = "training", progress: bool = True
) -> tuple[Made, list[Line], dict[str, Any]]:
    """Train from the beginning, or from the folder's checkpoint, to the end.

    :param folder: of the run, from `opened`; None saves nothing.
    :param make: makes the learner before its first step, and seeds the generators of torch, NumPy and Python that it
        uses; their states are restored afterwards.
    :param progress: show the progress on stderr, on a terminal with a bar.
    :returns: the learner at its end, the lines of metrics, and the final figures, with "collapsed" if the training ends
        in a `collapse`.
    :raises InputError: a folder that another process writes; errors of the learner.
    """
    try:
        with own_random_numbers():
            learner = make()
            with paying_threads(learner, folder):
                return learner, *_run(folder, learner, title, progress)
    finally:
        if folder is not None:
            folder.release()


def paying_threads(learner: Learner, folder: RunFolder | None) -> AbstractContextManager[None]:
    """Return a context in which torch uses the learner's number of threads, or the number with which the run began."""
    begun = folder.manifest().get("threads") if folder is not None and folder.has_checkpoint else None
    return torch_threads(learner.threads, begun)


def _run(folder: RunFolder | None, learner: Learner, title: str, progress: bool) -> tuple[list[Line], dict[str, Any]]:
    curve: list[Line] = []
    learned = measured = 0.0  # seconds
    if folder is not None:
        folder.claim()
        if folder.has_checkpoint:
            tensors, meta = folder.load(learner.kind)
            learned, measured = meta.pop("seconds", (0.0, 0.0))
            learner.put_state(tensors, meta, folder.path)
            curve = [line for line in read_metrics(folder.path) if line["step"] <= learner.step]
        about = {"versions": versions(), "hardware": hardware(learner.device), "threads": torch.get_num_threads()}
        folder.begin({**about, **learner.manifest()})
        learner.keep(folder.path)
        folder.write_metrics(curve)

    def keep() -> None:
        if folder is not None:
            tensors, meta = learner.state()
            folder.save(tensors, {"kind": learner.kind, "seconds": (learned, measured), **meta})

    path = None if folder is None else folder.path
    with Board(path, learner.step) as board, Bar(learner.total, title, progress) as bar:
        while learner.done < learner.total:
            before, started = learner.done, perf_counter()
            learner.learn(bar)
            learned += perf_counter() - started
            over = learner.done >= learner.total
            if over or learner.done // learner.measured_every > before // learner.measured_every:
                started = perf_counter()
                figures = learner.measure()
                measured += perf_counter() - started
                curve.append({"step": learner.step, **_clock(learner, learned, measured), **figures})
                board.write(curve[-1])
                if folder is not None:
                    folder.add_metrics(curve[-1])
                warn_of_collapse(curve, learner.measured, board, title if path is None else str(path))
                bar.show(learner.done, f"{curve[-1]['steps_per_s']:,.0f} steps/s, {learner.words(curve[-1])}")
            if over or learner.done // learner.kept_every > before // learner.kept_every:
                keep()
    final = learner.final(curve)
    if final is not None:
        final = {**final, **_clock(learner, learned, measured)}
        if (collapsed := collapse(curve, learner.measured)) is not None:
            final["collapsed"] = collapsed
        if folder is not None:
            if not folder.has_checkpoint:  # nothing was learned, but the policy can be loaded
                keep()
            folder.finish(final)
    return curve, final or {}


def _clock(learner: Learner, learned: float, measured: float) -> Line:
    return {
        "wall_s": round(learned + measured, 3),
        "steps_per_s": round(learner.step / learned, 1) if learned else 0.0,
    }


def opened(run_dir: str | Path | None, config: Any, resume: bool) -> RunFolder | None:
    """Return the checked folder of a run with a config, or None if `run_dir` is None. Writes nothing.

    :raises InputError: a folder that is in use, or of another config; nothing to resume.
    """
    if run_dir is None:
        if resume:
            raise InputError("there is nothing to resume without a run directory")
        return None
    folder = RunFolder.of(run_dir, config)
    folder.check(resume)
    return folder


@contextmanager
def own_random_numbers() -> Iterator[None]:
    """Restore the random generators of torch, NumPy and Python at the end of the context."""
    numbers, drawn = np.random.get_state(), random.getstate()  # noqa: NPY002
    devices = None if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        np.random.set_state(numbers)  # noqa: NPY002
        random.setstate(drawn)


# ---- A training that collapses


def collapse(curve: list[Line], measured: Measured | None) -> dict[str, Any] | None:
    """Return the collapse that a training is in at its last line of metrics, or None.

    In a collapse the measure is below half of its best for three or more lines in a row. The first line at half or
    above ends it: the final figures of a training that recovers, after a warning, report no collapse. A best of fewer
    than `SURE` successes counts as chance, since three lines below half would often follow a lucky line of random play.
    Lines without the measure, or where it is NaN or infinite, are skipped.

    :param measured: see `Learner`.
    :returns: None, or "measure", its name; "best" and "best_step", the last line with the best value; "since", the step
        of the first line below half.
    """
    if measured is None:
        return None
    name, episodes = measured
    best, best_step, low = 0.0, 0.0, list[float]()
    for line in curve:
        value = line.get(name, nan)
        if not isfinite(value):
            continue
        if value >= best:
            best, best_step = value, line["step"]
        if value < best / 2:
            low.append(line["step"])
        else:
            low.clear()
    if len(low) < LOW_LINES or best * episodes < SURE:
        return None
    return {"measure": name, "best": best, "best_step": best_step, "since": low[0]}


def warn_of_collapse(curve: list[Line], measured: Measured | None, board: Board, where: str) -> None:
    """Warn on stderr and in TensorBoard if a collapse begins with the last line: once for each collapse."""
    found = collapse(curve, measured)
    if found is None or collapse(curve[:-1], measured) is not None:
        return
    best, step, since = found["best"], found["best_step"], found["since"]
    text = (
        f"{found['measure']} fell below half of its best ({best:.3g} at step {step:,}) and stayed there since step "
        f"{since:,}: the training collapsed; lower the learning rate or the scale of the rewards, or end it earlier, "
        "since only the last checkpoint is kept"
    )
    board.tell("collapsed", text, int(curve[-1]["step"]))
    warnings.warn(f"{where}: {text}", Note, stacklevel=2)


# ---- The state of a network, its optimiser and its environments as one checkpoint


def training_state(
    network: torch.nn.Module, optimiser: torch.optim.Optimizer, env: Any, progress: dict[str, Any]
) -> tuple[Tensors, dict[str, Any]]:
    """Return the state of a training; see `Learner.state`.

    :param env: an environment with `state_dict`.
    :param progress: counters of the learner, for JSON.
    """
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= optimiser_tensors(optimiser, "optimiser")
    world = env.state_dict()
    tensors |= {f"env.{name}": torch.from_numpy(v) for name, v in world.items() if isinstance(v, np.ndarray)}
    tensors["rng.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["rng.cuda"] = torch.cuda.get_rng_state()
    values = {name: value for name, value in world.items() if not isinstance(value, np.ndarray)}
    return tensors, {"classes": classes(network), "progress": progress, "env": values}


def put_training_state(
    tensors: Tensors,
    meta: dict[str, Any],
    network: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    env: Any,
    where: Path,
) -> None:
    """Restore a saved state.

    :raises InputError: a state of another env, network or batch size.
    """
    env.load_state_dict(meta["env"] | {name: tensor.numpy() for name, tensor in under(tensors, "env").items()})
    put_network(network, SavedNetwork(under(tensors, "network"), meta.get("classes", {})), where)
    restore_optimiser(optimiser, tensors, "optimiser")
    torch.set_rng_state(tensors["rng.cpu"])
    if "rng.cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["rng.cuda"])


def classes(network: torch.nn.Module) -> dict[str, str]:
    """Map the name of each part, "" for the whole network, to "module:class"; parts of torch's classes are left out."""
    kinds = {name: type(part) for name, part in network.named_modules()}
    return {
        name: f"{kind.__module__}:{kind.__qualname__}"
        for name, kind in kinds.items()
        if not kind.__module__.startswith("torch.")
    }


class SavedNetwork(NamedTuple):
    """Weights by name, and the `classes` of their network ({} in runs from before 0.2)."""

    weights: Tensors
    classes: dict[str, str]


def saved_network(folder: RunFolder, **hashes: str) -> SavedNetwork:
    """Load the network of a run's last checkpoint.

    :param hashes: name in the env's state -> the hash that it must have there.
    :raises InputError: a missing or damaged checkpoint; another hash.
    """
    tensors, meta = folder.load(KIND)
    for name, mine in hashes.items():
        if meta["env"][name] != mine:
            raise InputError(
                f"{folder.path}: trained on another {name} ({meta['env'][name][:12]}, here {mine[:12]}); "
                "give the one that it was trained on"
            )
    return SavedNetwork(under(tensors, "network"), meta.get("classes", {}))


def put_network(network: torch.nn.Module, saved: SavedNetwork, where: Path) -> None:
    """Load saved weights into a network.

    :raises InputError: other parameters, or other classes, which may compute something else with the same parameters.
    """
    here = classes(network)
    for name, there in saved.classes.items():
        if _without_module(here.get(name, "")) != _without_module(there):
            part = f"{name} of the network" if name else "the network"
            raise InputError(
                f"{where} was trained with {there} as {part}, and here that is {here.get(name)}; give the one that it "
                "was trained with: network=, or mixing=MODULE:NAME"
            )
    put_weights(network, saved.weights, where)


def _without_module(kind: str) -> str:
    """Drop the module from a class of gumption, since it differs between versions; keep other classes unchanged."""
    module, _, name = kind.partition(":")
    return f"gumption:{name}" if module.startswith("gumption.") else kind
