"""What configs share: names of choices, and how a stored config is read. It imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, get_args

from gumption.data import InputError

CONFIG = "config.json"  # of a run's folder; see run_folder.py
Mixing = Literal["linear", "softmax"]  # how knowledge enters the logits; see kg_policy.py
MIXINGS = get_args(Mixing)
Optimiser = Literal["rmsprop", "adam"]  # of the learner; see impala.py
Reduction = Literal["sum", "mean"]
Overrides = tuple[tuple[str, Any], ...]  # parameters of a learner that differ from its defaults


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


def check_mixing(mixing: str) -> None:
    """:raises InputError: neither one of `MIXINGS` nor MODULE:NAME."""
    if mixing not in MIXINGS and not all(mixing.partition(":")):
        raise InputError(
            f"mixing is {mixing!r:.40}; it is {', '.join(MIXINGS)} or MODULE:NAME of a subclass of KGPolicy"
        )


def by_name(pairs: Overrides) -> Overrides:
    """The pairs in the order of their names.

    :raises InputError: a name twice.
    """
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{twice} is set twice")
    return tuple(sorted(pairs, key=lambda pair: pair[0]))
