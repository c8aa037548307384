"""`gumption kg export --format huggingface`: what `datasets` and the hub read is what the graph says."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
import yaml

from gumption.kg import KnowledgeGraph
from gumption.scripts.kg.split import licence

FACTS = [(f"thing {i}", f"r{i % 3}", f"thing {i * 7 % 50}") for i in range(50)]
FACTS += [(f"thing {i}", "r0", f"thing {(i + 1) % 50}") for i in range(50)]
FACTS += [("thing 1", "says", '"5, \\"x\\""@en'), ("thing 1", "says", '"unclosed'), ("NA", "tab\there", "näher\nan")]


def front_matter(folder: Path) -> dict:
    _, front, _ = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front)


@pytest.fixture
def graph(tmp_path: Path) -> KnowledgeGraph:
    graph = KnowledgeGraph()
    graph.add(FACTS, graph="odd things")
    said = {"license": "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)", "attribution": "Ann\nand Bob"}
    graph.annotate("odd things", said)
    graph.save(tmp_path / "kg.nq")
    return graph


def test_datasets_reads_the_facts_of_the_graph(
    gumption, graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    from datasets import load_dataset

    export = ("export", "kg.nq", "--literals", "--validation-ratio", "0.05", "--seed", "3", "--format", "huggingface")
    told = gumption.ok(*export, "--out", "set")
    assert told.endswith("valid 5, test 10 facts written to set\n")
    again = json.loads(gumption.ok(*export, "--out", "again", "--json"))
    read = load_dataset(str(tmp_path / "set"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in read.items()} == {"train": 88, "validation": 5, "test": 10}
    assert read["train"].column_names == ["subject", "relation", "object"]
    found = [tuple(row.values()) for rows in read.values() for row in rows]
    assert sorted(found) == list(graph.triples())
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest == again
    assert sorted(manifest["sha256"]) == ["test.parquet", "train.parquet", "validation.parquet"]
    for file, sha256 in manifest["sha256"].items():
        assert hashlib.sha256((tmp_path / "set" / file).read_bytes()).hexdigest() == sha256


def test_the_card_has_what_the_hub_wants_and_the_licence(gumption, graph, tmp_path: Path) -> None:
    from huggingface_hub import DatasetCard

    gumption.ok("export", "kg.nq", "--literals", "--out", "set", "--test-ratio", "0", "--format", "huggingface")
    front = front_matter(tmp_path / "set")
    assert front["license"] == "cc-by-sa-4.0"
    assert front["pretty_name"] == "odd things"
    assert front["size_categories"] == ["n<1K"]
    [config] = front["configs"]
    assert config["data_files"] == [
        {"split": "train", "path": "train.parquet"},
        {"split": "validation", "path": "validation.parquet"},
    ]
    assert not (tmp_path / "set" / "test.parquet").exists()
    card = DatasetCard.load(tmp_path / "set" / "README.md")
    assert card.data.to_dict()["configs"] == front["configs"]
    assert "- attribution: Ann and Bob\n- license: CC BY-SA 4.0 (https:" in card.text
    assert "103 facts" in card.text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, {"license": "unknown"}),
        ({"license": "CC0-1.0"}, {"license": "cc0-1.0"}),
        (
            {"license": "WordNet License (https://wordnet.princeton.edu/license-and-commercial-use)"},
            {
                "license": "other",
                "license_name": "wordnet-license",
                "license_link": "https://wordnet.princeton.edu/license-and-commercial-use",
            },
        ),
        ({"license": "MIT; CC0-1.0"}, {"license": "other", "license_name": "mit-cc0-1.0"}),
    ],
)
def test_licences_as_the_hub_names_them(said: dict, expected: dict) -> None:
    assert licence(said) == expected


def test_what_cannot_be_written(gumption, graph, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = gumption.refused
    assert "--format csv: a data set is written as one of tsv, huggingface" in refused(
        "export", "kg.nq", "--out", "set", "--format", "csv"
    )
    assert "--seed and --format are for a folder, a name without an ending" in refused(
        "export", "kg.nq", "--out", "set.nt", "--format", "huggingface"
    )
    assert "or with --format huggingface" in refused("export", "kg.nq", "--out", "set")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "needs the package pyarrow: pip install 'gumption[huggingface]'" in refused(
        "export", "kg.nq", "--out", "set", "--format", "huggingface"
    )
