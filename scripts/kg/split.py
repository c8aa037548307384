"""A graph's facts as the folder of a link-prediction data set: a file for each part, and manifest.json."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.manifest import file_sha256
from gumption.data.writing import whole_folder, write_json
from gumption.scripts.parts import PARTS

from .huggingface import check_installed, write_dataset

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph, Vocabulary

MANIFEST = "manifest.json"
FORMATS = ("tsv", "huggingface")


def write_parts(
    graph: "KnowledgeGraph", name: str, out: Path, shares: dict[str, float], seed: int, form: str = "tsv"
) -> dict[str, Any]:
    """Split the facts of one named graph at random and write them; every entity and relation is in the training part.

    :param shares: of valid and test.
    :param form: "tsv", train.txt and so on as PyKEEN reads them; "huggingface", Parquet files with a card.
    :returns: the manifest.
    :raises InputError: shares that leave nothing for training or cannot be had, or a folder that is there; an unknown
        form, or a package for it that is not installed.
    """
    if form not in FORMATS:
        raise InputError(f"--format {form}: a data set is written as one of {', '.join(FORMATS)}")
    if form == "huggingface":
        check_installed()
    if out.exists():
        raise InputError(f"{out} exists already: choose a new folder")
    vocabulary, ids = graph.arrays(name)
    rows = split(ids, shares, seed)
    parts = {part: ids[rows[part]] for part in PARTS}
    said = graph.annotations(name)
    with whole_folder(out) as folder:
        if form == "huggingface":
            files = write_dataset(folder, name, vocabulary, parts, said)
        else:
            files = _write_tables(folder, vocabulary, parts, {name: said} if said else {})
        manifest = {
            "graph": name,
            "content_hash": graph.content_hash(name),
            "entities": len(vocabulary.entities),
            "relations": len(vocabulary.relations),
            "shares": shares,
            "seed": seed,
            "facts": {part: len(rows[part]) for part in PARTS},
            "sha256": {file: file_sha256(folder / file) for file in files},
        }
        write_json(folder / MANIFEST, manifest)
    return manifest


def _write_tables(
    folder: Path, vocabulary: "Vocabulary", parts: dict[str, np.ndarray], about: dict[str, dict[str, str]]
) -> list[str]:
    """Write the .txt file of each part; InputError for a label that their readers would misread."""
    from gumption.kg.store.files import write_facts

    labels = (*vocabulary.entities, *vocabulary.relations)
    if (odd := next((x for x in labels if x.startswith('"') and x.count('"') % 2), None)) is not None:
        problem = "begins with a quotation mark that nothing closes, and readers of such files would join lines"
        raise InputError(f"the label {odd!r} {problem}: export to a file instead, or with --format huggingface")
    files = {part: f"{part}.txt" for part in PARTS}
    for part, file in files.items():
        write_facts(folder / file, {"default": vocabulary.ids_to_triples(parts[part])}, about)
    return list(files.values())


def split(ids: np.ndarray, shares: dict[str, float], seed: int) -> dict[str, np.ndarray]:
    """The rows of each part, sorted, of (n, 3) ids."""
    if seed < 0 or not all(0 <= share < 1 for share in shares.values()) or sum(shares.values()) >= 1:
        raise InputError(f"shares {shares}, seed {seed}: shares are at least 0 and below 1 in all, a seed at least 0")
    order = np.random.default_rng(seed).permutation(len(ids))
    _, entities = np.unique(ids[order][:, [0, 2]], return_index=True)  # of subjects and objects in turn
    _, relations = np.unique(ids[order][:, 1], return_index=True)
    kept = np.zeros(len(ids), dtype=bool)
    kept[entities // 2] = kept[relations] = True
    free = order[~kept]
    sizes = {part: round(share * len(ids)) for part, share in shares.items()}
    if sum(sizes.values()) > len(free):
        raise InputError(
            f"of {len(ids)} facts {len(free)} can be set aside, the others are the only ones of an entity or relation "
            f"in training: {sum(sizes.values())} are too many"
        )
    valid, test = sizes["valid"], sizes["test"]
    parts = {"valid": free[:valid], "test": free[valid : valid + test]}
    parts["train"] = np.concatenate([order[kept], free[valid + test :]])
    return {part: np.sort(rows) for part, rows in parts.items()}
