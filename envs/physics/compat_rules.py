"""SEGAR's rules as its code of 2022 has them (preset "compat"), faults included."""

from typing import Tuple  # noqa: UP035  (as the paper's hints)

import numpy as np

from .builtin_rules import built_in, consume, move
from .factors import (
    Acceleration,
    Alive,
    Charge,
    Friction,
    Gravity,
    Heat,
    Magnetism,
    Mass,
    MinMass,
    Mobile,
    Position,
    Velocity,
    Visible,
)
from .rules import Aggregate, Differential, Rule, SetFactor
from .values import norm, tangent

#: Friction does not act on slower things.
STILL = 1e-6


def lorentz_law(
    source: Tuple[Position, Velocity, Charge, Magnetism],  # noqa: UP006
    target: Tuple[Position, Velocity, Charge, Mass, Acceleration],  # noqa: UP006
) -> Aggregate[Acceleration]:
    """The paper's listing: the magnetic force falls with the relative speed, not with the distance."""
    x1, v1, q1, b1 = source
    x2, v2, q2, m2, a = target
    apart, relative = x2 - x1, v2 - v1
    distance, speed = norm(apart), norm(relative)
    electric = np.where(q1 != 0, q1 * q2 * (apart / distance) / distance**2, 0.0)
    moving = np.where(speed > 0, speed, 1.0)
    magnetic = np.where((b1 != 0) & (speed > 0), q2 * speed * b1 * tangent(relative / moving) / moving**2, 0.0)
    return Aggregate(a, np.where(m2 == 0, 0.0, (magnetic + electric) / np.where(m2 == 0, 1.0, m2)))


def apply_friction(
    thing: Tuple[Mass, Velocity, Acceleration],  # noqa: UP006
    surface: Tuple[Friction],  # noqa: UP006
    g: Gravity,
) -> Aggregate[Acceleration]:
    """The paper's listing: the deceleration falls with the mass, and does not end where the velocity does."""
    m, v, a = thing
    (mu,) = surface
    speed = norm(v)
    direction = np.abs(v) / np.where(speed > 0, speed, 1.0)
    return Aggregate(a, -np.sign(v) * (mu * g) * direction / m, where=speed >= STILL)


def apply_burn(
    thing: Tuple[Mass, Mobile],  # noqa: UP006
    tile: Tuple[Heat],  # noqa: UP006
) -> SetFactor[Mass]:
    """The mass falls by the share 0.1 heat in each step, however long it is."""
    m, mobile = thing
    (heat,) = tile
    return SetFactor(m, m * (1.0 - 0.1 * heat), where=mobile)


def stop_condition(
    mobile: Mobile, alive: Alive, v: Velocity, a: Acceleration
) -> Tuple[SetFactor[Velocity], SetFactor[Acceleration]]:  # noqa: UP006
    """What cannot be moved or is dead rests."""
    rests = ~(mobile & alive)
    return SetFactor(v, 0.0, rests), SetFactor(a, 0.0, rests)


def kill_condition(
    m: Mass, v: Velocity, visible: Visible, a: Acceleration, alive: Alive, least: MinMass
) -> Tuple[  # noqa: UP006
    SetFactor[Mass], SetFactor[Velocity], SetFactor[Acceleration], SetFactor[Alive], SetFactor[Visible]
]:
    """What has less than MinMass is destroyed."""
    dies = m < least
    return (
        SetFactor(m, 0.0, dies),
        SetFactor(v, 0.0, dies),
        SetFactor(a, 0.0, dies),
        SetFactor(alive, False, dies),
        SetFactor(visible, False, dies),
    )


def accelerate(v: Velocity, a: Acceleration) -> Differential[Velocity]:
    """dv = a dt."""
    return Differential(v, a)


COMPAT_RULES: dict[str, Rule] = built_in(
    move, lorentz_law, apply_friction, apply_burn, stop_condition, kill_condition, consume, accelerate
)
