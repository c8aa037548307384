"""Limits of a query, and a process that is killed when a query exceeds them: Oxigraph cannot stop a query."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from gumption.data import InputError
from gumption.data.settings import Count, Megabytes, Seconds, settings
from gumption.kg.vocabulary import PREFIXES

from . import worker
from .worker import address_asked

if TYPE_CHECKING:
    from .answers import Answer

MEMORY_LIMIT = 2_048  # megabytes, the default for queries with another limit


@settings
class Limits:
    """Limits of a user's query.

    :ivar timeout: seconds, None for no limit.
    :ivar memory_limit: megabytes, None for no limit, or for MEMORY_LIMIT where another limit is given.
    :ivar allow_service: whether SERVICE may ask other servers.
    :ivar max_rows: rows or facts of an answer, None for as many as there are.
    :ivar process: answers it, None for the graph's own.
    :raises InputError: a limit that is not more than 0.
    """

    timeout: Seconds | None = None
    memory_limit: Megabytes | None = None
    allow_service: bool = False
    max_rows: Count | None = None
    process: "QueryProcess | None" = None

    @property
    def given(self) -> bool:
        """Whether a limit requires the process."""
        return any(limit is not None for limit in (self.timeout, self.memory_limit, self.max_rows))

    @property
    def memory_bytes(self) -> int:
        """The memory limit in bytes."""
        return int((self.memory_limit or MEMORY_LIMIT) * 1_000_000)

    def otherwise(self, general: "Limits") -> "Limits":
        """Return these limits with the general limits in place of None."""
        names = ("timeout", "memory_limit", "max_rows")
        return replace(self, **{name: getattr(general, name) for name in names if getattr(self, name) is None})


def refuse_addresses(sparql: str, prefixes: Mapping[str, str], update: bool = False) -> None:
    """Raise InputError for a query or update that contacts another server; SyntaxError if it does not parse."""
    if address := address_asked(sparql, prefixes, update):
        raise InputError(refused_service(address))


def refused_service(address: str) -> str:
    return (
        f"that asks another server, {address}: where a query may use SERVICE, allow it with query(..., "
        "allow_service=True), on the command line with --allow-service"
    )


def too_much(limits: Limits) -> str:
    return (
        f"the query took more than {limits.memory_bytes / 1e6:,.0f} MB of memory and was stopped: ask for less, or "
        "allow more (memory_limit, on the command line --memory-limit)"
    )


def too_many(limits: Limits) -> str:
    return f"the answer has more than {limits.max_rows:,} rows: ask for less with LIMIT, and for the others with OFFSET"


class QueryProcess:
    """A process with a graph on disk (in its state when the process starts) or a copy of a graph in memory.

    It starts in about 0.1 s, and copies a graph in memory in about 3 s for a million quads; neither counts as query
    time. A fork takes a few milliseconds and shares the memory of the graph; its parent answers no query.
    """

    def __init__(self, source: Path | ox.Store | Any) -> None:
        """:param source: a folder, a graph, or an object like the Popen of a running worker."""
        self._lock = threading.Lock()
        with NamedTemporaryFile(suffix=".nq") as copy:
            if isinstance(source, ox.Store):
                source.dump(copy, ox.RdfFormat.N_QUADS)
                copy.flush()
            # -P: modules in the program's folder must not hide others of the same name.
            command = [sys.executable, "-P", worker.__file__, copy.name if isinstance(source, ox.Store) else source]
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            begin = isinstance(source, (Path, ox.Store))
            self._process: Any = subprocess.Popen(command, **pipes) if begin else source
            self.pid, self._requests, self._answers = self._process.pid, self._process.stdin, self._process.stdout
            try:
                worker.read_frame(self._answers)
            except EOFError:
                self.kill()
                raise InputError(
                    "the process that answers queries within a time-out could not read the graph (is there memory for "
                    "it?)"
                ) from None

    def query(
        self, sparql: str, default: Sequence[str] | None, named: Sequence[str] | None, limits: Limits
    ) -> "Answer":
        """Answer a query.

        Memory is limited on systems where a process can limit and measure its address space (Linux).

        :raises SyntaxError: a query that does not parse.
        :raises RuntimeError: a query that cannot be evaluated.
        :raises InputError: a query that exceeds the limits. After too long a time or too much memory the process has
            ended.
        """
        request = {
            "sparql": sparql,
            "default": default,
            "named": named,
            "timeout": limits.timeout,
            "memory": limits.memory_bytes,
            "service": limits.allow_service,
            "rows": limits.max_rows,
            "prefixes": PREFIXES,
        }
        began = time.monotonic()
        timer = threading.Timer(limits.timeout or 0, self.stop)
        if limits.timeout is not None:
            timer.start()
        try:
            worker.write_frame(self._requests, json.dumps(request).encode())
            kind, text = worker.read_frame(self._answers).decode(), worker.read_frame(self._answers)
        except (OSError, EOFError):
            self.kill()
            if limits.timeout is not None and time.monotonic() - began >= limits.timeout:
                raise InputError(
                    f"the query took longer than {limits.timeout:g} seconds and was stopped: ask for less, or allow "
                    "more time"
                ) from None
            # A program in Rust aborts if it gets no memory.
            if self._process.returncode == -signal.SIGABRT:
                raise InputError(too_much(limits)) from None
            raise InputError("the process that was answering the query has ended (is there memory for it?)") from None
        finally:
            timer.cancel()
        if kind == "syntax":
            raise SyntaxError(text.decode())
        if kind == "service":
            raise InputError(refused_service(text.decode()))
        if kind == "rows":
            raise InputError(too_many(limits))
        if kind == "memory":
            self.kill()
            raise InputError(too_much(limits))
        if kind == "failure":
            raise RuntimeError(text.decode())
        if kind == "triples":
            return ox.parse(text, ox.RdfFormat.N_TRIPLES)
        return ox.parse_query_results(text, ox.QueryResultsFormat.JSON)

    def ask(self, **request: str | int) -> int:
        """Fork the process, or wait for a fork. Return the fork's id or exit code. Only this method is thread-safe."""
        with self._lock:
            worker.write_frame(self._requests, json.dumps(request).encode())
            return int(worker.read_frame(self._answers))

    def is_alive(self) -> bool:
        """Return whether the process can answer another query."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the query that another thread waits for."""
        self._process.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(BrokenPipeError):  # the buffer may hold unsent text
                pipe.close()


def parse_problem(sparql: str) -> str | None:
    """Return why a query does not parse; None if it parses. It is run without facts: the engine cannot just parse.

    :raises InputError: a query that parses, and takes more than 5 seconds or contacts another server.
    """
    process = QueryProcess(ox.Store())
    try:
        process.query(sparql, None, None, Limits(timeout=5))
    except SyntaxError as error:
        return str(error)
    except RuntimeError:  # it parses, and fails without facts
        pass
    finally:
        process.kill()
    return None
