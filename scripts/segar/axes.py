"""`gumption segar axes`: how far the two distributions of each named axis are apart."""

from __future__ import annotations

from pathlib import Path

from gumption.data.settings import Seed, Size
from gumption.scripts.apps import App

app = App()


@app.command(epilog="Example: gumption segar axes --out axes.json")
def axes(*, levels: Size = 100, seed: Seed = 0, out: Path | None = None) -> None:
    """Measure every pair of a training and a test distribution: exact distances of the noises that differ, and between
    drawn levels, also without the order of things; beside them the distance that sampling alone makes.

    :param levels: Levels drawn of each distribution.
    :param seed: Draws the levels.
    :param out: Also save the distances as JSON.
    """
    import sys

    from rich.console import Console
    from rich.table import Column, Table

    from gumption.data.provenance import command_line, versions
    from gumption.data.writing import check_writable, write_json
    from gumption.envs.segar.measures import axes_table

    if out is not None:
        check_writable(out)
    found = axes_table(levels=levels, seed=seed)
    heads = ("axis", "W2 of noises", "W2 of levels", "without order", "of sampling", "KS")
    table = Table(Column("pair", no_wrap=True), *heads)
    for name, row in found["pairs"].items():
        apart = row["levels"]
        figures = (row["noises"], apart["w2"], apart["w2 without order"], apart["floor without order"], apart["ks"])
        table.add_row(name, row["axis"], *("-" if each is None else f"{each:.3f}" for each in figures))
    Console().print(table)
    if out is not None:
        write_json(out, {"command": command_line(sys.argv[1:]), "versions": versions(), **found})
