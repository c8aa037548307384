"""Replay of the episodes of an export, which verifies the recorded state before each action."""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose
from types import SimpleNamespace
from typing import Any

from gumption.data import InputError
from gumption.data.settings import shown
from gumption.envs import worlds
from gumption.scripts.people.web.episodes import Episode
from gumption.scripts.people.web.helping import Helped
from gumption.scripts.people.web.views import view_of

from .tasks import begin_of


def replay(record: Mapping[str, Any], where: str) -> Episode:
    """Replay a record of an export, and return the episode at its end.

    :param where: name of the record, for messages.
    :raises InputError: the record is damaged, an action is refused or was recorded in another state, or the result
        differs.
    """
    try:
        episode = _begun(record)
        for number, (step, attempt, action, state) in enumerate(record["actions"], start=1):
            what = f"action {number}, {shown(action)}"
            try:
                made = episode.act(action, step)
            except InputError as error:
                raise InputError(f"{what}: cannot be made again ({error})") from None
            if (made.attempt, made.state) != (attempt, state):
                raise InputError(f"{what}: found another state than it does here: the record was changed")
        episode.helps = [Helped(one["number"], one["after"], one, one["price"]) for one in record.get("helps", ())]
        result = record["result"]
        episode.restore(SimpleNamespace(ended=True, result={**result, "success": episode.success}))
        _check_result(episode, result)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: is damaged: {error!r}") from None
    return episode


def _begun(record: Mapping[str, Any]) -> Episode:
    world = record["world"]
    stage = 1  # every episode of a study has one
    begin = view_of(worlds.find(world)), begin_of(world)
    return Episode("", "", world, *begin, record["settings"], record["seed"], stage)


def _check_result(episode: Episode, result: Mapping[str, Any]) -> None:
    for name, value in episode.result().items():
        told = result[name]
        if not (isclose(told, value, abs_tol=1e-9) if name == "reward" else told == value):
            raise InputError(f"result.{name}: is {shown(told)}, and here it is {shown(value)}")
