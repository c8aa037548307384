"""Simulated participants over real sockets: whatever happens to their connections, each has a complete row, and each
action is there once."""

import csv
import json
import subprocess
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.scripts.study.design import design
from gumption.scripts.study.files import read
from gumption.scripts.study.players import played, player_of
from tests.scripts.study.served import GUMPTION, write_study
from tests.scripts.study.studies import study


def run(*command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*GUMPTION, *command], capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def simulated(folder: Path, players: int, *options: str, **changes: object) -> Path:
    """The folder of an export of so many players with chaos, checked."""
    file = str(write_study(folder, **changes))
    done = run(
        "simulate", file, "--players", str(players), "--chaos", "--data", str(folder / "data"), "--json", *options
    )
    figures = json.loads(done.stdout)
    assert (figures["done"], figures["codes"]) == (players, players)
    assert figures["mishaps"] > players
    run("export", file, "--data", str(folder / "data"), "--out", str(folder / "out"))
    people, actions = rows_of(folder / "out", "participants"), rows_of(folder / "out", "actions")
    assert len(people) == players
    assert {row["state"] for row in people} == {"done"}
    assert {row["practice_tasks"] for row in people} == {"1"}
    assert all(row["stage"] == row["stages"] and row["hard"] for row in people)
    episodes = rows_of(folder / "out", "episodes")
    assert len(episodes) == 5 * players
    assert {row["actions"] for row in episodes} == {"2"}
    keys = [(row["participant"], row["stage"], row["number"]) for row in actions]
    assert len(keys) == len(set(keys)) == figures["actions"] == 10 * players
    assert abs(sum(row["distractors"] == "one" for row in people) - players / 2) <= 0.5
    return folder / "out"


def test_ten_players_with_chaos_leave_complete_rows(tmp_path: Path) -> None:
    simulated(tmp_path, 10, "--policy", "oracle", "--seed", "1")
    file = str(tmp_path / "study.json")
    assert {row["success"] for row in rows_of(tmp_path / "out", "episodes")} == {"true"}
    done = run("report", file, "--data", str(tmp_path / "data"), "--out", str(tmp_path / "report"), "--json")
    figures = json.loads(done.stdout)
    by_who = {(row["who"], row["cell"]): row for row in figures["rows"]}
    for level in ("one", "three"):
        assert by_who["people", f"test, distractors {level}"]["success"] == [1.0, 1.0, 1.0]
        assert by_who["oracle", f"test, distractors {level}"]["success"] == [1.0, 1.0, 1.0]
        assert by_who["random", f"test, distractors {level}"]["success"][0] < 0.9
        assert by_who["people", f"test, distractors {level}"]["participants"] == 5
    assert not any("practice" in cell for _, cell in by_who)
    for name in ("success.png", "success.svg", "actions.png", "seconds.png", "table.md", "report.json"):
        assert (tmp_path / "report" / name).stat().st_size > 0
    assert "| test, distractors one | oracle | 5 | 10 | 100.0% [100.0%, 100.0%] |" in (
        tmp_path / "report" / "table.md"
    ).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("sign_in", ["name", "link"])
def test_two_hundred_players_with_chaos_leave_complete_rows(sign_in: str, tmp_path: Path) -> None:
    simulated(tmp_path, 200, sign_in=sign_in)


def test_published_figures_stand_beside_people(tmp_path: Path) -> None:
    published = [{"label": "people in the paper", "block": "test", "success": 0.6, "source": "a paper, figure 1"}]
    file = str(write_study(tmp_path, published=published))
    run("simulate", file, "--players", "2", "--data", str(tmp_path / "data"))
    done = run("report", file, "--data", str(tmp_path / "data"), "--out", str(tmp_path / "report"))
    assert "people in the paper (a paper, figure 1) |  |  | 60.0% |" in done.stdout
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    refused = run("report", file, "--data", str(tmp_path / "data"), "--out", str(tmp_path / "other"), code=2)
    assert "holds other files than a report" in refused.stderr


def test_a_report_and_an_export_without_data_are_refused(tmp_path: Path) -> None:
    file = str(write_study(tmp_path))
    for command in ("report", "export"):
        done = run(command, file, "--data", str(tmp_path / "none"), "--out", str(tmp_path / "out"), code=2)
        assert "holds no data of a study" in done.stderr


def test_what_cannot_be_simulated_is_refused(tmp_path: Path) -> None:
    file = str(write_study(tmp_path))
    for options, told in (
        (["--policy", "best"], "--policy is 'best'; it can be random, oracle, or run:FOLDER"),
        (["--url", "http://127.0.0.1:9"], "http://127.0.0.1:9: cannot be reached"),
        (["--url", "http://127.0.0.1:9", "--data", "x"], "give one of them"),
    ):
        assert told in run("simulate", file, "--players", "1", *options, code=2).stderr
    links = str(write_study(tmp_path, sign_in="link"))
    assert "--links is missing" in run("simulate", links, "--url", "http://127.0.0.1:9", code=2).stderr


def test_players_play_the_tasks_of_participants() -> None:
    own = [task for part in design(study(), 0).blocks for task in part.tasks]
    assert all(played("oracle", task) == {"success": True, "actions": 2} for task in own)
    tasks = [task for place in range(12) for part in design(study(), place).blocks for task in part.tasks]
    share = sum(played("random", task)["success"] for task in tasks) / len(tasks)
    assert 0.03 < share < 0.4
    with pytest.raises(InputError, match="offers no oracle"):
        player_of("oracle", "segar")
    with pytest.raises(InputError, match="--policy is 'x'"):
        player_of("x", "segar")
    assert read("wordcraft-human").all_blocks[0].count == 40
