"""`gumption play WORLD` for worlds without a play of their own."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box

from gumption.data import InputError
from gumption.envs.halma import HALMAEnv
from gumption.envs.wordcraft import LittleAlchemyEnv, WordCraftEnv
from gumption.envs.worlds import World, find
from gumption.scripts import cli
from gumption.scripts.play import candidates, open_actions, parse_action, play_episode


@pytest.fixture
def acorn(small_book) -> WordCraftEnv:
    """WordCraft in a given task: nut and oak make an acorn."""
    env = WordCraftEnv(recipe_book=str(small_book), split=None, num_distractors=1, render_mode="ansi")
    env.reset(options={"goal": "acorn", "table": ["nut", "oak", "seed"]})
    return env


def test_names_and_numbers_choose_candidates(acorn, types, capsys):
    types("nut", "nonsense", "77", "3", "1")
    assert play_episode(acorn) == 1.0
    out = capsys.readouterr().out
    assert "choose: 0 nut, 1 oak, 2 seed\n" in out
    assert "'nonsense' is neither a candidate nor a number from 0 to 3; q stops" in out
    assert "'77' is neither a candidate nor a number" in out
    assert "'3' cannot be chosen now" in out
    assert "last: nut + oak makes acorn" in out
    assert out.endswith("The episode ended with success after 2 steps; reward 1.\n")


def test_one_can_stop(acorn, types, capsys):
    types("0", "q")
    assert play_episode(acorn) is None
    assert capsys.readouterr().out.endswith("Stopped after 1 steps; reward 0.\n")


def test_the_input_ends(acorn, types):
    types("0")
    with pytest.raises(InputError, match="the input ended after 1 steps, before the episode did"):
        play_episode(acorn)


def test_there_is_no_input(acorn, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)  # as Python has it where a shell closes it
    with pytest.raises(InputError, match="the input ended after 0 steps, before the episode did"):
        play_episode(acorn)


def test_options_are_typed_as_numbers(types, capsys):
    env = HALMAEnv(num_mazes=1, max_opt_len=2, trials=1, max_steps=2, render_mode="ansi")
    env.reset(seed=0)
    assert candidates(env) is None
    types("2 1", "2 1 x", "2 9 0", "2 0 0", "2 0 0")
    assert play_episode(env) == -10.0
    out = capsys.readouterr().out
    for wrong in ("2 1", "2 1 x", "2 9 0"):
        assert f"'{wrong}' is no action; it is 3 numbers with spaces between, of MultiDiscrete([4 4 4])" in out


def test_a_long_list_is_not_printed(types, capsys, small_book):
    env = LittleAlchemyEnv(recipe_book=str(small_book), render_mode="ansi")
    env.reset()
    known = [name for name, is_open in zip(candidates(env) or [], open_actions(env), strict=True) if is_open]
    assert len(known) > 40
    types("q")
    play_episode(env)
    assert f"choose: one of {len(known)}, by its name" in capsys.readouterr().out


def test_numbers_that_are_no_integers():
    env = SimpleNamespace(action_space=Box(-1, 1, (2,), np.float32))
    assert parse_action("0.5 -1", env, None, None).tolist() == [0.5, -1]
    with pytest.raises(InputError, match="'2 0' is no action; it is 2 numbers"):
        parse_action("2 0", env, None, None)


def test_the_command_serves_a_world_without_a_play_of_its_own(monkeypatch, capsys, types):
    from gumption.envs import worlds

    monkeypatch.setattr(worlds, "WORLDS", {"other": HALMA_WITHOUT_OFFERS, **worlds.WORLDS})
    types("q")
    for arguments, code, told in (
        (["other", "--seed", "3"], 0, "Stopped after 0 steps"),
        (["other", "--env", "no"], 2, "--env is 'no'; the world 'other' has gumption/HALMA-v0"),
        (["nowhere"], 2, "unknown world 'nowhere'"),
    ):
        monkeypatch.setattr("sys.argv", ["gumption", "play", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown = capsys.readouterr()
        assert (ended.value.code or 0) == code
        assert told in shown.out + shown.err


HALMA_WITHOUT_OFFERS = World("other", "Other", "Mazes.", "nobody", find("halma").environments)
