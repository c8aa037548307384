"""What tests of HALMA share: options of a given length, and knowledge bases that hold exactly what a test says."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest

from gumption.envs.halma.knowledge_base import KnowledgeBases
from gumption.envs.halma.maze import DIRECTIONS

MakeKnowledge = Callable[..., KnowledgeBases]
LEFT, UP, RIGHT, DOWN = range(4)


def option(direction: int, length: int, size: int = 5) -> list[int]:
    """An option of so many cells, spread over its primitives."""
    return [direction, *(min(3, max(0, length - 3 * i)) for i in range(size))]


@pytest.fixture(scope="session")
def make_knowledge() -> MakeKnowledge:
    """Knowledge bases of pairs (d1, d2, type) in KB_S and KB_C, of digits (digit, type) that are understood, and of
    panels, each visited as often as the threshold asks; and of pairs that panels showed so many times besides.
    """

    def make(
        s: Iterable[tuple[int, int, str]] = (),
        c: Iterable[tuple[int, int, str]] = (),
        a: Iterable[tuple[int, str]] = (),
        panels: np.ndarray | None = None,
        threshold: int = 3,
        shown: Mapping[tuple[int, int, str], int] | None = None,
    ) -> KnowledgeBases:
        semantics, causality = np.zeros((2, 10, 10, 4), dtype=np.int64)
        for table, pairs in ((semantics, s), (causality, c)):
            for d1, d2, x in pairs:
                table[d1, d2, DIRECTIONS.index(x)] = threshold
        sightings = semantics.copy()
        for (d1, d2, x), times in (shown or {}).items():
            sightings[d1, d2, DIRECTIONS.index(x)] += times
        used = [(digit, *[DIRECTIONS.index(x)] * 2, digit, threshold) for digit, x in sorted(set(a))]
        options = np.array(used, dtype=np.int64).reshape(-1, 5)
        affordance = np.zeros((10, 4), dtype=np.int64)
        affordance[options[:, 0], options[:, 1]] = threshold
        rows = np.zeros((0, 11), dtype=np.int8) if panels is None else np.unique(panels, axis=0)
        return KnowledgeBases(
            semantics=semantics,
            sightings=sightings,
            causality=causality,
            affordance=affordance,
            affordance_options=options,
            shown=affordance > 0,
            threshold=threshold,
            records=0,
            max_opt_len=5,
            memory="none",
            _panels=(rows, np.full(len(rows), threshold)),
        )

    return make
