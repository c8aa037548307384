"""A graph's facts as a data set of the Hugging Face hub: a Parquet file for each part, and a card, README.md."""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data.extras import extra
from gumption.data.provenance import versions
from gumption.data.writing import write_text

if TYPE_CHECKING:
    from gumption.kg import Vocabulary

CARD = "README.md"
SPLITS = {"train": "train", "valid": "validation", "test": "test"}  # as the hub calls them
COLUMNS = {"subject": 0, "relation": 1, "object": 2}
# Of the hub's names of licences, those that facts may come with; any other licence is "other" with a name of its own.
LICENCES = frozenset(
    ("apache-2.0", "mit", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0",
     "cc-by-nc-sa-4.0", "odbl", "odc-by", "pddl")
)  # fmt: skip
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LARGEST = "n>1M"
_LINK = re.compile(r"https?://[^\s()]+")


def check_installed() -> None:
    """InputError where what this needs is not installed."""
    with extra("huggingface", "a data set for Hugging Face"):
        for package in ("pyarrow", "yaml"):
            import_module(package)


def write_dataset(
    folder: Path, name: str, vocabulary: "Vocabulary", parts: Mapping[str, np.ndarray], said: Mapping[str, str]
) -> list[str]:
    """Write the files of the parts that have facts, and the card; the names of the former.

    :param name: of the graph.
    :param parts: part -> (n, 3) ids.
    :param said: what is said about the graph, such as its licence.
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
    """The card of a data set: what the hub reads in front, and what people read.

    :param facts: how many facts a part has; `files` where they are.
    """
    import yaml

    total = sum(facts.values())
    front = {
        "pretty_name": name,
        **licence(said),
        "tags": ["knowledge-graph", "link-prediction"],
        "task_categories": ["graph-ml"],
        "size_categories": [next((size for most, size in _SIZES if total < most), _LARGEST)],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": SPLITS[part], "path": file} for part, file in files.items()],
            }
        ],
    }
    lines = ["---", yaml.safe_dump(front, sort_keys=False, allow_unicode=True).rstrip(), "---", "", f"# {name}", ""]
    lines += [f"{total} facts of a knowledge graph: the columns `subject`, `relation` and `object` are labels.", ""]
    lines += ["| part | facts |", "| --- | ---: |"]
    lines += [f"| {SPLITS[part]} | {number} |" for part, number in facts.items()]
    lines += ["", "Every entity and relation is in the training part; manifest.json has the shares and the seed.", ""]
    if said:
        lines += [
            "## Sources and licence",
            "",
            *(f"- {key}: {' '.join(text.split())}" for key, text in said.items()),
            "",
        ]
    lines += [f"Written by gumption {versions()['gumption']}.", ""]
    return "\n".join(lines)


def licence(said: Mapping[str, str]) -> dict[str, Any]:
    """How the hub names a graph's licence: one of its own names, or "other" with a name and perhaps a link."""
    if "license" not in said:
        return {"license": "unknown"}
    text = said["license"]
    named = re.sub(r"[^a-z0-9.]+", "-", _LINK.sub("", text).lower()).strip("-")
    if named in LICENCES:
        return {"license": named}
    link = _LINK.search(text)
    return {"license": "other", "license_name": named, **({} if link is None else {"license_link": link[0]})}
