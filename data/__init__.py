"""Data that ships with gumption, and downloads of the full sets by name."""

from .download import fetch
from .errors import InputError, Note
from .manifest import path

__all__ = ["InputError", "Note", "fetch", "path"]
