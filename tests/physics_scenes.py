"""Scenes for the tests of the physics, in few words."""

from typing import Any

import numpy as np


def disc(name: str, x: float = 0.0, y: float = 0.0, vx: float = 0.0, vy: float = 0.0, **factors: Any) -> dict[str, Any]:
    """An entity, by default a ball; `type=` and `size=` say otherwise."""
    shape = {"kind": "circle", "size": factors.pop("size", 0.2)}
    kind = factors.pop("type", "Ball")
    return {"id": name, "type": kind, "factors": {"Position": [x, y], "Velocity": [vx, vy], "Shape": shape, **factors}}


def tile(name: str, kind: str, x: float = 0.0, y: float = 0.0, **factors: Any) -> dict[str, Any]:
    """A tile; `size=` makes it a circle, `side=` a square."""
    if "size" in factors:
        factors["Shape"] = {"kind": "circle", "size": factors.pop("size")}
    if "side" in factors:
        h = factors.pop("side") / 2
        factors["Shape"] = {"kind": "polygon", "vertices": [[-h, -h], [h, -h], [h, h], [-h, h]]}
    return {"id": name, "type": kind, "factors": {"Position": [x, y], **factors}}


def scene(*entities: dict[str, Any], **sim: Any) -> dict[str, Any]:
    return {"sim": sim, "entities": list(entities)}


#: No friction, no damping, and no rule but motion.
FREE: dict[str, Any] = {"friction": 0.0, "wall_damping": 0.0, "rules": ["move", "accelerate"]}


def crowd(rng: np.random.Generator, objects: int, tiles: int = 0, speed: float = 1.0, **sim: Any) -> dict[str, Any]:
    """Objects of all kinds and tiles anywhere, so that some start in one another."""
    kinds = ["Ball", "Charger", "Magnet", "Bumper", "Damper", "GolfBall"]
    grounds = ["SandTile", "MagmaTile", "FireTile", "Hole", "GoalTile"]
    found = []
    for k in range(objects):
        x, y, vx, vy = [*rng.uniform(-0.9, 0.9, 2), *rng.normal(0, speed, 2)]
        charge, magnetism, mass = rng.normal(0, 0.5), rng.normal(0, 0.5), rng.uniform(0.2, 3)
        found.append(
            disc(
                f"o{k}",
                x,
                y,
                vx,
                vy,
                type=kinds[int(rng.integers(6))],
                size=float(rng.uniform(0.05, 0.3)),
                Charge=charge,
                Magnetism=magnetism,
                Mass=mass,
                Mobile=bool(rng.random() < 0.8),
            )
        )
    for k in range(tiles):
        x, y = rng.uniform(-0.9, 0.9, 2)
        shape = {"size": float(rng.uniform(0.2, 0.7))} if rng.random() < 0.5 else {"side": float(rng.uniform(0.2, 0.7))}
        found.append(tile(f"t{k}", grounds[int(rng.integers(5))], x, y, **shape))
    return scene(*found, **sim)
