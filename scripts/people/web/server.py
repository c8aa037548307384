"""The web home as an ASGI application: pages, files, worlds as data, and the socket through which people play."""

from __future__ import annotations

import asyncio
import html
import io
import logging
import sys
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.reading import parse_json
from gumption.envs import worlds

from . import messages, security
from . import store as tables
from .episodes import Episode, Episodes, Unkept, UnknownEpisode, new_id
from .live import Clock
from .messages import FROM_PAGE, Act, Begin, Error, GoOn, Help, HelpRefused, Leave, Message, Preparing, Refused, Shown
from .security import LIVE_PER_SECOND, Guard, Rate, Token
from .store import Store
from .views import read_settings, view_of

with extra("web", "the web home"):
    import sqlalchemy as sql
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
    from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

PAGES = Path(__file__).with_name("pages")
FIRST_MESSAGE = 20.0  # seconds within which a socket has to send its first message
PATIENCE, AGAIN = 1.0, 10.0  # seconds until a waiting page is sent `Preparing`, and between repetitions
SOCKETS = 8  # open sockets per person
CONNECTED_EVERY = 5.0  # seconds between updates of the stored connections
EPISODES = 8  # episodes that a socket plays at once
TAKEN = 4001  # code of closing a socket whose episode continues at another socket
_log = logging.getLogger(__name__)


class Part(Protocol):
    """A part of the server with messages of its own, such as a study.

    :ivar messages: type -> model of the messages that it handles.
    """

    messages: Mapping[str, type[Message]]

    async def handle(self, socket: Socket, message: Message) -> None:
        """Answer a message of its types.

        :raises InputError: the message is refused; the socket is sent the reason.
        """
        ...


class Home:
    """The state of a server.

    :ivar store: the database; `episodes` are the episodes of all players.
    :ivar token: the token that a guarded server requires; None without one.
    :ivar runs: a folder of runs to list.
    :ivar open_play: whether every visitor may begin episodes of any world.
    """

    def __init__(
        self, store: Store, *, token: Token | None = None, runs: Path | None = None, open_play: bool = True
    ) -> None:
        self.store, self.token, self.runs, self.open_play = store, token, runs, open_play
        self.episodes = Episodes(store, worlds.find)
        self.sockets: dict[str, list[Socket]] = {}  # key of the person -> open sockets

    async def tell_connected(self) -> None:
        """Store every few seconds, forever, which participants of a study are connected: a kill loses only seconds."""
        while True:
            await asyncio.sleep(CONNECTED_EVERY)
            if ids := [socket.id for sockets in self.sockets.values() for socket in sockets if socket.id]:
                self.store.queue(_left(*ids))

    def close(self) -> None:
        """Finish the running calls, and close the store."""
        self.episodes.close()
        self.store.close()


