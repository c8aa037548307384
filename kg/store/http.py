"""Requests to one HTTP address after another over connections that are kept: ten times as many in a second."""

import http.client
import io
import time
import urllib.request
from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

_REFUSAL_BYTES = 1 << 16  # of what a server says when it refuses


@dataclass
class Refused(Exception):
    """The server answered with another status than success; `target` is where it sends on to, if it does."""

    code: int
    reason: str
    body: bytes
    target: str | None


class TooLong(Exception):
    """The answer has more bytes than it may have."""


class Address:
    """An http or https address; a user and a password in it are sent as basic authentication and are not in `url`.

    The proxy that the environment names is used (http_proxy, https_proxy, no_proxy). Threads may share it. Raises
    ValueError for an address that is none.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.credentials: tuple[str, str] | None = None
        if parts.username is not None:
            self.credentials = unquote(parts.username), unquote(parts.password or "")
        self._host = parts.netloc.rpartition("@")[2]
        self.origin = parts.scheme, self._host.lower()  # two addresses with the same one are at the same server
        self.url = urlunsplit(parts._replace(netloc=self._host))
        self._secure = parts.scheme == "https"
        self._target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        self._idle: list[http.client.HTTPConnection] = []
        proxy = urllib.request.getproxies().get(parts.scheme)
        self._proxy = None
        if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
            self._proxy = urlsplit(proxy if "//" in proxy else f"//{proxy}").netloc
            if not self._secure:  # a proxy is asked for the whole address
                self._target = self.url

    def post(
        self, body: bytes, headers: dict[str, str], silence: float, limit: float | None, most: int
    ) -> tuple[bytes, str]:
        """The body and the media type of the answer, which may have `most` bytes. Redirects are not followed.

        Raises Refused; TooLong; OSError (TimeoutError after `silence` seconds without a byte, or when `limit` seconds
        are over) or http.client.HTTPException where none comes. A request may be sent twice when a kept connection has
        ended.
        """
        if self.credentials is not None:
            headers = headers | {"Authorization": "Basic " + b64encode(":".join(self.credentials).encode()).decode()}
        deadline = None if limit is None else time.monotonic() + limit
        while True:
            kept = self._idle.pop() if self._idle else None
            connection = kept or self._connect(silence)
            try:
                if kept is not None and kept.sock is not None:
                    kept.sock.settimeout(silence)
                connection.request("POST", self._target, body, headers)
                response = connection.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                connection.close()
                if kept is not None:  # the server had ended it in the meantime
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            try:
                good = 200 <= response.status < 300
                answer = _read(response, deadline, most if good else _REFUSAL_BYTES, whole=good)
            except BaseException:
                connection.close()
                raise
            if response.will_close or not response.isclosed():
                connection.close()
            else:
                self._idle.append(connection)
            if not good:
                target = response.headers["Location"] if 300 <= response.status < 400 else None
                raise Refused(response.status, response.reason, answer, target)
            return answer, response.headers.get_content_type() if "Content-Type" in response.headers else ""

    def close(self) -> None:
        """End the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        if self._proxy is None:
            return kind(self._host, timeout=timeout)
        connection = kind(self._proxy, timeout=timeout)
        if self._secure:
            connection.set_tunnel(self._host)
        return connection


def _read(response: http.client.HTTPResponse, deadline: float | None, most: int, *, whole: bool) -> bytes:
    """The body; where it has more than `most` bytes those, or TooLong when it has to be `whole`."""
    answer = io.BytesIO()
    # A server that sends a little now and then is never silent: the clock is looked at for each piece.
    while part := response.read1(min(most - answer.tell() + 1, 1 << 20)):
        answer.write(part)
        if answer.tell() > most:
            if whole:
                raise TooLong
            return answer.getvalue()
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("timed out")
    if response.length:
        raise http.client.IncompleteRead(answer.getvalue()[:0], response.length)
    response.close()  # an answer without a body does not end by itself
    return answer.getvalue()
