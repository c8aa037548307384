"""Names and effects of the types of things: the settings `names` and `laws` in SEGAR.

- `names="shuffled"`: each type of tile has the name of another type of tile, and each type of object the name of
  another type of object. `names="anonymous"`: each type has a code as its name.
- `laws="counterfactual"`: each tile acts like another type of tile, and each object like another type of object. A
  tile named sand may burn or swallow the ball. In the physics a thing gets another type, and the factors by which this
  type acts. It keeps its place, shape, size, id and name.

Names are labels in facts, memories and texts, and determine colours in pictures for people. Observations of learners
show factors, which do not depend on names.

Gates are tiles that an agent observes only by name (the observation "names"). 36 gate types occur in training and 36
others in the test; `GATES` holds the effect of each, drawn once by a seed. Counterfactual laws exchange "lets through"
and "swallows", and permute "destroys", "stops" and "slows" in a cycle. The physics of gates stays and the names move,
so that each wall keeps one gate that lets the ball through.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from gumption.data import InputError
from gumption.envs.physics import entities as built_in
from gumption.envs.physics.entities import (
    TYPES,
    Bumper,
    Charger,
    Damper,
    Entity,
    FireTile,
    Hole,
    MagmaTile,
    Magnet,
    Object,
    SandTile,
    Thing,
    Tile,
)
from gumption.envs.physics.factors import (
    Charge,
    Consumes,
    Factor,
    Friction,
    Heat,
    Label,
    Magnetism,
    Position,
    Shape,
    StoredEnergy,
)
from gumption.envs.physics.scene import EntityData, Scene
from gumption.envs.physics.shapes import rectangle
from gumption.envs.priors import SEED, Laws, Names, deranged_unlike, relabelled

BALL = "ball"  # the thing that the agent pushes
#: Rows of types that exchange their effects under counterfactual laws, and the factors by which these types act.
EXCHANGED: tuple[tuple[tuple[type[Entity], ...], tuple[type[Factor], ...]], ...] = (
    ((FireTile, Hole, MagmaTile, SandTile), (Friction, Heat, Consumes)),
    ((Bumper, Charger, Damper, Magnet), (Charge, Magnetism, StoredEnergy)),
)
THROUGH = "lets through"
#: Effect of a gate -> the factors that cause it. A gate fills a third of the arena, and reaches under the posts.
DOES: dict[str, dict[type[Factor], Any]] = {
    THROUGH: {}, "swallows": {Consumes: True}, "destroys": {Heat: 9.0}, "stops": {Friction: 40.0},
    "slows": {Friction: 15.0},
}  # fmt: skip
#: Number of types of each part per effect. As many swallow as let through: an unknown type is uninformative.
TYPES_OF = dict(zip(DOES, (12, 12, 4, 4, 4), strict=True))
#: Effects that counterfactual laws replace by the next in this cycle.
TURNS = ("destroys", "stops", "slows")
PARTS = {"train": "A", "test": "B"}


class Gate(Tile):
    """A tile of a wall between ball and goal; its types differ in their effects."""

    factors = {Shape: rectangle(2 / 3, 0.4)}  # noqa: RUF012


def _gates() -> dict[type[Thing], tuple[str, str]]:
    """Return gate type -> (part, effect); the numbers in type names are assigned at random."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    drawn = {part: rng.permutation([deed for deed, n in TYPES_OF.items() for _ in range(n)]).tolist() for part in PARTS}
    return {
        type(f"Gate{PARTS[part]}{i:02}", (Gate,), {"factors": DOES[deed], "__module__": __name__}): (part, deed)
        for part, deeds in drawn.items()
        for i, deed in enumerate(deeds)
    }


GATES = _gates()


def gates(part: str, deed: str) -> list[type[Thing]]:
    """Return the gate types of a part with this effect."""
    return [kind for kind, about in GATES.items() if about == (part, deed)]


def has_gates(scenes: Iterable[Scene]) -> bool:
    return any(entity.type in GATES for scene in scenes for entity in scene.entities)


#: Package of the worlds, and the packages in it whose types and factors belong to SEGAR.
_WORLDS, _OURS = "gumption.envs.", ("gumption.envs.segar.", "gumption.envs.physics.")


def is_ours(kind: type[Entity] | type[Factor]) -> bool:
    """Return whether an entity type or factor is SEGAR's or a user's, and not another world's on the same physics.
    Facts must not depend on which worlds were imported.
    """
    return not kind.__module__.startswith(_WORLDS) or kind.__module__.startswith(_OURS)


def kinds(with_gates: bool = False) -> list[type[Thing]]:
    """Return the entity types of things, sorted by name, followed by all gate types if there are gates."""
    met = (kind for kind in TYPES.values() if issubclass(kind, Thing) and kind not in (Thing, Object, Tile))
    found = [kind for kind in met if is_ours(kind) and not issubclass(kind, Gate)]
    return sorted(found, key=lambda kind: kind.__name__) + (list(GATES) if with_gates else [])


