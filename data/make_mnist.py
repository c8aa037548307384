"""Make the part of MNIST that ships: images of every digit, spread evenly over the full set.

    python -m gumption.data.make_mnist --source mnist.npz --out mnist-subset.npz

The source is the full set: mnist.npz as `gumption data fetch mnist` brings it, or a folder with the four files of
its first publication (train-images-idx3-ubyte and so on, plain or .gz). Of each digit in each part, the images are
equally far apart in the set's own order, because its writers are sorted (the second half of the test images is far
harder to read). The same source gives the same arrays.
"""

import argparse
import gzip
import sys
import zlib
from pathlib import Path

import numpy as np

from .errors import InputError
from .manifest import file_sha256
from .mnist import PARTS, Part, check_digits, read_npz
from .writing import whole_file

COUNTS: dict[Part, int] = {"train": 200, "test": 100}  # images of each digit
_IDX_NAMES: dict[Part, str] = {"train": "train", "test": "t10k"}


def read_full(source: Path, part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Return images (n, 28, 28) and labels (n,), uint8, of a part of the full set.

    :raises InputError: a source that is missing, cut short or not MNIST.
    """
    if not source.is_dir():
        return read_npz(source, f"x_{part}", f"y_{part}")
    name = _IDX_NAMES[part]
    images = _read_idx(source, f"{name}-images-idx3-ubyte")
    return check_digits(source, images, _read_idx(source, f"{name}-labels-idx1-ubyte"))


def _read_idx(folder: Path, name: str) -> np.ndarray:
    """Read IDX: two zero bytes, 8 (unsigned bytes), the number of axes, their lengths (big-endian int32), the bytes."""
    plain = folder / name
    path = plain if plain.exists() else folder / f"{name}.gz"
    try:
        content = path.read_bytes()
        if path != plain:
            content = gzip.decompress(content)
        axes = content[3]
        shape = np.frombuffer(content, ">i4", axes, 4)
        if content[:3] != b"\0\0\x08":
            raise ValueError("no IDX file of bytes")
        return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise InputError(f"{path}: cannot read MNIST ({error}); check --source") from None


def choose(labels: np.ndarray, count: int) -> np.ndarray:
    """Return (10 * count,) indices: `count` of each digit, equally far apart; raise InputError if a digit has fewer."""
    chosen = []
    for digit in range(10):
        where = np.flatnonzero(labels == digit)
        if len(where) < count:
            raise InputError(f"the source has {len(where)} images of {digit}, {count} are wanted; is it the full set?")
        chosen.append(where[np.arange(count) * len(where) // count])
    return np.concatenate(chosen)


def make(source: Path, out: Path) -> None:
    """Write the subset that ships to `out`."""
    arrays: dict[str, np.ndarray] = {}
    for part in PARTS:
        images, labels = read_full(source, part)
        chosen = choose(labels, COUNTS[part])
        arrays |= {f"{part}_images": images[chosen], f"{part}_labels": labels[chosen]}
    with whole_file(out) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]  (takes names as keywords)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gumption.data.make_mnist", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    for name in ("source", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    try:
        make(options.source, options.out)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{options.out}: {options.out.stat().st_size} bytes, sha256 {file_sha256(options.out)}")


if __name__ == "__main__":
    main()
