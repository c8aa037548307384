"""The renderer for agents: textures made of factors."""

from collections.abc import Sequence

import numpy as np

from gumption.data import InputError
from gumption.envs.physics.state import State

from .codes import LENGTH, RANDOM, coded_entries, factor_codes, random_entries
from .drawing import Drawing
from .texture_models import TextureModel, patterns

#: A texture is made anew when an entry of its code has changed by more: 5 % of the range from -1 to 1.
CHANGE = 0.1


class Textured:
    """Draws things in textures that tell their factors.

    :ivar resolution: pixels of a side.
    :ivar models: of the textures; a level's seed chooses one of them.
    """

    def __init__(
        self,
        models: Sequence[TextureModel],
        resolution: int = 64,
        hidden: Sequence[str] = (),
        follow: bool = True,
        centred: bool = False,
    ) -> None:
        """
        :param hidden: names of factors that textures do not tell; position and size are seen all the same.
        :param follow: the texture of a thing changes with its factors, and not only at the beginning of an episode.
        :param centred: see `Drawing`.
        :raises InputError: no model, models of different periods, or a hidden factor that no texture tells.
        """
        if len({model.period for model in models}) != 1:
            raise InputError(f"{len(models)} models: give at least one, and all of one size of pattern")
        self.resolution, self.models = resolution, tuple(models)
        self._entries, self._follow, self._centred = coded_entries(hidden), follow, centred
        self._weights = np.stack([model.weights for model in models])
        self._bias = np.stack([model.bias for model in models])
        self._drawing: Drawing | None = None
        self._codes = self._random = np.zeros(0)
        self._textures = np.zeros(0, dtype=np.uint8)
        self._chosen = np.zeros(0, dtype=np.int64)

    def begin(self, state: State, columns: np.ndarray, seeds: Sequence[int]) -> None:
        """Episodes begin in these columns: make their textures.

        :param columns: (n,) int. :param seeds: those of the levels: an equal seed gives equal textures.
        :raises InputError: another batch or layout than before, and not all columns.
        """
        if self._drawing is None or not self._drawing.fits(state):
            if len(columns) != state.num_envs:
                raise InputError("the first episodes of a batch begin together: give all its columns")
            self._drawing = Drawing(state, self.resolution, centred=self._centred)
            shape, period = (state.num_envs, state.slots + 1), self.models[0].period
            self._codes = np.zeros((LENGTH - RANDOM, *shape[::-1]))
            self._random = np.zeros((*shape, RANDOM))
            self._textures = np.zeros((*shape, period, period, 3), dtype=np.uint8)
            self._chosen = np.zeros(state.num_envs, dtype=np.int64)
        codes = factor_codes(state, self._entries)
        for column, seed in zip(np.asarray(columns).tolist(), seeds, strict=True):
            self._random[column], self._chosen[column] = random_entries(state, column, int(seed), len(self.models))
        changed = np.zeros(self._codes.shape[1:], dtype=bool)
        changed[:, columns] = True
        self._make(changed, codes)

    def draw(self, state: State) -> np.ndarray:
        """(B, R, R, 3) uint8.

        :raises InputError: no episode has begun.
        """
        if self._drawing is None:
            raise InputError("no episode has begun: call begin first")
        if self._follow:
            codes = factor_codes(state, self._entries)
            changed = np.any(np.abs(codes - self._codes) > CHANGE, axis=0)
            if changed.any():
                self._make(changed, codes)
        return self._drawing.draw(state, self._textures)

    def _make(self, changed: np.ndarray, codes: np.ndarray) -> None:
        """Make the textures of the (N + 1, B) mask of these codes."""
        assert self._drawing is not None
        self._codes[:, changed] = codes[:, changed]
        n, b = np.nonzero(changed)
        complete = np.concatenate([codes[:, n, b].T, self._random[b, n]], axis=1)
        chosen = self._chosen[b]
        self._textures[b, n] = patterns(self._weights[chosen], self._bias[chosen], complete)
        self._drawing.renew(changed.T)