class Socket:
    """The connection of a page.

    :ivar key: sha256 of its cookie; `person`: id of its person, None for a newcomer.
    :ivar id: id of its row in the table of connections, "" without a row.
    """

    def __init__(self, home: Home, web: WebSocket, key: str) -> None:
        self.home, self.key, self.id = home, key, ""
        self.person: str | None = None
        self._web = web
        self.episodes: dict[str, Episode] = {}  # id -> episode played here
        self.rate = Rate()
        self._tasks: set[asyncio.Task[None]] = set()

    async def send(self, message: Message | Mapping[str, Any]) -> None:
        """Send a message; it is dropped if the page has disconnected."""
        text = message.model_dump_json() if isinstance(message, Message) else messages.written(message)
        with suppress(WebSocketDisconnect, RuntimeError):
            await self._web.send_text(text)

    def lose(self, episode: str) -> None:
        """Give up an episode that another socket now plays, and notify the page in a task of its own."""
        self.episodes.pop(episode, None)
        self._begin_task(self._tell_taken(episode))

    async def _tell_taken(self, episode: str) -> None:
        await self.send(Error(reason="the episode goes on in another tab", kind="taken", episode=episode))
        await self.close(TAKEN, "the episode goes on in another tab")

    def come(self) -> None:
        """Store the time of contact and, in a study, the connection; store nothing of a person who has withdrawn."""
        now, people, connections = tables.now(), tables.people, tables.connections
        here = (people.c.id == self.person) & (people.c.state != "withdrawn")
        self.home.store.queue(sql.update(people).where(here).values(seen=now))
        if not self.home.open_play:
            self.id = new_id()
            row = sql.select(*map(sql.literal, (self.id, self.person, now, now))).where(sql.exists().where(here))
            self.home.store.queue(sql.insert(connections).from_select([*connections.c], row))

    async def close(self, code: int, reason: str) -> None:
        """Close the socket, with a reason of at most 123 bytes."""
        if self._web.application_state is WebSocketState.CONNECTED:
            with suppress(RuntimeError):
                await self._web.close(code, reason)

    async def play(self, episode: Episode) -> None:
        """Play the episode at this socket from now on, and show it; beyond `EPISODES`, release the oldest episode."""
        self.episodes[episode.id] = episode
        if len(self.episodes) > EPISODES:
            self.home.episodes.leave(self.episodes.pop(next(iter(self.episodes))), self)
        self.home.episodes.take(episode, self)
        await self.show(episode)
        live = episode.view.live
        if live is not None and not episode.over and episode.holder is self:
            self.rate.per_second = LIVE_PER_SECOND
            episode.clock = self.home.episodes.real_time.watch(live, episode.env)
            self._begin_task(self._send_frames(episode, episode.clock))
        elif live is not None and episode.over:  # perhaps its time ended when its last page disconnected
            await self.home.episodes.end(episode)

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_frames(self, episode: Episode, clock: Clock) -> None:
        """Send frames until the episode is over or is no longer played here."""
        try:
            async for frame in clock.frames():
                await self.send({"type": "frame", "episode": episode.id, **frame})
        except Exception:
            _log.exception("an episode in real time failed")
            await self.fail(episode)
            return
        known = episode.over
        if episode.clock is clock and episode.look():
            await self.home.episodes.end(episode)
            if not known:
                await self.show(episode)

    async def fail(self, episode: Episode, reason: str = "the server failed at this; go on from what was kept") -> None:
        """Stop playing an episode after a failure; it can be continued from its stored actions."""
        self.episodes.pop(episode.id, None)
        self.home.episodes.drop(episode)
        await self.send(Error(reason=reason, kind="failed", episode=episode.id))

    async def show(self, episode: Episode) -> None:
        """Send the present view of the episode; all its actions are on disk."""
        async with episode.lock:
            shown = Shown(episode=episode.id, number=episode.number, view=await self.home.episodes.shown(episode))
        await self.send(shown)

    # ---- messages

    async def handle(self, message: Message) -> None:
        """Answer a message that belongs to no part."""
        match message:
            case Begin():
                await self._begin(message)
            case GoOn():
                episode = await self.home.episodes.find(message.episode, self.person)
                await self.play(episode)
            case Act():
                await self._change(message)
            case Help():
                self._begin_task(self._change(message))  # knowledge may take a while to be loaded
            case Leave():
                episode = self.episodes.pop(message.episode, None)
                if episode is not None:
                    self.home.episodes.leave(episode, self)

    async def _begin(self, message: Begin) -> None:
        if not self.home.open_play:
            await self.send(Error(reason="episodes are begun by the study here", kind="closed"))
            return
        settings = read_settings(view_of(worlds.find(message.world)).begin, message.settings)
        if self.person is None:
            self.person = await self._newcomer()
        episode = await self.home.episodes.begin(
            person=self.person, world=message.world, settings=settings, seed=message.seed
        )
        await self.play(episode)

    async def _newcomer(self) -> str:
        """Store a person with this cookie, if there is none yet, and return the id."""
        now, person = tables.now(), new_id()
        found = await person_of(self.home.store, self.key)
        if found is None:
            await self.home.store.write(sql.insert(tables.people).values(id=person, key=self.key, began=now, seen=now))
        return found or person

    async def _change(self, message: Act | Help) -> None:
        """Make an action or give help, and show the episode or the reason why not."""
        episode, episodes = self.episodes.get(message.episode), self.home.episodes
        reason, expected = "this page does not play that episode; go on first", 1
        if episode is not None:
            try:
                if isinstance(message, Help):
                    await episodes.help(episode, message.number, message.after, message.at)
                else:
                    await episodes.act(episode, message.number, message.action, message.at)
                await self.show(episode)
                return
            except InputError as error:
                done = len(episode.helps) if isinstance(message, Help) else episode.number
                reason, expected = str(error), done + 1
            except Exception as error:
                _log.exception("an action or a help failed")
                await self.fail(episode, *([str(error)] if isinstance(error, Unkept) else []))
                return
        about = {"episode": message.episode, "number": message.number, "reason": reason, "expected": expected}
        await self.send(HelpRefused(**about, after=message.after) if isinstance(message, Help) else Refused(**about))


