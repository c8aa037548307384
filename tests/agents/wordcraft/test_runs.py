"""Runs of WordCraft: what is in their folders, who may write there, and what is evaluated from them."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gumption.agents import TrainConfig, evaluate, train_impala
from gumption.agents.evaluation import Greedy
from gumption.agents.run import RunResult
from gumption.agents.run_folder import load_policy, read_config, read_final, read_metrics
from gumption.agents.transcript import failures, transcript
from gumption.agents.wordcraft.evaluation import evaluation_env, play_tasks
from gumption.data import InputError
from gumption.data.sealed import read_sealed, sealed, write_sealed
from gumption.data.writing import is_part
from gumption.envs.wordcraft import RecipeBook, facts, make_split
from gumption.kg import KnowledgeGraph

SMALL: dict[str, Any] = {"total_steps": 512, "eval_interval": 256}


def train(config: TrainConfig, run_dir: Path | None = None, **arguments: Any) -> RunResult:
    return train_impala(config, run_dir=run_dir, progress=False, **arguments)


def everything(folder: Path) -> dict[str, bytes]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not is_part(file))
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def finished(configure, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GUMPTION_CACHE_DIR", str(cache))
        knowledge = {"kg": "train", "kg_scores": ("componentOf", "makes"), "cross_fit": True}
        config = configure(**SMALL, **knowledge, num_distractors=1, train_ratio=0.6)
        return train(config, tmp_path_factory.mktemp("runs") / "finished")


@pytest.fixture
def graph_file(book: RecipeBook, tmp_path: Path) -> Path:
    """A file with the facts of training recipes."""
    graph = KnowledgeGraph()
    graph.add(facts(book, partition="train"), graph="mine")
    graph.save(tmp_path / "mine.nq")
    return tmp_path / "mine.nq"


@pytest.fixture
def where(finished: RunResult, book_file: Path, words_file: Path) -> dict[str, str]:
    """How `evaluate` finds the files of the run."""
    return {"recipe_book": str(book_file)}


@pytest.mark.filterwarnings("ignore::gumption.agents.knowledge.UnknownEntities")
def test_the_book_and_the_graph_are_read_once_in_a_run(
    configure, graph_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the file of the book was read six times, and its split was resolved anew in each environment."""
    reads: list[str] = []
    for owner, name in ((RecipeBook, "load"), (KnowledgeGraph, "load")):
        load = getattr(owner, name)

        def counted(source: Any, *arguments: Any, load: Any = load, **more: Any) -> Any:
            reads.extend([Path(source).name] if isinstance(source, str | Path) else [])
            return load(source, *arguments, **more)

        monkeypatch.setattr(owner, name, counted)
    train(configure(**SMALL, kg=str(graph_file), test_curve=True))
    assert sorted(reads) == ["mine.nq", "small.tsv"]


# ---- what is in a run directory


def test_a_run_directory_tells_all_about_the_run(finished: RunResult, book: RecipeBook) -> None:
    folder = finished.run_dir
    assert folder is not None
    files = set(everything(folder))
    events = {name for name in files if name.startswith("events.out.tfevents")}
    assert len(events) == 1
    assert files - events == {
        "config.json", "manifest.json", "metrics.jsonl", "final.json",
        "checkpoint/checkpoint.json", "checkpoint/tensors.safetensors", "knowledge/scores.json",
        "knowledge/binary/checkpoint.json", "knowledge/binary/tensors.safetensors",
        "knowledge/makes/checkpoint.json", "knowledge/makes/tensors.safetensors",
        "files/recipe_book/small.tsv", "files/word_vectors/words.bin",
    }  # fmt: skip
    manifest = json.loads((folder / "manifest.json").read_text())
    split = make_split(book, train_ratio=0.6)
    assert manifest["recipe_book"] == {"name": "small", "sha256": book.hash}
    schema = "gumption/wordcraft-split/3"
    assert manifest["split"] == {"schema": schema, "parameters": split.parameters, "sha256": split.hash}
    assert manifest["versions"].keys() >= {"python", "torch", "numpy", "gumption"}
    assert manifest["hardware"]["cores"] >= 1
    assert manifest["threads"] == 1
    assert manifest["seed"] == 0
    assert finished.policy is not None
    assert manifest["parameters"] == sum(p.numel() for p in finished.policy.network.parameters())
    assert read_final(folder) == finished.final
    assert read_metrics(folder) == finished.curve


