"""`gumption data`: what ships, what can be fetched, and fetching it."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="List the data that ships and fetch the full sets by name.")


@app.command("list", epilog="Example: gumption data list --verify")
def list_(
    verify: Annotated[bool, typer.Option("--verify", help="Check the sha256 of every shipped file.")] = False,
) -> None:
    """List the data that ships with gumption and the sets that can be fetched."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from gumption.data import download, manifest

    table = Table("name", "state", "size", "licence", "where from", "file", box=SIMPLE_HEAD)
    for entry in manifest.shipped().values():
        if verify:
            manifest.verify(entry)
        size = f"{entry.path.stat().st_size / 1e6:.1f} MB"
        state = "ships, verified" if verify else "ships"
        table.add_row(entry.name, state, size, entry.licence, entry.source, str(entry.path))
    for entry in manifest.fetchable().values():
        target = download.cache_folder() / entry.file
        state = "fetched" if target.exists() else "not fetched"
        table.add_row(entry.name, state, entry.size, entry.licence, f"{entry.urls[0]} {entry.note}", str(target))
    Console(markup=False, highlight=False).print(table)


@app.command(epilog="Example: gumption data fetch alchemy2")
def fetch(
    name: Annotated[str, typer.Argument(help="A name that `gumption data list` shows.")],
    offline: Annotated[bool, typer.Option("--offline", help="Only look in the cache folder.")] = False,
) -> None:
    """Download a set into the cache folder (GUMPTION_DATA_DIR moves it) and print where it lies."""
    from gumption.data import fetch as fetch_data

    print(fetch_data(name, offline=offline or None))
