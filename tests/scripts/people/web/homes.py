"""The real server as a process of its own, and pages of it without a browser."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

SECRET = "s" * 40  # a cookie
_RUN = """
import sys
from gumption.scripts.people.web import live, security, server
for place, value in {constants!r}.items():
    owner, name = place.split(".")
    setattr(dict(security=security, server=server, RealTime=live.RealTime)[owner], name, value)
from gumption.scripts.cli import main
sys.argv = ["gumption", "serve", *{options!r}]
main()
"""


class Served:
    """A server that runs.

    :ivar address: HOST:PORT.
    """

    def __init__(self, process: subprocess.Popen[str], address: str, path: str) -> None:
        self.process, self.address, self.path = process, address, path

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0]

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def kill(self) -> None:
        """As the power going off."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def get(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, Mapping[str, str], str]:
        """Status, headers and body of an answer; _ in the name of a header stands for -."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    @contextmanager
    def page(self, secret: str = SECRET, **given: Any) -> Iterator["Page"]:
        """A page that is connected, of the person with this cookie."""
        given = {"origin": f"http://{self.address}", **given}
        headers = {"Cookie": f"gumption={secret}"} if secret else {}
        with connect(f"ws://{self.address}/ws", additional_headers=headers, **given) as socket:
            yield Page(socket)


class Page:
    """A page, as far as it sends and gets messages."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def ask(self, type: str, **given: Any) -> dict[str, Any]:
        """Send a message, and give the answer."""
        self.say({"v": 1, "type": type, **given})
        return self.hear()

    def say(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def hear(self) -> dict[str, Any]:
        """The next message that is no frame of a world in real time, and does not ask for patience."""
        while (message := json.loads(self.socket.recv(timeout=60)))["type"] in ("frame", "preparing"):
            pass
        return message

    def act(self, episode: str, number: int, action: Any) -> dict[str, Any]:
        return self.ask("act", episode=episode, number=number, action=action, at=time.time() * 1000)


async def heard(socket: Any) -> dict[str, Any]:
    """The next message of an asynchronous connection that does not ask for patience."""
    while (message := json.loads(await socket.recv()))["type"] == "preparing":
        pass
    return message


@contextmanager
def served(
    data: Path | str, *options: str, constants: Mapping[str, float] | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """A server that keeps what people do in `data`.

    :param constants: of the modules security and server, as "security.FIRST_REQUEST", with other values, and
        "RealTime.speed".
    """
    program = _RUN.format(constants=dict(constants or {}), options=["--port", "0", "--data", str(data), *options])
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, (line, process.wait())
        address, _, path = line.split("http://")[1].split()[0].partition("/")
        yield Served(process, address, f"/{path}")
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            assert process.stdout is not None
            process.stdout.close()
