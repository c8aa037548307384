"""What a GRAPH on the command line stands for: a file, a folder or an address, and perhaps one graph of it."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.settings import Seconds

from .output import print_json, print_table, working

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph, NaryRelation

FILES = ".nt, .nq, .ttl, .trig, .tsv, .txt or .csv file, also with .gz, .bz2 or .xz"  # that are written, too
READ = f".n3, .rdf, .owl, .xml, .jsonld, {FILES}"
Source = Annotated[
    str,
    typer.Argument(metavar="GRAPH", help=f"A {READ}, a folder or an http address; #NAME picks one graph."),
]
PLACE = f"A {FILES}, a folder, or an endpoint's http address."
Update = Annotated[str | None, typer.Option(help="The endpoint's address for updates.")]
Timeout = Annotated[Seconds | None, typer.Option(help="Seconds after which it is stopped.")]
MemoryFolder = Annotated[
    Path | None,
    typer.Option(help="Instead: what an agent saw, in a folder that RecordMemory wrote; other graphs stay."),
]


def open_graph(
    source: str, *, update: str | None = None, read_only: bool = True, timeout: float | None = None
) -> "tuple[KnowledgeGraph, str | None]":
    """`gumption.kg.graph.open_graph`; a terminal shows that the graph is read."""
    from gumption.kg.graph import open_graph as opened

    with working(f"reading {source}"):
        return opened(source, update=update, read_only=read_only, timeout=timeout)


@contextmanager
def changed_graph(place: str, update: str | None = None, *, anew: bool = False) -> "Iterator[KnowledgeGraph]":
    """The graph at a file, folder or address, to be changed; it is made where there is none.

    A file is read first, unless it is made `anew`, and written when the block ends well. Whoever changes it meanwhile
    waits.
    """
    from gumption.data.writing import sole_writer
    from gumption.kg import KnowledgeGraph
    from gumption.kg.graph import is_address
    from gumption.kg.store.stores import undone_if_new

    check_place(place)
    file = Path(place)
    if is_address(place) or file.is_dir() or not file.suffix:
        with undone_if_new(file), KnowledgeGraph(place, update=update) as graph:
            yield graph
        return
    with ExitStack() as stack:
        with working(f"waiting for another process that changes {place}"):
            stack.enter_context(sole_writer(file, wait=True))
        if update is not None or not file.exists() or anew:
            graph = KnowledgeGraph(update=update)
        else:
            with working(f"reading {place}"):
                graph = KnowledgeGraph.load(file)
        yield graph
        with working(f"writing {place}"):
            graph.save(file)


def read_facts(source: str, only: bool) -> list[tuple[str, str, str]]:
    """The facts of the named graph; without a name of all `binary_graphs`, where `only` one is allowed."""
    graph, name = open_graph(source)
    with graph:
        if name is None and only:
            name = only_graph(graph, source)
        names = [name] if name is not None else binary_graphs(graph)
        arrays = [graph.arrays(each) for each in names]
        return sorted({fact for vocabulary, ids in arrays for fact in vocabulary.ids_to_triples(ids)})


def binary_graphs(graph: "KnowledgeGraph") -> list[str]:
    """Those that link predictors are trained on: not those that say something about the facts of another."""
    from gumption.kg.rules.fixpoint import PROVENANCE
    from gumption.kg.sources.weights import WEIGHTS

    return [name for name in graph.graphs() if not name.endswith((WEIGHTS, PROVENANCE, *node_endings()))]


def node_endings() -> tuple[str, ...]:
    """What the names of graphs end in that hold the nodes of n-ary facts, by the worlds' own account."""
    from gumption.envs import worlds

    return tuple(ending for world in worlds.known().values() for ending in world.nodes)


def nary_relations() -> "list[NaryRelation]":
    """The n-ary relations that the worlds state facts of."""
    from gumption.envs import worlds

    return [relation for world in worlds.known().values() for relation in world.get("nary") or ()]


def only_graph(graph: "KnowledgeGraph", source: str) -> str:

    names = binary_graphs(graph)
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"{source} has no facts")
    raise InputError(f"{source} has several graphs ({', '.join(names)}): name one, as in {source}#{names[0]}")


def new_folder(out: Path) -> None:
    """InputError where there is something already, or nothing can be written."""
    from gumption.data.writing import check_writable

    check_writable(out)
    if out.exists():
        raise InputError(f"{out} exists already: choose a new folder for the model")


def check_place(place: str) -> None:
    """InputError, before anything is worked out, for a place or a kind of file that no graph is written to."""
    from gumption.data.writing import check_name, check_writable
    from gumption.kg.graph import is_address
    from gumption.kg.store.files import file_format

    if is_address(place):
        return
    check_name(Path(place))
    if Path(place).is_dir():
        return
    check_writable(Path(place))
    if Path(place).suffix:
        file_format(Path(place), write=True)


def build_of_memory(world: Any, folder: Path, out: str, update: str | None, as_json: bool) -> None:
    """Put what a memory shows into the graph at `out`, and tell what is there now.

    :raises InputError: no such memory, or a world that makes no facts of one.
    """
    from gumption.data import InputError

    kind, add_memory = world.get("memory"), world.get("add_memory")
    if kind is None or add_memory is None:
        raise InputError(f"the world {world.name!r} makes no facts of a memory: leave --memory out")
    check_place(out)
    memory = kind.load(folder)
    if memory.warning:
        print(f"warning: {memory.warning}", file=sys.stderr)
    with changed_graph(out, update) as graph:
        counts = add_memory(graph, memory, folder.resolve().name)
    tell_built(out, counts, as_json)


def tell_built(out: str, counts: dict[str, int], as_json: bool) -> None:
    """Name the graphs at `out` and how many facts each has."""
    if as_json:
        print_json({"out": out, "graphs": counts})
    else:
        print_table(["graph", "facts"], list(counts.items()), f"written to {out}")
