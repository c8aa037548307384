"""The experiments of the HALMA paper (Xie et al., 2021) as data: agents, settings, and the paper's own figures.

Table 1 is transcribed whole, in percent: mean and standard deviation over three seeds of testing the best of five
trainings (F.1). Our tables show the mean over all trainings, whose seeds are 0, 1, ... Figures S9, S14 and S15 are
pictures: what the text says of them is quoted. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gumption.agents.halma.plots import Published

_TESTS = ("ST-1", "ST-2", "AfT-1", "AfT-2", "AfT-3", "AfT-4", "AnT")
_Cell = tuple[float, float] | None


def _column(
    training: Sequence[_Cell], random: Sequence[_Cell], goals: Sequence[_Cell], efficiency: Sequence[_Cell]
) -> Published:
    """A column of Table 1: the three measures of T and of RT, then rho_g and rho_p of the diagnostic tests; None is
    the paper's "-"."""
    measures = ("rho_a", "rho_g", "rho_p")
    column: dict[str, dict[str, _Cell]] = {
        "T": dict(zip(measures, training, strict=True)),
        "RT": dict(zip(measures, random, strict=True)),
    }
    for test, goal, short in zip(_TESTS, goals, efficiency, strict=True):
        column[test] = {"rho_g": goal, "rho_p": short}
    return column


_NOTHING: list[_Cell] = [(0.0, 0.0)] * len(_TESTS)

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
        [(85.61, 7.22), (75.76, 4.77), (63.77, 2.68)],
        [(13.30, 2.30), (7.58, 0.43), (5.09, 1.17)],
        _NOTHING,
        _NOTHING,
    ),
    "CNN+TRAN": _column(
        [(89.71, 2.61), (58.33, 4.19), (35.31, 3.00)],
        [(43.09, 7.92), (14.00, 4.24), (8.33, 1.96)],
        [*_NOTHING[:-1], None],
        [*_NOTHING[:-1], None],
    ),
    "SPACE": _column(
        [(83.55, 2.65), (16.33, 0.94), (12.02, 1.17)],
        [(41.62, 1.20), (3.67, 0.47), (2.66, 0.19)],
        _NOTHING,
        _NOTHING,
    ),
}


TABLE_S4 = {"colour": (59.67, 0.58), "digit": (50.56, 0.92)}  # accuracy of the probe of SPACE, in percent


@dataclass(frozen=True)
class HALMACondition:
    """One agent: the HALMAConfig fields in which it differs from the defaults."""

    settings: Mapping[str, Any]
    method: str = "train"


@dataclass(frozen=True)
class HALMAExperiment:
    """A table or figure: its agents by name, how many seeds, what the paper says comes out, and what to know.

    :ivar varied: the setting that an ablation varies; the agents are drawn over it.
    :ivar varied_label: what it is called on the axis.
    :ivar graph: also put the knowledge bases of the runs into one graph, and ask it a question.
    """

    name: str
    figure: str
    title: str
    conditions: Mapping[str, HALMACondition]
    expected: str
    notes: str = ""
    seeds: int = 5
    episodes: int = 2000
    base: Mapping[str, Any] = field(default_factory=dict)
    varied: str | None = None
    varied_label: str = ""
    graph: bool = False


_PLAIN: dict[str, dict[str, Any]] = {
    "MLP": {"agent": "mlp"},
    "LSTM": {"agent": "lstm"},
    "TRAN": {"agent": "tran"},
    "TRAN+LSTM": {"agent": "tran+lstm"},
}
_GUIDED: dict[str, dict[str, Any]] = {"MLP + KG": {"agent": "mlp", "guided": True}}
_SYMBOLIC = {**_PLAIN, **_GUIDED}
_VISUAL: dict[str, dict[str, Any]] = {
    "CNN+MLP": {"agent": "cnn+mlp"},
    "CNN+TRAN": {"agent": "cnn+tran"},
    "SPACE": {"agent": "space"},
}


def _conditions(agents: Mapping[str, Mapping[str, Any]]) -> dict[str, HALMACondition]:
    return {name: HALMACondition(settings) for name, settings in agents.items()}


def _over(setting: str, values: Sequence[int], words: str) -> dict[str, HALMACondition]:
    """Every symbolic agent with every value of a setting."""
    return {
        f"{name}, {words.format(value)}": HALMACondition({**settings, setting: value})
        for name, settings in _SYMBOLIC.items()
        for value in values
    }


_TABLE_CLAIMS = (
    "Section 4: all symbolic agents reach goals in random mazes about as well as in training mazes; in the diagnostic "
    "tests the MLP agent degrades most, agents with an LSTM keep their success but not the length of their ways, and "
    "the efficiency of all is disconcertingly low: agents do not understand the concept space."
)
_GUIDED_NOTE = (
    "The agent guided by a graph (+ KG) is ours; that graph says only what follows from the agent's own memory."
)

EXPERIMENTS: dict[str, HALMAExperiment] = {
    experiment.name: experiment
    for experiment in (
        HALMAExperiment(
            "halma-quick",
            "Table 1 in minutes",
            "An agent without and with its own knowledge graph, shortly trained",
            _conditions({"MLP": _PLAIN["MLP"], **_GUIDED}),
            _TABLE_CLAIMS,
            "Trained for half of the paper's 2,000 episodes, with one seed. " + _GUIDED_NOTE,
            seeds=1,
            episodes=1000,
            graph=True,
        ),
        HALMAExperiment(
            "halma-table1",
            "Table 1, symbolic",
            "Generalization tests made for what each agent has seen",
            _conditions(_SYMBOLIC),
            _TABLE_CLAIMS,
            _GUIDED_NOTE,
        ),
        HALMAExperiment(
            "halma-visual",
            "Table 1, visual",
            "Agents that see panels of handwritten digits, max_opt_len 1",
            _conditions(_VISUAL),
            "Section 4: under visual observation all agents fail the generalization tests, even in the easiest setup; "
            "SPACE agents perform worse than CNN+TRAN agents even under random split.",
            "SPACE is pretrained once, on the panels of the training mazes, for all seeds of its agent.",
            base={"max_opt_len": 1},
        ),
        HALMAExperiment(
            "halma-volume",
            "Figure S14",
            "More training mazes",
            _over("num_mazes", (100, 300, 500, 1000), "{} mazes"),
            "Section G.1: all agents gain from increased exposure; the rate of goals reached in the diagnostic tests "
            "rises from 30-60 % to 80 %; from 300 mazes on the distinction between inductive biases vanishes; the "
            "efficiency reaches only around 50 % at best; valid moves reach around 90 % in random split for the "
            "stateless agent with 1,000 mazes.",
            _GUIDED_NOTE,
            varied="num_mazes",
            varied_label="training mazes",
        ),
        HALMAExperiment(
            "halma-options",
            "Figure S15",
            "Longer options",
            _over("max_opt_len", (1, 3, 5), "max_opt_len {}"),
            "Section G.2: performance degrades on all measures as max_opt_len increases; the efficiency drops "
            "significantly from max_opt_len 3 on in the diagnostic tests.",
            _GUIDED_NOTE,
            varied="max_opt_len",
            varied_label="max_opt_len",
        ),
    )
}
