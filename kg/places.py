"""Where a graph or a predictor lies, as one word: a file, a folder or an endpoint, `#NAME` for one graph of it."""

from pathlib import Path

from gumption.data import InputError
from gumption.data.writing import check_name

from .graph import KnowledgeGraph


def is_address(place: str) -> bool:
    """Whether this is the address of an endpoint."""
    return place.startswith(("http://", "https://"))


def open_graph(
    source: str, *, update: str | None = None, read_only: bool = True, timeout: float | None = None
) -> tuple[KnowledgeGraph, str | None]:
    """The graph at a file, folder or address that exists, and the name after #, if any.

    With `read_only` a folder is read as it is, also while another process writes to it.

    :param update: the address for updates, where `source` is that of an endpoint.
    :raises InputError: nothing there, or a name that is missing after #.
    """
    place, name = split_source(source)
    if is_address(place) or Path(place).is_dir() or update is not None:
        return KnowledgeGraph(place, update=update, read_only=read_only, timeout=timeout), name
    return KnowledgeGraph.load(place, read_only=read_only, timeout=timeout), name


def split_source(source: str) -> tuple[str, str | None]:
    """The file, folder or address of a graph that exists, and the name after #, if any.

    :raises InputError: nothing there, or a name that is missing.
    """
    if not is_address(source):
        check_name(Path(source))
    place, mark, name = (source, "", "") if Path(source).exists() else source.partition("#")
    if mark and not name:
        raise InputError(f"{source}: the name of a graph is missing after #")
    if not is_address(place) and not Path(place).exists():
        raise InputError(f"there is no graph at {place}: make one with `gumption kg build`")
    return place, name or None
