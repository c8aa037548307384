"""Wrap an environment to record the transitions of any agent of any library, in the files of `gumption.envs.memory`."""

import os
import time
import warnings
import weakref
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from gumption.data import InputError, Note
from gumption.data.sealed import read_sealed, write_sealed
from gumption.data.settings import check, shown
from gumption.data.writing import write_text

from .memory import HEADER, TransitionMemory, TransitionWriter
from .native import NativeEnv, NativeVectorEnv
from .records import EPISODES, EpisodeFile

ENVIRONMENT = "environment.json"  # describes the recorded environment, in the folder of the records
WAIT_S = 1.0  # least seconds between two writes, made during a step; a crash loses the records since the last write


class RecordMemory(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose transitions are recorded in a folder, whichever agent acts in it.

    Each step of an episode is a record, in the layout of its world; steps that only begin the next episode are not
    recorded. If the world can replay episodes, ended episodes are written to episodes.jsonl in the same folder. Other
    wrappers may be inside and outside. A memory in the folder is continued, if environment.json has the same class and
    settings of the environment. A killed program loses the last second at most; `close`, and the end of the program,
    write the rest.

        env = RecordMemory(gym.make("gumption/HALMA-v0"), "memories/mine")

    :param env: a single environment, or a batch (`gym.make_vec`), for which a `RecordVectorMemory` is made.
    :param directory: a folder, made as needed; each environment needs its own.
    :raises InputError: a world that keeps no memory; a folder with a memory of another environment or of a training, or
        with a memory that is being written; an environment that is recorded already.
    """

    def __new__(cls, env: Any, directory: str | os.PathLike[str]) -> Any:
        if isinstance(env, VectorEnv):
            return RecordVectorMemory(env, directory)
        if not isinstance(env, gym.Env):
            raise InputError(f"env is {shown(env)}; it is an environment, or a batch of them")
        return super().__new__(cls)

    def __init__(self, env: gym.Env[Any, Any], directory: str | os.PathLike[str]) -> None:
        super().__init__(env)
        self.recording = Recording(_batch_of(env), directory)
        self._end = weakref.finalize(self, self.recording.close)

    def close(self) -> None:
        """Write the remaining records, and close the environment."""
        self._end()
        super().close()


class RecordVectorMemory(VectorWrapper):
    """A `RecordMemory` for a batch of environments; autoreset works in all modes."""

    def __init__(self, env: VectorEnv[Any, Any, Any], directory: str | os.PathLike[str]) -> None:
        super().__init__(env)
        self.recording = Recording(_batch_of(env), directory)
        self._end = weakref.finalize(self, self.recording.close)

    def close(self, **kwargs: Any) -> None:
        """Write the remaining records, and close the environments."""
        self._end()
        super().close(**kwargs)


class Recording:
    """Makes the steps of a batch and records them, until it is closed."""

    def __init__(self, batch: NativeVectorEnv, directory: str | os.PathLike[str]) -> None:
        """:raises InputError: see `RecordMemory`."""
        layout = batch.memory_layout
        if layout is None:
            raise InputError(
                f"{type(batch).__name__} keeps no memory of transitions: it has no memory_layout (see NativeVectorEnv)"
            )
        if batch.recorder is not None:
            raise InputError("the transitions of this environment are recorded already: wrap it once")
        self.batch, self.directory = batch, Path(check("directory", directory, str | os.PathLike[str]))
        self._files: Any = None
        self._begun = kept = 0
        if (self.directory / HEADER).exists():
            memory = TransitionMemory.read(self.directory, layout)
            if memory.warning:
                warnings.warn(memory.warning, Note, stacklevel=3)
            kept = len(memory)
            self._begun = int(memory.records["episode"].max(initial=-1)) + 1
        if kept:
            self._check_environment()
            self._check_files()
        self._writer = TransitionWriter(self.directory, layout, keep=kept)
        write_sealed(self.directory / ENVIRONMENT, _described(batch))
        self._save_files()
        self._episode = np.full(batch.num_envs, -1)
        self._written = time.monotonic()
        self._episodes = EpisodeFile(self.directory / EPISODES)
        batch.recorder, batch.episodes = self, []

    @property
    def count(self) -> int:
        """Number of transitions in the memory."""
        return self._writer.count

    def step(self, actions: np.ndarray, idle: np.ndarray | None) -> None:
        """Make a step, as `NativeVectorEnv.advance`; a step that the world refuses is not recorded."""
        batch = self.batch
        begins = (self._episode < 0) | batch.episode_begins()
        if idle is not None:
            begins &= ~idle
        before = batch.memory_before()
        batch.advance(actions, idle)
        if begins.any():
            self._episode[begins] = self._begun + np.arange(begins.sum())
            self._begun += int(begins.sum())
            self._save_files()
        fields = batch.memory_fields(before, actions, self._episode)
        self._writer.append(*(fields if idle is None else (field[~idle] for field in fields)))
        if time.monotonic() - self._written > WAIT_S:
            self._write_episodes()
            self._writer.write()
            self._written = time.monotonic()

    def flush(self) -> None:
        """Write all transitions, and wait until the disk has them."""
        self._write_episodes()
        self._writer.flush()

    def close(self) -> None:
        """Write the remaining transitions; later steps of the batch are not recorded."""
        if self.batch.recorder is self:
            self._write_episodes()
            self.batch.recorder = self.batch.episodes = None
        self._writer.close()

    def _write_episodes(self) -> None:
        """Append the ended episodes of a world that can replay them."""
        if ended := self.batch.episodes:
            self.batch.episodes = []
            self._episodes.append(ended)

    def _check_environment(self) -> None:
        """:raises InputError: records of another environment, or records that this class did not make."""
        path = self.directory / ENVIRONMENT
        if not path.is_file():
            raise InputError(f"{self.directory}: a memory that RecordMemory did not begin; choose another folder")
        there, mine = read_sealed(path), _described(self.batch)
        for name in [*there, *mine]:
            if there.get(name) != mine.get(name):
                raise InputError(
                    f"{self.directory}: a memory of {name} {there.get(name)!r}, and this environment has "
                    f"{mine.get(name)!r}; choose another folder"
                )

    def _check_files(self) -> None:
        """:raises InputError: the records refer to other files than this environment's."""
        for name, text in self.batch.memory_files().items():
            path = self.directory / name
            there = path.read_text(encoding="utf-8") if path.is_file() else ""
            if not text.startswith(there):
                raise InputError(
                    f"{path} is not what this environment plays with: go on with an environment made of this very "
                    "file, or choose another folder"
                )

    def _save_files(self) -> None:
        files = self.batch.memory_files()
        if files is not self._files:
            for name, text in files.items():
                write_text(self.directory / name, text)
            self._files = files


def _described(batch: NativeVectorEnv) -> dict[str, Any]:
    """Return the class of a batch and its settings, without settings that the files or layout of the memory hold."""
    described: dict[str, Any] = {"environment": type(batch).__name__}
    settings = getattr(batch, "settings", None)
    for field in () if settings is None else fields(settings):
        if field.name not in getattr(settings, "CONTENT", ()):
            value = getattr(settings, field.name)
            plain = isinstance(value, bool | int | float | str | None)
            described[field.name] = value if plain else getattr(value, "hash", "")
    return described


def _batch_of(env: Any) -> NativeVectorEnv:
    """Return the batch under all wrappers; a single environment is a batch of one."""
    inner = env.unwrapped
    batch = inner.batch if isinstance(inner, NativeEnv) else inner
    if not isinstance(batch, NativeVectorEnv):
        hint = "wrap each of its environments, with a folder each" if isinstance(env, VectorEnv) else "see NativeEnv"
        raise InputError(f"{type(inner).__name__} is no environment whose transitions gumption can keep; {hint}")
    return batch
