"""`gumption data`: list and download data sets, and make recipe books from tables."""

from gumption.envs.worlds import known
from gumption.scripts.apps import App

app = App(
    no_args_is_help=True,
    add_completion=False,
    help="List the data that ships, fetch the full sets, make a recipe book.",
)


@app.command("list", epilog="Example: gumption data list --verify")
def list_(*, verify: bool = False) -> None:
    """List the data that ships with gumption and the sets that can be fetched.

    :param verify: Check the sha256 of every shipped file.
    """
    from gumption.data import download, manifest

    for entry in manifest.shipped().values():
        if verify:
            manifest.verify(entry)
        state = "ships, verified" if verify else "ships"
        size = f"{entry.path.stat().st_size / 1e6:.1f} MB"
        counts = ", ".join(f"{what} {many:,}" for what, many in entry.counts.items())
        told = [entry.source, f"maker: {entry.maker}", *([counts] if counts else []), str(entry.path)]
        _show(entry.name, state, size, entry.licence, told)
    for entry in manifest.fetchable().values():
        target = download.cache_folder() / entry.file
        state = "fetched" if target.exists() else "not fetched"
        _show(entry.name, state, entry.size, entry.licence, [entry.note, *entry.urls, str(target)])


def _show(name: str, state: str, size: str, licence: str, lines: list[str]) -> None:
    print(f"{name:<22}{state:<18}{size:<9}licence: {licence}")
    for line in lines:
        print(f"    {line}")


@app.command(epilog="Example: gumption data fetch alchemy2")
def fetch(name: str, *, offline: bool = False) -> None:
    """Download a set into the cache folder (GUMPTION_DATA_DIR moves it) and print where it lies.

    :param name: A name that `gumption data list` shows.
    :param offline: Only look in the cache folder.
    """
    from gumption.data import fetch as fetch_data

    print(fetch_data(name, offline=offline or None))


for _world in known().values():
    if (_tools := _world.get("data")) is not None:
        app.add_typer(_tools)
