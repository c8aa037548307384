"""SEGAR: tasks in a 2-D physics of factors, entities and rules, for studies of generalisation (Hjelm et al., 2022).

A simulation of one's own:

    from gumption.envs.segar import Simulator

    sim = Simulator({"entities": [{"id": "a", "type": "Ball", "factors": {"Velocity": [1, 0]}}]})
    sim.step(100)
    sim.state()["a"]["Position"]
"""

from gumption.envs.physics.priors import Prior
from gumption.envs.physics.rules import Aggregate, Differential, SetFactor, rule

from .facts import facts
from .simulator import Simulator

__all__ = ["Aggregate", "Differential", "Prior", "SetFactor", "Simulator", "facts", "rule"]
