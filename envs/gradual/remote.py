"""Agents that are programs of their own: where they connect, or how one is started."""

import os
import shlex
import signal
import socket
import subprocess
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from gumption.data import InputError, Note
from gumption.data.listening import is_loopback, listen, shown_address
from gumption.data.settings import Count, Seconds, settings

from .session_settings import SessionSettings
from .wire import Wire, gone
from .zeromq import Silent, shake_hands

ANY = "*"  # the address that stands for all of this machine's
GRACE = 3.0  # seconds that a started agent has to end by itself after the run, and again after SIGTERM
_TICK = 0.1  # seconds between looks at a child that is to connect


@settings
class RemoteSettings(SessionSettings):
    """What is played, and where the agent is.

    :ivar max_steps, max_seconds: end the run; the challenge gave 24 hours.
    :ivar transport: how the agent is reached: zeromq (a PAIR socket, as in the challenge), tcp (two bytes to the agent,
        one back) or pipe (the same on standard input and output of --command).
    :ivar address: where agents connect; 127.0.0.1 is for those of this machine only, "*" for all.
    :ivar port: where agents connect; 0 for any that is free.
    :ivar command: starts the agent, without a shell; the number of the port is appended, except for pipe.
    :ivar timeout: seconds that a reply may take, and until a started agent has connected.
    :ivar final_notice: tell the agent of the end: its last reward, and an empty message (tcp and pipe: nothing) in
        place of a byte. Agents of the challenge expect none.
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
    """Waits for agents, or starts one; one plays at a time.

    :ivar place: where it listens, HOST:PORT; None for a pipe.
    """

    def __init__(self, settings: RemoteSettings, *, keep: bool = False) -> None:
        """
        :param keep: more agents come after the first one. They may connect already while it plays, and wait; else they
            are refused.
        :raises InputError: the port is in use, or there is no command where there has to be one, or it is a bad one.
        """  # fmt: skip
        self._settings, self._keep = settings, keep
        self._command = _words(settings)
        if keep and self._command:
            raise InputError("--keep waits for agents that others start: it does not go together with --command")
        self._listening: socket.socket | None = None
        self.place: str | None = None
        if settings.transport != "pipe":
            host = "" if settings.address == ANY else settings.address
            self._listening = listen(host, settings.port, "--address")
            self.place = shown_address(self._listening)
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
        """The next agent that is ready to play. At the end its connection is closed, and a started one ends.

        :param tell: is told of those that connect and say nothing.
        :raises InputError: it cannot be started, ends or is late before it plays, or speaks something else.
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
                    self._listening.close()  # whoever connects now is refused
            with wire:
                yield wire

    def _connected(self, process: "subprocess.Popen[bytes] | None", tell: Callable[[str], None]) -> Wire:
        """The wire to the next agent that connects and is ready."""
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
                if str(problem) != told:  # one that comes again and again is told of once
                    told = str(problem)
                    tell(told)
            except BaseException:
                connection.close()
                raise

    def _accepted(self, process: "subprocess.Popen[bytes] | None", deadline: float) -> socket.socket:
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

    @property
    def _port(self) -> int:
        assert self._listening is not None
        return self._listening.getsockname()[1]


def _words(settings: RemoteSettings) -> list[str]:
    """The words of the command; none where the agent is started by others."""
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
def _started(command: Sequence[str], stream: socket.socket | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    """The running program, in a group of processes of its own, which ends here.

    :param stream: is its standard input and output; without it, it has no input, and prints on our standard error.
    """
    given, printed = (subprocess.DEVNULL, 2) if stream is None else (stream.fileno(), stream.fileno())
    try:
        process = subprocess.Popen(command, stdin=given, stdout=printed, start_new_session=True)
    except (OSError, ValueError) as error:
        raise InputError(f"the agent {command[0]!r} cannot be started: {getattr(error, 'strerror', error)}") from None
    try:
        yield process
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Wait for its end, then ask for it, then bring it about; what it started goes with it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            process.wait(GRACE)
            break
        except subprocess.TimeoutExpired:
            _signal(process, number)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
