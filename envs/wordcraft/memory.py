"""The memory of WordCraft: an agent's steps, in the files of `gumption.envs.memory`, and the recipes it saw.

entities.json, in the same folder, holds the labels of the ids and the name and hash of the recipe book.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gumption.data import InputError
from gumption.data.sealed import read_sealed, sealed
from gumption.data.settings import checked, checked_methods
from gumption.envs.memory import EVIDENCE, OF_RUN, Layout, TransitionMemory, Triple, integer, state_facts

from .facts import HAS_FIRST_MIX, HAS_MIXED, HAS_OUTCOME, HAS_RECIPE, HAS_VISITS, binary_facts, node_facts

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

    from .recipe_book import RecipeBook

SCHEMA = "gumption/wordcraft-memory/1"
ENTITIES = "entities.json"
SUCCESS, DONE, REFUSED = 1, 2, 4  # bits of `flags`: the goal was made; the episode ended; the action was refused


def layout(slots: int, book: str, products: int | None = None) -> Layout:
    """Return the record layout of a step: env ids (0 is nothing) before the step, and its outcome.

    :param slots: of the table; :param book: hash of the recipe book of the ids.
    :param products: the most entities that one mix makes; None if a mix makes a single entity.
    """
    several: dict[str, int] = {} if products is None else {"products": products}
    fields = [
        ("goal", "<i2"),
        ("table", "<i2", (slots,)),
        ("selection", "<i2"),
        ("action", "<i4"),
        ("picked", "<i2"),
        ("product", "<i2", *((products,) for products in several.values())),
        ("reward", "<f4"),
        ("task", "<i4"),
        ("episode", "<i4"),
        ("flags", "u1"),
    ]
    return Layout(SCHEMA, fields, {"slots": slots, "book": book, **several})


@checked_methods
@dataclass(frozen=True, eq=False)
class Memory(TransitionMemory):
    """The steps of an agent. `records` has the fields of `layout`: `table` and `selection` before the step; `action`,
    the slot; `picked`, its entity; `product`, made by the mix; `task`, an index into the tasks or -1. In Little Alchemy
    there is no goal and no slot, `action` is the entity, and `product` (n, P) holds all products of the mix.

    :ivar entities: labels of the env ids 1, 2, ...
    """

    SCHEMA = SCHEMA
    LAYOUT = staticmethod(layout)

    entities: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Memory:
        """Read the memory in a folder.

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
    def mixes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mixes in order, as int64 ids into `entities`: (m, 2) pairs, the lesser id first, and (m, P)
        products, padded with -1."""
        steps = self.records[(self.records["selection"] > 0) & (self.records["picked"] > 0)]
        pairs = np.sort(np.stack([steps["selection"], steps["picked"]], axis=1).astype(np.int64), axis=1)
        made = steps["product"].astype(np.int64)
        return pairs - 1, (made if made.ndim > 1 else made[:, None]) - 1

    @property
    def sightings(self) -> np.ndarray:
        """Return (k, 5) int64 distinct, sorted rows a, b, product, number of times, number of the first mix. Ids index
        `entities`, a <= b; the product is -1 if the pair made nothing; mixes are numbered from 1."""
        pairs, made = self.mixes
        count, width = made.shape
        told = made >= 0
        told[:, :1] |= ~told.any(axis=1, keepdims=True)  # a mix without a product keeps one row
        rows = np.column_stack([np.repeat(pairs, width, axis=0), made.ravel()])[told.ravel()]
        number = np.repeat(np.arange(1, count + 1), width)[told.ravel()]
        distinct, first, times = np.unique(rows.reshape(-1, 3), axis=0, return_index=True, return_counts=True)
        return np.column_stack([distinct, times, number[first]]).reshape(-1, 5)

    @property
    def recipes(self) -> np.ndarray:
        """Return (k, 4) int64 distinct, sorted rows a, b, product, number of times: ids into `entities`, a <= b."""
        seen = self.sightings
        return seen[seen[:, 2] >= 0, :4]


@lru_cache(maxsize=8)
def entity_file(book: RecipeBook) -> dict[str, str]:
    """Return the file with the labels of a memory's ids: name -> text."""
    told = {"book": {"name": book.name, "hash": book.hash}, "entities": book.entities}
    return {ENTITIES: json.dumps(sealed(told), ensure_ascii=False, indent=0) + "\n"}


