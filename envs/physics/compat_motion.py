"""The motion of a step as SEGAR's code of 2022 has it (preset "compat")."""

from contextlib import AbstractContextManager, nullcontext

import numpy as np

from gumption.data import InputError

from .factors import (
    Alive,
    Collides,
    Done,
    Framerate,
    InfiniteEnergy,
    Mass,
    MaxVelocity,
    MinVelocity,
    Mobile,
    Position,
    Shape,
    Size,
    StoredEnergy,
    Velocity,
    WallDamping,
)
from .state import State


class CompatMotion:
    """Moves the discs of a state."""

    def __init__(self, state: State, moves: bool) -> None:
        """:param moves: velocities move things.
        :raises InputError: an inner wall.
        """
        self._state, self._moves = state, moves
        discs = state.layout.owners([Position, Velocity])
        blocks = np.setdiff1d(state.layout.owners([Position, Shape, Collides]), discs)
        if len(blocks):
            raise InputError(
                f"{state.name(int(blocks[0]), 0)} is an inner wall, which the code of 2022 has not; "
                "the preset 'fixed' has"
            )
        shape = state.present.shape
        self._is_disc = np.isin(np.arange(shape[0]), discs)
        self._failures = np.zeros(shape[1], dtype=np.int64)
        self._defaults = {
            factor: np.full(shape, default)
            for factor, default in (
                (Alive, True),
                (Done, False),
                (Size, 0.0),
                (Mass, 1.0),
                (Mobile, True),
                (StoredEnergy, 0.0),
                (InfiniteEnergy, False),
            )
        }
        self._inserted = np.zeros(shape, dtype=np.int64)
        self._version = -1

    def holding(self) -> AbstractContextManager[None]:
        """While velocities change: nothing holds anything."""
        return nullcontext()

    def step(self) -> None:
        """Move for a step.

        :raises InputError: where the code of 2022 raises, or never ends.
        """
        from .compat_contacts import FINE, NEVER_ENDS, NO_CONSERVATION, NO_WAY_BACK, OUT_OF_BOUNDS, advance

        state = self._state
        if self._version != state.version:
            self._inserted = np.argsort(np.where(state.present, state.insertion, state.slots), axis=0, kind="stable")
            self._version = state.version
        alive, done, size, mass, mobile, energy, infinite = (
            state.columns[factor][0] if factor in state.columns else default
            for factor, default in self._defaults.items()
        )
        scalars = np.stack(
            [
                1.0 / state.parameters[Framerate],
                *(state.parameters[each] for each in (MinVelocity, MaxVelocity, WallDamping)),
            ]
        )
        self._failures[:] = FINE
        advance(
            state.columns[Position], state.columns[Velocity], state.present, ~alive | done, size, mass,
            mobile, energy, infinite,
            state.sequence, self._inserted, self._is_disc, scalars, state.walls, self._moves, self._failures,
        )  # fmt: skip
        if self._failures.any():
            i = int(np.flatnonzero(self._failures)[0])
            why = {
                OUT_OF_BOUNDS: "the code of 2022 raises 'rollback out of bounds' here",
                NEVER_ENDS: "the code of 2022 never ends here",
                NO_WAY_BACK: "the code of 2022 divides by zero here",
                NO_CONSERVATION: "the code of 2022 raises here, as momentum and energy are not conserved",
            }[int(self._failures[i])]
            raise InputError(f"scene {i}: {why}; the preset 'fixed' goes on")
