"""`gumption play halma`: trials in hidden mazes, beside the oracle's, kept in a file that continues the game."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gumption.data import InputError
from gumption.envs.halma import Maze, Move, oracle_trials, panel_digits, sample_mazes
from gumption.scripts.people.halma import parse_option

SEED = 3


def play(out: Path, answers: str, *more: str) -> subprocess.CompletedProcess[str]:
    options = ["--mazes", "2", "--trials", "2", "--seed", str(SEED), "--out", str(out)]
    return subprocess.run(
        [sys.executable, "-m", "gumption.scripts.cli", "play", "halma", *options, *more],
        input=answers,
        capture_output=True,
        text=True,
        check=False,
    )


def typed(moves: list[Move]) -> str:
    """Each move as its direction and threes, then the rest."""
    return "".join(
        f"{direction} {'+'.join('3' * (length // 3) + str(length % 3) * (length % 3 > 0))}\n"
        for direction, length in moves
    )


@pytest.fixture(scope="module")
def mazes() -> list[Maze]:
    return sample_mazes(2, SEED)


@pytest.fixture(scope="module")
def oracle(mazes: list[Maze]) -> list[str]:
    """What the oracle types in the four trials."""
    return [typed(trial) for maze in mazes for trial in oracle_trials(maze, 5)]


def test_a_whole_game(mazes: list[Maze], oracle: list[str], tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    done = play(out, oracle[0] + "l 0\nleft 3+3+3+1\nwhat\n" + oracle[1] + oracle[2] + oracle[3])
    assert done.returncode == 0, done.stderr
    moves = [len(trial.splitlines()) for trial in oracle]
    first, second = moves[:2]
    played = (
        f"100% of the trials won in {first + second + 2} moves; the oracle explores in {first} and then takes {second}"
    )
    assert played in done.stdout
    assert done.stdout.count("'what' is no move") == 1
    assert done.stdout.count("not carried out, but counted: a wall is in the way, or the sum is zero") == 2
    assert "the goal is reached; trial 2 of 2 begins" in done.stdout
    assert "maze 2 of 2, 2 trials" in done.stdout
    assert "Done: 100% of the trials won (rho_g)" in done.stdout
    assert "S start, G goal" not in done.stdout
    shown = done.stdout.split("q stops.\n")[1].split("\n>")[0].splitlines()
    at_start = panel_digits(mazes[0], mazes[0].start)
    expected = [(digit.colour, digit.value) for digit in at_start]
    lines = [line.partition(": ") for line in shown if not line.startswith("hint")]
    assert sorted(
        (colour, int(value)) for colour, _, values in lines if values for value in values.split(", ")
    ) == sorted(expected)
    result = json.loads(out.read_text())
    assert (result["complete"], result["rho_g"]) == (True, 1.0)
    assert result["rho_a"] == pytest.approx(((moves[0] + moves[1]) / (moves[0] + moves[1] + 2) + 1) / 2)
    assert result["rho_p"] == pytest.approx((1 + moves[1] / (moves[1] + 2) + 2) / 4)
    records = result["records"]
    assert [(r["maze"], r["success"], r["exploring"], r["planned"]) for r in records] == [
        (maze, True, *moves[2 * maze : 2 * maze + 2]) for maze in (0, 1)
    ]
    assert result["rho_p"] == sum(record["rho_p"] for record in records) / 2


@pytest.mark.slow
def test_a_game_that_stops_continues_at_its_move(oracle: list[str], tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    first, *rest = oracle[1].splitlines()
    stopped = play(out, oracle[0] + first + "\n")
    assert stopped.returncode == 2
    assert f"{out} keeps 0 of 2 mazes and what was done since; the same command continues" in stopped.stderr
    assert json.loads(out.read_text())["rho_g"] is None, "no maze is played to its end"
    stopped = play(out, "\n".join([*rest, ""]) + oracle[2] + "q\n")
    assert stopped.returncode == 0
    assert "Continuing with maze 1 of 2" in stopped.stdout
    assert f"{out} keeps 1 of 2 mazes" in stopped.stdout
    assert json.loads(out.read_text())["rho_p"] == 1.0, "of the first maze"
    done = play(out, oracle[3])
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert (result["rho_a"], result["rho_g"], result["rho_p"]) == (1.0, 1.0, 1.0)
    again = play(out, "")
    assert again.returncode == 2
    assert "this game is finished (rho_g 100%)" in again.stderr


@pytest.mark.slow
def test_another_game_or_none_in_the_file(oracle: list[str], tmp_path: Path) -> None:
    out = tmp_path / "me.json"
    play(out, oracle[0] + "q\n")
    other = play(out, "", "--trials", "3")
    assert other.returncode == 2
    assert "holds another game (settings not the same)" in other.stderr
    result = json.loads(out.read_text())
    result["records"][0]["actions"][0] = [9, 9]
    out.write_text(json.dumps(result))
    broken = play(out, "")
    assert broken.returncode == 2
    assert f"error: {out}: its actions cannot be made again" in broken.stderr


def test_trials_without_steps_left_count_as_failed(tmp_path: Path) -> None:
    """An episode has 500 steps: the trials after them are lost without a move."""
    out = tmp_path / "me.json"
    done = play(out, "up 0\n" * 500, "--mazes", "1", "--trials", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("no steps are left in this trial; trial") == 2
    assert "0% of the trials won in 500 moves" in done.stdout
    result = json.loads(out.read_text())
    assert len(result["records"][0]["actions"]) == 500
    assert (result["rho_a"], result["rho_g"], result["rho_p"]) == (0, 0, 0)


def test_the_maze_on_request(mazes: list[Maze], oracle: list[str], tmp_path: Path) -> None:
    from gumption.envs.halma.render import maze_lines

    done = play(tmp_path / "me.json", oracle[0].splitlines()[0] + "\nq\n", "--show-maze")
    lines = maze_lines(mazes[0], mazes[0].start)
    assert all(line in done.stdout for line in lines)
    assert "#" in done.stdout.split("moved")[1] or "==" in done.stdout.split("moved")[1]


def test_bad_settings(tmp_path: Path) -> None:
    done = play(tmp_path / "me.json", "", "--mean-depth", "0.5")
    assert done.returncode == 2
    assert "error: --mean-depth is 0.5" in done.stderr
    assert not (tmp_path / "me.json").exists()


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("right 2+3", [2, 2, 3, 0]),
        ("  LEFT   1 + 0+2 ", [0, 1, 0, 2]),
        ("u 3", [1, 3, 0, 0]),
        ("d 0", [3, 0, 0, 0]),
    ],
)
def test_options_are_read(text: str, option: list[int]) -> None:
    assert parse_option(text, 3) == option


@pytest.mark.parametrize("text", ["", "right", "right 4", "right 1+1+1+1", "north 1", "right -1", "right 1 2", "r ²"])
def test_what_is_no_option(text: str) -> None:
    with pytest.raises(InputError, match=r"is no move: .* then 1 to 3 of 0, 1, 2, 3 with"):
        parse_option(text, 3)
