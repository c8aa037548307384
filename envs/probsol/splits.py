"""Make, write and check splits: ten folds within each family of certified tasks, and six that leave out a family."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gumption.data import InputError
from gumption.envs.split_files import SplitFormat, read_file, write_folder

from .library import FOLDS, certified, partition_of
from .tasks import FAMILIES

FORMAT = SplitFormat("gumption/probsol-splits/1", sort_keys=True)
PARTS = ("train", "validation", "test")
#: fishing-fold-0, ..., and across-fishing, which leaves Fishing out.
NAMES = [
    *(f"{family.lower()}-fold-{fold}" for family in FAMILIES for fold in range(FOLDS)),
    *(f"across-{family.lower()}" for family in FAMILIES),
]


def make_split(name: str) -> dict[str, Any]:
    """Return the content of a split: its parameters, and the sorted names of the tasks of each part.

    A split across families tests on all tasks of the left-out family. In the other families, the validation tasks of
    fold 0 form the validation part, and all others the training part.

    :raises InputError: no such split.
    """
    if name not in NAMES:
        raise InputError(
            f"there is no split {name!r}; there are fishing-fold-0 to modifying-fold-9, across-fishing, ..."
        )
    head, _, rest = name.partition("-")
    across = head == "across"
    fold = 0 if across else int(rest.removeprefix("fold-"))
    parts: dict[str, list[str]] = {part: [] for part in PARTS}
    for family in FAMILIES if across else (each for each in FAMILIES if each.lower() == head):
        seeds = [row.seed for row in certified()[family]]
        for seed, part in zip(seeds, partition_of(family, seeds, fold), strict=True):
            if across:
                part = "test" if family.lower() == rest else "validation" if part == "validation" else "train"
            parts[part].append(f"{family.lower()}/seed-{seed}")
    way = {"way": "across", "left_out": rest} if across else {"way": "within", "fold": fold}
    return {"name": name, "parameters": way, **{part: sorted(tasks) for part, tasks in parts.items()}}


def write_splits(folder: Path, *, force: bool = False) -> bool:
    """Write each split to a file; return False if the same files exist already, byte for byte.

    :raises InputError: see `gumption.envs.split_files.write_folder`.
    """
    contents = {f"{name}.json": FORMAT.seal(make_split(name)) for name in NAMES}
    return write_folder(folder, contents, set(contents), force=force)


def check_splits(folder: Path) -> Mapping[str, Mapping[str, int]]:
    """Check the splits in a folder; return split -> part -> number of tasks.

    :raises InputError: a file is missing or changed, a task is in two parts, or the split differs from the split of
        this gumption's tasks; the message names the file.
    """
    found = {}
    for name in NAMES:
        path = folder / f"{name}.json"
        split = FORMAT.unseal(read_file(path), path)
        tasks = [task for part in PARTS for task in split.get(part, [])]
        if len(set(tasks)) < len(tasks):
            raise InputError(f"{path}: a task is in two parts")
        if split != make_split(name):
            raise InputError(
                f"{path}: it is not the split that the certified tasks of this gumption give; make it again"
            )
        found[name] = {part: len(split[part]) for part in PARTS}
    return found
