"""Episodes of an agent to look at: the steps as data, and three ways to show them."""

from .gif import write_gif
from .page import write_html
from .policy import PolicyPlayer, scores_of
from .steps import Candidate, Choice, Player, Score, Step, in_words, play_steps
from .terminal import choice_table, print_steps

__all__ = [
    "Candidate",
    "Choice",
    "Player",
    "PolicyPlayer",
    "Score",
    "Step",
    "choice_table",
    "in_words",
    "play_steps",
    "print_steps",
    "scores_of",
    "write_gif",
    "write_html",
]
