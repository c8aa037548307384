"""ProbSol Worlds (Shi et al.): six families of tasks with magnets on a table, whose properties are hidden.

import gymnasium as gym
import gumption.envs

env = gym.make("gumption/ProbSol-v0", task="fishing/0")
"""

from .facts import facts
from .facts import task_facts as task_facts
from .tasks import Task as Task
from .tasks import read_task as read_task

__all__ = ["facts"]
