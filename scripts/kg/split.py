"""Write a graph as the folder of a link-prediction data set: a file for each part, and manifest.json."""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.manifest import file_sha256
from gumption.data.provenance import versions
from gumption.data.writing import whole_folder, write_json, write_text
from gumption.kg.facts import between_entities
from gumption.kg.leaks import Likeness, alike, families, following
from gumption.scripts.kg.parts import PARTS

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph, Vocabulary


MANIFEST = "manifest.json"
FORMATS = ("tsv", "huggingface")


def write_parts(
    graph: "KnowledgeGraph", name: str, out: Path, shares: dict[str, float], seed: int, form: str = "tsv",
    together: bool = True, literals: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Split the facts of a named graph at random and write them; every entity and relation is in the training part.

    :param shares: shares of valid and test.
    :param form: "tsv", train.txt and so on for PyKEEN; "huggingface", Parquet files with a card.
    :param together: keep facts that follow from each other by inverse, near-duplicate or symmetric relations in the
        same part.
    :param literals: keep facts with literals. Otherwise, and always for triple terms, they are left out and counted in
        a Note.
    :returns: the manifest.
    :raises InputError: impossible shares, a folder that exists, an unknown form or a missing package for it.
    """
    if form not in FORMATS:
        raise InputError(f"--format {form}: a data set is written as one of {', '.join(FORMATS)}")
    if form == "huggingface":
        with extra("huggingface", "a data set for Hugging Face"):
            for package in ("pyarrow", "yaml"):
                import_module(package)
    if out.exists():
        raise InputError(f"{out} exists already: choose a new folder")
    vocabulary, ids, left_out = between_entities(*graph.arrays(name), literals)
    likenesses = alike(ids)
    rows = split(ids, shares, seed, likenesses if together else ())
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
            "left_out": left_out._asdict(),
            "alike": [likeness.told(vocabulary) for likeness in likenesses],
            "test_facts_that_follow": int(following(likenesses, parts["train"], parts["test"]).sum()),
            "sha256": {file: file_sha256(folder / file) for file in files},
        }
        write_json(folder / MANIFEST, manifest)
    left_out.note()
    return manifest


def _write_tables(
    folder: Path, vocabulary: "Vocabulary", parts: dict[str, np.ndarray], about: dict[str, dict[str, str]]
) -> list[str]:
    """Write the .txt file of each part; raise InputError for a label that readers would misread."""
    from gumption.kg.store.files import write_facts

    labels = (*vocabulary.entities, *vocabulary.relations)
    if (odd := next((x for x in labels if x.startswith('"') and x.count('"') % 2), None)) is not None:
        problem = "begins with a quotation mark that nothing closes, and readers of such files would join lines"
        raise InputError(f"the label {odd!r} {problem}: export to a file instead, or with --format huggingface")
    files = {part: f"{part}.txt" for part in PARTS}
    for part, file in files.items():
        write_facts(folder / file, {"default": vocabulary.ids_to_triples(parts[part])}, about)
    return list(files.values())


def split(
    ids: np.ndarray, shares: dict[str, float], seed: int, likenesses: "Sequence[Likeness]" = ()
) -> dict[str, np.ndarray]:
    """Split (n, 3) ids; return the sorted row numbers of each part.

    Facts that follow from each other by a likeness form a family and stay together. A part is then smaller than its
    share, by less than one family.
    """
    if seed < 0 or not all(0 <= share < 1 for share in shares.values()) or sum(shares.values()) >= 1:
        raise InputError(f"shares {shares}, seed {seed}: shares are at least 0 and below 1 in all, a seed at least 0")
    order = np.random.default_rng(seed).permutation(len(ids))
    _, entities = np.unique(ids[order][:, [0, 2]], return_index=True)  # flat index: row = index // 2
    _, relations = np.unique(ids[order][:, 1], return_index=True)
    kept = np.zeros(len(ids), dtype=bool)
    kept[entities // 2] = kept[relations] = True
    family = families(likenesses, ids) if likenesses else np.arange(len(ids))
    if likenesses:
        kept = np.isin(family[order], family[order][kept])
    free = order[~kept]
    sizes = {part: round(share * len(ids)) for part, share in shares.items()}
    if sum(sizes.values()) > len(free):
        raise InputError(
            f"of {len(ids)} facts {len(free)} can be set aside, the others are the only ones of an entity or relation "
            f"in training: {sum(sizes.values())} are too many"
        )
    valid, test = sizes["valid"], sizes["test"]
    if likenesses and len(free):
        free, ends = _by_family(free, family)
        valid, test = (int(ends[ends.searchsorted(size, side="right") - 1]) for size in (valid, valid + test))
        test -= valid
    parts = {"valid": free[:valid], "test": free[valid : valid + test]}
    parts["train"] = np.concatenate([order[kept], free[valid + test :]])
    return {part: np.sort(rows) for part, rows in parts.items()}


def follows_text(number: int, test: int, found: Sequence[Mapping[str, Any]]) -> str:
    """Return a line on the test facts that follow from training facts, and on the relations responsible."""
    names = ["symmetric" if one["kind"] == "symmetric" else f"{one['kind']} of {one['other']}" for one in found]
    shown = "; ".join(f"{one['relation']} ({name})" for one, name in zip(found[:3], names, strict=False))
    which = f"{len(found)} inverse, near-duplicate or symmetric relation{'' if len(found) == 1 else 's'}"
    return f"{number:,} of {test:,} test facts follow from a training fact ({which}{': ' if found else ''}{shown})"


def _by_family(rows: np.ndarray, family: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows grouped by family, in the order of each family's first row, and the allowed ends of a part."""
    _, first, of = np.unique(family[rows], return_index=True, return_inverse=True)
    place = first[of.reshape(-1)]
    order = np.argsort(place, kind="stable")
    return rows[order], np.append(np.flatnonzero(np.diff(place[order], prepend=-1)), len(rows))


# ---- Write a data set for the Hugging Face hub: a Parquet file for each part, and a card, README.md.

CARD = "README.md"
SPLITS = {"train": "train", "valid": "validation", "test": "test"}  # part -> its name on the hub
COLUMNS = {"subject": 0, "relation": 1, "object": 2}
# Names of licences on the hub; any other licence becomes "other" with its own name.
LICENCES = frozenset(
    ("apache-2.0", "mit", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0",
     "cc-by-nc-sa-4.0", "odbl", "odc-by", "pddl")
)  # fmt: skip
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LARGEST = "n>1M"
_LINK = re.compile(r"https?://[^\s()]+")


def write_dataset(
    folder: Path, name: str, vocabulary: "Vocabulary", parts: Mapping[str, np.ndarray], said: Mapping[str, str]
) -> list[str]:
    """Write the files of the parts that have facts, and the card; return the names of the files.

    :param name: name of the graph.
    :param parts: part -> (n, 3) ids.
    :param said: annotations of the graph, such as its licence.
    """
    import pyarrow
    from pyarrow import parquet

    labels = {"subject": vocabulary.entities, "relation": vocabulary.relations, "object": vocabulary.entities}
    arrays = {column: pyarrow.array(each, pyarrow.string()) for column, each in labels.items()}
    files = {part: f"{SPLITS[part]}.parquet" for part, ids in parts.items() if len(ids)}
    for part, file in files.items():
        columns = {column: arrays[column].take(pyarrow.array(parts[part][:, at])) for column, at in COLUMNS.items()}
        parquet.write_table(pyarrow.table(columns), folder / file)
    write_text(folder / CARD, card(name, {part: len(parts[part]) for part in files}, files, said))
    return list(files.values())


def card(name: str, facts: Mapping[str, int], files: Mapping[str, str], said: Mapping[str, str]) -> str:
    """Return the card of a data set: metadata for the hub, then text for people.

    :param facts: the number of facts of each part; `files` their files.
    """
    import yaml

    total = sum(facts.values())
    data_files = [{"split": SPLITS[part], "path": file} for part, file in files.items()]
    front = {
        "pretty_name": name,
        **licence(said),
        "tags": ["knowledge-graph", "link-prediction"],
        "task_categories": ["graph-ml"],
        "size_categories": [next((size for most, size in _SIZES if total < most), _LARGEST)],
        "configs": [{"config_name": "default", "data_files": data_files}],
    }
    lines = ["---", yaml.safe_dump(front, sort_keys=False, allow_unicode=True).rstrip(), "---", "", f"# {name}", ""]
    lines += [f"{total} facts of a knowledge graph: the columns `subject`, `relation` and `object` are labels.", ""]
    lines += ["| part | facts |", "| --- | ---: |"]
    lines += [f"| {SPLITS[part]} | {number} |" for part, number in facts.items()]
    lines += ["", "Every entity and relation is in the training part; manifest.json has the shares and the seed.", ""]
    if said:
        lines += ["## Sources and licence", ""]
        lines += [*(f"- {key}: {' '.join(text.split())}" for key, text in said.items()), ""]
    lines += [f"Written by gumption {versions()['gumption']}.", ""]
    return "\n".join(lines)


def licence(said: Mapping[str, str]) -> dict[str, Any]:
    """Return the hub's metadata of a licence: one of `LICENCES`, or "other" with a name and, if present, a link."""
    if "license" not in said:
        return {"license": "unknown"}
    text = said["license"]
    named = re.sub(r"[^a-z0-9.]+", "-", _LINK.sub("", text).lower()).strip("-")
    if named in LICENCES:
        return {"license": named}
    link = _LINK.search(text)
    return {"license": "other", "license_name": named, **({} if link is None else {"license_link": link[0]})}
