"""A whole study in a real browser, from the link to the completion code, and the experimenter's page beside it."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gumption.scripts.people.study.design import design
from gumption.scripts.people.study.files import read
from gumption.scripts.people.study.path import stages
from tests.scripts.people.study.served import StudyServer, in_process, serving, write_study
from tests.scripts.people.web.browser import NARROW, Visitor, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as found:
        yield found


def opened(visitor: Visitor, path: str) -> "Page":
    page = visitor.page()
    page.goto(f"http://{visitor.address}{path}")
    page.wait_for_selector("h1")
    return page


def heading(page: "Page", text: str) -> None:
    page.wait_for_selector(f"h1:text-is('{text}')")


def check_page(page: "Page") -> None:
    """Axe finds nothing serious, and the page fits a narrow window."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS] == []
    before = page.viewport_size
    page.set_viewport_size(NARROW)  # pyright: ignore[reportArgumentType]
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.set_viewport_size(before)  # pyright: ignore[reportArgumentType]


def choose(page: "Page", first: str | None, second: str | None) -> None:
    """Choose two cards, one after the other, or one of the two."""
    if first is not None:
        page.locator(f'.words-card[data-word="{first}"]').click()
        page.wait_for_selector(".words-card[aria-pressed=true]")
    if second is not None:
        page.locator(f'.words-card[data-word="{second}"]').click()


def sign_in(page: "Page", name: str = "Ann") -> None:
    page.fill("#name", name)
    page.dblclick("#begin")  # which is one participant all the same
    heading(page, "Before you begin")


def exported(server: StudyServer) -> dict[str, list[dict[str, str]]]:
    import http.client

    connection = http.client.HTTPConnection(server.address)
    connection.request("GET", "/experimenter/export", headers={"Authorization": f"Bearer {server.token}"})
    archive = zipfile.ZipFile(io.BytesIO(connection.getresponse().read()))
    connection.close()
    return {
        Path(name).stem: list(csv.DictReader(io.StringIO(archive.read(name).decode(), newline="")))
        for name in archive.namelist()
        if name.endswith(".csv")
    }


def test_the_whole_wordcraft_study_from_the_link_to_the_code(browser: "Browser", tmp_path: Path) -> None:
    content = read("wordcraft-human").model_dump(mode="json", by_alias=True, exclude_none=True)
    file = tmp_path / "linked.json"
    file.write_text(json.dumps({**content, "sign_in": "link"}), encoding="utf-8")
    study = read(file)
    tasks = [stage for stage in stages(study, design(study, 0)) if stage.kind == "task"]
    assert len(tasks) == 80
    from gumption.scripts.people.study.tasks import begin

    with in_process(file, tmp_path / "data", links=1) as server:
        visitor = Visitor(browser, server.address)
        page = opened(visitor, f"/study/s/{server.links[0]}")
        page.click("#begin")
        heading(page, "Before you begin")
        page.check("#agree")
        page.click("#next")
        for text in ("You see words on a table", "You first play 40 tasks"):
            page.wait_for_selector(f"text={text}")
            page.click("#next")
        page.check("#how_many-1")
        page.check("#twice-0")
        page.click("#next")
        for number, stage in enumerate(tasks):
            part, k = ("Training", number) if number < 40 else ("Test", number - 40)
            if number == 40:
                page.wait_for_selector("text=Now come the tasks that count")
                page.click("#next")
            heading(page, f"{part} task {k + 1} of 40")
            assert stage.task is not None
            env, _ = begin(stage.task)
            first, second, _ = env.tasks[int(env.batch.task_index[0])].recipes[0]
            if number in (3, 50):  # a page that is loaded again in the middle of a task goes on there
                choose(page, first, None)
                page.reload()
                page.wait_for_selector(".words-card[aria-pressed=true]")
                first = None
            if number == 7:  # in another tab, too
                page = opened(visitor, "/study")
                heading(page, "Training task 8 of 40")
            choose(page, first, second)
            if number < 40:
                page.wait_for_selector("#end:has-text('Solved')")
                page.click("#next:visible")
        heading(page, "Some questions")
        for box in ("#played-0", "#english-1", "#difficulty-2"):
            page.check(box)
        page.fill("#strategy-text", "by common sense")
        page.click("#next")
        heading(page, "The end")
        code = page.inner_text("#code")
        visitor.leave()
        found = exported(server)
    [row] = found["participants"]
    assert (row["state"], row["completion_code"], row["strategy"]) == ("done", code, "by common sense")
    assert (row["training_success"], row["test_success"], row["test_tasks"]) == ("1.0", "1.0", "40")
    keys = [(one["stage"], one["number"]) for one in found["actions"]]
    assert len(keys) == len(set(keys)) == 160


