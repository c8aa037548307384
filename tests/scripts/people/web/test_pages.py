"""The pages in a real browser: worlds are played by mouse and by keys, and reloads and crashes lose nothing."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gumption.scripts.people.wordcraft import VIEW as WORDS
from tests.scripts.people.web.browser import NARROW, Visitor, chromium
from tests.scripts.people.web.homes import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TASK = "/play/wordcraft?seed=7"
PAGES = {
    "home": "/",
    "task": TASK,
    "open game": "/play/wordcraft?env=gumption/LittleAlchemy-v0&seed=1",
    "maze": "/play/halma?seed=1",
    "stream": "/play/gradual?tasks=micro5.1,micro5.2&seed=1",
    "table": "/play/segar?seed=1",
    "invisible": "/play/segar?env=gumption/Invisiball-v0&seed=1",
}
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as found:
        yield found


@pytest.fixture
def visitor(browser: "Browser", home: Served) -> Iterator[Visitor]:
    one = Visitor(browser, home.address)
    yield one
    one.leave()


def steps(page: "Page", count: int) -> None:
    """Wait until so many steps are made and saved."""
    from playwright.sync_api import expect

    expect(page.locator("#steps")).to_have_text(str(count), timeout=20_000)
    page.locator("#state[data-state=saved]").wait_for()


def winning_pair(**settings: Any) -> tuple[str, str]:
    """Two words on the table that make the goal."""
    env, _ = WORDS.begin(**settings)
    first, second, _ = env.tasks[int(env.batch.task_index[0])].recipes[0]
    return first, second


def card(page: "Page", word: str) -> Any:
    return page.locator(f'.words-card[data-word="{word}"]')


# ---- The worlds are played.


@pytest.mark.slow
def test_a_task_is_won_by_dragging(visitor: Visitor) -> None:
    page = visitor.open(TASK)
    first, second = winning_pair(seed=7)
    card(page, first).drag_to(card(page, second))
    page.get_by_role("heading", name="Solved").wait_for()
    steps(page, 2)
    assert page.locator("#reward").inner_text() == "1"
    assert "that is the goal" in page.locator("#told").inner_text()


@pytest.mark.slow
def test_a_task_is_won_by_number_keys(visitor: Visitor) -> None:
    page = visitor.open(TASK)
    words = page.locator(".words-card").evaluate_all("all => all.map((one) => one.dataset.word)")
    for word in winning_pair(seed=7):
        page.keyboard.press(str((words.index(word) + 1) % 10))
    page.get_by_role("heading", name="Solved").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Play again"
    page.keyboard.press("Enter")
    page.locator("#end").wait_for(state="hidden")
    steps(page, 0)


@pytest.mark.slow
def test_a_task_is_lost_by_clicks_and_arrow_keys(visitor: Visitor) -> None:
    page = visitor.open(TASK)
    words = page.locator(".words-card")
    words.first.click()
    steps(page, 1)
    assert words.first.get_attribute("aria-pressed") == "true"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Not solved").wait_for()
    steps(page, 2)


@pytest.mark.slow
def test_a_card_that_is_dropped_beside_the_others_is_not_chosen(visitor: Visitor) -> None:
    page = visitor.open(TASK)
    box = page.locator(".words-card").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 20, box["y"] - 200, steps=5)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert page.locator('.words-card[aria-pressed="true"]').count() == 0
    steps(page, 0)


@pytest.mark.slow
def test_in_the_open_game_a_thing_is_found_and_made(visitor: Visitor) -> None:
    page = visitor.open(PAGES["open game"])
    before = page.locator(".words-card").count()
    for word in ("earth", "water"):
        page.get_by_label("Find a thing").fill(word)
        assert page.locator(".words-card:visible").count() >= 1
        page.keyboard.press("Enter")
    steps(page, 2)
    page.locator(".words-card").nth(before).wait_for()
    assert page.locator(".words-card[data-made]").count() >= 1
    assert page.locator("#told").inner_text().startswith("earth + water makes")


@pytest.mark.slow
def test_a_move_in_the_maze_is_put_together(visitor: Visitor) -> None:
    page = visitor.open(PAGES["maze"])
    page.get_by_role("button", name="left").click()
    page.keyboard.press("1")
    page.keyboard.press("3")
    page.keyboard.press("Backspace")
    assert page.locator(".halma-sum").inner_text() == "left 1"
    page.get_by_role("button", name="Move").click()
    steps(page, 1)
    assert page.locator("#told").inner_text() == "Moved"
    page.keyboard.press("ArrowRight")
    for key in ("3", "3", "3", "3", "Enter"):
        page.keyboard.press(key)
    steps(page, 2)
    assert "a wall is in the way" in page.locator("#told").inner_text()


@pytest.mark.slow
def test_the_stream_is_answered(visitor: Visitor) -> None:
    page = visitor.open(PAGES["stream"])
    page.get_by_label("Your answer").fill("x")
    page.keyboard.press("Enter")
    steps(page, 1)
    assert "x" in page.locator(".stream-out").last.inner_text() + page.locator(".stream-out").first.inner_text()
    page.get_by_label("Your answer").fill("€")
    page.get_by_role("button", name="Say").click()
    page.get_by_text("is no byte").wait_for()
    steps(page, 1)


@pytest.mark.slow
def test_the_ball_is_pushed_by_mouse_and_by_keys(visitor: Visitor) -> None:
    page = visitor.open(PAGES["table"])
    picture = page.locator(".pull-picture")
    seen = picture.get_attribute("src")
    box = picture.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4, steps=4)
    page.mouse.up()
    steps(page, 1)
    assert picture.get_attribute("src") != seen
    for key in ("ArrowLeft", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    steps(page, 2)
    page.keyboard.press("Space")
    steps(page, 3)
    assert "47 pushes or waits left" in page.locator("#drawing").inner_text()


@pytest.mark.slow
def test_the_picture_tells_nothing_of_a_ball_that_cannot_be_seen(visitor: Visitor) -> None:
    page = visitor.open(PAGES["invisible"])
    assert "golf ball" in (page.locator(".pull-picture").get_attribute("alt") or "")
    page.keyboard.press("Space")
    steps(page, 1)
    assert "golf ball" not in (page.locator(".pull-picture").get_attribute("alt") or "")
    assert not page.locator(".pull-arrow").is_visible()


@pytest.mark.slow  # a server of its own
def test_a_world_without_a_view_is_played_by_its_choices(browser: "Browser", tmp_path: Path) -> None:
    sixth = {"GUMPTION_WORLDS": "sixth.shelf", "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    with served(tmp_path, env=sixth) as home:
        visitor = Visitor(browser, home.address)
        page = visitor.open("/play/shelf")
        page.get_by_role("group", name="Choices").get_by_role("button").first.wait_for()
        page.keyboard.press("1")
        steps(page, 1)
        page.get_by_role("button", name="Play again").click()
        steps(page, 0)
        page.get_by_role("group", name="Choices").get_by_role("button").last.click()
        page.locator("#end").wait_for()
        visitor.leave()


# ---- Nothing is lost, and nothing is made twice.


def test_a_reload_in_the_middle_goes_on(visitor: Visitor) -> None:
    page = visitor.open(TASK)
    page.locator(".words-card").nth(3).click()
    steps(page, 1)
    page.reload()
    steps(page, 1)
    assert page.locator('.words-card[aria-pressed="true"]').count() == 1


@pytest.mark.slow
def test_the_newer_tab_plays_and_the_older_one_is_told(visitor: Visitor) -> None:
    older, newer = visitor.open(TASK), visitor.open(TASK)
    older.get_by_text("A newer window plays this episode").wait_for()
    newer.locator(".words-card").first.click()
    steps(newer, 1)
    older.locator(".words-card").first.click()
    older.get_by_role("button", name="Play here").click()
    steps(older, 1)
    newer.get_by_text("A newer window plays this episode").wait_for()


def dropping(page: "Page", drops: Callable[[dict[str, Any]], bool]) -> None:
    """Let messages of the page's socket get lost on their way."""

    def join(route: Any) -> None:
        server = route.connect_to_server()
        route.on_message(lambda text: drops(json.loads(text)) or server.send(text))
        server.on_message(lambda text: drops(json.loads(text)) or route.send(text))

    page.route_web_socket("**/ws", join)


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["the answer", pytest.param("the action", marks=pytest.mark.slow)])
def test_an_action_that_was_not_acknowledged_is_sent_again_on_a_later_visit(visitor: Visitor, lost: str) -> None:
    page = visitor.page()
    drops = {
        "the action": lambda message: message["type"] == "act",
        "the answer": lambda message: message["type"] == "shown" and message["number"] == 1,
    }
    dropping(page, drops[lost])
    page.goto(f"http://{visitor.address}{TASK}")
    page.locator(".words-card").first.click()
    page.locator("#state[data-state=sending]").wait_for()
    page.close()
    later = visitor.open(TASK)
    steps(later, 1)
    later.reload()
    steps(later, 1)


