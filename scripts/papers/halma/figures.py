"""The paper's figures that are drawn from saved results: their experiments and rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gumption.agents.halma.plots import plot_ablation, plot_learning
from gumption.data import InputError
from gumption.data.reading import read_json
from gumption.scripts.results import RESULTS

from .experiments import EXPERIMENTS, over_setting

SAVED = Path(__file__).parents[1] / "results"
# Learning curves of the agents by the number of primitives of an option, and agents over the varied setting.
CURVES = {"S9": ("halma-options", 5), "S10": ("halma-options", 3), "S11": ("halma-options", 1)}
ABLATIONS = {"S14": "halma-volume", "S15": "halma-options", "S16": "halma-visual-options"}
FIGURES = (*CURVES, *ABLATIONS)


def draw_figure(
    name: str, stem: str | os.PathLike[str], folder: Path | None = None
) -> tuple[tuple[Path, Path], dict[str, Any]]:
    """Write STEM.png and STEM.svg; return their paths, and the results that they show.

    :param folder: folder of an experiment's results; None for the saved results of this version.
    :raises InputError: no such figure, no results, or results of another experiment.
    """
    if name not in FIGURES:
        raise InputError(f"{name!r} is drawn from no results; figures that are: {', '.join(FIGURES)}")
    experiment = CURVES[name][0] if name in CURVES else ABLATIONS[name]
    path = (folder or SAVED / experiment) / RESULTS
    if not path.is_file():
        raise InputError(
            f"{path}: there are no results of {experiment}, which figure {name} shows; `gumption experiment "
            f"{experiment}` makes them"
        )
    results = read_json(path)
    if results["experiment"] != experiment:
        raise InputError(f"{path}: results of {results['experiment']}; figure {name} shows {experiment}")
    title = f"Figure {name}: {results['title']}"
    if name in CURVES:
        length = CURVES[name][1]
        rows = [row for row in results["rows"] if row["settings"]["max_opt_len"] == length]
        curves = {row["condition"].partition(",")[0]: row["curve"] for row in rows}
        return plot_learning(curves, stem, f"{title}, max_opt_len {length}"), results
    setting, label = EXPERIMENTS[experiment].varied or ("", "")
    return plot_ablation(over_setting(results["rows"], setting), stem, label, title), results
