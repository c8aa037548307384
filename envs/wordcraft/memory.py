"""The memory of WordCraft: the steps of an agent, in the files of `gumption.envs.memory`, and the recipes it saw.

Beside the records lies entities.json: the labels of their ids, and the recipe book of these.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gumption.data import InputError
from gumption.data.sealed import read_sealed, sealed
from gumption.data.settings import checked, checked_methods
from gumption.envs.memory import OF_RUN, Layout, TransitionMemory, Triple, integer, state_facts

from .facts import HAS_OUTCOME, HAS_RECIPE, HAS_VISITS, binary_facts, node_facts

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

    from .recipe_book import RecipeBook

SCHEMA = "gumption/wordcraft-memory/1"
ENTITIES = "entities.json"
SUCCESS, DONE, REFUSED = 1, 2, 4  # bits of `flags`: the goal was made; the episode ended; nothing could be selected


def layout(slots: int, book: str) -> Layout:
    """The record of a step: env ids (0 is nothing) before it, and its outcome.

    :param slots: of the table; :param book: hash of the recipe book of the ids.
    """
    fields = [
        ("goal", "<i2"),
        ("table", "<i2", (slots,)),
        ("selection", "<i2"),
        ("action", "<i4"),
        ("picked", "<i2"),
        ("product", "<i2"),
        ("reward", "<f4"),
        ("task", "<i4"),
        ("episode", "<i4"),
        ("flags", "u1"),
    ]
    return Layout(SCHEMA, fields, {"slots": slots, "book": book})


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """The steps of an agent; `records` has the fields of `layout`: `table` and `selection` before the step, `action`
    the slot and `picked` what lay in it, `product` what the mix made, `task` an index into the tasks, or -1.

    :ivar entities: labels; those of the env ids 1, 2, ...
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    entities: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Memory:
        """The memory in a folder.

        :raises InputError: as `TransitionMemory.load`, and for an entities.json that does not fit the records.
        """
        memory = super().load(folder)
        path = Path(folder) / ENTITIES
        told = read_sealed(path, advice="restore it from a copy")
        try:
            entities, book = tuple(map(str, told["entities"])), told["book"]["hash"]
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}: no list of entities ({error}); restore it from a copy") from None
        ids = (memory.records[name].max(initial=0) for name in ("goal", "table", "selection", "picked", "product"))
        if book != memory.layout.settings["book"] or max(ids) > len(entities):
            raise InputError(f"{path}: not the entities of these records' recipe book; restore it from a copy")
        return replace(memory, entities=entities)

    @property
    def recipes(self) -> np.ndarray:
        """(k, 4) int64 distinct rows a, b, product, how often: ids into `entities` with a <= b, sorted."""
        made = self.records[self.records["product"] > 0]
        pair = np.sort(np.stack([made["selection"], made["picked"]], axis=1), axis=1)
        rows = np.column_stack([pair, made["product"]]).astype(np.int64) - 1
        distinct, times = np.unique(rows, axis=0, return_counts=True)
        return np.column_stack([distinct, times]).reshape(-1, 4)


def entity_file(book: RecipeBook) -> dict[str, str]:
    """The file with the labels of a memory's ids: name -> text."""
    told = {"book": {"name": book.name, "hash": book.hash}, "entities": book.entities}
    return {ENTITIES: json.dumps(sealed(told), ensure_ascii=False, indent=0) + "\n"}


@checked
def memory_facts(memory: Memory) -> list[Triple]:
    """The binary facts of the recipes that an agent saw, sorted: combinesWith and componentOf, as `facts` has them."""
    return sorted(binary_facts(memory, memory.recipes[:, :3]))


@checked
def memory_evidence(memory: Memory, run: str) -> list[Triple]:
    """Who saw a recipe, and how often, sorted. Each is a node with the run in its name, so that one query can read the
    graphs of several agents:

        sighting:RUN:fire+water>steam    ofRun RUN, hasRecipe recipe:fire+water, hasOutcome steam, hasVisits 7
    """
    triples: list[Triple] = []
    for *row, times in memory.recipes.tolist():
        a, b, product = (memory.entities[i] for i in row)
        node = f"sighting:{run}:{a}+{b}>{product}"
        triples += [
            (node, OF_RUN, run),
            (node, HAS_RECIPE, f"recipe:{a}+{b}"),
            (node, HAS_OUTCOME, product),
            (node, HAS_VISITS, integer(times)),
        ]
    return sorted(triples)


@checked
def add_memory(graph: KnowledgeGraph, memory: Memory, run: str) -> dict[str, int]:
    """Put the recipes that an agent saw into a graph, in place of those there: wordcraft/RUN, wordcraft/RUN/recipes
    (the nodes) and wordcraft/RUN/evidence.

    :returns: name of each graph -> number of facts.
    """
    about = {"source": f"the memory of {run}", "memory": memory.fingerprint, "records": str(len(memory))}
    return state_facts(
        graph,
        f"wordcraft/{run}",
        memory_facts(memory),
        memory_evidence(memory, run),
        {**about, "run": run, "book": memory.layout.settings["book"]},
        {"/recipes": sorted(node_facts(memory, memory.recipes[:, :3]))},
    )
