"""Play sessions with agents in other programs, which connect or are started; and provide the agent's side."""

import os
import shlex
import signal
import socket
import sys
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from math import inf
from subprocess import DEVNULL, Popen, TimeoutExpired
from time import monotonic
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from gumption.data import InputError, Note
from gumption.data.errors import extra
from gumption.data.listening import is_loopback, listen, shown_address
from gumption.data.settings import Count, Seconds, checked, settings, shown

from .engine import Stream
from .session import Agent, Result, Session
from .settings import SessionSettings

# ---- An agent at the other end of a socket.
#
# The environment sends the reward as a signed byte, -1, 0 or 1, and then its own byte; the agent sends its byte. Plain
# TCP and the standard input and output of a child process use this framing; the challenge's framing follows below.

_MOST = 64  # bytes per read; a reply is shorter
_LOOKS = 60  # polls of the socket before sleep: on an idle machine waking up takes longer than the agent's reply
_LONGEST_WAIT = 2_000_000.0  # seconds, 23 days, the longest time-out of a socket
_DYING = 1.0  # seconds for a child to exit after it has closed its output


class Wire:
    """Implement the environment's end of a connection.

    :ivar messages: reward -> byte -> message. :ivar words: the same for bool rewards, which are sent as words.
    :ivar replies: message -> the agent's byte.
    """

    messages: tuple[tuple[bytes, ...], ...] = tuple(
        tuple(bytes([reward & 255, byte]) for byte in range(256)) for reward in (0, 1, -1)
    )
    words = messages
    replies: dict[bytes, int] = {bytes([byte]): byte for byte in range(256)}  # noqa: RUF012

    def __init__(self, connection: socket.socket, timeout: float, process: Popen[bytes] | None = None) -> None:
        """:param timeout: seconds for a reply. :param process: the agent's process if we started it."""
        connection.settimeout(0)
        self.connection, self.timeout, self.process = connection, min(timeout, _LONGEST_WAIT), process

    def ask(self, reward: int, byte: int) -> int:
        """Send the reward and the byte, and return the agent's byte.

        :raises InputError: the agent has disconnected, times out, or sends anything else.
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
        """Receive bytes, b"" at the end of the connection; TimeoutError if no bytes arrive."""
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
        """Return the agent's byte if the received bytes are not exactly one reply; InputError if they hold no reply."""
        raise InputError(f"the agent answered a byte with {len(received)} bytes, {shown(received)}; it has to be one")

    def end(self, reward: int) -> None:
        """Send the agent the last reward, which ends the run."""
        self.notify(bytes([reward & 255]))

    def notify(self, message: bytes) -> None:
        """Send a message that needs no answer; ignore a closed connection."""
        with suppress(OSError):
            self.connection.sendall(message)


def gone(process: Popen[bytes] | None) -> str:
    """Return the error message for an agent whose end of the connection is closed."""
    with suppress(TimeoutExpired):
        if process is not None and (code := process.wait(_DYING)) is not None:
            return f"the agent ended {f'by signal {-code}' if code < 0 else f'with exit code {code}'}"
    return "the agent disconnected"


# ---- Agents written for the challenge: a ZeroMQ PAIR socket, the agent's first message is `hello`.
#
# Two messages go to the agent, the reward as decimal text and the byte as a character in UTF-8; the reply is a message
# with a character. This end implements ZeroMQ's transport (ZMTP 3.0 and 2.0, https://rfc.zeromq.org/spec/23) without
# libzmq, for two reasons. Both messages leave in a single packet, which makes a step about 1.7 times as fast. And
# libzmq's PAIR drops the hello of a second agent, which then waits forever.

HELLO = b"hello"
HELLO_SECONDS = 5.0  # for the hello of a connected agent
_LONGEST_MESSAGE = 65_536  # bytes
_MORE, _LONG, _COMMAND = 1, 2, 4  # flags of a frame

