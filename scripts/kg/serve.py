"""`gumption kg serve`: a graph as a SPARQL 1.1 endpoint that other programs can ask, and not change."""

from typing import Annotated

import typer
from annotated_types import Ge, Le

from gumption.data.settings import Count, Megabytes, Seconds
from gumption.scripts.apps import App

from .sources import Source

app = App()

_QUEUE = 64  # connections that are open at once; more are told to come again


@app.command(epilog="Example: gumption kg serve runs/kg --port 7878")
def serve(
    source: Source,
    host: Annotated[str, typer.Option(help="The address to listen at; 127.0.0.1 is for this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[Annotated[int, Ge(0), Le(65_535)], typer.Option(help="0 for any that is free.")] = 7878,
    timeout: Annotated[Seconds, typer.Option(help="Seconds that a query may take.")] = 30,
    memory_limit: Annotated[Megabytes, typer.Option(help="Megabytes that a query may take.")] = 2_048,
    max_rows: Annotated[Count, typer.Option(help="Rows, or facts, that an answer may have.")] = 100_000,
) -> None:
    """Answer SPARQL queries on a graph over HTTP, at /query, with a page to type one in at /. Nobody can change it.

    A query sees the union of all graphs, and each of them with GRAPH. A file or folder is served as it is now: start
    again to serve what was added. Queries are answered one at a time.
    """
    import warnings

    from gumption.data import InputError, Note
    from gumption.data.extras import extra
    from gumption.data.listening import is_loopback, listen, shown_address
    from gumption.kg.graph import open_graph, split_source
    from gumption.kg.store.limits import Limits
    from gumption.kg.store.serving import sparql_app

    with extra("serve", "a SPARQL server"):
        import uvicorn

    limits = Limits(timeout, memory_limit, max_rows=max_rows)
    place, name = split_source(source)
    if name is not None:
        raise InputError(f"a server shows all graphs: leave out #{name}, and ask for GRAPH or FROM in a query")
    listening = listen(host, port, "--host")
    with listening, open_graph(place, timeout=timeout)[0] as graph:
        if not is_loopback(host):
            warnings.warn(f"everybody who reaches {host} can ask this graph: there is no password", Note, stacklevel=1)
        address = f"http://{shown_address(listening)}"
        print(f"{place} is served at {address}/query, a page at {address}/; Ctrl-C ends it", flush=True)
        config = uvicorn.Config(
            sparql_app(graph, limits, host),
            lifespan="off",
            log_level="warning",
            limit_concurrency=_QUEUE,
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        uvicorn.Server(config).run(sockets=[listening])
