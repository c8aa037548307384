"""The experiments of the SEGAR paper (Hjelm et al., 2022) as data: cells, learners, settings. Nothing here runs
anything.

The default size fits two CPU cores; `--paper` is the paper's. Settings of the default size were chosen by the return on
training levels alone, of the cells empty-hard, objectsx3-hard, objectsx3-medium, tilesx3-hard, tilesx1-medium and
tilesx2-easy: the paper's parameters (one epoch, a rate of 1e-4, a discount of .999) learn nothing in 100,000 steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gumption.scripts.experiments import Condition, Experiment

from .knowledge import KNOWLEDGE
from .runs import CurveRuns, GapRuns, InformationRuns

KINDS = ("empty", "objectsx1", "objectsx2", "objectsx3", "tilesx1", "tilesx2", "tilesx3")
DIFFICULTIES = ("easy", "medium", "hard")
CELLS = tuple(f"{kind}-{difficulty}" for kind in KINDS for difficulty in DIFFICULTIES)
#: How many training levels; those of the paper that the default size leaves out run on demand.
LEVELS = {1: False, 10: False, 50: True, 100: False, 200: True}

_FAST: dict[str, Any] = {
    "num_envs": 256,
    "n_steps": 10,
    "epochs": 4,
    "learning_rate": 3e-3,
    "gamma": 0.95,
    "normalise_rewards": True,
}
STATE: dict[str, Any] = {"observation": "state", "total_steps": 100_000, "eval_interval": 100_000, **_FAST}
PIXELS: dict[str, Any] = {**STATE, "observation": "rgb", "resolution": 32}


def _words(levels: int) -> str:
    return f"{levels} level{'s' if levels > 1 else ''}"


def _cells(
    cells: Iterable[str], levels: Mapping[int, bool], settings: Mapping[str, Any] | None = None, name: str = ""
) -> dict[str, Condition]:
    """Conditions CELL, n levels; `name` is their panel and the end of their labels."""
    return {
        ", ".join(filter(None, (cell, _words(n), name))): Condition(
            {"levels": cell, "num_levels": n, **(settings or {})}, panels=(name,) if name else (), on_demand=on_demand
        )
        for cell in cells
        for n, on_demand in levels.items()
    }


def _variants(cells: Sequence[str], variants: Mapping[str, Mapping[str, Any]]) -> dict[str, Condition]:
    return {k: v for name, settings in variants.items() for k, v in _cells(cells, LEVELS, settings, name).items()}


_GAP_NOTE = (
    "The gap is the mean return on the training levels less that on the test levels, as a share of what lies between "
    "the random and the scripted player on those test levels; 0 is no gap. Points are runs. Three standard deviations "
    "from the mean or more in either coordinate is an outlier, and left out (as in section 5)."
)
_PROBED = ("empty-hard", "objectsx2-hard", "tilesx2-hard")

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *KNOWLEDGE.values(),
        Experiment(
            "segar-gap",
            "Figures 3 and 4a",
            "Generalisation gap of PPO against the distance between training and test levels",
            GapRuns(),
            _cells(CELLS, LEVELS),
            "Section 5: a significant correlation (p = 1.47e-5) between a larger W2 distance and a larger gap over all "
            "cells; no clear trend for the easiest tasks; objects and tiles weakly significant at best; from easy to "
            "medium and from medium to hard the gap is considerably larger, with a trend for medium to hard.",
            _GAP_NOTE + " W2 is exact. 'factors' compares entities that have the same factors, 'types' those of one "
            "type, and then a type that one side lacks counts 100; Order is a random number and is counted where the "
            "name says so. 'within cells' is the correlation of differences from the mean of a cell.",
            seeds=3,
            base=STATE,
        ),
        Experiment(
            "segar-information",
            "Figure 4b",
            "Generalisation gap of PPO against what its features tell of the factors",
            InformationRuns(),
            _variants(_PROBED, {"PPO": {}}),
            "Section 5: no relationship between performance and the estimates of mutual information, with PPO.",
            _GAP_NOTE,
            seeds=3,
            base=PIXELS,
        ),
        Experiment(
            "segar-auxiliary",
            "Figure 5a",
            "The same with CURL and SPR as auxiliary losses",
            InformationRuns(),
            _variants(_PROBED, {"PPO": {}, "CURL": {"auxiliary": "curl"}, "SPR": {"auxiliary": "spr"}}),
            "Section 5: SPR has a better gap with higher information, but only at training; none of the trends is "
            "significant.",
            _GAP_NOTE,
            seeds=3,
            base=PIXELS,
        ),
        Experiment(
            "segar-hidden-mass",
            "Figure 9",
            "The same with mass seen or hidden, and one frame or four",
            InformationRuns(),
            _variants(
                _PROBED,
                {
                    f"mass {word}, {frames} frame{'s' if frames > 1 else ''}": {**hidden, "frame_stack": frames}
                    for word, hidden in (("seen", {}), ("hidden", {"hidden": ("Mass",)}))
                    for frames in (1, 4)
                },
            ),
            "Appendix C: knowing the mass flips the trends of the gap, and helps to have a lower gap with more "
            "information.",
            _GAP_NOTE,
            seeds=3,
            base=STATE,
        ),
        Experiment(
            "segar-curves",
            "Figures 5b and 10",
            "Learning curves of PPO and SAC",
            CurveRuns(),
            _variants(
                CELLS,
                {"PPO": {}, "SAC": {"algorithm": "sac", "num_envs": None, "normalise_rewards": False}},
            ),
            "Section 5 and appendix C: easier cells are learned fairly fast, harder ones need many more samples; SAC "
            "solves the easy tasks quickly, and struggles with harder ones.",
            "SAC has one environment, as in the paper.",
            seeds=3,
            base={**STATE, "eval_interval": 10_000},
        ),
    )
}
