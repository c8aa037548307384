"""What configs share: names of choices, and how a stored config is read. It imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gumption.data import InputError

CONFIG = "config.json"  # of a run's folder; see run_folder.py
MIXINGS = ("linear", "softmax")  # how knowledge enters the logits; see kg_policy.py


def config_values(value: Any, kind: type[Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a config that was stored as a dict, with those changes that are not None. Fields that came later
    than the run have their defaults.

    :raises InputError: unknown fields.
    """
    known = {field.name for field in fields(kind)}
    if not isinstance(value, dict) or "seed" not in value:
        raise InputError(f"not the config of a run: {value!r:.40}")
    if unknown := sorted(set(value) - known):
        raise InputError(f"not the config of a run: {', '.join(unknown)} unknown")
    return {**value, **{name: change for name, change in changes.items() if change is not None}}
