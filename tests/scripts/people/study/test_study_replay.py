"""`gumption verify` of an export: its files against their hashes, and its episodes played again."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gumption.data.sealed import sealed_lines
from gumption.data.writing import is_part
from gumption.envs.records import read_episodes
from gumption.scripts.people.study.export import ABOUT, files, sha256, together, write
from gumption.scripts.people.study.files import find, read
from gumption.scripts.people.study.gathered import gathered
from gumption.scripts.people.study.links import Secret
from gumption.scripts.people.study.replay import replay
from gumption.scripts.verify import verdicts_of
from tests.scripts.people.study.served import in_process, leave, now, to_kind, write_study

EPISODES = "episodes.jsonl"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of the small study with one participant, who was at tasks for words."""
    folder = tmp_path_factory.mktemp("replay")
    file = write_study(folder)
    with in_process(file, folder / "data") as server:
        _, cookie, _ = server.join(name="Ann")
        with server.page(cookie) as page:
            to_kind(page, "end")
    content = files(read(file), gathered(read(file), folder / "data"), Secret.of(folder / "data"))
    write(folder / "out", content)
    return folder / "out"


def states(folder: Path) -> dict[str, str]:
    return {one.place: one.state for one in verdicts_of(folder)}


def told(folder: Path, name: str = EPISODES) -> str:
    return next(one.told for one in verdicts_of(folder) if one.place == name)


def write_sealed_anew(folder: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the episodes, and every hash that tells of them."""
    episodes = read_episodes(folder / EPISODES)
    change(episodes)
    (folder / EPISODES).write_text(sealed_lines(episodes)[0])
    about = json.loads((folder / ABOUT).read_text())
    about["files"][EPISODES] = sha256((folder / EPISODES).read_bytes())
    about["sha256"] = together(about["files"])
    (folder / ABOUT).write_text(json.dumps(about))


def test_an_export_is_whole_and_its_episodes_play_again(exported: Path) -> None:
    assert set(states(exported).values()) == {"unchanged"}
    assert set(states(exported)) == {path.name for path in exported.iterdir() if not is_part(path)}
    assert told(exported) == "5 lines; 5 episodes were played again"
    assert [one.state for one in verdicts_of(exported / EPISODES)] == ["unchanged"], "the file alone, too"


@pytest.mark.parametrize("name", ["participants.csv", "study.json", EPISODES])
def test_a_changed_or_missing_file_is_found(name: str, exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    (folder / name).write_bytes((folder / name).read_bytes().replace(b"1", b"2", 1))
    assert {name for name, state in states(folder).items() if state == "CHANGED"} == {name}
    (folder / name).unlink()
    assert states(folder)[name] == "MISSING"
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({**about, "sha256": "0" * 64}))
    assert states(folder)[ABOUT] == "CHANGED"
    (folder / ABOUT).write_text("{")
    assert states(folder)[ABOUT] == "CANNOT BE READ"


def swapped(episodes: list[dict[str, Any]]) -> None:
    """Another word of the table was the first that was chosen."""
    from gumption.scripts.people.study.design import Task
    from gumption.scripts.people.study.tasks import begin

    task = Task("wordcraft", episodes[0]["settings"], episodes[0]["seed"])
    words = begin(task)[0].batch.describe(0)["table"]
    first = episodes[0]["actions"][0]
    first[2] = next(word for word in words if word != first[2])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda all: all[0]["actions"][0].__setitem__(2, "xyz"), "action 1, 'xyz': cannot be made again .*not on the"),
        (lambda all: all[1].update(seed=all[1]["seed"] + 1), "action 1, "),
        (swapped, "action 2, .*found another state than it does here: the record was changed"),
        (lambda all: all[1]["actions"][1].__setitem__(3, "0" * 16), "action 2, .*found another state"),
        (lambda all: all[1]["actions"][1].__setitem__(1, 2), "action 2, .*found another state"),
        (lambda all: all[2]["actions"].pop(), "result.steps: is 2, and here it is 1"),
        (lambda all: all[2]["result"].update(success=not all[2]["result"]["success"]), "result.success: is "),
        (lambda all: all[2]["result"].update(reward=7.0), "result.reward: is 7.0"),
        (lambda all: all[2]["result"].update(state="0" * 16), "result.state: is '0000000000000000'"),
        (lambda all: all[2].pop("settings"), "is damaged: KeyError"),
        (lambda all: all[2]["actions"].append(None), "is damaged: TypeError"),
        (lambda all: all[2].update(world="no such world"), "unknown world"),
        (lambda all: all[2]["settings"].update(distractors=-1), "distractors is -1"),
    ],
)
def test_a_changed_episode_is_found_though_its_hashes_are_right(
    change: Callable[[list[dict[str, Any]]], Any], reason: str, exported: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    write_sealed_anew(folder, change)
    assert [name for name, state in states(folder).items() if state != "unchanged"] == [EPISODES]
    assert re.search(rf"{EPISODES}:[123]: {reason}", told(folder)), told(folder)


def test_episodes_of_another_version_are_not_played_again(exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(exported, folder)
    write_sealed_anew(folder, lambda all: all[0].update(version="0.0.1"))
    assert states(folder)[EPISODES] == "unchanged"
    assert told(folder) == "5 lines; 4 episodes were played again, 1 of another version of gumption are not"


def test_without_the_extra_the_hashes_alone_are_compared(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gumption.scripts.verify.find_spec", lambda name: None)
    assert states(exported)[EPISODES] == "unchanged"
    assert told(exported) == "5 lines; its episodes are not played again: that needs pip install 'gumption[web]'"


@pytest.mark.slow
def test_an_episode_in_real_time_plays_again_and_a_moved_disc_is_found(tmp_path: Path) -> None:
    with in_process(find("probsol-goals"), tmp_path / "data") as server:
        _, cookie, _ = server.join(name="Ann")
        with server.page(cookie) as page:
            leave(page, now(page), agree=True)
            stage = now(page)
            while stage["kind"] != "task":
                stage = leave(page, stage)
            page.ask("go_on", episode=stage["episode"])
            for number, action in enumerate((["grab", "b"], ["place", 10, 16], ["check"]), start=1):
                assert page.act(stage["episode"], number, action)["number"] == number
            leave(page, stage)
    study = read("probsol-goals")
    write(tmp_path / "out", files(study, gathered(study, tmp_path / "data"), Secret.of(tmp_path / "data")))
    [record] = read_episodes(tmp_path / "out" / EPISODES)
    assert (record["result"]["attempts"], len(record["actions"])) == (1, 3)
    episode = replay(record, "the record")
    assert episode.result() == record["result"]
    assert states(tmp_path / "out")[EPISODES] == "unchanged"
    write_sealed_anew(tmp_path / "out", lambda all: all[0]["actions"][1].__setitem__(2, ["place", 10, 17]))
    assert re.search("action 3, .*found another state", told(tmp_path / "out"))
