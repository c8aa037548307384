"""What configs share: names of choices, checks of their fields, and how a stored config is read. It imports nothing
heavy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from math import inf
from typing import Any

from gumption.data import InputError

CONFIG = "config.json"  # of a run's folder; see run_folder.py
MIXINGS = ("linear", "softmax")  # how knowledge enters the logits; see kg_policy.py
OPTIMISERS, REDUCTIONS = ("rmsprop", "adam"), ("sum", "mean")  # of the learner; see impala.py


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


def check_choices(config: Any, choices: Mapping[str, Sequence[str]]) -> None:
    """:raises InputError: a field of the config that is none of its choices."""
    for name, known in choices.items():
        if getattr(config, name) not in known:
            raise InputError(f"{name} is {getattr(config, name)!r}; it can be {', '.join(known)}")


def check_ranges(config: Any, least: Mapping[str, float], most: Mapping[str, float] | None = None) -> None:
    """
    :param least: field -> its smallest value; an int where the field is a whole number.
    :param most: field -> its largest value.
    :raises InputError: a field of the config that is out of range, infinite or no number.
    """
    for name, low in least.items():
        value, whole = getattr(config, name), isinstance(low, int)
        if not isinstance(value, int if whole else int | float) or not low <= value < inf:
            raise InputError(f"{name} is {value!r}; it is a {'whole ' * whole}number, at least {low}")
    for name, high in (most or {}).items():
        if getattr(config, name) > high:
            raise InputError(f"{name} is {getattr(config, name)}; it is at most {high}")


def check_overrides(overrides: Iterable[tuple[str, Any]], learner: type[Any]) -> None:
    """:raises InputError: a name that is no parameter of the learner."""
    known = {field.name for field in fields(learner)}
    for name, _ in overrides:
        if name not in known:
            raise InputError(f"overrides names {name!r}; the learner has {', '.join(sorted(known))}")
