"""Gradual: the byte stream of the General AI Challenge's first round, Gradual Learning (GoodAI, 2017)."""

from .curriculum import Curriculum, Verdict, all_tasks, challenge, judge, known_tasks, load_curriculum, of_names
from .facts import facts
from .mini_tasks import member
from .session import Memory, MemoryWriter, Result, Session
from .task import Rules, Solution, Task, stateless
from .variations import Variation, load_variations

__all__ = [
    "Curriculum",
    "Memory",
    "MemoryWriter",
    "Result",
    "Rules",
    "Session",
    "Solution",
    "Task",
    "Variation",
    "Verdict",
    "all_tasks",
    "challenge",
    "facts",
    "judge",
    "known_tasks",
    "load_curriculum",
    "load_variations",
    "member",
    "of_names",
    "stateless",
]