@pytest.mark.slow  # a server is started three times
def test_a_server_that_is_killed_and_started_again_goes_on(browser: "Browser", tmp_path: Path) -> None:
    with served(tmp_path) as home:
        visitor, port = Visitor(browser, home.address), home.port
        page = visitor.open(PAGES["maze"])
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        steps(page, 1)
        panel = page.locator(".halma-panel").inner_text()
        home.kill()
        page.get_by_text("Offline").wait_for()
        for key in ("ArrowRight", "1", "Enter"):
            page.keyboard.press(key)
        page.get_by_text("Offline: 1 action kept here").wait_for()
    with served(tmp_path, "--port", str(port)) as home:
        steps(page, 2)
        assert page.locator(".halma-panel").inner_text() != panel
        page.reload()
        steps(page, 2)
        home.kill()
        page.get_by_text("Offline").wait_for()
        page.close()
    with served(tmp_path, "--port", str(port)):
        steps(visitor.open(PAGES["maze"]), 2)
        visitor.leave(cut=True)


@pytest.mark.slow
def test_bad_settings_are_told(visitor: Visitor) -> None:
    page = visitor.page()
    page.goto(f"http://{visitor.address}/play/wordcraft?depth=99")
    page.get_by_role("alert").get_by_text("depth").wait_for()
    page.goto(f"http://{visitor.address}/play/wordcraft?deep=1")
    page.get_by_role("alert").get_by_text("deep").wait_for()


