"""Observations of a batch of scenes: pixels, factors, dicts of several observations, and stacks of frames."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import field, replace
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from gumption.data import InputError, Note
from gumption.data.modules import class_of_module
from gumption.data.settings import Frames, Size, check, settings, shown
from gumption.envs.physics.entities import GoalTile, GolfBall
from gumption.envs.physics.factors import (
    FACTORS,
    WIDTHS,
    Acceleration,
    Alive,
    Charge,
    Done,
    Factor,
    Friction,
    Heat,
    Magnetism,
    Mass,
    Position,
    StoredEnergy,
    Velocity,
    Visible,
)
from gumption.envs.physics.scene import factor_type
from gumption.envs.physics.state import ABSENT, FLOOR, Layout, State

from .kinds import GATES, Dials
from .render import Renderer, RendererSettings, Textured, check_kind, make_renderer


class Observation:
    """An observation of a batch: any function of the states. Your own is a subclass with a `space` and `observe`,
    instantiated without arguments once per batch.

    :ivar space: observation space of a single environment.
    """

    space: spaces.Space[Any]

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Start episodes in these columns.

        :param columns: (n,) int; at the first call all columns. :param seeds: (n,) seeds of the levels.
        """

    def observe(self, state: State, fresh: bool = True) -> Any:
        """Return the observations of all environments, batch axis first.

        :param fresh: whether a step was made since the last call, so that frame stacks advance.
        """
        raise NotImplementedError


# ---- Numeric observations: the factors of one entity, or a row for each of several entities.

Factors = tuple[type[Factor], ...]
OBJECT_FACTORS: Factors = (Charge, Mass, Magnetism, StoredEnergy, Position, Velocity, Acceleration, Alive, Done)
TILE_FACTORS: Factors = (Heat, Friction, Position)
ALL_FACTORS: Factors = (*OBJECT_FACTORS, Heat, Friction)
#: Value for factors of an absent entity, and for factors that an entity lacks.
MISSING = -1000.0
#: Number of gates in an observation.
ABREAST = 3


def read_factors(names: Sequence[str], hidden: Sequence[str] = ()) -> Factors:
    """Return the factors with these names, without the hidden factors.

    :raises InputError: a name is no factor, a factor is not numeric, or no factor is left.
    """
    chosen = [factor_type(name, "factors") for name in names]
    for factor in chosen:
        if factor.base not in WIDTHS:
            able = ", ".join(sorted(each.__name__ for each in FACTORS.values() if each.base in WIDTHS))
            raise InputError(f"factors: {factor.__name__} is no number; a state tells {able}")
    left_out = {factor_type(name, "hidden") for name in hidden}
    for factor in left_out:
        if factor not in chosen:
            observed = ", ".join(each.__name__ for each in chosen)
            raise InputError(f"hidden: {factor.__name__} is not observed anyway; observed are {observed}")
    left = tuple(factor for factor in chosen if factor not in left_out)
    if not left:
        raise InputError("no factor is left to be observed: give factors, or hide fewer")
    return left


class LeftOut(Note):
    """Note that an observation omits a part of the state without a setting that requests it."""


class _Rows:
    """Read the factors of slots of a state, (B, n, d) float32, in the order of the factors.

    :ivar only_visible: fill the rows of invisible entities with `MISSING`.
    """

    def __init__(self, factors: Factors, hidden: Factors, only_visible: bool) -> None:
        """:param hidden: factors omitted on purpose, without a note."""
        self.factors, self.only_visible = factors, only_visible
        self.width = sum(WIDTHS[factor.base] for factor in factors)
        self._expected = {factor.root for factor in (*factors, *hidden)}
        self._layout: Layout | None = None
        self._owned: list[np.ndarray] = []

    def read(self, state: State, slots: np.ndarray) -> np.ndarray:
        """:param slots: (B, n), -1 for an absent entity."""
        if state.layout is not self._layout:
            self._layout = state.layout
            self._owned = [state.marks(one) for one in self.factors]
            tell_own(state, self._expected)
        found = np.full((*slots.shape, self.width), MISSING, dtype=np.float32)
        rows, there = np.arange(len(slots))[:, None], slots >= 0
        if self.only_visible and Visible in state.columns:
            there &= state.columns[Visible][0][slots, rows] | ~state.marks(Visible)[slots]
        start = 0
        for factor, owned in zip(self.factors, self._owned, strict=True):
            has = (there & owned[slots])[:, :, None]
            for axis in range(WIDTHS[factor.base]):
                if factor.root in state.columns:
                    values = state.columns[factor.root][axis][slots, rows]
                    np.copyto(found[:, :, start + axis, None], values[:, :, None], where=has, casting="unsafe")
            start += WIDTHS[factor.base]
        return found


