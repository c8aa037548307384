"""`gumption play probsol` with scripted input, and its records played again with `gumption probsol replay`."""

import sys
from contextvars import copy_context

import pytest
from PIL import Image

from gumption.envs.records import read_episodes
from gumption.scripts import cli

SOLVE = ("grab b", "place 10 16", "check", "answer b; a c")


@pytest.fixture
def gumption(types, monkeypatch, capsys, tmp_path):
    """Runs a command in an empty folder with these lines typed: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, typed=()):
        types(*typed)
        monkeypatch.setattr(sys, "argv", ["gumption", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def play(gumption):
    def played(*lines, options=()):
        return gumption("play", "probsol", *options, typed=lines)

    return played


def test_a_person_solves_a_task_and_answers(play, tmp_path):
    code, out, _ = play("place 1 1", "fly", *SOLVE[:3], "answer b; a", SOLVE[3], options=("--record", "a.jsonl"))
    assert code == 0
    assert "Nobody tells you how heavy" in out
    assert "you have no disc in hand: grab one first" in out
    assert "'fly' is no action" in out
    assert "1. Which disc has the largest mass?" in out
    assert "question 1 asks for a pair, which is two discs" in out
    assert "reward 1, so far 1; ended: the goal is reached\n" in out
    assert "The episode ended with success after 4 steps; reward 1." in out
    assert out.endswith("recorded: a.jsonl\n")
    [record] = read_episodes(tmp_path / "a.jsonl")
    assert (record["result"]["end"], len(record["actions"])) == ("solved", 4)


def test_trials_and_how_near_the_goal_was(play):
    code, out, _ = play("check", "grab b", "place 30 30", "check", "none", "check", options=("--rate",))
    assert code == 0
    assert "solution rate 0.000" in out
    assert "that does not solve it (solution rate 0.000), trial 2 begins" in out
    assert "trial number 2 of 3" in out
    assert "trial 3 begins" in out
    assert "ended: no trial is left\n" in out
    assert "The episode ended after 6 steps; reward 0." in out


def test_the_rate_is_told_only_if_asked(play):
    assert "solution rate" not in play("grab b", "q")[1]


def test_a_wrong_answer_ends_it(play):
    out = play(*SOLVE[:3], "answer c; a c")[1]
    assert "ended: an answer is wrong\n" in out
    assert "The episode ended after 4 steps; reward 0." in out


def test_one_can_stop_and_the_input_can_end(play, tmp_path):
    code, out, _ = play("grab b", "q", options=("--record", "a.jsonl"))
    assert code == 0
    assert "Stopped after 1 steps; reward 0." in out
    code, _, err = play("grab b", options=("--record", "a.jsonl"))
    assert code == 2
    assert "the input ended after 1 steps, before the episode did" in err
    assert [record["result"]["end"] for record in read_episodes(tmp_path / "a.jsonl")] == ["", ""]


def test_names_and_laws(play):
    out = play("grab steelblue", "grab peru", "place 10 16", "q", options=("--names", "anonymous", "--laws", "inert"))[
        1
    ]
    assert "a (steelblue, golden box): at 10.0 11.0" in out.splitlines()
    assert out.count("a (steelblue, golden box): at 10.0 11.0") == 3  # without forces it stays where it is


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--task", "fishin/0"), "there is no task 'fishin/0', nor such a file; did you mean 'fishing/0'?"),
        (("--laws", "odd"), "laws is 'odd'"),
        (("--names", "odd"), "names is 'odd'"),
        (("--record", "file/a.jsonl"), "cannot write file/a.jsonl"),
        (("--record", "no/a.jsonl"), "cannot write no/a.jsonl: there is no folder no; make it, or name another"),
    ],
)
def test_bad_options(play, options, message, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = play("q", options=options)
    assert code == 2
    assert message in err


# ---- replay


def test_a_record_is_played_again_and_animated(play, gumption, tmp_path):
    play("grab b", "q", options=("--record", "a.jsonl"))
    play(*SOLVE, options=("--record", "a.jsonl"))
    code, out, _ = gumption("probsol", "replay", "a.jsonl", "--gif", "a.gif")
    assert code == 0
    told, saved = out.splitlines()
    assert told == "fishing/0: 4 actions, each found the state that it had; solved in trial 1, 3.9 s"
    with Image.open(tmp_path / "a.gif") as image:
        frames = getattr(image, "n_frames", 1)
        assert image.size == (528, 480)
    assert saved == f"saved: a.gif, {frames} frames"
    assert frames > 15
    first = (tmp_path / "a.gif").read_bytes()
    gumption("probsol", "replay", "a.jsonl", "--gif", "a.gif")
    assert (tmp_path / "a.gif").read_bytes() == first
    out = gumption("probsol", "replay", "a.jsonl", "--episode", "1")[1]
    assert out == "fishing/0: 1 actions, each found the state that it had; not ended in trial 1, 1.0 s\n"


def test_replays_that_are_refused(play, gumption, tmp_path):
    play(*SOLVE, options=("--record", "a.jsonl"))
    assert "a.jsonl has 1 episode" in gumption("probsol", "replay", "a.jsonl", "--episode", "2")[2]
    assert "b.jsonl: cannot be read" in gumption("probsol", "replay", "b.jsonl")[2]
    path = tmp_path / "a.jsonl"
    path.write_text(path.read_text().replace("[54, 1,", "[53, 1,", 1))
    assert "a.jsonl:1: its content does not match its sha256" in gumption("probsol", "replay", "a.jsonl")[2]
    # In a context of its own: from then on nothing is verified there.
    code, _, err = copy_context().run(gumption, "--no-verify", "probsol", "replay", "a.jsonl")
    assert code == 2
    assert "a.jsonl:1: actions[2]: check at step 53 found another state than it does here" in err
    (tmp_path / "none.jsonl").write_text("")
    assert "none.jsonl holds no episode" in gumption("probsol", "replay", "none.jsonl")[2]
