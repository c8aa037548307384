"""ProbSol's experiments as data, by name."""

from .families import FAMILY_EXPERIMENT
from .goals import GOAL_EXPERIMENT

EXPERIMENTS = {each.name: each for each in (FAMILY_EXPERIMENT, GOAL_EXPERIMENT)}
