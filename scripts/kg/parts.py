"""Read data sets of link prediction: a folder of train, valid and test facts, or the name of a data set of PyKEEN."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError

if TYPE_CHECKING:
    import numpy as np

    from gumption.kg import Vocabulary
    from gumption.kg.links.predictor import LinkPredictor
    from gumption.kg.links.ranking import Ranks

PARTS = ("train", "valid", "test")
ENDINGS = (".txt", ".tsv")
FOLDER = "train.txt, valid.txt and test.txt (or .tsv), a fact a line, separated by tabs"
_PYKEENS = {"train": "training", "valid": "validation", "test": "testing"}


def check_parts(folder: Path, wanted: str = FOLDER) -> dict[str, Path]:
    """Return the file of each part; raise InputError if a file is missing."""
    files = {}
    for part in PARTS:
        if (file := _part(folder, part)) is None:
            raise InputError(f"{folder} has no {part}.txt or {part}.tsv: give the folder of {wanted}")
        files[part] = file
    return files


def read_parts(folder: Path) -> tuple[Vocabulary, dict[str, np.ndarray]]:
    """Read the vocabulary of all three parts, and the (n, 3) int64 ids of the facts of each.

    :raises InputError: a file that is missing or broken.
    """
    return _read_files(check_parts(folder))


def read_dataset(place: str) -> tuple[Vocabulary, dict[str, np.ndarray]]:
    """Read a folder, as `read_parts`, or a data set of PyKEEN, which may download it.

    :raises InputError: a folder with a missing file; a name that is unknown to PyKEEN or that it cannot download.
    """
    if os.sep in place or _part(Path(place), "train") is not None:
        return read_parts(Path(place))
    from pykeen.datasets import dataset_resolver

    from gumption.data.manifest import near
    from gumption.kg.links.pykeen_training import quiet

    name = dataset_resolver.normalize(place)
    if name not in dataset_resolver.lookup_dict:
        known = near(name, sorted(dataset_resolver.lookup_dict))
        raise InputError(f"{place!r} is neither a folder of {FOLDER}, nor a data set of PyKEEN's{known}")
    try:
        with quiet():
            dataset: Any = dataset_resolver.make(name)
            factories = {part: getattr(dataset, name) for part, name in _PYKEENS.items()}
    except (OSError, ImportError) as error:
        raise InputError(
            f"PyKEEN cannot get the data set {name} ({error}): give --dataset a folder of {FOLDER}"
        ) from None
    if None in factories.values():
        raise InputError(f"the data set {name} has no validation facts: give --dataset a folder of {FOLDER}")
    files = {part: Path(getattr(dataset, f"{theirs}_path", None) or os.devnull) for part, theirs in _PYKEENS.items()}
    if all(file.is_file() and file.suffix in ENDINGS for file in files.values()):
        return _read_files(files)  # PyKEEN's triples lack facts of entities without training facts; 210 in WN18RR
    return _of_factories(factories)


def rank_part(
    predictor: LinkPredictor, vocabulary: Vocabulary, ids: Mapping[str, np.ndarray], part: str = "test"
) -> Ranks:
    """Return the ranks of the facts of a part, filtered by all three parts."""
    from gumption.kg import filtered_ranks

    known = [(vocabulary, rows) for rows in ids.values()]
    return filtered_ranks(predictor, (vocabulary, ids[part]), known, progress=True)


def side_rows(ranks: Ranks) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return columns and rows of the figures of ranks, for both sides together and for each side."""
    overall, sides = ranks.figures(), ranks.by_side()
    parts = {"both": overall, "objects": sides["object"], "subjects": sides["subject"]}
    rows = [(name, *(f"{part[figure]:.4f}" for figure in overall)) for name, part in parts.items()]
    return ["asked for", *overall], rows


def _part(folder: Path, part: str) -> Path | None:
    return next((file for ending in ENDINGS if (file := folder / f"{part}{ending}").is_file()), None)


def _read_files(files: Mapping[str, Path]) -> tuple[Vocabulary, dict[str, np.ndarray]]:
    from gumption.kg import KnowledgeGraph

    graph = KnowledgeGraph()
    for part, file in files.items():
        graph.load_file(file, graph=part)
    vocabulary, _ = graph.arrays()
    return vocabulary, {part: vocabulary.triples_to_ids(sorted(graph.triples(graph=part))) for part in files}


def _of_factories(factories: Mapping[str, Any]) -> tuple[Vocabulary, dict[str, np.ndarray]]:
    """Return vocabulary and ids of PyKEEN's triples, whose ids index the labels of the training part."""
    import numpy as np

    from gumption.kg import Vocabulary

    train = factories["train"]
    entities, relations = (
        [labels[index] for index in range(len(labels))]
        for labels in (train.entity_id_to_label, train.relation_id_to_label)
    )
    vocabulary = Vocabulary(sorted(entities), sorted(relations))
    entity, relation = vocabulary.entity_ids(entities), vocabulary.relation_ids(relations)
    ids = {}
    for part, factory in factories.items():
        theirs = factory.mapped_triples.numpy()
        ids[part] = np.stack([entity[theirs[:, 0]], relation[theirs[:, 1]], entity[theirs[:, 2]]], axis=1)
    return vocabulary, ids
