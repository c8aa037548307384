"""Gradual: the byte stream of the General AI Challenge's first round, Gradual Learning (GoodAI, 2017)."""

from .curriculum import Curriculum, all_tasks, challenge, of_names
from .descriptions import member
from .judge import Verdict, judge
from .rules import Rules
from .session import Result, Session
from .task import Solution, Task

__all__ = [
    "Curriculum",
    "Result",
    "Rules",
    "Session",
    "Solution",
    "Task",
    "Verdict",
    "all_tasks",
    "challenge",
    "judge",
    "member",
    "of_names",
]