_SIGNATURE = b"\xff" + bytes(7) + b"\x01\x7f"
_GREETING_3 = b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)  # version, mechanism, as-server and filler
_GREETING_2 = b"\x01\x00" + b"\x00\x00"  # revision, PAIR, an empty identity
_READY = b"\x05READY" + b"\x0bSocket-Type" + (4).to_bytes(4, "big") + b"PAIR"


class Silent(InputError):
    """Report a client that left or sent no hello."""


def frame(content: bytes, flags: int = 0) -> bytes:
    """Return a ZMTP frame with a short content."""
    return bytes([flags, len(content)]) + content


class ZeroMQWire(Wire):
    """Implement the environment's end of a PAIR connection."""

    messages = tuple(
        tuple(frame(text) + frame(chr(byte).encode()) for byte in range(256)) for text in (b"0", b"1", b"-1")
    )
    words = tuple(tuple(frame(text) + frame(chr(byte).encode()) for byte in range(256)) for text in (b"False", b"True"))
    replies = {frame(chr(byte).encode()): byte for byte in range(256)}  # noqa: RUF012

    def unusual(self, received: bytes) -> int:
        """Override `Wire.unusual`: read the rest of a message that arrived in pieces."""
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
        self.notify(frame(str(reward).encode()) + frame(b""))


def shake_hands(connection: socket.socket, timeout: float, process: Popen[bytes] | None = None) -> ZeroMQWire:
    """Wait for the hello of a connected agent and return the wire.

    :raises Silent: it left, or sent nothing. :raises InputError: it uses another protocol or first message.
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
    """Exchange ZMTP's greetings."""
    reader.connection.sendall(_SIGNATURE)
    theirs = reader.exactly(10)
    if theirs[0] != 0xFF or not theirs[9] & 1:
        raise InputError(f"what connected speaks no ZeroMQ of 2012 or later: its first bytes are {shown(theirs)}")
    if reader.exactly(1)[0] < 3:
        reader.connection.sendall(_GREETING_2)
        pair = reader.exactly(1) == b"\0"
        reader.frame()  # skip its identity
    else:
        reader.connection.sendall(_GREETING_3)
        mechanism = reader.exactly(53)[1:21].rstrip(b"\0")
        if mechanism != b"NULL":
            raise InputError(f"the agent asks for the security {shown(mechanism.decode('latin-1'))}; it has to be NULL")
        reader.connection.sendall(frame(_READY, _COMMAND))
        pair = b"socket-type\0\0\0\x04pair" in reader.frame()[1].lower()
    if not pair:
        raise InputError("the agent's ZeroMQ socket is no PAIR: it has to be one")


class FrameReader:
    """Read frames until a deadline; `left` holds the unread bytes."""

    def __init__(self, connection: socket.socket, seconds: float, left: bytes = b"") -> None:
        self.connection, self.left = connection, left
        self._deadline = monotonic() + seconds

    def only_message(self) -> bytes:
        """Read the next message.

        :raises InputError: it has several parts, or another message follows. :raises EOFError: the connection ends.
        """
        message = None
        while message is None or self.left:
            flags, content = self.frame()
            if flags & _COMMAND:
                if content.startswith(b"\x04PING"):  # followed by a time of two bytes and the context to return
                    self.connection.sendall(frame(b"\x04PONG" + content[7:], _COMMAND))
                continue
            if flags & _MORE:
                raise InputError("the agent sent a message of several parts; each of its messages has one")
            if message is not None:
                raise InputError("the agent sent more than one message before it was asked for the second")
            message = content
        return message

    def frame(self) -> tuple[int, bytes]:
        """Read flags and content of the next frame; InputError if it is too long for an agent's message."""
        flags = self.exactly(1)[0]
        length = int.from_bytes(self.exactly(8 if flags & _LONG else 1), "big")
        if length > _LONGEST_MESSAGE:
            raise InputError(f"the agent sent a message of {length:,} bytes; it has to be one character")
        return flags, self.exactly(length)

    def exactly(self, count: int) -> bytes:
        while len(self.left) < count:
            self.connection.settimeout(max(self._deadline - monotonic(), 1e-3))
            received = self.connection.recv(max(count - len(self.left), 64))
            if not received:
                raise EOFError
            self.left += received
        found, self.left = self.left[:count], self.left[count:]
        return found


