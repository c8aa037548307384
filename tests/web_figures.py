"""The pictures of the web home: those of the worlds on its first page, and screenshots for the pages of the docs.

python -m tests.web_figures     (in a checkout, with chromium)
"""

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gumption.data.writing import whole_file
from tests.scripts.people.web.browser import NARROW, WIDE, Visitor, chromium
from tests.scripts.people.web.homes import served

if TYPE_CHECKING:
    from PIL.Image import Image
    from playwright.sync_api import Browser, Page

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
FIGURES = SCRIPTS / "papers" / "results" / "figures"
COMMON, FAR = 128, 127  # colours of a picture's palette: the most common ones, and those that are farthest from them
SCHEMES = ("light", "dark")
#: Of each world: the settings with which it is pictured, the width of the window for its picture on the home page, and
#: the element at whose top that begins.
SHOWN = {
    "wordcraft": ("seed=7", 560, "#drawing"),
    "halma": ("seed=43", 500, ".halma-panel"),
    "gradual": ("tasks=micro5.1,micro5.2&seed=1", 430, ".stream-screen"),
    "segar": ("seed=53", 890, ".pull-table"),
    "probsol": ("task=fishing/7&seed=1", 1200, "#table"),
}


def choose_card(page: "Page") -> None:
    page.locator(".words-card").nth(1).click()
    page.locator("#steps").get_by_text("1").wait_for()


def put_together(page: "Page") -> None:
    for key in ("ArrowRight", "1", "3"):
        page.keyboard.press(key)


def answer(page: "Page") -> None:
    """Say what a person might: what is wrong at first, then what is right."""
    for number in range(1, 31):
        said = "x" if number in (1, 2, 3, 5, 8, 13) else _right_answer(page)
        page.get_by_label("Your answer").fill(said)
        page.keyboard.press("Enter")
        page.locator("#steps").get_by_text(str(number), exact=True).wait_for()
    page.evaluate("document.activeElement.blur()")


def _right_answer(page: "Page") -> str:
    """Of the same stream with the same answers, which is played beside the page."""
    from gumption.scripts.people.gradual import VIEW

    env, _ = VIEW.begin(tasks="micro5.1,micro5.2", seed=1)
    said = "".join(page.locator(".stream-out .stream-bytes").all_inner_texts())
    for byte in said.replace(" ", ""):
        env.step(byte)
    return env.batch.batch.life(0).solution.answer


def hold_magnet(page: "Page") -> None:
    """Put two magnets side by side, and hold one that draws another out of the dark."""
    page.locator("#table").focus()
    for disc, column, row, last in ((0, 34, 17, "Enter"), (5, 30, 22, "Enter"), (7, 18, 21, "h")):
        keys = [*("bn" if disc else "n"), *"n" * disc, "g"]
        keys += ["Shift+ArrowRight", "Shift+ArrowUp"] * 10  # to the right upper corner, out of the side bar too
        for key, far in (("ArrowLeft", 39 - column), ("ArrowDown", row)):
            keys += [f"Shift+{key}"] * (far // 5) + [key] * (far % 5)
        for key in [*keys, last]:
            page.keyboard.press(key)
        page.locator("#state[data-state=saved]").wait_for()
        page.wait_for_timeout(300)
    page.keyboard.press("l")
    page.get_by_text("at rest", exact=True).wait_for()
    page.evaluate("document.activeElement.blur()")
    page.evaluate("scrollTo(0, 0)")


#: What is done before the picture is taken.
DONE: dict[str, Callable[["Page"], None]] = {
    "wordcraft": choose_card,
    "halma": put_together,
    "gradual": answer,
    "probsol": hold_magnet,
}


def picture(page: "Page", world: str, address: str) -> "Page":
    """The page of a world, as it is pictured."""
    page.goto(f"http://{address}/play/{world}?{SHOWN[world][0]}")
    page.wait_for_selector("#player:not([aria-busy])", timeout=120_000)
    if world in DONE:
        DONE[world](page)
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    return page


def save(shot: bytes, path: Path, size: tuple[int, int] | None = None) -> None:
    """Save a screenshot with few colours, scaled to a size."""
    from PIL import Image

    image = Image.open(io.BytesIO(shot)).convert("RGB")
    if size is not None:
        image = image.resize(size, Image.Resampling.LANCZOS)
    with whole_file(path) as file:
        _few_colours(image).save(file, "png", optimize=True)
    print(f"{path.relative_to(SCRIPTS.parent)}  {path.stat().st_size / 1000:.0f} kB")


def _few_colours(image: "Image") -> "Image":
    """The image in a palette. Common colours are kept as they are: a screenshot has large areas of one colour."""
    from PIL import Image

    colours, counts = np.unique(np.asarray(image).reshape(-1, 3), axis=0, return_counts=True)
    colours = colours[np.argsort(-counts, kind="stable")].astype(np.int32)
    chosen = list(range(min(COMMON, len(colours))))
    distance = np.min([((colours - colours[one]) ** 2).sum(axis=1) for one in chosen], axis=0)
    for _ in range(min(FAR, len(colours) - len(chosen))):
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((colours - colours[chosen[-1]]) ** 2).sum(axis=1))
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours[chosen].astype(np.uint8).tobytes())
    return image.quantize(palette=palette, dither=Image.Dither.NONE)


