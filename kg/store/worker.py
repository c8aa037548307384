"""The program of a process that answers queries on a graph until it is killed: see query_process.py.

It is run as a file and imports nothing of gumption, so that it starts in a few hundredths of a second. Its argument is
the folder of a graph on disk; without one it reads the quads of a graph in memory from its input, in frames. A frame
is its length (8 bytes, big-endian) and that many bytes; one of no bytes ends the quads.
"""

import io
import json
import signal
import struct
import sys
from typing import IO, Any

import pyoxigraph as ox


def write_frame(stream: IO[bytes], content: bytes) -> None:
    stream.write(struct.pack(">Q", len(content)) + content)


def read_frame(stream: IO[bytes]) -> bytes:
    """The content of the next frame; EOFError where there is none."""
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    (length,) = struct.unpack(">Q", head)
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


class Frames(io.RawIOBase):
    """The content of the frames of a stream, up to an empty one, as one file."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest and not self._ended:
            self._rest = read_frame(self._stream)
            self._ended = not self._rest
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def answer(store: ox.Store, request: dict[str, Any]) -> tuple[str, bytes]:
    """What kind of answer it is, or of error, and its text."""
    try:
        found = store.query(
            request["sparql"],
            prefixes=request["prefixes"],
            default_graph=request["default"]
            and [ox.NamedNode(iri) if iri else ox.DefaultGraph() for iri in request["default"]],
            named_graphs=None if request["named"] is None else [ox.NamedNode(iri) for iri in request["named"]],
        )
        if isinstance(found, ox.QueryTriples):
            return "triples", found.serialize(format=ox.RdfFormat.N_TRIPLES) or b""
        return "results", found.serialize(format=ox.QueryResultsFormat.JSON) or b""
    except SyntaxError as error:
        return "syntax", str(error).encode()
    except (OSError, RuntimeError) as error:
        return "failure", str(error).encode()


def main() -> None:
    if len(sys.argv) > 1:
        store = ox.Store.read_only(sys.argv[1])
    else:
        store = ox.Store()
        store.bulk_load(io.BufferedReader(Frames(sys.stdin.buffer), 1 << 20), ox.RdfFormat.N_QUADS)
    write_frame(sys.stdout.buffer, b"ready")
    sys.stdout.buffer.flush()
    while True:
        try:
            request = json.loads(read_frame(sys.stdin.buffer))
        except EOFError:
            return
        if hasattr(signal, "setitimer"):
            # Ends this process even when the one that waits for it, and would kill it, is gone.
            signal.setitimer(signal.ITIMER_REAL, request["timeout"] + 1)
        kind, text = answer(store, request)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        write_frame(sys.stdout.buffer, kind.encode())
        write_frame(sys.stdout.buffer, text)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
