"""Gradual at a terminal: the stream of bytes, answered line by line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gumption.envs.gradual.settings import SessionSettings
from gumption.scripts.apps import from_config
from gumption.scripts.papers.gradual.commands import FLAGS


@from_config(SessionSettings, flags=FLAGS)
def begin(config: SessionSettings) -> tuple[Any, Any]:
    """Be the agent of Gradual: type whole answers, task after task, by the rules and the schedule of programs.

    --threshold successes in a row pass a task; a success is ten right answers in a row. /q stops.
    """
    from gumption.envs.gradual.env import GradualEnv

    from . import Conversation, Face

    tasks = config.tasks[0] if len(config.tasks) == 1 else config.tasks
    rules = asdict(config.rules)
    env = Conversation(GradualEnv(tasks=tasks, success_threshold=config.success_threshold, **rules))
    env.reset(seed=config.seed)
    return env, Face(env)
