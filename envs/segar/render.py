"""Pictures of a scene for people: text, and solid colours."""

from typing import Any

import numpy as np

from gumption.envs.physics.state import State

from .ansi import ansi
from .colours import SolidColours

PIXELS = 256


def draw_frame(state: State, i: int, mode: str) -> Any:
    """Scene i as text ("ansi"), or as (256, 256, 3) uint8 ("rgb_array")."""
    if mode == "ansi":
        return ansi(state, i)
    one = state.select(np.array([i]))
    colours = SolidColours(PIXELS)
    colours.begin(one, np.array([0]), [0])
    return colours.draw(one)[0]
