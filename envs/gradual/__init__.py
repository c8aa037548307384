"""Gradual: the byte stream of the General AI Challenge's first round, Gradual Learning (GoodAI, 2017)."""

from .curriculum import Curriculum, all_tasks, challenge, known_tasks, of_names
from .curriculum_files import load_curriculum
from .descriptions import member
from .facts import facts
from .judge import Verdict, judge
from .memory import Memory, MemoryWriter
from .rules import Rules
from .session import Result, Session
from .task import Solution, Task, stateless

__all__ = [
    "Curriculum",
    "Memory",
    "MemoryWriter",
    "Result",
    "Rules",
    "Session",
    "Solution",
    "Task",
    "Verdict",
    "all_tasks",
    "challenge",
    "facts",
    "judge",
    "known_tasks",
    "load_curriculum",
    "member",
    "of_names",
    "stateless",
]
