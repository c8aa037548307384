"""Worlds that run in real time: one loop for all live episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Live:
    """How a world runs in real time.

    :ivar advance: (env, steps): let so many physics steps pass.
    :ivar step_of: env -> the physics steps of the episode so far.
    :ivar frame: env -> plain JSON that the page draws between two actions.
    """

    advance: Callable[[Any, int], None]
    step_of: Callable[[Any], int]
    frame: Callable[[Any], dict[str, Any]]
