"""The program of a process that answers queries on a graph until it is killed: see limits.py.

It is run as a file and imports nothing of gumption, so that it starts in a few hundredths of a second. Its argument is
the folder of a graph on disk, or an .nq file with the quads of a graph in memory. Requests and answers are frames: a
length (8 bytes, big-endian) and that many bytes.

The process of the graph also calls `address_asked` and the functions for frames.
"""

import gc
import json
import os
import re
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox


def write_frame(stream: IO[bytes], *contents: bytes) -> None:
    for content in contents:
        stream.write(struct.pack(">Q", len(content)) + content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes:
    """Return the content of the next frame; EOFError if there is none."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (length,) = struct.unpack(">Q", head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


def graph_term(name: str) -> Any:
    """Return the term of a graph from its IRI, from "_:ID", or from "" for the default graph."""
    if not name:
        return ox.DefaultGraph()
    return ox.BlankNode(name[2:]) if name.startswith("_:") else ox.NamedNode(name)


_ASKING = re.compile("service", re.IGNORECASE), re.compile("service|load", re.IGNORECASE)  # for a query, for an update
_SPACE = r"(?:\s|#[^\n]*\n)*"
_ADDRESS = re.compile(rf"{_SPACE}(?:silent\b)?{_SPACE}(<[^>]*>|[^\s{{]+){_SPACE}(\{{)?", re.IGNORECASE)


def address_asked(sparql: str, prefixes: Mapping[str, str], update: bool = False) -> str | None:
    """Return the address (or variable) in a SERVICE clause, or in an update also in a LOAD clause; else None.

    The engine's own parser decides: with other letters in place of the word, a string, a name or a comment still
    parses, and a clause does not. A text without a clause may be evaluated here, without facts.

    :raises SyntaxError: a text that never parses.
    """
    words = _ASKING[update]
    if not words.search(sparql):
        return None
    without = words.sub(lambda word: "z" * len(word[0]), sparql)
    store = ox.Store()
    try:
        (store.update if update else store.query)(without, prefixes=dict(prefixes))
    except SyntaxError as error:
        place = re.match(r"error at (\d+):(\d+)", str(error))
        lines = sparql.split("\n")
        stuck = sum(len(line) + 1 for line in lines[: int(place[1]) - 1]) + int(place[2]) - 1 if place else 0
        for clause in words.finditer(sparql):
            # If the engine does not report the place of the error, text in the form of a clause counts as a clause.
            address = _ADDRESS.match(sparql, clause.end())
            here = clause.start() <= stuck and not sparql[clause.end() : stuck].strip()
            if address and (here or address[2] or clause[0].lower() == "load"):
                return address[1]
        raise
    except (OSError, RuntimeError):  # it parses, and fails without facts
        pass
    return None


def memory_size(process: int | str = "self") -> int | None:
    """Return the size in bytes of a process's address space; None if the system does not report it."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return None


def limit_memory(most: int) -> None:
    """Limit the address space of this process to `most` bytes."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def rows_in(table: bytes, format: ox.QueryResultsFormat) -> int:
    """Return the number of rows of the answer to a SELECT: its lines in TSV, without the line of names."""
    rows = ox.parse_query_results(table, format)
    assert isinstance(rows, ox.QuerySolutions)
    return (rows.serialize(format=ox.QueryResultsFormat.TSV) or b"").count(b"\n") - 1


def answer(store: ox.Store, request: dict[str, Any]) -> tuple[str, bytes]:
    """Return the kind of the answer or of the error, and its text."""
    try:
        if not request["service"] and (address := address_asked(request["sparql"], request["prefixes"])):
            return "service", address.encode()
        found = store.query(
            request["sparql"],
            prefixes=request["prefixes"],
            default_graph=request["default"] and list(map(graph_term, request["default"])),
            named_graphs=None if request["named"] is None else list(map(graph_term, request["named"])),
        )
        if isinstance(found, ox.QueryTriples):
            kind, text = "triples", found.serialize(format=ox.RdfFormat.N_TRIPLES) or b""
        else:
            kind, text = "results", found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        if request["rows"] is not None and not isinstance(found, ox.QueryBoolean):
            number = text.count(b"\n") if kind == "triples" else rows_in(text, ox.QueryResultsFormat.JSON)
            if number > request["rows"]:
                return "rows", b""
        return kind, text
    except SyntaxError as error:
        return "syntax", str(error).encode()
    except (OSError, RuntimeError) as error:
        return "failure", str(error).encode()
    except MemoryError:
        return "memory", b""


def main() -> None:
    if Path(sys.argv[1]).is_dir():
        store = ox.Store.read_only(sys.argv[1])
    else:
        store = ox.Store()
        store.bulk_extend(ox.parse(path=sys.argv[1]))  # not bulk_load, which renames blank nodes
    size = memory_size()
    gc.freeze()  # pages without garbage stay shared after a fork
    write_frame(sys.stdout.buffer, b"ready")
    while True:
        try:
            request = json.loads(read_frame(sys.stdin.buffer))
        except EOFError:
            os._exit(0)  # exit at once: a fork must not wait for engine threads, which only the first process has
        if "fork" in request or "wait" in request:
            number = os.fork() if "fork" in request else os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
            if "fork" in request and number == 0:  # in the fork, which has its own requests and answers
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(request["fork"])
                    os.dup2(connection.fileno(), 0)
                    os.dup2(connection.fileno(), 1)
            write_frame(sys.stdout.buffer, str(number).encode())
            continue
        if size is not None:
            limit_memory(size + request["memory"])
        if hasattr(signal, "setitimer") and request["timeout"] is not None:
            # End this process even if its parent, which would kill it, has ended.
            signal.setitimer(signal.ITIMER_REAL, request["timeout"] + 1)
        kind, text = answer(store, request)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        write_frame(sys.stdout.buffer, kind.encode(), text)


if __name__ == "__main__":
    main()
