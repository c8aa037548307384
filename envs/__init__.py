"""Worlds to learn in. Importing this package registers them with Gymnasium under gumption/."""

from . import worlds

worlds.register()
