"""How SEGAR's code of 2022 moves the things of a scene apart when an episode begins (preset "compat")."""

from dataclasses import replace

import numpy as np

from gumption.data import InputError

from .entities import Object
from .factors import Position, Shape
from .placement import extent
from .scene import Scene

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
