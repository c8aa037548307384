"""Worlds to learn in. Importing this package registers them with Gymnasium under gumption/."""

from .registration import register_all

register_all()