class EntityState(Observation):
    """The factors of one entity; all `MISSING` if a scene has no entity of that id, with a note if no scene has it."""

    def __init__(self, id: str, factors: Factors, hidden: Factors = (), only_visible: bool = False) -> None:
        self._id, self._rows = id, _Rows(factors, hidden, only_visible)
        self.space = _box(self._rows.width)
        self._slots = np.zeros((0, 1), dtype=np.int64)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        self._slots = _slots_of([self._id], self._slots, state, columns)

    def observe(self, state: State, fresh: bool = True) -> np.ndarray:
        """Return the factors of the entity, (B, d) float32."""
        return self._rows.read(state, self._slots)[:, 0]


class ManyStates(Observation):
    """A row of factors per entity: entities with listed ids first, others in the order of iteration, then zeros."""

    def __init__(
        self,
        factors: Factors,
        n_things: int = 20,
        unique_ids: Sequence[str] = (),
        required: Factors = (),
        hidden: Factors = (),
        only_visible: bool = False,
    ) -> None:
        """:param n_things: number of rows; a note is issued if further things are omitted.
        :param unique_ids: ids of the first rows; a row is `MISSING` if a scene has no such entity.
        :param required: factors that a thing needs to get a row.
        :raises InputError: more ids than rows, or a repeated id.
        """
        if len(unique_ids) > n_things or len(set(unique_ids)) < len(unique_ids):
            raise InputError(f"unique_ids are {', '.join(unique_ids)}: give each once, and at most n_things={n_things}")
        self._rows = _Rows(factors, hidden, only_visible)
        self._count, self._ids, self._required = n_things, unique_ids, required
        self.space = _box(n_things, self._rows.width)
        self._slots = np.zeros((0, len(unique_ids)), dtype=np.int64)
        self._fitting = np.zeros((0, 0), dtype=bool)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        self._slots = _slots_of(self._ids, self._slots, state, columns)
        owners = np.isin(np.arange(state.slots), state.layout.owners(self._required))
        self._fitting = owners[:, None] & state.present & (state.kinds != ABSENT)
        rows = np.arange(state.num_envs)
        for slots in self._slots.T:
            self._fitting[slots[slots >= 0], rows[slots >= 0]] = False
        room = self._count - len(self._ids)
        most = room if owners.sum() <= room else int(self._fitting.sum(axis=0).max(initial=0))
        if most > room:
            tell_left_out(
                f"the observation has {self._count} rows, and {most - room} of the {most + len(self._ids)} things of a "
                "scene are left out; n_things= makes room for more"
            )

    def observe(self, state: State, fresh: bool = True) -> np.ndarray:
        """Return the rows of factors, (B, n_things, d) float32."""
        fitting = np.take_along_axis(self._fitting, state.sequence, axis=0)
        # The things that fit come first, and stay in order.
        chosen = np.argsort(~fitting, axis=0, kind="stable")[: self._count - len(self._ids)]
        there = np.take_along_axis(fitting, chosen, axis=0)
        others = self._rows.read(state, np.take_along_axis(state.sequence, chosen, axis=0).T)
        found = np.zeros((state.num_envs, self._count, self._rows.width), dtype=np.float32)
        found[:, : len(self._ids)] = self._rows.read(state, self._slots)
        found[:, len(self._ids) : len(self._ids) + others.shape[1]] = np.where(there.T[:, :, None], others, 0.0)
        return found


