"""The pictures of the page of studies: what a participant plans, and the experimenter's page.

python -m tests.study_figures     (in a checkout, with chromium)
"""

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.scripts.people.study.files import find, read
from gumption.scripts.people.study.simulate import simulate
from tests.scripts.people.study.served import StudyServer, in_process, to_kind, write_study
from tests.scripts.people.web.browser import Visitor, chromium

from .web_figures import FIGURES, save

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZE = {"width": 1100, "height": 860}


def plan(browser: "Browser", folder: Path) -> None:
    """The page before a task: its goal, and how a participant will try."""
    with in_process(find("probsol-goals"), folder) as server:
        visitor = Visitor(browser, server.address, viewport=SIZE)
        page = visitor.page()
        page.goto(f"http://{server.address}/study")
        page.fill("#name", "Ann")
        page.click("#begin")
        page.check("#agree")
        page.click("#next")
        for text in ("They are magnets", "Each task has a goal"):
            page.wait_for_selector(f"text={text}")
            page.click("#next")
        for number in (1, 2):
            page.wait_for_selector(f"h1:text-is('Practice task {number} of 2')")
            page.click("button:text-is('Check')")
            page.click("#next:visible")
        page.check("#free-1")
        page.check("#check-0")
        page.click("#next")
        page.wait_for_selector("text=Your goal")
        page.check("#plan-5")
        page.mouse.move(0, 0)
        save(page.screenshot(), FIGURES / "study-plan.png")
        visitor.leave()


def desk(browser: "Browser", folder: Path) -> None:
    """The experimenter's page: participants, and an episode step by step."""
    file = write_study(folder, practice=[], title="Which words go together?")
    with in_process(file, folder / "data") as server:
        with ThreadPoolExecutor(1) as apart:  # Playwright has a loop of its own in this thread
            for policy, players in (("oracle", 3), ("random", 2)):
                sent = simulate(read(file), f"http://{server.address}", players, policy)
                apart.submit(asyncio.run, sent).result()
        for kind in ("quiz", "task"):
            begin(server, kind)
        visitor = Visitor(browser, server.address, viewport=SIZE)
        page = visitor.page()
        page.goto(f"http://{server.address}/experimenter#{server.token}")
        page.click("[data-participant='2']")
        page.locator("text=Replay").last.click()
        page.wait_for_selector("#replay .words-card")
        page.click("text=Forward")
        page.wait_for_selector("text=Action 1 of 2")
        page.mouse.move(0, 0)
        save(page.screenshot(full_page=True), FIGURES / "study-experimenter.png")
        visitor.leave()


def begin(server: StudyServer, kind: str) -> None:
    """A participant who is at a page of this kind."""
    _, cookie, _ = server.join(name="Ann")
    with server.page(cookie) as page:
        to_kind(page, kind)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        plan(browser, Path(folder) / "plan")
        (Path(folder) / "desk").mkdir()
        desk(browser, Path(folder) / "desk")
