"""An agent at the other end of a socket: two bytes to it, one byte back, and what goes wrong there.

The environment sends the reward as a signed byte, -1, 0 or 1, and then its own byte; the agent sends its byte. This
framing serves plain TCP and the standard input and output of a child process; zeromq.py has the challenge's own.
"""

import os
import socket
from contextlib import suppress
from subprocess import Popen, TimeoutExpired
from typing import Any

from gumption.data import InputError
from gumption.data.wording import shown

_MOST = 64  # bytes that are read at once; a reply is shorter
_LOOKS = 60  # at the socket before this process sleeps: on an idle machine waking up takes longer than the agent does
_LONGEST = 2_000_000.0  # seconds, 23 days, that a socket can wait
_DYING = 1.0  # seconds between the end of a child's output and its own


class Wire:
    """The environment's end.

    :ivar messages: reward -> byte -> what travels; a reward that is a bool stands for a word, see `words`.
    :ivar replies: what comes back -> the agent's byte.
    """

    messages: tuple[tuple[bytes, ...], ...] = tuple(
        tuple(bytes([reward & 255, byte]) for byte in range(256)) for reward in (0, 1, -1)
    )
    words = messages
    replies: dict[bytes, int] = {bytes([byte]): byte for byte in range(256)}  # noqa: RUF012

    def __init__(self, connection: socket.socket, timeout: float, process: "Popen[bytes] | None" = None) -> None:
        """
        :param timeout: seconds that a reply may take. :param process: the agent's, where we started it.
        """  # fmt: skip
        connection.settimeout(0)
        self.connection, self.timeout, self.process = connection, min(timeout, _LONGEST), process

    def ask(self, reward: int, byte: int) -> int:
        """Send the reward and the byte; the agent's byte.

        :raises InputError: the agent has gone, takes too long, or sends something else.
        """
        send = (self.words if type(reward) is bool else self.messages)[reward][byte]
        try:
            self.connection.sendall(send)
            received = self._received()
        except TimeoutError:
            raise InputError(f"the agent gave no answer within {self.timeout:g} s") from None
        except OSError:
            received = b""
        if not received:
            raise InputError(gone(self.process))
        said = self.replies.get(received)
        return self.unusual(received) if said is None else said

    def _received(self) -> bytes:
        """What comes, b"" at the end of the connection; TimeoutError where nothing does."""
        receive = self.connection.recv
        for _ in range(_LOOKS):
            try:
                return receive(_MOST)
            except BlockingIOError:
                os.sched_yield()
        self.connection.settimeout(self.timeout)
        try:
            return receive(_MOST)
        finally:
            self.connection.settimeout(0)

    def unusual(self, received: bytes) -> int:
        """The agent's byte, where the bytes that have come are no whole reply, or not only a reply.

        :raises InputError: as `ask`.
        """
        raise InputError(f"the agent answered a byte with {len(received)} bytes, {shown(received)}; it has to be one")

    def end(self, reward: int) -> None:
        """Tell the agent that the run is over: the last reward, and no byte."""
        self.notify(bytes([reward & 255]))

    def notify(self, message: bytes) -> None:
        """Send what needs no answer; an agent that has gone does not get it."""
        with suppress(OSError):
            self.connection.sendall(message)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: Any) -> None:
        self.connection.close()


def gone(process: "Popen[bytes] | None") -> str:
    """What is said of an agent whose end of the connection is closed."""
    with suppress(TimeoutExpired):
        if process is not None and (code := process.wait(_DYING)) is not None:
            return f"the agent ended {f'by signal {-code}' if code < 0 else f'with exit code {code}'}"
    return "the agent disconnected"
