"""Random pushes of SEGAR's physics on levels of all kinds and in hard scenes, and checks of what must always hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np

from gumption.envs.physics.entities import Block
from gumption.envs.physics.factors import Alive, Done, Mass, MaxVelocity, Mobile, Position, Size, Velocity
from gumption.envs.physics.shapes import circle
from gumption.envs.physics.simulator import Simulator
from gumption.envs.physics.state import State
from gumption.envs.segar import env as environments
from gumption.envs.segar.configurations import DIFFICULTIES

BATCH = 512  # scenes at once
SUB_STEPS = 5  # simulation steps of a step, as in the environments
CHECKED = 5  # steps between two checks
EPISODE = 50  # steps after which scenes begin anew
SPREAD = 3.0  # of the velocities that pushes add in hard scenes
FORCES = (1e-6, 1e6)
#: Shares of the smaller diameter: what counts as an overlap, and what is a failure.
OVERLAP, WORST = 0.005, 0.05
ROUNDING = 1e-9
_KINDS = ("empty", *(f"{kind}x{n}" for kind in ("objects", "tiles") for n in (1, 2, 3)))
_DEMONSTRATIONS = {"PuttPutt": ("puttputt_default", "random_middle"), "Invisiball": ("invisiball",)}


@dataclass(frozen=True)
class Cell:
    """One kind of scenes that is played.

    :ivar part: the row of the table that it belongs to.
    :ivar task: of an environment; "" for hard scenes.
    :ivar levels: the name of a configuration, or of hard scenes.
    :ivar force: the largest push along an axis, of an environment.
    """

    part: str
    task: str
    levels: str
    force: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.task}, {self.levels}, forces to {self.force:g}" if self.task else self.levels


@dataclass
class Found:
    """The figures of a cell.

    :ivar steps: random steps, each of SUB_STEPS simulation steps.
    :ivar checks: of single scenes; `overlapping` those with an overlap.
    :ivar overlap: the largest, as a share of the smaller diameter.
    :ivar speed: the highest, as a share of MaxVelocity.
    :ivar outside: how far a disc was outside the walls.
    :ivar failures: what did not hold.
    """

    steps: int = 0
    checks: int = 0
    overlapping: int = 0
    overlap: float = 0.0
    speed: float = 0.0
    outside: float = 0.0
    failures: list[str] = field(default_factory=list)


def cells() -> list[Cell]:
    """Tasks on levels of all kinds and difficulties with tiny and with huge forces, and hard scenes."""
    played = [
        (kind, task, f"{kind}-{difficulty}")
        for kind, task, difficulty in product(_KINDS, ("PuttPutt", "PuttPuttNegDist", "Invisiball"), DIFFICULTIES)
    ]
    played += [(name, task, name) for task, names in _DEMONSTRATIONS.items() for name in names]
    played += [("billiards", "Billiards", "billiards")]
    found = [Cell(part, task, levels, force) for part, task, levels in played for force in FORCES]
    return found + [Cell(name, "", name) for name in SCENES]


def play(cell: Cell, steps: int, seed: int, batch: int = BATCH) -> Found:
    """Play at least so many random steps; an exception counts as a failure."""
    found = Found()
    rng = np.random.default_rng([seed, crc32(cell.name.encode())])
    try:
        (_play_task if cell.task else _play_scenes)(cell, -(-steps // batch), batch, seed, rng, found)
    except Exception as error:
        found.failures.append(f"{type(error).__name__}: {error}")
    return found


def _play_task(cell: Cell, rounds: int, batch: int, seed: int, rng: np.random.Generator, found: Found) -> None:
    make: Any = getattr(environments, f"{cell.task}VectorEnv")
    env = make(
        batch, autoreset_mode="SameStep", levels=cell.levels, observation="state", action_max=cell.force,
        sub_steps=SUB_STEPS, max_steps=EPISODE, level_seed=seed,
    )  # fmt: skip
    env.reset(seed=seed)
    for k in range(rounds):
        result = env.step(rng.uniform(-cell.force, cell.force, (batch, 2)).astype(np.float32))
        found.steps += batch
        if not np.isfinite(result[1]).all() or not np.isfinite(result[0]).all():
            found.failures.append(f"step {k}: a reward or an observation is not finite")
        if (k + 1) % CHECKED == 0 or k + 1 == rounds:
            check(env.state, found, f"step {k}")


def _play_scenes(cell: Cell, rounds: int, batch: int, seed: int, rng: np.random.Generator, found: Found) -> None:
    simulator = Simulator([SCENES[cell.levels](rng) for _ in range(batch)])
    state, everywhere = simulator.arrays, np.arange(batch)
    fresh = state.select(everywhere)
    discs = state.layout.owners([Position, Velocity])
    side = np.sign(state.columns[Position][0])
    for k in range(rounds):
        if k % EPISODE == 0:
            state.take(everywhere, fresh, everywhere)
        else:
            pushes = rng.normal(0, SPREAD, (2, len(discs), batch))
            state.columns[Velocity][:, discs] += pushes * state.present[discs]
        simulator.step(SUB_STEPS)
        found.steps += batch
        if (k + 1) % CHECKED == 0 or k + 1 == rounds:
            check(state, found, f"step {k}")
            if cell.levels == "fast small balls at walls" and (np.sign(state.columns[Position][0]) != side).any():
                found.failures.append(f"step {k}: a ball went through the wall")


def check(state: State, found: Found, when: str) -> None:
    """Add the figures of this moment, and failures where a bound is broken; `when` is for their messages."""
    for factor, column in state.columns.items():
        if column.dtype == np.float64 and not np.isfinite(column).all():
            found.failures.append(f"{when}: a {factor.__name__} is not finite")
            return
    discs = state.layout.owners([Position, Velocity])
    place, size = state.columns[Position][:, discs], state.columns[Size][0, discs]
    there = state.present[discs] & state.columns[Alive][0, discs] & ~state.columns[Done][0, discs]
    moves = there & state.columns[Mobile][0, discs] & (state.columns[Mass][0, discs] > 0)
    speed = np.hypot(*state.columns[Velocity][:, discs]) / state.parameters[MaxVelocity]
    outside = np.maximum(state.walls[0] - place + size / 2, place + size / 2 - state.walls[1]).max(axis=0)
    overlap = np.maximum(_between(place, size, there, moves), _in_blocks(state, place, size, moves))
    worst = {
        "speed": float(speed.max(initial=0.0)),
        "outside": float(outside.max(initial=0.0, where=moves)),
        "overlap": float(overlap.max(initial=0.0)),
    }
    for (name, value), bound in zip(worst.items(), (1.0 + ROUNDING, ROUNDING, WORST), strict=True):
        setattr(found, name, max(getattr(found, name), value))
        if value > bound:
            found.failures.append(f"{when}: {name} {value:.3g} is above {bound:g}")
    found.checks += state.num_envs
    found.overlapping += int((overlap > OVERLAP).sum())


def _between(place: np.ndarray, size: np.ndarray, there: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """(B,) the largest overlap of two discs of which one can move, as a share of the smaller diameter."""
    worst, wide = np.zeros(size.shape[1]), np.where(there, size, 1.0)
    for i in range(1, len(size)):
        apart = np.hypot(*(place[:, :i] - place[:, i, None]))
        share = ((size[:i] + size[i]) / 2 - apart) / np.minimum(wide[:i], wide[i])
        counts = there[:i] & there[i] & (moves[:i] | moves[i])
        np.maximum(worst, share.max(axis=0, initial=0.0, where=counts), out=worst)
    return worst


def _in_blocks(state: State, place: np.ndarray, size: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """(B,) how far a disc that can move is in a rectangle of the scene, as a share of its diameter."""
    worst = np.zeros(size.shape[1])
    blocks = state.is_a(Block)
    for slot in np.flatnonzero(blocks.any(axis=1)):
        half = np.abs(state.corners[:, :, slot]).max(axis=0)
        beyond = np.abs(place - state.columns[Position][:, slot, None]) - half[:, None]
        distance = np.hypot(*np.maximum(beyond, 0.0)) + np.minimum(beyond.max(axis=0), 0.0)
        share = (size / 2 - distance) / np.where(moves, size, 1.0)
        np.maximum(worst, share.max(axis=0, initial=0.0, where=moves & blocks[slot]), out=worst)
    return worst


# ---- Scenes that are hard on the physics: things in one another, jams, fast small balls, things without mass.


Data = dict[str, Any]

_OBJECTS = ("Ball", "Charger", "Magnet", "Bumper", "Damper", "GolfBall")
_TILES = ("SandTile", "MagmaTile", "FireTile", "Hole", "GoalTile")
#: Laws without forces between things, friction and losses at walls: what is fast stays fast.
_FREE: Data = {"friction": 0.0, "wall_damping": 0.0, "rules": ["move", "accelerate"]}


def crowd(rng: np.random.Generator, objects: int, tiles: int = 0, speed: float = 1.0, **sim: Any) -> Data:
    """Objects of all kinds and tiles anywhere, so that some start in one another. :param sim: settings of the scene."""
    found = []
    for k in range(objects):
        found.append(_disc(
            f"o{k}", rng.uniform(-0.9, 0.9, 2), rng.uniform(0.05, 0.3), rng.normal(0, speed, 2),
            type=_OBJECTS[int(rng.integers(len(_OBJECTS)))], Charge=float(rng.normal(0, 0.5)),
            Magnetism=float(rng.normal(0, 0.5)), Mass=float(rng.uniform(0.2, 3)), Mobile=bool(rng.random() < 0.8),
        ))  # fmt: skip
    for k in range(tiles):
        size = float(rng.uniform(0.2, 0.7))
        shape = circle(float(size)) if rng.random() < 0.5 else _rectangle(size, size)
        kind = _TILES[int(rng.integers(len(_TILES)))]
        factors = {"Position": rng.uniform(-0.9, 0.9, 2).tolist(), "Shape": shape}
        found.append({"id": f"t{k}", "type": kind, "factors": factors})
    return {"sim": sim, "entities": found}


def _overlapping(rng: np.random.Generator) -> Data:
    """Objects and tiles anywhere, on one another; in some scenes an inner wall, and things whose energy lasts."""
    data = crowd(rng, int(rng.integers(1, 9)), int(rng.integers(0, 5)), 3.0)
    if rng.random() < 1 / 3:
        data["entities"].append(_block("block", rng.uniform(-0.5, 0.5, 2), 0.2, 0.2))
    data["entities"][0]["factors"]["InfiniteEnergy"] = bool(rng.random() < 0.2)
    return data


def _dead_impacts(rng: np.random.Generator) -> Data:
    """The same, where collisions take all or half of the closing speed."""
    data = _overlapping(rng)
    data["sim"]["parameters"] = {"Restitution": float(rng.integers(2)) / 2}
    return data


def _resting(rng: np.random.Generator) -> Data:
    """Balls that rest on one another, two of them in the same place, one in a wall, in a corner or in a block."""
    middle = rng.uniform(-0.5, 0.5, 2)
    balls = [_disc(f"o{k}", middle + rng.uniform(-0.1, 0.1, 2), rng.uniform(0.05, 0.3)) for k in range(4)]
    balls += [_disc("twin", middle, 0.2), _disc("other", middle, 0.2)]
    balls += [_disc("edge", rng.choice([-1.0, 1.0], 2) * (1.0, rng.uniform(0.9, 1.0)), rng.uniform(0.05, 0.3))]
    return {"sim": {}, "entities": [*balls, _block("block", middle + 0.05, 0.1, 0.1)]}


def _jam(rng: np.random.Generator) -> Data:
    """Three balls between two posts and a wall, that a fourth one is pushed against."""
    sizes = rng.uniform(0.15, 0.25, 3)
    places = zip((-0.3, 0, 0.3), sizes, strict=True)
    balls = [_disc(f"o{k}", (x, -1 + size / 2), size) for k, (x, size) in enumerate(places)]
    posts = [_disc(f"p{k}", (x, -0.9), 0.2, Mobile=False) for k, x in enumerate((-0.52, 0.52))]
    hammer = _disc("hammer", (0, -0.5), 0.3, (0, -9.0), Mass=10.0)
    return {"sim": {"parameters": {"Restitution": float(rng.integers(3)) / 2}}, "entities": [*balls, *posts, hammer]}


def _fast(rng: np.random.Generator) -> Data:
    """Small balls at the highest speed, on both sides of a thin wall across the arena."""
    balls = []
    for k in range(6):
        turn = rng.uniform(0, 2 * np.pi)
        place = ((-1) ** k * rng.uniform(0.1, 0.9), rng.uniform(-0.9, 0.9))
        balls.append(_disc(f"o{k}", place, 10 ** rng.uniform(-3, -1.5), (10 * np.cos(turn), 10 * np.sin(turn))))
    return {"sim": _FREE, "entities": [*balls, _block("wall", (0, 0), 0.004, 2.0)]}


def _massless(rng: np.random.Generator) -> Data:
    """Things without mass, with hardly any, and with very much, charged, among others."""
    data = crowd(rng, 6, 2, 3.0)
    for entity, mass in zip(data["entities"], (0.0, 0.0, 1e-12, 0.11, 1e12, 1.0), strict=False):
        entity["factors"]["Mass"] = mass
    return data


def _bumpers(rng: np.random.Generator) -> Data:
    """Ten posts that double speeds, their energy lasts, and balls among them, that themselves do."""
    posts = [
        _disc(f"p{k}", (x, y), 0.3, type="Bumper", InfiniteEnergy=True)
        for k, (x, y) in enumerate((x, y) for x in (-0.8, -0.27, 0.27, 0.8) for y in (-0.6, 0.0, 0.6))
    ]
    balls = [
        _disc(f"o{k}", (x, y), rng.uniform(0.1, 0.18), rng.normal(0, 5, 2), StoredEnergy=1.0, InfiniteEnergy=True)
        for k, (x, y) in enumerate((x, y) for x in (-0.53, 0.0, 0.53) for y in (-0.3, 0.3))
    ]
    return {"sim": _FREE, "entities": [*posts, *balls]}


def _full(rng: np.random.Generator) -> Data:
    """Forty balls of many sizes that fill half of the arena, and start in one another."""
    balls = [_disc(f"o{k}", rng.uniform(-0.9, 0.9, 2), rng.uniform(0.15, 0.3), rng.normal(0, 3, 2)) for k in range(40)]
    return {"sim": {}, "entities": balls}


SCENES: dict[str, Callable[[np.random.Generator], Data]] = {
    "overlapping starts": _overlapping,
    "overlapping starts, impacts that take speed": _dead_impacts,
    "resting overlaps": _resting,
    "three balls jammed between posts": _jam,
    "fast small balls at walls": _fast,
    "without mass": _massless,
    "many bumpers": _bumpers,
    "forty balls": _full,
}


def _rectangle(width: float, height: float) -> Data:
    x, y = width / 2, height / 2
    return {"kind": "polygon", "vertices": [[-x, -y], [x, -y], [x, y], [-x, y]]}


def _disc(name: str, place: Any, size: float, velocity: Any = (0, 0), type: str = "Ball", **factors: Any) -> Data:
    where = {"Position": [float(each) for each in place], "Velocity": [float(each) for each in velocity]}
    return {"id": name, "type": type, "factors": where | {"Shape": circle(float(size))} | factors}


def _block(name: str, place: Any, width: float, height: float) -> Data:
    factors = {"Position": [float(each) for each in place], "Shape": _rectangle(width, height)}
    return {"id": name, "type": "Block", "factors": factors}
