"""Magnets on a table as factors, entity types and rules of `gumption.envs.physics` (ProbSol, "Introduction" and B.3).

Law: a pole q1 at p1 accelerates the disc of mass M2 that has a pole q2 at p2 by

    K q1 q2 / (M2 max(r, cut)^2)     along p2 - p1, r = |p2 - p1|: equal signs repel, opposite signs attract.

Friction decelerates by k for any mass, and smaller accelerations move no disc at rest (static = kinetic).

In some tasks forces turn dipoles (`TURNING_RULES`). The acceleration a of a pole at r from the centre is an angular
acceleration M (r x a) / I, with I = M R^2 / 2. A disc presses on the table evenly, so that friction has the moment
2/3 k M R (the integral of k r over the mass): it decelerates turning by 4/3 k / R for any mass, and smaller angular
accelerations turn no disc.
"""

from collections.abc import Callable
from typing import Any, Tuple  # noqa: UP035  (as the hints of all rules)

import numpy as np

from gumption.envs.physics.entities import Thing
from gumption.envs.physics.factors import (
    Acceleration,
    Alive,
    Collides,
    Drag,
    Factor,
    Framerate,
    Mass,
    Mobile,
    Parameter,
    Position,
    Shape,
    Velocity,
    norm,
    tangent,
)
from gumption.envs.physics.rules import Aggregate, Differential, Rule, SetFactor, read_rule
from gumption.envs.physics.shapes import circle

#: Side of the table and radius of a disc, in px; physics steps per second.
TABLE, RADIUS, FRAMERATE = 480.0, 12.0, 60
#: K, in px^3/s^2: at rest, medium magnets attract each other up to 155 px, where K / 155^2 equals the friction of 20.
COUPLING = 20.0 * 155.0**2
#: Lower bounds in px for the distance of poles in the law: for two monopoles, and with a dipole.
CUT, DIPOLE_CUT = 24.0, 12.0
#: px from the centre of a dipole to each of its poles.
ARM = 6.0
#: Name of a boundary -> theta in degrees, the direction of a dipole's + pole, counter-clockwise from the right.
BOUNDARIES = {"vertical": 0, "diagonalA": 45, "horizontal": 90, "diagonalB": 135}
#: Name of a law -> factor of K.
LAWS = {"real": 1.0, "counterfactual": -1.0, "inert": 0.0}


class Pole(Factor, base="float"):
    """The magnetism of a disc, signed by its polarity; for a dipole, the magnetism of its + pole."""


class OtherPole(Factor, base="float"):
    """The signed magnetism of the second pole of a dipole; 0 for a disc with one pole."""


class Arm(Factor, base="vector"):
    """The vector from the centre of a dipole to its + pole, in px."""


class Coupling(Parameter, default=COUPLING):
    """K of the law, in px^3/s^2; negative if opposite poles repel."""


class TableFriction(Parameter, default=20.0):
    """The deceleration k by the table, in px/s^2."""


class Disc(Thing):
    """A magnet. It is alive while it lies on the table, and mobile unless the player holds it."""

    factors = dict.fromkeys((Velocity, Acceleration, Collides, Mass, Alive, Mobile, Pole, OtherPole, Arm)) | {
        Shape: circle(2 * RADIUS)
    }


class Spin(Factor, base="float"):
    """The angular velocity of a disc that forces turn, in radians a second, from the x axis to the y axis, before the
    friction of the next step."""


class TurningDisc(Disc):
    """A magnet that forces turn."""

    factors = dict.fromkeys((Spin,))


def _pull(first: bool, second: bool) -> Rule:
    """Make the rule for a pole of the source and a pole of the target. `first` and `second` select the first pole (of a
    dipole, the + pole)."""

    def magnetism(source: Any, target: Any, k: Any) -> Any:
        *one, there = source
        *other, mobile, here, a = target
        pull, acts = _attraction(one, other, k, first, second)
        return Aggregate(a, pull, where=there & here & mobile & acts)

    name = f"magnetism_{'a' if first else 'b'}{'a' if second else 'b'}"
    magnetism.__name__ = magnetism.__qualname__ = name
    magnetism.__annotations__ = {
        "source": Tuple[Position, Pole, OtherPole, Arm, Alive],  # noqa: UP006
        "target": Tuple[Position, Pole, OtherPole, Arm, Mass, Mobile, Alive, Acceleration],  # noqa: UP006
        "k": Coupling,
        "return": Aggregate[Acceleration],
    }
    return read_rule(magnetism)


