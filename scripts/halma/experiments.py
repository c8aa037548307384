"""The experiments of the HALMA paper (Xie et al., 2021) as data: agents and settings.

Figures S9, S14 and S15 are pictures: what the text says of them is quoted. Nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gumption.scripts.experiments import Condition, Experiment

from .runs import KIND, ask_graph

BASE = {"episodes": 2000}


_PLAIN: dict[str, dict[str, Any]] = {
    "MLP": {"agent": "mlp"},
    "LSTM": {"agent": "lstm"},
    "TRAN": {"agent": "tran"},
    "TRAN+LSTM": {"agent": "tran+lstm"},
}
_GUIDED: dict[str, dict[str, Any]] = {"written strategy + KG": {"agent": "mlp", "guided": True}}
_SYMBOLIC = {**_PLAIN, **_GUIDED}
_VISUAL: dict[str, dict[str, Any]] = {
    "CNN+MLP": {"agent": "cnn+mlp"},
    "CNN+MLP, fixed panels": {"agent": "cnn+mlp", "panels": "fixed"},
    "CNN+TRAN": {"agent": "cnn+tran"},
    "SPACE": {"agent": "space"},
}


def _conditions(agents: Mapping[str, Mapping[str, Any]]) -> dict[str, Condition]:
    return {name: Condition(settings) for name, settings in agents.items()}


def _over(setting: str, values: Sequence[int], words: str) -> dict[str, Condition]:
    """Every symbolic agent with every value of a setting."""
    return {
        f"{name}, {words.format(value)}": Condition({**settings, setting: value})
        for name, settings in _SYMBOLIC.items()
        for value in values
    }


_TABLE_CLAIMS = (
    "Section 4: all symbolic agents reach goals in random mazes about as well as in training mazes; in the diagnostic "
    "tests the MLP agent degrades most, agents with an LSTM keep their success but not the length of their ways, and "
    "the efficiency of all is disconcertingly low: agents do not understand the concept space."
)
_GUIDED_NOTE = (
    'The agent "written strategy + KG" is ours. People wrote its strategy and the rules; its facts are counted in its '
    "own memory. Beside it stand its knowledge without a network, its network before training and without knowledge, "
    "random options and the oracle, in its own tests; the agent without knowledge is MLP, in tests of its own."
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "halma-quick",
            "Table 1 in minutes",
            "An agent without and with its own knowledge graph, shortly trained",
            KIND,
            _conditions({"MLP": _PLAIN["MLP"], **_GUIDED}),
            _TABLE_CLAIMS,
            "Trained for half of the paper's 2,000 episodes, with one seed. " + _GUIDED_NOTE,
            seeds=1,
            base={"episodes": 1000},
            finish=ask_graph,
        ),
        Experiment(
            "halma-table1",
            "Table 1, symbolic",
            "Generalization tests made for what each agent has seen",
            KIND,
            _conditions(_SYMBOLIC),
            _TABLE_CLAIMS,
            _GUIDED_NOTE,
            base=BASE,
        ),
        Experiment(
            "halma-visual",
            "Table 1, visual",
            "Agents that see panels of handwritten digits, max_opt_len 1",
            KIND,
            _conditions(_VISUAL),
            "Section 4: under visual observation all agents fail the generalization tests, even in the easiest setup; "
            "SPACE agents perform worse than CNN+TRAN agents even under random split.",
            "Panels are redrawn at each look. With fixed panels each cell of a maze has one picture, as we read the "
            "100 mazes 'along with their visual panels' of the paper; tests show their mazes in other handwriting, "
            "each cell in one picture too. Its exploration is counted in updates, see FIXED_PANELS in "
            "agents/halma/config.py. SPACE is pretrained once, on redrawn panels of the training mazes, for all seeds "
            "of its agent.",
            base={**BASE, "max_opt_len": 1},
        ),
        Experiment(
            "halma-volume",
            "Figure S14",
            "More training mazes",
            KIND,
            _over("num_mazes", (100, 300, 500, 1000), "{} mazes"),
            "Section G.1: all agents gain from increased exposure; the rate of goals reached in the diagnostic tests "
            "rises from 30-60 % to 80 %; from 300 mazes on the distinction between inductive biases vanishes; the "
            "efficiency reaches only around 50 % at best; valid moves reach around 90 % in random split for the "
            "stateless agent with 1,000 mazes.",
            _GUIDED_NOTE,
            base=BASE,
            varied=("num_mazes", "training mazes"),
        ),
        Experiment(
            "halma-options",
            "Figure S15",
            "Longer options",
            KIND,
            _over("max_opt_len", (1, 3, 5), "max_opt_len {}"),
            "Section G.2: performance degrades on all measures as max_opt_len increases; the efficiency drops "
            "significantly from max_opt_len 3 on in the diagnostic tests.",
            _GUIDED_NOTE,
            base=BASE,
            varied=("max_opt_len", "max_opt_len"),
        ),
    )
}
