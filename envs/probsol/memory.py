"""A memory of ProbSol's tables: the steps of an agent, in the files that `gumption.envs.memory` describes.

A record holds the visible state of the discs before and after an action, without mass, magnetism and polarity. The file
tasks.jsonl in the same folder has a line for each task: its name, the ids of its discs, and its hash.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gumption.data import InputError
from gumption.data.reading import parse_json
from gumption.data.settings import Whole, checked, checked_methods
from gumption.envs.memory import Layout, TransitionMemory

from .engine import Tables
from .geometry import HELD, PLACED
from .settings import ActionForm

SCHEMA = "gumption/probsol-memory/1"
TASKS = "tasks.jsonl"
OVER, SOLVED, REFUSED = 1, 2, 4  # bits of `flags`


@checked
def layout(discs: Whole, cells: Whole, actions: ActionForm) -> Layout:
    """Return the layout of the record of a step. Action numbers depend on `discs` and `cells`, which are M and G."""
    fields = [
        ("task", "<i4"),
        ("episode", "<i4"),
        ("trial", "<i4"),
        ("action", "<i4", (1 if actions == "paper" else 3,)),
        ("reward", "<f4"),
        ("flags", "u1"),
        ("steps", "<i4"),
        ("state", "u1", (discs,)),
        ("place", "<f4", (discs, 2)),
        ("boundary", "<i2", (discs,)),
        ("state_after", "u1", (discs,)),
        ("place_after", "<f4", (discs, 2)),
        ("boundary_after", "<i2", (discs,)),
    ]
    return Layout(SCHEMA, fields, {"discs": discs, "cells": cells, "actions": actions})


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """The steps of an agent; `records` has the fields of `layout`.

    `task` is an index into `tasks`; `episode` numbers the episodes of the memory, `trial` an episode's trials, from 1.
    Before the step: `state` (n, M) numbers of `geometry` (0 for no disc), `place` (n, M, 2) px of placed or held discs,
    else 0, and `boundary` (n, M) degrees of a held disc, else 0. The step: `action`, `reward`, `flags` (OVER: the
    episode ended; SOLVED: the task; REFUSED: no effect) and physics `steps`. After the step: state_after, place_after,
    boundary_after, which after a failed CHECK are the start of the next trial.

    :ivar tasks: (name, ids of its discs) of each task.
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    tasks: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Memory":
        """Load a memory from a folder.

        :raises InputError: as `TransitionMemory.load`, and for a tasks.jsonl that does not fit the records.
        """
        memory, path = super().load(folder), Path(folder) / TASKS
        try:
            lines = map(parse_json, path.read_text(encoding="utf-8").splitlines())
            tasks = tuple((str(line["task"]), tuple(map(str, line["discs"]))) for line in lines)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}; restore it from a copy") from None
        except (ValueError, KeyError, TypeError) as error:
            fault = f"not a task with its discs in each line ({error})"
            raise InputError(f"{path}: {fault}; restore it from a copy") from None
        if memory.records["task"].max(initial=-1) >= len(tasks):
            raise InputError(f"{path}: not the tasks of these records; restore it from a copy")
        return replace(memory, tasks=tasks)


def visible(tables: Tables) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the visible state of the tables for a record: state (B, M), place (B, M, 2), boundary (B, M)."""
    on_table = (tables.where == PLACED) | (tables.where == HELD)
    boundary = np.where(tables.where == HELD, tables.theta * 45, 0)
    return tables.where.copy(), np.where(on_table[..., None], tables.place, 0.0), boundary