def _attraction(one: Any, other: Any, k: Any, first: bool, second: bool) -> tuple[Any, Any]:
    """Return the acceleration of the other disc by these two poles, and a mask: both poles exist."""
    (x1, q1, other1, arm1), (x2, q2, other2, arm2, m2) = one, other
    charge1, charge2 = q1 if first else other1, q2 if second else other2
    at1, at2 = (x1 + arm1 if first else x1 - arm1), (x2 + arm2 if second else x2 - arm2)
    apart = at2 - at1
    distance = norm(apart)
    cut = np.where((other1 != 0) | (other2 != 0), DIPOLE_CUT, CUT)
    near = np.maximum(distance, cut)
    share = k * (charge1 * charge2) / (m2 * (near * near) * np.where(distance > 0, distance, 1.0))
    return share * apart, (charge1 != 0) & (charge2 != 0)


def _twist(first: bool, second: bool) -> Rule:
    """Make the rule by which a force between two poles turns the target. It uses the arms after this step's turning:
    as with motion, velocities are updated first, so that the integration gains no energy."""

    def twist(source: Any, target: Any, k: Any, friction: Any, framerate: Any) -> Any:
        x1, q1, other1, arm1, spin1, there = source
        x2, q2, other2, arm2, m2, spin2, mobile, here = target
        arm1, arm2 = (_turned(arm, _braked(spin, friction, framerate) / framerate)
                      for arm, spin in ((arm1, spin1), (arm2, spin2)))  # fmt: skip
        pull, acts = _attraction((x1, q1, other1, arm1), (x2, q2, other2, arm2, m2), k, first, second)
        lever = arm2 if second else -arm2
        moment = lever[..., :1] * pull[..., 1:] - lever[..., 1:] * pull[..., :1]
        return Differential(spin2, 2.0 / RADIUS**2 * moment, where=there & here & mobile & acts & (other2 != 0))

    twist.__name__ = twist.__qualname__ = f"twist_{'a' if first else 'b'}{'a' if second else 'b'}"
    twist.__annotations__ = {
        "source": Tuple[Position, Pole, OtherPole, Arm, Spin, Alive],  # noqa: UP006
        "target": Tuple[Position, Pole, OtherPole, Arm, Mass, Spin, Mobile, Alive],  # noqa: UP006
        "k": Coupling,
        "friction": TableFriction,
        "framerate": Framerate,
        "return": Differential[Spin],
    }
    return read_rule(twist)


def _braked(spin: Any, friction: Any, framerate: Any) -> Any:
    """Return the spin after a step's friction."""
    return np.sign(spin) * np.maximum(np.abs(spin) - 4.0 / 3.0 * friction / RADIUS / framerate, 0.0)


def _turned(arm: Any, angle: Any) -> Any:
    """Rotate an arm by an angle, from the x axis to the y axis."""
    return arm * np.cos(angle) + tangent(arm) * np.sin(angle)


def turning_friction(
    spin: Spin, mobile: Mobile, alive: Alive, friction: TableFriction, framerate: Framerate
) -> Differential[Spin]:
    """Decelerate turning by friction; a held disc does not turn."""
    left = np.where(mobile & alive, _braked(spin, friction, framerate), 0.0)
    return Differential(spin, (left - spin) * framerate)


def turn(
    arm: Arm, spin: Spin, mobile: Mobile, alive: Alive, friction: TableFriction, framerate: Framerate
) -> SetFactor[Arm]:
    """Rotate arms by their spin."""
    return SetFactor(arm, _turned(arm, _braked(spin, friction, framerate) / framerate), where=mobile & alive)


def table_friction(drag: Drag, alive: Alive, k: TableFriction) -> Aggregate[Drag]:
    """Decelerate every disc on the table by k."""
    return Aggregate(drag, k, where=alive)


# Module names, because pickle looks the rules up by name.
magnetism_aa, magnetism_ab, magnetism_ba, magnetism_bb = (
    _pull(first, second) for first in (True, False) for second in (True, False)
)
twist_aa, twist_ab, twist_ba, twist_bb = (_twist(first, second) for first in (True, False) for second in (True, False))
#: The rules of a table, for `SimSettings.rules`.
RULES: tuple[str | Callable[..., Any], ...] = (
    *(magnetism_aa, magnetism_ab, magnetism_ba, magnetism_bb),
    read_rule(table_friction),
    "accelerate",
    "move",
)
#: The rules if forces turn dipoles; discs have the type TurningDisc.
TURNING_RULES: tuple[str | Callable[..., Any], ...] = (
    *(twist_aa, twist_ab, twist_ba, twist_bb),
    read_rule(turning_friction),
    read_rule(turn),
    *RULES,
)
