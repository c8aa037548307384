"""A real browser: Debian's chromium, driven by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = Path("/usr/bin/chromium")
WIDE, NARROW = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
#: Words of console messages about a connection that a test has cut itself.
CUT = ("WebSocket connection to", "net::ERR_CONNECTION_REFUSED")


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A browser without windows; the test is skipped where there is none, and says how to install it."""
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if not CHROMIUM.is_file():
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A person at a server, with cookies and what the browser keeps; its pages ask nobody else for anything.

    :ivar errors: what the consoles of its pages complained about.
    """

    def __init__(self, browser: "Browser", address: str, **given: Any) -> None:
        self.address, self.errors, self.elsewhere = address, [], []
        self.context: BrowserContext = browser.new_context(viewport=given.pop("viewport", WIDE), **given)
        self.context.set_default_timeout(20_000)

    def page(self) -> "Page":
        """An empty tab."""
        page = self.context.new_page()
        page.on("request", lambda request: self._look(request.url))
        page.on("websocket", lambda socket: self._look(socket.url))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        return page

    def open(self, path: str) -> "Page":
        """A tab with a page; one to play at shows its episode."""
        page = self.page()
        page.goto(f"http://{self.address}{path}")
        if path.startswith("/play/"):
            page.wait_for_selector("#player:not([aria-busy])")
        else:
            page.wait_for_selector("#world-list:not([aria-busy])")
        return page

    def _look(self, url: str) -> None:
        if not url.startswith((f"http://{self.address}/", f"ws://{self.address}/", "data:")):
            self.elsewhere.append(url)

    def leave(self, cut: bool = False) -> None:
        """Close all pages, and check that they were in order.

        :param cut: the test cut connections, about which a console complains.
        """
        self.context.close()
        errors = [error for error in self.errors if not (cut and any(word in error for word in CUT))]
        assert (errors, self.elsewhere) == ([], [])
