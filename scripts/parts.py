"""The folder of a link-prediction data set: train.txt, valid.txt and test.txt, a fact a line, separated by tabs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data import InputError

if TYPE_CHECKING:
    import numpy as np

    from gumption.kg import Vocabulary

PARTS = ("train", "valid", "test")


def check_parts(folder: Path, wanted: str = "train.txt, valid.txt and test.txt") -> None:
    """InputError, which says what folder is wanted, where one of the files is missing."""
    for part in PARTS:
        if not (folder / f"{part}.txt").is_file():
            raise InputError(f"{folder} has no {part}.txt: give the folder of {wanted}")


def read_parts(folder: Path) -> tuple[Vocabulary, dict[str, np.ndarray]]:
    """The vocabulary of all three, and the (n, 3) int64 ids of the facts of each.

    :raises InputError: a file that is missing or broken.
    """
    from gumption.kg import KnowledgeGraph

    check_parts(folder)
    graph = KnowledgeGraph()
    for part in PARTS:
        graph.load_file(folder / f"{part}.txt", graph=part)
    vocabulary, _ = graph.arrays()
    return vocabulary, {part: vocabulary.triples_to_ids(sorted(graph.triples(graph=part))) for part in PARTS}