# ---- The host, which accepts or starts agents.

GRACE = 3.0  # seconds for a started agent to end after the run, and again after SIGTERM
_TICK = 0.1  # seconds between checks that a started agent still runs before it connects


@settings
class RemoteSettings(SessionSettings):
    """What is played, and where the agent is.

    :ivar max_steps, max_seconds: end the run; the challenge gave 24 hours.
    :ivar transport: zeromq (a PAIR socket, as in the challenge), tcp (two bytes to the agent, one back) or pipe (the
        same on standard input and output of --command).
    :ivar address: where agents connect; 127.0.0.1 is for those of this machine only, "*" for all.
    :ivar port: where agents connect; 0 for any that is free.
    :ivar command: starts the agent, without a shell; the number of the port is appended, except for pipe.
    :ivar timeout: seconds that a reply may take, and until a started agent has connected.
    :ivar final_notice: at the end send the agent its last reward, and an empty message (tcp and pipe: nothing) in place
        of a byte. Agents of the challenge expect none.
    """

    max_steps: Count | None = None
    max_seconds: Seconds | None = None
    transport: Literal["zeromq", "tcp", "pipe"] = "zeromq"
    address: str = "127.0.0.1"
    port: Annotated[int, Ge(0), Le(65_535)] = 5556
    command: str | None = None
    timeout: Seconds = 60.0
    final_notice: bool = False


class Host:
    """Wait for agents, or start an agent; only one plays at a time. Listen at `place`, HOST:PORT; None for a pipe."""

    def __init__(self, settings: RemoteSettings, *, keep: bool = False) -> None:
        """
        :param keep: queue other agents that connect during a run; else refuse them.
        :raises InputError: the port is in use, or the command is bad, or missing for a transport that needs it.
        """
        self._settings, self._keep = settings, keep
        self._command = _words(settings)
        if keep and self._command:
            raise InputError("--keep waits for agents that others start: it does not go together with --command")
        self._listening: socket.socket | None = None
        self.place: str | None = None
        if settings.transport != "pipe":
            host = "" if settings.address == "*" else settings.address
            self._listening = listen(host, settings.port, "--address")
            self.place, self._port = shown_address(self._listening), self._listening.getsockname()[1]
            if not is_loopback(settings.address):
                told = f"everybody who reaches {settings.address} can be the agent: there is no password"
                warnings.warn(told, Note, stacklevel=2)

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._listening is not None:
            self._listening.close()

    @contextmanager
    def agent(self, tell: Callable[[str], None]) -> Iterator[Wire]:
        """Yield the wire to the next ready agent; at the end close its connection, and end a started agent.

        :param tell: called with a message on each client that connects without a hello.
        :raises InputError: it cannot be started, ends or times out before it plays, or uses another protocol.
        """
        with ExitStack() as ending:
            if self._settings.transport == "pipe":
                ours, theirs = socket.socketpair()
                ending.callback(ours.close)
                with theirs:
                    process = ending.enter_context(_started(self._command, theirs))
                wire = Wire(ours, self._settings.timeout, process)
            else:
                assert self._listening is not None
                command = [*self._command, str(self._port)]
                process = ending.enter_context(_started(command)) if self._command else None
                wire = self._connected(process, tell)
                if not self._keep:
                    self._listening.close()  # refuse further clients
            ending.callback(wire.connection.close)
            yield wire

    def _connected(self, process: Popen[bytes] | None, tell: Callable[[str], None]) -> Wire:
        """Return the wire to the next agent that connects and, over ZeroMQ, sends its hello."""
        seconds, deadline, told = self._settings.timeout, monotonic() + self._settings.timeout, ""
        while True:
            connection = self._accepted(process, deadline)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._settings.transport == "tcp":
                return Wire(connection, seconds, process)
            try:
                return shake_hands(connection, seconds, process)
            except Silent as problem:
                connection.close()
                if str(problem) != told:  # report repeated connections only once
                    told = str(problem)
                    tell(told)
            except BaseException:
                connection.close()
                raise

    def _accepted(self, process: Popen[bytes] | None, deadline: float) -> socket.socket:
        assert self._listening is not None
        self._listening.settimeout(None if process is None else _TICK)
        while True:
            if process is not None and monotonic() > deadline:
                seconds = f"within {self._settings.timeout:g} s"
                raise InputError(f"the agent did not connect to port {self._port} and begin {seconds}")
            with suppress(TimeoutError):
                return self._listening.accept()[0]
            if process is not None and process.poll() is not None:
                raise InputError(f"{gone(process)} before it connected to port {self._port}")


