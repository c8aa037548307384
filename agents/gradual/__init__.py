"""Agents for Gradual, and how they are validated."""

from .learner import GradualLearner

__all__ = ["GradualLearner"]
