"""A graph's facts as the folder of a link-prediction data set: train.txt, valid.txt, test.txt and manifest.json."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.manifest import file_sha256
from gumption.data.writing import whole_folder, write_json
from gumption.scripts.parts import PARTS

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph

MANIFEST = "manifest.json"


def write_parts(graph: "KnowledgeGraph", name: str, out: Path, shares: dict[str, float], seed: int) -> dict[str, Any]:
    """Split the facts of one named graph at random and write them; every entity and relation is in the training part.

    :param shares: of valid and test.
    :returns: the manifest.
    :raises InputError: shares that leave nothing for training or cannot be had, or a folder that is there.
    """
    from gumption.kg.store.files import write_facts

    if out.exists():
        raise InputError(f"{out} exists already: choose a new folder")
    vocabulary, ids = graph.arrays(name)
    labels = (*vocabulary.entities, *vocabulary.relations)
    if (odd := next((x for x in labels if x.startswith('"') and x.count('"') % 2), None)) is not None:
        problem = "begins with a quotation mark that nothing closes, and readers of such files would join lines"
        raise InputError(f"the label {odd!r} {problem}: export to a file instead")
    rows = split(ids, shares, seed)
    about = {name: said} if (said := graph.annotations(name)) else {}
    with whole_folder(out) as folder:
        for part in PARTS:
            facts = vocabulary.ids_to_triples(ids[rows[part]])
            write_facts(folder / f"{part}.txt", {"default": facts}, about)
        manifest = {
            "graph": name,
            "content_hash": graph.content_hash(name),
            "entities": len(vocabulary.entities),
            "relations": len(vocabulary.relations),
            "shares": shares,
            "seed": seed,
            "facts": {part: len(rows[part]) for part in PARTS},
            "sha256": {f"{part}.txt": file_sha256(folder / f"{part}.txt") for part in PARTS},
        }
        write_json(folder / MANIFEST, manifest)
    return manifest


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
