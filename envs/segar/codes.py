"""Codes of things: the twelve numbers that a texture is made of."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gumption.data import InputError
from gumption.data.settings import unknown
from gumption.envs.physics.factors import (
    Alive,
    Charge,
    Density,
    Factor,
    FloorFriction,
    Friction,
    Heat,
    Magnetism,
    Mass,
    StoredEnergy,
)
from gumption.envs.physics.state import State

#: Entry 0 of a code is 1 for the background; these follow, and then the random entries.
CODED: tuple[type[Factor], ...] = (Heat, Friction, Charge, Magnetism, Density, StoredEnergy, Mass, Alive)
RANDOM = 3
LENGTH = 1 + len(CODED) + RANDOM
#: Keeps the random entries apart from what else is drawn from a level's seed.
_STREAM = 0x7E


def coded_entries(hidden: Sequence[str]) -> np.ndarray:
    """(8,) bool, which of `CODED` a texture shows.

    :param hidden: names of factors that it does not show.
    :raises InputError: a name that is none of `CODED`.
    """
    names = [factor.__name__ for factor in CODED]
    for name in hidden:
        if name not in names:
            raise InputError(f"hidden: {unknown('the code of a texture', name, names)}")
    return np.array([name not in hidden for name in names])


def factor_codes(state: State, entries: np.ndarray) -> np.ndarray:
    """(9, N + 1, B): the codes of the slots and, last, of the background, without the random entries.

    A factor that an entity lacks, and one that is not shown, is 0. The background shows the friction of the floor.
    """
    codes = np.zeros((1 + len(CODED), state.slots + 1, state.num_envs))
    codes[0, -1] = 1.0
    for entry, factor in enumerate(CODED):
        if entries[entry] and factor.root in state.columns:
            codes[1 + entry, :-1] = state.columns[factor.root][0]
        if entries[entry] and factor is Friction:
            codes[1 + entry, -1] = state.parameters[FloorFriction]
    return codes


def random_entries(state: State, column: int, seed: int, models: int) -> tuple[np.ndarray, int]:
    """(N + 1, 3) numbers from a normal distribution, clipped to -1 and 1, and which of so many models is used.

    They depend on the seed and on the place of each thing in its scene, not on the slots of the batch.
    """
    drawn, model = _drawn(seed, len(state.scenes[column].entities) + 1, models)
    entries = np.zeros((state.slots + 1, RANDOM))
    entries[-1] = drawn[0]
    here = np.flatnonzero(state.kinds[:, column])
    entries[here] = drawn[1 + state.insertion[here, column]]
    return entries, model


@lru_cache(maxsize=4096)
def _drawn(seed: int, count: int, models: int) -> tuple[np.ndarray, int]:
    """(count, 3) numbers and a model: levels are played again and again, and a generator takes long to make."""
    rng = np.random.default_rng([seed, _STREAM])
    drawn = np.clip(rng.standard_normal((count, RANDOM)), -1.0, 1.0)
    drawn.flags.writeable = False
    return drawn, int(rng.integers(models))
