"""`gumption splits probsol`: the splits of the certified tasks as files, made or checked."""

from __future__ import annotations

from pathlib import Path


def splits(*, out: Path | None = None, check: Path | None = None, force: bool = False) -> None:
    """Write the splits of the certified tasks: within each family ten folds (train 70 %, validation 10 %, test 20 %),
    and across families six, each of which leaves one family out for the test. The same tasks give the same bytes.

    Example: gumption splits probsol --out splits/probsol

    Example: gumption splits probsol --check splits/probsol

    :param out: Folder for the files: one for each split.
    :param check: Instead of --out: check the files in this folder.
    :param force: Replace other splits in the folder.
    """
    from gumption.data import InputError
    from gumption.envs.probsol.split_files import check_splits, names, write_splits
    from gumption.scripts.kg.output import print_table, working

    if (out is None) == (check is None):
        raise InputError("give either --out, a folder to write the splits to, or --check, a folder to check")
    if check is not None:
        if force:
            raise InputError("--force says how splits are made; --check does not take it")
        with working("checking the splits"):
            sizes = check_splits(check)
        caption = f"{check}: no task is in two parts of a split"
    else:
        assert out is not None
        with working("making the splits"):
            write_splits(out, force=force)
            sizes = check_splits(out)
        caption = f"{out}: made and checked"
    rows = [(name, *(f"{sizes[name][part]:,}" for part in ("train", "validation", "test"))) for name in names()]
    print_table(["split", "train", "validation", "test"], rows, caption)
