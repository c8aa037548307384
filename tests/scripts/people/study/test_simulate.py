"""Simulated participants over real sockets: whatever happens to their connections, each has a complete row, and each
action is there once."""

import asyncio
import csv
import io
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from gumption.data import InputError
from gumption.scripts.people.study import commands
from gumption.scripts.people.study.design import Task, design
from gumption.scripts.people.study.export import files
from gumption.scripts.people.study.files import read
from gumption.scripts.people.study.gathered import gathered
from gumption.scripts.people.study.links import Secret
from gumption.scripts.people.study.players import can_play, played, player_of
from gumption.scripts.people.study.report import make
from gumption.scripts.people.study.simulate import simulate
from tests.scripts.people.study.served import GUMPTION, in_process, write_study
from tests.scripts.people.study.studies import study


def check_rows(content: dict[str, str], players: int, actions: int) -> dict[str, list[dict[str, str]]]:
    """The tables of an export of the small study, each participant of which is done, and each action there once."""
    found = {
        name: list(csv.DictReader(io.StringIO(content[f"{name}.csv"], newline="")))
        for name in ("participants", "episodes", "actions")
    }
    people = found["participants"]
    assert len(people) == players
    assert {row["state"] for row in people} == {"done"}
    assert all(row["stage"] == row["stages"] and row["hard"] for row in people)
    assert len(found["episodes"]) == 5 * players
    assert {row["actions"] for row in found["episodes"]} == {"2"}
    keys = [(row["participant"], row["stage"], row["number"]) for row in found["actions"]]
    assert len(keys) == len(set(keys)) == actions == 10 * players
    assert abs(sum(row["distractors"] == "one" for row in people) - players / 2) <= 0.5
    return found


def simulated(folder: Path, players: int, sign_in: str = "name") -> dict[str, list[dict[str, str]]]:
    file = write_study(folder, sign_in=sign_in)
    with in_process(file, folder / "data", links=players if sign_in == "link" else 0) as server:
        identities = [{"token": link} for link in server.links] or None
        report = asyncio.run(
            simulate(read(file), f"http://{server.address}", players, "oracle", chaos=True, identities=identities)
        )
    assert (report.done, len(set(report.codes))) == (players, players)
    assert report.mishaps > players
    everyone = gathered(read(file), folder / "data")
    return check_rows(files(read(file), everyone, Secret.of(folder / "data")), players, report.actions)


@pytest.mark.slow
def test_ten_players_with_chaos_leave_complete_rows(tmp_path: Path) -> None:
    found = simulated(tmp_path, 10)
    assert {row["success"] for row in found["episodes"]} == {"true"}
    assert found["participants"][0]["name"].startswith("'=player")


@pytest.mark.slow
@pytest.mark.parametrize(("players", "sign_in"), [(1_000, "name"), (200, "link")])
def test_many_players_with_chaos_leave_complete_rows(players: int, sign_in: str, tmp_path: Path) -> None:
    simulated(tmp_path, players, sign_in)


@pytest.mark.slow
def test_the_commands_from_the_simulation_to_the_report(tmp_path: Path) -> None:
    def run(*command: str) -> str:
        done = subprocess.run([*GUMPTION, *command], capture_output=True, text=True, check=False, timeout=500)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    file, data = str(write_study(tmp_path)), str(tmp_path / "data")
    figures = json.loads(run("simulate", file, "--players", "4", "--chaos", "--data", data, "--json"))
    assert figures["done"] == 4
    run("export", file, "--data", data, "--out", str(tmp_path / "out"))
    content = {path.name: path.read_bytes().decode() for path in (tmp_path / "out").iterdir()}
    check_rows(content, 4, figures["actions"])
    assert "| test, distractors one | random | 2 | 4 |" in run(
        "report", file, "--data", data, "--out", str(tmp_path / "report")
    )


