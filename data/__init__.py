"""Data that ships with gumption, and downloads of the full sets by name."""

from .errors import InputError

__all__ = ["InputError"]