def test_tensorboard_shows_the_metrics(finished: RunResult) -> None:
    board = EventAccumulator(str(finished.run_dir))
    board.Reload()
    assert set(board.Tags()["scalars"]) == set(finished.curve[0]) - {"step"}
    told = [(event.step, event.value) for event in board.Scalars("entropy")]
    assert told == [(line["step"], pytest.approx(line["entropy"])) for line in finished.curve]


def test_a_run_directory_names_no_place_of_the_machine(finished: RunResult, book_file: Path, words_file: Path) -> None:
    assert finished.run_dir is not None
    stored = read_sealed(finished.run_dir / "config.json")
    assert (stored["recipe_book"], stored["word_vectors"]) == ("small.tsv", "words.bin")
    for name, content in everything(finished.run_dir).items():
        for place in (finished.run_dir.parent, book_file.parent, words_file.parent, Path.home(), Path.cwd()):
            assert str(place).encode() not in content, name


def test_a_stored_config_is_the_config(finished: RunResult, where: dict[str, str]) -> None:
    assert finished.run_dir is not None
    stored = read_sealed(finished.run_dir / "config.json")
    assert TrainConfig.from_json(stored, **where, word_vectors=finished.config.word_vectors) == finished.config
    for spoiled in ({**stored, "colour": 1}, {k: v for k, v in stored.items() if k != "seed"}, [], 7):
        with pytest.raises(InputError, match="not the config of a run"):
            TrainConfig.from_json(spoiled)  # pyright: ignore[reportArgumentType]


# ---- who may write there


def test_a_finished_run_is_refused_and_left_as_it_is(finished: RunResult) -> None:
    assert finished.run_dir is not None
    before = everything(finished.run_dir)
    with pytest.raises(InputError, match=r"holds a run already; go on with it \(--resume\), or choose another name"):
        train(finished.config, finished.run_dir)
    with pytest.raises(InputError, match="was begun with another num_distractors, seed; choose another name"):
        train(replace(finished.config, seed=3, num_distractors=4), finished.run_dir, resume=True)
    with pytest.raises(InputError, match="was begun with another overrides"):
        train(replace(finished.config, overrides=()), finished.run_dir, resume=True)
    again = train(finished.config, finished.run_dir, resume=True)  # there is nothing left to do
    assert again == replace(finished, policy=None)
    assert everything(finished.run_dir) == before


