"""Open a GRAPH of the command line: a file, a folder or an address, optionally with a named graph; and `gumption kg
build`, which makes a graph of a world."""

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gumption.data import InputError
from gumption.data.settings import NonNegative, Seconds
from gumption.scripts.apps import App, pair
from gumption.scripts.output import Json, print_json, print_table, working
from gumption.scripts.worlds import world_group

if TYPE_CHECKING:
    from gumption.kg import KnowledgeGraph, NaryRelation
    from gumption.kg.vocabulary import Triple

FILES = ".nt, .nq, .ttl, .trig, .rdf, .jsonld, .tsv, .txt or .csv file, also with .gz, .bz2 or .xz"  # read and written
READ = f".n3, .owl, .xml, .graphml, .gexf, {FILES}"
Source = Annotated[
    str,
    typer.Argument(metavar="GRAPH", help=f"A {READ}, a folder or an http address; #NAME picks one graph."),
]
PLACE = f"A {FILES}, a folder, or an endpoint's http address."
Update = Annotated[str | None, typer.Option(help="The endpoint's address for updates.")]
Wait = Annotated[NonNegative, typer.Option(help="Seconds to wait for another process that changes a folder.")]
Timeout = Annotated[Seconds | None, typer.Option(help="Seconds after which it is stopped.")]
Literals = Annotated[bool, typer.Option("--literals", help="Keep facts with literals: numbers and texts.")]
Base = Annotated[str | None, typer.Option(help="The IRI for relative ones in a file, in place of the file's own.")]
MemoryFolder = Annotated[
    Path | None,
    typer.Option(help="Instead: what an agent saw, in a folder that RecordMemory wrote; other graphs stay."),
]


def open_graph(source: str, **how: Any) -> "tuple[KnowledgeGraph, str | None]":
    """Open a graph, as `gumption.kg.graph.open_graph`, and show on the terminal that it is read."""
    from gumption.kg.graph import open_graph as opened

    with working(f"reading {source}"):
        return opened(source, **how)


@contextmanager
def changed_graph(
    place: str, update: str | None = None, wait: float = 5, *, anew: bool = False
) -> "Iterator[KnowledgeGraph]":
    """Yield the graph at a file, folder or address for changes; create it if there is none.

    A file is read first, unless `anew`, and written when the block ends without an error. Meanwhile other processes
    that change it wait: without limit for a file, `wait` seconds for a folder.
    """
    from gumption.data.writing import sole_writer
    from gumption.kg import KnowledgeGraph
    from gumption.kg.graph import is_address
    from gumption.kg.store.stores import undone_if_new

    check_place(place)
    file = Path(place)
    if is_address(place) or file.is_dir() or not file.suffix:
        with undone_if_new(file), KnowledgeGraph(place, update=update, wait=wait) as graph:
            yield graph
        return
    with ExitStack() as stack:
        with working(f"waiting for another process that changes {place}"):
            stack.enter_context(sole_writer(file))
        if update is not None or not file.exists() or anew:
            graph = KnowledgeGraph(update=update)
        else:
            with working(f"reading {place}"):
                graph = KnowledgeGraph.load(file)
        yield graph
        with working(f"writing {place}"):
            graph.save(file)


def read_facts(source: str, only: bool, literals: bool | None = None) -> list[tuple[str, str, str]]:
    """Return the facts of the named graph, else of all `binary_graphs`; with `only` there must be a single such graph.

    :param literals: as in `between_entities`, with a Note about facts left out; None keeps all facts.
    """
    from gumption.kg.facts import LeftOut, between_entities

    graph, name = open_graph(source)
    with graph:
        if name is None and only:
            name = only_graph(graph, source)
        names = [name] if name is not None else binary_graphs(graph)
        facts: set[tuple[str, str, str]] = set()
        numbers = []
        for each in names:
            vocabulary, ids = graph.arrays(each)
            if literals is not None:
                vocabulary, ids, left_out = between_entities(vocabulary, ids, literals)
                numbers.append(left_out)
            facts.update(vocabulary.ids_to_triples(ids))
        LeftOut(*map(sum, zip(*numbers, strict=True))).note(f" of {source}")
        return sorted(facts)


def binary_graphs(graph: "KnowledgeGraph") -> list[str]:
    """Return the graphs that link predictors are trained on, without graphs that describe facts of other graphs."""
    from gumption.kg.facts import fact_graphs

    return [name for name in fact_graphs(graph.graphs()) if not name.endswith(node_endings())]


