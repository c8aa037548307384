"""`gumption play segar` with scripted input."""

import re
import sys

import pytest

from gumption.data import InputError
from gumption.envs.segar.text import parse_push
from gumption.scripts import cli


@pytest.fixture
def play(types, monkeypatch, capsys):
    """Plays with these lines typed: exit code, stdout, stderr."""

    def played(*lines, options=("--level", "empty-easy/test/0/0")):
        types(*lines)
        monkeypatch.setattr(sys, "argv", ["gumption", "play", "segar", *options])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return played


@pytest.mark.parametrize(
    ("typed", "push"),
    [
        ("", (0, 0)),
        ("up", (0, 2)),
        ("  Left   0.5 ", (-0.5, 0)),
        ("down-right 1", (0.5**0.5, -(0.5**0.5))),
        ("up left", (-(2**0.5), 2**0.5)),
        ("90", (0, 2)),
        ("-90 1", (0, -1)),
        ("0.5,-1", (0.5, -1)),
        ("2, -2", (2, -2)),
    ],
)
def test_words_angles_and_numbers_are_pushes(typed, push):
    assert parse_push(typed, 2.0) == pytest.approx(push)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("north", "'north' is no push; type one as up, down left, 45 0.5"),
        ("upwards", "'upwards' is no push"),
        ("up strongly", "'up strongly' is no push"),
        ("nan 1", "'nan 1' is no push"),
        ("1,", "'1,' is no push"),
        ("1,1,1", "'1,1,1' has 3 numbers; type two, as 0.5,-1"),
        ("3,0", "'3,0' is too strong: along x and y a push is from -2 to 2"),
        ("up 3", "'up 3': a strength is from 0 to 2"),
        ("left -1", "'left -1': a strength is from 0 to 2"),
        (
            "1 0",
            "'1 0' is a push of strength 0, which pushes nothing: Enter alone does that; the push along x and y has a "
            "comma: 1, 0",
        ),
        ("up 0", "'up 0' is a push of strength 0, which pushes nothing: Enter alone does that"),
        ("45 1 1", "'45 1 1' has too many numbers"),
    ],
)
def test_what_is_no_push(typed, message):
    with pytest.raises(InputError) as refused:
        parse_push(typed, 2.0)
    assert str(refused.value).startswith(message)


def test_a_person_reaches_the_goal(play):
    # The goal is 0.97 away, at 50.5 degrees; a push of 2 goes 0.1 in a step, less what friction takes.
    code, out, err = play("nowhere", "50.5", *[""] * 40)
    assert (code, err) == (0, "")
    assert "You push golfball" in out
    assert "level empty-easy/test/0/0" in out
    assert "'nowhere' is no push" in out
    assert "GolfBall), velocity 1.2" in out
    assert re.search(r"The episode ended with success after 1\d steps; reward -", out)
    assert re.search(r"so far -\S+; the goal is reached\n", out)


def test_one_can_stop_and_the_input_can_end(play):
    code, out, _ = play("", "q")
    assert code == 0
    assert "Stopped after 1 steps; reward -" in out
    code, _, err = play("")
    assert code == 2
    assert "the input ended after 1 steps, before the episode did" in err


def test_the_end_is_told(play):
    code, out, _ = play("", "", options=("--level", "empty-easy/test/0/0", "--steps", "2"))
    assert code == 0
    assert "The episode ended after 2 steps; reward -" in out


def test_the_seed_draws_the_level_and_bad_options_are_told(play):
    told = [
        next(line for line in play("q", options=("--seed", seed))[1].splitlines() if line.startswith("level "))
        for seed in "112"
    ]
    assert told[0] == told[1] != told[2]
    for options, message in (
        (("--level", "nowhere"), "'nowhere' is no name of a level"),
        (("--task", "Chess"), "Chess"),
        (("--task", "Billiards", "--level", "empty-easy/test/0/0"), "Billiards needs one CueBall"),
    ):
        code, _, err = play("q", options=options)
        assert code == 2
        assert message in err


def test_billiards_and_a_ball_that_is_not_seen(play):
    assert "You push cueball" in play("q", options=("--task", "Billiards"))[1]
    assert "You push golfball" in play("q", options=("--task", "Invisiball"))[1]
