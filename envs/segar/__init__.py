"""SEGAR: tasks in a 2-D physics of factors, entities and rules, for studies of generalisation (Hjelm et al., 2022).

Run a simulation of your own:

    from gumption.envs.segar import Simulator

    sim = Simulator({"entities": [{"id": "a", "type": "Ball", "factors": {"Velocity": [1, 0]}}]})
    sim.step(100)
    sim.state()["a"]["Position"]
"""

from gumption.envs.physics.conditions import IsOn
from gumption.envs.physics.draws import Generator
from gumption.envs.physics.initialization import Prior
from gumption.envs.physics.rules import Aggregate, Differential, SetFactor, rule

from .facts import facts
from .memory import Memory, add_memory, memory_evidence, memory_facts
from .observations import Observation
from .tasks import PuttPutt, Simulator, Task

__all__ = [
    "Aggregate",
    "Differential",
    "Generator",
    "IsOn",
    "Memory",
    "Observation",
    "Prior",
    "PuttPutt",
    "SetFactor",
    "Simulator",
    "Task",
    "add_memory",
    "facts",
    "memory_evidence",
    "memory_facts",
    "rule",
]