def node_endings() -> tuple[str, ...]:
    """Return the name endings of graphs with nodes of n-ary facts, as the worlds declare them."""
    from gumption.envs import worlds

    return tuple(ending for world in worlds.known().values() for ending in world.nodes)


def nary_relations() -> "list[NaryRelation]":
    """Return the n-ary relations of the worlds."""
    from gumption.envs import worlds

    return [relation for world in worlds.known().values() for relation in world.get("nary") or ()]


def only_graph(graph: "KnowledgeGraph", source: str) -> str:
    """Return the name of the only graph in `binary_graphs`; raise InputError for none and for several."""
    names = binary_graphs(graph)
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"{source} has no facts")
    raise InputError(f"{source} has several graphs ({', '.join(names)}): name one, as in {source}#{names[0]}")


def new_folder(out: Path) -> None:
    """Raise InputError if the folder exists or cannot be written."""
    from gumption.data.writing import check_writable

    check_writable(out)
    if out.exists():
        raise InputError(f"{out} exists already: choose a new folder for the model")


def check_place(place: str) -> None:
    """Raise InputError for a place or a file format to which graphs cannot be written."""
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


def build_of_memory(world: Any, folder: Path, out: str, update: str | None, wait: float, as_json: bool) -> None:
    """Add the facts of a memory to the graph at `out`, and print the graphs there.

    :raises InputError: no such memory, or a world that makes no facts of memories.
    """
    kind, add_memory = world.get("memory"), world.get("add_memory")
    if kind is None or add_memory is None:
        raise InputError(f"the world {world.name!r} makes no facts of a memory: leave --memory out")
    check_place(out)
    memory = kind.load(folder)
    if memory.warning:
        print(f"warning: {memory.warning}", file=sys.stderr)
    with changed_graph(out, update, wait) as graph:
        counts = add_memory(graph, memory, folder.resolve().name)
    tell_built(out, counts, as_json)


def settings_of_facts(world: Any, setting: list[str] | None) -> dict[str, Any]:
    """Return arguments of the world's `facts` from NAME=VALUE texts; raise InputError for an unknown name."""
    from gumption.kg.vocabulary import unknown_label

    stated = world.get("facts")
    asked = () if stated is None else inspect.signature(stated).parameters
    known = [name for name in asked if name != "partition"]
    given = dict(map(pair, setting or ()))
    for name in given:
        if name not in known:
            raise InputError(f"--setting: {unknown_label('setting', name, known)} (there are: {', '.join(known)})")
    return given


def tell_built(out: str, counts: dict[str, int], as_json: bool) -> None:
    """Print the graphs at `out` and their numbers of facts."""
    if as_json:
        print_json({"out": out, "graphs": counts})
    else:
        print_table(["graph", "facts"], list(counts.items()), f"written to {out}")


def write_built(
    out: str, update: str | None, wait: float, stated: "Mapping[str, Iterable[Triple]]", as_json: bool
) -> None:
    """Write facts, by the names of their graphs, to a new `out`, and print the graphs there."""
    with changed_graph(out, update, wait, anew=True) as graph:
        for name, triples in stated.items():
            graph.add(triples, graph=name)
        counts = graph.graphs()
    tell_built(out, counts, as_json)


# ---- `gumption kg build WORLD`: a graph of a world's facts, or of the facts that a run has inferred.


def general_build(world: Any) -> typer.Typer:
    """Return `gumption kg build WORLD`."""
    app = App(add_completion=False)

    @app.command(help=f"The facts of {world.title}: graph {world.name}/PART.")
    def build(
        *,
        out: Annotated[str, typer.Option(help=PLACE)],
        update: Update = None,
        wait: Wait = 5,
        partition: list[str] | None = None,
        setting: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE")] = None,
        memory: MemoryFolder = None,
        as_json: Json = False,
    ) -> None:
        """
        :param partition: all (the default), train, test or, where there is one, validation; may be repeated.
        :param setting: A setting of the world's facts, such as its levels; repeatable.
        """
        if memory is not None:
            if partition or setting:
                option = "--partition" if partition else "--setting"
                raise InputError(f"{option} is for the facts of the world; --memory takes none of it")
            build_of_memory(world, memory, out, update, wait, as_json)
            return
        parts = list(dict.fromkeys(partition or ["all"]))
        given = settings_of_facts(world, setting)
        stated = {f"{world.name}/{part}": list(world.facts(part, **given)) for part in parts}
        write_built(out, update, wait, stated, as_json)

    return app


build_app = world_group(
    "build",
    "Build a graph from what a world states, or a run has understood of it.",
    general_build,
    epilog="Example: gumption kg build wordcraft --out kg.nq --partition train",
)
