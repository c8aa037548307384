"""A run's folder: its files, its lock against other writers, and functions that read a run.

Files: config.json (with "world"), manifest.json (versions, hardware, hashes of all inputs), metrics.jsonl (a line per
evaluation), a TensorBoard event file, checkpoint/ (safetensors and JSON), files/ (copies of the files that the config
names, used in place of the originals from then on), the world's own files (knowledge/, memory/, mazes.jsonl), and, when
the run is complete, final.json.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from gumption.data import InputError
from gumption.data.sealed import damaged, read_sealed, sealed_lines, unsealed_lines, write_sealed
from gumption.data.settings import check, checked
from gumption.data.writing import (
    check_name,
    check_writable,
    file_sha256,
    forget_predecessor,
    is_part,
    sole_writer,
    whole_folder,
    write_errors,
    write_text,
)
from gumption.envs import worlds
from gumption.kg.checkpoint import has_checkpoint, load_checkpoint, save_checkpoint

from .settings import CONFIG, MANIFEST, OWN, RunConfig, replaced

METRICS, FINAL = "metrics.jsonl", "final.json"
CHECKPOINT, KNOWLEDGE, FILES = "checkpoint", "knowledge", "files"
NO_RUN = "not a complete run"  # message if one of these files is missing
#: The most bytes of a file or folder that a run copies; of a larger one it stores only the hash.
LARGEST_COPY = 64 << 20


class RunFolder:
    """The folder of a run, in every world.

    :ivar settings: the content of config.json.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any], config: RunConfig | None = None) -> None:
        """:param config: the config with these settings; the files that it names are copied."""
        self.path, self.settings, self.config = Path(path), dict(settings), config
        self._seal = ""  # of the last line of metrics
        self._claim: ExitStack | None = None
        self._resume: bool | None = None  # the argument of the last `check`

    @classmethod
    def of(cls, path: str | Path, config: RunConfig) -> "RunFolder":
        """Return the folder of a run with a config."""
        return cls(path, config.to_json(), config)

    def check(self, resume: bool) -> None:
        """Check that the run can begin or resume here; resuming needs the same settings. Writes nothing.

        :raises InputError: a folder that is not a run, a run although `resume` is False, or a run with other settings.
        """
        path, self._resume = self.path, resume
        check_name(path)
        if self.config is not None:
            self.config.files()
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file; choose another name for the run")
        if not (path / CONFIG).is_file():
            check_writable(path)
        if not path.exists() or all(map(is_part, path.iterdir())):
            return
        if not (path / CONFIG).is_file():
            raise InputError(f"{path} exists and is not a run; choose another name")
        if not resume:
            raise InputError(f"{path} holds a run already; go on with it (--resume), or choose another name")
        before, now = read_sealed(path / CONFIG), self.settings
        if self.config is not None:
            before = read_config(path, type(self.config)).to_json()
            kept = self._kept_hashes()
            files = {} if kept is None else self.config.files()
            here = {field: {one.name: content_of(one) for one in own} for field, own in files.items()}
            kind = type(self.config)
            before, now = _by_content(kind, before, kept or {}), _by_content(kind, now, here)
        before, now = json.loads(json.dumps(before)), json.loads(json.dumps(now))
        if changed := [name for name in {**now, **before} if before.get(name) != now.get(name)]:
            raise InputError(f"{path} was begun with another {', '.join(changed)}; choose another name")

    def claim(self) -> None:
        """Lock the folder until `release` or the end of this process, and repeat `check` with the lock held.

        :raises InputError: another process writes this run, or has changed it since `check`.
        """
        if self._claim is None:
            with ExitStack() as claim:
                claim.enter_context(sole_writer(self.path, wait=0))
                if self._resume is not None:
                    self.check(self._resume)
                self._claim = claim.pop_all()

    def release(self) -> None:
        """Unlock the folder for other processes."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Claim the folder, and write config.json, manifest.json and files/.

        :raises InputError: a run that another process writes, or that began with other knowledge.
        """
        self.claim()
        forget_predecessor(self.path / CHECKPOINT)
        about = self.manifest() if (self.path / MANIFEST).is_file() else {}
        before, now = about.get("knowledge"), manifest.get("knowledge") or {}
        if before is not None:
            # The source may differ, since a graph may have been moved; its hash is compared.
            changed = [key for key in {**before, **now} if key != "source" and before.get(key) != now.get(key)]
            if changed:
                raise InputError(f"{self.path} was begun with other knowledge (another {', '.join(changed)})")
            manifest = {**manifest, "knowledge": before}
        if self.has_checkpoint:
            write_sealed(self.path / MANIFEST, {**manifest, FILES: about.get(FILES, {})})
        else:
            write_sealed(self.path / CONFIG, self.settings)
            write_sealed(self.path / MANIFEST, {**manifest, FILES: self._copy_files()})

    def _copy_files(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Copy the files that the config names, except large ones. Returns field -> name -> {"sha256", "kept"}."""
        files = {} if self.config is None else self.config.files()
        told: dict[str, dict[str, dict[str, Any]]] = {}
        if not files:
            return told
        with whole_folder(self.path / FILES) as beside:
            for field, own in files.items():
                (beside / field).mkdir()
                for one in own:
                    small = sum(part.stat().st_size for part in _parts(one)) <= LARGEST_COPY
                    told.setdefault(field, {})[one.name] = {"sha256": content_of(one), "kept": small}
                    if small:
                        copy = beside / field / one.name
                        shutil.copytree(one, copy) if one.is_dir() else shutil.copyfile(one, copy)
        return told

    def manifest(self) -> dict[str, Any]:
        """Return versions, hardware, and hashes of the run's inputs."""
        return read_sealed(self.path / MANIFEST, missing=NO_RUN)

    def _kept_hashes(self) -> dict[str, dict[str, str]] | None:
        """Return field -> name -> sha256 of each file with which the run began; None if the manifest has none."""
        if not (self.path / MANIFEST).is_file() or FILES not in (about := self.manifest()):
            return None
        return {field: {name: said["sha256"] for name, said in own.items()} for field, own in about[FILES].items()}

    @property
    def complete(self) -> bool:
        """Whether the run has finished."""
        return (self.path / FINAL).is_file()

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return has_checkpoint(self.path / CHECKPOINT)

    def save(self, tensors: Mapping[str, torch.Tensor], meta: Mapping[str, Any]) -> None:
        """Replace the checkpoint; `meta` contains its "kind"."""
        save_checkpoint(self.path / CHECKPOINT, dict(tensors), dict(meta))

    def load(self, kind: str) -> tuple[dict[str, torch.Tensor], Any]:
        """Load the checkpoint. :raises InputError: it is missing, damaged or of another kind."""
        return load_checkpoint(self.path / CHECKPOINT, kind)

    def write_metrics(self, lines: list[dict[str, float]]) -> None:
        """Replace the metrics."""
        text, self._seal = sealed_lines(lines)
        write_text(self.path / METRICS, text)

    def add_metrics(self, line: dict[str, float]) -> None:
        """Append a line to the metrics that `write_metrics` began.

        :raises InputError: the file cannot be written.
        """
        text, self._seal = sealed_lines([line], self._seal)
        path = self.path / METRICS
        with write_errors(path), path.open("a", encoding="utf-8") as file:
            file.write(text)

    def finish(self, final: Mapping[str, Any]) -> None:
        """Mark the run as complete: write its final figures, and the seal of its metrics."""
        write_sealed(self.path / FINAL, {**final, METRICS: _metrics(self.path)[1]})


@checked
def read_metrics(run_dir: Path) -> list[dict[str, float]]:
    """Read the lines of metrics.jsonl, without a last line cut short by a crash.

    :raises InputError: a line that was changed after it was written.
    """
    return _metrics(run_dir)[0]


@checked
def read_final(run_dir: Path) -> dict[str, Any]:
    """Read the final figures of a run.

    :raises InputError: a run that is not complete, or figures or metrics that were changed after they were written.
    """
    final = read_sealed(run_dir / FINAL, missing=NO_RUN)
    if not isinstance(final, dict):
        raise InputError(f"{run_dir / FINAL}: not the final figures of a run")
    seal = final.pop(METRICS, None)
    if seal is not None and seal != _metrics(run_dir)[1]:
        damaged(run_dir / METRICS, f"these are not the metrics that {FINAL} is of, so lines were lost or changed")
    return final


def _metrics(run_dir: Path) -> tuple[list[dict[str, float]], str]:
    path = run_dir / METRICS
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return [], ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return unsealed_lines(text[: text.rfind("\n") + 1], path)


@checked
def world_of(run_dir: str | Path) -> worlds.World:
    """Return the world of a run. :raises InputError: there is no run, or its world is not known."""
    config = read_sealed(Path(run_dir) / CONFIG, missing=NO_RUN)
    if not isinstance(config, dict) or "world" not in config:
        raise InputError(f"{Path(run_dir) / CONFIG}: not the config of a run: it names no world")
    return worlds.find(str(config["world"]))


def _by_content(
    kind: type[RunConfig], settings: Mapping[str, Any], hashes: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Replace each file in the settings by its hash, and graphs by a constant, since the manifest compares graphs."""
    value = replaced(settings, kind.FILES, lambda field, text: hashes.get(field, {}).get(text, text))
    given = {name: "given" for name in kind.PLACES if value[name] not in (None, "none", *OWN)}
    return {**value, **given}


def read_config(run_dir: Path, kind: type[Any], **changes: Any) -> Any:
    """Read a run's config as an object of its class; its files are the run's copies.

    :param changes: fields to replace; None leaves a field unchanged.
    :raises InputError: no run, or a run of another class.
    """
    stored = read_sealed(run_dir / CONFIG, missing=NO_RUN)

    def kept(field: str, name: str) -> str:
        copy = run_dir / FILES / field / name
        return str(copy) if Path(name).name == name and copy.exists() else name

    try:
        if isinstance(stored, dict):
            stored = replaced(stored, (*kind.FILES, *kind.PLACES), kept)
        return kind.from_json(stored, **changes)
    except (InputError, TypeError) as error:
        raise InputError(f"{run_dir / CONFIG}: {error}") from None


def resumed_config(run_dir: Path, kind: type[Any], typed: Mapping[str, Any]) -> Any:
    """Return the config of a resumed run: its own, with the options typed on the command line.

    :returns: None for a run with another kind of config, or a run that has not begun.
    """
    if not (run_dir / CONFIG).is_file():
        return None
    stored = read_sealed(run_dir / CONFIG)
    if not isinstance(stored, dict) or set(stored) - {field.name for field in fields(kind)}:
        return None
    return read_config(run_dir, kind, **typed)


def content_of(path: Path) -> str:
    """Return the sha256 (hex) of a file, or of the names and contents of a folder's files."""
    whole = hashlib.sha256()
    for part in _parts(path):
        digest = file_sha256(part)
        if part == path:
            return digest
        whole.update(f"{part.relative_to(path).as_posix()} {digest}\n".encode())
    return whole.hexdigest()


def _parts(path: Path) -> Sequence[Path]:
    """Return the file itself, or a folder's files, without half-written ones, sorted by name."""
    if path.is_file():
        return [path]
    return sorted(one for one in path.rglob("*") if one.is_file() and not is_part(one))


@checked
def load_policy(run_dir: str | Path, **places: Any) -> tuple[Any, Any]:
    """Load the config and the policy of a run's last checkpoint, ready to act, in any world.

    :param places: the device, and paths of inputs of which the run stores only the hash; see the world's own function.
    :raises InputError: no run, or a run that does not fit the arguments.
    """
    world = world_of(run_dir)
    load = _of_world(world, "load", "load_policy")
    if load is None:
        raise InputError(f"{run_dir} is a run of {world.name!r}, a world that offers no 'load' of its runs")
    loaded = load(run_dir, **places)
    return (loaded.config, getattr(loaded, "policy", loaded)) if hasattr(loaded, "config") else loaded


def evaluate(run: Any, **settings: Any) -> dict[str, Any]:
    """Evaluate a run's policy in its world.

    :param run: a run's folder, or the result of a training.
    :param settings: arguments of the world's own function, such as `gumption.agents.wordcraft.evaluation.evaluate`.
    :raises InputError: no run, or settings that do not fit it.
    """
    made = hasattr(run, "config")
    world = worlds.find(run.config.world) if made else world_of(check("run", run, str | os.PathLike[str]))
    measure = evaluation_of(world)
    if measure is None:
        raise InputError(f"the world {world.name!r} offers no evaluation of its runs")
    return measure(run, **settings)


def evaluation_of(world: worlds.World) -> Any:
    """Return the `evaluate` function of a world, or None."""
    return _of_world(world, "evaluate", "evaluate")


def _of_world(world: worlds.World, offer: str, general: str) -> Any:
    """Return the world's function for its runs, or that of the general learner if it trains them; else None."""
    found = world.get(offer)
    if found is None and ("config" not in world.offers or "setup" in world.offers):
        return world.load(f"gumption.agents.setup:{general}", offer)
    return found


class Board:
    """Writes the run's TensorBoard file; does nothing without a run directory."""

    def __init__(self, run_dir: Path | None, step: int) -> None:
        """:param step: of the checkpoint from which the run resumes, else 0; later events are dropped."""
        self.writer = None
        if run_dir is not None:
            from torch.utils.tensorboard import SummaryWriter

            self.run_dir = run_dir
            with write_errors(run_dir):
                self.writer = SummaryWriter(str(run_dir), purge_step=step + 1 if step else None)

    def __enter__(self) -> "Board":
        return self

    def write(self, line: dict[str, float]) -> None:
        """Write a line of metrics."""
        if self.writer is not None:
            with write_errors(self.run_dir):
                for name, value in line.items():
                    if name != "step":
                        self.writer.add_scalar(name, value, int(line["step"]))

    def tell(self, name: str, text: str, step: int) -> None:
        """Write a sentence as TensorBoard text."""
        if self.writer is not None:
            with write_errors(self.run_dir):
                self.writer.add_text(name, text, step)

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            with write_errors(self.run_dir):
                self.writer.close()
