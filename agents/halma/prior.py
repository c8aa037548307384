"""A guided agent's prior knowledge, which people put in, and the kinds of facts that it learns: shown with its results.

The list names every rule of rules.json and every number of scoring.py, read from there.
"""

from typing import NamedTuple

from . import scoring
from .config import HALMAConfig
from .experience import (
    AFFORDS,
    CHANCE,
    ENDS_AS,
    FELL_FROM,
    FELL_THROUGH,
    FELL_TO,
    GOALS,
    GREATER_THAN,
    LAW,
    LEADS_TO,
    LOWERS,
    RAISES,
    REACHES,
    SHOWS,
    STOPPED_WITHOUT,
)
from .knowledge import default_rules


class Known(NamedTuple):
    what: str
    where: str  # the file


_CONSTANTS = ("TOWARDS_GOAL", "ELSEWHERE", "ASIDE", "POSSIBLE_STOP", "ON_THE_WAY", "STOPPED")

# The kinds of facts that are looked for in the memory. People chose them.
LEARNED = {
    GREATER_THAN: "which digits were shown together where a decision was valid (KB_S)",
    f"{FELL_FROM}, {FELL_TO}, {FELL_THROUGH}": "which digit an option turned into which other",
    AFFORDS: "which option used up which digit",
    f"{LOWERS}, {RAISES}": "what moves in a direction do to the digits of a colour",
    STOPPED_WITHOUT: "which colour a move in a direction needs",
    REACHES: "which colours tell how far the goal is",
    LEADS_TO: "which way each shape points",
    SHOWS: "that hints are where the lesser of two digits of a colour is",
    ENDS_AS: "which options are never carried out",
}


def prior_knowledge() -> list[Known]:
    """In the order from perception to action."""
    rules = "; ".join(rule.name for rule in default_rules())
    constants = ", ".join(f"{name} {getattr(scoring, name):g}" for name in _CONSTANTS)
    return [
        Known(
            "Panels are perceived as symbols: which digit has which of eight colours, and which of four shapes is the "
            "hint. An option is perceived as a direction and a bag of primitives, whose order is of no matter; so are "
            "the two values of a pair, and an option without its last primitive.",
            "experience.py, knowledge.py",
        ),
        Known(
            "The order of the digits 1 to 9 is used in counting: which of two digits of a colour is the greater, and "
            "whether one fell or rose.",
            "experience.py, envs/halma/knowledge_base.py",
        ),
        Known(
            "A place is known again by its panel, and the agent is told that a move was carried out, that it ended on "
            "the goal, and that a trial is over.",
            "episodic.py, acting.py",
        ),
        Known(
            f"Which hypotheses are looked for in the memory: {', '.join(LEARNED)}; and how much evidence each takes "
            f"(LAW {LAW}, GOALS {GOALS}, CHANCE {CHANCE:g}, Wilson's lower end above a half for {LEADS_TO}).",
            "experience.py",
        ),
        Known(f"The rules that everything else follows by: {rules}.", "rules.json"),
        Known(
            "The strategy, the paper's meta-strategy (A.3): follow a hint, else go where the goal's digit falls, stop "
            f"at the nearest of crossing, wall and goal, turn back last, and rather where was not tried. Its numbers: "
            f"{constants}. The scores are added to a network's logits with the weight {HALMAConfig.guide_weight:g}.",
            "scoring.py, config.py",
        ),
        Known(
            "What is remembered of an episode and how a found way is used again: loops are left out, moves in one line "
            "are merged.",
            "episodic.py",
        ),
    ]


def told() -> list[str]:
    """Both lists in Markdown, for tables and pages."""
    lines = ['What the agent "written strategy + KG" knows because people put it in (agents/halma/prior.py):', ""]
    lines += [f"- {known.what} ({known.where})" for known in prior_knowledge()]
    lines += ["", "What it learned, as facts counted in its own memory (agents/halma/experience.py):", ""]
    return lines + [f"- {relation}: {what}" for relation, what in LEARNED.items()]
