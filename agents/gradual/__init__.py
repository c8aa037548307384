"""Agents for Gradual, and their validation."""

from .learner import GradualLearner

__all__ = ["GradualLearner"]
