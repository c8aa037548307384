"""Renderers in plain colours: pictures for people, optical flow and affordance maps; and a map of letters."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from gumption.data import InputError
from gumption.envs.physics import entities as kinds
from gumption.envs.physics.factors import Consumes, Factor, Friction, Heat, Position, Velocity, Visible
from gumption.envs.physics.state import State

from .drawing import Drawing

Colour = tuple[int, int, int]
Annotations = Literal["none", "ids", "labels"]

FLOOR: Colour = (236, 236, 230)
#: The colour of each entity type; a type without one has that of its parent. A person's own can be added.
COLOURS: dict[type[kinds.Entity], Colour] = {
    kinds.Entity: (150, 150, 150),
    kinds.Object: (140, 140, 160),
    kinds.Ball: (110, 190, 230),
    kinds.Magnet: (150, 60, 190),
    kinds.Charger: (250, 205, 50),
    kinds.Bumper: (60, 90, 220),
    kinds.Damper: (40, 130, 130),
    kinds.GolfBall: (255, 255, 255),
    kinds.CueBall: (255, 255, 255),
    kinds.Tile: (205, 200, 190),
    kinds.SandTile: (222, 190, 120),
    kinds.MagmaTile: (215, 60, 30),
    kinds.FireTile: (250, 140, 40),
    kinds.Hole: (45, 40, 40),
    kinds.GoalTile: (80, 175, 90),
}

#: What a place does to the ball, and its colour; the first that holds for the tile on top is shown.
AFFORDANCES: dict[str, Colour] = {
    "goal": (0, 160, 60),
    "consumes": (20, 20, 20),
    "burns": (220, 40, 20),
    "slows": (230, 190, 90),
    "nothing": (255, 255, 255),
}
#: The speed at which the colours of optical flow are full.
FULL_SPEED = 2.0
STILL: Colour = (255, 255, 255)


class Coloured:
    """What the renderers in plain colours share: each frame they colour the slots, and draw these.

    :cvar outlines, only_tiles: see `Drawing`.
    :ivar resolution: pixels of a side.
    """

    outlines = True
    only_tiles = False

    def __init__(self, resolution: int = 256, centred: bool = False) -> None:
        """:param centred: see `Drawing`."""
        self.resolution, self._centred = resolution, centred
        self._drawing: Drawing | None = None
        self._colours = np.zeros(0, dtype=np.uint8)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Episodes begin in these columns; colours need nothing of their seeds."""
        if self._drawing is None or not self._drawing.fits(state):
            self._drawing = Drawing(state, self.resolution, self.outlines, self._centred, self.only_tiles)
            self._colours = np.zeros((state.num_envs, state.slots + 1, 3), dtype=np.uint8)

    def draw(self, state: State) -> np.ndarray:
        """(B, R, R, 3) uint8.

        :raises InputError: no episode has begun.
        """
        if self._drawing is None:
            raise InputError("no episode has begun: call begin first")
        colours = self.colours(state)
        self._drawing.renew((colours != self._colours).any(axis=2))
        self._colours = colours
        return self._drawing.draw(state, colours[:, :, None, None])

    def colours(self, state: State) -> np.ndarray:
        """(B, N + 1, 3) uint8, of the slots and, last, of the background."""
        raise NotImplementedError


class SolidColours(Coloured):
    """For people: a colour for each entity type, and their names if wanted."""

    def __init__(self, resolution: int = 256, annotations: Annotations = "none", centred: bool = False) -> None:
        """:param annotations: "ids" or "labels" (names of types) are written on what is visible."""
        super().__init__(resolution, centred)
        self._annotations = annotations

    def colours(self, state: State) -> np.ndarray:
        """By entity type."""
        return _with_background(np.array([_colour(kind) for kind in state.type_list])[state.types.T], FLOOR)

    def draw(self, state: State) -> np.ndarray:
        """(B, R, R, 3) uint8, with the annotations."""
        pictures = super().draw(state)
        if self._annotations != "none":
            for i, picture in enumerate(pictures):
                self._annotate(picture, state, i)
        return pictures

    def _annotate(self, picture: np.ndarray, state: State, i: int) -> None:
        from PIL import Image, ImageDraw

        image = Image.fromarray(picture)
        brush = ImageDraw.Draw(image)
        low, high = state.walls[:, i]
        for entity in state.scene(i).entities:
            if not entity.factors.get(Visible, True) or Position not in entity.factors:
                continue
            x, y = entity.factors[Position]
            place = (x - low) / (high - low) * self.resolution, (high - y) / (high - low) * self.resolution
            text = entity.id if self._annotations == "ids" else entity.type.__name__
            size = max(8, self.resolution // 24)
            brush.text(place, text, fill=(0, 0, 0), anchor="mm", font_size=size, stroke_width=1, stroke_fill=FLOOR)
        picture[:] = np.asarray(image)


class OpticalFlow(Coloured):
    """The motion of objects in HSV: the hue is the direction, the saturation the speed; what rests is white."""

    outlines = False

    def colours(self, state: State) -> np.ndarray:
        """By velocity."""
        shape = 2, state.slots, state.num_envs
        across, up = state.columns.get(Velocity, np.zeros(shape)).transpose(0, 2, 1)
        hue = np.arctan2(up, across) / (2 * np.pi) % 1.0
        saturation = np.minimum(np.hypot(across, up) / FULL_SPEED, 1.0)
        return _with_background(_of_hue(hue, saturation), STILL)


class AffordanceMap(Coloured):
    """What each place does to a ball: it is the goal, consumes, burns or slows it; see `AFFORDANCES`."""

    only_tiles = True

    def colours(self, state: State) -> np.ndarray:
        """By the factors of the tiles."""
        found = np.empty((state.num_envs, state.slots, 3), dtype=np.uint8)
        found[:] = AFFORDANCES["nothing"]
        is_goal = np.array([issubclass(kind, kinds.GoalTile) for kind in state.type_list])
        effects = {
            "slows": _positive(state, Friction),
            "burns": _positive(state, Heat),
            "consumes": np.isin(np.arange(state.slots), state.layout.owners([Consumes]))[:, None],
            "goal": is_goal[state.types],
        }
        for name, holds in effects.items():
            found[np.broadcast_to(holds, state.present.shape).T] = AFFORDANCES[name]
        return _with_background(found, AFFORDANCES["nothing"])


def _colour(kind: type[kinds.Entity]) -> Colour:
    return next(COLOURS[each] for each in kind.__mro__ if each in COLOURS)


def _with_background(found: np.ndarray, background: Colour) -> np.ndarray:
    """(B, N + 1, 3) uint8 of (B, N, 3)."""
    last = np.broadcast_to(np.array(background), (len(found), 1, 3))
    return np.concatenate([found, last], axis=1).astype(np.uint8)


def _positive(state: State, factor: type[Factor]) -> np.ndarray:
    """(N, B) bool."""
    column = state.columns.get(factor)
    return np.zeros(state.present.shape, dtype=bool) if column is None else column[0] > 0


def _of_hue(hue: np.ndarray, saturation: np.ndarray) -> np.ndarray:
    """(..., 3) RGB from 0 to 255 of the full value in HSV; hue and saturation are from 0 to 1."""
    k = (np.array([5.0, 3.0, 1.0]) + 6.0 * hue[..., None]) % 6.0
    return np.rint(255.0 * (1.0 - saturation[..., None] * np.clip(np.minimum(k, 4.0 - k), 0.0, 1.0)))
