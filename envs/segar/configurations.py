"""Named distributions of scenes, from SEGAR's benchmark and its four demonstrations, and levels drawn from them.

A benchmark name joins a kind and a difficulty: "empty-easy", "objectsx2-hard", "tilesx3-medium". The number of objects
or tiles is 1 to 20. The preset "compat" reproduces the distributions of the first release.

"gates-2" and "gates-3" are walls of three gates between ball and goal. One gate lets the ball through. The others
swallow it (gates-2), or swallow, destroy, stop or slow it (gates-3). Gate types of the test never occur in training.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from os import PathLike
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np

from gumption.data.errors import InputError, located
from gumption.data.modules import of_module
from gumption.data.settings import Count, Seed, Whole, check, checked, shown
from gumption.envs.physics.entities import (
    Ball,
    Block,
    Bumper,
    Charger,
    CueBall,
    Damper,
    Entity,
    FireTile,
    GoalTile,
    GolfBall,
    Hole,
    MagmaTile,
    Magnet,
    Object,
    SandTile,
    Tile,
)
from gumption.envs.physics.factors import (
    Charge,
    Friction,
    Heat,
    Magnetism,
    Mass,
    Mobile,
    Position,
    Shape,
    Size,
    StoredEnergy,
)
from gumption.envs.physics.initialization import Initialization, Preset, Prior, ThingFactory
from gumption.envs.physics.locations import (
    Center,
    RandomBottomLocation,
    RandomConvexHull,
    RandomEdgeLocation,
    RandomMiddleLocation,
    RandomTopLocation,
    RandomTopRightLocation,
    RandomUniformLocation,
    Row,
    UniformNoise2D,
)
from gumption.envs.physics.noise import DiscreteRangeNoise, GaussianMixtureNoise, GaussianNoise, Noise, UniformNoise
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.shapes import circle, random_convex_hull, rectangle
from gumption.envs.split_files import SplitFormat, read_file, write_file

from .kinds import THROUGH, Gate, gates

Split = Literal["train", "test"]
DIFFICULTIES = ("easy", "medium", "hard")
OBJECTS: tuple[type[Entity], ...] = (Charger, Magnet, Bumper, Damper, Ball)
TILES: tuple[type[Entity], ...] = (SandTile, MagmaTile, Hole, FireTile)
#: Maximal number of objects or tiles of a configuration: more do not fit between the walls.
MOST = 20

#: Distributions of position, by difficulty: of the golf ball, of the goal, and of all other things.
_PLACES: dict[str, tuple[type[Noise], type[Noise], type[Noise]]] = {
    "easy": (Center, RandomTopRightLocation, RandomTopLocation),
    "medium": (RandomBottomLocation, RandomTopLocation, RandomMiddleLocation),
    "hard": (RandomUniformLocation, RandomUniformLocation, RandomUniformLocation),
}


@checked
def configuration(name: str, preset: Preset = "fixed", split: Split = "train") -> Initialization:
    """Return the distribution of scenes with this name, or your own as "module:name", which keeps its own preset.

    :param split: selects the gate types of a wall; training and test have different types.
    :raises InputError: no such distribution.
    """
    if name in WALLS:
        return _wall(name, split, preset)
    if ":" not in name:
        return _configuration(name, preset)
    fits = (Initialization, Mapping)
    return Initialization.read(of_module(name, "levels", lambda found: isinstance(found, fits), "distribution"), name)


def configuration_names() -> list[str]:
    """Return the names of all configurations with at most three objects or tiles."""
    kinds = ["empty", *(f"{kind}x{n}" for kind in ("objects", "tiles") for n in (1, 2, 3))]
    return [*(f"{kind}-{difficulty}" for kind in kinds for difficulty in DIFFICULTIES), *_DEMONSTRATIONS, *WALLS]


@cache
def _configuration(name: str, preset: Preset) -> Initialization:
    if name in _DEMONSTRATIONS:
        return _DEMONSTRATIONS[name](preset)
    found = re.fullmatch(r"(?:(empty)|(objects|tiles)x([1-9]\d?))-(easy|medium|hard)", name)
    if not found or int(found[3] or 0) > MOST:
        raise InputError(
            f"there is no configuration {shown(name)}; there are empty-, objectsxN- and tilesxN- with easy, medium or "
            f"hard and N from 1 to {MOST}, such as objectsx2-hard, {', '.join([*_DEMONSTRATIONS, *WALLS])}, and yours: "
            "MODULE:NAME"
        )
    kind, n, difficulty = found[1] or found[2], int(found[3] or 0), found[4]
    ball, goal, _ = _PLACES[difficulty]
    numbers: list[Any] = [(GoalTile, 1), (GolfBall, 1)]
    priors = [
        Prior(Position, ball(), entity_type=GolfBall),
        Prior(Position, goal(), entity_type=GoalTile),
        Prior(Shape, circle(0.4), entity_type=GoalTile),
    ]
    if kind == "objects":
        numbers.insert(0, (ThingFactory(OBJECTS), n))
        priors += _object_priors(difficulty, preset)
    if kind == "tiles":
        numbers.insert(0, (ThingFactory(TILES), n))
        priors += _tile_priors(difficulty, preset)
    return Initialization(numbers, priors, preset=preset)


def _object_priors(difficulty: str, preset: Preset) -> list[Prior]:
    priors = [Prior(Position, _PLACES[difficulty][2](), entity_type=Object)]
    if difficulty == "easy":
        return priors
    spread, least = (0.1, 0.5) if difficulty == "medium" else (0.4, 0.0)
    # The first release clipped to (-0.5, -1.0), which always gives -1.
    damper = GaussianNoise(-1.0, spread, clip=(-1.0, -least)) if preset == "fixed" else -1.0
    priors += [
        *_signs(spread),
        Prior(StoredEnergy, GaussianNoise(1.0, spread, clip=(least, 1.0)), entity_type=Bumper),
        Prior(StoredEnergy, damper, entity_type=Damper),
    ]
    if difficulty == "hard":
        priors += [
            Prior(Size, GaussianNoise(0.2, 0.01, clip=(0.1, 0.3)), entity_type=Object),
            Prior(Mass, 1.0, entity_type=Object),
            Prior(Mobile, True, entity_type=Object),
        ]
    return priors


def _tile_priors(difficulty: str, preset: Preset) -> list[Prior]:
    low, high = (0.4, 1.0) if difficulty == "hard" else (0.5, 0.55)
    priors = [
        Prior(Position, _PLACES[difficulty][2](), entity_type=Tile),
        Prior(Shape, _hull(preset), entity_type=Tile),
        Prior(Friction, UniformNoise(low, high), entity_type=Tile),
        Prior(Heat, UniformNoise(low, high), entity_type=Tile),
        *_tile_size(preset, 1.5),
    ]
    if difficulty == "hard":
        priors.append(Prior(Size, GaussianNoise(0.2, 0.01, clip=(0.1, 0.3)), entity_type=Object))
    if preset == "fixed":
        # Otherwise the goal burns the ball before the ball reaches it.
        priors += [Prior(Friction, 0.0, entity_type=GoalTile), Prior(Heat, 0.0, entity_type=GoalTile)]
    return priors


def _signs(spread: float) -> list[Prior]:
    """Return priors that make charges and magnets positive or negative with equal probability."""
    either = GaussianMixtureNoise((-1.0, 1.0), (spread, spread))
    return [Prior(Charge, either, entity_type=Charger), Prior(Magnetism, either, entity_type=Magnet)]


def _hull(preset: Preset) -> Any:
    """Return the shape of tiles; the first release used one polygon for all tiles, drawn before any seed was set."""
    return RandomConvexHull(0.3) if preset == "fixed" else random_convex_hull(0.3, np.random.default_rng(0))


def _tile_size(preset: Preset, largest: float) -> list[Prior]:
    """Return the prior of tile sizes; none for "fixed", where it would scale shapes (the first release did not)."""
    size = GaussianNoise(1.0, 0.01, clip=(0.5, largest))
    return [] if preset == "fixed" else [Prior(Size, size, entity_type=Tile)]


def _objects_and_ball() -> list[Prior]:
    return [Prior(Size, GaussianNoise(0.2, 0.01, clip=(0.1, 0.3)), entity_type=Object), Prior(Mass, 1.0)]


def _puttputt_default(preset: Preset) -> Initialization:
    tiles = ThingFactory({SandTile: 0.4, MagmaTile: 0.2, Hole: 0.2, FireTile: 0.2})
    return Initialization(
        numbers=[
            (ThingFactory(OBJECTS), DiscreteRangeNoise(1, 2)),
            (tiles, DiscreteRangeNoise(1, 2)),
            (GoalTile, 1),
            (GolfBall, 1),
        ],
        priors=[
            Prior(Position, RandomEdgeLocation(), entity_type=Object),
            Prior(Position, RandomMiddleLocation(), entity_type=Tile),
            Prior(Position, RandomBottomLocation(), entity_type=GolfBall),
            Prior(Position, RandomTopLocation(), entity_type=GoalTile),
            Prior(Shape, _hull(preset), entity_type=Tile),
            Prior(Shape, circle(0.3), entity_type=GoalTile),
            Prior(Shape, circle(0.4), entity_type=Hole),
            *_tile_size(preset, 1.1),
            *_objects_and_ball(),
            Prior(Mobile, False),
            Prior(Mobile, True, entity_type=Ball),
            Prior(Mobile, True, entity_type=GolfBall),
            *_signs(0.1),
            Prior(Friction, UniformNoise(0.2, 1.0), entity_type=SandTile),
        ],
        preset=preset,
    )


def _random_middle(preset: Preset) -> Initialization:
    return Initialization(
        numbers=[(ThingFactory([*OBJECTS, *TILES]), 1), (GoalTile, 1), (GolfBall, 1)],
        priors=[
            Prior(Position, RandomMiddleLocation()),
            Prior(Position, RandomBottomLocation(), entity_type=GolfBall),
            Prior(Position, RandomTopLocation(), entity_type=GoalTile),
            Prior(Shape, _hull(preset), entity_type=Tile),
            Prior(Shape, circle(0.3), entity_type=GoalTile),
            Prior(Shape, circle(0.4), entity_type=Hole),
            *_tile_size(preset, 1.1),
            *_objects_and_ball(),
            Prior(Mobile, True),
            *_signs(0.1),
            Prior(Friction, UniformNoise(0.2, 1.0), entity_type=SandTile),
        ],
        preset=preset,
    )


def _invisiball(preset: Preset) -> Initialization:
    return Initialization(
        numbers=[(Charger, DiscreteRangeNoise(1, 3)), (GoalTile, 1), (GolfBall, 1)],
        priors=[
            Prior(Position, RandomMiddleLocation(), entity_type=Object),
            Prior(Position, RandomBottomLocation(), entity_type=GolfBall),
            Prior(Position, RandomTopLocation(), entity_type=GoalTile),
            Prior(Shape, circle(0.3), entity_type=GoalTile),
            *_objects_and_ball(),
            Prior(Mobile, True),
            Prior(Charge, 1.0, entity_type=Charger),
        ],
        preset=preset,
    )


def _billiards(preset: Preset) -> Initialization:
    """Return ten balls in a triangle whose lowest ball lies at the centre, and four holes in the corners."""
    half = 0.101
    rack = [((2 * place - row) * half, row * sqrt(3) * half) for row in range(4) for place in range(row + 1)]
    corners = [(x, y) for x in (-0.9, 0.9) for y in (-0.9, 0.9)]
    return Initialization(
        numbers=[(CueBall, 1)],
        priors=[
            Prior(Position, RandomBottomLocation(), entity_type=CueBall),
            Prior(Size, GaussianNoise(0.2, 0.01, clip=(0.1, 0.3)), entity_type=CueBall),
            Prior(Mass, 1.0),
            Prior(Shape, circle(0.3), entity_type=Hole),
        ],
        positions=[(Ball, rack), (Hole, corners)],
        preset=preset,
    )


#: Wall -> effects of the gates that do not let the ball through, drawn with equal probability.
WALLS = {"gates-2": ("swallows",), "gates-3": ("swallows", "destroys", "stops", "slows")}


@cache
def _wall(name: str, split: Split, preset: Preset) -> Initialization:
    """Return three gates in random order with posts between them, the ball below and the goal above."""
    harmful = [gates(split, deed) for deed in WALLS[name]]
    shares: dict[type[Entity] | str, float] = {kind: 1 / len(harmful) / len(some) for some in harmful for kind in some}
    through, others = ThingFactory(gates(split, THROUGH)), ThingFactory(shares)
    return Initialization(
        numbers=[(through, 1), (others, 2), (GoalTile, 1), (GolfBall, 1)],
        priors=[
            Prior(Position, Row((-2 / 3, 0.0, 2 / 3), 0.0), entity_type=Gate),
            Prior(Position, UniformNoise2D((-0.7, -0.8), (0.7, -0.7)), entity_type=GolfBall),
            Prior(Position, UniformNoise2D((-0.7, 0.7), (0.7, 0.8)), entity_type=GoalTile),
            Prior(Shape, circle(0.3), entity_type=GoalTile),
            Prior(Shape, rectangle(0.1, 0.7), entity_type=Block),
        ],
        positions=[(Block, [(-1 / 3, 0.0), (1 / 3, 0.0)])],
        preset=preset,
    )


_DEMONSTRATIONS: dict[str, Callable[[Preset], Initialization]] = {
    "puttputt_default": _puttputt_default,
    "random_middle": _random_middle,
    "invisiball": _invisiball,
    "billiards": _billiards,
}


# ---- Levels: scenes drawn from a configuration for training or test, by name or in files.
#
# A name identifies a level: "objectsx2-hard/train/0/17" is number 17 of the training levels with seed 0, and
# "objectsx2-hard@compat/train/0/17" is the same number with the preset "compat". Training and test levels come from
# different random streams.

FORMAT = SplitFormat("gumption/segar-levels/1")
_STREAMS: dict[Split, int] = {"train": 0, "test": 1}


@dataclass(frozen=True)
class Levels:
    """Levels of one distribution.

    :ivar name: name of the configuration; None for a distribution of your own without "module:name".
    :ivar first: number of the first level.
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
        """Return the name of each level. A level named "own/..." can only be read from its file."""
        stem = self.name or "own"
        preset = "" if self.initialization.preset == "fixed" else f"@{self.initialization.preset}"
        numbers = range(self.first, self.first + len(self))
        return tuple(f"{stem}{preset}/{self.split}/{self.seed}/{number}" for number in numbers)

    def save(self, path: str | Path, *, force: bool = False) -> bool:
        """Write a file with a sha256 checksum; return False if the same bytes are already there.

        :param force: replace different content.
        :raises InputError: the file has different content, or cannot be written.
        """
        parameters = {
            "configuration": self.name, "split": self.split, "seed": self.seed, "first": self.first,
            "levels": len(self),
        }  # fmt: skip
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
    """Draw n levels.

    :param distribution: name of a configuration, or a distribution of your own (or its "module:name"), which keeps its
        own preset.
    :param first: number of the first level; a level does not depend on n.
    :raises InputError: no configuration with this name, or things that cannot be placed; the message names the level.
    """
    name = distribution if isinstance(distribution, str) else None
    initialization = configuration(name, preset, split) if name is not None else distribution
    assert isinstance(initialization, Initialization)
    stream = crc32((name or json.dumps(initialization.to_data(), sort_keys=True)).encode())
    scenes = []
    for number in range(first, first + n):
        sequence = np.random.SeedSequence(seed, spawn_key=(stream, _STREAMS[split], number))
        with located(f"level {number} of {name or 'the distribution'}"):
            scenes.append(initialization.sample(np.random.default_rng(sequence)))
    return Levels(name, initialization, split, seed, first, tuple(scenes))


