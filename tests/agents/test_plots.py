"""Plots: the files are small, the same data gives the same bytes, labels do not run into each other."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gumption.agents.plots import (
    FinalPanel,
    Front,
    Line,
    Panel,
    plot_curves,
    plot_final_success,
    plot_fronts,
    spread_labels,
)
from gumption.agents.statistics import bootstrap_interval
from gumption.data import InputError

DRAW = """
import sys
from test_plots import curve_panels
from gumption.agents.plots import plot_curves
plot_curves(curve_panels(), sys.argv[1], "title")
"""


def curve_panels() -> list[Panel]:
    generator = np.random.default_rng(0)
    steps = np.linspace(0, 3_000_000, 61)
    lines = [
        Line(f"condition {name}", steps, np.clip(top * steps / 3e6 + generator.normal(0, 0.02, (5, 61)), 0, 1))
        for name, top in (("first", 0.5), ("second", 0.52), ("third, with a long label", 0.98))
    ]
    return [
        Panel("1 distractor", lines[:2], {"random": 0.23, "oracle": 1.0}),
        Panel("8 distractors", lines, {"random": 0.02, "oracle": 1.0}),
    ]


def test_curves_are_written_small_and_as_both_kinds(tmp_path):
    png, svg = plot_curves(curve_panels(), tmp_path / "made" / "curves", "A title")
    assert png == tmp_path / "made" / "curves.png"
    assert png.stat().st_size < 150_000
    assert svg.stat().st_size < 150_000
    assert sorted(path.name for path in png.parent.iterdir()) == ["curves.png", "curves.svg"]
    with Image.open(png) as image:
        assert image.width > 800
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 20


@pytest.mark.slow
def test_same_data_same_bytes_in_another_process(tmp_path):
    here = plot_curves(curve_panels(), tmp_path / "here", "title")
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", DRAW, str(tmp_path / "there")], env=environment, check=True)
    for path in here:
        assert path.read_bytes() == path.with_name(path.name.replace("here", "there")).read_bytes()


@pytest.mark.slow
def test_different_data_draws_a_different_plot(tmp_path):
    panels = curve_panels()
    first, _ = plot_curves(panels, tmp_path / "a")
    second, _ = plot_curves([panels[0], Panel("8 distractors", panels[1].lines, {"random": 0.3})], tmp_path / "b")
    assert first.read_bytes() != second.read_bytes()


def test_one_run_draws_a_line_without_a_band(tmp_path):
    line = Line("alone", [0, 10], [[0.1, 0.2]])
    png, _ = plot_curves([Panel("one seed", [line])], tmp_path / "one")
    assert png.exists()


def test_final_values(tmp_path):
    generator = np.random.default_rng(1)
    rows = {f"row {index}": bootstrap_interval(generator.random(5)) for index in range(10)}
    rows["one seed"] = bootstrap_interval([0.4])
    png, svg = plot_final_success([FinalPanel("8 distractors", rows, {"random": 0.02})], tmp_path / "final", "Finals")
    assert max(png.stat().st_size, svg.stat().st_size) < 150_000


def test_nothing_to_draw_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="no curve"):
        plot_curves([Panel("empty", [], {"random": 0.1})], tmp_path / "x")
    with pytest.raises(InputError, match="no run is complete"):
        plot_final_success([], tmp_path / "x")
    with pytest.raises(InputError, match=r"bent: values \(1, 3\) are not \(runs, 2 steps\)"):
        plot_curves([Panel("bent", [Line("bent", [0, 1], [[0.1, 0.2, 0.3]])])], tmp_path / "x")
    assert not list(tmp_path.iterdir())


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.05, 0.1])), min_size=1, max_size=8))
def test_labels_keep_their_order_and_distance(ends):
    positions, sizes = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    centres = spread_labels(positions, sizes)
    order = np.argsort(positions, kind="stable")
    gaps = (sizes[order][1:] + sizes[order][:-1]) / 2
    assert (np.diff(centres[order]) >= gaps - 1e-9).all()
    assert centres.min() >= -1e-9
    assert centres.max() <= 1 + 1e-9


def test_labels_that_have_room_stay_where_they_belong():
    assert spread_labels([0.1, 0.9, 0.5], [0.05] * 3) == pytest.approx([0.1, 0.9, 0.5])
    assert spread_labels([0.5, 0.5], [0.1, 0.1]) == pytest.approx([0.45, 0.55])
    assert spread_labels(np.linspace(0, 1, 30), [0.1] * 30) == pytest.approx(np.linspace(0, 1, 30))


@pytest.mark.slow
def test_fronts_of_means_with_the_points_behind_them(tmp_path):
    panels = [
        Front("a", {"people": (4.0, 0.5), "random": (9.0, 0.1)}, {"people": [(2.0, 0.0), (6.0, 1.0)]}, {"paper": 0.7}),
        Front("nobody did anything", {"people": (0.0, 0.0)}, x="actions", y="solved"),
    ]
    png, svg = plot_fronts(panels, tmp_path / "front", "title")
    text = svg.read_text()
    for word in ("Pareto front", "people", "random", "paper", "nobody did anything", "actions", "solved"):
        assert f">{word}<" in text
    before = png.read_bytes()
    assert plot_fronts(panels, tmp_path / "front", "title")[0].read_bytes() == before
    with pytest.raises(InputError, match="nobody has ended a task"):
        plot_fronts([Front("a", {})], tmp_path / "none")