def _left(*ids: str) -> Any:
    """Return the statement that sets the end of these connections to the present time."""
    return sql.update(tables.connections).where(tables.connections.c.id.in_(ids)).values(left=tables.now())


async def person_of(store: Store, key: str) -> str | None:
    """Return the id of the person whose cookie has this sha256, None without such a person."""
    rows = await store.rows(sql.select(tables.people.c.id).where(tables.people.c.key == key))
    return rows[0].id if rows else None


# ---- The application.


def make_app(
    home: Home,
    *,
    host: str = "127.0.0.1",
    names: Sequence[str] = (),
    guarded: bool = False,
    part: Part | None = None,
    pages: Sequence[BaseRoute] = (),
    played: Collection[str] | None = None,
) -> Starlette:
    """Return the application of a home.

    :param host: the address of the server; `names` are further names of this machine.
    :param guarded: whether every client needs the token.
    :param part: handles further messages; `pages` are the routes of further pages.
    :param played: names of the worlds that are prepared at the start; all by default.
    """

    async def index(request: Request) -> Response:
        return page(PAGES / "index.html", request)

    async def play(request: Request) -> Response:
        known_world(request.path_params["world"])
        return page(PAGES / "play.html", request)

    async def listed(_: Request) -> Response:
        entries = described_worlds()
        runs = [] if home.runs is None else await asyncio.to_thread(runs_in, home.runs)
        return JSONResponse({"worlds": entries, "runs": runs}, headers={"Cache-Control": "no-cache"})

    async def picture(request: Request) -> Response:
        world = known_world(request.path_params["world"])
        if "rgb_array" not in world.seen:
            raise HTTPException(404)
        content = await home.episodes.make(picture_of, world.name)
        return Response(content, media_type="image/png", headers={"Cache-Control": "max-age=3600"})

    async def view_file(request: Request) -> Response:
        folder = view_of(known_world(request.path_params["world"])).folder
        if folder is None or not request.path_params["file"].endswith((".js", ".css", ".png", ".svg")):
            raise HTTPException(404)
        return await _files_of(directory=folder).get_response(request.path_params["file"], request.scope)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        sys.setswitchinterval(0.001)  # keep answers quick while other threads begin episodes
        going = (home.episodes.real_time.run(), home.episodes.resume(), home.tell_connected())
        tasks = [asyncio.create_task(one) for one in going]
        for name in worlds.known() if played is None else played:
            with suppress(Exception):  # `described_worlds` logs it
                tasks.append(asyncio.create_task(home.episodes.prepare(view_of(worlds.find(name)))))
        yield
        for task in (*tasks, *home.episodes.timed.values()):
            task.cancel()
        await asyncio.to_thread(home.close)

    front: list[BaseRoute] = [
        Route("/", index),
        Route("/play/{world}", play),
        Route("/api/worlds", listed),
        Route("/pictures/{world}.png", picture),
    ]
    routes: list[BaseRoute] = [
        *(front if home.open_play else ()),
        Route("/views/{world}/{file:path}", view_file),
        Mount("/pages", StaticFiles(directory=PAGES, check_dir=False)),
        WebSocketRoute("/ws", partial(_serve_socket, home, part)),
    ]
    return Starlette(
        routes=[*pages, *routes],
        lifespan=lifespan,
        exception_handlers={HTTPException: _told, Exception: _told},  # pyright: ignore[reportArgumentType]
        middleware=[Middleware(Guard, host=host, names=names, token=home.token if guarded else None, error=error_page)],
    )


