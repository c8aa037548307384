"""Magnets on a table as factors, an entity type and rules of `gumption.envs.physics` (ProbSol, "Introduction" and B.3).

Law: a pole q1 at p1 gives the disc of mass M2 that has a pole q2 at p2 the acceleration

    K q1 q2 / (M2 max(r, cut)^2)     along p2 - p1, r = |p2 - p1|: equal signs repel, opposite ones attract.

Friction decelerates by k whatever the mass, and smaller accelerations move no disc at rest (static = kinetic).

A task may let forces turn dipoles (`TURNING_RULES`). The acceleration a of a pole at r from the centre is an angular
acceleration M (r x a) / I, with I = M R^2 / 2. A disc presses on the table evenly, so that friction has the moment
2/3 k M R (the integral of k r over the mass): it decelerates turning by 4/3 k / R whatever the mass, and smaller
angular accelerations turn nothing.
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

#: Side of the table and radius of a disc, in px; physics steps a second.
TABLE, RADIUS, FRAMERATE = 480.0, 12.0, 60
#: K, in px^3/s^2: from rest a medium magnet attracts another one up to 155 px, where K / 155^2 is the friction of 20.
COUPLING = 20.0 * 155.0**2
#: The least distances of poles in px that the law uses: of two monopoles, and with a dipole.
CUT, DIPOLE_CUT = 24.0, 12.0
#: px from the centre of a dipole to each of its poles.
ARM = 6.0
#: Name of a boundary -> theta in degrees, the direction of a dipole's + pole, counter-clockwise from the right.
BOUNDARIES = {"vertical": 0, "diagonalA": 45, "horizontal": 90, "diagonalB": 135}
#: Name of a law -> factor of K.
LAWS = {"real": 1.0, "counterfactual": -1.0, "inert": 0.0}


class Pole(Factor, base="float"):
    """The magnetism of a disc, signed by its polarity; of a dipole the magnetism of its + pole."""


class OtherPole(Factor, base="float"):
    """The second pole of a dipole; 0 for a disc of one pole."""


class Arm(Factor, base="vector"):
    """From the centre of a dipole to its + pole, in px."""


class Coupling(Parameter, default=COUPLING):
    """K of the law, in px^3/s^2; negative where opposite poles repel."""


class TableFriction(Parameter, default=20.0):
    """k, the deceleration by the table, in px/s^2."""


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
    """The law between one pole of the source and one of the target; `first` and `second` say whether it is the first
    pole, of a dipole the + pole."""

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
    """The acceleration of the other disc by these two poles, and where both poles are there."""
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
    """The turning of the target by the law between two poles, after both discs have turned for this step: as with
    motion, velocities come first, so that the integration gains no energy."""

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
    """A spin after the friction of a step."""
    return np.sign(spin) * np.maximum(np.abs(spin) - 4.0 / 3.0 * friction / RADIUS / framerate, 0.0)


def _turned(arm: Any, angle: Any) -> Any:
    """An arm turned by an angle from the x axis to the y axis."""
    return arm * np.cos(angle) + tangent(arm) * np.sin(angle)


def turning_friction(
    spin: Spin, mobile: Mobile, alive: Alive, friction: TableFriction, framerate: Framerate
) -> Differential[Spin]:
    """The table decelerates turning; a held disc does not turn."""
    left = np.where(mobile & alive, _braked(spin, friction, framerate), 0.0)
    return Differential(spin, (left - spin) * framerate)


def turn(
    arm: Arm, spin: Spin, mobile: Mobile, alive: Alive, friction: TableFriction, framerate: Framerate
) -> SetFactor[Arm]:
    """Arms turn."""
    return SetFactor(arm, _turned(arm, _braked(spin, friction, framerate) / framerate), where=mobile & alive)


def table_friction(drag: Drag, alive: Alive, k: TableFriction) -> Aggregate[Drag]:
    """The table decelerates every disc by k."""
    return Aggregate(drag, k, where=alive)


# Under their own names, as pickle needs them.
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
#: The same where forces turn dipoles, of discs of the type TurningDisc.
TURNING_RULES: tuple[str | Callable[..., Any], ...] = (
    *(twist_aa, twist_ab, twist_ba, twist_bb),
    read_rule(turning_friction),
    read_rule(turn),
    *RULES,
)
