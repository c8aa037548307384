"""Magnets on a table as factors, an entity type and rules of `gumption.envs.physics` (ProbSol, "Introduction" and B.3).

Law: a pole q1 at p1 gives the disc of mass M2 that has a pole q2 at p2 the acceleration

    K q1 q2 / (M2 max(r, cut)^2)     along p2 - p1, r = |p2 - p1|: equal signs repel, opposite ones attract.

Friction decelerates by k whatever the mass; a disc at rest stays so while it is pushed by less (static = kinetic).
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
    Mass,
    Mobile,
    Parameter,
    Position,
    Shape,
    Velocity,
)
from gumption.envs.physics.rules import Aggregate, Rule, read_rule
from gumption.envs.physics.shapes import circle
from gumption.envs.physics.values import norm

#: Side of the table and radius of a disc, in px; physics steps a second.
TABLE, RADIUS, FRAMERATE = 480.0, 12.0, 60
#: K, in px^3/s^2: from rest a medium magnet attracts another one up to 155 px, where K / 155^2 is the friction of 20.
COUPLING = 20.0 * 155.0**2
#: px at which the distances of poles are cut: of two monopoles, and where a dipole takes part.
CUT, DIPOLE_CUT = 24.0, 12.0
#: px from the centre of a dipole to each of its poles.
ARM = 6.0
#: Names of a boundary -> theta in degrees, where the + pole of a dipole lies, counter-clockwise from the right.
BOUNDARIES = {"vertical": 0, "diagonalA": 45, "horizontal": 90, "diagonalB": 135}
#: What the law is multiplied by, by name of the law.
LAWS = {"real": 1.0, "counterfactual": -1.0, "inert": 0.0}


class Pole(Factor, base="float"):
    """The magnetism of a disc, signed by its polarity; of a dipole that of its + pole."""


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


def _pull(first: bool, second: bool) -> Rule:
    """The law between one pole of the source and one of the target.

    :param first, second: whether it is the first pole (of a dipole the + pole), of source and of target.
    """

    def magnetism(source: Any, target: Any, k: Any) -> Any:
        x1, q1, other1, arm1, there = source
        x2, q2, other2, arm2, m2, mobile, here, a = target
        charge1, charge2 = q1 if first else other1, q2 if second else other2
        at1, at2 = (x1 + arm1 if first else x1 - arm1), (x2 + arm2 if second else x2 - arm2)
        apart = at2 - at1
        distance = norm(apart)
        cut = np.where((other1 != 0) | (other2 != 0), DIPOLE_CUT, CUT)
        near = np.maximum(distance, cut)
        share = k * (charge1 * charge2) / (m2 * (near * near) * np.where(distance > 0, distance, 1.0))
        acts = there & here & mobile & (charge1 != 0) & (charge2 != 0)
        return Aggregate(a, share * apart, where=acts)

    name = f"magnetism_{'a' if first else 'b'}{'a' if second else 'b'}"
    magnetism.__name__ = magnetism.__qualname__ = name
    magnetism.__annotations__ = {
        "source": Tuple[Position, Pole, OtherPole, Arm, Alive],  # noqa: UP006
        "target": Tuple[Position, Pole, OtherPole, Arm, Mass, Mobile, Alive, Acceleration],  # noqa: UP006
        "k": Coupling,
        "return": Aggregate[Acceleration],
    }
    return read_rule(magnetism)


def table_friction(drag: Drag, alive: Alive, k: TableFriction) -> Aggregate[Drag]:
    """The table decelerates every disc by k."""
    return Aggregate(drag, k, where=alive)


#: The rules of a table, for `SimSettings.rules`.
RULES: tuple[str | Callable[..., Any], ...] = (
    *(_pull(first, second) for first in (True, False) for second in (True, False)),
    read_rule(table_friction),
    "accelerate",
    "move",
)
