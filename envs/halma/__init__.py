"""HALMA: find the way through hidden mazes by coloured digits (Xie et al., 2021)."""

from .diagnostics import diagnose
from .env import HALMAEnv, HALMAVectorEnv
from .facts import facts
from .generator import count_optimal_paths, path_of_rank, rank_of_path, sample_maze, sample_mazes, sample_path
from .knowledge_base import KnowledgeBases
from .maze import (
    Digit,
    Maze,
    Mazes,
    Move,
    OracleTrials,
    check_unambiguous,
    one_hot,
    oracle_trials,
    panel_digits,
    panel_row,
)
from .memory import Memory, MemoryWriter
from .rules import Primitive, Rules
from .splits import Experience, Splits, check_splits, load_splits, make_splits, read_memory, read_run

__all__ = [
    "Digit",
    "Experience",
    "HALMAEnv",
    "HALMAVectorEnv",
    "KnowledgeBases",
    "Maze",
    "Mazes",
    "Memory",
    "MemoryWriter",
    "Move",
    "OracleTrials",
    "Primitive",
    "Rules",
    "Splits",
    "check_splits",
    "check_unambiguous",
    "count_optimal_paths",
    "diagnose",
    "facts",
    "load_splits",
    "make_splits",
    "one_hot",
    "oracle_trials",
    "panel_digits",
    "panel_row",
    "path_of_rank",
    "rank_of_path",
    "read_memory",
    "read_run",
    "sample_maze",
    "sample_mazes",
    "sample_path",
]
