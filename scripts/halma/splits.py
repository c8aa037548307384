"""`gumption splits halma`: diagnostic tests made from what an agent has seen, and their checker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.data.settings import Count, Seed

if TYPE_CHECKING:
    from gumption.envs.halma.splits import Experience, Splits

    Read = Callable[..., Experience]


def splits(
    run: Annotated[Path | None, typer.Option(help="Folder of a run with its memory.")] = None,
    memory: Annotated[
        Path | None, typer.Option(help="Instead of --run: a folder that RecordMemory wrote, of any agent.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the tests: a file each, and a manifest.")] = None,
    check: Annotated[
        Path | None, typer.Option(help="Instead of --out: check the tests in this folder against the experience.")
    ] = None,
    seed: Annotated[Seed | None, typer.Option(help="Fixes every maze.", show_default="0")] = None,
    mazes: Annotated[Count | None, typer.Option(help="Mazes of each test.", show_default="50")] = None,
    threshold: Annotated[
        Count | None, typer.Option(help="Visits from which on something counts as understood.", show_default="3")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace other tests in the folder.")] = False,
) -> None:
    """Make tests of what an agent has not seen but could infer, each with its reason, or check such tests.

    T holds the mazes it was trained on, RT random ones; ST ask about digits in new combinations and colours, AfT about
    pairs inferred from what moves did, AnT about pairs that follow by transitivity. The same experience and seed give
    the same bytes.

    Example: gumption splits halma --run runs/halma --out splits/halma --seed 0

    Example: gumption splits halma --memory memories/mine --out splits/mine
    """
    from gumption.data import InputError
    from gumption.envs.halma.splits import read_memory, read_run

    if run is not None and memory is None:
        read: Read = partial(read_run, run)
    elif memory is not None and run is None:
        read = partial(read_memory, memory)
    else:
        raise InputError("give either --run, a run of gumption, or --memory, a folder that RecordMemory wrote")
    if (out is None) == (check is None):
        raise InputError("give either --out, a folder to write the tests to, or --check, a folder to check")
    how = {"seed": seed, "mazes": mazes, "threshold": threshold}
    given = {name: value for name, value in how.items() if value is not None}
    if check is not None:
        if given or force:
            raise InputError(
                "--seed, --mazes, --threshold and --force say how tests are made; --check takes none of them"
            )
        _check(read, check)
    elif out is not None:
        _make(read, out, given, force)


def _make(read: Read, out: Path, given: dict[str, int], force: bool) -> None:
    from gumption.scripts.kg.output import working

    with working("reading what the agent has seen"):
        from gumption.envs.halma.splits import make_splits

        experience = read(**{name: given.pop(name) for name in ("threshold",) if name in given})
    _warn(experience.warning)
    with working("making the tests"):
        made = make_splits(experience, out, **given, force=force)
    _show(made, f"{out}: made and checked")


def _check(read: Read, folder: Path) -> None:
    from gumption.scripts.kg.output import working

    with working("reading what the agent has seen"):
        from gumption.envs.halma.splits import check_splits, load_splits

        made = load_splits(folder)
        experience = read(threshold=made.manifest["parameters"]["threshold"])
    _warn(experience.warning)
    with working("checking the tests"):
        faults = check_splits(made, experience.knowledge, experience.mazes)
    for fault in faults:
        print(fault)
    if faults:
        raise typer.Exit(1)
    _show(made, f"{folder}: every maze asks what it claims")


def _warn(warning: str | None) -> None:
    if warning:
        print(f"warning: {warning}", file=sys.stderr)


def _show(made: Splits, caption: str) -> None:
    from gumption.scripts.kg.output import print_table

    rows = []
    for test, entry in made.manifest["tests"].items():
        why = [entry["reason"]] if entry["reason"] else []
        why += [f"{pair[0]}>{pair[1]}, {type_}: {reason}" for pair, type_, reason in map(dict.values, entry["refused"])]
        pairs = f"{entry['pairs']} of {entry['queries']}" if entry["queries"] else "-"
        rows.append((test, pairs, entry["mazes"] or "-", "; ".join(why)))
    print_table(["test", "pairs", "mazes", "why none"], rows, caption)