def test_an_unknown_page_is_told_and_leads_home(visitor: Visitor) -> None:
    page = visitor.page()
    answer = page.goto(f"http://{visitor.address}/play/nowhere")
    assert answer is not None
    assert answer.status == 404
    assert page.get_by_role("heading", level=1).inner_text() == "Not found"
    assert serious(page) == []
    page.get_by_role("link", name="To the home page").click()
    page.get_by_role("heading", name="Worlds", exact=True).wait_for()
    visitor.errors = [error for error in visitor.errors if "404" not in error]  # that of the page itself


# ---- Looks.


def test_the_home_is_loaded_with_all_worlds(visitor: Visitor) -> None:
    page = visitor.open("/")
    assert page.locator("#world-list > li").count() >= 5
    assert page.get_by_text("There are no runs in this folder yet").is_visible()


@pytest.mark.slow  # a server of its own
def test_runs_are_listed(browser: "Browser", tmp_path: Path) -> None:
    run = tmp_path / "runs" / "<b>first</b>"
    run.mkdir(parents=True)
    (run / "config.json").write_text('{"world": "halma"}')
    with served(tmp_path / "home", "--runs", str(tmp_path / "runs")) as home:
        visitor = Visitor(browser, home.address)
        row = visitor.open("/").get_by_role("row").nth(1)
        assert row.inner_text().split("\t")[:3] == ["<b>first</b>", "HALMA", "going"]
        visitor.leave()


