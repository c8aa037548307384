"""MEM of SEGAR: the steps of an agent, in the files that `gumption.envs.memory` describes.

Beside the records lies levels.json: the names of levels and of types that the numbers in records stand for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.sealed import content_hash, read_sealed, sealed
from gumption.data.settings import Whole, checked, checked_methods
from gumption.envs.memory import Layout, TransitionMemory
from gumption.envs.physics.factors import Mass, Position, Size, Velocity
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.state import State

SCHEMA = "gumption/segar-memory/1"
LEVELS = "levels.json"
OWN_SCENE = -1  # the `level` of an episode whose scene came from reset options
DESTROYED, CONSUMED, SUCCESS, OVER, INSIDE = 1, 2, 4, 8, 16  # bits of `flags`


@checked
def layout(things: Whole, levels: str) -> Layout:
    """The record of a step of the environment; the actor, which forces act on, is thing 0.

    :param things: of a scene, at most; :param levels: hash of the scenes that `level` numbers.
    """
    fields = [
        ("level", "<i4"),
        ("episode", "<i4"),
        ("force", "<f4", (2,)),
        ("reward", "<f4"),
        ("flags", "u1"),
        ("type", "<u2", (things,)),
        ("position", "<f4", (things, 2)),
        ("velocity", "<f4", (things, 2)),
        ("size", "<f4", (things,)),
        ("mass", "<f4"),
        ("top", "<u2"),
        ("position_after", "<f4", (2,)),
        ("velocity_after", "<f4", (2,)),
        ("mass_after", "<f4"),
        ("top_after", "<u2"),
    ]
    return Layout(SCHEMA, fields, {"things": things, "levels": levels})


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """The steps of an agent; `records` has the fields of `layout`.

    Before the step: `type` (n, T) numbers of types, 0 where there is no thing, `position` and `velocity` (n, T, 2) and
    `size` (n, T) of the things, `mass` (n,) of the actor, `top` (n,) the place of the topmost tile below it among the
    things, 0 for the bare floor. The step: `force` (n, 2) on the actor, `reward`, and `flags` (INSIDE: the actor lay on
    that tile as a whole before; DESTROYED, CONSUMED: the actor was; SUCCESS; OVER: the episode). After it, of the
    actor: `position_after`, `velocity_after`, `mass_after`, `top_after`. `level` is a place in `levels`, or OWN_SCENE.

    :ivar levels: names of levels; `types` names of the types 0, 1, ...; that of 0 is "".
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    levels: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Memory:
        """The memory in a folder.

        :raises InputError: as `TransitionMemory.load`, and for a levels.json that does not fit the records.
        """
        memory = super().load(folder)
        path = Path(folder) / LEVELS
        told = read_sealed(path, advice="restore it from a copy")
        try:
            levels, types, scenes = tuple(map(str, told["levels"])), tuple(map(str, told["types"])), told["hash"]
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}: no lists of levels and types ({error}); restore it from a copy") from None
        records, things = memory.records, memory.layout.settings["things"]
        known = records["level"].max(initial=-1) < len(levels) and records["type"].max(initial=0) < len(types)
        placed = max(records["top"].max(initial=0), records["top_after"].max(initial=0)) < max(things, 1)
        if scenes != memory.layout.settings["levels"] or not known or not placed:
            raise InputError(f"{path}: not the levels of these records; restore it from a copy")
        return replace(memory, levels=levels, types=types)


class Seen(NamedTuple):
    """What records hold of B scenes before a step; see `Memory`.

    :ivar slots: (B, T) where the state has the things, the actor first.
    :ivar inside: (B,) bool; see INSIDE.
    """

    slots: np.ndarray
    type: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    size: np.ndarray
    mass: np.ndarray
    top: np.ndarray
    inside: np.ndarray


def seen(state: State, actors: np.ndarray, things: int, numbers: np.ndarray) -> Seen:
    """The things of each scene as they are now.

    :param actors: (B,) slots; :param things: T, not less than any scene has; :param numbers: of the state's types.
    """
    batch = np.arange(state.num_envs)
    placed = _placed(state)
    late = np.where(placed, 1, 2)
    late[actors, batch] = 0
    slots = np.argsort(late, axis=0, kind="stable")[:things]
    there = np.take_along_axis(placed, slots, axis=0)

    def column(values: np.ndarray) -> np.ndarray:
        return np.where(there, np.take_along_axis(values, slots, axis=0), 0).T

    def vectors(values: np.ndarray) -> np.ndarray:
        return np.stack([column(values[0]), column(values[1])], axis=2)

    columns = state.columns
    return Seen(
        slots.T,
        column(numbers[state.types]),
        vectors(columns[Position]),
        vectors(columns[Velocity]),
        column(columns[Size][0]),
        columns[Mass][0, actors, batch].copy(),
        *top_tile(state, actors, slots.T),
    )


def top_tile(state: State, actors: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B,) place among the things, (B, T) of slots, of the topmost tile below the actor, 0 for the bare floor; and (B,)
    bool, whether the actor lies on it as a whole.
    """
    from gumption.envs.physics.geometry import is_on

    batch, placed = np.arange(state.num_envs), _placed(state).T
    state.derived.clear()  # a push and an early end change the state without a rule
    below, whole = (is_on(state, each)[actors, :, batch] & placed for each in (False, True))
    state.derived.clear()
    tile = np.where(below.any(axis=1), below.argmax(axis=1), actors)
    return (slots == tile[:, None]).argmax(axis=1), whole[batch, tile]


def _placed(state: State) -> np.ndarray:
    return state.present & (state.kinds != 0)


def level_file(names: Sequence[str], scenes: str, types: Sequence[str]) -> dict[str, str]:
    """What a memory keeps of what its numbers stand for. :param scenes: their hash."""
    told = {"levels": list(names), "hash": scenes, "types": list(types)}
    return {LEVELS: json.dumps(sealed(told), ensure_ascii=False, indent=0) + "\n"}


def scenes_hash(scenes: Sequence[Scene]) -> str:
    """sha256 (hex) of scenes, in order."""
    return content_hash([scene.to_data() for scene in scenes])


def count_things(scene: Scene) -> int:
    """How many entities of a scene are somewhere."""
    return sum(Position in entity.factors for entity in scene.entities)


def check_room(scene: Scene, things: int, types: Sequence[str]) -> None:
    """
    :param things: that a record has room for; :param types: that have a number.
    :raises InputError: the scene has more, or another.
    """
    if (count := count_things(scene)) > things:
        raise InputError(
            f"the scene has {count} things, and records of this memory hold {things}, as many as a level of the "
            "environment has; play it in an environment of its own, with levels that have as many"
        )
    for entity in scene.entities:
        if Position in entity.factors and entity.type.__name__ not in types:
            raise InputError(
                f"the type {entity.type.__name__} was defined after the environment was made, so that records have no "
                "number for it; define it before"
            )