def _words(settings: RemoteSettings) -> list[str]:
    """Split the command into words; an empty list if the user starts the agent."""
    if settings.command is None:
        if settings.transport == "pipe":
            raise InputError("--transport pipe needs --command: the program whose input and output are the agent's")
        return []
    try:
        words = shlex.split(settings.command)
    except ValueError as error:
        raise InputError(f"--command {settings.command!r} cannot be split into words: {error}") from None
    if not words:
        raise InputError("--command is empty: it is the program of the agent and its arguments")
    return words


@contextmanager
def _started(command: Sequence[str], stream: socket.socket | None = None) -> Iterator[Popen[bytes]]:
    """Run a program in its own process group; at the end stop both.

    :param stream: its standard input and output; None: no input, and its output goes to our standard error.
    """
    given, printed = (DEVNULL, 2) if stream is None else (stream.fileno(), stream.fileno())
    try:
        process = Popen(command, stdin=given, stdout=printed, start_new_session=True)
    except (OSError, ValueError) as error:
        raise InputError(f"the agent {command[0]!r} cannot be started: {getattr(error, 'strerror', error)}") from None
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: Popen[bytes]) -> None:
    """Wait for its end, then send SIGTERM, wait again, then send SIGKILL, also to its child processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(TimeoutExpired):
            process.wait(GRACE)
            number = signal.SIGKILL  # it has ended; kill its children without SIGTERM
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    process.wait()


# ---- Agents in other processes that are called like functions.


class StartedAgent:
    """Start an agent as a separate process by a command; a call maps the reward and the byte to its reply.

    `copy.deepcopy` starts another process and replays the whole stream. The copy is exact if the agent is
    deterministic: each of its bytes is compared. `close` ends the process.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        """:raises InputError: no command, or as of `Host` and `Host.agent`."""
        if settings.command is None:
            raise InputError("an agent of another process that is to be copied needs --command, which starts a new one")
        self._settings = settings
        self._heard, self._said = array("h"), bytearray()
        with ExitStack() as ending:
            host = ending.enter_context(Host(replace(settings, port=0)))  # several agents may run at a time
            self._ask = ending.enter_context(host.agent(lambda text: None)).ask
            self._ending = ending.pop_all()

    def __call__(self, reward: int, byte: int) -> int:
        """:raises InputError: as `Wire.ask`."""
        said = self._ask(reward, byte)
        self._heard.extend((reward, byte))
        self._said.append(said)
        return said

    def __deepcopy__(self, memo: Any) -> "StartedAgent":
        """:raises InputError: a reply of the new process differs."""
        other, heard = StartedAgent(self._settings), iter(self._heard)
        try:
            for step, (reward, byte, said) in enumerate(zip(heard, heard, self._said, strict=True), 1):
                if (again := other(reward, byte)) != said:
                    raise InputError(
                        f"the agent cannot be copied: it heard the same stream again, and said {chr(again)!r} at step "
                        f"{step:,} where it had said {chr(said)!r}; what it draws has to come from a fixed seed"
                    )
        except BaseException:
            other.close()
            raise
        return other

    def close(self) -> None:
        """End the process."""
        self._ending.close()


# ---- A session with an agent in another program.

