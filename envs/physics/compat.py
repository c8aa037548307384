"""SEGAR's rules as in its code of 2022 (preset "compat"), faults included."""

# ruff: noqa: UP006, UP035  (Tuple, as in the paper's hints)

from contextlib import nullcontext
from typing import Tuple

import numpy as np

from gumption.data import InputError

from .factors import (
    DISCS,
    Acceleration,
    Alive,
    Charge,
    Collides,
    Framerate,
    Friction,
    Gravity,
    Heat,
    Magnetism,
    Mass,
    MaxVelocity,
    MinMass,
    MinVelocity,
    Mobile,
    Position,
    Shape,
    Velocity,
    Visible,
    WallDamping,
    norm,
    tangent,
)
from .rules import Aggregate, Differential, Rule, SetFactor, built_in, consume, move
from .state import State

#: Speed below which friction does not act.
STILL = 1e-6


def lorentz_law(
    source: Tuple[Position, Velocity, Charge, Magnetism], target: Tuple[Position, Velocity, Charge, Mass, Acceleration]
) -> Aggregate[Acceleration]:
    """Follow the paper's listing: the magnetic force falls with the relative speed, not with the distance."""
    x1, v1, q1, b1 = source
    x2, v2, q2, m2, a = target
    apart, relative = x2 - x1, v2 - v1
    distance, speed = norm(apart), norm(relative)
    electric = np.where(q1 != 0, q1 * q2 * (apart / distance) / distance**2, 0.0)
    moving = np.where(speed > 0, speed, 1.0)
    magnetic = np.where((b1 != 0) & (speed > 0), q2 * speed * b1 * tangent(relative / moving) / moving**2, 0.0)
    return Aggregate(a, np.where(m2 == 0, 0.0, (magnetic + electric) / np.where(m2 == 0, 1.0, m2)))


def apply_friction(
    thing: Tuple[Mass, Velocity, Acceleration], surface: Tuple[Friction], g: Gravity
) -> Aggregate[Acceleration]:
    """Follow the paper's listing: the deceleration falls with the mass, and does not stop at velocity 0."""
    m, v, a = thing
    (mu,) = surface
    speed = norm(v)
    direction = np.abs(v) / np.where(speed > 0, speed, 1.0)
    return Aggregate(a, -np.sign(v) * (mu * g) * direction / m, where=speed >= STILL)


def apply_burn(thing: Tuple[Mass, Mobile], tile: Tuple[Heat]) -> SetFactor[Mass]:
    """Reduce the mass by the share 0.1 heat per step, regardless of dt."""
    m, mobile = thing
    (heat,) = tile
    return SetFactor(m, m * (1.0 - 0.1 * heat), where=mobile)


def stop_condition(
    mobile: Mobile, alive: Alive, v: Velocity, a: Acceleration
) -> Tuple[SetFactor[Velocity], SetFactor[Acceleration]]:
    """Stop entities that are immobile or dead."""
    rests = ~(mobile & alive)
    return SetFactor(v, 0.0, rests), SetFactor(a, 0.0, rests)


def kill_condition(
    m: Mass, v: Velocity, visible: Visible, a: Acceleration, alive: Alive, least: MinMass
) -> Tuple[SetFactor[Mass], SetFactor[Velocity], SetFactor[Acceleration], SetFactor[Alive], SetFactor[Visible]]:
    """Destroy an entity whose mass is less than MinMass."""
    dies = m < least
    return (
        SetFactor(m, 0.0, dies),
        SetFactor(v, 0.0, dies),
        SetFactor(a, 0.0, dies),
        SetFactor(alive, False, dies),
        SetFactor(visible, False, dies),
    )


def accelerate(v: Velocity, a: Acceleration) -> Differential[Velocity]:
    """Compute dv = a dt."""
    return Differential(v, a)


COMPAT_RULES: dict[str, Rule] = built_in(
    move, lorentz_law, apply_friction, apply_burn, stop_condition, kill_condition, consume, accelerate
)


class CompatMotion:
    """Move the discs of a state like SEGAR's code of 2022."""

    def __init__(self, state: State, moves: bool) -> None:
        """:raises InputError: a scene has an inner wall."""
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
        self._columns = [state.columns.get(each, np.full((1, *shape), value)) for each, value in DISCS.items()]
        self._inserted = np.zeros(shape, dtype=np.int64)
        self._version = -1

    holding = nullcontext  # no contact forces between discs

    def step(self) -> None:
        """Move for one step.

        :raises InputError: the code of 2022 would raise, or never end.
        """
        from .contacts import FINE, NEVER_ENDS, NO_CONSERVATION, NO_WAY_BACK, OUT_OF_BOUNDS, advance_compat

        state = self._state
        if self._version != state.version:
            self._inserted = np.argsort(np.where(state.present, state.insertion, state.slots), axis=0, kind="stable")
            self._version = state.version
        alive, done, mobile, mass, size, energy, infinite = (column[0] for column in self._columns)
        scalars = np.stack(
            [
                1.0 / state.parameters[Framerate],
                *(state.parameters[each] for each in (MinVelocity, MaxVelocity, WallDamping)),
            ]
        )
        self._failures[:] = FINE
        advance_compat(
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
