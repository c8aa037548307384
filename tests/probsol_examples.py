"""Tasks of ProbSol for tests, in few words."""

from typing import Any

import gymnasium as gym

import gumption.envs  # noqa: F401  (registers)

COLOURS = ("purple", "darkblue", "red", "green", "orange", "teal", "brown", "pink", "gray", "olive", "navy", "gold")


def disc(name: str, at: tuple[float, float] | int, /, **more: Any) -> dict[str, Any]:
    """A disc at a place in px, or in a cell of the side bar; medium and + unless said otherwise."""
    place = {"stored": at} if isinstance(at, int) else {"at": list(at)}
    medium = {"mass": "medium", "magnetism": "medium", "polarity": "+"}
    return {"id": name, "color": COLOURS[ord(name[0]) - ord("a")], **medium, **place, **more}


def task(family: str = "Sandbox", *objects: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A task as a file has it."""
    return {"schema": 1, "name": "mine/0", "family": family, "objects": list(objects), **more}


def fishing(**more: Any) -> dict[str, Any]:
    """One magnet in the dark, one in the bar that pulls it into the target."""
    given = task(
        "Fishing", disc("a", (126, 138)), disc("b", 0, mass="extremely large", magnetism="large", polarity="-"),
        inaccessible=[[0, 0, 480, 160]], targets=[[96, 164, 60, 60]], goal=["a"],
        solution=[["grab", "b"], ["place", 10, 16], ["check"]],
    )  # fmt: skip
    return {**given, **more}


def make(given: Any, **settings: Any) -> Any:
    """The environment of a task, without wrappers, begun."""
    env: Any = gym.make("gumption/ProbSol-v0", task=given, **settings).unwrapped
    env.reset(seed=0)
    return env


def play(env: Any, *actions: tuple[Any, ...]) -> Any:
    """Do actions by name; what the last step returned."""
    told = None
    for action in actions:
        told = env.answer(action[1:]) if action[0] == "answer" else env.step(env.action_index(*action))
    return told
