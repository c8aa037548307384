"""Some facts, and the three homes of a graph, the third a real SPARQL server on the loopback interface."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gumption.kg import KnowledgeGraph

STEAM = [
    ("fire", "combinesWith", "water"),
    ("fire", "componentOf", "steam"),
    ("water", "combinesWith", "fire"),
    ("water", "componentOf", "steam"),
]
RAIN = [("cloud", "componentOf", "acid rain"), ("smog", "componentOf", "acid rain")]


@pytest.fixture
def silent_address(free_port: Callable[[], int]) -> str:
    """An address where nobody listens."""
    return f"http://127.0.0.1:{free_port()}/query"


RDFLIB_SERVER = """
import sys, uvicorn
from rdflib import Dataset
from rdflib_endpoint import SparqlEndpoint
app = SparqlEndpoint(graph=Dataset(default_union=True), enable_update=True)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


@pytest.fixture(scope="module")
def rdflib_server(free_port: Callable[[], int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running SPARQL server of another make, rdflib's, for queries and updates."""
    port = free_port()
    log_file = tmp_path_factory.mktemp("rdflib") / "log"
    with log_file.open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", RDFLIB_SERVER, str(port)], stderr=log, stdout=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, log_file.read_text()
                assert time.monotonic() < deadline, "rdflib's SPARQL server did not start in a minute"
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["memory", "disk", "endpoint"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], KnowledgeGraph]]:
    """Opens the graph of this test, an empty one at first; memory gives a new one each time."""
    opened: list[KnowledgeGraph] = []

    def open_graph() -> KnowledgeGraph:
        if request.param == "memory":
            graph = KnowledgeGraph()
        elif request.param == "disk":
            graph = KnowledgeGraph(tmp_path / "graph")
        else:
            graph = KnowledgeGraph(f"{address}/query", update=f"{address}/update")
        opened.append(graph)
        return graph

    address = request.getfixturevalue("endpoint") if request.param == "endpoint" else ""
    yield open_graph
    for graph in opened:
        graph.close()


@pytest.fixture
def graph(home: Callable[[], KnowledgeGraph]) -> KnowledgeGraph:
    return home()
