"""A whole study by keys alone, and all of it heard: participants, and the experimenter beside them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.scripts.people.study.served import in_process, write_study
from tests.scripts.people.web.assistive import check_tree, listen, reach, walk
from tests.scripts.people.web.browser import Visitor, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:commonsense-facts")]
HELP = {"kg": "commonsense-facts", "rules": "linked", "price": 0.25, "at_most": 1}


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as found:
        yield found


def heading(page: "Page", text: str) -> None:
    """A page has come: its heading has the focus, so that it is read first."""
    page.wait_for_selector(f"h1:text-is('{text}')")
    page.wait_for_selector("h1:focus")
    check_tree(page)
    walk(page)


def go_on(page: "Page") -> None:
    reach(page, "#next")
    page.keyboard.press("Enter")


def mix(page: "Page") -> None:
    """Choose the first card twice, by its key."""
    page.wait_for_selector(".words-card")
    page.keyboard.press("1")
    page.wait_for_selector(".words-card[aria-pressed=true]")
    page.keyboard.press("1")


def test_a_study_by_keys_alone_and_by_ear(browser: "Browser", tmp_path: Path) -> None:
    file = write_study(tmp_path, blocks__0__help=HELP, blocks__0__tasks=1, blocks__1__tasks=1)
    with in_process(file, tmp_path / "data") as server:
        visitor = Visitor(browser, server.address)
        visitor.context.set_default_timeout(60_000)
        page = visitor.page()
        page.goto(f"http://{server.address}/study")
        heading(page, "Welcome")
        reach(page, "#name")
        page.keyboard.type("Ann")
        page.keyboard.press("Enter")
        heading(page, "Before you begin")
        heard = listen(page)
        go_on(page)
        page.wait_for_selector("#trouble")
        assert page.evaluate("document.activeElement.id") == "agree", "the field that is missing"
        page.keyboard.press("Space")
        go_on(page)
        heading(page, "Instructions")
        go_on(page)
        heading(page, "Please read")
        go_on(page)
        heading(page, "Practice task 1 of 1")
        mix(page)
        page.wait_for_selector("#end:visible")
        check_tree(page)
        assert page.evaluate("document.activeElement.id") == "next"
        page.keyboard.press("Enter")
        heading(page, "Did we explain it well?")
        reach(page, "#how_many-0")
        page.keyboard.press("Space")
        go_on(page)
        page.wait_for_selector("#trouble")
        assert page.evaluate("document.activeElement.name") == "how_many"
        page.keyboard.press("ArrowDown")
        go_on(page)
        heading(page, "Training task 1 of 1")
        reach(page, "#ask")
        page.keyboard.press("Enter")
        page.wait_for_selector("#help table", timeout=120_000)
        assert page.evaluate("document.activeElement.textContent") == "What the graph says"
        check_tree(page)
        walk(page)
        mix(page)
        page.wait_for_selector("#next:focus")
        page.keyboard.press("Enter")
        heading(page, "Please read")
        go_on(page)
        heading(page, "Test task 1 of 1")
        reach(page, "#withdraw")  # and back: a slip deletes nothing
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.textContent").startswith("All your data will be deleted")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "withdraw"
        mix(page)
        heading(page, "Some questions")
        reach(page, "#hard-0")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        reach(page, "#how-text")
        page.keyboard.type("by trying")
        go_on(page)
        heading(page, "The end")
        assert page.inner_text("#code")
        told = heard()
        for text in ("Without your consent", "One answer is not right", "Reward −0.1", "makes"):
            assert any(text in one for one in told), (text, told)
        experimenter(visitor, server.address, server.token)
        visitor.errors = [one for one in visitor.errors if "401" not in one]  # the wrong token
        visitor.leave()


def experimenter(visitor: Visitor, address: str, token: str) -> None:
    """The experimenter's page: the token is refused and taken, then the table, a participant and a replay."""
    page = visitor.page()
    page.goto(f"http://{address}/experimenter")
    page.wait_for_selector("#token")
    check_tree(page)
    heard = listen(page)
    reach(page, "#token")
    page.keyboard.type("wrong" * 8)
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble p")
    assert page.locator("#entry").is_visible()
    page.locator("#token").fill("")
    reach(page, "#token")
    page.keyboard.type(token)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-participant='1']")
    check_tree(page)
    walk(page)
    before = page.locator("#people tbody tr").element_handle()
    reach(page, "[data-participant='1']")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:focus:text-is('Participant 1')")
    check_tree(page)
    reach(page, "[aria-label^='Replay ']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#replay .words-card")
    page.wait_for_selector("button:focus:text-is('Forward')")
    check_tree(page)
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Action 1 of 2")
    walk(page)
    assert page.evaluate("([row]) => row.isConnected", [before]), "the table is renewed in place"
    told = heard()
    for text in ("1 participant: 1 done", "Action 1 of 2"):
        assert any(text in one for one in told), (text, told)


def test_the_time_that_is_left_is_heard(browser: "Browser", tmp_path: Path) -> None:
    file = write_study(tmp_path, practice=[], quiz=None, instructions=["Play."], blocks__0__time_limit_s=33)
    with in_process(file, tmp_path / "data") as server:
        visitor = Visitor(browser, server.address)
        page = visitor.page()
        page.goto(f"http://{server.address}/study")
        page.fill("#name", "Ann")
        page.keyboard.press("Enter")
        page.check("#agree")
        heard = listen(page)
        page.click("#next")
        page.wait_for_selector("text=Play.")
        page.click("#next")
        page.wait_for_selector("#clock")
        page.wait_for_selector("[role=status]:text-is('10 seconds are left')", state="attached", timeout=60_000)
        assert "10 seconds are left" in heard()
        visitor.leave()
