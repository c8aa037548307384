"""Replay a recorded episode with the same states: each action at its step of its trial."""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from gumption.data.errors import InputError, located
from gumption.data.settings import shown

from .env import ProbSolVectorEnv
from .library import find_tasks, renamed
from .tasks import Task, read_task

ENV = "gumption/ProbSol-v0"
#: Called during a replay with the environment and the last action in words, "" at the beginning.
Look = Callable[[ProbSolVectorEnv, str], None]


def replay(
    record: Mapping[str, Any], where: str = "the record", look: Look | None = None, every: int = 3
) -> ProbSolVectorEnv:
    """Replay a record in a batch of size 1, and return this batch at the end of the episode.

    :param where: the record, for messages.
    :param look: called at the beginning, before and after each action, and after every `every` physics steps while
        discs move.
    :raises InputError: a record of another environment, version or task, a damaged record, or an action whose recorded
        state differs from the state here.
    """
    seen = look or (lambda env, done: None)
    try:
        env, done = _begun(record, where), ""
        seen(env, done)
        for k, (step, trial, action, state) in enumerate(record["actions"]):
            _run_to(env, step, seen, done, every)
            if isinstance(action, list):
                done = "answer " + "; ".join(" ".join(ids) for ids in action)
            else:
                known = 0 <= action < env.labels.num_actions
                done = " ".join(map(str, env.label(action))) if known else "no action"
            _check_state(env, trial, state, f"{where}: actions[{k}]: {done}")
            if isinstance(action, list):
                env.answer(0, action)
            else:
                env.act_now(action)
            seen(env, done)
        result = record["result"]
        _run_to(env, result["step"], seen, done, every)
        _check_state(env, result["trials"], result["state"], f"{where}: result: the end")
        end = env.describe(0)["end"]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: is damaged: {error!r}") from None
    if end != result["end"]:
        raise InputError(f"{where}: result.end: is {shown(result['end'])}, and here it is {end!r}")
    return env


def _begun(record: Mapping[str, Any], where: str) -> ProbSolVectorEnv:
    """Make the batch of size 1 and begin the episode."""
    if record["env"] != ENV:
        raise InputError(f"{where}: env: is {shown(record['env'])}; episodes of {ENV} are replayed here")
    if record["version"] != version("gumption"):
        raise InputError(
            f"{where}: version: gumption {record['version']} wrote it, and this is {version('gumption')}, whose states "
            "may differ; replay it with that version"
        )
    settings, of = record["settings"], record["task"]
    if "content" in of:
        task = read_task(of["content"], f"{where}: task.content")
    else:
        with located(f"{where}: task.name"):
            [task] = find_tasks(of["name"])
        task = renamed(task, settings["names"])
    if task.hash != of["hash"]:
        raise InputError(
            f"{where}: task: the task {of['name']!r} was changed since: its hash is {task.hash[:16]}, and the record "
            f"was played with {shown(of['hash'])[:18]}"
        )
    shared = {name: value for name, value in settings.items() if name != "names"}
    env = ProbSolVectorEnv(1, autoreset_mode="Disabled", task=task, laws=record["law"], **shared)
    env.reset(options={"seed": record["seed"]})
    return env


def recorded_solution(task: Task) -> dict[str, Any]:
    """Record the task's own solution under the task's law; raise InputError if it has none."""
    if not task.solution:
        raise InputError(f"the task {task.name!r} has no recorded solution")
    env = ProbSolVectorEnv(1, autoreset_mode="Disabled", task=task)
    env.episodes = []
    env.reset(seed=0)
    for verb, *arguments in task.solution:
        if verb == "answer":
            env.answer(0, arguments)
        else:
            env.step(np.array([env.action_index(verb, *arguments)]))
    return env.episodes[0] if env.episodes else env.record()


def _run_to(env: ProbSolVectorEnv, step: int, look: Look, done: str, every: int) -> None:
    """Run up to a step of the trial, in pieces while a disc moves. Limits are checked only at the end, as during the
    recording."""
    tables = env.tables
    while not tables.calm[0] and tables.steps[0] + every < step:
        tables.run(np.array([every]), np.array([True]))
        look(env, done)
    env.pass_time(step)
    look(env, done)


def _check_state(env: ProbSolVectorEnv, trial: int, state: str, where: str) -> None:
    if (env.tables.trials[0], env.state_hash()) != (trial, state):
        raise InputError(
            f"{where} at step {env.tables.steps[0]} found another state than it does here: the record was changed, or "
            "made on a machine that rounds numbers differently"
        )
