"""SEGAR's rules, in the mended form of the preset "fixed" (see the errata on SEGAR's page for each difference)."""

from collections.abc import Callable
from typing import Any, Tuple  # noqa: UP035  (as the paper's hints)

import numpy as np

from .factors import (
    Acceleration,
    Alive,
    Charge,
    Consumes,
    Done,
    Drag,
    Framerate,
    Friction,
    Gravity,
    Heat,
    Magnetism,
    Mass,
    MinMass,
    MinVelocity,
    Mobile,
    Position,
    Velocity,
    Visible,
)
from .relations import Contains, IsOn
from .rules import Aggregate, Differential, Rule, SetFactor, read_rule
from .values import dot, norm, tangent

#: Heat burns 10 % of the mass in this time, in seconds: a step of SEGAR.
BURN_TIME = 0.01


def move(x: Position, v: Velocity, slowest: MinVelocity) -> Differential[Position]:
    """dx = v dt; less than MinVelocity is no motion."""
    return Differential(x, np.where(norm(v) < slowest, 0.0, v))


def lorentz_law(
    source: Tuple[Position, Velocity, Charge, Magnetism, Alive, Done],  # noqa: UP006
    target: Tuple[Position, Velocity, Charge, Mass, Acceleration],  # noqa: UP006
) -> Aggregate[Acceleration]:
    """a = (q1 q2 n + q2 b1 t(w)) / (d^2 m2): n the unit vector from source to target, w their relative velocity, t(w)
    that vector turned by 90 degrees. What is dead or done has no field.
    """
    x1, v1, q1, b1, alive, done = source
    x2, v2, q2, m2, a = target
    apart = x2 - x1
    square = dot(apart, apart)
    near = np.where(square > 0, square, 1.0)
    share = q2 / (near * m2)
    acceleration = share * q1 / np.sqrt(near) * apart + share * b1 * tangent(v2 - v1)
    return Aggregate(a, acceleration, where=(alive & ~done) & (m2 > 0) & (square > 0))


def apply_friction(
    thing: Tuple[Velocity, Drag],  # noqa: UP006
    surface: Tuple[Friction],  # noqa: UP006
    g: Gravity,
) -> Aggregate[Drag]:
    """A surface decelerates by mu g, whatever the mass (Coulomb's law)."""
    _, drag = thing
    (mu,) = surface
    return Aggregate(drag, mu * g)


def apply_burn(
    thing: Tuple[Mass, Mobile],  # noqa: UP006
    tile: Tuple[Heat],  # noqa: UP006
    least: MinMass,
    framerate: Framerate,
) -> SetFactor[Mass]:
    """The mass falls by the share 0.1 heat in each hundredth of a second, until it is less than MinMass."""
    m, mobile = thing
    (heat,) = tile
    left = np.maximum(1.0 - 0.1 * heat, 0.0) ** (1.0 / (framerate * BURN_TIME))
    return SetFactor(m, m * left, where=mobile & (m >= least) & (heat != 0))


def stop_condition(
    mobile: Mobile, alive: Alive, done: Done, v: Velocity, a: Acceleration
) -> Tuple[SetFactor[Velocity], SetFactor[Acceleration]]:  # noqa: UP006
    """What cannot be moved, is dead or done rests."""
    rests = ~(mobile & alive) | done
    return SetFactor(v, 0.0, rests), SetFactor(a, 0.0, rests)


def kill_condition(
    m: Mass, v: Velocity, visible: Visible, a: Acceleration, alive: Alive, least: MinMass
) -> Tuple[  # noqa: UP006
    SetFactor[Mass], SetFactor[Velocity], SetFactor[Acceleration], SetFactor[Alive], SetFactor[Visible]
]:
    """What has less than MinMass is destroyed."""
    dies = (m < least) & (alive | (dot(v, v) > 0))
    return (
        SetFactor(m, 0.0, dies),
        SetFactor(v, 0.0, dies),
        SetFactor(a, 0.0, dies),
        SetFactor(alive, False, dies),
        SetFactor(visible, False, dies),
    )


def consume(
    thing: Tuple[Mobile, Done, Visible],  # noqa: UP006
    hole: Tuple[Consumes],  # noqa: UP006
) -> Tuple[SetFactor[Done], SetFactor[Visible], SetFactor[Mobile]]:  # noqa: UP006
    """What lies in a hole as a whole falls in."""
    mobile, done, visible = thing
    return SetFactor(done, True, mobile), SetFactor(visible, False, mobile), SetFactor(mobile, False, mobile)


def accelerate(v: Velocity, a: Acceleration, drag: Drag, framerate: Framerate) -> Differential[Velocity]:
    """v changes by a dt, then friction takes up to drag dt of the speed: it stops things, and turns none around."""
    dt = 1.0 / framerate
    pushed = v + a * dt
    speed = norm(pushed)
    kept = np.maximum(speed - drag * dt, 0.0) / np.where(speed > 0, speed, 1.0)
    return Differential(v, (pushed * kept - v) * framerate)


_RELATIONS = {"apply_friction": IsOn(), "apply_burn": IsOn(), "consume": Contains()}


def built_in(*functions: Callable[..., Any]) -> dict[str, Rule]:
    """SEGAR's rules by their names, with the relations that these rules have."""
    return {one.__name__: read_rule(one, _RELATIONS.get(one.__name__)) for one in functions}


FIXED_RULES: dict[str, Rule] = built_in(
    move, lorentz_law, apply_friction, apply_burn, stop_condition, kill_condition, consume, accelerate
)
