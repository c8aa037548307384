import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import gumption.envs  # noqa: F401  (registers)
from gumption.data import InputError
from gumption.envs.wordcraft import LittleAlchemyEnv, LittleAlchemyVectorEnv, RecipeBook


def play(env, *names):
    return [env.step(env.book.entity_id(name)) for name in names]


def test_basic_entities(book, shared_data):
    env = LittleAlchemyEnv(recipe_book=book)
    _, info = env.reset(seed=0)
    assert info["table"] == ["air", "earth", "fire", "time", "water"]
    assert info["num_discovered"] == 5
    env = LittleAlchemyEnv(recipe_book=book, basic=["fire", "wood"])
    assert env.reset()[1]["table"] == ["fire", "wood"]
    whole = LittleAlchemyEnv(recipe_book=shared_data / "alchemy2.json")
    assert whole.reset()[1]["table"] == ["air", "earth", "fire", "time", "water"]
    assert whole.batch.reachable.sum() == 700


def test_every_product_of_a_pair_becomes_known(book):
    env = LittleAlchemyEnv(recipe_book=book)
    env.reset(options={"discovered": ["wood"]})
    observation, reward, terminated, truncated, info = play(env, "fire")[0]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["selection"] == ["fire"]
    assert observation["selection_index"] == book.entity_id("fire") + 1
    observation, reward, terminated, truncated, info = play(env, "wood")[0]
    assert reward == 3.0
    assert info["found"] == ["campfire", "charcoal", "smoke"]
    assert info["selection"] == []
    assert observation["discovered"][book.entity_id("smoke")] == 1
    assert play(env, "wood", "fire")[-1][1] == 0.0, "known before"
    assert play(env, "earth", "water")[-1][4]["found"] == ["mud"]


def test_unknown_entities_are_refused(book):
    env = LittleAlchemyEnv(recipe_book=book, max_steps=4)
    env.reset()
    play(env, "fire")
    for number, action in enumerate([book.entity_id("mud")] * 3, start=1):
        _, reward, terminated, truncated, info = env.step(action)
        assert info["invalid_action"]
        assert info["invalid_actions"] == number
        assert info["selection"] == ["fire"]
        assert reward == 0.0
    assert truncated
    assert not terminated


def test_the_game_ends_when_everything_is_made(book):
    env = LittleAlchemyEnv(recipe_book=book, basic=["water", "earth", "fire"])
    env.reset()
    total, done = 3, False
    pairs = [(a, b) for a in book.entities for b in book.entities]
    while not done:
        known = env.batch.describe(0)["table"]
        for a, b in pairs:
            if not done and a in known and b in known:
                _, reward, done, _, info = play(env, a, b)[-1]
                total += reward
    assert info["success"]
    assert total == env.batch.reachable.sum() == info["num_discovered"]
    assert {"geyser", "house", "plasma"} <= set(info["table"])
    assert "wood" not in info["table"]


def test_checkers_pass_without_a_warning(book):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make("gumption/LittleAlchemy-v0", recipe_book=book).unwrapped
        check_env(env)
        from stable_baselines3.common.env_checker import check_env as check_for_sb3

        check_for_sb3(env)


def test_batch(book):
    envs = gym.make_vec("gumption/LittleAlchemy-v0", num_envs=5, recipe_book=book, max_steps=20)
    assert isinstance(envs.unwrapped, LittleAlchemyVectorEnv)
    observation, _ = envs.reset(seed=0)
    for step in range(1, 60):
        assert observation in envs.observation_space
        actions = envs.unwrapped.random_actions()
        assert observation["discovered"][np.arange(5), actions].all()
        observation, reward, terminated, truncated, infos = envs.step(actions)
        assert truncated.all() == (step % 21 == 20)  # then one step in which all are reset
        assert np.array_equal(infos["num_discovered"], observation["discovered"].sum(axis=1))
        assert not terminated.any()
        assert (reward >= 0).all()


