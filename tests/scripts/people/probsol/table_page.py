"""A person at the table in a real browser: actions of a task file, done by mouse or by keys."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
CELL, GRID, SLOTS = 12, 40, 12
#: px of the picture: its width, the left edge of the table, width and height of a cell of the side bar.
WIDE, LEFT, SLOT = 544, 64, (56, 36)


@contextmanager
def browser() -> Iterator[Any]:
    """Debian's chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}: apt-get install chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        try:
            yield opened
        finally:
            opened.close()


class TablePage:
    """A page with a task; `view` is what was shown last, `frames` are all that came: (seconds, frame)."""

    def __init__(self, page: Any, address: str, query: str) -> None:
        self.page = page
        self.view: dict[str, Any] = {}
        self.number = 0
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.refused: list[str] = []
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("websocket", lambda socket: socket.on("framereceived", self._hear))
        page.goto(f"http://{address}/play/probsol?{query}")
        self.wait(lambda: bool(self.view))
        page.wait_for_selector(".probsol-goal:not(:empty)")
        self.rest()

    def _hear(self, text: Any) -> None:
        message = json.loads(text)
        if message["type"] == "shown":
            self.view, self.number = message["view"], message["number"]
            self.frames.append((monotonic(), self.view["drawing"]["frame"]))
        elif message["type"] == "frame":
            self.frames.append((monotonic(), message))
        elif message["type"] == "refused":
            self.refused.append(message["reason"])

    @property
    def frame(self) -> dict[str, Any]:
        return self.frames[-1][1]

    def wait(self, true: Any, seconds: float = 60.0) -> None:
        end = monotonic() + seconds
        while not true():
            assert monotonic() < end, (self.faults, self.refused, self.view.get("told"), self.frames[-1:])
            self.page.wait_for_timeout(5)

    def rest(self) -> None:
        self.wait(lambda: not self.frame["moves"])

    def disc(self, id: str) -> list[Any]:
        """Its state in the last frame: ["placed", x, y] and so on."""
        names = [each["id"] for each in self.view["drawing"]["discs"]]
        return self.frame["discs"][names.index(id)]

    @property
    def held(self) -> str:
        return next(
            each["id"]
            for each, data in zip(self.view["drawing"]["discs"], self.frame["discs"], strict=True)
            if data[0] == "held"
        )

    def play(self, actions: Sequence[Sequence[Any]]) -> None:
        """Do actions, each once the table rests after the one before."""
        for verb, *arguments in actions:
            before = self.number
            if verb == "answer":
                self.answer(arguments)
            else:
                getattr(self, verb)(*arguments)
            self.wait(lambda before=before: self.number > before or bool(self.refused))
            assert not self.refused, (verb, arguments)
            self.rest()

    def answer(self, answers: Sequence[Sequence[str]]) -> None:
        for number, ids in enumerate(answers):
            for id in ids:
                self.page.locator(f"dialog.probsol-quiz fieldset:nth-of-type({number + 1}) input[value='{id}']").check()
        self.page.get_by_role("button", name="Answer").click()


