"""Valid examples of what the public functions of Gradual take; see examples.py."""

from collections.abc import Callable
from random import Random
from typing import Any

from gumption.envs import gradual
from gumption.envs.gradual.session import layout


def silent(reward: int, byte: int) -> int:
    return ord(" ")


def gradual_session() -> gradual.Session:
    return gradual.Session(gradual.of_names(["micro14"]).tasks, silent, max_steps=50)


def gradual_memory() -> gradual.Memory:
    made = layout(["micro14"])
    return gradual.Memory(made.records(2, sent=[97, 46], said=32), made)


OBJECTS: dict[Any, Callable[[], Any]] = {
    gradual.Curriculum: lambda: gradual.of_names(["micro14"]),
    gradual.Memory: gradual_memory,
    gradual.Result: lambda: gradual_session().run(),
    gradual.Session: gradual_session,
    gradual.Solution: lambda: gradual.Solution("b.", ("yes;",), ("no;",)),
    gradual.Task: lambda: gradual.all_tasks()["micro14"],
    gradual.Variation: lambda: gradual.Variation("signs", characters=((".", "x"),)),
    gradual.Verdict: lambda: gradual.judge("micro14", "after a comes what:.", "b."),
}
SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    "envs.gradual.judge": {
        "task": lambda: "micro14",
        "question": lambda: "after a comes what:.",
        "answer": lambda: "b.",
    },
    "envs.gradual.member": {"description": lambda: "AB", "string": lambda: "AB"},
    "envs.gradual.load_curriculum": {"source": lambda: "challenge"},
    "envs.gradual.Variation.agent": {"agent": lambda: silent},
    "envs.gradual.Variation.task": {"task": lambda: gradual.all_tasks()["micro14"]},
    "envs.gradual.Memory.LAYOUT": {"tasks": lambda: ["micro14"]},
    "envs.gradual.MemoryWriter.__init__": {"tasks": lambda: ["micro14"]},
    "envs.gradual.of_names": {"names": lambda: ["micro14"]},
    "envs.gradual.stateless": {"draw": lambda: Random(0)},
    "envs.gradual.Session.__init__": {
        "tasks": lambda: gradual.of_names(["micro14"]).tasks,
        "agent": lambda: silent,
    },
    "envs.gradual.Solution.feedback": {"right": lambda: True, "draw": lambda: Random(0)},
    "envs.gradual.Solution.drawn_noise": {"draw": lambda: Random(0)},
    "envs.gradual.Solution.is_right": {"answer": lambda: "b."},
}