def test_a_single_game_is_a_batch_of_one(book):
    single = LittleAlchemyEnv(recipe_book=book, max_steps=30)
    batch = LittleAlchemyVectorEnv(1, recipe_book=book, max_steps=30, autoreset_mode=AutoresetMode.SAME_STEP)
    single.reset(seed=0)
    batch.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        action = int(rng.choice(np.flatnonzero(single.action_masks())))
        observation, reward, terminated, truncated, info = single.step(action)
        seen, rewards, ends, cuts, infos = batch.step(np.array([action]))
        assert (rewards[0], ends[0], cuts[0]) == (reward, terminated, truncated)
        if terminated or truncated:
            assert infos["final_info"]["num_discovered"][0] == info["num_discovered"]
            observation, _ = single.reset()
        assert all(np.array_equal(observation[name], seen[name][0]) for name in observation)
    lean = LittleAlchemyVectorEnv(4, recipe_book=book, max_steps=30)
    ended = sum(lean.step_arrays(lean.random_actions())[1].sum() for _ in range(60))
    assert ended == 8


def test_frames(book):
    env = LittleAlchemyEnv(recipe_book=book, render_mode="ansi")
    env.reset()
    play(env, "earth", "water")
    assert env.render() == (
        "discovered: 6 of 20\nselected: -\nlast: earth + water makes mud\nknown: air, earth, fire, mud, time, water\n"
    )
    play(env, "water")
    assert "selected: water\nlast: earth + water makes mud\n" in env.render(), "until the next mix"
    play(env, "earth")
    assert "selected: -\nlast: water + earth makes nothing new\n" in env.render()
    env.step(env.book.entity_id("steam"))
    assert "last: refused: that is not known\n" in env.render()
    env.reset()
    assert env.render().startswith("discovered: 5 of 20\nselected: -\nlast: -\n")


def test_the_picture_shows_what_is_known(book):
    env = LittleAlchemyEnv(recipe_book=book, render_mode="rgb_array")
    env.reset()
    blue, green = (74, 124, 196), (64, 142, 87)

    def cards(colour):
        """How many runs of a colour there are along the middle of the first two rows of cards."""
        frame = env.render()
        return sum(int(np.diff((frame[y] == colour).all(1).astype(int)).clip(0).sum()) for y in (160, 248))

    white, size = cards((255, 255, 255)), env.render().shape
    assert white == 5
    play(env, "earth")
    assert (cards(blue), cards((255, 255, 255))) == (1, white - 1), "the selected one is blue"
    play(env, "water")
    assert (cards(green), cards(blue)) == (1, 0), "what the mix made is green"
    assert env.render().shape == size


def test_the_picture_of_many_things_keeps_those_that_matter():
    from gumption.envs.wordcraft.render import discoveries

    names = [f"thing {i}" for i in range(700)]
    state = {"table": names, "selection": ["thing 699"], "success": False}
    frame = discoveries(state, 760, "rgb_array", "thing 0 + thing 1 makes thing 698", ["thing 698"])
    grid = frame[156:760]
    assert (grid == (74, 124, 196)).all(2).any()
    assert (grid == (64, 142, 87)).all(2).any()


def test_facts_of_actions(book):
    env = LittleAlchemyEnv(recipe_book=book)
    env.reset()
    assert env.action_facts().labels(env.vocabulary) == [[]] * 28
    play(env, "earth")
    facts = env.action_facts()
    named = facts.labels(env.vocabulary)
    assert named[book.entity_id("fire")] == [("fire", "combinesWith", "earth")]
    assert named[book.entity_id("mud")] == []
    assert book.labels(facts.subject[0, :, 0]) == ["air", "earth", "fire", "time", "water"]


def test_errors(book):
    with pytest.raises(InputError, match="max_steps is 1; it is a whole number, at least 2"):
        LittleAlchemyEnv(recipe_book=book, max_steps=1)
    with pytest.raises(InputError, match="no entity 'watr'; did you mean water"):
        LittleAlchemyEnv(recipe_book=book, basic=["watr"])
    with pytest.raises(InputError, match="no basic entity to start from"):
        LittleAlchemyEnv(recipe_book=book, basic=[])
    with pytest.raises(InputError, match="no basic entity"):
        LittleAlchemyEnv(recipe_book=RecipeBook("loop", ["a", "b"], [("a", "b", "b"), ("b", "a", "a")]))
    env = LittleAlchemyEnv(recipe_book=book)
    for options in ({"discovered": "mud"}, {"discovered": 3}, {"goal": "mud"}, {"discovered": ["mud"], "goal": "mud"}):
        with pytest.raises(InputError, match="discover"):
            env.reset(options=options)
