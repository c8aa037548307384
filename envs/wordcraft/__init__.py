"""WordCraft: make the goal entity by combining words on a table (Jiang et al., 2020)."""

from .env import WordCraftEnv, WordCraftVectorEnv
from .facts import facts, recipe_facts
from .little_alchemy import LittleAlchemyEnv, LittleAlchemyVectorEnv
from .memory import Memory, add_memory, memory_evidence, memory_facts
from .recipe_book import PAD, RecipeBook
from .splits import Split, make_split
from .tasks import Task, TaskList, enumerate_tasks

__all__ = [
    "PAD",
    "LittleAlchemyEnv",
    "LittleAlchemyVectorEnv",
    "Memory",
    "RecipeBook",
    "Split",
    "Task",
    "TaskList",
    "WordCraftEnv",
    "WordCraftVectorEnv",
    "add_memory",
    "enumerate_tasks",
    "facts",
    "make_split",
    "memory_evidence",
    "memory_facts",
    "recipe_facts",
]