def draw_worlds(browser: "Browser", address: str) -> None:
    """The picture of each world on the home page, in both schemes."""
    for scheme in SCHEMES:
        for world in SHOWN:
            _, width, top = SHOWN[world]
            window = {"width": width, "height": 900}
            visitor = Visitor(browser, address, viewport=window, color_scheme=scheme, device_scale_factor=2)
            page = picture(visitor.page(), world, address)
            box, begins = page.locator("#drawing").bounding_box(), page.locator(top).bounding_box()
            assert box is not None
            assert begins is not None
            margin = 12 if top != "#drawing" else 0
            x, y, wide = box["x"] + margin, begins["y"] - margin, box["width"] - 2 * margin
            clip = {"x": x, "y": y, "width": wide, "height": 0.625 * wide}
            name = "picture.png" if scheme == "light" else "picture-dark.png"
            shot = page.screenshot(clip=clip, full_page=True)  # pyright: ignore[reportArgumentType]
            save(shot, SCRIPTS / "people" / world / name, (720, 450))
            visitor.leave()


def draw_pages(browser: "Browser", address: str) -> None:
    """Screenshots of pages: the home in both schemes, each world, and three of them on a telephone."""
    for scheme in SCHEMES:
        visitor = Visitor(browser, address, color_scheme=scheme)
        page = visitor.open("/")
        page.wait_for_load_state("networkidle")
        save(page.screenshot(full_page=True), FIGURES / f"web-home-{scheme}.png")
        visitor.leave()
    for number, world in enumerate(SHOWN):
        visitor = Visitor(browser, address, viewport=WIDE, color_scheme=SCHEMES[number % 2])
        page = picture(visitor.page(), world, address)
        save(page.screenshot(), FIGURES / f"web-{world}.png")
        visitor.leave()
    draw_narrow(browser, address)


def draw_narrow(browser: "Browser", address: str) -> None:
    """Three worlds beside each other, as on telephones."""
    from PIL import Image

    shots = []
    for world, scheme in (("wordcraft", "light"), ("halma", "dark"), ("segar", "light")):
        visitor = Visitor(browser, address, viewport=NARROW, color_scheme=scheme)
        shots.append(Image.open(io.BytesIO(picture(visitor.page(), world, address).screenshot())).convert("RGB"))
        visitor.leave()
    gap, (width, height) = 30, shots[0].size
    sheet = Image.new("RGB", (len(shots) * width + (len(shots) - 1) * gap, height), (190, 190, 186))
    for number, shot in enumerate(shots):
        sheet.paste(shot, (number * (width + gap), 0))
    buffer = io.BytesIO()
    sheet.save(buffer, "png")
    save(buffer.getvalue(), FIGURES / "web-narrow.png")


def draw_help(browser: "Browser") -> None:
    """What a graph says of the choices of a task, and of a maze, from a server that offers help."""
    options = ("--kg", "wordcraft=commonsense-facts", "--kg-rules", "wordcraft=linked", "--kg", "halma=full")
    shown = {"web-help": "wordcraft?distractors=4&seed=1", "web-help-halma": "halma?seed=43"}
    with tempfile.TemporaryDirectory() as folder, served(folder, *options) as home:
        for name, address in shown.items():
            visitor = Visitor(browser, home.address, viewport=WIDE)
            page = visitor.open(f"/play/{address}")
            page.locator("#ask").click()
            page.locator("#help table").wait_for(timeout=120_000)
            page.mouse.move(0, 0)
            save(page.screenshot(full_page=True), FIGURES / f"{name}.png")
            visitor.leave()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, served(folder) as home, chromium() as browser:
        draw_worlds(browser, home.address)
        draw_pages(browser, home.address)
        draw_help(browser)


if __name__ == "__main__":
    main()
