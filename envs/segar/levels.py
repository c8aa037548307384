"""Levels: scenes drawn from a configuration for training or for the test, by name or in files.

A level has a name that says all of it: "objectsx2-hard/train/0/17" is number 17 of the training levels with the seed 0,
and "objectsx2-hard@compat/train/0/17" that of the preset "compat". Training and test levels come from different random
streams, so that no level is in both.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Count, Seed, Whole, check, checked
from gumption.data.wording import shown
from gumption.envs.physics.initialization import Initialization
from gumption.envs.physics.priors import Preset
from gumption.envs.physics.scene import Scene
from gumption.envs.split_files import SplitFormat, read_file, write_file

from .configurations import configuration

Split = Literal["train", "test"]
FORMAT = SplitFormat("gumption/segar-levels/1")
_STREAMS: dict[Split, int] = {"train": 0, "test": 1}


@dataclass(frozen=True)
class Levels:
    """Levels of one distribution.

    :ivar name: of the configuration; None for a distribution of a person's own.
    :ivar initialization: what they are drawn from.
    :ivar split: "train" or "test".
    :ivar first: the number of the first one.
    """

    name: str | None
    initialization: Initialization
    split: Split
    seed: int
    first: int
    scenes: tuple[Scene, ...]

    def __len__(self) -> int:
        return len(self.scenes)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each level; of a distribution of one's own, these do not replay without its file."""
        stem = self.name or "own"
        preset = "" if self.initialization.preset == "fixed" else f"@{self.initialization.preset}"
        numbers = range(self.first, self.first + len(self))
        return tuple(f"{stem}{preset}/{self.split}/{self.seed}/{number}" for number in numbers)

    def save(self, path: str | Path, *, force: bool = False) -> bool:
        """Write a file with sha256; False where it is there already, byte for byte.

        :param force: replace other content.
        :raises InputError: other content is there; an error of the system.
        """
        parameters = {
            "configuration": self.name,
            "split": self.split,
            "seed": self.seed,
            "first": self.first,
            "levels": len(self),
        }
        levels = [{"name": name, "scene": scene.to_data()} for name, scene in zip(self.names, self.scenes, strict=True)]
        content = {"parameters": parameters, "initialization": self.initialization.to_data(), "levels": levels}
        return write_file(Path(path), FORMAT.seal(content), force=force)


@checked
def draw_levels(
    distribution: str | Initialization,
    split: Split = "train",
    *,
    n: Count = 1,
    seed: Seed = 0,
    first: Whole = 0,
    preset: Preset = "fixed",
) -> Levels:
    """n levels.

    :param distribution: the name of a configuration, or a distribution of one's own, which has its preset.
    :param first: the number of the first level: levels do not depend on how many are drawn.
    :raises InputError: no configuration of this name, or things that cannot be placed; the message names the level.
    """
    name = distribution if isinstance(distribution, str) else None
    initialization = configuration(name, preset) if name is not None else distribution
    assert isinstance(initialization, Initialization)
    stream = crc32((name or json.dumps(initialization.to_data(), sort_keys=True)).encode())
    scenes = []
    for number in range(first, first + n):
        sequence = np.random.SeedSequence(seed, spawn_key=(stream, _STREAMS[split], number))
        try:
            scenes.append(initialization.sample(np.random.default_rng(sequence)))
        except InputError as error:
            raise InputError(f"level {number} of {name or 'the distribution'}: {error}") from None
    return Levels(name, initialization, split, seed, first, tuple(scenes))


@checked
def level(name: str) -> Scene:
    """The level of a name.

    :raises InputError: no name of a level.
    """
    found = re.fullmatch(r"([^/@]+)(?:@(fixed|compat))?/(train|test)/(\d{1,18})/(\d{1,18})", name)
    if not found:
        raise InputError(
            f"{shown(name)} is no name of a level; such a name is CONFIGURATION/train|test/SEED/NUMBER, "
            "as objectsx2-hard/train/0/17"
        )
    kind, preset, split, seed, number = found.groups()
    drawn = draw_levels(kind, split, seed=int(seed), first=int(number), preset=preset or "fixed")  # pyright: ignore[reportArgumentType]
    return drawn.scenes[0]


@checked
def load_levels(path: str | Path) -> Levels:
    """Read a file of levels.

    :raises InputError: no such file, another schema, a changed byte, or a level that is no scene; the message names it.
    """
    path = Path(path)
    content = FORMAT.unseal(read_file(path), path)
    try:
        parameters, rows = content["parameters"], content["levels"]
        name = check("configuration", parameters["configuration"], str | None)
        split = check("split", parameters["split"], Split)
        seed, first = check("seed", parameters["seed"], Seed), check("first", parameters["first"], Whole)
        given = [(row["name"], row["scene"]) for row in rows]
        initialization = Initialization.read(content["initialization"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: no levels ({type(error).__name__}: {error}); make it again") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    scenes = tuple(Scene.read(scene, f"{path}: {label}") for label, scene in given)
    levels = Levels(name, initialization, split, seed, first, scenes)
    if len(levels) != parameters.get("levels") or [label for label, _ in given] != list(levels.names):
        raise InputError(f"{path}: its levels are not those that its parameters say; make it again")
    return levels


@checked
def check_replay(levels: Levels) -> None:
    """Draw the levels again, and compare.

    :raises InputError: one of them differs; the message names it.
    """
    distribution = levels.name or levels.initialization
    preset = levels.initialization.preset
    drawn = draw_levels(distribution, levels.split, n=len(levels), seed=levels.seed, first=levels.first, preset=preset)
    for name, mine, its in zip(levels.names, levels.scenes, drawn.scenes, strict=True):
        if mine.to_data() != its.to_data():
            raise InputError(
                f"level {name} is another one when it is drawn again: another version made it, or a person"
            )


@checked
def check_disjoint(first: Levels, second: Levels) -> None:
    """:raises InputError: a level is in both; the message names it."""
    known = {_content(scene): name for name, scene in zip(first.names, first.scenes, strict=True)}
    for name, scene in zip(second.names, second.scenes, strict=True):
        if (there := known.get(_content(scene))) is not None:
            raise InputError(f"level {name} is the same as {there}; draw one of the sets with another seed or split")


def _content(scene: Scene) -> str:
    data: Any = scene.to_data()
    return json.dumps(data, sort_keys=True)