EVERY = 0.5  # seconds between two reports


def play(settings: RemoteSettings, wire: Wire, report: Callable[[Result], None]) -> Result:
    """Play with the agent at the other end of the wire; its faults end the run without an exception.

    :param report: called with the result so far: at the beginning, every 0.5 s, and at the end.
    """
    curriculum = settings.curriculum()
    ends = inf if settings.max_seconds is None else monotonic() + settings.max_seconds
    look, paid, late = 0.0, 0, False

    def agent(reward: int, byte: int) -> int:
        nonlocal look, paid, late
        now = monotonic()
        if now >= look:
            report(session.so_far())
            look = min(now + EVERY, ends)
        if now >= ends:
            late = True
            raise InputError("the time is up")
        paid += reward
        return ask(reward, byte)

    threshold = curriculum.success_threshold
    session = Session(
        curriculum.tasks, agent, success_threshold=threshold, seed=settings.seed, max_steps=settings.max_steps
    )
    ask = _with_words(wire.ask, session.stream) if settings.upstream_quirks else wire.ask
    try:
        result = session.run()
    except BaseException:
        report(session.so_far("stopped"))
        raise
    if late:
        result = replace(result, ended="seconds", error=None)
    report(result)
    if settings.final_notice and result.ended != "agent":
        wire.end(result.reward - paid)
    return result


def _with_words(ask: Agent, stream: Stream) -> Agent:
    """Send the reward of a mini-task, which comes with the next instance, as a word, like the program of 2017."""
    mini = False

    def asked(reward: int, byte: int) -> int:
        nonlocal mini
        if stream.age == 1:  # the first byte of an instance
            if mini:
                reward = bool(reward)
            mini = stream.life.task.cycle == "mini"
        return ask(reward, byte)

    return asked


# ---- The agent's side, in the agent's own program: `connect(agent)` plays with a waiting environment.
#
# def copy(reward: int, byte: int) -> int:
#     return byte
#
# connect(copy, port=5556)  # the environment: gumption serve gradual

_PAUSE = 200  # milliseconds between checks that the environment is still connected
_REWARDS = {b"0": 0, b"1": 1, b"-1": -1, b"False": 0, b"True": 1}
_BYTES = {byte: bytes([byte]) for byte in range(256)}
_CHARACTERS = {byte: chr(byte).encode() for byte in range(256)}


@checked
def connect(
    agent: Agent, port: int = 5556, address: str = "127.0.0.1", transport: Literal["zeromq", "tcp", "pipe"] = "zeromq"
) -> int:
    """Play to the end of the run; return the sum of the rewards.

    :param agent: maps the reward and the byte to its reply, a byte.
    :param transport: as in the environment; "pipe" is for a program that `gumption serve gradual --transport pipe
        --command ...` starts.
    :raises InputError: no environment listens there, or the extra `remote`, which "zeromq" needs, is not installed.
    """
    if transport == "zeromq":
        return _zeromq(agent, f"tcp://{address}:{port}")
    if transport == "pipe":
        with redirect_stdout(sys.stderr):  # keep the agent's prints out of its bytes
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
    with suppress(ConnectionError):  # the environment may end the run before it reads the last answer
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
        pair.rcvtimeo = _PAUSE
        pair.connect(endpoint)
        pair.send(HELLO)
        messages, total = _messages(pair, monitor, zmq.Again), 0
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


def _messages(pair: Any, monitor: Any, nothing: type[Exception]) -> Iterator[bytes]:
    """Yield the messages until the environment closes its end; `pair` raises `nothing` if none arrives in time."""
    gone = False
    while True:
        try:
            yield pair.recv()
        except nothing:
            if gone:  # all its earlier messages have been read
                return
            gone = bool(monitor.poll(0))


def _said(said: Any, messages: dict[int, bytes]) -> bytes:
    """Return the message for a byte of the agent."""
    if said not in messages:
        raise InputError(f"the agent said {shown(said)}: it has to be a byte, a whole number from 0 to 255")
    return messages[said]
