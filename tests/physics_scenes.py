"""Scenes for the tests of the physics, in few words."""

from typing import Any


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
