"""Scenes that are hard on the physics: things in one another, jams, fast small balls, things without mass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Data = dict[str, Any]

_OBJECTS = ("Ball", "Charger", "Magnet", "Bumper", "Damper", "GolfBall")
_TILES = ("SandTile", "MagmaTile", "FireTile", "Hole", "GoalTile")
#: Laws without forces between things, friction and losses at walls: what is fast stays fast.
_FREE: Data = {"friction": 0.0, "wall_damping": 0.0, "rules": ["move", "accelerate"]}


def crowd(rng: np.random.Generator, objects: int, tiles: int = 0, speed: float = 1.0, **sim: Any) -> Data:
    """Objects of all kinds and tiles anywhere, so that some start in one another. :param sim: settings of the scene."""
    found = []
    for k in range(objects):
        found.append(
            _disc(
                f"o{k}",
                rng.uniform(-0.9, 0.9, 2),
                rng.uniform(0.05, 0.3),
                rng.normal(0, speed, 2),
                type=_OBJECTS[int(rng.integers(len(_OBJECTS)))],
                Charge=float(rng.normal(0, 0.5)),
                Magnetism=float(rng.normal(0, 0.5)),
                Mass=float(rng.uniform(0.2, 3)),
                Mobile=bool(rng.random() < 0.8),
            )
        )
    for k in range(tiles):
        size = float(rng.uniform(0.2, 0.7))
        shape = _circle(size) if rng.random() < 0.5 else _rectangle(size, size)
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
    return {
        "sim": {},
        "entities": [
            _disc(f"o{k}", rng.uniform(-0.9, 0.9, 2), rng.uniform(0.15, 0.3), rng.normal(0, 3, 2)) for k in range(40)
        ],
    }


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


def _circle(size: float) -> Data:
    return {"kind": "circle", "size": float(size)}


def _rectangle(width: float, height: float) -> Data:
    x, y = width / 2, height / 2
    return {"kind": "polygon", "vertices": [[-x, -y], [x, -y], [x, y], [-x, y]]}


def _disc(name: str, place: Any, size: float, velocity: Any = (0, 0), type: str = "Ball", **factors: Any) -> Data:
    where = {"Position": [float(each) for each in place], "Velocity": [float(each) for each in velocity]}
    return {"id": name, "type": type, "factors": where | {"Shape": _circle(size)} | factors}


def _block(name: str, place: Any, width: float, height: float) -> Data:
    factors = {"Position": [float(each) for each in place], "Shape": _rectangle(width, height)}
    return {"id": name, "type": "Block", "factors": factors}
