"""The gradual learner of the byte-stream world."""

from .learner import GradualLearner

__all__ = ["GradualLearner"]