def test_a_folder_of_something_else_is_refused(configure, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for resume in (False, True):
        for name, told in (("thesis", "exists and is not a run"), ("file", "is a file")):
            with pytest.raises(InputError, match=f"{name} {told}; choose another name"):
                train(configure(**SMALL), tmp_path / name, resume=resume)
    assert everything(tmp_path) == {"file": b"x", "thesis/chapter.txt": b"years of work"}
    with pytest.raises(InputError, match=r"cannot write .*file/run: Not a directory"):
        train(configure(**SMALL), tmp_path / "file" / "run")
    with pytest.raises(InputError, match="nothing to resume without a run directory"):
        train(configure(**SMALL), resume=True)


@pytest.mark.parametrize(
    "content", ["{", "[]", "7", "null", *(json.dumps(sealed(one)) for one in ({}, {"seed": 0, "colour": 1}))]
)
def test_a_config_that_is_none_is_told(configure, tmp_path: Path, content: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text(content)
    with pytest.raises(InputError, match=r"run/config\.json: not "):
        train(configure(**SMALL), tmp_path / "run", resume=True)
    with pytest.raises(InputError, match=r"run/config\.json: not "):
        evaluate(tmp_path / "run")


def test_an_empty_folder_may_be_filled(configure, tmp_path: Path) -> None:
    train(configure(**SMALL), tmp_path)
    assert read_final(tmp_path).keys() >= {"test_success"}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "features": ({"features": "words"}, "features is 'words'"),
    "recipe book": ({"recipe_book": "commonsence"}, "no recipe book is called 'commonsence'; did you mean commonsense"),
    "missing file": ({"recipe_book": "none.tsv"}, r"none\.tsv: no such recipe file"),
    "word vectors": ({"features": "glove", "word_vectors": "none.bin"}, r"none\.bin: no such file of word vectors"),
    "split": ({"split": "by_moon"}, "split is 'by_moon'"),
    "empty part": ({"train_ratio": 0.99}, "leaves test_tasks empty"),
    "ratio": ({"train_ratio": 1.5}, r"train_ratio is 1\.5; it is a number above 0 and at most 1"),
    "depth": ({"depth": 7}, "depth is 7; it is a whole number from 1 to 6"),
    "distractors": ({"num_distractors": 100}, "num_distractors is 100"),
    "device": ({"device": "abacus"}, "device 'abacus' cannot be used"),
}


@pytest.mark.parametrize("name", BAD)
def test_after_a_bad_setting_nothing_is_written(configure, tmp_path: Path, name: str) -> None:
    changes, message = BAD[name]
    with pytest.raises(InputError, match=message):
        train(configure(**(SMALL | changes)), tmp_path / "runs" / "mine")
    assert not list(tmp_path.iterdir())


# ---- a split that is a file


def test_files_travel_with_the_run(configure, book: RecipeBook, book_file: Path, tmp_path: Path) -> None:
    split = make_split(book, "by_goal", 0.7, seed=3)
    split.save(tmp_path / "mine.json")
    mine = Path(shutil.copy(book_file, tmp_path / "mine.tsv"))
    config = configure(**SMALL, split=str(tmp_path / "mine.json"), recipe_book=str(mine))
    result = train(config, tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["split"]["sha256"] == split.hash
    digest = hashlib.sha256(mine.read_bytes()).hexdigest()
    assert manifest["files"]["recipe_book"] == {"mine.tsv": {"sha256": digest, "kept": True}}
    assert str(tmp_path).encode() not in b"".join(everything(tmp_path / "run").values())
    for own in ("mine.json", "mine.tsv"):
        (tmp_path / own).unlink()
    moved = (tmp_path / "run").rename(tmp_path / "moved")
    assert evaluate(moved, draws=2, seed=1)["success"] == result.final["test_success"]
    (moved / "final.json").unlink()
    again = train(read_config(moved, TrainConfig), moved, resume=True)
    assert again.final["test_success"] == result.final["test_success"]


def test_a_run_goes_on_with_the_same_content_whatever_its_name(
    configure, book: RecipeBook, book_file: Path, tmp_path: Path
) -> None:
    make_split(book, "by_goal", 0.7, seed=3).save(tmp_path / "mine.json")
    config = configure(**SMALL, split=str(tmp_path / "mine.json"))
    train(config, tmp_path / "run")
    (tmp_path / "run" / "final.json").unlink()
    renamed = shutil.copy(tmp_path / "mine.json", tmp_path / "renamed.json")
    train(replace(config, split=str(renamed)), tmp_path / "run", resume=True)
    own = tmp_path / "run" / "files" / "split" / "mine.json"
    (tmp_path / "run" / "final.json").unlink()
    train(replace(config, split=str(own)), tmp_path / "run", resume=True)
    (tmp_path / "run" / "final.json").unlink()
    make_split(book, "by_goal", 0.7, seed=4).save(tmp_path / "mine.json")
    with pytest.raises(InputError, match="was begun with another split; choose another name"):
        train(config, tmp_path / "run", resume=True)


def test_a_large_file_is_named_by_its_hash(
    configure, book_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("gumption.agents.run_folder.LARGEST_COPY", book_file.stat().st_size - 1)
    config = configure(**SMALL)
    result = train(config, tmp_path / "run")
    about = json.loads((tmp_path / "run" / "manifest.json").read_text())["files"]["recipe_book"]["small.tsv"]
    assert about == {"sha256": hashlib.sha256(book_file.read_bytes()).hexdigest(), "kept": False}
    assert not list((tmp_path / "run" / "files" / "recipe_book").iterdir())
    with pytest.raises(InputError, match=r"small\.tsv: no such recipe file"):
        evaluate(tmp_path / "run")
    assert (
        evaluate(tmp_path / "run", recipe_book=str(book_file), draws=2, seed=1)["success"]
        == (result.final["test_success"])
    )


# ---- evaluating


def test_evaluation_of_a_directory_is_that_of_the_policy(
    finished: RunResult, where: dict[str, str], book: RecipeBook
) -> None:
    assert finished.run_dir is not None
    in_memory = evaluate(finished, draws=2, seed=1)
    assert in_memory == evaluate(finished.run_dir, **where, draws=2, seed=1)
    assert in_memory == evaluate(str(finished.run_dir), **where, device="cpu", draws=2, seed=1)
    assert in_memory == evaluate(replace(finished, policy=None), **where, draws=2, seed=1)
    assert in_memory["success"] == finished.final["test_success"]  # the last evaluation of a run is this one
    assert 0 < in_memory["success"] < 1
    settings = finished.config.env_settings("test")
    tasks = make_split(book, train_ratio=0.6).test_tasks
    with transcript() as kept:
        play_tasks(Greedy(finished.policy), evaluation_env(settings, len(tasks)), tasks, 2, 1)
    assert kept.counts["episodes"] == in_memory["episodes"]
    assert in_memory["failures"] == failures(kept)
    assert in_memory["episodes"] == 26
    open_tables = evaluate(finished, draws=2, seed=1, alternatives=True)
    assert open_tables["success"] == finished.final["test_success_alternatives"]
    assert evaluate(finished, partition="train", draws=3)["episodes"] == 22 * 3
    assert evaluate(finished, partition="validation", draws=2)["partition"] == "validation"
    assert evaluate(finished, partition="all", draws=1)["episodes"] == len(
        make_split(book, train_ratio=0.6).tasks("all")
    )


def test_evaluation_on_other_tables(finished: RunResult, book: RecipeBook) -> None:
    alone = evaluate(finished, num_distractors=0, draws=1)
    crowded = evaluate(finished, num_distractors=10, draws=4)
    assert (alone["num_distractors"], crowded["num_distractors"]) == (0, 10)
    assert alone["success"] > crowded["success"]
    deeper = evaluate(finished, depth=2, partition="train", draws=1)
    assert deeper["depth"] == 2
    assert deeper["episodes"] == len(make_split(book, train_ratio=0.6, depth=2).train_tasks)
    assert evaluate(finished, seed=1, draws=4) != evaluate(finished, seed=2, draws=4)


def test_the_simple_mlp_plays_its_own_tables_only(configure) -> None:
    result = train(configure(agent="mlp", **SMALL))
    assert evaluate(result, draws=1, num_distractors=3)["num_distractors"] == 3
    for other in ({"num_distractors": 2}, {"depth": 2}):
        with pytest.raises(InputError, match="the simple MLP plays only tables of the size it was trained on"):
            evaluate(result, **other)


def damaged(folder: Path) -> None:
    file = folder / "checkpoint" / "tensors.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def without_checkpoint(folder: Path) -> None:
    for file in (folder / "checkpoint").iterdir():
        file.unlink()


def of_another_network(folder: Path) -> None:
    stored = read_sealed(folder / "config.json")
    stored["overrides"] = [["encoder_size", 8], ["batch_size", 64]]
    write_sealed(folder / "config.json", stored)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damaged, "the checkpoint is damaged"),
        (without_checkpoint, "no checkpoint there"),
        (of_another_network, "the checkpoint does not fit the network of its config"),
    ],
)
def test_a_run_that_cannot_be_trusted_is_refused(
    configure, where: dict[str, str], tmp_path: Path, harm: Callable[[Path], None], message: str
) -> None:
    config = configure(**SMALL)
    train(config, tmp_path / "run")
    harm(tmp_path / "run")
    with pytest.raises(InputError, match=message):
        evaluate(tmp_path / "run", **where)


