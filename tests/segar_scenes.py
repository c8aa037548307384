"""Scenes of SEGAR for tests of what is seen of them."""

from typing import Any

import numpy as np

from gumption.envs.physics.scene import Scene
from gumption.envs.physics.state import Layout, State


def thing(type: str, x: float, y: float, id: str = "", **factors: Any) -> dict[str, Any]:
    """An entity as data; without an id it has that of its place."""
    return {"id": id or f"{type}{x}{y}", "type": type, "factors": {"Position": [x, y], **factors}}


def state_of(*scenes: list[dict[str, Any]], layout: Layout | None = None) -> State:
    return State([Scene.read({"entities": entities}) for entities in scenes], layout)


def many(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """So many objects and tiles at random places, the goal and the golf ball among them."""
    kinds = ["GolfBall", "GoalTile", *rng.choice(["Charger", "Magnet", "SandTile", "FireTile", "Hole"], count)]
    return [
        thing(kind, *rng.uniform(-0.8, 0.8, 2).tolist(), id=str(i), Size=float(rng.uniform(0.1, 0.5)))
        for i, kind in enumerate(kinds)
    ]


def polygons(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """Triangular tiles at random places."""
    scene = []
    for i in range(count):
        corners = rng.uniform(-0.5, 0.5, (3, 2)).tolist()
        shape = {"kind": "polygon", "vertices": corners}
        scene.append(thing("SandTile", *rng.uniform(-0.5, 0.5, 2).tolist(), id=str(i), Shape=shape))
    return scene
