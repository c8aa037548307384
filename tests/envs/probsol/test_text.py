"""The world in words: what is told of a table, and what is typed."""

import pytest

from gumption.data import InputError
from gumption.envs import worlds
from gumption.envs.probsol.text import goal_text
from tests.probsol_examples import disc, fishing, make, play, task

FACE = worlds.find("probsol").get("text")


def test_the_rules_say_what_is_to_be_done() -> None:
    told = FACE.rules(make(fishing()))
    assert "Bring the golden-boxed disc (purple) out of the dark" in told
    for verb in ("grab", "place", "hold", "hold_at", "turn", "put_down", "take_up", "store", "none", "check", "answer"):
        assert f"\n  {verb} " in told or f" {verb} " in told


def test_a_table_is_a_map_with_a_line_for_each_disc() -> None:
    env = make(fishing())
    lines = FACE.observe(env).splitlines()
    rows = {int(line[:2]): line[3:] for line in lines if line[:2].strip().isdigit() and len(line) == 43}
    assert list(rows) == list(range(0, 40, 2))
    assert rows[0] == ":" * 40
    assert rows[10][10] == "a"
    assert rows[14] == "." * 8 + "+" * 5 + "." * 27
    assert "a (purple, golden box): at 10.0 11.0" in lines
    assert "b (darkblue): in cell 0 of the side bar" in lines
    play(env, ("grab", "b"))
    assert "b (darkblue): in your hand" in FACE.observe(env)
    play(env, ("hold_at", 20, 30), ("turn", 1), ("turn", 1), ("turn", 1))
    assert "b (darkblue): held at 20.0 30.0, its boundary diagonalB (135 degrees)" in FACE.observe(env)
    play(env, ("put_down",))
    assert "b (darkblue): at 20.0 30.0" in FACE.observe(env)


def test_areas_of_all_kinds_and_long_ids() -> None:
    square = [[96, 96], [144, 96], [144, 144], [96, 144]]
    moved = [[x + 120, y] for x, y in square]
    shape = {"blocks": [square], "building": [moved], "walls": [[432, 0, 24, 96]], "inaccessible": [[0, 360, 480, 120]]}
    env = make(task("Modifying", disc("left one", (300, 300), name="dax"), disc("a", 0), **shape))
    told = FACE.observe(env)
    assert " 8 ........====......----..................\n" in told
    assert " 0 ....................................##..\n" in told
    assert "30 ::::" in told
    assert "b = left one" in told
    assert ", dax): at 24.5 24.5" in told
    curling = make(task("Curling", disc("a", 0), inaccessible=[[0, 0, 480, 120]], targets=[[96, 48, 48, 48]]))
    assert " 4 ::::::::****::::" in FACE.observe(curling)


@pytest.mark.parametrize(
    ("before", "typed", "action"),
    [
        ((), "grab b", ("grab", "b")),
        ((), "  GRAB   darkblue ", ("grab", "b")),
        ((), "Grab DarkBlue", ("grab", "b")),
        ((), "none", ("none",)),
        ((), "check", ("check",)),
        ((("grab", "b"),), "place 10 16", ("place", 10, 16)),
        ((("grab", "b"),), "hold 10 16", ("hold_at", 10, 16)),
        ((("grab", "b"),), "hold_at 10 16", ("hold_at", 10, 16)),
        ((("grab", "b"),), "store 3", ("store", 3)),
        ((("grab", "b"), ("place", 30, 30)), "hold b", ("hold", "b")),
        ((("grab", "b"), ("place", 30, 30)), "grab b", ("grab", "b")),
        ((("grab", "b"), ("hold_at", 30, 30)), "turn", ("turn", 1)),
        ((("grab", "b"), ("hold_at", 30, 30)), "turn -1", ("turn", -1)),
        ((("grab", "b"), ("hold_at", 30, 30)), "put down", ("put_down",)),
        ((("grab", "b"), ("hold_at", 30, 30)), "take_up", ("take_up",)),
    ],
)
def test_what_is_typed_is_an_action(before, typed, action) -> None:
    env = make(fishing())
    if before:
        play(env, *before)
    assert FACE.parse(typed, env) == env.action_index(*action)


