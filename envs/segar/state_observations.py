"""Observations that are numbers: the factors of one entity, or a row for each of several."""

from collections.abc import Sequence

import numpy as np
from gymnasium import spaces

from gumption.data import InputError
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
)
from gumption.envs.physics.scene import factor_type
from gumption.envs.physics.state import ABSENT, Layout, State

Factors = tuple[type[Factor], ...]
OBJECT_FACTORS: Factors = (
    Charge,
    Mass,
    Magnetism,
    StoredEnergy,
    Position,
    Velocity,
    Acceleration,
    Alive,
    Done,
)
TILE_FACTORS: Factors = (Heat, Friction, Position)
ALL_FACTORS: Factors = (*OBJECT_FACTORS, Heat, Friction)
#: Stands for the factors of an entity that is not there, and for those that an entity lacks.
MISSING = -1000.0


def read_factors(names: Sequence[str], hidden: Sequence[str] = ()) -> Factors:
    """The factors of these names without the hidden ones.

    :raises InputError: a name that is no factor, a factor that is no number, or none that is left.
    """
    chosen = [factor_type(name, "factors") for name in names]
    for factor in chosen:
        if factor.base not in WIDTHS:
            able = ", ".join(sorted(each.__name__ for each in FACTORS.values() if each.base in WIDTHS))
            raise InputError(f"factors: {factor.__name__} is no number; a state tells {able}")
    left_out = {factor_type(name, "hidden") for name in hidden}
    for factor in left_out:
        if factor not in chosen:
            told = ", ".join(each.__name__ for each in chosen)
            raise InputError(f"hidden: {factor.__name__} is not observed anyway; observed are {told}")
    left = tuple(factor for factor in chosen if factor not in left_out)
    if not left:
        raise InputError("no factor is left to be observed: give factors, or hide fewer")
    return left


class _Rows:
    """(B, n, d) float32 of slots of a state, in the order of the factors."""

    def __init__(self, factors: Factors) -> None:
        self.factors = factors
        self.width = sum(WIDTHS[factor.base] for factor in factors)
        self._layout: Layout | None = None
        self._owned: list[np.ndarray] = []

    def read(self, state: State, slots: np.ndarray) -> np.ndarray:
        """
        :param slots: (B, n), -1 for an entity that is not there.
        """
        if state.layout is not self._layout:
            self._layout = state.layout
            self._owned = [np.isin(np.arange(state.slots), state.layout.owners([one])) for one in self.factors]
        found = np.full((*slots.shape, self.width), MISSING, dtype=np.float32)
        rows, there = np.arange(len(slots))[:, None], slots >= 0
        start = 0
        for factor, owned in zip(self.factors, self._owned, strict=True):
            has = (there & owned[slots])[:, :, None]
            for axis in range(WIDTHS[factor.base]):
                if factor.root in state.columns:
                    values = state.columns[factor.root][axis][slots, rows]
                    np.copyto(found[:, :, start + axis, None], values[:, :, None], where=has, casting="unsafe")
            start += WIDTHS[factor.base]
        return found


class EntityState:
    """The factors of one entity.

    :ivar space: the observations of one environment.
    """

    def __init__(self, id: str, factors: Factors) -> None:
        """
        :param id: of the entity; where a scene has none of that id, all numbers are `MISSING`.
        """
        self._id, self._rows = id, _Rows(factors)
        self.space = _box(self._rows.width)
        self._slots = np.zeros((0, 1), dtype=np.int64)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Episodes begin in these columns; see `gumption.envs.segar.observations.Observation`."""
        self._slots = _slots_of([self._id], self._slots, state, columns)

    def observe(self, state: State, fresh: bool = True) -> np.ndarray:
        """(B, d) float32."""
        return self._rows.read(state, self._slots)[:, 0]


class ManyStates:
    """A row for each of several entities: those of given ids first, the others in the order of iteration, then zeros.

    :ivar space: the observations of one environment.
    """

    def __init__(
        self, factors: Factors, n_things: int = 20, unique_ids: Sequence[str] = (), required: Factors = ()
    ) -> None:
        """
        :param n_things: rows; things beyond are left out.
        :param unique_ids: whose rows come first; a row is `MISSING` where a scene has no such entity.
        :param required: only things with all these factors have rows.
        :raises InputError: more ids than rows, or an id twice.
        """
        if len(unique_ids) > n_things or len(set(unique_ids)) < len(unique_ids):
            raise InputError(f"unique_ids are {', '.join(unique_ids)}: give each once, and at most n_things={n_things}")
        self._rows, self._count, self._ids, self._required = _Rows(factors), n_things, unique_ids, required
        self.space = _box(n_things, self._rows.width)
        self._slots = np.zeros((0, len(unique_ids)), dtype=np.int64)
        self._fitting = np.zeros((0, 0), dtype=bool)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Episodes begin in these columns; see `gumption.envs.segar.observations.Observation`."""
        self._slots = _slots_of(self._ids, self._slots, state, columns)
        owners = np.isin(np.arange(state.slots), state.layout.owners(self._required))
        self._fitting = owners[:, None] & state.present & (state.kinds != ABSENT)
        rows = np.arange(state.num_envs)
        for slots in self._slots.T:
            self._fitting[slots[slots >= 0], rows[slots >= 0]] = False

    def observe(self, state: State, fresh: bool = True) -> np.ndarray:
        """(B, n_things, d) float32."""
        fitting = np.take_along_axis(self._fitting, state.sequence, axis=0)
        # The things that fit come first, and stay in order.
        chosen = np.argsort(~fitting, axis=0, kind="stable")[: self._count - len(self._ids)]
        there = np.take_along_axis(fitting, chosen, axis=0)
        others = self._rows.read(state, np.take_along_axis(state.sequence, chosen, axis=0).T)
        found = np.zeros((state.num_envs, *self.space.shape), dtype=np.float32)
        found[:, : len(self._ids)] = self._rows.read(state, self._slots)
        found[:, len(self._ids) : len(self._ids) + others.shape[1]] = np.where(there.T[:, :, None], others, 0.0)
        return found


def _box(*shape: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


def _slots_of(ids: Sequence[str], before: np.ndarray, state: State, columns: np.ndarray) -> np.ndarray:
    """(B, n) the slots of the ids, -1 where there is none; only `columns` differ from before."""
    found = before if len(before) == state.num_envs else np.full((state.num_envs, len(ids)), -1)
    for column in np.asarray(columns).tolist():
        found[column] = [state.slot_of[column].get(id, -1) for id in ids]
    return found