class Mouse(TablePage):
    """By mouse."""

    def _at(self, x: float, y: float) -> tuple[float, float]:
        box = self.page.locator("canvas#table").bounding_box()
        return box["x"] + x * box["width"] / WIDE, box["y"] + y * box["width"] / WIDE

    def _click(self, x: float, y: float, button: str = "left") -> None:
        self.page.locator("canvas#table").scroll_into_view_if_needed()
        self.page.mouse.click(*self._at(x, y), button=button)

    def _point(self, column: int, row: int) -> tuple[float, float]:
        return LEFT + (column + 0.5) * CELL, (row + 0.5) * CELL

    def _disc(self, id: str) -> tuple[float, float]:
        state, *data = self.disc(id)
        if state == "stored":
            column, row = divmod(data[0], SLOTS)
            return (column + 0.5) * SLOT[0], (row + 0.5) * SLOT[1]
        return LEFT + data[0], data[1]

    def grab(self, id: str) -> None:
        self._click(*self._disc(id))

    def place(self, column: int, row: int) -> None:
        self._click(*self._point(column, row))

    def hold(self, id: str) -> None:
        self._click(*self._disc(id), button="right")

    def hold_at(self, column: int, row: int) -> None:
        self._click(*self._point(column, row), button="right")

    def put_down(self) -> None:
        self._click(*self._disc(self.held), button="right")

    def take_up(self) -> None:
        self._click(*self._disc(self.held))

    def store(self, cell: int) -> None:
        column, row = divmod(cell, SLOTS)
        self._click((column + 0.5) * SLOT[0], (row + 0.5) * SLOT[1])

    def turn(self, by: int) -> None:
        self.page.wait_for_timeout(100)  # a wheel turns a disc once in a while only
        self.page.mouse.move(*self._at(*self._disc(self.held)))
        self.page.mouse.wheel(0, -100 * by)

    def check(self) -> None:
        self.page.get_by_role("button", name="Check").click()


class Keys(TablePage):
    """By keys alone, after the table has the focus."""

    def __init__(self, page: Any, address: str, query: str) -> None:
        super().__init__(page, address, query)
        self.page.locator("canvas#table").focus()
        self.cursor: tuple[int, int] | int | None = None

    def _press(self, key: str, times: int = 1) -> None:
        for _ in range(times):
            self.page.keyboard.press(key)

    def _to_point(self, column: int, row: int) -> None:
        if self.cursor is None:
            self._press("ArrowDown")
            self.cursor = (20, 20)
        if isinstance(self.cursor, int):
            self._press("b")
            self.cursor = (0, int((self.cursor % SLOTS + 0.5) * GRID / SLOTS))
        for now, wanted, back, forth in (
            (self.cursor[0], column, "ArrowLeft", "ArrowRight"),
            (self.cursor[1], row, "ArrowUp", "ArrowDown"),
        ):
            key, far = (forth, wanted - now) if wanted > now else (back, now - wanted)
            self._press(f"Shift+{key}", far // 5)
            self._press(key, far % 5)
        self.cursor = (column, row)

    def _to_cell(self, cell: int) -> None:
        if not isinstance(self.cursor, int):
            self._press("b")
            self.cursor = 0
        self._press("ArrowDown" if cell > self.cursor else "ArrowUp", abs(cell - self.cursor))
        self.cursor = cell

    def _to_disc(self, id: str) -> None:
        state, *data = self.disc(id)
        if state == "stored":
            self._to_cell(data[0])
        else:
            self._to_point(int(data[0] // CELL), int(data[1] // CELL))

    def grab(self, id: str) -> None:
        self._to_disc(id)
        self._press("g")

    def place(self, column: int, row: int) -> None:
        self._to_point(column, row)
        self._press("Enter")

    def hold(self, id: str) -> None:
        self._to_disc(id)
        self._press("h")

    def hold_at(self, column: int, row: int) -> None:
        self._to_point(column, row)
        self._press("h")

    def put_down(self) -> None:
        self._press("h")

    def take_up(self) -> None:
        self._to_disc(self.held)
        self._press("g")

    def store(self, cell: int) -> None:
        self._to_cell(cell)
        self._press("Enter")

    def turn(self, by: int) -> None:
        self._press("l" if by == 1 else "r")

    def check(self) -> None:
        self._press("c")

    def answer(self, answers: Sequence[Sequence[str]]) -> None:
        discs = [each["id"] for each in self.view["drawing"]["discs"]]
        for number, (ids, question) in enumerate(zip(answers, self.view["drawing"]["quiz"], strict=True)):
            if number:
                self._press("Tab")
            if question["pair"]:  # boxes, each with its place in the order of Tab
                for k, id in enumerate(discs):
                    if k:
                        self._press("Tab")
                    if id in ids:
                        self._press("Space")
            else:  # radio buttons: the arrows choose
                self._press("Space")
                self._press("ArrowDown", discs.index(ids[0]))
        self._press("Tab")
        self._press("Enter")
