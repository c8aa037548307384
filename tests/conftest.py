"""What all tests share: no network, one thread, a SPARQL server, the folder of real data beside gumption."""

import gc
import http.server
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]

os.environ["GUMPTION_OFFLINE"] = "1"
os.environ.setdefault("MPLBACKEND", "Agg")
# Importing PyKEEN's data sets makes a folder; keep it out of the home directory.
os.environ.setdefault("PYSTOW_HOME", str(Path(tempfile.gettempdir()) / "gumption-tests-pystow"))
# Tests share the processor: on small work torch with more threads than its share is slower by an order of magnitude.
os.environ["OMP_NUM_THREADS"] = "1"
# Time limits of examples fail on a busy machine.
settings.register_profile("gumption", deadline=None)
settings.load_profile("gumption")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """The tests and what they import stay to the end: the garbage collector need not look through them, which takes a
    third of the time of collecting the tests, and half a second again and again while they run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of alchemy2.json and other real sets: GUMPTION_SHARED_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("GUMPTION_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set GUMPTION_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session")
def small_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe file with a few recipes, on words that have vectors."""
    return Path(shutil.copy(Path(__file__).with_name("small_book.tsv"), tmp_path_factory.mktemp("book") / "book.tsv"))


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Gives a port of the loopback interface where nobody listens."""

    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]

    return find


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts an HTTP server of a handler's class, with keyword arguments of it, and gives its address. It logs nothing
    and ends with the test."""
    with ExitStack() as running:

        def start(handler: type[http.server.BaseHTTPRequestHandler], **arguments: Any) -> str:
            quiet = type("Quiet", (handler,), {"log_message": lambda *_: None})
            address = ("127.0.0.1", 0)
            server = running.enter_context(http.server.ThreadingHTTPServer(address, partial(quiet, **arguments)))
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            running.callback(thread.join)
            running.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield start


@contextmanager
def running_server(folder: Path, address: str, *options: str) -> Iterator[str]:
    """Address of a running Oxigraph server, from the package `oxigraph` of the dev extra."""
    binary = shutil.which("oxigraph", path=str(Path(sys.executable).parent)) or shutil.which("oxigraph")
    assert binary, "the tests of the remote graph need the package oxigraph (pip install gumption[dev])"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([binary, "serve", *options, "--bind", address], stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://{address}/", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, "the SPARQL server did not start in a minute"
                time.sleep(0.05)
        yield f"http://{address}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def server(free_port: Callable[[], int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a SPARQL server with its store on disk."""
    folder = tmp_path_factory.mktemp("oxigraph")
    with running_server(folder, f"127.0.0.1:{free_port()}", "--location", str(folder / "db")) as address:
        yield address


@pytest.fixture(scope="session")
def memory_server(free_port: Callable[[], int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a SPARQL server with its store in memory."""
    with running_server(tmp_path_factory.mktemp("oxigraph"), f"127.0.0.1:{free_port()}") as address:
        yield address


@pytest.fixture
def endpoint(server: str) -> str:
    """The server, emptied."""
    request = urllib.request.Request(f"{server}/update", b"DROP ALL", {"Content-Type": "application/sparql-update"})
    urllib.request.urlopen(request, timeout=30).close()
    return server
