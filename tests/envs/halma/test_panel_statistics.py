"""The statistics of Appendix C: counted right, and as the paper claims for the mazes that are generated."""

import numpy as np
import pytest
from PIL import Image

from gumption.data import InputError
from gumption.envs.halma import Maze, Mazes, panel_digits, sample_mazes
from gumption.envs.halma.generator import PanelStatistics, sample_statistics, save_plot
from gumption.envs.halma.maze import ALL_COLOURS


@pytest.fixture(scope="module")
def of_paper() -> PanelStatistics:
    """10 sets of 100 training mazes."""
    return sample_statistics()


def test_counts_are_those_of_the_panels_one_by_one() -> None:
    sets = [sample_mazes(3, 0), sample_mazes(4, 1, mean_depth=5)]
    found = PanelStatistics.of(map(Mazes, sets))
    for which, mazes in enumerate(sets):
        panels = [panel_digits(maze, cell) for maze in mazes for cell in maze.cells]
        shown = [digit for panel in panels for digit in panel]
        assert found.panels[which].tolist() == np.bincount([len(panel) for panel in panels], minlength=11).tolist()
        assert found.digits[which].tolist() == np.bincount([d.value for d in shown], minlength=10)[1:].tolist()
        assert found.colours[which].tolist() == [sum(d.colour == name for d in shown) for name in ALL_COLOURS]


def test_nine_in_ten_panels_hold_three_to_six_digits_and_none_more_than_ten(of_paper: PanelStatistics) -> None:
    assert (of_paper.share(3, 6) > 0.9).all()
    assert of_paper.panels.shape == (10, 11), "a panel of 11 would widen the counts"
    assert not of_paper.panels[:, 9:].sum() > 10
    mean = of_paper.panels.mean(0)
    peak = int(mean.argmax())
    assert peak in (4, 5)
    assert (np.diff(mean[: peak + 1]) >= 0).all()
    assert (np.diff(mean[peak:]) <= 0).all()


def test_digits_fall_nearly_log_linearly(of_paper: PanelStatistics) -> None:
    mean = of_paper.digits.mean(0)
    assert (np.diff(mean) < 0).all()
    assert mean[0] > 4000, "the paper's digit 1"
    fit = of_paper.log_fit
    assert -0.16 < fit.slope < -0.11
    assert fit.r_squared > 0.91, "0.93 was found"


def test_colours_are_nearly_uniform_within_their_groups(of_paper: PanelStatistics) -> None:
    walls, goal = of_paper.unevenness
    assert walls < 0.02
    assert goal < 0.12


def test_unevenness_and_shares_by_hand() -> None:
    counts = PanelStatistics(
        colours=np.array([[10, 10, 12, 8, 5, 5, 5, 5]]),
        panels=np.array([[0, 1, 0, 2, 0, 0, 1, 0, 0, 0, 0]]),
        digits=np.array([[1000, 100, 10, 1, 0, 0, 0, 0, 0]]),
        mazes=np.array([10]),
    )
    assert [claim.values.tolist() for claim in counts.claims] == [[0.5], [0.0], [0.75], [6.0], [10_000.0], [0.0]]
    assert [claim.met.tolist() for claim in counts.claims] == [[False], [True], [False], [True], [True], [True]]
    assert counts.unevenness == (0.4, 0.0)
    assert counts.share(3, 6).tolist() == [0.75]
    assert np.allclose(counts.log_fit, (-1, 4, 1))


def test_too_little_to_measure() -> None:
    with pytest.raises(InputError, match="no set of mazes"):
        PanelStatistics.of([])
    single = PanelStatistics.of([Mazes([Maze((0, 0), (1, 0), [((0, 0), (1, 0))])])])
    with pytest.raises(InputError, match="1 different digits occur, too few"):
        _ = single.log_fit


def test_the_plot(of_paper: PanelStatistics, tmp_path) -> None:
    save_plot(of_paper, tmp_path / "folder" / "statistics.png")
    with Image.open(tmp_path / "folder" / "statistics.png") as image:
        assert image.size == (1300, 910)
        colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 24) or []}
    assert {(0xD6, 0x27, 0x28), (0x4A, 0x7C, 0xC4), (0xB0, 0x42, 0x3A)} <= colours, "bars and the fitted line"
    with pytest.raises(InputError, match="cannot write"):
        save_plot(of_paper, tmp_path)