@pytest.mark.slow
def test_another_book_is_refused_by_its_hash(finished: RunResult, where: dict[str, str], tmp_path: Path) -> None:
    assert finished.run_dir is not None
    other = tmp_path / "small.tsv"
    other.write_text(Path(where["recipe_book"]).read_text().replace("mud\twater\tearth", "mud\twater\tsand"))
    with pytest.raises(InputError, match=r"trained on another book \([0-9a-f]{12}, here [0-9a-f]{12}\)"):
        evaluate(finished.run_dir, **(where | {"recipe_book": str(other)}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"device": "cpu"}, "this one is in memory"),
        ({"recipe_book": "commonsense"}, "this one is in memory"),
    ],
)
def test_bad_questions_are_told(finished: RunResult, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(finished, **arguments)


def test_what_is_no_run_is_told(finished: RunResult, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/config\.json: not a complete run"):
        evaluate(tmp_path / "none")
    with pytest.raises(InputError, match=r"final\.json: not a complete run"):
        read_final(tmp_path)
    with pytest.raises(InputError, match="neither a policy nor a run directory"):
        evaluate(replace(finished, policy=None, run_dir=None))


def test_a_loaded_policy_acts_and_does_not_learn(finished: RunResult, where: dict[str, str]) -> None:
    assert finished.run_dir is not None
    config, policy = load_policy(finished.run_dir, **where)
    assert replace(config, word_vectors=finished.config.word_vectors) == finished.config
    assert not policy.training
