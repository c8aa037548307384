import numpy as np
import pytest

from gumption.envs.wordcraft import WordCraftEnv, WordCraftVectorEnv


def begun(book, mode, **more):
    env = WordCraftEnv(recipe_book=book, split=None, num_distractors=2, render_mode=mode, **more)
    env.reset(seed=0, options={"goal": "mud", "table": ["water", "earth", "fire"]})
    return env


def test_text(book):
    env = begun(book, "ansi", max_mix_steps=3)
    assert env.render() == "goal: mud\n   0 water\n   1 earth\n   2 fire\nselected: -\n"
    env.step(0)
    assert env.render() == "goal: mud\n>  0 water\n   1 earth\n   2 fire\nselected: water\n"
    env.step(5)
    assert env.render().endswith("selected: water\nlast: refused: that slot holds nothing\n")
    env.step(0)
    assert env.render().endswith("selected: -\nlast: water + water makes nothing\n")
    env.step(0)
    assert "last" not in env.render()
    env.step(1)
    assert env.render().endswith("   3 mud\nselected: -\nlast: water + earth makes mud\ngoal made\n")
    env.reset(seed=0)
    assert "last" not in env.render()


def test_picture(book):
    env = begun(book, "rgb_array")
    frames = [env.render()]
    for action in (0, 1):
        env.step(action)
        frames.append(env.render())
    for frame in frames:
        assert frame.dtype == np.uint8
        assert frame.shape == frames[0].shape
        assert frame.shape[2] == 3
    assert not np.array_equal(frames[0], frames[1])
    assert not np.array_equal(frames[1], frames[2])
    ink = (frames[0].sum(axis=2) < 150).sum()
    assert ink > 1_000, "words are drawn"


def test_a_long_name_fits_its_card(book):
    from gumption.envs.wordcraft.render import as_picture

    state = {"goal": "a" * 90, "table": ["b" * 60], "selection": [], "success": False, "action_mask": np.ones(1)}
    picture = as_picture(state)
    for margin in (picture[:, :24], picture[:, -24:]):
        assert (margin == margin[0, 0]).all()


def test_the_picture_tells_that_the_goal_is_made(book):
    env = begun(book, "rgb_array")
    won = (64, 142, 87)
    assert not (env.render() == won).all(axis=2).any()
    env.step(0)
    env.step(1)
    frame = env.render()
    assert (frame[60, 40:200] == won).all(), "the goal turns green"


def test_batches_draw_one_frame_each(book):
    env = WordCraftVectorEnv(3, recipe_book=book, render_mode="ansi")
    env.reset(seed=0)
    assert len(env.render()) == 3
    assert WordCraftVectorEnv(3, recipe_book=book).render() is None
    assert WordCraftEnv(recipe_book=book).render() is None


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_drawing_changes_nothing(book, mode):
    plain, drawn = WordCraftEnv(recipe_book=book, depth=2), WordCraftEnv(recipe_book=book, depth=2, render_mode=mode)
    for env in (plain, drawn):
        env.reset(seed=3)
    for action in (0, 1, 2):
        drawn.render()
        left, right = plain.step(action), drawn.step(action)
        assert np.array_equal(left[0]["table_index"], right[0]["table_index"])
