"""Valid examples of what the public functions of SEGAR take; see examples.py."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Tuple  # noqa: UP035  (as the paper's hints)

import numpy as np

from gumption.envs import segar
from gumption.envs.physics.entities import GolfBall
from gumption.envs.physics.factors import Mass, Velocity
from gumption.envs.physics.noise import UniformNoise
from gumption.envs.record_memory import RecordMemory
from gumption.envs.segar.env import PuttPuttVectorEnv
from gumption.kg import KnowledgeGraph

SCENE = {
    "entities": [
        {"id": "golfball", "type": "GolfBall", "factors": {"Position": [0.0, -0.5]}},
        {"id": "goal", "type": "GoalTile", "factors": {"Position": [0.0, 0.5]}},
    ]
}


def simulator() -> segar.Simulator:
    return segar.Simulator(SCENE, task="PuttPutt")


def saved() -> Path:
    path = Path(mkdtemp()) / "saved.json"
    simulator().save(path)
    return path


def lived() -> Path:
    """The folder of a memory of two steps."""
    folder = Path(mkdtemp()) / "memory"
    env = RecordMemory(PuttPuttVectorEnv(2, num_levels=1, observation="state"), folder)
    env.reset(seed=0)
    env.step(np.ones((2, 2), dtype=np.float32))
    env.close()
    return folder


@cache
def memory() -> segar.Memory:
    return segar.Memory.load(lived())


def slow_down(one: Tuple[Mass, Velocity]) -> segar.Differential[Velocity]:  # noqa: UP006
    _, v = one
    return segar.Differential[Velocity](v, -v)


OBJECTS: dict[Any, Callable[[], Any]] = {
    segar.Aggregate: lambda: segar.Aggregate(0.0, 1.0),
    segar.Differential: lambda: segar.Differential(0.0, 1.0),
    segar.Memory: memory,
    segar.Prior: lambda: segar.Prior(Mass, UniformNoise(0.5, 1.5)),
    segar.SetFactor: lambda: segar.SetFactor(0.0, 1.0),
    segar.Simulator: simulator,
}
SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    "envs.segar.Aggregate.__init__": {"target": lambda: 0.0, "value": lambda: 1.0},
    "envs.segar.Memory.LAYOUT": {"things": lambda: 2, "levels": lambda: "x"},
    "envs.segar.Memory.load": {"folder": lived},
    "envs.segar.Memory.read": {"folder": lived, "layout": lambda: memory().layout},
    "envs.segar.Prior.__init__": {"target": lambda: Mass, "value": lambda: UniformNoise(0.5, 1.5)},
    "envs.segar.Prior.factor_of": {"kind": lambda: GolfBall},
    "envs.segar.Simulator.__init__": {"scenes": lambda: SCENE},
    "envs.segar.Simulator.act": {"action": lambda: [1.0, 0.0]},
    "envs.segar.Simulator.add_force": {"name": lambda: "golfball", "force": lambda: [1.0, 0.0]},
    "envs.segar.Simulator.add_velocity": {"name": lambda: "golfball", "velocity": lambda: [1.0, 0.0]},
    "envs.segar.Simulator.load": {"path": saved},
    "envs.segar.Simulator.run": {"steps": lambda: np.array([3]), "watch": lambda: simulator().watch()},
    "envs.segar.Simulator.run_until_rest": {"max_seconds": lambda: 0.05},
    "envs.segar.add_memory": {"graph": KnowledgeGraph, "memory": memory},
    "envs.segar.memory_evidence": {"memory": memory},
    "envs.segar.memory_facts": {"memory": memory},
    "envs.segar.rule": {"function": lambda: slow_down},
}
