"""The state of a batch of scenes in arrays: one column per factor, with a slot for each entity.

Entities with the same factors form a group. A group has as many slots as the scene with the most such entities needs;
unused slots of a scene are absent. The order of slots depends only on factors, so that sums over entities are equal for
a scene alone and in a batch.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import shown

from .entities import Entity
from .factors import (
    FACTORS,
    ID,
    PARAMETERS,
    WIDTHS,
    Factor,
    FloorFriction,
    Friction,
    Label,
    Order,
    Parameter,
    Position,
    Shape,
    Size,
    Velocity,
)
from .scene import EntityData, Scene, rule_names
from .shapes import circle, scaled

#: Id of the entity that represents the floor: it has a Friction and no Position.
FLOOR = "global_friction"
ABSENT, CIRCLE, POLYGON = 0, 1, 2
_DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_, "vector": np.float64}
_LAST = np.iinfo(np.int64).max
_NONE = np.zeros(0)
_ARRAYS = ("walls", "present", "types", "insertion", "sequence", "rank", "kinds", "corners", "corner_counts", "reaches",
           "drawn_size", "laws", "seeds")  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Slots `start` to `stop` of entities with these factors."""

    factors: frozenset[type[Factor]]
    start: int
    stop: int


@dataclass(frozen=True)
class Layout:
    """The slots of a batch, the maximal number of corners of a polygon, and the possible rule sets of its scenes."""

    groups: tuple[Group, ...]
    corners: int
    laws: tuple[tuple[Any, ...], ...]

    @staticmethod
    def of(scenes: Iterable[Scene]) -> "Layout":
        """Return a layout that fits each of the scenes."""
        most = Counter[frozenset[type[Factor]]]()
        corners = 3
        laws: list[tuple[Any, ...]] = []
        for scene in scenes:
            if scene.sim.rules not in laws:
                laws.append(scene.sim.rules)
            most |= Counter(map(_signature, _with_floor(scene)))
            for entity in scene.entities:
                shape = entity.factors.get(Shape)
                if shape is not None and shape["kind"] == "polygon":
                    corners = max(corners, len(shape["vertices"]))
        groups, start = [], 0
        for key in sorted(most, key=lambda each: (Velocity not in each, sorted(one.__name__ for one in each))):
            groups.append(Group(key, start, start + most[key]))
            start += most[key]
        return Layout(tuple(groups), corners, tuple(laws))

    @property
    def slots(self) -> int:
        return self.groups[-1].stop if self.groups else 0

    def owners(self, factors: Iterable[type[Factor]], exact: bool = False) -> np.ndarray:
        """Return (n,), the slots whose entities have all these factors, or, unless `exact`, subclasses of them."""
        wanted = list(factors)
        found = [np.arange(group.start, group.stop) for group in self.groups if _has(group.factors, wanted, exact)]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


