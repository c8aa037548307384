"""What help from a graph came to, for the report: how often it was asked for, and success with and without it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gumption.agents.statistics import bootstrap_interval


def figures(name: str, own: Sequence[Any]) -> dict[str, Any]:
    """The figures of help at the tasks of a cell.

    Participants choose when to ask, so a difference in success may come from the tasks at which they do.

    :param name: of the cell.
    :param own: (participant, stage, episode) of each task.
    """
    helps: dict[int, list[float]] = {}
    success: dict[bool, dict[int, list[float]]] = {True: {}, False: {}}
    for person, _, episode in own:
        given = len(person.helps[episode.id])
        helps.setdefault(person.number, []).append(given)
        success[given > 0].setdefault(person.number, []).append(bool(episode.result.get("success")))
    found: dict[str, Any] = {"cell": name, "helps": _mean(helps)}
    for asked, part in ((True, "with"), (False, "without")):
        found[part] = {"tasks": sum(map(len, success[asked].values())), "success": _mean(success[asked])}
    return found


def lines(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """They as a table of Markdown; nothing where there was no help."""
    if not figures:
        return []
    found = ["", "| tasks | helps a task | success with help | tasks | success without | tasks |"]
    found.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for one in figures:
        with_, without = one["with"], one["without"]
        cells = [shown(one["helps"], ".2f"), shown(with_["success"], ".1%"), str(with_["tasks"])]
        cells += [shown(without["success"], ".1%"), str(without["tasks"])]
        found.append(f"| {' | '.join([one['cell'], *cells])} |")
    return found


def interval(means: Sequence[float]) -> list[float | None]:
    """The mean with the ends of its interval, which are None where there are too few for one."""
    return [None if math.isnan(end) else round(end, 5) for end in bootstrap_interval(means)]


def _mean(by_person: Mapping[int, Sequence[float]]) -> list[float | None] | None:
    """The mean over participants, each the mean of their tasks; None without a task."""
    return interval([float(np.mean(values)) for values in by_person.values()]) if by_person else None


def shown(estimate: Sequence[float | None] | None, form: str) -> str:
    """A mean with its interval, where it has one; "" for None."""
    if estimate is None:
        return ""
    value, low, high = estimate
    return f"{value:{form}}" + ("" if low is None else f" [{low:{form}}, {high:{form}}]")
