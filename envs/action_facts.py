"""Represent the facts that would support each candidate action of each environment, for knowledge to score."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.kg.action_facts import ActionFacts, Fact, PlanningProblem

__all__ = ["ActionFacts", "Fact", "PlanningProblem", "action_facts", "check_size"]


def action_facts(
    relations: Sequence[str],
    shape: tuple[int, int],
    parties: Sequence[tuple[np.ndarray | int, np.ndarray | int, np.ndarray | int]],
    partners: np.ndarray | None = None,
    chosen: np.ndarray | None = None,
    things: np.ndarray | None = None,
    about: np.ndarray | None = None,
) -> ActionFacts:
    """Build `ActionFacts` from K triples (subject, object, given), each broadcast to `shape`, which is (B, A).

    :param chosen: (B, C) int64; None if no role is filled yet. `things` and `about` as in `ActionFacts`.
    """
    arrays = np.zeros((3, *shape, len(relations)), dtype=np.int64)
    subject, object_, given = arrays
    for k, (s, o, g) in enumerate(parties):
        subject[:, :, k] = s
        object_[:, :, k] = o
        if not isinstance(g, int) or g:
            given[:, :, k] = g
    if chosen is None:
        chosen = np.zeros((shape[0], 0), dtype=np.int64)
    return ActionFacts(tuple(relations), subject, object_, given, partners, chosen, things, about)


def check_size(advice: Any, world: Any) -> None:
    """:raises InputError: the number of the world's labels has changed since the advice was made."""
    known, vocabulary = (getattr(each, "vocabulary", ()) for each in (advice, world))
    if known and vocabulary and len(known) != len(vocabulary):
        raise InputError(
            f"the advice is for a vocabulary of {len(known)} labels, and the env's has {len(vocabulary)}: make the "
            "advice anew with env.vocabulary"
        )
