"""Environments for agents. Importing this package registers them with Gymnasium under gumption/."""

from . import worlds

worlds.register()
