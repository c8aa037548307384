"""Run the server of a study, as an ASGI application or in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gumption.data.listening import listen, shown_address
from gumption.scripts.people.web.commands import server_of
from gumption.scripts.people.web.security import Token
from gumption.scripts.people.web.server import Home, make_app
from gumption.scripts.people.web.store import Store

from .experimenter import ExperimenterPages
from .files import Study
from .links import Links, Secret
from .serving import StudyPart


class Application(NamedTuple):
    """The application of a study, the experimenter's token, and the personal links."""

    app: Any
    token: Token
    links: Links


@contextmanager
def application(
    study: Study,
    data: Path,
    *,
    database: str | None = None,
    host: str = "127.0.0.1",
    names: Sequence[str] = (),
    speed: float = 1.0,
) -> Iterator[Application]:
    """Yield the application of a study, which closes its data when the server shuts down.

    :param data: folder for the token, the secret, the links, and the participants' data.
    :param database: address of a PostgreSQL server that stores the participants' data instead.
    :param host: the address of the server; `names` are further names of this machine.
    :param speed: world seconds per real second, in real-time worlds.
    :raises InputError: the folder cannot be used, or holds data of another study.
    """
    secret = Secret.of(data)
    token, links = Token(data / "token"), Links(data, secret)
    home = Home(Store(database or str(data)), open_play=False)
    home.episodes.real_time.speed = speed
    try:
        part = StudyPart(home, study, secret)
        pages = [*part.routes, *ExperimenterPages(part, token, links).routes]
        played = sorted({block.world for block in study.all_blocks})
        app = make_app(home, host=host, names=names, part=part, pages=pages, played=played)
        yield Application(app, token, links)
    except BaseException:
        home.close()
        raise


@contextmanager
def in_thread(app: Any) -> Iterator[str]:
    """Serve an application in a thread, at any free local port, and yield its address."""
    with listen("127.0.0.1", 0, "--host") as listening:
        server = server_of(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://{shown_address(listening)}"
        finally:
            server.should_exit = True
            thread.join()