async def _serve_socket(home: Home, part: Part | None, web: WebSocket) -> None:
    cookie = security.cookie_of(web.headers)
    await web.accept()
    if cookie is None:
        await web.close(1008, "this page has no cookie: reload it, and allow cookies of this site")
        return
    key = security.hashed(cookie)
    socket = Socket(home, web, key)
    mine = home.sockets.setdefault(key, [])
    mine.append(socket)
    try:
        socket.person = await person_of(home.store, key)
        if socket.person is not None:
            socket.come()
        if len(mine) > SOCKETS:
            await mine[0].close(1008, f"more than {SOCKETS} tabs are open")
        await _read_all(socket, part, web)
    finally:
        mine.remove(socket)
        if socket.id:
            home.store.queue(_left(socket.id))
        if not mine:
            home.sockets.pop(key, None)
        for episode in socket.episodes.values():
            home.episodes.leave(episode, socket)


async def _read_all(socket: Socket, part: Part | None, web: WebSocket) -> None:
    kinds = {**FROM_PAGE, **({} if part is None else part.messages)}
    patience: float | None = FIRST_MESSAGE
    while True:
        try:
            async with asyncio.timeout(patience):
                frame = await web.receive()
        except TimeoutError:
            await socket.close(1008, "nothing was said for too long")
            return
        if frame["type"] == "websocket.disconnect":
            return
        patience = None
        if (wait := socket.rate.wait()) > 0:  # messages above the rate wait in the network
            await asyncio.sleep(wait)
        try:
            text = frame.get("text")
            if text is None:
                raise InputError("the message is no text")
            message = messages.read(text, kinds)
            if part is not None and type(message) in part.messages.values():
                await _answer(socket, part.handle(socket, message))
            else:
                await _answer(socket, socket.handle(message))
        except UnknownEpisode as error:
            await socket.send(Error(reason=str(error), kind="unknown", episode=message.episode))  # pyright: ignore
        except InputError as error:
            await socket.send(Error(reason=str(error)))
        except Exception:
            _log.exception("a message could not be answered")
            await socket.send(Error(reason="the server could not do that; what was kept is safe", kind="failed"))


async def _answer(socket: Socket, answer: Coroutine[Any, Any, None]) -> None:
    """Await an answer; send `Preparing` to the page while a world is being prepared."""
    answering = asyncio.create_task(answer)
    try:
        wait = PATIENCE
        while socket.home.episodes.preparing and not (await asyncio.wait({answering}, timeout=wait))[0]:
            await socket.send(Preparing())
            wait = AGAIN
        await answering
    finally:
        answering.cancel()


# ---- Pages.


def page(path: Path, request: Request) -> Response:
    """Return a page from a file, and set a cookie if the request has none."""
    response = HTMLResponse(filled_page(path), headers={"Cache-Control": "no-store"})
    if security.cookie_of(request.headers) is None:
        security.set_cookie(response, security.new_secret(), secure=request.url.scheme == "https")
    return response


