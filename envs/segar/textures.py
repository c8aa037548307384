"""Texture models (linear maps of codes to patterns), and distances between them.

A transposed convolution of a map with the same code everywhere is periodic, with the period `stride` in pixels. The
texture of a code is therefore one tile of P x P pixels, P the stride: tanh(weights @ code + bias).
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

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

#: Factors in a code. A code has twelve numbers: 1 for the background (else 0), these factors, three random entries.
CODED: tuple[type[Factor], ...] = (Heat, Friction, Charge, Magnetism, Density, StoredEnergy, Mass, Alive)
RANDOM = 3
LENGTH = 1 + len(CODED) + RANDOM
#: Separates the random entries from other draws with a level's seed.
_STREAM = 0x7E


def coded_entries(hidden: Sequence[str]) -> np.ndarray:
    """Return (8,) bool, which factors of `CODED` a texture shows; raise InputError for a hidden name not in `CODED`."""
    names = [factor.__name__ for factor in CODED]
    for name in hidden:
        if name not in names:
            raise InputError(f"hidden: {unknown('the code of a texture', name, names)}")
    return np.array([name not in hidden for name in names])


def factor_codes(state: State, entries: np.ndarray) -> np.ndarray:
    """Return (9, N + 1, B), the codes of the slots and, last, of the background, without the random entries.

    A factor that an entity lacks, or that is not shown, is 0. The background shows the friction of the floor.
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
    """Return (N + 1, 3) numbers from a normal distribution, clipped to [-1, 1], and the index of a model.

    They depend on the seed and on the index of each thing in its scene, not on the slots of the batch.
    """
    drawn, model = _drawn(seed, len(state.scenes[column].entities) + 1, models)
    entries = np.zeros((state.slots + 1, RANDOM))
    entries[-1] = drawn[0]
    here = np.flatnonzero(state.kinds[:, column])
    entries[here] = drawn[1 + state.insertion[here, column]]
    return entries, model


@lru_cache(maxsize=4096)
def _drawn(seed: int, count: int, models: int) -> tuple[np.ndarray, int]:
    """Draw (count, 3) numbers and the index of a model; cached, since levels repeat and generators are slow to make."""
    rng = np.random.default_rng([seed, _STREAM])
    drawn = np.clip(rng.standard_normal((count, RANDOM)), -1.0, 1.0)
    drawn.flags.writeable = False
    return drawn, int(rng.integers(models))


#: Decoder of an autoencoder: a transposed convolution from LENGTH to 3 channels.
KERNEL, STRIDE, PADDING = 5, 3, 1
#: Border pixels without all neighbours, which are cut off.
CROP = 1
WEIGHTS = Path(__file__).parent / "weights"
#: Bundled models by set; their numbers are their training seeds.
SETS: dict[str, tuple[str, ...]] = {
    name: tuple(f"{name}-{seed:02}" for seed in seeds)
    for name, seeds in (("baseline", range(1)), ("five", range(1, 6)), ("twenty", range(6, 26)))
}
_SHAPES = {"decoder.weight": (LENGTH, 3, KERNEL, KERNEL), "decoder.bias": (3,)}


class TextureModel:
    """A linear map of codes to patterns, with weights (P, P, 3, 12) and bias (P, P, 3)."""

    def __init__(self, name: str, weights: np.ndarray, bias: np.ndarray | None = None) -> None:
        self.name = name
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.bias = np.zeros(self.weights.shape[:3]) if bias is None else np.asarray(bias, dtype=np.float64)

    @property
    def period(self) -> int:
        return len(self.weights)

    def patterns(self, codes: np.ndarray) -> np.ndarray:
        """Return the patterns (n, P, P, 3) uint8 of codes (n, 12)."""
        return patterns(self.weights[None], self.bias[None], codes)


def patterns(weights: np.ndarray, bias: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the patterns of codes, (n, P, P, 3) uint8.

    :param weights: (n or 1, P, P, 3, 12), a model per code or one for all; `bias` lacks the last axis.
    :param codes: (n, 12).
    """
    total = np.broadcast_to(bias, (len(codes), *bias.shape[1:])).copy()
    # Sum entry by entry: the rounding of a matrix product depends on the batch size.
    for entry in range(codes.shape[1]):
        total += weights[..., entry] * codes[:, None, None, None, entry]
    return np.rint((np.tanh(total) + 1.0) * 127.5).astype(np.uint8)


def from_decoder(name: str, weight: np.ndarray, bias: np.ndarray) -> TextureModel:
    """Return the model of a transposed convolution with weight (12, 3, 5, 5), in torch's layout, and bias (3,)."""
    weights = np.zeros((STRIDE, STRIDE, 3, LENGTH))
    for row in range(KERNEL):
        for column in range(KERNEL):
            # Entry k of the kernel reaches the pixels o with o + PADDING = k modulo the stride.
            place = (row - PADDING - CROP) % STRIDE, (column - PADDING - CROP) % STRIDE
            weights[place] += weight[:, :, row, column].T
    return TextureModel(name, weights, np.broadcast_to(bias, weights.shape[:3]).copy())


def load_models(which: str) -> tuple[TextureModel, ...]:
    """Read the models of a bundled set, a single bundled model, or a file or folder of `gumption segar renderers`.

    :param which: "baseline", "five", "twenty", the name of one model such as "twenty-07", or a path.
    :raises InputError: no such set or path, or a file that is no model.
    """
    if which in SETS:
        return tuple(_load(WEIGHTS / f"{name}.safetensors") for name in SETS[which])
    if any(which in names for names in SETS.values()):
        return (_load(WEIGHTS / f"{which}.safetensors"),)
    path = Path(which)
    if path.is_file():
        return (_load(path),)
    if path.is_dir():
        found = sorted(path.glob("*.safetensors"))
        if found:
            return tuple(_load(each) for each in found)
        raise InputError(f"models: {path} has no .safetensors file")
    raise InputError(f"{unknown('the list of texture models', which, SETS)}, or give a path of .safetensors files")


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file; raise InputError if it is unreadable."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be read as safetensors ({error})") from None


def parameter_distance(one: TextureModel, other: TextureModel) -> float:
    """Return the Euclidean distance between the parameters of two models; raise InputError if pattern sizes differ."""
    if one.period != other.period:
        raise InputError(
            f"the patterns of {one.name} have {one.period} x {one.period} pixels, and those of {other.name} "
            f"{other.period} x {other.period}: compare their textures"
        )
    squares = np.square(one.weights - other.weights).sum() + np.square(one.bias - other.bias).sum()
    return float(np.sqrt(squares))


def texture_distance(one: TextureModel, other: TextureModel) -> float:
    """Return the root mean square difference between the pixels (0 to 1) of two models' textures, over 1,000 codes
    drawn uniformly from [-1, 1]."""
    codes = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, LENGTH))
    side = int(np.lcm(one.period, other.period))
    first, second = (
        np.tile(model.patterns(codes), (1, side // model.period, side // model.period, 1)).astype(np.float64)
        for model in (one, other)
    )
    return float(np.sqrt(np.mean(np.square((first - second) / 255.0))))


def _load(path: Path) -> TextureModel:
    tensors = read_tensors(path)
    for name, shape in _SHAPES.items():
        if name not in tensors:
            raise InputError(f"{path}: there is no {name}; make the file with `gumption segar renderers`")
        if tensors[name].shape != shape or not np.isfinite(tensors[name]).all():
            raise InputError(f"{path}: {name} has the shape {tensors[name].shape}; it has {shape}, and finite numbers")
    return from_decoder(path.stem, tensors["decoder.weight"], tensors["decoder.bias"])
