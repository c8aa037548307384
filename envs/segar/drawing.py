"""Pictures of a batch of scenes: things in their patterns on the floor."""

import numpy as np

from gumption.envs.physics.factors import Factor, Floor, Mobile, Position, Size, Visible
from gumption.envs.physics.state import State


class Drawing:
    """Draws a batch of scenes into (B, R, R, 3) arrays of uint8, row 0 at the top.

    A position becomes a boundary between pixels: column round((x - low) * R / side), and row R minus the same of y. The
    floor with its tiles, the first of the order of iteration on top, is kept until a tile changes. Objects are drawn
    onto it in the order of iteration.

    :ivar resolution: R.
    """

    def __init__(
        self, state: State, resolution: int, outlines: bool = True, centred: bool = False, only_tiles: bool = False
    ) -> None:
        """
        :param state: whose layout and batch all later ones have.
        :param outlines: what is Mobile has a black line of a pixel around it.
        :param centred: polygons have the centre of their bounding box at the position, wherever their vertices are.
        :param only_tiles: objects are not drawn.
        """
        self.resolution, self._outlines, self._centred = resolution, outlines, centred
        num_envs, slots, layout = state.num_envs, state.slots, state.layout
        self._layout = layout
        self._pictures = np.empty((num_envs, resolution, resolution, 3), dtype=np.uint8)
        self._stale = np.ones(num_envs, dtype=bool)
        self._seen = np.zeros((4, slots, num_envs))
        self._sequence = np.zeros((slots, num_envs), dtype=np.int64)
        self._is_tile = _mask(state, Floor)
        self._always_shown = ~_mask(state, Visible)[:, None]
        self._drawn = self._is_tile[:, None] if only_tiles else np.ones((slots, 1), dtype=bool)
        self._nothing = np.zeros((slots, num_envs), dtype=bool)
        self._no_place = np.zeros((2, slots, num_envs))

    def fits(self, state: State) -> bool:
        """Whether the state has this drawing's layout and batch."""
        return state.layout == self._layout and state.num_envs == len(self._stale)

    def renew(self, changed: np.ndarray) -> None:
        """Textures (B, N + 1) bool, have changed: paint the floors again where they are of tiles or the background."""
        self._stale |= (changed[:, :-1] & self._is_tile).any(axis=1) | changed[:, -1]

    def draw(self, state: State, textures: np.ndarray) -> np.ndarray:
        """(B, R, R, 3) uint8, a new array.

        :param textures: (B, N + 1, P, P, 3) uint8: a pattern of each slot and, last, of the background; it is repeated
            from the thing's top left corner.
        """
        from .drawing_kernels import Floors, Things, paint

        columns = state.columns
        visible, mobile = columns.get(Visible), columns.get(Mobile)
        shown = state.present & self._drawn
        if visible is not None:
            shown &= visible[0] | self._always_shown
        out = np.empty_like(self._pictures)
        things = Things(
            columns.get(Position, self._no_place),
            columns[Size][0] if Size in columns else self._no_place[0],
            state.kinds,
            state.corners,
            state.corner_counts,
            state.drawn_size,
            shown,
            mobile[0] if mobile is not None and self._outlines else self._nothing,
            state.sequence,
            self._is_tile,
            state.walls,
        )
        floors = Floors(self._pictures, self._stale, self._seen, self._sequence)
        paint(out, floors, textures, things, self._centred)
        return out


def _mask(state: State, factor: type[Factor]) -> np.ndarray:
    """(N,) bool, the slots whose entities have the factor."""
    mask = np.zeros(state.slots, dtype=bool)
    mask[state.layout.owners([factor])] = True
    return mask
