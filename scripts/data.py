"""`gumption data`: what ships, what can be fetched, and fetching it."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="List the data that ships and fetch the full sets by name.")


@app.command("list", epilog="Example: gumption data list --verify")
def list_(
    verify: Annotated[bool, typer.Option("--verify", help="Check the sha256 of every shipped file.")] = False,
) -> None:
    """List the data that ships with gumption and the sets that can be fetched."""
    from gumption.data import download, manifest

    for entry in manifest.shipped().values():
        if verify:
            manifest.verify(entry)
        state = "ships, verified" if verify else "ships"
        size = f"{entry.path.stat().st_size / 1e6:.1f} MB"
        _show(entry.name, state, size, entry.licence, [entry.source, f"maker: {entry.maker}", str(entry.path)])
    for entry in manifest.fetchable().values():
        target = download.cache_folder() / entry.file
        state = "fetched" if target.exists() else "not fetched"
        _show(entry.name, state, entry.size, entry.licence, [entry.note, *entry.urls, str(target)])


def _show(name: str, state: str, size: str, licence: str, lines: list[str]) -> None:
    print(f"{name:<14}{state:<18}{size:<9}licence: {licence}")
    for line in lines:
        print(f"    {line}")


@app.command(epilog="Example: gumption data fetch alchemy2")
def fetch(
    name: Annotated[str, typer.Argument(help="A name that `gumption data list` shows.")],
    offline: Annotated[bool, typer.Option("--offline", help="Only look in the cache folder.")] = False,
) -> None:
    """Download a set into the cache folder (GUMPTION_DATA_DIR moves it) and print where it lies."""
    from gumption.data import fetch as fetch_data

    print(fetch_data(name, offline=offline or None))
