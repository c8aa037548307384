"""Access control of the server: hosts, origins, cookies, tokens, message rates and timeouts."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gumption.data import InputError
from gumption.data.errors import extra
from gumption.data.listening import is_loopback, names_of

with extra("web", "the web home"):
    from h11 import IDLE, SEND_BODY, SEND_RESPONSE
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.requests import ClientDisconnect
    from starlette.responses import RedirectResponse, Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import H11Protocol
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

COOKIE = "gumption"  # identifies the browser; 256 random bits
DOOR = "gumption_door"  # proves that the browser has sent the token
PER_SECOND, BURST = 20, 60  # messages of a socket; no person types as fast
LIVE_PER_SECOND = 60
GUESSES = 10  # wrong tokens per minute and address
FIRST_REQUEST = 10.0  # seconds within which a request has to be complete
UNREAD = 20.0  # seconds within which a client has to read some of its waiting data
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def hashed(secret: str) -> str:
    """Return the sha256 of a cookie or a token, which is stored in place of the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_secret() -> str:
    """Return 256 random bits as text, for a cookie or a token."""
    return secrets.token_urlsafe(32)


def cookie_of(headers: Mapping[str, str], name: str = COOKIE) -> str | None:
    """Return the value of a cookie in the headers of a request; None without a cookie of 16 to 100 characters."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return found.value if found is not None and 16 <= len(found.value) <= 100 else None


def set_cookie(response: Response, value: str, *, name: str = COOKIE, secure: bool = False) -> None:
    """Set a cookie for 180 days that no script and no other site can use."""
    response.set_cookie(name, value, max_age=180 * 24 * 3600, httponly=True, samesite="strict", secure=secure)


# ---- Rates.


class Rate:
    """A rate limit: `per_second` messages on average, `burst` at once."""

    def __init__(self, per_second: float = PER_SECOND, burst: int = BURST) -> None:
        self.per_second, self._burst = per_second, float(burst)
        self._left, self._last = self._burst, time.monotonic()

    def wait(self) -> float:
        """Count a message, and return the seconds to wait before it is read."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._last) * self.per_second)
        self._last = now
        self._left -= 1
        return max(0.0, -self._left / self.per_second)


class Guesses:
    """Counts wrong guesses by address, and limits their number per minute."""

    def __init__(self, most: int = GUESSES, seconds: float = 60.0) -> None:
        self._most, self._seconds = most, seconds
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    def too_many(self, address: str) -> bool:
        """Return whether the address has to wait before its next guess."""
        since = time.monotonic() - self._seconds
        recent = [when for when in self._wrong.get(address, ()) if when > since]
        return len(recent) >= self._most

    def add(self, address: str) -> None:
        """Count a wrong guess."""
        self._wrong[address] = [*self._wrong.pop(address, [])[-self._most :], time.monotonic()]
        while len(self._wrong) > 10_000:
            self._wrong.popitem(last=False)


class Token:
    """The token of the server, with a limit on wrong guesses.

    :ivar text: the token.
    """

    def __init__(self, path: Path) -> None:
        """:param path: file of the token; a missing file is created with a new token.
        :raises InputError: the file cannot be read or written, or its token is too short or has other characters.
        """
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=0o600)
                path.write_text(new_secret() + "\n", encoding="utf-8")
            self.text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--token-file {path}: cannot be read or made ({error})") from None
        if len(self.text) < 20 or not self.text.isascii() or not self.text.isprintable() or " " in self.text:
            raise InputError(
                f"--token-file {path}: a token has at least 20 letters and digits; remove the file, and one is made"
            )
        self._guesses = Guesses()

    def known(self, given: str | None, address: str) -> bool | None:
        """Return whether a token is right; None if the address has made too many wrong guesses.

        :param given: the token, or None without a token, which does not count as a guess.
        """
        if self._guesses.too_many(address):
            return None
        right = given is not None and hmac.compare_digest(hashed(given), hashed(self.text))
        if given is not None and not right:
            self._guesses.add(address)
        return right


# ---- The guard in front of the application.


