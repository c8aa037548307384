"""The study of goals and constraints with people: its tasks, and the report on the hypotheses H1 to H3.

scripts/papers/probsol/goals.py contains the same study for agents, and defines strategies and hypotheses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import ceil
from typing import Any, Literal

from gumption.data import InputError
from gumption.data.settings import Seed, checked
from gumption.data.tables import grouped
from gumption.envs.priors import Names
from gumption.envs.probsol.library import designed, family_of, find_tasks
from gumption.envs.probsol.tasks import Task
from gumption.envs.probsol.text import goal_text
from gumption.scripts.papers.probsol import goals
from gumption.scripts.people.study.files import Choice, read

from . import RealTimeEnv, WebFace

#: The question whose answer is the strategy that a participant plans to follow.
PLAN = "plan"


class StudyFace(WebFace):
    """The web interface, with the goal as text for participants who plan before they see the table."""

    def goal(self, env: Any) -> str:
        """Return the goal and its limits as text."""
        return goal_text(env.batch.task())


@checked
def begin(
    *,
    task: str,
    constraint: Literal["none", "relaxed", "critical"] = "none",
    names: Names = "real",
    seed: Seed = 0,
) -> tuple[RealTimeEnv, StudyFace]:
    """A task of the study, with one trial; a limit that is passed is measured, and play goes on.

    :param task: Name of a designed task, or of a certified one: fishing/seed-4.
    :param constraint: Tightness of the limit of actions: that of the recorded solution times infinity, 3 or 1.1.
    :param names: Of the discs' colours: real, anonymous or shuffled.
    :param seed: Draws what is shuffled.
    """
    env = RealTimeEnv(False, task=limited(task, constraint), names=names, trial_number=1, on_violation="go_on")
    env.batch.episodes = []  # keeps the episode
    env.reset(seed=seed)
    return env, StudyFace()


@cache
def limited(name: str, constraint: str) -> Task:
    """Return the task with a name, and with its limit, rounded up.

    :raises InputError: there is no such task.
    """
    family = family_of(name.partition("/")[0])
    known = () if family is None else (*designed(family), *find_tasks(f"{family.lower()}/generated"))
    found = [task for task in known if task.name == name]
    if family is None or not found:
        raise InputError(f"there is no task {name!r}: name a designed one such as fishing/0, or a certified seed")
    [task] = [task for _, _, tightness, task in goals.design({family: found[:1]}) if tightness == constraint]
    return replace(task, constraints={kind: ceil(limit) for kind, limit in task.constraints.items()})


def report(tasks: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Test the hypotheses on participants' plans; return figures, and lines of Markdown.

    :param tasks: for each, "participant", "settings", "actions" (JSON), "success", "before" (answers before the task).
    """
    episodes = grouped((str(one["participant"]), _episode(one)) for one in tasks if PLAN in one["before"])
    every = [episode for own in episodes.values() for episode in own]
    if len({(one.goal, one.tightness) for one in every}) == len(
        {(one.goal, one.tightness, one.layout) for one in every}
    ):
        return {}, ["No two tasks of the same goal and constraint, in different layouts, were played yet."]
    found: dict[str, Any] = goals.hypotheses(every)
    shown = [one for one in tasks if PLAN in one["before"] and _named(one)]
    kept = sum(goals.strategy(_named(one)) == told(one) for one in shown)
    found["kept_to_plan"] = kept / len(shown) if shown else None
    # Episodes without an action have no first actions to predict.
    begun = {name: [one for one in own if one.begins] for name, own in episodes.items()}
    found["foretold"] = goals.foretold({name: own for name, own in begun.items() if own})
    return found, _lines(found)


@cache
def options() -> dict[str, str]:
    """Return option -> strategy for the question of the shipped study, whose options do not name strategies."""
    asked = next(one for one in read("probsol-goals").blocks[0].before if isinstance(one, Choice))
    return dict(zip(asked.options, goals.STRATEGIES, strict=True))


def told(one: Mapping[str, Any]) -> str:
    """Return the strategy that the participant stated before the first action, or the answer if it is no option."""
    answer: str = one["before"][PLAN]
    return options().get(answer, answer)


def _episode(one: Mapping[str, Any]) -> goals.Episode:
    settings, actions = one["settings"], _named(one)
    tightness = settings.get("constraint", "none")
    limit = limited(settings["task"], tightness).constraints.get("action_number", float("inf"))
    return goals.Episode(
        goal=settings["task"].partition("/")[0],
        layout=settings["task"],
        tightness=tightness,
        solved=bool(one["success"]),
        solution=float(bool(one["success"])),
        constraint=float(len(actions) <= limit),
        strategy=told(one),
        tendencies=tuple(goals.tendencies(actions).tolist()) if actions else (0.0, 0.0, 0.0),
        begins=tuple(verb for verb, *_ in actions[: goals.FIRST]),
    )


def _named(one: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the actions by name."""
    return [tuple(action) for action in one["actions"] if isinstance(action, list)]


def _lines(found: Mapping[str, Any]) -> list[str]:
    agreement = found["agreement"]
    rows = [
        ("H1, agreement of plans between layouts of one goal and constraint", f"{agreement['value']:.2f}"),
        ("H1, the same with shuffled plans", f"{agreement['shuffled']:.2f} (p = {agreement['p']:.3f})"),
        *((f"H2, entropy of plans, constraint {name}", f"{found['entropy'][name]:.2f} bits") for name in goals.TIGHTNESS
          if name in found["entropy"]),
        ("consistency", f"{found['consistency']:.2f}"),
        ("played as they had told", "-" if found["kept_to_plan"] is None else f"{found['kept_to_plan']:.0%}"),
    ]  # fmt: skip
    for known in ("goal and constraint", "reward only"):
        for what, words in (("plan", "told plan"), ("actions", "first three actions")):
            values = [each[known][what] for each in found["foretold"].values()]
            if values:
                rows.append((f"H3, {words} foretold by {known}", f"{sum(values) / len(values):.0%}"))
    return ["| hypothesis | figure |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in rows)]
