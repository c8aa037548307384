"""Locate the data that ships with gumption, and download full data sets by name."""

from .download import fetch
from .errors import InputError, Note
from .manifest import path

__all__ = ["InputError", "Note", "fetch", "path"]
