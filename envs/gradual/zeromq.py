"""Agents that were written for the challenge: a ZeroMQ PAIR socket, the agent's first message is `hello`.

Two messages go to the agent, the reward as decimal text and the byte as a character in UTF-8, and one comes back, a
character. This end speaks ZeroMQ's transport itself (ZMTP 3.0 and 2.0, https://rfc.zeromq.org/spec/23), and not through
libzmq, for two reasons. Both messages leave in one packet, which makes a step about 1.7 times as fast. And libzmq's
PAIR swallows the hello of a second agent, which then waits forever; here nobody else is answered while an agent plays.
"""

import socket
from subprocess import Popen
from time import monotonic
from typing import NamedTuple

from gumption.data import InputError
from gumption.data.wording import shown

from .wire import Wire, gone

HELLO = b"hello"
HELLO_SECONDS = 5.0  # that an agent has to say so once it is connected
_LONGEST = 65_536  # bytes of a message that are read at all
_MORE, _LONG, _COMMAND = 1, 2, 4  # flags of a frame

_SIGNATURE = b"\xff" + bytes(7) + b"\x01\x7f"
_GREETING_3 = b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)  # version, mechanism, as-server and filler
_GREETING_2 = b"\x01\x00" + b"\x00\x00"  # revision, PAIR, an empty identity
_READY = b"\x05READY" + b"\x0bSocket-Type" + (4).to_bytes(4, "big") + b"PAIR"


class Silent(InputError):
    """Somebody connected and left, or said nothing."""


def frame(content: bytes, flags: int = 0) -> bytes:
    """A short message as it travels."""
    return bytes([flags, len(content)]) + content


class ZeroMQWire(Wire):
    """The environment's end of a PAIR connection."""

    messages = tuple(
        tuple(frame(text) + frame(chr(byte).encode()) for byte in range(256)) for text in (b"0", b"1", b"-1")
    )
    words = tuple(tuple(frame(text) + frame(chr(byte).encode()) for byte in range(256)) for text in (b"False", b"True"))
    replies = {frame(chr(byte).encode()): byte for byte in range(256)}  # noqa: RUF012

    def unusual(self, received: bytes) -> int:
        """As `Wire.unusual`: reads on where a message came in pieces."""
        reader = FrameReader(self.connection, self.timeout, received)
        try:
            message = reader.only_message()
            self.connection.settimeout(0)
        except TimeoutError:
            raise InputError(f"the agent gave no whole answer within {self.timeout:g} s") from None
        except (OSError, EOFError):
            raise InputError(gone(self.process)) from None
        try:
            text = message.decode()
        except UnicodeDecodeError:
            raise InputError(f"the agent answered {shown(message)}, which is not UTF-8") from None
        if len(text) != 1 or ord(text) > 255:
            raise InputError(f"the agent answered {shown(text)}; it has to be one character with a code below 256")
        return ord(text)

    def end(self, reward: int) -> None:
        """As `Wire.end`: the last reward, and an empty message."""
        self.notify(frame(str(reward).encode()) + frame(b""))


def shake_hands(connection: socket.socket, timeout: float, process: "Popen[bytes] | None" = None) -> ZeroMQWire:
    """The wire to an agent that has connected, once it has said hello.

    :raises Silent: it left, or said nothing. :raises InputError: it speaks something else, or says something else.
    """
    try:
        reader = FrameReader(connection, HELLO_SECONDS)
        _greet(reader)
        message = reader.only_message()
    except TimeoutError:
        raise Silent(f"an agent connected and said no hello within {HELLO_SECONDS:g} s") from None
    except (OSError, EOFError):
        raise Silent("an agent connected and left before it said hello") from None
    if message != HELLO:
        told = shown(message.decode(errors="replace"))
        raise InputError(f"the agent began with {told}; the first message that it sends is 'hello'")
    return ZeroMQWire(connection, timeout, process)


def _greet(reader: "FrameReader") -> None:
    """Exchange greetings, up to the first message."""
    reader.connection.sendall(_SIGNATURE)
    theirs = reader.exactly(10)
    if theirs[0] != 0xFF or not theirs[9] & 1:
        raise InputError(f"what connected speaks no ZeroMQ of 2012 or later: its first bytes are {shown(theirs)}")
    if reader.exactly(1)[0] < 3:
        reader.connection.sendall(_GREETING_2)
        pair = reader.exactly(1) == b"\0"
        reader.frame()  # its identity
    else:
        reader.connection.sendall(_GREETING_3)
        mechanism = reader.exactly(53)[1:21].rstrip(b"\0")
        if mechanism != b"NULL":
            raise InputError(f"the agent asks for the security {shown(mechanism.decode('latin-1'))}; it has to be NULL")
        reader.connection.sendall(frame(_READY, _COMMAND))
        pair = b"socket-type\0\0\0\x04pair" in reader.frame().content.lower()
    if not pair:
        raise InputError("the agent's ZeroMQ socket is no PAIR: it has to be one")


class Frame(NamedTuple):
    """A frame of ZMTP."""

    flags: int
    content: bytes


class FrameReader:
    """Reads frames until a deadline, which frames that are no answer do not put off.

    :ivar left: bytes that have come and are not read yet.
    """

    def __init__(self, connection: socket.socket, seconds: float, left: bytes = b"") -> None:
        self.connection, self.left = connection, left
        self._deadline = monotonic() + seconds

    def only_message(self) -> bytes:
        """The next message, which has one part and nothing behind it.

        :raises InputError: it has not. :raises EOFError: the connection ends.
        """
        message = None
        while message is None or self.left:
            flags, content = self.frame()
            if flags & _COMMAND:
                if content.startswith(b"\x04PING"):  # then two bytes of time, then what is to be sent back
                    self.connection.sendall(frame(b"\x04PONG" + content[7:], _COMMAND))
                continue
            if flags & _MORE:
                raise InputError("the agent sent a message of several parts; each of its messages has one")
            if message is not None:
                raise InputError("the agent sent more than one message before it was asked for the second")
            message = content
        return message

    def frame(self) -> Frame:
        """The next frame.

        :raises InputError: it is longer than any that an agent has reason to send.
        """
        flags = self.exactly(1)[0]
        length = int.from_bytes(self.exactly(8 if flags & _LONG else 1), "big")
        if length > _LONGEST:
            raise InputError(f"the agent sent a message of {length:,} bytes; it has to be one character")
        return Frame(flags, self.exactly(length))

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes."""
        while len(self.left) < count:
            self.connection.settimeout(max(self._deadline - monotonic(), 1e-3))
            received = self.connection.recv(max(count - len(self.left), 64))
            if not received:
                raise EOFError
            self.left += received
        found, self.left = self.left[:count], self.left[count:]
        return found
