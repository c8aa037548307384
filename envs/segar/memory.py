"""SEGAR's memory: the steps of an agent, in the file format of `gumption.envs.memory`.

The additional file levels.json maps the numbers in records to names of levels and types.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gumption.data import InputError
from gumption.data.sealed import read_sealed, sealed
from gumption.data.settings import Count, Share, Whole, checked, checked_methods
from gumption.envs.memory import OF_RUN, Layout, TransitionMemory, Triple, integer, state_facts
from gumption.envs.physics.entities import TYPES, Block, Entity
from gumption.envs.physics.factors import Mass, Position, Size, Velocity
from gumption.envs.physics.scene import Scene
from gumption.envs.physics.state import State

from .facts import BALL, BURNING, FALLING, REACHING, SLOWING

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph


SCHEMA = "gumption/segar-memory/1"
LEVELS = "levels.json"
OWN_SCENE = -1  # `level` of an episode with a scene from reset options
DESTROYED, CONSUMED, SUCCESS, OVER, INSIDE = 1, 2, 4, 8, 16  # bits of `flags`


@checked
def layout(things: Whole, levels: str, action: tuple[int, ...] | None = None) -> Layout:
    """Return the record layout of an environment step; thing 0 is the actor, on which forces act.

    :param things: maximal number of things in a scene. :param levels: hash of the scenes that `level` numbers.
    :param action: shape of actions other than forces; the field `action` then replaces `force`.
    """
    acts = ("force", "<f4", (2,)) if action is None else ("action", "<f4", action)
    shape = {} if action is None else {"action": list(action)}
    fields = [
        ("level", "<i4"), ("episode", "<i4"), acts, ("reward", "<f4"), ("flags", "u1"),
        ("type", "<u2", (things,)), ("position", "<f4", (things, 2)), ("velocity", "<f4", (things, 2)),
        ("size", "<f4", (things,)), ("mass", "<f4"), ("top", "<u2"),
        ("position_after", "<f4", (2,)), ("velocity_after", "<f4", (2,)), ("mass_after", "<f4"), ("top_after", "<u2"),
    ]  # fmt: skip
    return Layout(SCHEMA, fields, {"things": things, "levels": levels, **shape})


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """The steps of an agent; `records` has the fields of `layout`.

    Before the step: `type` (n, T) type numbers, 0 for no thing; `position`, `velocity` (n, T, 2) and `size` (n, T) of
    the things; `mass` (n,) of the actor; `top` (n,) index among the things of the topmost tile below the actor, 0 for
    the bare floor. The step: `force` (n, 2) on the actor; `reward`; `flags` (INSIDE: the whole actor lay on that tile
    before the step; DESTROYED, CONSUMED: state of the actor; SUCCESS; OVER: end of the episode). The actor after it:
    `position_after`, `velocity_after`, `mass_after`, `top_after`. `level` is an index into `levels`, or OWN_SCENE.

    :ivar levels: names of levels; `types` holds the names of types 0, 1, ...; type 0 is "".
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    levels: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Memory:
        """Read the memory in a folder.

        :raises InputError: as `TransitionMemory.load`, and if levels.json does not fit the records.
        """
        memory = super().load(folder)
        path = Path(folder) / LEVELS
        content = read_sealed(path, advice="restore it from a copy")
        try:
            levels, types = (tuple(map(str, content[name])) for name in ("levels", "types"))
            scenes = content["hash"]
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}: no lists of levels and types ({error}); restore it from a copy") from None
        records, things = memory.records, memory.layout.settings["things"]
        known = records["level"].max(initial=-1) < len(levels) and records["type"].max(initial=0) < len(types)
        placed = max(records["top"].max(initial=0), records["top_after"].max(initial=0)) < max(things, 1)
        if scenes != memory.layout.settings["levels"] or not known or not placed:
            raise InputError(f"{path}: not the levels of these records; restore it from a copy")
        return replace(memory, levels=levels, types=types)


