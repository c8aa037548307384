"""Rule mining in `gumption bench`, on a random graph with the counts of FB15k-237."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time

import numpy as np

from gumption.kg import Vocabulary
from gumption.scripts.measurement import BenchSettings, Case, Measurement, cart_pole, compared

TYPES = 25
POLE_STEPS = 1_000_000  # steps of CartPole, the yardstick of durations
LIMIT = 8  # target: at most this multiple of the yardstick's CPU time


@dataclass(frozen=True)
class Shape:
    """The counts of a data set.

    :ivar derived: share of relations that mostly follow from other relations.
    """

    entities: int
    relations: int
    facts: int
    derived: float


FB15K_237 = Shape(14_541, 237, 310_116, derived=0.2)


def rules_case(settings: BenchSettings) -> Iterator[Measurement]:
    """Measure the CPU seconds of mining a graph with the counts of FB15k-237, at the default thresholds."""
    from gumption.kg.rules.mining import mine_rules

    settings.tell("mining rules")
    graph = draw_graph(FB15K_237)
    started = process_time()
    rules = len(mine_rules(graph))
    seconds, pole = [process_time() - started], cart_pole(process_time)
    what = f"mining rules from {FB15K_237.facts:,} facts of {FB15K_237.relations} relations"
    yardstick, theirs = f"{POLE_STEPS:,} steps of CartPole-v1", [POLE_STEPS / pole(1.0)]
    yield compared(what, "CPU s", seconds, yardstick, theirs, LIMIT, details={"rules": rules}, section="Rule mining")


CASES = {"rules": Case(rules_case, code=("kg/rules", "scripts/papers/kg/bench.py"))}


def draw_graph(shape: Shape, seed: int = 0) -> tuple[Vocabulary, np.ndarray]:
    """Draw a random graph: a vocabulary and the (facts, 3) int64 ids of distinct facts.

    As in Freebase, a relation joins entities of two types, a few relations have most of the facts, and a few entities
    (a country, a gender) occur in very many facts. Derived relations are copies, inverses and compositions of other
    relations, with a quarter of their facts drawn at random.
    """
    rng = np.random.default_rng(seed)
    sizes = _zipf(shape.relations, 8, shape.facts)
    bounds = np.concatenate([[0], np.cumsum(_zipf(TYPES, 2, shape.entities))])
    skews = rng.uniform(1, 4, TYPES)  # per type: how unevenly facts are distributed over its entities
    skews[1] = 7
    parts: list[np.ndarray] = []
    others: list[np.ndarray] = []  # pairs of relations that are not derived
    for size in rng.permutation(sizes).tolist():
        keys = np.empty(0, dtype=np.int64)
        derived = bool(others) and rng.random() < shape.derived
        if derived:
            keys = _distinct(_derived(others, rng), shape.entities, rng)[: size * 3 // 4]
        spread = size
        while len(keys) < size:
            types = _types(np.diff(bounds), size, rng)
            pairs = _drawn(bounds, skews, types, spread, rng)
            keys = np.concatenate([keys, np.setdiff1d(_distinct(pairs, shape.entities, rng), keys)])[:size]
            spread *= 2
        parts.append(np.stack(np.divmod(keys, shape.entities), axis=1))
        others += [] if derived else parts[-1:]
    kinds = np.repeat(np.arange(shape.relations), [len(part) for part in parts])
    pairs = np.concatenate(parts)
    ids = rng.permutation(np.stack([pairs[:, 0], kinds, pairs[:, 1]], axis=1))
    names = [f"entity {i:05}" for i in range(shape.entities)], [f"relation {i:04}" for i in range(shape.relations)]
    return Vocabulary(*names), ids


def _zipf(number: int, flat: int, total: int) -> np.ndarray:
    """Return `number` integers with the sum `total`, the i-th proportional to 1 / (i + flat)."""
    shares = 1 / (np.arange(number) + flat)
    return np.diff(np.concatenate([[0], np.cumsum(shares) / shares.sum() * total]).round().astype(np.int64))


def _types(sizes: np.ndarray, facts: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw the types of subjects and objects of a relation: large types are more likely, small ones are excluded."""
    room = np.outer(sizes, sizes)
    shares = np.where(room > 20 * facts, room, 0).ravel()
    first, second = np.divmod(rng.choice(TYPES**2, p=shares / shares.sum()), TYPES)
    return int(first), int(second)


def _drawn(
    bounds: np.ndarray, skews: np.ndarray, types: tuple[int, int], facts: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw pairs of entities of two types. In half of the pairs, both entities have similar positions within their
    types, so that entities share neighbours."""
    first = rng.random(facts)
    near = np.clip(first + rng.normal(0, 0.02, facts), 0, 1 - 1e-9)
    second = np.where(rng.random(facts) < 0.5, near, rng.random(facts))
    ends = [
        bounds[kind] + ((bounds[kind + 1] - bounds[kind]) * place ** skews[kind]).astype(np.int64)
        for kind, place in zip(types, (first, second), strict=True)
    ]
    return np.stack(ends, axis=1)


def _derived(parts: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Return the pairs of a random relation, of its inverse, or of a composition of two relations."""
    source = parts[rng.integers(len(parts))]
    how = rng.integers(3)
    if how < 2:
        return source[:, ::-1] if how else source
    for place in rng.permutation(len(parts)).tolist():
        other = parts[place][np.argsort(parts[place][:, 0], kind="stable")]
        first, end = (np.searchsorted(other[:, 0], source[:, 1], side) for side in ("left", "right"))
        joined = np.flatnonzero(end > first)
        if len(joined):
            picks = rng.integers(first[joined], end[joined])
            return np.stack([source[joined, 0], other[picks, 1]], axis=1)
    return source


def _distinct(pairs: np.ndarray, entities: int, rng: np.random.Generator) -> np.ndarray:
    """Return the distinct pairs as keys, in random order."""
    return rng.permutation(np.unique(pairs[:, 0] * entities + pairs[:, 1]))