@dataclass(frozen=True)
class Dials:
    """Names and effects of types under the settings `names` and `laws`."""

    names: Names = "real"
    laws: Laws = "real"
    with_gates: bool = False

    @cached_property
    def called(self) -> dict[str, str]:
        """Return the label of each type of the physics, and of `BALL`, by name."""
        labels = self._labels(self.names)
        acts = {other.__name__: kind.__name__ for kind, other in self.does.items()}  # acting type -> original type
        return {name: labels[acts.get(name, name)] for name in labels}

    @cached_property
    def does(self) -> dict[type[Entity], type[Entity]]:
        """Return type -> the type it acts as; empty under real laws."""
        if self.laws == "real":
            return {}
        row_of = {kind: row for row, _ in EXCHANGED for kind in row}
        found, labels = list(row_of), self._labels("shuffled")
        names = [kind.__name__ for kind in found]
        named = [names.index(labels[name]) if labels[name] in names else -1 for name in names]
        other = deranged_unlike(list(row_of.values()), named)
        others = {kind: found[place] for kind, place in zip(found, other.tolist(), strict=True)}
        after = {THROUGH: "swallows", "swallows": THROUGH}
        after |= dict(zip(TURNS, (*TURNS[1:], TURNS[0]), strict=True))
        for part in PARTS:
            for deed, next_ in after.items():
                others |= dict(zip(gates(part, deed), gates(part, next_), strict=True))
        return others

    def exchanged(self, scenes: Sequence[Scene], levels: Sequence[Scene]) -> list[Scene]:
        """Return the scenes under these laws. A thing copies the effect of a thing of the other type in the levels,
        chosen by a hash of its position; if the levels have none, of a thing with default factors.

        :raises InputError: the levels have nothing that could act as another type.
        """
        if not self.does:
            return list(scenes)
        present = [entity for scene in levels for entity in scene.entities]
        models = {kind: [entity for entity in present if entity.type is kind] for kind in self.does}
        if not any(models.values()):
            raise InputError(
                "laws='counterfactual' exchanges what tiles do, and what objects do, and these levels have neither: "
                "take others, such as tilesx2-medium or objectsx2-medium"
            )

        def acting(entity: EntityData) -> EntityData:
            if entity.type in GATES or (other := self.does.get(entity.type)) is None:
                return entity
            there = models[other] or Scene.read({"entities": [{"type": other.__name__}]}).entities
            return _acting_as(entity, there[crc32(repr(entity.factors[Position]).encode()) % len(there)])

        return [replace(scene, entities=tuple(map(acting, scene.entities))) for scene in scenes]

    def look(self, kind: type[Entity]) -> type[Entity]:
        """Return the type whose colour a type has in pictures for people: the type of its label, or `Entity` for an
        anonymous label."""
        label = self.called.get(kind.__name__, kind.__name__)
        return kind if label == kind.__name__ else TYPES.get(label, Entity)

    def id(self, entity: EntityData) -> str:
        """Return the name of a thing in texts: its id, with the label in place of the type if names are not real."""
        if self.names == "real" or entity.type.__name__ not in self.called:
            return entity.id
        place = entity.id.rpartition("_")[2]
        return self.called[entity.type.__name__].lower() + (f"_{place}" if place.isdecimal() else "")

    def _labels(self, names: Names) -> dict[str, str]:
        """Return the label of each type and of `BALL` under real laws."""
        groups = {kind.__name__: _group(kind) for kind in kinds(self.with_gates)} | {BALL: BALL}
        # Gates and custom types come last, so that the labels of other types do not depend on them.
        late = {BALL: 1, **dict.fromkeys(PARTS, 2), "own": 3}
        real = sorted(groups, key=lambda name: late.get(groups[name], 0))
        return dict(zip(real, relabelled(real, names, [groups[name] for name in real]), strict=True))


def _group(kind: type[Entity]) -> str:
    """Return the group of a type; types of one group may exchange names."""
    if about := GATES.get(kind):  # pyright: ignore[reportArgumentType]
        return about[0]
    if kind.__module__ != built_in.__name__:
        return "own"
    return next((each.__name__ for each in (Tile, Object) if issubclass(kind, each)), kind.__name__)


def _acting_as(entity: EntityData, model: EntityData) -> EntityData:
    """Return an entity with the type and the effects of a model entity."""
    acts = next(factors for row, factors in EXCHANGED if model.type in row)
    factors = {factor: value for factor, value in entity.factors.items() if factor not in acts}
    factors |= {factor: model.factors[factor] for factor in acts if factor in model.factors}
    return EntityData(entity.id, model.type, factors | {Label: model.type.__name__})
