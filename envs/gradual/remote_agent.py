"""The agent's side, in an agent's own program: `connect(agent)` plays with the environment that waits there.

def copy(reward: int, byte: int) -> int:
    return byte

connect(copy, port=5556)  # the environment: gumption serve gradual
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from functools import partial
from typing import Any, Literal

from gumption.data import InputError
from gumption.data.extras import extra
from gumption.data.settings import checked
from gumption.data.wording import shown

from .session import Agent
from .zeromq import HELLO

_TICK = 200  # milliseconds between looks whether the environment is still there
_REWARDS = {b"0": 0, b"1": 1, b"-1": -1, b"False": 0, b"True": 1}
_BYTES = {byte: bytes([byte]) for byte in range(256)}
_CHARACTERS = {byte: chr(byte).encode() for byte in range(256)}


@checked
def connect(
    agent: Agent,
    port: int = 5556,
    address: str = "127.0.0.1",
    transport: Literal["zeromq", "tcp", "pipe"] = "zeromq",
) -> int:
    """Play to the end of the run; the sum of the rewards.

    :param agent: gets the reward, then the byte; gives a byte.
    :param port, address: of the environment. :param transport: as the environment's; "pipe" is for a program that
        `gumption serve gradual --transport pipe --command ...` starts.
    :raises InputError: nobody waits there, or the extra `remote` is not installed, which "zeromq" needs.
    """  # fmt: skip
    if transport == "zeromq":
        return _zeromq(agent, f"tcp://{address}:{port}")
    if transport == "pipe":
        with redirect_stdout(sys.stderr):  # what the agent prints is none of its bytes
            return _framed(agent, partial(os.read, 0), partial(os.write, 1))
    try:
        connection = socket.create_connection((address, port))
    except OSError as error:
        raise InputError(f"no environment waits at {address}, port {port}: {error}") from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        return _framed(agent, connection.recv, connection.sendall)


def _framed(agent: Agent, read: Callable[[int], bytes], write: Callable[[bytes], Any]) -> int:
    total = 0
    with suppress(ConnectionError):  # the environment ended the run before it took the last answer
        while received := read(2):
            received += read(1) if len(received) == 1 else b""
            reward = int.from_bytes(received[:1], signed=True)
            total += reward
            if len(received) == 1:
                break
            write(_said(agent(reward, received[1]), _BYTES))
    return total


def _zeromq(agent: Agent, endpoint: str) -> int:
    with extra("remote", "an agent over ZeroMQ"):
        import zmq
    context = zmq.Context()
    try:
        pair = context.socket(zmq.PAIR)
        monitor = pair.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        pair.rcvtimeo = _TICK
        pair.connect(endpoint)
        pair.send(HELLO)
        messages, total = _messages(pair, monitor), 0
        for text in messages:
            reward = _REWARDS[text]
            total += reward
            byte = next(messages, b"").decode()
            if not byte:
                break
            pair.send(_said(agent(reward, ord(byte)), _CHARACTERS))
        return total
    finally:
        context.destroy(linger=0)


def _messages(pair: Any, monitor: Any) -> Iterator[bytes]:
    """What comes, until the environment has closed its end."""
    import zmq

    gone = False
    while True:
        try:
            yield pair.recv()
        except zmq.Again:
            if gone:  # and all that it sent before is read
                return
            gone = bool(monitor.poll(0))


def _said(said: Any, messages: dict[int, bytes]) -> bytes:
    """What travels for a byte that the agent said."""
    if said not in messages:
        raise InputError(f"the agent said {shown(said)}: it has to be a byte, a whole number from 0 to 255")
    return messages[said]