def filled_page(path: Path, **filled: str) -> str:
    """Return the HTML of a page file, with the shared parts inserted and each {{name}} replaced by its escaped text."""
    text = path.read_text(encoding="utf-8")
    for shared in ("head", "top"):
        text = text.replace("{{" + shared + "}}", (PAGES / f"{shared}.html").read_text(encoding="utf-8"))
    for place, value in filled.items():
        text = text.replace("{{" + place + "}}", html.escape(value))
    return text


def error_page(status: int, title: str, reason: str, as_html: bool) -> Response:
    """Return the response to a refused request: a page for browsers, a line of text for programs."""
    if not as_html:
        return PlainTextResponse(f"{title}: {reason}\n", status)
    told = filled_page(PAGES / "error.html", status=str(status), title=title, reason=reason)
    return HTMLResponse(told, status)


_files_of = cache(StaticFiles)  # serves the files of a folder, and no file outside it
_TITLES = {
    404: ("Not found", "there is no such page here"),
    405: ("Not allowed", "this address takes no such request"),
    500: ("Failed", "the server failed at this; what was kept is safe. Try it again, and tell its owner"),
}


def _told(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    title, reason = _TITLES.get(status, ("Refused", detail))
    return error_page(status, title, reason, "text/html" in request.headers.get("accept", ""))


def known_world(name: str) -> worlds.World:
    """Return the world of this name; raise HTTPException 404 without one."""
    found = worlds.known().get(name)
    if found is None:
        raise HTTPException(404)
    return found


# ---- Worlds and runs as data.


def described_worlds() -> list[dict[str, Any]]:
    """Return the descriptions of all worlds; a world whose view cannot be imported is logged and left out."""
    found = []
    for world in worlds.known().values():
        try:
            found.append(describe(world))
        except Exception:
            _log.exception("the world %s cannot be shown", world.name)
    return found


def describe(world: worlds.World) -> dict[str, Any]:
    """Return the entry of a world in the list of the home, as JSON."""
    view = view_of(world)
    at, folder = f"/views/{world.name}", view.folder
    drawn = f"/pictures/{world.name}.png" if "rgb_array" in world.seen else None

    def picture(name: str) -> str | None:
        return f"{at}/{name}" if folder is not None and (folder / name).is_file() else drawn

    return {
        "name": world.name,
        "title": world.title,
        "about": world.about,
        "source": world.source,
        "environments": [environment.id for environment in world.environments],
        "view": f"{at}/view.js" if folder is not None and (folder / "view.js").is_file() else None,
        "pictures": {"light": picture("picture.png"), "dark": picture("picture-dark.png")},
        "live": view.live is not None,
    }


@cache
def picture_of(world: str) -> bytes:
    """Return a PNG of the first state of a world with seed 0, at most 640 x 480 pixels."""
    from PIL import Image

    entry = worlds.find(world)
    first = entry.environments[0]
    env = entry.load(first.single, "environment")(render_mode="rgb_array", **first.small)
    env.reset(seed=0)
    picture = Image.fromarray(env.render())
    picture.thumbnail((640, 480))
    buffer = io.BytesIO()
    picture.save(buffer, "png")
    return buffer.getvalue()


MOST_RUNS = 1000


def runs_in(folder: Path) -> list[dict[str, Any]]:
    """Return the runs in a folder, down to two levels below, newest first, at most `MOST_RUNS`; skip other files."""
    found = []
    for config in [*folder.glob("config.json"), *folder.glob("*/config.json"), *folder.glob("*/*/config.json")]:
        try:
            world = parse_json(config.read_text(encoding="utf-8"))["world"]
            changed = config.stat().st_mtime
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if world in worlds.known():
            state = "done" if (config.parent / "final.json").is_file() else "going"
            name = config.parent.relative_to(folder).as_posix()
            found.append({"name": name, "world": world, "state": state, "changed": changed})
    return sorted(found, key=lambda run: -run["changed"])[:MOST_RUNS]
