"""Placing the things of a new scene: inside the walls, apart from each other."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gumption.data import InputError

from .entities import Object
from .factors import Position, Shape, Size
from .scene import Scene
from .shapes import scaled, width

#: SEGAR draws again where two centres are not farther apart.
LEAST_DISTANCE = 0.1
TRIES = 100
_GAP = 1e-5  # to walls and between objects: far above rounding, far below what is seen


def place(
    draw: Callable[[], list[dict[str, Any]]], boundaries: tuple[float, float], rng: np.random.Generator, whole: bool
) -> list[dict[str, Any]]:
    """Entities whose positions do not conflict.

    :param draw: draws the entities of a scene: {"id", "type", "factors", "redraw": the noise of the position or None}.
    :param whole: draw the whole scene again while centres are too close, and look at nothing else.
    :raises InputError: there is still a conflict after 100 tries.
    """
    entities, conflicts = [], []
    for round_ in range(TRIES):
        if whole or not round_:
            entities = draw()
        reach = np.array([extent(_shape(entity)) for entity in entities]).reshape(-1, 2, 2)
        radius = np.array([_radius(entity) for entity in entities])
        if not whole:
            _clamp(entities, reach, boundaries)
        conflicts = _conflicts(_positions(entities), np.full(len(entities), np.nan) if whole else radius)
        if not conflicts:
            return [{name: value for name, value in each.items() if name != "redraw"} for each in entities]
        if whole:
            continue
        again = {later if entities[later]["redraw"] else earlier for earlier, later in conflicts}
        for at in sorted(again):
            if (noise := entities[at]["redraw"]) is not None:
                entities[at]["factors"][Position] = tuple(noise.sample(rng, 1)[0].tolist())
    first, second = (entities[at]["id"] for at in conflicts[0])
    raise InputError(
        f"{first} and {second} could not be placed apart in {TRIES} tries; "
        "take fewer things, smaller ones, or wider distributions of their positions"
    )


def _positions(entities: Sequence[dict[str, Any]]) -> np.ndarray:
    """(n, 2); not a number for entities that are nowhere."""
    nowhere = (np.nan, np.nan)
    return np.array(
        [each["factors"].get(Position, each["type"].all_factors.get(Position, nowhere)) for each in entities], float
    ).reshape(-1, 2)


def _conflicts(at: np.ndarray, radius: np.ndarray) -> list[tuple[int, int]]:
    """Pairs that are too close, the earlier first.

    :param radius: of objects; not a number for what may overlap others.
    """
    distance = np.linalg.norm(at[:, None] - at[None], axis=-1)
    touching = distance < radius[:, None] + radius[None] + _GAP  # False where one of them is no number
    close = np.triu(touching | (distance <= LEAST_DISTANCE), 1)
    return [(int(first), int(second)) for first, second in np.argwhere(close)]


def _clamp(entities: Sequence[dict[str, Any]], reach: np.ndarray, boundaries: tuple[float, float]) -> None:
    """Move things inside the walls. What is wider than the arena keeps its centre inside."""
    low = boundaries[0] + reach[:, 0] + _GAP
    high = boundaries[1] - reach[:, 1] - _GAP
    too_wide = low > high
    low, high = np.where(too_wide, boundaries[0], low), np.where(too_wide, boundaries[1], high)
    inside = np.clip(_positions(entities), low, high)
    for entity, position in zip(entities, inside.tolist(), strict=True):
        if Position in entity["type"].all_factors:
            entity["factors"][Position] = tuple(position)


def _shape(entity: dict[str, Any]) -> Any:
    values, defaults = entity["factors"], entity["type"].all_factors
    if Shape in values:
        return values[Shape]
    shape = defaults.get(Shape)
    size = next((value for factor, value in values.items() if issubclass(factor, Size)), None)
    # The message about a size that is not positive is the scene's.
    return shape if shape is None or size is None or size <= 0 else scaled(shape, size / width(shape))


def extent(shape: dict[str, Any] | None) -> np.ndarray:
    """(2, 2): how far a shape reaches from its centre, to the left and down, and to the right and up."""
    if shape is None:
        return np.zeros((2, 2))
    if shape["kind"] == "circle":
        return np.full((2, 2), shape["size"] / 2)
    points = np.array(shape["vertices"])
    return np.stack([-points.min(0), points.max(0)])


def _radius(entity: dict[str, Any]) -> float:
    """Of an object, that of the circle around its centre that holds it; of others not a number."""
    shape = _shape(entity)
    if shape is None or not issubclass(entity["type"], Object):
        return float("nan")
    return shape["size"] / 2 if shape["kind"] == "circle" else float(np.linalg.norm(shape["vertices"], axis=1).max())


# ---- How SEGAR's code of 2022 moves the things of a scene apart when an episode begins (preset "compat").

ROUNDS = 200
#: To walls, and between objects.
MARGIN, GAP = 1e-5, 1e-7


def fix_overlaps(scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene with its things inside the walls, and its objects out of one another.

    In each round the first thing that overlaps a wall or, if it is an object, another object is moved; things are
    tried in a random order.

    :raises InputError: something still overlaps after 200 rounds.
    """
    things = [each for each in scene.entities if Position in each.factors and each.factors.get(Shape) is not None]
    reach = np.array([extent(each.factors[Shape]) for each in things]).reshape(-1, 2, 2)
    place = np.array([each.factors[Position] for each in things], dtype=float).reshape(-1, 2)
    objects = np.array([issubclass(each.type, Object) for each in things], dtype=bool)
    radius = np.where(objects, reach.reshape(-1, 4).max(axis=1, initial=0.0), np.nan)
    low, high = scene.sim.boundaries
    for _ in range(ROUNDS):
        if not any(_moved(i, place, reach, radius, low, high) for i in rng.permutation(len(things)).tolist()):
            break
    else:
        raise InputError(f"things still overlap after {ROUNDS} rounds of moving them: the code of 2022 raises here")
    places = {each.id: tuple(where) for each, where in zip(things, place.tolist(), strict=True)}
    entities = tuple(
        replace(each, factors={**each.factors, Position: places[each.id]}) if each.id in places else each
        for each in scene.entities
    )
    return replace(scene, entities=entities)


def _moved(i: int, place: np.ndarray, reach: np.ndarray, radius: np.ndarray, low: float, high: float) -> bool:
    """Move thing i out of what it overlaps first; whether it did."""
    down, up = low + reach[i, 0], high - reach[i, 1]
    if ((place[i] < down) | (place[i] > up)).any():
        place[i] = np.clip(place[i], down + MARGIN, up - MARGIN)
        return True
    apart = place[i] - place
    distance = np.hypot(*apart.T)
    touching = distance < radius[i] + radius
    touching[i] = False
    if not touching.any():
        return False
    j = int(touching.argmax())
    normal = apart[j] / distance[j] if distance[j] > 0 else np.array([1.0, 0.0])
    place[i] = place[j] + normal * (radius[i] + radius[j] + GAP)
    return True
