"""The folder of a run: who may write there, what is read from it, and how its world is found."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gumption.agents import TrainConfig, evaluate
from gumption.agents.gradual.recurrent_config import RecurrentConfig
from gumption.agents.halma.config import HALMAConfig
from gumption.agents.probsol.config import ProbSolConfig
from gumption.agents.run_folder import RunFolder, load_policy, read_config, read_metrics, world_of
from gumption.agents.settings import WorldConfig
from gumption.data import InputError
from gumption.data.sealed import read_sealed, sealed, write_sealed
from gumption.envs import worlds

SETTINGS = {"world": "halma", "seed": 3, "sizes": (1, 2)}
KNOWLEDGE = {"source": "mine.nq", "graph": "abc", "facts": 7}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run that has begun, with knowledge."""
    made = RunFolder(tmp_path / "run", SETTINGS)
    made.begin({"seed": 3, "knowledge": KNOWLEDGE})
    return made


def everything(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


# ---- who may write there


@pytest.mark.parametrize("resume", [False, True])
def test_a_new_or_empty_folder_may_be_filled(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new/one", "empty"):
        RunFolder(tmp_path / name, SETTINGS).check(resume)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]  # nothing is written by looking


@pytest.mark.parametrize("resume", [False, True])
def test_what_is_no_run_is_refused(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    for name, message in (("thesis", "thesis exists and is not a run"), ("file", "file is a file")):
        with pytest.raises(InputError, match=f"{message}; choose another name"):
            RunFolder(tmp_path / name, SETTINGS).check(resume)


def test_a_run_is_gone_on_with_by_its_own_settings_only(folder: RunFolder) -> None:
    before = everything(folder.path)
    with pytest.raises(InputError, match=r"holds a run already; go on with it \(--resume\), or choose another name"):
        folder.check(resume=False)
    folder.check(resume=True)
    for changed, names in (
        ({**SETTINGS, "seed": 4}, "seed"),
        ({**SETTINGS, "seed": 4, "sizes": (1, 3)}, "seed, sizes"),
        ({**SETTINGS, "colour": 1}, "colour"),
        ({"world": "halma", "seed": 3}, "sizes"),
    ):
        with pytest.raises(InputError, match=f"was begun with another {names}; choose another name"):
            RunFolder(folder.path, changed).check(resume=True)
    assert everything(folder.path) == before


def test_settings_of_an_older_version_are_read_as_they_are_now(tmp_path: Path) -> None:
    config = RecurrentConfig(seed=3)
    folder = RunFolder.of(tmp_path / "run", config)
    folder.begin({})
    stored = read_sealed(folder.path / "config.json")
    write_sealed(folder.path / "config.json", {name: stored[name] for name in ("world", "seed")})
    folder.check(resume=True)  # fields that came later have their defaults
    for content, message in (({"world": "gradual"}, "not the config of a run"), ({**stored, "tasks": 3}, "tasks is 3")):
        write_sealed(folder.path / "config.json", content)
        with pytest.raises(InputError, match=rf"run/config\.json: {message}"):
            folder.check(resume=True)


@pytest.mark.parametrize(
    ("knowledge", "named"),
    [
        ({**KNOWLEDGE, "graph": "abd"}, "graph"),
        ({**KNOWLEDGE, "graph": "abd", "facts": 8}, "graph, facts"),
        ({**KNOWLEDGE, "word_vectors": "x"}, "word_vectors"),
        (None, "graph, facts"),
    ],
)
def test_a_run_with_other_knowledge_is_not_gone_on_with(
    folder: RunFolder, knowledge: dict[str, Any] | None, named: str
) -> None:
    before = everything(folder.path)
    with pytest.raises(InputError, match=rf"run was begun with other knowledge \(another {named}\)"):
        folder.begin({"seed": 3} if knowledge is None else {"seed": 3, "knowledge": knowledge})
    assert everything(folder.path) == before
    folder.begin({"seed": 3, "knowledge": {**KNOWLEDGE, "source": "moved.nq"}})
    assert everything(folder.path) == before


def test_what_a_killed_training_left_of_its_first_file_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.json.00000000-1-00000000.part").write_text("{")
    for resume in (False, True):
        RunFolder(tmp_path / "run", SETTINGS).check(resume)


@pytest.mark.slow
def test_one_process_at_a_time_writes_a_run(folder: RunFolder) -> None:
    code = (
        "import sys\nfrom gumption.agents.run_folder import RunFolder\n"
        "RunFolder(sys.argv[1], {'world': 'halma', 'seed': 3, 'sizes': [1, 2]}).begin({})"
    )
    command = [sys.executable, "-c", code, str(folder.path)]
    before = everything(folder.path)
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "run: another process is writing there; wait for it, or choose another name" in refused.stderr
    assert everything(folder.path) == before
    folder.release()
    told = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "was begun with other knowledge" in told


# ---- files that a config names


def test_files_among_the_settings_of_an_environment_are_copied(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('tasks = ["micro1"]\n')
    config = WorldConfig("gradual", env=(("tasks", str(mine)), ("success_threshold", 1)))
    folder = RunFolder.of(tmp_path / "run", config)
    folder.begin({})
    assert dict(read_sealed(folder.path / "config.json")["env"])["tasks"] == "mine.toml"
    mine.unlink()
    copy = read_config(folder.path, WorldConfig)
    assert Path(dict(copy.env)["tasks"]).read_text() == 'tasks = ["micro1"]\n'
    RunFolder.of(folder.path, copy).check(resume=True)
    other = tmp_path / "other.toml"
    other.write_text('tasks = ["micro2"]\n')
    for tasks in (str(other), "micro1"):
        changed = WorldConfig("gradual", env=(("tasks", tasks), ("success_threshold", 1)))
        with pytest.raises(InputError, match="was begun with another env; choose another name"):
            RunFolder.of(folder.path, changed).check(resume=True)


def test_a_name_that_the_world_knows_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "commonsense").mkdir()
    (tmp_path / "fishing").mkdir()
    assert TrainConfig().files() == {}
    assert ProbSolConfig(task=("fishing", "fishing/0")).files() == {}
    (tmp_path / "space").mkdir()
    assert HALMAConfig(agent="space", space_model="space").files() == {"space_model": [Path("space")]}


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_text("{}")
    config = ProbSolConfig(task=(str(tmp_path / "a" / "x.json"), str(tmp_path / "b" / "x.json")))
    with pytest.raises(InputError, match=r"task names two files x\.json; give one of them another name"):
        RunFolder.of(tmp_path / "run", config).begin({})


# ---- what is in it


def test_what_is_kept_is_read_again(folder: RunFolder) -> None:
    assert read_sealed(folder.path / "config.json") == json.loads(json.dumps(SETTINGS))
    assert read_sealed(folder.path / "manifest.json") == {"seed": 3, "knowledge": KNOWLEDGE, "files": {}}
    assert not folder.has_checkpoint
    folder.save({"w": torch.arange(3)}, {"kind": "mine/1", "step": 4})
    assert folder.has_checkpoint
    tensors, meta = folder.load("mine/1")
    assert (tensors["w"].tolist(), meta["step"]) == ([0, 1, 2], 4)
    with pytest.raises(InputError, match="a checkpoint of 'mine/1', expected 'yours/1'"):
        folder.load("yours/1")
    assert read_metrics(folder.path) == []
    folder.write_metrics([{"step": 1}])
    folder.add_metrics({"step": 2})
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "wa')  # cut short by a crash
    assert read_metrics(folder.path) == [{"step": 1}, {"step": 2}]
    assert not folder.complete
    folder.finish({"success": 1.0})
    assert folder.complete


def test_files_that_are_missing_or_damaged_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json: not a complete run \(No such file"):
        world_of(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json: not valid JSON"):
        world_of(tmp_path)


# ---- its world


def test_a_run_names_its_world(folder: RunFolder) -> None:
    assert world_of(folder.path) is worlds.find("halma")
    write_sealed(folder.path / "config.json", {"world": "halmer"})
    with pytest.raises(InputError, match="halmer"):
        world_of(folder.path)
    for content in ("[]", "7", "null", json.dumps(sealed({"seed": 0}))):
        (folder.path / "config.json").write_text(content)
        with pytest.raises(InputError, match=r"config\.json: not the config of a run"):
            world_of(folder.path)


def test_a_run_is_loaded_and_evaluated_by_its_world(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def get(world: worlds.World, offer: str) -> Any:
        def offered(run: Any, **settings: Any) -> Any:
            asked.append((world.name, offer, run, settings))
            return offer

        return offered

    monkeypatch.setattr(worlds.World, "get", get)
    assert load_policy(folder.path, device="cpu") == "load"
    assert evaluate(folder.path, draws=3) == "evaluate"
    assert asked == [
        ("halma", "load", folder.path, {"device": "cpu"}),
        ("halma", "evaluate", folder.path, {"draws": 3}),
    ]
    monkeypatch.setattr(worlds.World, "get", lambda world, offer: None)
    with pytest.raises(InputError, match="run is a run of 'halma', a world that offers no 'load' of its runs"):
        load_policy(folder.path)
    with pytest.raises(InputError, match="the world 'halma' offers no evaluation of its runs"):
        evaluate(folder.path)
