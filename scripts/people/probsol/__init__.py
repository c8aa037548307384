"""ProbSol in the browser, in real time: what its page is told, the actions that it sends, and how time passes.

Actions are lists by name, as solutions of task files have them: ["grab", "b"], ["place", 10, 16], ["check"], ["answer",
["b"], ["a", "c"]]. The number of an action will do, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import floor, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.settings import Seed, shown
from gumption.envs.action_facts import ActionFacts
from gumption.envs.probsol.engine import POINTS
from gumption.envs.probsol.env import ProbSolEnv
from gumption.envs.probsol.facts import INSIDE
from gumption.envs.probsol.geometry import GRABBED, HELD, STORED
from gumption.envs.probsol.library import designed, family_of
from gumption.envs.probsol.magnets import FRAMERATE, TABLE
from gumption.envs.probsol.quiz import PAIR, is_right, right_answers
from gumption.envs.probsol.tasks import CONSTRAINTS, FAMILIES
from gumption.envs.probsol.text import ABOUT, TextFace, goal_sentence, open_action, questions_text
from gumption.scripts.people.web.views import View

CONTROLS = "\n".join(
    (
        "Choose a disc to grab it; choose a point of the table to place it there, or a cell of the side bar to store "
        "it.",
        "With Hold switched on, choose a disc on the table to hold it where it lies, or a point to hold the disc in "
        "your hand there: it pulls and pushes, and nothing moves it. Buttons turn it and let go of it.",
        "Nothing in the dark can be touched, and nothing can be put there.",
        "Check hands your solution in. If it does not solve the task, the next trial begins.",
    )
)
#: Limits that time alone can break.
_TIMES = [CONSTRAINTS.index(name) for name in ("action_time", "trial_time", "solve_time")]


class RealTimeEnv(ProbSolEnv):
    """A table in real time: an action takes the time that the player takes.

    :ivar debug: tell the page how near the goal is.
    """

    def __init__(self, debug: bool, **settings: Any) -> None:
        super().__init__(action_seconds=None, **settings)
        self.debug = debug


class WebFace(TextFace):
    """The world in words, for those who play by mouse, touch or keys; it never tells how near the goal was."""

    def rules(self, env: Any) -> str:
        return f"{' '.join(ABOUT.split())}\n\n{CONTROLS}"

    def told(self, info: Mapping[str, Any], over: bool = False) -> str:
        return super().told(info, over).replace(f" (solution rate {info['trial_rate']:.3f})", "")


def begin(
    *, task: Any = "fishing/0", seed: Seed = 0, laws: str | None = None, names: str = "real", debug: bool = False
) -> tuple[RealTimeEnv, WebFace]:
    """Begin an episode of ProbSol.

    :param task: A designed task, a family (one of its designed tasks is drawn), or the content of a task file.
    :param seed: Draws the task of several, and a shuffled law.
    :param laws: real, counterfactual, inert or shuffled.  [default: the task's]
    :param names: Of colours and names: real, anonymous or shuffled.
    :param debug: Tell how near the goal is.
    """
    if not isinstance(task, Mapping):  # a name from a browser, which must not read files
        family = family_of(task.partition("/")[0]) if isinstance(task, str) else None
        known = [] if family is None else [family.lower(), *(one.name for one in designed(family))]
        if task not in known:
            families = ", ".join(name.lower() for name in FAMILIES)
            raise InputError(
                f"there is no task {shown(task)} here; there are fishing/0 to fishing/9, and of {families}"
            )
    env = RealTimeEnv(debug, task=task, laws=laws, names=names)
    env.batch.episodes = []  # keeps the episode
    env.reset(seed=seed)
    return env, WebFace()


def drawing(env: RealTimeEnv) -> dict[str, Any]:
    """The table as the page draws it; lengths in px, y downwards.

    What changes while discs move is in "frame", as `TableTime.frame` has it.
    """
    batch = env.batch
    task, info = batch.task(), batch.describe(0)
    return {
        "kind": "probsol",
        "task": task.name,
        "family": task.family,
        "goal": f"{goal_sentence(task)} {questions_text(task)}".strip(),
        "side": TABLE,
        "cells": batch.tables.cells,
        "dark": task.inaccessible,
        "targets": task.targets,
        "walls": task.walls,
        "blocks": task.blocks,
        "building": task.building,
        "discs": [
            {"id": disc.id, "colour": disc.color, "name": disc.name, "golden": disc.id in task.goal}
            for disc in task.objects
        ],
        "limits": {name: info["constraints"][name] for name in CONSTRAINTS},
        "before": float(batch.tables.steps_before[0] / FRAMERATE),
        "quiz": [{"text": each["text"], "pair": each["ask"] == PAIR} for each in info["quiz"]],
        "end": info["end"],
        "solved": info["success"],
        "families": {name: [one.name for one in designed(name)] for name in FAMILIES},
        "frame": LIVE.frame(env),
    }


def parse(action: Any, env: RealTimeEnv) -> int | list[list[str]]:
    """The number of an action, or the answers to the quiz.

    :raises InputError: no action, or a closed one.
    """
    batch = env.batch
    if isinstance(action, int) and not isinstance(action, bool):
        if not (0 <= action < batch.labels.num_actions and batch.action_mask()[0, action]):
            raise InputError(f"the action {action} is not open now")
        return action
    if not isinstance(action, list) or not action or not isinstance(action[0], str):
        raise InputError(f'{shown(action)} is no action; it is a list such as ["grab", "b"] or ["place", 10, 16]')
    verb, *arguments = action
    if verb != "answer":
        return open_action(batch, verb, *arguments)
    if not batch.waits[0]:
        raise InputError("there is nothing to answer: the questions come once CHECK finds the goal reached")
    is_right(batch.task(), arguments, (batch.tables.theta[0] * 45).tolist())  # refuses what answers no question
    return arguments


#: Verbs, where a player would use other words.
WORDS = {"grab_placed": "grab", "put_down": "put down", "take_up": "take up"}


def helped(env: RealTimeEnv) -> Iterator[tuple[ActionFacts, dict[int, dict[str, Any]]]]:
    """Help speaks of what can be done with each disc: grab or hold it, or put the one in hand near another.

    Of all points near the same disc one stands for the others. Which area a point lies in, a player sees.
    """
    batch = env.batch
    facts, labels = batch.action_facts(), batch.labels
    other = facts.object[0, :, 0]
    mask, first = batch.action_mask()[0], labels.first_point
    told: dict[int, dict[str, Any]] = {}
    for a in (*range(first), *range(first + 2 * POINTS, labels.num_actions)):
        if mask[a] and facts.subject[0, a, 0]:
            verb, *arguments = batch.label(a)
            told[a] = {"label": " ".join(map(str, [WORDS.get(verb, verb), *arguments])), "action": [verb, *arguments]}
    if hand := int(batch.tables.hand[0]):
        disc = batch.task().ids[hand - 1]
        for begins, verb in ((first, "put {} down"), (first + POINTS, "hold {}")):
            points = begins + np.flatnonzero(mask[begins : begins + POINTS])
            for near in np.unique(other[points]).tolist():
                mine = points[other[points] == near]
                place = f"near {batch.vocabulary[near].rpartition(':')[2]}" if near else "far from the others"
                told[int(mine[len(mine) // 2])] = {"label": f"{verb.format(disc)} {place}"}
    shown = facts._replace(subject=facts.subject.copy())
    shown.subject[:, :, facts.relations.index(INSIDE)] = 0
    yield shown, told


class TableTime:
    """How time passes on a table; see `gumption.scripts.people.web.live.Live`."""

    rate = FRAMERATE

    def step(self, env: RealTimeEnv) -> int:
        return int(env.batch.tables.steps[0])

    def due(self, env: RealTimeEnv) -> int | None:
        batch, step = env.batch, self.step(env)
        if _over(env) or batch.waits[0]:
            return None
        if not batch.tables.calm[0]:
            return step + 1
        limits = batch.tables.data.limits[batch.tables.rows[0]][_TIMES]
        left = (limits - batch.constraint_values()[0, _TIMES]).min()
        return step + max(floor(left * FRAMERATE), 0) + 1 if isfinite(left) else None

    def frame(self, env: RealTimeEnv) -> dict[str, Any]:
        """Per disc ["stored", cell], ["grabbed"], ["held", x, y, degrees] or ["placed", x, y]."""
        batch = env.batch
        tables, over = batch.tables, _over(env)
        discs: list[list[Any]] = []
        rows = zip(tables.where[0].tolist(), tables.place[0].round(2).tolist(), strict=True)
        for k, (state, place) in enumerate(rows):
            if k == len(batch.task().objects):
                break
            if state == STORED:
                discs.append(["stored", int(tables.cell[0, k]) - 1])
            elif state == GRABBED:
                discs.append(["grabbed"])
            elif state == HELD:
                discs.append(["held", *place, int(tables.theta[0, k]) * 45])
            else:
                discs.append(["placed", *place])
        waits = bool(batch.waits[0])
        found = {
            "step": self.step(env),
            "trial": int(tables.trials[0]),
            "actions": int(tables.actions[0]),
            "moves": not (over or waits or tables.calm[0]),
            "waits": waits,
            "over": over,
            "discs": discs,
        }
        return found | {"rate": round(1.0 - float(tables.distance()[0]), 4)} if env.debug else found

    def advance(self, envs: Sequence[RealTimeEnv], steps: Sequence[int]) -> None:
        # Three steps in one call cost what one does, and a table whose page is gone leaves no column behind.
        for env, step in zip(envs, steps, strict=True):
            if not _over(env):
                env.batch.pass_time(step)

    def act(self, env: RealTimeEnv, action: int | list[list[str]], step: int) -> None:
        self.advance([env], [step])
        if isinstance(action, list):
            env.batch.answer(0, action)
        else:
            env.batch.act_now(action)

    def state(self, env: RealTimeEnv) -> tuple[float, bool, dict[str, Any]]:
        over = _over(env)
        return float(env.batch.results()[0][0]) if over else 0.0, over, env.batch.describe(0)

    def result(self, env: RealTimeEnv) -> dict[str, Any]:
        return {"step": self.step(env), "end": env.batch.describe(0)["end"]}


def _over(env: RealTimeEnv) -> bool:
    _, terminated, truncated = env.batch.results()
    return bool(terminated[0] or truncated[0])


def prepare() -> None:
    """Compile what the first step and the first answers need."""
    env, _ = begin()
    env.batch.pass_time(1)
    LIVE.frame(env)
    list(helped(env))
    right_answers(env.batch.task(), env.batch.task().quiz[0])


LIVE = TableTime()
VIEW = View(
    begin=begin,
    drawing=drawing,
    parse=parse,
    folder=Path(__file__).parent,
    live=LIVE,
    prepare=prepare,
    action="own",
    name=lambda action, env: list(env.label(action)),
    state=lambda env: env.batch.state_hash(),
    attempt=lambda env: int(env.batch.tables.trials[0]),
    played=lambda env: {**vars(env.batch.settings), "task": env.batch.task()},
    helped=helped,
    ranked=False,
    word=lambda label: label.rpartition(":")[2],  # "fishing/0:a" is the disc a
)
