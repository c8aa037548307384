"""ProbSol's experiments as data, by name."""

from .discovery import DISCOVERY_EXPERIMENT, LAWS_EXPERIMENT
from .families import FAMILY_EXPERIMENT
from .goals import GOAL_EXPERIMENT

EXPERIMENTS = {each.name: each for each in (FAMILY_EXPERIMENT, DISCOVERY_EXPERIMENT, LAWS_EXPERIMENT, GOAL_EXPERIMENT)}