class Guard:
    """ASGI middleware: refuses other hosts and origins, requires the token, and adds `HEADERS` to each response."""

    def __init__(
        self, app: ASGIApp, *, host: str, names: Collection[str] = (), token: Token | None = None, error: Any,
        reads: bool = False,
    ) -> None:  # fmt: skip
        """:param host: the address of the server; `names` are further names of this machine.
        :param token: the token that every client needs; None for open access.
        :param error: (status, title, reason, html) -> Response.
        :param reads: whether all requests only read. Pages of any origin may then send requests, but cannot read the
            responses; at an address that others reach, any host name is accepted.
        """
        self._app, self._token, self._error, self._reads = app, token, error, reads
        self._is_here = (lambda _: True) if reads and not is_loopback(host) else names_of(host, names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, with_headers(send))
            return
        with suppress(ClientDisconnect):  # the client left before its request was complete
            await self._app(scope, receive, with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        html = "text/html" in headers.get("accept", "")
        if not self._is_here(headers.get("host", "")):
            advice = "" if self._reads else "; name it with --name"
            return self._error(421, "Another host", f"this server is not known by that name{advice}", html)
        writes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if writes and not self._reads and not same_origin(headers):
            return self._error(403, "Another site", "only pages of this server may send this", html)
        return None if self._token is None else self._asked_for_token(scope, headers, html)

    def _asked_for_token(self, scope: Scope, headers: Headers, html: bool) -> Response | None:
        assert self._token is not None
        address = address_of(scope)
        door = hashed("door " + self._token.text)
        if hmac.compare_digest(cookie_of(headers, DOOR) or "", door):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        known = self._token.known(query.get("token", [None])[0], address)
        if known is None:
            return self._error(429, "Too many guesses", "wait a minute before you try another token", html)
        if not known:
            return self._error(401, "A token is needed", "open the link that the owner of this server gave you", html)
        response = RedirectResponse(scope["path"] or "/", 303)
        set_cookie(response, door, name=DOOR, secure=scope["scheme"] in ("https", "wss"))
        return response


def address_of(scope: Scope) -> str:
    """Return the client address of a request."""
    client = scope.get("client")
    return client[0] if client else ""


def same_origin(headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from a page of the host that receives it."""
    origin = urlsplit(headers.get("origin", ""))
    return origin.scheme in ("http", "https") and bool(origin.netloc) and origin.netloc == headers.get("host")


def with_headers(send: Send) -> Send:
    """Return a `send` that adds `HEADERS` to a response."""

    async def sent(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent


class Unread(asyncio.Protocol):
    """A connection that is aborted when its client reads none of the waiting data for `UNREAD` seconds."""

    loop: asyncio.AbstractEventLoop
    transport: Any
    _reading: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look(math.inf)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._calm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def _calm(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    def _look(self, before: float) -> None:
        unread = self.transport.get_write_buffer_size()
        if unread >= before:
            self.transport.abort()
        else:
            self._reading = self.loop.call_later(UNREAD, self._look, unread)


class ImpatientSocket(Unread, WebSocketsSansIOProtocol):
    """A WebSocket that is aborted when its page does not read."""


class ImpatientProtocol(Unread, H11Protocol):
    """HTTP with a timeout for incomplete requests (`FIRST_REQUEST`) and for unread responses (`UNREAD`)."""

    _deadline: asyncio.TimerHandle | None = None
    _ended = False  # no further request is read here

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        if not self._ended:
            super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if self._ended:
            return
        state = self.conn.their_state
        if state is not SEND_BODY and (state is not IDLE or not self.conn.trailing_data[0]):
            self._disarm()
        elif self._deadline is None:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._ended = True
        self._disarm()  # the socket has its own timeout
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        self._refuse(getattr(sys.exception(), "error_status_hint", 400))  # 431: line or headers too long
        if self._deadline is None:
            self._arm()

    def _arm(self) -> None:
        self._deadline = self.loop.call_later(FIRST_REQUEST, self._give_up)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if not self._ended:
            self._refuse(408)
        self.transport.close()

    def _refuse(self, status: int) -> None:
        """Send a status, unless a response has begun. Later data is read and dropped until the client closes the
        connection; otherwise the client might not receive the status."""
        self._ended = True
        if self.transport.is_closing():
            return
        if self.conn.our_state in (IDLE, SEND_RESPONSE):
            phrase = f"{status} {HTTPStatus(status).phrase}"
            self.transport.write(f"HTTP/1.1 {phrase}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode())
        self.transport.write_eof()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
