"""Each world is played to its end by keys alone, and all that happens is heard."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gumption.envs.halma import oracle_trials
from gumption.scripts.people.gradual import VIEW as STREAM
from gumption.scripts.people.halma import VIEW as MAZE
from gumption.scripts.people.study.running import in_thread
from gumption.scripts.people.web.helping import offer_of
from gumption.scripts.people.web.server import Home, make_app
from gumption.scripts.people.web.store import Store
from tests.scripts.people.web.assistive import check_tree, listen, reach, see_focus, walk
from tests.scripts.people.web.browser import Visitor, chromium
from tests.scripts.people.web.homes import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
HELPED = {
    "wordcraft": ("commonsense-facts", "linked"), "halma": ("full",), "gradual": ("full",), "segar": ("train",),
    "probsol": ("full",),
}  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A home with help in every world."""
    home = Home(Store(tmp_path_factory.mktemp("helping")))
    home.episodes.offers = {world: offer_of(*knowledge) for world, knowledge in HELPED.items()}
    with in_thread(make_app(home, played=[])) as address:
        yield Served(None, address.removeprefix("http://"), "/")  # pyright: ignore[reportArgumentType]


def press(page: "Page", *keys: str) -> None:
    """Press keys, and wait until what they did is kept."""
    for key in keys:
        page.keyboard.press(key)
    page.locator("#state[data-state=saved]").wait_for()


def made(page: "Page", count: int) -> None:
    page.locator(f"#steps:text-is('{count}')").wait_for()
    page.locator("#state[data-state=saved]").wait_for()


def words(page: "Page") -> None:
    """The first card by its number, the next one by Tab and the arrow keys."""
    press(page, "1")
    made(page, 1)
    reach(page, ".words-card")
    press(page, "ArrowRight", "Enter")


def maze(page: "Page") -> None:
    """The way of the oracle: by keys of a direction and numbers, then once by the buttons."""
    env, _ = MAZE.begin(seed=1, trials=1)
    batch = env.batch
    [moves, *_] = oracle_trials(batch.mazes[0], batch.max_opt_len, batch.rules)[:1]
    for number, one in enumerate(moves, start=1):
        way, parts = one.direction, ["3"] * (one.length // 3) + [str(one.length % 3)] * bool(one.length % 3)
        if number == 1:
            reach(page, f"[data-way={way}]")
            press(page, "Space", *parts)
            reach(page, "button.main:not([disabled])")
            press(page, "Enter")
        else:
            press(page, f"Arrow{way.capitalize()}", *parts, "Enter")
        if number < len(moves):
            made(page, number)


def stream(page: "Page") -> None:
    """Right answers, typed; the same stream is played beside the page."""
    env, _ = STREAM.begin(tasks="micro11", threshold=2, seed=1)
    over, number = False, 0
    while not over:
        answer = env.batch.batch.life(0).solution.answer
        reach(page, "input")
        page.keyboard.type(answer)
        page.keyboard.press("Enter")
        _, _, terminated, truncated, _ = env.step(answer)
        over, number = terminated or truncated, number + 1
        if not over:
            made(page, number)


def ball(page: "Page") -> None:
    """An arrow by its sliders, a push by Enter, a wait by Space, and one by its button."""
    reach(page, "input[type=range]")
    press(page, "ArrowLeft", "ArrowLeft")
    page.keyboard.press("Tab")
    press(page, "ArrowRight", "Enter")
    made(page, 1)
    page.evaluate("document.activeElement.blur()")
    press(page, " ")
    made(page, 2)
    reach(page, "button.main")
    press(page, "Enter")


def table(page: "Page") -> None:
    """A disc is grabbed and put down by the keys of the table; then each trial is handed in by Tab and Enter."""
    reach(page, "#table")
    press(page, "b", "g")
    made(page, 1)
    corner = ["Shift+ArrowRight", "Shift+ArrowUp"] * 10  # to the right upper corner, out of the side bar too
    press(page, *corner, *["Shift+ArrowLeft"] * 2, *["Shift+ArrowDown"] * 6, "Enter")
    made(page, 2)
    for number in (3, 4, 5):
        page.locator("#check:enabled").wait_for()  # the table is at rest
        reach(page, "#check")
        press(page, "Enter")
        made(page, number)


PLAYED: dict[str, tuple[str, Callable[["Page"], None]]] = {
    "wordcraft": ("distractors=8&seed=7", words),
    "halma": ("seed=1&trials=1", maze),
    "gradual": ("tasks=micro11&threshold=2&seed=1", stream),
    "segar": ("seed=53&steps=3", ball),
    "probsol": ("task=fishing/0", table),
}


def opened(browser: "Browser", home: Served, world: str) -> tuple[Visitor, Any]:
    visitor = Visitor(browser, home.address)
    visitor.context.set_default_timeout(60_000)
    page = visitor.page()
    page.goto(f"http://{home.address}/play/{world}?{PLAYED[world][0]}")
    page.wait_for_selector("#player:not([aria-busy])", timeout=120_000)
    return visitor, page


@pytest.mark.parametrize("world", PLAYED)
def test_a_game_is_played_to_its_end_by_keys_alone(browser: "Browser", home: Served, world: str) -> None:
    visitor, page = opened(browser, home, world)
    walk(page)
    reach(page, "#ask")
    page.keyboard.press("Enter")
    page.locator("#help table").wait_for(timeout=120_000)
    assert page.evaluate("document.activeElement.textContent") == "What the graph says"
    walk(page)
    PLAYED[world][1](page)
    page.locator("#end:visible").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Play again"
    walk(page)
    reach(page, "#end button")
    page.keyboard.press("Enter")
    made(page, 0)
    visitor.leave()


@pytest.mark.parametrize("world", PLAYED)
def test_a_game_is_heard(browser: "Browser", home: Served, world: str) -> None:
    visitor, page = opened(browser, home, world)
    check_tree(page)
    heard = listen(page)
    reach(page, "#ask")
    page.keyboard.press("Enter")
    page.locator("#help table").wait_for(timeout=120_000)
    check_tree(page)
    PLAYED[world][1](page)
    page.locator("#end:visible").wait_for()
    check_tree(page)
    told = heard()
    assert any(text.startswith("Reward") for text in told) or page.locator("#score").text_content() == "", told
    assert len(told) > 0
    end = page.locator("#end").get_attribute("aria-label") or ""
    assert end.split(":")[0] == page.locator("#end h2").text_content()
    visitor.leave()


def test_a_task_is_left_by_keys_and_another_one_begun(browser: "Browser", home: Served) -> None:
    visitor, page = opened(browser, home, "probsol")
    reach(page, "#quit")
    page.keyboard.press("Enter")
    page.locator("dialog[open]").wait_for()
    see_focus(page)
    page.keyboard.press("Escape")
    page.wait_for_selector("#quit:focus")
    page.keyboard.press("Enter")
    reach(page, "dialog .main")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble button:focus")
    page.keyboard.press("Enter")
    page.locator("#check:enabled").wait_for()
    visitor.leave()


def test_what_help_cannot_say_is_heard(browser: "Browser", home: Served) -> None:
    visitor = Visitor(browser, home.address)
    page = visitor.open("/play/gradual?tasks=micro1&seed=1")
    heard = listen(page)
    reach(page, "#ask")
    page.keyboard.press("Enter")
    page.locator("#help:has-text('knows nothing')").wait_for(timeout=60_000)
    assert any("knows nothing of what can be done here" in text for text in heard())
    visitor.leave()