@pytest.mark.parametrize(
    ("before", "typed", "message"),
    [
        ((), "", "'' is no action; type one of grab, store, place"),
        ((), "fetch b", "'fetch b' is no action"),
        ((), "grab", "'' is no disc; there are a \\(purple\\), b \\(darkblue\\), c \\(red\\)"),
        ((), "grab z", "'z' is no disc"),
        ((), "store", "'store' takes 1 arguments, and 0 are given"),
        ((), "place 10", "'place' takes 2 arguments, and 1 are given"),
        ((), "place ten 16", "'place ten 16': 'ten' is no whole number"),
        ((), "place 10 40", "a column or row is 40; it is 0 to 39"),
        ((), "place 10 16", "you have no disc in hand: grab one first"),
        ((), "store 3", "you have no disc in hand: grab one first"),
        ((), "grab a", "a lies in the dark, where you cannot touch it"),
        ((), "hold b", "b is in the side bar: grab it, then hold_at a point"),
        ((), "turn 1", "you hold no disc: hold one first"),
        ((), "answer b", "there is nothing to answer: the questions come once CHECK"),
        ((("grab", "b"),), "grab c", "you have b in hand: set it down or store it first"),
        ((("grab", "b"),), "check", "you have b in hand: set it down or store it first"),
        ((("grab", "b"),), "store 1", "cell 1 is taken"),
        ((("grab", "b"),), "place 10 3", "point 10 3 is closed: a disc there would overlap"),
        ((("grab", "b"), ("hold_at", 30, 30)), "grab c", "you have b on hold: set it down or store it first"),
        ((("grab", "b"), ("hold_at", 30, 30)), "place 3 3", "you hold b: take_up or put_down first"),
    ],
)
def test_what_is_refused_and_why(before, typed, message) -> None:
    env = make("fishing/0")
    if before:
        play(env, *before)
    state = env.save()
    with pytest.raises(InputError, match=message):
        FACE.parse(typed, env)
    assert env.save() == state


def test_two_discs_of_one_name_are_told_apart_by_their_ids() -> None:
    env = make(task("Sandbox", disc("a", (200, 200), name="dax"), disc("b", 0, name="dax")))
    with pytest.raises(InputError, match=r"'dax' stands for several discs; there are a .*, b "):
        FACE.parse("grab dax", env)


def test_a_quiz_is_asked_and_answered_in_words() -> None:
    asked = make("fishing/0")
    play(asked, ("grab", "b"), ("place", 10, 16), ("check",))
    told = FACE.observe(asked)
    assert "The goal is reached." in told
    assert "1. Which disc has the largest mass?" in told
    assert FACE.parse("answer darkblue; a, c", asked) == [["b"], ["a", "c"]]
    with pytest.raises(InputError, match="1 answers to 2 questions; type them with ; between"):
        FACE.parse("answer b", asked)
    with pytest.raises(InputError, match="the goal is reached, and the questions are open"):
        FACE.parse("grab c", asked)
    _, reward, terminated, _, info = asked.answer(FACE.parse("answer b; a c", asked))
    assert (reward, terminated, info["end"]) == (1.0, True, "solved")
    assert "ended: solved" in FACE.observe(asked)


def test_a_limit_is_told_with_its_present_value() -> None:
    env = make(fishing(constraints={"action_number": 5, "trial_time": 60}))
    told = FACE.observe(env)
    assert "action number 0 of 5, trial time 0 of 60 s, trial number 1, solve time 0 s" in told


def test_each_limit_is_told_in_words() -> None:
    limits = {"action_time": 2.5, "action_number": 9, "trial_time": 1, "trial_number": 1, "solve_time": 60}
    told = goal_text(make(fishing(constraints=limits)).unwrapped.batch.task())
    expected = "At most 2.5 seconds before an action, 9 actions a trial, 1 second a trial, 1 trial, 60 seconds in all."
    assert told.endswith(expected)
