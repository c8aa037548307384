"""Fixed panels: each cell of each maze has one picture, whenever, wherever and in whatever company it is played."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from gumption.data import InputError
from gumption.envs.halma import HALMAEnv, HALMAVectorEnv, Mazes, sample_mazes
from gumption.envs.halma.visual import PanelPainter

FIXED = {"observation": "visual", "panels": "fixed"}


def walk(env: HALMAVectorEnv, steps: int, seed: int) -> dict[tuple[int, int], tuple[bytes, bytes]]:
    """Picture and boxes of every (maze, cell) on a walk at random; each visit has to show the first one's."""
    observation, infos = env.reset(seed=seed)
    seen: dict[tuple[int, int], tuple[bytes, bytes]] = {}
    visits = 0
    for _ in range(steps):
        for i, place in enumerate(zip(env.maze_index.tolist(), env.cell.tolist(), strict=True)):
            shown = observation[i].tobytes(), infos["boxes"][i].tobytes()
            assert seen.setdefault(place, shown) == shown
            visits += 1
        observation, *_, infos = env.step(env.random_actions())
    assert visits > 3 * len(seen), "places were visited again"
    return seen


def test_a_cell_shows_one_picture_in_any_batch_and_with_any_seed():
    settings = {**FIXED, "num_mazes": 2, "max_opt_len": 1}
    many = walk(HALMAVectorEnv(7, **settings), 60, seed=1)
    few = walk(HALMAVectorEnv(3, **settings), 140, seed=2)
    both = set(many) & set(few)
    assert len(both) > 8
    assert all(many[place] == few[place] for place in both)
    assert len({picture for picture, _ in many.values()}) == len(many), "each cell has its own"


def test_the_pictures_are_panels_of_their_rows():
    """As drawn by the painter, in the training's handwriting: a maze alone is drawn as it is among others."""
    mazes = Mazes(sample_mazes(3, 5))
    env = HALMAVectorEnv(3, mazes=mazes, order="sequential", **FIXED)
    observation, infos = env.reset(seed=0)
    assert np.array_equal((infos["boxes"] != 0).any(2), infos["panel"] != 0)
    for i, maze in enumerate(mazes):
        cells = np.flatnonzero(mazes.inside[i])
        rows, rng = mazes.rows[i, cells], np.random.default_rng(int(maze.fingerprint, 16))
        drawn, _ = PanelPainter("train").draw(rows, rng)
        assert np.array_equal(drawn[cells == mazes.start[i]][0], observation[i])


def test_other_handwriting_gives_other_pictures():
    mazes = sample_mazes(2, 0)
    shown = [HALMAEnv(mazes=mazes, images=images, **FIXED).reset(seed=0)[0] for images in ("train", "test", "train")]
    assert np.array_equal(shown[0], shown[2])
    assert not np.array_equal(shown[0], shown[1])


def test_a_maze_that_reset_adds_has_its_own_pictures_too():
    first, other = sample_mazes(2, 9)
    env = HALMAEnv(mazes=[first], **FIXED)
    before, _ = env.reset(seed=0)
    added, told = env.reset(options={"maze": other})
    assert told["maze"] == 1
    alone, told_alone = HALMAEnv(mazes=[other], **FIXED).reset(seed=4)
    assert np.array_equal(added, alone)
    assert told["boxes"] == told_alone["boxes"]
    assert np.array_equal(env.reset(options={"maze": 0})[0], before)


def test_pictures_of_places():
    env = HALMAVectorEnv(5, num_mazes=3, **FIXED)
    observation, _ = env.reset(seed=0)
    assert np.array_equal(env.pictures(env.places()), observation)
    redrawn = HALMAVectorEnv(5, num_mazes=3, observation="visual")
    with pytest.raises(InputError, match="only panels='fixed' has pictures of places"):
        redrawn.pictures(redrawn.places())


def test_they_draw_nothing_from_the_environment_s_generator():
    """So the mazes that a seed gives are those of an environment that shows symbols."""
    played = []
    for look in (FIXED, {}):
        env = HALMAVectorEnv(3, num_mazes=30, max_steps=4, **look)
        env.reset(seed=5)
        moves = np.random.default_rng(0).integers(4, size=(30, 3, 6))
        played.append([env.step(step) and env.maze_index.tolist() for step in moves])
    assert played[0] == played[1]


def test_a_saved_environment_goes_on_with_the_same_pictures():
    settings = {**FIXED, "num_mazes": 6, "max_steps": 12}
    options = np.random.default_rng(1).integers(4, size=(50, 4, 6))
    env = HALMAVectorEnv(4, **settings)
    env.reset(seed=3)
    for step in options[:20]:
        env.step(step)
    again = HALMAVectorEnv(4, **settings)
    again.load_state_dict(env.state_dict())
    for step in options[20:]:
        one, other = env.step(step), again.step(step)
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[4]["boxes"], other[4]["boxes"])


@pytest.mark.slow
def test_processes_with_other_hash_seeds_show_the_same():
    program = (
        "import sys\n"
        "from gumption.envs.halma import HALMAVectorEnv\n"
        "env = HALMAVectorEnv(4, num_mazes=3, observation='visual', panels='fixed')\n"
        "sys.stdout.buffer.write(env.reset(seed=0)[0].tobytes())"
    )
    shown = {
        hashlib.sha256(
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": seed},
                check=True,
                capture_output=True,
            ).stdout
        ).hexdigest()
        for seed in ("1", "2")
    }
    here = HALMAVectorEnv(4, num_mazes=3, **FIXED).reset(seed=0)[0]
    assert shown == {hashlib.sha256(here.tobytes()).hexdigest()}


def test_redrawn_panels_are_what_they_were():
    """The picture of a seed, as before there were fixed panels: saved trainings go on to the same bits."""
    env = HALMAVectorEnv(3, num_mazes=3, observation="visual")
    digest = hashlib.sha256(env.reset(seed=0)[0].tobytes())
    for _ in range(3):
        digest.update(env.step(env.random_actions())[0].tobytes())
    assert digest.hexdigest() == "87082b06012773af56ef47964362ee0bf3dfef168b30e30e2dc101e9516d6ee7"