def seen(state: State, actors: np.ndarray, things: int, numbers: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the current things of B scenes: slots (B, T), the actor first; the fields type, position, velocity, size,
    mass and top of `Memory`; and (B,) bool, see INSIDE.

    :param actors: (B,) slots. :param things: T, at least the largest number in a scene. :param numbers: type numbers.
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
    return (
        slots.T, column(numbers[state.types]), vectors(columns[Position]), vectors(columns[Velocity]),
        column(columns[Size][0]), columns[Mass][0, actors, batch].copy(), *top_tile(state, actors, slots.T),
    )  # fmt: skip


def top_tile(state: State, actors: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (B,), the index among the things (B, T) of the topmost tile below the actor, 0 for the bare floor; and
    (B,) bool, whether the whole actor lies on it.
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
    """Return the file that maps the numbers of a memory to names. :param scenes: hash of the scenes."""
    content = {"levels": list(names), "hash": scenes, "types": list(types)}
    return {LEVELS: json.dumps(sealed(content), ensure_ascii=False, indent=0) + "\n"}


def count_things(scene: Scene) -> int:
    """Return the number of entities of a scene that have a position."""
    return sum(Position in entity.factors for entity in scene.entities)


def check_room(scene: Scene, things: int, types: Sequence[str]) -> None:
    """Check a scene. :raises InputError: it has more things than a record holds, or a type without a number."""
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


# ---- Affordances of things for a ball, derived from a memory, with the evidence.
#
# An effect counts if a single tile explains it: the ball lies on it before and after the step. For each effect, count
# the steps in which the ball met a tile so that the effect was observable, and the steps in which it was observed:
#
#     affordsBurning     met: the ball lay on it before and after a step            shown: its mass fell
#     affordsFallingIn   met: the ball lay on it as a whole before the step         shown: it fell in
#     affordsSlowing     met: the ball rolled straight on over it, in a scene       shown: it lost more speed than on
#                        where all else are tiles, of a level where it also                the bare floor of that level
#                        rolled over the bare floor
#     affordsReaching    met: the ball came at least as near to its centre as in    shown: the task succeeded
#                        some success at such a tile
#
# Effects observed often enough become facts, in the vocabulary of facts.py, in the graph `segar/RUN`:
#
#     MagmaTile  affordsBurning  ball
#
# The graph `segar/RUN/evidence` holds the evidence, including effects observed too rarely or never. Each entry is a
# node with the run in its name, so that graphs of several runs can be queried together. Counts are literals
# (xsd:integer):
#
#     evidence:RUN:MagmaTile affordsBurning      ofRun RUN, hasThing MagmaTile, hasEffect affordsBurning,
#                                                hasMeetings 40, hasVisits 40 (in which it was shown),
#                                                hasEpisodes 7, hasLevels 3 (in which it was shown)

HAS_THING, HAS_EFFECT = "hasThing", "hasEffect"
HAS_MEETINGS, HAS_VISITS, HAS_EPISODES, HAS_LEVELS = "hasMeetings", "hasVisits", "hasEpisodes", "hasLevels"
THRESHOLD = 3  # minimal number of steps that show an effect
SHARE = 0.9  # minimal share of meetings that show it
#: Relative and absolute tolerance of speed losses, since records hold speeds in single precision.
FACTOR, LEAST = 1.05, 1e-3
#: A path is straight if it turns by at most about this angle, in radians.
STRAIGHT = 1e-4


class Evidence(NamedTuple):
    """Number of steps in which a ball met a type of tile so that an effect was observable, and was observed.

    :ivar thing: the type. :ivar effect: a relation of `facts.EFFECTS`.
    :ivar met, shown: numbers of steps. :ivar episodes, levels: numbers of episodes and levels that show the effect.
    """

    thing: str
    effect: str
    met: int
    shown: int
    episodes: int
    levels: int


@checked
def evidence(memory: Memory) -> list[Evidence]:
    """Return the evidence for each effect of each type of tile that was met, sorted."""
    found, records = [], memory.records
    place = _places(records)
    walls = [number for number, name in enumerate(memory.types) if issubclass(TYPES.get(name, Entity), Block)]
    for effect, met, shown in _meetings(records, walls):
        for kind in np.unique(met[met > 0]).tolist():
            here = met == kind
            there = here & shown
            counts = int(here.sum()), int(there.sum()), len(np.unique(records["episode"][there]))
            found.append(Evidence(memory.types[kind], effect, *counts, len(np.unique(place[there]))))
    return sorted(found)


@checked
def memory_facts(memory: Memory, *, threshold: Count = THRESHOLD, share: Share = SHARE) -> list[Triple]:
    """Return the affordances of tiles that the memory shows, sorted: (type, affords..., ball).

    :param threshold: minimal number of steps that show the effect. :param share: minimal share of the meetings.
    """
    holds = [one for one in evidence(memory) if one.shown >= threshold and one.shown >= share * one.met]
    return [(one.thing, one.effect, BALL) for one in holds]


@checked
def memory_evidence(memory: Memory, run: str) -> list[Triple]:
    """Return the triples of the evidence nodes described in this module, sorted."""
    triples: list[Triple] = []
    for one in evidence(memory):
        node = f"evidence:{run}:{one.thing} {one.effect}"
        triples += [(node, OF_RUN, run), (node, HAS_THING, one.thing), (node, HAS_EFFECT, one.effect)]
        counts = {HAS_MEETINGS: one.met, HAS_VISITS: one.shown, HAS_EPISODES: one.episodes, HAS_LEVELS: one.levels}
        triples += [(node, role, integer(n)) for role, n in counts.items()]
    return sorted(triples)


@checked
def add_memory(
    graph: KnowledgeGraph, memory: Memory, run: str, *, threshold: Count = THRESHOLD, share: Share = SHARE
) -> dict[str, int]:
    """Write facts and evidence of a memory into segar/RUN and segar/RUN/evidence, replacing their content.

    :returns: graph name -> number of facts.
    """
    name = f"segar/{run}"
    about = {
        "source": f"the memory of {run}", "run": run, "memory": memory.fingerprint, "records": str(len(memory)),
        "threshold": str(threshold), "share": str(share),
    }  # fmt: skip
    facts = memory_facts(memory, threshold=threshold, share=share)
    return state_facts(graph, name, facts, memory_evidence(memory, run), about)


def _meetings(records: Any, walls: Sequence[int]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each effect with (n,) type of the tile that was met, 0 for none, and (n,) bool, whether it showed."""
    before, after = _below(records, "top"), _below(records, "top_after")
    yield BURNING, np.where(before == after, before, 0), records["mass_after"] < records["mass"]
    flags = records["flags"]
    fell = (flags & CONSUMED) != 0
    yield FALLING, np.where(fell, after, np.where(flags & INSIDE, before, 0)), fell
    if "force" in records.dtype.names:
        yield SLOWING, *_slowed(records, before, after, walls)
    done = (flags & SUCCESS) != 0
    middle = records["position"][np.arange(len(records)), records["top_after"]]
    apart = np.linalg.norm(records["position_after"] - middle, axis=1)
    reached = np.full(int(after.max(initial=0)) + 1, -1.0)
    np.maximum.at(reached, after[done], apart[done])
    yield REACHING, np.where(apart <= reached[after], after, 0), done


def _slowed(records: Any, before: np.ndarray, after: np.ndarray, walls: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) type of the tile below the rolling ball, 0 for none; and bool, whether it lost more than on floor."""
    mass = records["mass"].astype(np.float64)
    push = records["force"] / np.where(mass > 0, mass, 1.0)[:, None]
    pushed, left = records["velocity"][:, 0] + push, records["velocity_after"].astype(np.float64)
    fast, slow = np.linalg.norm(pushed, axis=1), np.linalg.norm(left, axis=1)
    turned = np.abs(pushed[:, 0] * left[:, 1] - pushed[:, 1] * left[:, 0])
    straight = (turned <= STRAIGHT * fast * slow) & ((pushed * left).sum(axis=1) >= 0) & (fast > 0)  # or it stopped
    # The simulator may cap the speed, which a push can exceed; the largest recorded speed respects the cap.
    rolls = straight & (mass > 0) & (fast <= slow.max(initial=0.0)) & ((records["flags"] & OVER) == 0)
    # Types on which the ball lay at some step are tiles. All other things of the scene must be tiles or inner walls.
    tiles = np.union1d(np.concatenate([before, after]), [0, *walls])
    rolls &= (before == after) & np.isin(records["type"][:, 1:], tiles).all(axis=1)
    floor = _floor(_places(records), fast - slow, rolls & (before == 0))
    return np.where(rolls & np.isfinite(floor), before, 0), fast - slow > FACTOR * floor + LEAST


def _floor(place: np.ndarray, loss: np.ndarray, bare: np.ndarray) -> np.ndarray:
    """Return (n,), the median loss of speed on the bare floor of each step's level; inf if unknown."""
    groups = np.unique(place, return_inverse=True)[1]
    rows = np.flatnonzero(bare)
    rows = rows[np.lexsort((loss[rows], groups[rows]))]
    known, starts, counts = np.unique(groups[rows], return_index=True, return_counts=True)
    medians = np.full(int(groups.max(initial=0)) + 1, np.inf)
    medians[known] = loss[rows[starts + counts // 2]]
    return medians[groups]


def _below(records: Any, name: str) -> np.ndarray:
    """Return (n,), the type of the topmost tile below the ball; 0 for the bare floor."""
    place = records[name]
    return np.where(place > 0, records["type"][np.arange(len(records)), place], 0)


def _places(records: Any) -> np.ndarray:
    """Return (n,), the level's number, or a separate number for each episode with a scene from reset options."""
    return np.where(records["level"] == OWN_SCENE, OWN_SCENE - records["episode"], records["level"])
