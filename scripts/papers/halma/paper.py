"""The figures of the HALMA paper (Xie et al., 2021): Table 1 and Table S4.

Table 1 is transcribed completely, in percent: mean and standard deviation over three test seeds of the best of five
trainings (F.1). Our tables show the mean over all trainings, whose seeds are 0, 1, ...
"""

from collections.abc import Sequence

from gumption.agents.halma.evaluation import MEASURES
from gumption.agents.halma.plots import Published
from gumption.envs.halma.diagnostics import TESTS

_Cell = tuple[float, float] | None


def _column(
    training: Sequence[_Cell], random: Sequence[_Cell], goals: Sequence[_Cell], efficiency: Sequence[_Cell]
) -> Published:
    """Build a column of Table 1: the three measures of T and of RT, then rho_g and rho_p of the diagnostic tests; None
    is the paper's "-"."""
    column: dict[str, dict[str, _Cell]] = {
        "T": dict(zip(MEASURES, training, strict=True)),
        "RT": dict(zip(MEASURES, random, strict=True)),
    }
    for test, goal, short in zip(TESTS, goals, efficiency, strict=True):
        column[test] = {"rho_g": goal, "rho_p": short}
    return column


_NOTHING: list[_Cell] = [(0.0, 0.0)] * len(TESTS)

TABLE_1: dict[str, Published] = {
    "MLP": _column(
        [(94.78, 4.11), (99.23, 0.63), (71.67, 1.73)],
        [(62.98, 1.52), (51.00, 2.21), (54.91, 2.85)],
        [(55.00, 7.07), (25.00, 8.16), (41.67, 2.36), (31.67, 8.50), (6.67, 2.36), (0.0, 0.0), (35.00, 7.07)],
        [(19.90, 2.18), (7.37, 2.33), (15.10, 0.35), (11.68, 3.34), (1.48, 0.52), (0.0, 0.0), (12.19, 1.84)],
    ),
    "LSTM": _column(
        [(87.88, 2.14), (57.22, 3.07), (50.91, 3.54)],
        [(76.09, 2.10), (57.78, 3.49), (45.15, 1.46)],
        [(50.00, 8.16), (63.33, 6.24), (60.00, 10.80), (45.00, 10.80), (100.0, 0.0), (86.67, 9.43), (48.33, 4.71)],
        [(24.02, 7.20), (26.31, 2.34), (28.91, 7.62), (17.15, 5.82), (51.86, 0.18), (29.89, 2.18), (21.84, 0.53)],
    ),
    "TRAN": _column(
        [(85.43, 6.77), (93.85, 1.26), (67.89, 0.63)],
        [(65.15, 4.45), (82.82, 0.96), (58.07, 1.01)],
        [(41.67, 8.50), (43.33, 6.23), (36.67, 8.50), (43.33, 6.24), (25.00, 0.0), (50.00, 0.0), (41.67, 2.36)],
        [(16.34, 3.90), (12.22, 1.83), (14.01, 3.75), (17.86, 3.02), (5.83, 0.24), (10.00, 0.0), (14.45, 1.66)],
    ),
    "TRAN+LSTM": _column(
        [(86.95, 3.09), (72.33, 5.79), (63.97, 5.84)],
        [(62.31, 2.90), (54.00, 2.94), (40.13, 2.52)],
        [(66.67, 13.12), (78.33, 2.36), (58.33, 10.27), (71.67, 6.24), None, None, (41.67, 13.12)],
        [(35.74, 5.85), (34.79, 4.25), (27.11, 2.12), (35.40, 3.71), None, None, (22.03, 6.64)],
    ),
    "CNN+MLP": _column(
        [(85.61, 7.22), (75.76, 4.77), (63.77, 2.68)], [(13.30, 2.30), (7.58, 0.43), (5.09, 1.17)], _NOTHING, _NOTHING
    ),
    "CNN+TRAN": _column(
        [(89.71, 2.61), (58.33, 4.19), (35.31, 3.00)],
        [(43.09, 7.92), (14.00, 4.24), (8.33, 1.96)],
        [*_NOTHING[:-1], None],
        [*_NOTHING[:-1], None],
    ),
    "SPACE": _column(
        [(83.55, 2.65), (16.33, 0.94), (12.02, 1.17)], [(41.62, 1.20), (3.67, 0.47), (2.66, 0.19)], _NOTHING, _NOTHING
    ),
}


TABLE_S4 = {"colour": (59.67, 0.58), "digit": (50.56, 0.92)}  # accuracy of the probe of SPACE, in percent