def _box(*shape: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


def _slots_of(ids: Sequence[str], before: np.ndarray, state: State, columns: np.ndarray) -> np.ndarray:
    """Return (B, n), the slots of the ids, -1 for none; only `columns` are updated."""
    found = before if len(before) == state.num_envs else np.full((state.num_envs, len(ids)), -1)
    for column in np.asarray(columns).tolist():
        found[column] = [state.slot_of[column].get(id, -1) for id in ids]
    if len(columns) == state.num_envs and (absent := (found < 0).all(axis=0)).any():
        name, there = ids[int(absent.argmax())], ", ".join(sorted(one for one in state.slot_of[0] if one != FLOOR))
        tell_left_out(
            f"no scene has an entity {name!r}, so that the observation has {MISSING:g} for it; ids are {there}"
        )
    return found


def tell_left_out(text: str) -> None:
    warnings.warn(text, LeftOut, stacklevel=2)


def is_built_in(factor: type[Factor]) -> bool:
    """Return whether a factor is SEGAR's, and not user-defined."""
    return factor.__module__ == Factor.__module__


def tell_own(state: State, shown: Set[type[Factor]] = frozenset()) -> None:
    """Issue a note that names the user-defined factors not in `shown`."""
    own = [each.__name__ for each in state.columns if each not in shown and not is_built_in(each)]
    if own:
        tell_left_out(f"the observation leaves out {', '.join(own)}; name what it shows in factors=, of numbers")


Kind = Literal["rgb", "entity", "object", "tile", "state", "objects", "tiles", "names", "multimodal"]

_MANY: tuple[Kind, ...] = ("state", "objects", "tiles")
_ONE: tuple[Kind, ...] = ("entity", "object", "tile")
_DEFAULTS: dict[str, tuple[type[Factor], ...]] = {
    "object": OBJECT_FACTORS,
    "tile": TILE_FACTORS,
    "state": ALL_FACTORS,
    "objects": OBJECT_FACTORS,
    "tiles": TILE_FACTORS,
}
#: The fields that only some kinds read.
_FIELDS: dict[str, tuple[Kind, ...]] = {
    "id": _ONE,
    "factors": (*_ONE, *_MANY),
    "hidden": (*_ONE, *_MANY),
    "n_things": _MANY,
    "unique_ids": _MANY,
    "renderer": ("rgb",),
    "parts": ("multimodal",),
}


@settings
class ObservationSettings:
    """What an agent sees.

    :ivar kind: "rgb": pixels; "entity", "object" and "tile": the factors of the entity `id`; "state", "objects" and
        "tiles": a row of factors for each thing; "names": see `Names`; "multimodal": a dict of `parts`;
        "module:name": a subclass of `Observation` of your own.
    :ivar id: of the entity.
    :ivar factors: names, in order; () for SEGAR's choice for the kind ("entity" has none).
    :ivar hidden: names of factors to leave out; for pixels set them in `renderer`.
    :ivar n_things: how many rows. :ivar unique_ids: ids of the first rows.
    :ivar renderer: how pixels are made.
    :ivar parts: names to settings of observations, or dicts of such.
    :ivar stack: how many frames, the oldest first: of pixels side by side as channels, of numbers along a new first
        axis. At the beginning of an episode all frames are the first one.
    """

    kind: str = "rgb"
    id: str = "golfball"
    factors: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    n_things: Size = 20
    unique_ids: tuple[str, ...] = ()
    renderer: RendererSettings = field(default_factory=RendererSettings)
    parts: Mapping[str, Any] = field(default_factory=dict)
    stack: Frames = 1

    def __post_init__(self) -> None:
        if ":" not in self.kind:
            check("kind", self.kind, Kind)
        check_kind(self, _FIELDS, "observations")
        if self.kind == "multimodal" and not self.parts:
            raise InputError('a multimodal observation needs parts, such as {"pixels": "rgb", "numbers": "state"}')


def read_settings(
    given: ObservationSettings | Mapping[str, Any] | str, where: str = "observation"
) -> ObservationSettings:
    """Convert a kind, a dict of settings, or settings into settings; raise InputError for anything else."""
    if isinstance(given, ObservationSettings):
        return given
    if isinstance(given, str):
        return ObservationSettings(kind=given)
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is {shown(given)}; it is a kind such as 'rgb', or a dict of settings")
    options = {str(name): value for name, value in given.items()}
    if isinstance(options.get("renderer"), Mapping):
        options["renderer"] = RendererSettings(**{str(name): value for name, value in options["renderer"].items()})
    return ObservationSettings(**options)


def make_observation(
    given: ObservationSettings | Mapping[str, Any] | str | type[Observation],
    only_visible: bool = False,
    dials: Dials | None = None,
) -> Observation:
    """Return the observation of these settings.

    :param given: "rgb" or another kind, a dict such as {"kind": "state", "hidden": ["Mass"]}, settings, or a class.
    :param only_visible: fill the factors of invisible entities with `MISSING`; see `Task`.
    :param dials: labels of gates.
    :raises InputError: invalid settings.
    """
    if isinstance(given, type):
        return _own(given, given.__name__)
    wanted = read_settings(given)
    if wanted.stack > 1:
        one = make_observation(replace(wanted, stack=1), only_visible, dials)
        return Stacked(one, wanted.stack, channels=wanted.kind == "rgb")
    if ":" in wanted.kind:
        return _own(class_of_module(wanted.kind, "observation", Observation), wanted.kind)
    if wanted.kind == "rgb":
        return Pixels(make_renderer(wanted.renderer))
    if wanted.kind == "names":
        return Names(dials or Dials(with_gates=True))
    if wanted.kind == "multimodal":
        parts = {name: read_settings(part, f"parts: {name}") for name, part in wanted.parts.items()}
        return Multimodal({name: make_observation(part, only_visible, dials) for name, part in parts.items()})
    names = wanted.factors or tuple(factor.__name__ for factor in _DEFAULTS.get(wanted.kind, ()))
    factors = read_factors(names, wanted.hidden)
    hidden = tuple(factor_type(name, "hidden") for name in wanted.hidden)
    if wanted.kind in _ONE:
        return EntityState(wanted.id, factors, hidden, only_visible)
    required = () if wanted.kind == "state" else _DEFAULTS[wanted.kind]
    return ManyStates(factors, wanted.n_things, wanted.unique_ids, required, hidden, only_visible)


def _own(kind: type[Any], name: str) -> Observation:
    """Return an instance of a user-defined class; raise InputError if the class is no observation."""
    if not issubclass(kind, Observation):
        raise InputError(f"observation is {name}, which is no subclass of gumption.envs.segar.Observation")
    made = kind()
    if not isinstance(getattr(made, "space", None), spaces.Space):
        raise InputError(f"the observation {name} has no space: give it one of gymnasium.spaces, of one environment")
    return made


class Pixels(Observation):
    """Pixels, (R, R, 3) uint8."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self._layout: Layout | None = None
        self.space = spaces.Box(0, 255, (renderer.resolution, renderer.resolution, 3), np.uint8)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        if isinstance(self.renderer, Textured) and state.layout is not self._layout:
            self._layout = state.layout
            tell_own(state)
        self.renderer.begin(state, columns, seeds)

    def observe(self, state: State, fresh: bool = True) -> np.ndarray:
        return self.renderer.draw(state)


class Names(Observation):
    """Position and velocity of the ball, position of the goal, and a one-hot vector of the label of each of three
    gates, from left to right, without their effects. (F,) float32."""

    def __init__(self, dials: Dials) -> None:
        names = [kind.__name__ for kind in GATES]
        labels = sorted(dials.called[name] for name in names)
        self._columns = {name: labels.index(dials.called[name]) for name in names}
        self.space = _box(6 + ABREAST * len(names))

    def observe(self, state: State, fresh: bool = True) -> np.ndarray:
        """Return positions, velocity and one-hot labels, (B, F) float32."""
        columns = np.array([self._columns.get(kind.__name__, -1) for kind in state.type_list])[state.types]
        gates = state.present & (state.kinds != ABSENT) & (columns >= 0)
        slots = np.argsort(np.where(gates, state.columns[Position][0], np.inf), axis=0, kind="stable")[:ABREAST]
        seen = np.where(np.take_along_axis(gates, slots, axis=0), np.take_along_axis(columns, slots, axis=0), -1)
        one_hot = (seen.T[:, :, None] == np.arange(len(self._columns))).reshape(state.num_envs, -1)
        parts = state.of(GolfBall, Position), state.of(GolfBall, Velocity), state.of(GoalTile, Position), one_hot
        return np.concatenate(parts, axis=1, dtype=np.float32)


class Multimodal(Observation):
    """A dict of several observations."""

    def __init__(self, parts: Mapping[str, Observation]) -> None:
        self._parts = dict(parts)
        self.space = spaces.Dict({name: part.space for name, part in self._parts.items()})

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        for part in self._parts.values():
            part.begin(state, columns, seeds)

    def observe(self, state: State, fresh: bool = True) -> dict[str, Any]:
        return {name: part.observe(state, fresh) for name, part in self._parts.items()}


class Stacked(Observation):
    """The last frames of an observation: (count, ...), or (R, R, 3 * count) where frames are channels."""

    def __init__(self, observation: Observation, count: int, channels: bool) -> None:
        """:raises InputError: an observation of several parts."""
        if not isinstance(observation.space, spaces.Box):
            raise InputError("stack is for arrays: set it in each of the parts")
        self._observation, self._count, self._channels = observation, count, channels
        box = observation.space
        join = np.concatenate if channels else np.stack
        low, high = (join([side] * count, axis=-1 if channels else 0) for side in (box.low, box.high))
        self.space = spaces.Box(low, high, dtype=box.dtype)  # pyright: ignore[reportArgumentType]
        self._frames: list[np.ndarray] = []
        self._new = np.zeros(0, dtype=bool)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        self._observation.begin(state, columns, seeds)
        if len(self._new) != state.num_envs:
            self._frames, self._new = [], np.zeros(state.num_envs, dtype=bool)
        self._new[columns] = True

    def observe(self, state: State, fresh: bool = True) -> np.ndarray:
        seen: np.ndarray = self._observation.observe(state, fresh)
        if not self._frames:
            self._frames = [seen.copy() for _ in range(self._count)]
        self._frames = [*(self._frames[1:] if fresh else self._frames[:-1]), seen]
        for frame in self._frames[:-1]:
            frame[self._new] = seen[self._new]
        self._new[:] = False
        return np.concatenate(self._frames, axis=-1) if self._channels else np.stack(self._frames, axis=1)
