"""Measure Gradual in `gumption bench`: a single stream, many streams in arrays, in CPU time, and remote agents."""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from statistics import fmean
from time import perf_counter, process_time

import numpy as np

from gumption.data.errors import extra
from gumption.data.settings import Count, settings
from gumption.scripts.freshness import end_with_parent
from gumption.scripts.measurement import BenchSettings, Case, Measurement, cart_pole, compared, in_turn, rate

POLE = "one CartPole-v1 on one core, random actions"
ONE, MANY = 3.7, 67  # target ratios to the yardstick's rate
SECONDS = 0.5
CORES = 2
#: Ordered from a verdict at each byte to very few verdicts.
TASKS = ("micro1", "micro5.1", "micro5.18", "micro7.2", "micro20", "mini1")
MIX = "all 46 tasks"
STEPS = 20_000  # of each timing of agents in other programs
REMOTE = 2  # target ratio to the yardstick's rate over ZeroMQ

# Minimal agents that echo each byte.
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


@settings
class Settings(BenchSettings):
    """:ivar streams: of the batch."""

    streams: Count = 4096


def gradual_case(settings: Settings) -> Iterator[Measurement]:
    """Measure a silent agent in a single stream, a table agent in many streams, and agents in separate processes."""
    pole = cart_pole(process_time)
    for name in TASKS:
        settings.tell(f"one stream of {name}")
        play = one_stream(name)
        play(SECONDS)  # warm up imports, caches and memory
        ours, theirs = in_turn(settings.repeats, partial(play, SECONDS), partial(pole, SECONDS))
        yield compared(f"Gradual, one stream of {name}, silent agent", "steps/s", ours, POLE, theirs, ONE)
    with ProcessPoolExecutor(CORES, get_context("spawn"), end_with_parent) as processes:
        for name in (*TASKS, MIX):
            settings.tell(f"{settings.streams:,} streams of {name}")
            parts = map(np.ndarray.tolist, np.array_split(np.arange(settings.streams), CORES))
            played = list(processes.map(partial(rates_of_many, name, repeats=settings.repeats), parts))
            ours = [sum(rates) for rates in zip(*(ours for ours, _ in played), strict=True)]
            theirs = [fmean(rates) for rates in zip(*(theirs for _, theirs in played), strict=True)]
            what = f"Gradual, batch of {settings.streams:,} streams of {name} in halves on {CORES} cores, table agent"
            yield compared(what, "steps/s", ours, POLE, theirs, MANY)
    yield from remote_measurements(settings)


CASES = {"gradual": Case(gradual_case, Settings, "Gradual", code=("envs/gradual", "scripts/papers/gradual/bench.py"))}


def one_stream(name: str) -> Callable[[float], float]:
    """Return a function that measures the `rate` in CPU time of a silent agent in a `Session` of a task."""
    from gumption.envs.gradual import Session, of_names
    from gumption.scripts.papers.gradual.validation import silent

    tasks = of_names([name]).tasks

    def session() -> int:
        return Session(tasks, silent, success_threshold=10**9, max_steps=50_000).run().steps

    return rate(session, process_time)


def rates_of_many(name: str, seeds: Sequence[int], repeats: int) -> list[list[float]]:
    """Measure steps per second of CPU time of a table agent in streams with these seeds, and of the yardstick.

    :param name: of a task, or `MIX` for streams of all tasks.
    """
    from gumption.envs.gradual import all_tasks
    from gumption.envs.gradual.batch import Batch
    from gumption.envs.gradual.engine import Life

    tasks = list(all_tasks().values()) if name == MIX else [all_tasks()[name]]
    batch = Batch(len(seeds))
    batch.begin(range(len(seeds)), [Life([tasks[seed % len(tasks)]], 10**9, seed) for seed in seeds])
    replies = np.full((len(seeds), 256), ord(" "), dtype=np.uint8)
    each = np.arange(len(seeds))

    def steps() -> int:
        for _ in range(20):
            heard = batch.byte
            batch.step(replies[each, heard])
            wrong = np.flatnonzero(batch.reward < 0)
            replies[wrong, heard[wrong]] += 1
        return 20 * len(seeds)

    play, pole = rate(steps, process_time), cart_pole(process_time)
    play(SECONDS)
    return in_turn(repeats, partial(play, SECONDS), partial(pole, SECONDS))


def remote_measurements(settings: BenchSettings, steps: int = STEPS) -> Iterator[Measurement]:
    """Compare the environment with an agent in a separate process to a loop of the same messages."""
    for transport, yardstick, ping in (
        ("zeromq", "two messages there and one back, libzmq", _zeromq_ping),
        ("tcp", "two bytes there and one back, bare sockets", _tcp_ping),
        ("pipe", "two bytes there and one back, bare sockets", _pipe_ping),
    ):
        settings.tell(f"agents over {transport}")
        ping(steps // 10)  # warm up imports
        ours, theirs = in_turn(settings.repeats, partial(_steps, transport, steps, settings), partial(ping, steps))
        limit = REMOTE if transport == "zeromq" else None
        what = f"Gradual, an agent in a process of its own over {transport}"
        yield compared(what, "steps/s", ours, yardstick, theirs, limit)


def _steps(transport: str, steps: int, settings: BenchSettings) -> float:
    """Measure steps per second of a run, from the first to the last step."""
    from gumption.envs.gradual.remote import Host, RemoteSettings, play

    command = shlex.join([sys.executable, "-c", _AGENTS[transport]])
    made = {"tasks": ("micro5.18",), "max_steps": steps, "port": 0, "transport": transport, "command": command}
    chosen = RemoteSettings(**made)
    with Host(chosen) as host, host.agent(settings.tell) as wire:
        started = perf_counter()
        result = play(chosen, wire, lambda _: None)
        return result.steps / (perf_counter() - started)


@contextmanager
def _agent(transport: str, *arguments: str, both: socket.socket | None = None) -> Iterator[None]:
    """Run an agent; `both` is its standard input and output."""
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