@checked
def memory_facts(memory: Memory) -> list[Triple]:
    """Return the binary facts of the recipes that an agent saw, sorted: combinesWith and componentOf, as in `facts`."""
    return sorted(binary_facts(memory, memory.recipes[:, :3]))


@checked
def memory_evidence(memory: Memory, run: str) -> list[Triple]:
    """Return the evidence of a run, sorted: which outcomes of pairs it saw, how often, and at which mix first. Node
    names contain the run, so that one query can read the graphs of several agents:

        sighting:RUN:fire+water>steam    ofRun RUN, hasMixed fire, hasMixed water, hasRecipe recipe:fire+water,
                                         hasOutcome steam, hasVisits 7, hasFirstMix 12

    A pair that made nothing has no recipe and no outcome.
    """
    triples: list[Triple] = []
    for a, b, made, times, first in memory.sightings.tolist():
        pair = f"{memory.entities[a]}+{memory.entities[b]}"
        product = memory.entities[made] if made >= 0 else ""
        node = f"sighting:{run}:{pair}>{product}"
        triples += [
            (node, OF_RUN, run),
            *((node, HAS_MIXED, memory.entities[party]) for party in sorted({a, b})),
            (node, HAS_VISITS, integer(times)),
            (node, HAS_FIRST_MIX, integer(first)),
        ]
        if product:
            triples += [(node, HAS_RECIPE, f"recipe:{pair}"), (node, HAS_OUTCOME, product)]
    return sorted(triples)


@checked
def stated_sightings(graph: KnowledgeGraph, run: str, entities: Sequence[str]) -> np.ndarray:
    """Read the `sightings` of a memory, (k, 5) int64, from the evidence in a graph.

    :param entities: labels that the ids index.
    :raises InputError: no evidence of this run, or evidence of other entities.
    """
    name = f"wordcraft/{run}{EVIDENCE}"
    vocabulary, facts = graph.arrays(name)
    place = {label: i for i, label in enumerate(entities)}
    id_of = np.array([place.get(label, -1) for label in vocabulary.entities], dtype=np.int64)

    def said(relation: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the subjects of a relation, ascending, and their objects."""
        here = facts[facts[:, 1] == vocabulary.relations.index(relation)] if relation in vocabulary.relations else none
        return here[np.lexsort((here[:, 2], here[:, 0]))][:, [0, 2]].T  # pyright: ignore[reportReturnType]

    none = np.zeros((0, 3), dtype=np.int64)
    nodes, visits = said(HAS_VISITS)
    numbers = np.array([_number(vocabulary.entities[i]) for i in [*visits, *said(HAS_FIRST_MIX)[1]]], dtype=np.int64)
    mixed, party = said(HAS_MIXED)
    rows = np.full((len(nodes), 5), -1, dtype=np.int64)
    if len(numbers) != 2 * len(nodes) or not np.array_equal(np.unique(mixed), nodes):
        raise InputError(f"the graph {name} is not the evidence of a memory: make it anew from the memory")
    rows[:, 0] = id_of[party[np.searchsorted(mixed, nodes)]]
    rows[:, 1] = id_of[party[np.searchsorted(mixed, nodes, side="right") - 1]]
    with_outcome, outcome = said(HAS_OUTCOME)
    rows[np.searchsorted(nodes, with_outcome), 2] = id_of[outcome]
    rows[:, 3:] = numbers.reshape(2, -1).T
    if (rows[:, :2] < 0).any() or (id_of[outcome] < 0).any():
        raise InputError(
            f"the graph {name} is about other things than these {len(entities)}: a memory of another world"
        )
    rows[:, :2].sort(axis=1)
    return rows[np.lexsort(rows[:, 2::-1].T)]


def _number(literal: str) -> int:
    return int(literal.split('"')[1])


@checked
def add_memory(graph: KnowledgeGraph, memory: Memory, run: str) -> dict[str, int]:
    """Write the recipes that an agent saw to a graph, replacing earlier ones: wordcraft/RUN, wordcraft/RUN/recipes
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
