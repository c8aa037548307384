"""Pictures of a scene for people: text, and solid colours."""

from typing import Any

import numpy as np

from gumption.envs.physics.factors import Floor, Velocity
from gumption.envs.physics.state import State

from .colours import SolidColours
from .drawing import Drawing

PIXELS = 256


def draw_frame(state: State, i: int, mode: str) -> Any:
    """Scene i as text ("ansi"), or as (256, 256, 3) uint8 ("rgb_array")."""
    if mode == "ansi":
        return ansi(state, i)
    one = state.select(np.array([i]))
    colours = SolidColours(PIXELS)
    colours.begin(one, np.array([0]), [0])
    return colours.draw(one)[0]


# ---- A scene as a map of letters.


ROWS = 20
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def ansi(state: State, i: int = 0) -> str:
    """Scene i as text: 20 rows between walls, a letter for each thing that is visible, capital for objects, and a line
    for each."""
    one = state.select(np.array([i]))
    marks = np.arange(1, one.slots + 2, dtype=np.uint8)
    marks[-1] = 0  # the floor
    textures = np.repeat(marks[None, :, None], 3, axis=2)[:, :, None, None]
    slots = Drawing(one, ROWS, outlines=False).draw(one, textures)[0, :, :, 0]
    told: list[str] = []
    signs = np.full(one.slots + 1, "  ", dtype=object)
    for entity in one.scene(0).entities:
        slot = one.slot_of[0][entity.id]
        letter = _LETTERS[len(told) % len(_LETTERS)]
        letter = letter if Floor in entity.factors else letter.upper()
        signs[slot + 1] = letter * 2
        moves = entity.factors.get(Velocity, (0.0, 0.0))
        speed = f", velocity {moves[0]:.2f} {moves[1]:.2f}" if any(moves) else ""
        told.append(f"{letter} {entity.id} ({entity.type.__name__}){speed}")
    wall = "+" + "-" * (2 * ROWS) + "+"
    rows = [f"|{''.join(signs[row])}|" for row in slots]
    return "\n".join([wall, *rows, wall, *told]) + "\n"