@checked
def level(name: str) -> Scene:
    """Draw the level with this name; raise InputError if the name is malformed."""
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

    :raises InputError: no such file, another schema, a changed byte, or an invalid scene; the message names it.
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


def find_levels(given: Any, split: Split, *, n: int, seed: int, preset: Preset) -> Levels:
    """Return the levels that the setting `levels` of an environment specifies: `Levels`, a file, or a distribution to
    draw from.

    :raises InputError: no such configuration or file, or scenes that cannot be placed.
    """
    if isinstance(given, Levels):
        return given
    if isinstance(given, PathLike) or (isinstance(given, str) and given.endswith(".json")):
        return load_levels(given)  # pyright: ignore[reportArgumentType]
    distribution = Initialization.read(given) if isinstance(given, Mapping) else given
    return draw_levels(distribution, split, n=n, seed=seed, preset=preset)


@checked
def check_replay(levels: Levels) -> None:
    """Draw the levels again and compare; raise InputError with the name of the first level that differs."""
    distribution = levels.name or levels.initialization
    preset = levels.initialization.preset
    drawn = draw_levels(distribution, levels.split, n=len(levels), seed=levels.seed, first=levels.first, preset=preset)
    for name, mine, its in zip(levels.names, levels.scenes, drawn.scenes, strict=True):
        if mine.to_data() != its.to_data():
            raise InputError(
                f"level {name} differs when it is drawn again: another version of gumption made it, or a person"
            )


@checked
def check_disjoint(first: Levels, second: Levels) -> None:
    """Check that two sets share no scene. :raises InputError: a level is in both; the message names it."""
    known = {_content(scene): name for name, scene in zip(first.names, first.scenes, strict=True)}
    for name, scene in zip(second.names, second.scenes, strict=True):
        if (there := known.get(_content(scene))) is not None:
            raise InputError(f"level {name} is the same as {there}; draw one of the sets with another seed or split")


def _content(scene: Scene) -> str:
    data: Any = scene.to_data()
    return json.dumps(data, sort_keys=True)