def test_the_whole_probsol_study_from_the_name_to_the_code(browser: "Browser", tmp_path: Path) -> None:
    """In real time; a plan is told before each task, while its table is covered."""
    moved = "before => document.querySelector('#code') || document.querySelector('#pages').innerText !== before"
    with in_process("probsol-goals", tmp_path) as server:
        visitor = Visitor(browser, server.address)
        page = opened(visitor, "/study")
        sign_in(page)
        plans = tables = 0
        while not page.locator("#code").count():
            page.wait_for_selector("#next:visible, #check:visible")
            before = page.inner_text("#pages")
            table = page.locator("#check").count()
            for box in ("#agree", "#free-1", "#check-0", "#plan-0", "#physics-0"):
                if page.locator(box).count():
                    page.check(box)
                    plans += box == "#plan-0"
                    assert not table, "nothing is asked beside a table"
            if table:
                tables += 1
                page.click("#check")
                page.wait_for_selector("#end:visible")
            page.click("#next:visible")
            page.wait_for_function(moved, arg=before)
        code = page.inner_text("#code")
        visitor.leave()
        found = exported(server)
    assert (plans, tables) == (12, 14)  # two of them for practice
    [row] = found["participants"]
    assert (row["state"], row["completion_code"], row["goals_tasks"]) == ("done", code, "12")
    assert [one["action"] for one in found["actions"]] == ['["check"]'] * 14


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_page_can_be_read(browser: "Browser", tmp_path: Path, scheme: Any) -> None:
    with in_process(write_study(tmp_path, practice=[]), tmp_path / "data") as server:
        visitor = Visitor(browser, server.address, color_scheme=scheme)
        page = opened(visitor, "/study")
        check_page(page)
        sign_in(page)
        check_page(page)
        page.click("#next")
        page.wait_for_selector("text=Without your consent the study does not begin.")
        page.check("#agree")
        page.click("#next")
        heading(page, "Instructions")
        check_page(page)
        page.click("#next")
        page.wait_for_selector("text=Take your time")
        page.click("#next")
        heading(page, "Did we explain it well?")
        check_page(page)
        page.check("#how_many-0")
        page.click("#next")
        page.wait_for_selector("text=One answer is not right")
        assert page.inner_text("#tries") == "Tries left: 2"
        page.check("#how_many-1")
        page.click("#next")
        heading(page, "Training task 1 of 2")
        page.wait_for_selector(".words-card")
        check_page(page)
        page.keyboard.press("1")  # by keys alone
        page.wait_for_selector(".words-card[aria-pressed=true]")
        page.keyboard.press("1")
        page.wait_for_selector("#next:visible")
        check_page(page)
        desk = opened(visitor, f"/experimenter#{server.token}")
        desk.wait_for_selector("td")
        assert server.token not in desk.url
        desk.click("[data-participant='1']")
        desk.click("text=Replay")
        desk.wait_for_selector("#replay .words-card")
        desk.click("text=Forward")
        desk.wait_for_selector("text=Action 1 of 2")
        check_page(desk)
        page.click("#withdraw")
        page.click("#withdraw-now")
        heading(page, "You have withdrawn")
        check_page(page)
        page.click("text=Next participant on this computer")
        heading(page, "Welcome")
        visitor.leave()


@pytest.mark.parametrize("touch", [False, True])
def test_marks_and_options_show_what_was_chosen_and_no_more(browser: "Browser", tmp_path: Path, touch: bool) -> None:
    """A mark goes when the answer changes; an option under the pointer is not that which was chosen."""
    questions = [
        {"kind": "choice", "name": name, "text": "Which?", "options": ["a", "b", "c"], "right": "b"} for name in "xy"
    ]
    study = write_study(tmp_path, practice=[], quiz={"questions": questions})
    with in_process(study, tmp_path / "data") as server:
        visitor = Visitor(browser, server.address, has_touch=touch, is_mobile=touch)
        page = opened(visitor, "/study")
        sign_in(page)
        page.check("#agree")
        page.click("#next")
        for title in ("Instructions", "Please read"):
            heading(page, title)
            page.click("#next")
        heading(page, "Did we explain it well?")
        page.click("#next")
        page.wait_for_selector("text=Some questions are still open")
        assert page.locator("[data-wrong]").count() == 2
        page.check("#x-0")
        assert (page.locator("[data-wrong]").count(), page.locator("#trouble").count()) == (1, 1)
        page.check("#y-1")
        assert (page.locator("[data-wrong]").count(), page.locator("#trouble").count()) == (0, 0)
        page.click("#next")
        page.wait_for_selector("text=One answer is not right")
        page.check("#x-1")
        assert (page.locator("[aria-invalid=true]").count(), page.locator("#trouble").count()) == (0, 0)

        def look(option: str) -> list[str]:
            style = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).borderColor]"
            return page.locator(f"label[for={option}]").evaluate(style)

        page.locator("label[for=x-2]").hover()
        chosen, under, other = look("x-1"), look("x-2"), look("x-0")
        assert chosen not in (under, other)
        assert chosen[1] != under[1], "the frame tells what was chosen"
        assert (under == other) is touch
        page.locator("label[for=x-1]").hover()
        assert look("x-1") == chosen
        desk = opened(visitor, f"/experimenter#{server.token}")
        button, table = desk.locator("[data-participant='1']"), desk.locator(".scroll").first
        assert button.bounding_box()["x"] >= table.bounding_box()["x"], "nothing of it is clipped"
        visitor.leave()


def test_a_page_left_while_the_server_is_gone_is_sent_when_it_is_back(browser: "Browser", tmp_path: Path) -> None:
    study = write_study(tmp_path, practice=[])
    with serving(study, tmp_path / "data") as server:
        visitor = Visitor(browser, server.address)
        page = opened(visitor, "/study")
        sign_in(page)
        page.check("#agree")
        server.kill()
        page.wait_for_selector("text=Offline")
        page.click("#next")
    with serving(study, tmp_path / "data", "--port", str(server.port)) as again:
        heading(page, "Instructions")
        [row] = again.ask("/experimenter/table")[1]["participants"]  # one, although Begin was pressed twice
        assert row["stage"] == 1
        visitor.leave(cut=True)


def test_names_and_answers_are_shown_as_text(browser: "Browser", tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    with in_process(write_study(tmp_path, practice=[], title=evil), tmp_path / "data") as server:
        visitor = Visitor(browser, server.address)
        page = opened(visitor, "/study")
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        sign_in(page, evil)
        assert page.inner_text("#title").lower() == evil
        desk = opened(visitor, f"/experimenter#{server.token}")
        desk.wait_for_selector("td")
        assert desk.inner_text("#title") == evil
        assert desk.locator("img").count() == 0
        visitor.leave()