@pytest.mark.slow
def test_every_world_is_opened_from_the_home(visitor: Visitor) -> None:
    page = visitor.open("/")
    page.get_by_role("link", name="PuttPuttNegDist").click()
    page.wait_for_selector("#player:not([aria-busy])")
    assert page.locator('#variants [aria-current="page"]').inner_text() == "PuttPuttNegDist"
    page.get_by_role("link", name="gumption").click()
    page.get_by_role("link", name="Play HALMA").click()
    page.get_by_role("heading", name="HALMA").wait_for()


def serious(page: "Page") -> list[tuple[str, str]]:
    """What axe finds that keeps people from using the page: the rule, and an element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]


def check_looks(browser: "Browser", home: Served, name: str, scheme: str) -> None:
    """A page in one scheme: axe finds nothing serious, and it fits a narrow window and one at 200 % zoom."""
    visitor = Visitor(browser, home.address, color_scheme=scheme)
    page = visitor.open(PAGES[name])
    assert serious(page) == []
    for size in (NARROW, {"width": 600, "height": 450}):  # the latter is 1200 pixels at 200 %
        page.set_viewport_size(size)  # pyright: ignore[reportArgumentType]
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], size
    assert serious(page) == []
    visitor.leave()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [name if name == "home" else pytest.param(name, marks=pytest.mark.slow) for name in PAGES]
)
def test_a_page_fits_and_can_be_read(browser: "Browser", home: Served, name: str, scheme: str) -> None:
    check_looks(browser, home, name, scheme)


@pytest.mark.slow
def test_motion_is_left_out_where_it_is_not_wanted(browser: "Browser", home: Served) -> None:
    visitor = Visitor(browser, home.address, reduced_motion="reduce")
    page = visitor.open(TASK)
    assert page.locator(".words-card").first.evaluate("one => getComputedStyle(one).transitionDuration") == "0s"
    visitor.leave()


@pytest.mark.slow
def test_the_home_is_used_by_keyboard_alone(visitor: Visitor) -> None:
    page = visitor.open("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").bounding_box()["y"] >= 0  # pyright: ignore[reportOptionalSubscript]
    names = []
    for _ in range(12):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent.trim()"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert "LittleAlchemy" in names


def tab_to(page: "Page", name: str) -> None:
    """Press Tab until an element has the focus, which can be seen at every stop."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        assert focused.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
        assert focused.bounding_box() is not None
        if name in (focused.get_attribute("aria-label") or focused.text_content() or ""):
            return
    raise AssertionError(f"no stop is called {name}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "stop", "keys"),
    [
        ("WordCraft", "drink", ["ArrowRight", "Enter"]),
        ("HALMA", "right", ["Enter", "1", "3", "Enter"]),
        ("Gradual", "", ["x", "Enter"]),
        ("SEGAR", "Push", ["ArrowLeft", "ArrowUp", "Enter"]),
        ("ProbSol", "The table", ["b", "g"]),
    ],
)
def test_a_world_is_found_and_played_by_keys_alone(visitor: Visitor, world: str, stop: str, keys: list[str]) -> None:
    page = visitor.open("/")
    tab_to(page, f"Play{world}")
    page.keyboard.press("Enter")
    page.wait_for_selector("#player:not([aria-busy])", timeout=120_000)
    if stop == "drink":
        stop = page.locator(".words-card").first.inner_text().splitlines()[-1]
    if stop:
        tab_to(page, stop)
    for key in keys:
        page.keyboard.press(key)
    steps(page, 1)
    visitor.leave(cut=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "told"),
    [
        (TASK, ['list "On the table"', 'region "The world"', 'button "New episode"', "status: Saved"]),
        (PAGES["maze"], ['table "The panel: distances by direction"', 'group "Direction"', 'button "Move" [disabled]']),
        (PAGES["table"], ['img "A table from above', 'slider "Direction"', 'button "Push"', 'list "On the table"']),
    ],
)
def test_a_page_has_names_and_roles_for_screen_readers(visitor: Visitor, path: str, told: list[str]) -> None:
    tree = visitor.open(path).locator("body").aria_snapshot()
    assert [one for one in told if one not in tree] == []
