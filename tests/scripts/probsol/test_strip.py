"""`gumption probsol strip`: pictures of recorded solutions."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from gumption.data.writing import write_json
from gumption.envs.probsol.library import find_tasks
from gumption.scripts import cli
from gumption.scripts.papers.probsol.pictures import FRAMES, chosen, draw_strip, solution_moments
from tests.figures import draw_families


@pytest.fixture
def strip(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gumption", "probsol", "strip", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capsys.readouterr())

    return run


def test_a_strip_has_eight_frames_that_differ(strip, tmp_path):
    assert strip("fishing/0", "--out", "a.png")[:2] == (0, "saved: a.png, 1 strip\n")
    with Image.open(tmp_path / "a.png") as image:
        picture = np.array(image)
    frames = np.array_split(picture[40:280], FRAMES, axis=1)
    assert len({frame[:, :280].tobytes() for frame in frames}) == FRAMES
    assert (picture == np.array(draw_strip(find_tasks("fishing/0")[0]))).all()


def test_several_tasks_stand_below_one_another(strip, tmp_path):
    for number in range(2):
        write_json(tmp_path / "mine" / f"{number}.json", find_tasks("fishing/0")[0].to_json())
    assert strip("mine", "--out", "all.png")[:2] == (0, "saved: all.png, 2 strips\n")
    with Image.open(tmp_path / "all.png") as image:
        both = np.array(image)
    one = np.array(draw_strip(find_tasks("fishing/0")[0]))
    assert both.shape[0] == 2 * one.shape[0] + 8
    assert (both[-len(one) :] == one).all()


def test_moments_begin_at_the_start_and_end_where_the_solution_does():
    moments = solution_moments(find_tasks("fishing/0")[0])
    assert moments[0].done == ""
    assert [moment.change for moment in moments] == sorted({moment.change for moment in moments})
    assert moments[-1].done == "place 10 16"  # CHECK and the answers move nothing


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        (list(range(15)), [0, 2, 4, 6, 8, 10, 12, 14]),
        ([0, 100, 101, 102, 103, 104, 105, 106, 107], [0, 1, 2, 3, 4, 5, 7, 8]),
        ([0, 1, 2, 3, 4, 5, 6, 7, 107], [0, 2, 3, 4, 5, 6, 7, 8]),
        ([0, 1], [0, 0, 0, 0, 0, 0, 0, 1]),
    ],
)
def test_frames_are_chosen_at_equal_shares_of_the_change(changes, places):
    moments = [SimpleNamespace(change=float(change)) for change in changes]
    found = [moments.index(moment) for moment in chosen(moments, FRAMES)]
    assert (found[0], found[-1], found) == (0, len(changes) - 1, sorted(found))
    if len(changes) >= FRAMES:
        assert len(set(found)) == FRAMES
    if changes == list(range(15)):
        assert found == places


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fishing/0", "--out", "a.gif"), "cannot write a.gif: choose a name that ends in .png"),
        (("nothing",), "there is no task 'nothing', nor such a file"),
        (("bare.json",), "the task 'bare' has no recorded solution"),
    ],
)
def test_what_cannot_be_drawn(strip, tmp_path, arguments, message):
    disc = '{"id": "a", "color": "red", "mass": "small", "magnetism": "small", "polarity": "+", "stored": 0}'
    (tmp_path / "bare.json").write_text(f'{{"schema": 1, "name": "bare", "family": "Sandbox", "objects": [{disc}]}}')
    code, _, err = strip(*arguments)
    assert code == 2
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["bare.json"]


def test_tables_of_families_stand_in_rows_of_three():
    task = find_tasks("fishing/0")[0]
    three, four = (draw_families([task] * count) for count in (3, 4))
    assert three.width == four.width
    assert four.height == 2 * three.height + 14
    tables = np.array_split(np.array(three)[:320], 3, axis=1)
    assert (tables[0][:, :340] == np.array(four)[:320, :340]).all()
