"""Load MNIST's handwritten digits: the small subset that ships with gumption, or the full set, which is fetched."""

import zipfile
import zlib
from pathlib import Path
from typing import Literal

import numpy as np

from .download import fetch
from .errors import InputError
from .manifest import shipped, verify

Part = Literal["train", "test"]
PARTS: tuple[Part, ...] = ("train", "test")
SIDE = 28  # width and height of an image, in pixels


def load_digits(part: Part, *, full: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return images and labels of one part; the parts have no image and no writer in common.

    The shipped subset has 200 train and 100 test images of each digit, sorted by digit. The full set has 60,000 and
    10,000 images in its own order; it is fetched if the cache folder lacks it.

    :returns: images (n, 28, 28) uint8, 0 is paper and 255 ink; labels (n,) uint8, 0 to 9.
    :raises InputError: another part, a missing file that cannot be fetched, or a file with another sha256.
    """
    if part not in PARTS:
        raise InputError(f"part is {part!r}; it can be {' or '.join(PARTS)}")
    if full:
        return read_npz(fetch("mnist"), f"x_{part}", f"y_{part}")
    entry = shipped()["mnist-subset"]
    verify(entry)
    return read_npz(entry.path, f"{part}_images", f"{part}_labels")


def read_npz(path: Path, images_name: str, labels_name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of an .npz file, checked by `check_digits`; raise InputError if the file cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            images, labels = arrays[images_name], arrays[labels_name]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: cannot read {images_name} and {labels_name} ({error})") from None
    return check_digits(path, images, labels)


def check_digits(path: Path, images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays if they are (n, 28, 28) uint8 images and (n,) uint8 labels 0 to 9; else raise InputError."""
    if (
        images.dtype != np.uint8
        or labels.dtype != np.uint8
        or images.shape != (len(labels), SIDE, SIDE)
        or labels.ndim != 1
        or not len(labels)
        or labels.max() > 9
    ):
        raise InputError(f"{path}: images {images.shape} and labels {labels.shape} are no digits of {SIDE}x{SIDE} px")
    return images, labels