@pytest.mark.slow
def test_a_trained_run_takes_part_and_stands_in_the_report(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train = ["train", "wordcraft", "--features", "onehot", "--steps", "512", "--eval-interval", "512"]
    few = ["--final-draws", "1", "--device", "cpu", "--run", str(run)]
    subprocess.run([*GUMPTION[:-1], *train, *few], check=True, capture_output=True, timeout=500)
    file = write_study(tmp_path)
    with in_process(file, tmp_path / "data") as server:
        report = asyncio.run(simulate(read(file), f"http://{server.address}", 2, f"run:{run}"))
    assert report.done == 2
    figures = make(read(file), gathered(read(file), tmp_path / "data"), [f"run:{run}"])
    rows = {(row["who"], row["cell"]): row for row in figures["rows"]}
    for cell in {cell for _, cell in rows}:
        assert rows["participants", cell]["success"] == rows[f"run:{run}", cell]["success"], (
            "it played the people's tasks"
        )
    with pytest.raises(InputError, match="is a run of wordcraft, and the study's task is one of segar"):
        player_of(f"run:{run}", "segar")


# ---- What cannot be played


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"policy": "best"}, "--policy is 'best'; it can be random, oracle, scripted, or run:FOLDER"),
        ({"url": "http://127.0.0.1:9"}, "http://127.0.0.1:9: cannot be reached"),
        ({"url": "http://127.0.0.1:9", "data": Path("x")}, "give one of them"),
        ({"url": "http://127.0.0.1:9", "speed": 2.0}, "--speed is of an own server"),
    ],
)
def test_what_cannot_be_simulated_is_refused(options: dict, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        commands.simulate(str(write_study(tmp_path)), players=1, **options)


def test_players_of_links_need_them(tmp_path: Path) -> None:
    file, url = str(write_study(tmp_path, sign_in="link")), "http://127.0.0.1:9"
    with pytest.raises(InputError, match="--links is missing"):
        commands.simulate(file, url=url)
    with pytest.raises(InputError, match="cannot be read"):
        commands.simulate(file, url=url, links=tmp_path / "none.csv")
    (tmp_path / "links.csv").write_text("1,invited-1-x\n")
    with pytest.raises(InputError, match="--players is 10; there are 1 links"):
        commands.simulate(file, url=url, links=tmp_path / "links.csv")


def test_players_play_the_tasks_of_participants() -> None:
    own = [task for part in design(study(), 0).blocks for task in part.tasks]
    for task in own:
        found = played("oracle", task, 0)
        assert (found["success"], found["attempts"], found["actions"]) == (True, 1, 2)
    tasks = [task for place in range(12) for part in design(study(), place).blocks for task in part.tasks]
    share = sum(played("random", task, seed)["success"] for seed, task in enumerate(tasks)) / len(tasks)
    assert 0.03 < share < 0.4
    with pytest.raises(InputError, match="'segar' offers no policy 'oracle'; others are random and run:FOLDER"):
        player_of("oracle", "segar")
    with pytest.raises(InputError, match="others are random, oracle and run:FOLDER"):
        player_of("scripted", "wordcraft")
    with pytest.raises(InputError, match="--policy is 'x'"):
        player_of("x", "segar")


@pytest.mark.slow
def test_agents_act_as_a_page_does_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for world, settings in (("halma", {"trials": 1, "mean_branches": 1}), ("segar", {"steps": 3})):
        task = Task(world, settings, 0)
        assert can_play(task)
        assert played("random", task, 0) == played("random", task, 0) != played("random", task, 1)
    assert not can_play(Task("gradual", {"tasks": "micro1"}, 0))
    monkeypatch.setattr("gumption.scripts.people.study.players.begin", lambda task: (SimpleNamespace(), None))
    with pytest.raises(InputError, match="agents play environments with a batch of one; this world's have none"):
        played("random", Task("segar", {}, 0), 0)
    monkeypatch.undo()
    block = {"name": "bytes", "title": "Task", "world": "gradual", "settings": {"tasks": "micro1"}, "tasks": 1}
    file = str(write_study(tmp_path, blocks=[block], practice=[], conditions=[]))
    with pytest.raises(InputError, match="bytes: agents do not act in the world 'gradual' as people do"):
        commands.simulate(file, players=1)