class State:
    """Columns of B scenes.

    The batch is the last axis of arrays, for fast operations on a whole batch; in `view` it is the first.

    :ivar num_envs, slots: B and N.
    :ivar columns: root factor -> (d, N, B), float64, int64 or bool; 0 if an entity lacks the factor.
    :ivar parameters: parameter -> (B,).
    :ivar walls: (2, B), the lower and the upper boundary, for both axes.
    :ivar laws: (B,) index of the scene's rules in `layout.laws`. :ivar seeds: (B,) seeds of rules that draw numbers;
        `moments` (B,) is the number of the step for which they draw.
    :ivar present: (N, B) bool, whether the scene has an entity in the slot.
    :ivar types: (N, B) indices of entity types in `type_list`.
    :ivar insertion: (N, B) indices among the scene's entities.
    :ivar sequence: (N, B) slots in the order of iteration: by Order, then by insertion; entities without Order come
        late, absent slots last. :ivar rank: (N, B) its inverse.
    :ivar kinds: (N, B) ABSENT, CIRCLE or POLYGON.
    :ivar corners: (V, 2, N, B) vertices relative to the position, counter-clockwise, for a Size of `drawn_size` (N, B).
    :ivar corner_counts, reaches: (N, B), the number of vertices, and the distance of the farthest vertex.
    """

    def __init__(self, scenes: Sequence[Scene], layout: Layout | None = None) -> None:
        """:raises InputError: no scene, or a scene that does not fit the layout."""
        if not scenes:
            raise InputError("a state needs a scene")
        self.layout = Layout.of(scenes) if layout is None else layout
        self.num_envs, self.slots = len(scenes), self.layout.slots
        #: Whether polygons scale with their Size.
        self.polygons_scale = True
        #: Cached results of relations on the current state.
        self.derived: dict[str, Any] = {}
        self._kept: dict[Any, tuple[int, np.ndarray]] = {}
        self._marks: dict[type[Factor], np.ndarray] = {}
        #: Increases when entities are added or removed, or change their type or order.
        self.version = 0
        self.scenes: list[Scene] = [scenes[0]] * self.num_envs
        self.slot_of: list[dict[str, int]] = [{} for _ in scenes]
        shape = self.slots, self.num_envs
        roots = {factor.root: None for group in self.layout.groups for factor in group.factors}
        self._roots = sorted((each for each in roots if each.base in WIDTHS), key=lambda each: each.__name__)
        widths = dict.fromkeys(_DTYPES.values(), 0)
        for root in self._roots:
            widths[_DTYPES[root.base]] += WIDTHS[root.base]
        self._hold([np.zeros((width, *shape), dtype=dtype) for dtype, width in widths.items()])
        self.parameters: dict[type[Parameter], np.ndarray] = {
            each: np.zeros(self.num_envs) for each in PARAMETERS.values()
        }
        self.walls = np.zeros((2, self.num_envs))
        self.laws, self.seeds, self.moments = np.zeros((3, self.num_envs), dtype=np.int64)
        self.present = np.zeros(shape, dtype=bool)
        self.types = np.zeros(shape, dtype=np.int64)
        self.type_list: list[type[Entity]] = []
        self.insertion = np.zeros(shape, dtype=np.int64)
        self.sequence = np.zeros(shape, dtype=np.int64)
        self.rank = np.zeros(shape, dtype=np.int64)
        self.kinds = np.zeros(shape, dtype=np.int64)
        self.corners = np.zeros((self.layout.corners, 2, *shape))
        self.corner_counts = np.zeros(shape, dtype=np.int64)
        self.reaches = np.zeros(shape)
        self.drawn_size = np.ones(shape)
        for i, scene in enumerate(scenes):
            self._put(i, scene)
        self.order()

    def of(self, entity_type: type[Entity], factor: type[Factor]) -> np.ndarray:
        """Return the factor of the first entity of a type in each scene, a new array: (B, 2) for a vector, else (B,).
        Each scene must have such an entity."""
        column = self.columns[factor.root]
        places = self.first_places(entity_type)
        # An index into one axis is faster than an index into two.
        return column[0].take(places) if len(column) == 1 else column.reshape(len(column), -1).take(places, axis=1).T

    def snapshot(self) -> "State":
        """Return a copy of the factors for reading; arrays that steps do not change are shared."""
        copied = copy(self)
        copied._hold([block.copy() for block in self._blocks])
        copied.derived, copied._kept = {}, {}
        return copied

    def renew(self, other: "State", columns: Any = slice(None)) -> None:
        """Update a snapshot, or some of its scenes, from the other state."""
        for mine, its in zip(self._blocks, other._blocks, strict=True):
            mine[..., columns] = its[..., columns]
        self.version = other.version

    def view(self, factor: type[Factor]) -> np.ndarray:
        """Return a writable view (B, N, d) of the factor's column; raise KeyError if there is none."""
        return self.columns[factor.root].transpose(2, 1, 0)

    def marks(self, factor: type[Factor]) -> np.ndarray:
        """Return (N,) bool, the slots whose entities have the factor."""
        if factor not in self._marks:
            self._marks[factor] = np.isin(np.arange(self.slots), self.layout.owners([factor]))
        return self._marks[factor]

    def order(self) -> None:
        """Recompute the order of iteration, after a change of Order."""
        orders = self.columns.get(Order)
        key = np.full((self.slots, self.num_envs), _LAST)
        if orders is not None:
            owners = self.layout.owners([Order])
            key[owners] = orders[0, owners]
        key[~self.present] = _LAST
        late = ~self.present
        self.sequence[:] = np.lexsort((self.insertion, key, late), axis=0)
        places = np.arange(self.slots)[:, None]
        np.put_along_axis(self.rank, self.sequence, np.broadcast_to(places, self.rank.shape), axis=0)
        self.version += 1

    def take(self, columns: np.ndarray, other: "State", rows: np.ndarray) -> None:
        """Copy the scenes `rows` of another state into `columns`; raise InputError if its layout differs."""
        if other.layout != self.layout:
            raise InputError("scenes are taken from a state of the same layout")
        for mine, theirs in zip(self._arrays(), other._arrays(), strict=True):
            mine[..., columns] = theirs.take(rows, axis=-1)
        for each, values in self.parameters.items():  # a parameter declared later is missing in the other state
            values[columns] = other.parameters[each][rows] if each in other.parameters else each.default
        if other.type_list != self.type_list:
            self.type_list += [each for each in other.type_list if each not in self.type_list]
            numbers = np.array([self.type_list.index(each) for each in other.type_list])
            self.types[:, columns] = numbers[other.types[:, rows]]
        for column, row in zip(columns.tolist(), rows.tolist(), strict=True):
            self.scenes[column], self.slot_of[column] = other.scenes[row], other.slot_of[row]
        self.version += 1

    def select(self, columns: np.ndarray) -> "State":
        """Return an independent state with these scenes, repeated as often as listed."""
        chosen = copy(self)
        chosen.num_envs, chosen.derived, chosen.type_list = len(columns), {}, list(self.type_list)
        chosen._kept = {}
        # Unlike indexing, take keeps the batch as the last axis in memory.
        chosen._hold([block.take(columns, axis=-1) for block in self._blocks])
        chosen.parameters = {each: values[columns] for each, values in self.parameters.items()}
        for name in (*_ARRAYS, "moments"):
            setattr(chosen, name, getattr(self, name).take(columns, axis=-1))
        chosen.scenes = [self.scenes[i] for i in columns.tolist()]
        chosen.slot_of = [self.slot_of[i] for i in columns.tolist()]
        return chosen

    def moving(self, columns: np.ndarray) -> list[np.ndarray]:
        """Return copies of the arrays of these scenes that steps change, for `put_back`."""
        return [array.take(columns, axis=-1) for array in self._moving_arrays()]

    def put_back(self, columns: np.ndarray, kept: Sequence[np.ndarray]) -> None:
        """Restore these scenes from the copies of `moving`."""
        for array, values in zip(self._moving_arrays(), kept, strict=True):
            array[..., columns] = values

    def scene(self, i: int) -> Scene:
        """Return scene i in its current state."""
        drawn = self.scenes[i]
        return Scene(drawn.sim, tuple(self._entity(i, self.slot_of[i][one.id], one) for one in drawn.entities))

    def check_finite(self) -> None:
        """Check all factors. :raises InputError: a value is not finite; the message names scene, entity and factor."""
        for factor, column in self.columns.items():
            if column.dtype == np.float64 and not np.isfinite(column).all():
                _, slot, i = (int(each[0]) for each in np.nonzero(~np.isfinite(column)))
                raise InputError(f"scene {i}: a rule gives {self.name(slot, i)} a {factor.__name__} that is not finite")

    def name(self, slot: int, i: int) -> str:
        """Return the name of the entity in a slot for messages."""
        return next((repr(name) for name, mine in self.slot_of[i].items() if mine == slot), f"slot {slot}")

    def is_a(self, entity_type: type[Entity]) -> np.ndarray:
        """Return (N, B) bool, read-only: the entities of this type."""

        def found() -> np.ndarray:
            fits = np.array([issubclass(each, entity_type) for each in self.type_list])
            return fits[self.types] & self.present

        return self._until_changed(("is_a", entity_type), found)

    def first(self, entity_type: type[Entity]) -> np.ndarray:
        """Return (B,), read-only: the slot of the first entity of this type in each scene."""
        return self._until_changed(("first", entity_type), lambda: self.is_a(entity_type).argmax(axis=0))

    def first_places(self, entity_type: type[Entity]) -> np.ndarray:
        """Return (B,), read-only: the same entities as indices into columns reshaped to (d, N * B); raise InputError if
        a scene has none."""

        def find() -> np.ndarray:
            there = self.is_a(entity_type).any(axis=0)
            if not there.all():
                scene = int(there.argmin())
                types = sorted({self.type_list[k].__name__ for k in self.types[self.present[:, scene], scene]})
                raise InputError(
                    f"scene {scene} has no {entity_type.__name__}, only {', '.join(types)}: give levels that have one"
                )
            return self.first(entity_type) * self.num_envs + np.arange(self.num_envs)

        return self._until_changed(("place", entity_type), find)

    def _until_changed(self, key: Any, find: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the result of `find`, recomputed when `version` has changed."""
        version, found = self._kept.get(key, (-1, _NONE))
        if version != self.version:
            found = find()
            found.flags.writeable = False
            self._kept[key] = self.version, found
        return found

    def _moving_arrays(self) -> list[np.ndarray]:
        return [*self._blocks, self.sequence, self.rank]

    def _arrays(self) -> list[np.ndarray]:
        return [*self._blocks, *(getattr(self, name) for name in _ARRAYS)]

    def _hold(self, blocks: list[np.ndarray]) -> None:
        """Create the columns as views of blocks (rows, N, B), one per dtype; blocks are faster to copy than columns."""
        self._blocks, starts = blocks, dict.fromkeys(_DTYPES.values(), 0)
        self.columns: dict[type[Factor], np.ndarray] = {}
        for root in self._roots:
            dtype, width = _DTYPES[root.base], WIDTHS[root.base]
            block = blocks[list(starts).index(dtype)]
            self.columns[root] = block[starts[dtype] : starts[dtype] + width]
            starts[dtype] += width

    def _put(self, i: int, scene: Scene) -> None:
        free = {group.factors: iter(range(group.start, group.stop)) for group in self.layout.groups}
        if scene.sim.rules not in self.layout.laws:
            raise InputError(f"no scene of the batch has the rules {shown(rule_names(scene.sim.rules))}")
        self.laws[i], self.seeds[i] = self.layout.laws.index(scene.sim.rules), scene.sim.seed
        self.scenes[i], self.slot_of[i] = scene, {}
        for place, entity in enumerate(_with_floor(scene)):
            slot = next(free.get(_signature(entity), iter(())), None)
            if slot is None:
                raise InputError(f"the scene's entity {entity.id!r} has no slot in the layout of the batch")
            self.slot_of[i][entity.id] = slot
            self.present[slot, i], self.insertion[slot, i] = True, place
            if entity.type not in self.type_list:
                self.type_list.append(entity.type)
            self.types[slot, i] = self.type_list.index(entity.type)
            for factor, value in entity.factors.items():
                if factor.root in self.columns:
                    self.columns[factor.root][:, slot, i] = value
            self._put_shape(i, slot, entity)
        for parameter, value in scene.sim.values().items():
            if parameter in self.parameters:
                self.parameters[parameter][i] = value
        self.walls[:, i] = scene.sim.boundaries

    def _put_shape(self, i: int, slot: int, entity: EntityData) -> None:
        shape = entity.factors.get(Shape)
        if shape is None or Position not in entity.factors:
            return
        self.drawn_size[slot, i] = entity.factors[Size]
        if shape["kind"] == "circle":
            self.kinds[slot, i] = CIRCLE
            return
        self.kinds[slot, i] = POLYGON
        vertices = np.asarray(shape["vertices"])
        if len(vertices) > self.layout.corners:
            raise InputError(
                f"the scene's entity {entity.id!r} has {len(vertices)} corners; those of the batch have at most "
                f"{self.layout.corners}"
            )
        self.corner_counts[slot, i] = len(vertices)
        self.corners[: len(vertices), :, slot, i] = vertices
        self.reaches[slot, i] = np.sqrt((vertices**2).sum(axis=1)).max()

    def _entity(self, i: int, slot: int, drawn: EntityData) -> EntityData:
        values: dict[type[Factor], Any] = {}
        for factor, value in drawn.factors.items():
            column = self.columns.get(factor.root)
            if column is None:
                values[factor] = value
                continue
            now = column[:, slot, i].tolist()
            values[factor] = tuple(now) if factor.base == "vector" else now[0]
        if self.kinds[slot, i] != ABSENT:
            shape, scale = values[Shape], values[Size] / float(self.drawn_size[slot, i])
            if scale != 1.0:
                values[Shape] = circle(values[Size]) if shape["kind"] == "circle" else scaled(shape, scale)
        return EntityData(drawn.id, drawn.type, values)


def _with_floor(scene: Scene) -> tuple[EntityData, ...]:
    floor: dict[type[Factor], Any] = {Friction: scene.sim.values()[FloorFriction], ID: FLOOR, Label: "Entity"}
    return (*scene.entities, EntityData(FLOOR, Entity, floor))


def _signature(entity: EntityData) -> frozenset[type[Factor]]:
    """Return the factors of an entity, including the factors that rules compute for it."""
    mine = frozenset(entity.factors)
    computed = [each for each in FACTORS.values() if each.belongs_to is not None]
    return mine.union(each for each in computed if _has(mine, [each.belongs_to], False))


def _has(mine: frozenset[type[Factor]], wanted: Sequence[Any], exact: bool) -> bool:
    return all(each in mine if exact else any(issubclass(one, each) for one in mine) for each in wanted)
