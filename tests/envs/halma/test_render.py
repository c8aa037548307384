"""Pictures of mazes, panels and trials."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gumption.data import InputError
from gumption.envs.halma import Maze, Move, oracle_trials, sample_mazes
from gumption.envs.halma.render import draw, maze_picture, moved, panel_picture, trial_gif
from gumption.envs.halma.visual import RGB

# A crossing at (2, 5) on the way, a corridor (3, 4) that touches the start's, and the goal below it.
MAZE = Maze(
    (0, 5),
    (2, 3),
    [((x, 5), (x + 1, 5)) for x in range(4)] + [((2, 5), (2, 4)), ((2, 4), (2, 3)), ((4, 5), (4, 4)), ((3, 4), (4, 4))],
)


def test_text_shows_the_panel_beside_the_maze() -> None:
    assert draw(MAZE, (0, 5), "ansi") == (
        "right yellow  crossing 2, wall 4      @--o--+--o--o\n"
        "goal  purple 2 right, white 2 down          |     |\n"
        "                                            o  o--o\n"
        "                                            |\n"
        "                                            G\n"
        "\n"
        "                                      S start, G goal, @ agent, + crossing; == and # are walked\n"
    )


def test_text_shows_the_hint_and_the_way_walked() -> None:
    assert draw(MAZE, (2, 4), "ansi", [(0, 5), (2, 5), (2, 4)]).splitlines()[:5] == [
        "up    orange  crossing 1, wall 1    S==o==+--o--o",
        "down  green   wall 1                      #     |",
        "goal  white 1 down                        @  o--o",
        "                                          |",
        "                                          G",
    ]
    assert "hint  pentagon: down" in draw(MAZE, (2, 5), "ansi")
    assert "hint" not in draw(MAZE, (1, 5), "ansi")


def test_an_array_has_the_given_panel_at_its_left() -> None:
    seen = np.zeros((128, 128, 3), dtype=np.uint8)
    seen[:64] = 200, 0, 0
    frame = draw(MAZE, (2, 5), "rgb_array", picture=seen, size=200)
    assert (frame.shape, frame.dtype) == ((260, 410, 3), np.uint8)
    below = 14  # the line that says what is shown
    assert (frame[below : below + 90, :200] == (200, 0, 0)).all()
    assert not frame[below + 110 : below + 200, :200].any()
    assert np.array_equal(frame[below : below + 200, 210:], maze_picture(MAZE, (2, 5), size=200))


def test_a_picture_is_large_enough_for_a_slide_and_has_a_legend() -> None:
    frame = draw(MAZE, (2, 5), "rgb_array")
    assert frame.shape == (780, 1230, 3)
    legend = frame[650:]
    colours = {*RGB.values()} - {RGB["grey"]}
    marks = {(30, 84, 172), (86, 140, 216), (208, 60, 52), (46, 148, 84), (172, 172, 168)}
    missing = [colour for colour in sorted(colours | marks) if (legend == colour).all(2).sum() < 20]
    assert not missing, "every colour of the panel and every mark of the maze"


def test_a_picture_too_small_for_its_legend_is_refused() -> None:
    with pytest.raises(InputError, match="size is 60; below 100 pixels"):
        draw(MAZE, (0, 5), "rgb_array", size=60)


def test_without_a_picture_the_panel_depends_on_what_it_shows_alone() -> None:
    first = draw(MAZE, (2, 5), "rgb_array")
    assert np.array_equal(first, draw(MAZE, (2, 5), "rgb_array"))
    assert not np.array_equal(first[:, :600], draw(MAZE, (1, 5), "rgb_array")[:, :600])
    row = np.array([0, 0, 2, 0, 0, 0, 4, 0, 2, -2, 0], dtype=np.int8)
    assert not np.array_equal(panel_picture(row, 0), panel_picture(row, 1))


def test_the_maze_picture_puts_things_where_they_are() -> None:
    def count(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
        """(n, 2) x, y of the pixels of a colour."""
        return np.argwhere((picture == colour).all(2))[:, ::-1]

    blue, red, green = (30, 84, 172), (208, 60, 52), (46, 148, 84)
    picture = maze_picture(MAZE, (3, 4))
    agent, start, goal = (count(picture, colour).mean(0) for colour in (blue, red, green))
    # Cells are 24 px apart; y grows upwards in the maze, downwards in the picture.
    assert np.allclose(agent - start, (72, 24), atol=1)
    assert np.allclose(goal - start, (48, 48), atol=1)
    assert len(count(picture, (86, 140, 216))) == 0
    assert len(count(maze_picture(MAZE, (2, 4), [(0, 5), (2, 5), (2, 4)]), (86, 140, 216))) > 100
    x, y = np.rint(start).astype(int)
    dark, light = (48, 52, 58), (244, 244, 240)
    assert tuple(picture[y, x + 12]) == light, "a door to the next cell"
    wall = picture[y + 24, x + 56 : x + 64]  # between (2, 4) and (3, 4), which touch and are not connected
    assert (wall == dark).all(1).any()
    assert tuple(picture[0, 0]) == dark


def test_bad_arguments_of_draw() -> None:
    with pytest.raises(InputError, match="mode is 'human'; it can be ansi or rgb_array"):
        draw(MAZE, (0, 5), "human")
    with pytest.raises(InputError, match=r"the maze has no cell \(9, 9\)"):
        draw(MAZE, (9, 9), "ansi")


def test_moves_are_whole_or_not_at_all() -> None:
    assert moved(MAZE, (0, 5), Move("right", 4)) == (4, 5)
    assert moved(MAZE, (0, 5), Move("right", 5)) is None
    assert moved(MAZE, (2, 5), Move("down", 2)) == (2, 3)
    assert moved(MAZE, (2, 4), Move("right", 1)) is None, "touching corridors have a wall between them"


def frames(path: Path) -> list[np.ndarray]:
    with Image.open(path) as image:
        found = []
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            found.append(np.asarray(image.convert("RGB")).copy())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_an_oracle_trial_as_gif(tmp_path: Path, seed: int) -> None:
    (maze,) = sample_mazes(1, seed)
    trial = oracle_trials(maze, 5).exploring
    trial_gif(tmp_path / "trials" / "oracle.gif", maze, trial)
    found = frames(tmp_path / "trials" / "oracle.gif")
    assert len(found) == len(trial) + 1
    assert found[0].shape == (520, 820, 3)
    assert all(not np.array_equal(a[28:428, 420:], b[28:428, 420:]) for a, b in pairwise(found))
    assert [file.name for file in (tmp_path / "trials").iterdir()] == ["oracle.gif"]
    before = (tmp_path / "trials" / "oracle.gif").read_bytes()
    trial_gif(tmp_path / "trials" / "oracle.gif", maze, trial)
    assert (tmp_path / "trials" / "oracle.gif").read_bytes() == before
    trial_gif(tmp_path / "trials" / "oracle.gif", maze, trial, picture_seed=1)
    assert (tmp_path / "trials" / "oracle.gif").read_bytes() != before


def test_a_refused_move_stays_where_it_was(tmp_path: Path) -> None:
    trial_gif(tmp_path / "a.gif", MAZE, [Move("right", 2), Move("left", 9), Move("down", 2)], milliseconds=100)
    _, two, three, _ = frames(tmp_path / "a.gif")
    assert np.abs(two[28:428, 420:].astype(int) - three[28:428, 420:]).mean() < 1, "the same up to the palette"
    assert not np.array_equal(two[:28, 420:], three[:28, 420:]), "the line above tells"
    with Image.open(tmp_path / "a.gif") as image:
        assert image.info["duration"] == 100
        image.seek(3)
        assert image.info["duration"] == 300


def test_bad_moves_and_places_of_a_gif(tmp_path: Path) -> None:
    for move in (Move("north", 1), Move("left", 0)):
        with pytest.raises(InputError, match="is no move: a direction"):
            trial_gif(tmp_path / "a.gif", MAZE, [move])
    assert not (tmp_path / "a.gif").exists()
    with pytest.raises(InputError, match="cannot write"):
        trial_gif(tmp_path, MAZE, [])
