"""Steps a second with agents in other programs, beside the same messages with nothing behind them."""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter

from gumption.data.extras import extra
from gumption.envs.gradual.remote import Host, RemoteSettings, play
from gumption.scripts.measurement import BenchSettings, Measurement

STEPS = 20_000  # of each timing
TARGET = 15_000  # steps/s over ZeroMQ

# The least that an agent has to do, and it says back what it hears.
_AGENTS = {
    "zeromq": """
import sys, zmq
pair = zmq.Context().socket(zmq.PAIR)
pair.connect("tcp://127.0.0.1:" + sys.argv[1])
pair.send(b"hello")
while True:
    pair.recv()
    pair.send(pair.recv())
""",
    "tcp": """
import socket, sys
both = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
both.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while pair := both.recv(2):
    both.send(pair[1:])
""",
    "pipe": """
import os
while pair := os.read(0, 2):
    os.write(1, pair[1:])
""",
}


def remote_measurements(settings: BenchSettings, steps: int = STEPS) -> Iterator[Measurement]:
    """The environment with an agent of a few lines in a process of its own, over loopback; the yardstick is the same
    agent, and in the environment's place a loop that sends two messages and waits for one.

    :raises InputError: the extra `remote` is not installed.
    """
    for transport, yardstick, ping in (
        ("zeromq", "two messages there and one back, libzmq", _zeromq_ping),
        ("tcp", "two bytes there and one back, bare sockets", _tcp_ping),
        ("pipe", "two bytes there and one back, bare sockets", _pipe_ping),
    ):
        settings.tell(f"agents over {transport}")
        ping(steps // 10)  # pays for imports
        rates = [(_steps(transport, steps, settings), ping(steps)) for _ in range(settings.repeats)]  # in turn
        ours, theirs = (list(each) for each in zip(*rates, strict=True))
        rate, bare = median(ours), median(theirs)
        target = f"{TARGET:,} steps/s" if transport == "zeromq" else ""
        yield Measurement(
            f"Gradual, an agent in a process of its own over {transport}",
            "steps/s",
            rate,
            max(ours),
            yardstick,
            bare,
            rate / bare,
            target,
            rate >= TARGET if target else None,
        )


def _steps(transport: str, steps: int, settings: BenchSettings) -> float:
    """Steps a second of a run, from the first to the last."""
    command = shlex.join([sys.executable, "-c", _AGENTS[transport]])
    made = {"tasks": ("micro5.18",), "max_steps": steps, "port": 0, "transport": transport, "command": command}
    chosen = RemoteSettings(**made)
    with Host(chosen) as host, host.agent(settings.tell) as wire:
        started = perf_counter()
        result = play(chosen, wire, lambda _: None)
        return result.steps / (perf_counter() - started)


@contextmanager
def _agent(transport: str, *arguments: str, both: socket.socket | None = None) -> Iterator[None]:
    """An agent; `both` is its standard input and output."""
    command = [sys.executable, "-c", _AGENTS[transport], *arguments]
    stream = None if both is None else both.fileno()
    process = subprocess.Popen(command, stdin=stream, stdout=stream)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _zeromq_ping(steps: int) -> float:
    with extra("remote", "measuring agents over ZeroMQ"):
        import zmq

    context = zmq.Context()
    pair = context.socket(zmq.PAIR)
    try:
        with _agent("zeromq", str(pair.bind_to_random_port("tcp://127.0.0.1"))):
            pair.recv()
            started = perf_counter()
            for _ in range(steps):
                pair.send(b"0")
                pair.send(b"a")
                pair.recv()
            return steps / (perf_counter() - started)
    finally:
        context.destroy(linger=0)


def _tcp_ping(steps: int) -> float:
    with socket.create_server(("127.0.0.1", 0)) as listening, _agent("tcp", str(listening.getsockname()[1])):
        connection, _ = listening.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return _socket_ping(connection, steps)


def _pipe_ping(steps: int) -> float:
    ours, theirs = socket.socketpair()
    with ours, theirs, _agent("pipe", both=theirs):
        return _socket_ping(ours, steps)


def _socket_ping(connection: socket.socket, steps: int) -> float:
    connection.sendall(b"\0a")  # waits for the agent's start
    connection.recv(64)
    started = perf_counter()
    for _ in range(steps):
        connection.sendall(b"\0a")
        connection.recv(64)
    return steps / (perf_counter() - started)
