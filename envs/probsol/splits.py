"""Ten fixed folds within each family of certified tasks; `split_files` writes them, and the splits across families."""

import hashlib
from collections.abc import Sequence

FOLDS = 10
#: Tenths of a family that a fold tests, and that it keeps to choose settings by.
TEST, VALIDATION = 2, 1
PARTS = ("train", "validation", "test")


def partition_of(family: str, seeds: Sequence[int], fold: int) -> list[str]:
    """The part of each seed: train (70 %), validation (10 %) or test (20 %).

    A seed belongs to a tenth of its family for good, by a hash, so that more seeds change no other one's place. Fold f
    tests the tenths f and f + 1 and validates on f + 2, modulo 10.
    """
    return [_part(_tenth(family, seed), fold) for seed in seeds]


def _tenth(family: str, seed: int) -> int:
    return int(hashlib.sha256(f"{family.lower()}/seed-{seed}".encode()).hexdigest()[:8], 16) % FOLDS


def _part(tenth: int, fold: int) -> str:
    place = (tenth - fold) % FOLDS
    return "test" if place < TEST else "validation" if place < TEST + VALIDATION else "train"
