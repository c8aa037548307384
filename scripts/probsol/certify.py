"""`gumption probsol certify` and `pack`: what seeds of generated tasks come to, and the file of the certified ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from gumption.data.settings import Count
from gumption.scripts.apps import App

app = App()

Family = Literal["fishing", "curling", "findthediff", "findthesame", "building", "modifying"]
#: Seeds of a batch; what a seed comes to does not depend on the others.
CHUNK = 20


@app.command(epilog="Example: gumption probsol certify --family fishing --seeds 0:100")
def certify(
    family: Annotated[Family, typer.Option(help="fishing, curling, findthediff, findthesame, building, modifying.")],
    seeds: Annotated[str, typer.Option(help="A:B, the seeds from A up to B, without B.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Keep what each seed comes to in this file; a file that is there is gone on with."),
    ] = None,
) -> None:
    """Make the tasks of seeds, and count what they come to, the first that applies: trivial (doing nothing solves it),
    chance (more than 5 % of 50 masked random policies do), naive (the family's naive policy does in more than 1 of 10
    tries), unsolved (no solution is found), fragile (the solution fails with K 2 % smaller or larger or with the step
    halved), certified."""
    from gumption.agents.probsol.certifier import certify
    from gumption.data.writing import check_writable
    from gumption.envs.probsol.certification import OUTCOMES
    from gumption.envs.probsol.generated import read_rows, write_rows
    from gumption.envs.probsol.library import family_of

    first, last = _range(seeds)
    name = family_of(family)
    assert name is not None
    if out is not None:
        check_writable(out)
    kept = read_rows(out) if out is not None and out.exists() else []
    mine = {row.seed: row for row in kept if row.family == name and first <= row.seed < last}
    others = [row for row in kept if row.family != name or not first <= row.seed < last]
    missing = [seed for seed in range(first, last) if seed not in mine]
    for start in range(0, len(missing), CHUNK):
        mine |= {row.seed: row for row in certify(name, missing[start : start + CHUNK])}
        if out is not None:
            write_rows(out, [*others, *mine.values()])
        passed = sum(row.outcome == "certified" for row in mine.values())
        print(f"{family}: {len(mine)} of {last - first} seeds, {passed} certified", file=sys.stderr)
    for outcome in OUTCOMES:
        print(f"{outcome} {sum(row.outcome == outcome for row in mine.values())}")


@app.command(epilog="Example: gumption probsol pack fishing.jsonl curling.jsonl --out certified.jsonl.gz")
def pack(
    files: Annotated[list[Path], typer.Argument(help="Files that certify --out wrote.")],
    out: Annotated[Path, typer.Option(help="The file to write, packed where its name ends in .gz.")],
    most: Annotated[Count | None, typer.Option(help="Seeds of each family at most.", show_default="all")] = None,
) -> None:
    """Put the certified seeds of several files into one, as it ships with gumption."""
    from gumption.data.writing import check_writable
    from gumption.envs.probsol.generated import read_rows, write_rows
    from gumption.envs.probsol.tasks import FAMILIES

    check_writable(out)
    found = {(row.family, row.seed): row for path in files for row in read_rows(path) if row.outcome == "certified"}
    chosen = []
    for family in FAMILIES:
        rows = sorted((row for row in found.values() if row.family == family), key=lambda row: row.seed)[:most]
        for row in rows:
            row.task()  # made again, and compared with its hash
        chosen += rows
        print(f"{family.lower()} {len(rows)}")
    write_rows(out, chosen)


def _range(seeds: str) -> tuple[int, int]:
    from gumption.data import InputError

    first, _, last = seeds.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) < int(last) <= 2**53):
        raise InputError(f"--seeds is {seeds!r}; it is A:B with A below B, such as 0:100")
    return int(first), int(last)
