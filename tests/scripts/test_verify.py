"""`gumption verify`: each file against its hash, what a run depends on, and what it can still do."""

import gzip
import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from gumption.agents.gradual.recurrent import train_recurrent
from gumption.agents.gradual.recurrent_config import RecurrentConfig
from gumption.agents.run_folder import RunFolder
from gumption.envs.record_memory import RecordMemory
from gumption.envs.wordcraft import RecipeBook, make_split
from gumption.kg import ComplEx, KnowledgeGraph
from gumption.scripts import cli

FACTS = [("water", "makes", "mud"), ("earth", "makes", "mud"), ("fire", "makes", "steam")]


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    """`gumption verify --json` in an empty folder: the exit code, and what is said of each path, or the error."""
    monkeypatch.chdir(tmp_path)

    def call(*paths: str) -> tuple[int, Any]:
        monkeypatch.setattr(sys, "argv", ["gumption", "verify", *paths, "--json"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), json.loads(out) if out else err

    return call


def states(report: Any) -> dict[str, str]:
    return {one["place"]: one["state"] for one in report["files"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, small_book: Path) -> Path:
    """A folder with a run that looks a graph up, and whose book and split are files of one's own."""
    from gumption.agents import TrainConfig, train_impala

    folder = tmp_path_factory.mktemp("verify")
    make_split(RecipeBook.load(small_book), seed=3).save(folder / "mine.json")
    KnowledgeGraph.load(_facts_of(small_book, folder)).close()
    config = TrainConfig(
        recipe_book=str(small_book), split=str(folder / "mine.json"), kg=str(folder / "mine.nq"), device="cpu",
        features="onehot", num_distractors=1, total_steps=256, eval_interval=256,
    )  # fmt: skip
    train_impala(config, folder / "run", progress=False)
    return folder


def _facts_of(book: Path, folder: Path) -> Path:
    from gumption.envs.wordcraft import facts

    graph = KnowledgeGraph()
    graph.add(facts(book, partition="train"))
    graph.save(folder / "mine.nq")
    return folder / "mine.nq"


def test_a_run_is_whole(verify: Callable[..., Any], made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    code, told = verify("run")
    assert code == 0
    found = states(told["run"])
    for name in (
        "config.json", "manifest.json", "final.json", "metrics.jsonl", "checkpoint", "knowledge/scores.json",
        "files/split/mine.json", "files/recipe_book/book.tsv",
    ):  # fmt: skip
        assert found[name] == "unchanged", name
    assert told["run"]["versions"] == "those of this machine"
    assert told["run"]["knowledge"].startswith("mine.nq, sha256 ")
    assert told["run"]["can be evaluated"] == "yes"
    assert told["run"]["can go on"] == "no: it is complete"
    (tmp_path / "run" / "final.json").unlink()
    assert verify("run")[1]["run"]["can go on"] == "yes, with --resume"


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("config.json", "CHANGED"), ("manifest.json", "CHANGED"), ("final.json", "CHANGED"),
        ("metrics.jsonl", "CHANGED"), ("checkpoint/tensors.safetensors", "CHANGED"),
        ("checkpoint/checkpoint.json", "CHANGED"), ("knowledge/scores.json", "CHANGED"),
        ("knowledge/graph.nq", "CHANGED"), ("files/split/mine.json", "CHANGED"),
        ("files/recipe_book/book.tsv", "CHANGED"), ("knowledge/graph.nq", "MISSING"),
        ("files/split/mine.json", "MISSING"), ("knowledge/scores.json", "MISSING"), ("manifest.json", "MISSING"),
        ("metrics.jsonl", "MISSING"), ("checkpoint", "MISSING"),
    ],
)  # fmt: skip
def test_a_changed_or_missing_file_of_a_run_is_told(
    verify: Callable[..., Any], made: Path, tmp_path: Path, name: str, state: str
) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    file = tmp_path / "run" / name
    if state == "MISSING":
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    else:
        content = file.read_bytes()
        # A digit, or a letter of a label: what is left can still be read as what it was.
        at = (
            max(content.rfind(letter) for letter in (b"2", b"e")) if b"water" not in content else content.find(b"water")
        )
        file.write_bytes(content[:at] + (b"3" if content[at : at + 1] == b"2" else b"a") + content[at + 1 :])
    code, told = verify("run")
    assert code == 1
    place = "checkpoint" if name.startswith("checkpoint") else name
    assert states(told["run"])[place] == state
    if name == "manifest.json":
        assert told["run"]["versions"] == "not known"
    (tmp_path / "run" / "final.json").unlink(missing_ok=True)
    if name not in ("final.json", "metrics.jsonl", "checkpoint"):  # without final.json the run has these not yet
        assert verify("run")[1]["run"].get("can go on", "no").startswith("no")


def test_a_file_that_a_run_names_by_its_hash_is_told(
    verify: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gumption.agents.run_folder.LARGEST_COPY", 3)
    (tmp_path / "mine.toml").write_text('tasks = ["micro1"]\n')
    from gumption.agents.settings import WorldConfig

    RunFolder.of(tmp_path / "run", WorldConfig("gradual", env=(("tasks", str(tmp_path / "mine.toml")),))).begin({})
    code, told = verify("run")
    assert code == 0
    [about] = [one for one in told["run"]["files"] if one["place"] == "mine.toml"]
    assert about["state"] == "no hash"
    assert "too large to be kept; name it when the run needs it" in about["told"]
    assert told["run"]["can be evaluated"].startswith("no: ")
    assert told["run"]["can go on"] == "yes, from its beginning"


def test_each_file_is_judged_once_and_a_copy_by_its_hash_alone(
    verify: Callable[..., Any], made: Path, tmp_path: Path
) -> None:
    """A word list of one's own is no graph, whatever its name ends with."""
    from gumption.agents.settings import WorldConfig

    (tmp_path / "mine.txt").write_text("not a graph\n")
    RunFolder.of(tmp_path / "own", WorldConfig("gradual", env=(("tasks", str(tmp_path / "mine.txt")),))).begin({})
    shutil.copytree(made / "run", tmp_path / "run")
    code, told = verify("own", "run")
    assert code == 0
    for run in ("own", "run"):
        places = [one["place"] for one in told[run]["files"]]
        assert len(set(places)) == len(places)
    assert states(told["own"])["files/env/mine.txt"] == "unchanged"


def test_what_lies_beside_a_checkpoint_is_read_too(verify: Callable[..., Any], tmp_path: Path) -> None:
    ComplEx.fit(FACTS, rank=2, epochs=1, device="cpu").save(tmp_path / "models" / "model")
    (tmp_path / "models" / "model" / "about.json").write_text("{")
    code, told = verify("models")
    assert code == 3
    assert states(told["models"]) == {"model": "unchanged", "model/about.json": "CANNOT BE READ"}
    code, told = verify("models/model")
    assert (code, states(told["models/model"])["about.json"]) == (3, "CANNOT BE READ")


def test_other_versions_are_told(verify: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = RecurrentConfig(
        tasks=("micro1",), total_steps=16, eval_interval=16, batch_size=2, unroll_length=4, hidden_size=4, device="cpu"
    )
    train_recurrent(config, tmp_path / "run", progress=False)
    assert verify("run")[1]["run"]["can be evaluated"] == "yes"
    monkeypatch.setattr("gumption.data.provenance.versions", lambda: {"torch": "99"})
    assert "torch 2" in verify("run")[1]["run"]["versions"]
    assert ", here 99" in verify("run")[1]["run"]["versions"]


def test_models_memories_stores_splits_and_graphs(
    verify: Callable[..., Any], made: Path, small_book: Path, tmp_path: Path
) -> None:
    ComplEx.fit(FACTS, rank=2, epochs=1, device="cpu").save(tmp_path / "model")
    env = RecordMemory(
        gym.make("gumption/WordCraft-v0", recipe_book=str(small_book), num_distractors=1), tmp_path / "memory"
    )
    env.reset(seed=0)
    env.step(0)
    env.close()
    with KnowledgeGraph(tmp_path / "store") as graph:
        graph.add(FACTS)
        graph.save("facts.ttl")
    shutil.copy(made / "mine.json", tmp_path / "split.json")
    (tmp_path / "notes.json").write_text("{}")
    code, told = verify("model", "memory", "store", "facts.ttl", "split.json", "notes.json")
    assert code == 4
    said = {path: (about["files"][0]["state"], about["files"][0]["told"]) for path, about in told.items()}
    assert said["model"] == ("unchanged", "a checkpoint, gumption/complex/1")
    assert said["memory"] == ("unchanged", "a memory of 1 transitions, gumption/wordcraft-memory/1")
    assert (said["store"][0], said["facts.ttl"][0]) == ("no hash", "unchanged")
    assert (told["store"]["outcome"], told["split.json"]["outcome"]) == ("nothing to check", "unchanged")
    assert said["store"][1] == said["facts.ttl"][1]
    assert said["store"][1].startswith("3 facts, content hash ")
    assert said["split.json"][0] == "unchanged"
    assert said["split.json"][1].startswith("schema gumption/wordcraft-split/")
    assert said["notes.json"] == ("no hash", "")
    for path, old, new in (("split.json", b'"seed":3', b'"seed":4'), ("facts.ttl", b"<", b"")):
        (tmp_path / path).write_bytes((tmp_path / path).read_bytes().replace(old, new))
        code, told = verify(path)
        assert (code, told[path]["files"][0]["state"]) == (1, "CHANGED")
    records = tmp_path / "memory" / "records.bin"
    records.write_bytes(records.read_bytes()[:-1])
    code, told = verify("memory")
    assert code == 1
    assert "the end was cut short" in told["memory"]["files"][0]["told"]


@pytest.mark.parametrize("name", ["x.nq", "x.nt", "x.trig.gz", "x.nq.bz2", "x.csv", "x.tsv.gz", "x.jsonld", "x.rdf"])
def test_a_graph_is_changed_by_any_byte(verify: Callable[..., Any], tmp_path: Path, name: str) -> None:
    graph = KnowledgeGraph()
    graph.add(FACTS)
    graph.annotate("default", {"license": "CC0-1.0"})
    graph.save(name)
    first = (tmp_path / name).read_bytes()
    graph.save(name)
    assert (tmp_path / name).read_bytes() == first, "the same facts give the same bytes"
    assert KnowledgeGraph.load(name).content_hash() == graph.content_hash()
    assert verify(name)[0] == verify(".")[0] == 0
    packed = name.endswith((".gz", ".bz2"))
    for at in (0, 2, len(first) - 9, *(() if packed else (4, 20, 40, len(first) - 3))):
        (tmp_path / name).write_bytes(first[:at] + bytes([first[at] ^ 1]) + first[at + 1 :])
        assert verify(name)[0] in (1, 3), at
    (tmp_path / name).write_bytes(first[:-2])
    assert verify(name)[0] in (1, 3), "cut short"
    beside = tmp_path / f"{name}.sha256"
    if beside.exists():
        (tmp_path / name).unlink()
        assert states(verify(".")[1]["."])[name] == "MISSING"
        (tmp_path / name).write_bytes(first)
        beside.unlink()
        assert verify(name)[0] == 4


def test_nothing_to_check_and_cannot_be_read(verify: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "kitchen.csv").write_text("thing,relation,other\nwater,componentOf,tea\n")
    (tmp_path / "random.bin").write_bytes(bytes(range(256)))
    (tmp_path / "empty").mkdir()
    for path in ("kitchen.csv", "random.bin", "empty"):
        assert verify(path)[0] == 4, path
    for path in ("random.nq", "random.csv", "random.json", "random.nt.gz"):
        (tmp_path / path).write_bytes(bytes(range(256)))
        code, told = verify("kitchen.csv", path)
        assert (code, told[path]["outcome"]) == (3, "cannot be read")
        assert told["kitchen.csv"]["outcome"] == "nothing to check"


def test_a_packed_or_moved_graph_and_a_data_set(verify: Callable[..., Any], tmp_path: Path) -> None:
    from gumption.scripts.kg.split import write_parts

    graph = KnowledgeGraph()
    graph.add([(f"{i}", "next", f"{i + 1}") for i in range(40)] + [(f"{i}", "next", f"{i + 2}") for i in range(40)])
    graph.save("x.nt")
    (tmp_path / "moved.nt.gz").write_bytes(gzip.compress((tmp_path / "x.nt").read_bytes()))
    assert verify("moved.nt.gz")[0] == 0
    graph.save("a.csv")
    (tmp_path / "link.csv").symlink_to("a.csv")
    assert verify("link.csv")[0] == verify("a.csv.sha256")[0] == 0
    assert hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest() in (tmp_path / "a.csv.sha256").read_text()
    write_parts(graph, "default", tmp_path / "set", {"valid": 0.1, "test": 0.1}, 0)
    assert verify("set")[0] == 0
    test = tmp_path / "set" / "test.txt"
    test.write_text(test.read_text().replace("next", "last"))
    assert (verify("set")[0], states(verify("set")[1]["set"])["test.txt"]) == (1, "CHANGED")


def test_a_table_for_people_and_a_path_that_is_not_there(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verify: Callable[..., Any]
) -> None:
    assert verify("nowhere") == (2, "error: nowhere: there is no such file or folder\n")
    monkeypatch.setattr(sys, "argv", ["gumption", "verify", str(made / "mine.json")])
    with pytest.raises(SystemExit):
        cli.main()
    out = " ".join(capsys.readouterr().out.split())
    assert "mine.json" in out
    assert "1 unchanged" in out


def test_rules_and_recipe_books_carry_their_hash(
    verify: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gumption.kg import read_rules
    from gumption.kg.rules.horn import symmetric, write_rules

    write_rules("rules.json", [symmetric("near")])
    (tmp_path / "table.csv").write_text("makes,first,second\nmud,water,earth\n")
    monkeypatch.setattr(sys, "argv", ["gumption", "data", "recipes", "table.csv", "--header", "--out", "book.tsv"])
    with pytest.raises(SystemExit):
        cli.main()
    capsys.readouterr()
    for name, old in (("rules.json", "near"), ("book.tsv", "mud")):
        assert verify(name)[0] == 0
        (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, "other"))
        assert verify(name)[0] == 1
    assert read_rules("rules.json") == (symmetric("other"),), "rules are changed by hand"
