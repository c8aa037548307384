"""`gumption kg serve`: a graph as a read-only SPARQL 1.1 endpoint, by the server of the web home."""

import warnings

from gumption.data.errors import InputError, Note
from gumption.data.listening import Port, is_loopback, listen, shown_address
from gumption.data.settings import Count, Megabytes, Seconds
from gumption.scripts.apps import App
from gumption.scripts.kg.sources import Source

app = App()


@app.command(epilog="Example: gumption kg serve runs/kg --port 7878")
def serve(
    source: Source, *, host: str = "127.0.0.1", port: Port = 7878,
    timeout: Seconds = 30, memory_limit: Megabytes = 2_048, max_rows: Count = 100_000,
) -> None:  # fmt: skip
    """Answer SPARQL queries on a graph over HTTP, at /query, with a page to type one in at /. Nobody can change it.

    A query sees the union of all graphs, and each of them with GRAPH. A file or folder is served as it is now: start
    again to serve what was added. Queries are answered side by side, and one whose client has gone is ended.

    :param host: The address to listen at; 127.0.0.1 is for this machine only.
    :param port: 0 for any that is free.
    :param timeout: Seconds that a query may take.
    :param memory_limit: Megabytes that a query may take; all together may take twice as many.
    :param max_rows: Rows, or facts, that an answer may have.
    """
    from gumption.kg.graph import open_graph, split_source
    from gumption.kg.store.limits import Limits

    from .commands import server_of
    from .sparql import sparql_app

    limits = Limits(timeout, memory_limit, max_rows=max_rows)
    place, name = split_source(source)
    if name is not None:
        raise InputError(f"a server shows all graphs: leave out #{name}, and ask for GRAPH or FROM in a query")
    listening = listen(host, port, "--host")
    with listening, open_graph(place, timeout=timeout)[0] as graph:
        if not is_loopback(host):
            warnings.warn(f"everybody who reaches {host} can ask this graph: there is no password", Note, stacklevel=1)
        server = server_of(sparql_app(graph, limits, host))
        address = f"http://{shown_address(listening)}"
        print(f"{place} is served at {address}/query, a page at {address}/; Ctrl-C ends it", flush=True)
        server.run(sockets=[listening])
