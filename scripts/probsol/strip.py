"""`gumption probsol strip`: the recorded solution of a task as pictures side by side, as in the paper's Figure 2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.scripts.apps import App

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

    from gumption.envs.probsol.tasks import Task

app = App()

FRAMES = 8
#: Pixels: of a frame's height, between frames, of the line above a strip and of the captions below it.
HEIGHT, GAP, HEAD, FOOT = 264, 8, 30, 26
INK, PAPER, QUIET = "#1f2933", "#ffffff", "#5b6670"
#: A disc that changes hands counts as much as this way in px, when frames are chosen.
HANDLED = 60.0


@app.command(epilog="Example: gumption probsol strip fishing/0 --out strip.png")
def strip(task: str, *, out: Path = Path("strip.png")) -> None:
    """Draw the recorded solution of a task: eight frames, at equal shares of all that moves.

    :param task: A task, a file, or a family: a strip for each of its designed tasks.
    :param out: The picture, .png.
    """
    from gumption.data import InputError
    from gumption.data.writing import check_writable, whole_file
    from gumption.envs.probsol.library import find_tasks

    if out.suffix != ".png":
        raise InputError(f"--out is {out}; it ends in .png")
    check_writable(out)
    tasks = find_tasks(task)
    picture = below([draw_strip(each) for each in tasks])
    with whole_file(out) as beside:
        picture.save(beside, format="PNG", optimize=True)
    print(f"saved: {out}, {len(tasks)} strip{'s' if len(tasks) > 1 else ''}")


def draw_strip(task: Task) -> Image:
    """Eight frames of a task's recorded solution with what was done, below a line that says what the goal is.

    :raises InputError: the task has no solution.
    """
    from PIL import Image as images
    from PIL import ImageDraw

    from gumption.envs.probsol.text import goal_text

    moments = solution_moments(task)
    frames = [moment.picture for moment in chosen(moments, FRAMES)]
    captions = [moment.done or "the start" for moment in chosen(moments, FRAMES)]
    wide = round(frames[0].width * HEIGHT / frames[0].height)
    sheet = images.new("RGB", (FRAMES * (wide + GAP) - GAP, HEAD + HEIGHT + FOOT), PAPER)
    draw = ImageDraw.Draw(sheet)
    write_line(draw, f"{task.name}: {goal_text(task)}", (4, HEAD / 2), 17, INK, sheet.width - 8)
    for k, (frame, caption) in enumerate(zip(frames, captions, strict=True)):
        left = k * (wide + GAP)
        sheet.paste(frame.resize((wide, HEIGHT), images.Resampling.LANCZOS), (left, HEAD))
        write_line(draw, caption, (left + 4, HEAD + HEIGHT + FOOT / 2), 15, QUIET, wide - 8)
    return sheet


class Moment:
    """A state on the way of a solution.

    :ivar change: px that were gone since the beginning, by all discs together; `done` is the last action.
    :ivar on_table: how many discs lie there.
    """

    def __init__(self, tables: Any, task: Task, done: str, change: float) -> None:
        import numpy as np

        from gumption.envs.probsol.geometry import HELD, PLACED
        from gumption.envs.probsol.render import shapes

        self._drawn, self._cells = shapes(tables, task), tables.cells
        self.done, self.change = done, change
        self._place, self._where = tables.place[0].copy(), tables.where[0].copy()
        self._turned = tables.theta[0].copy()
        self.on_table = int(np.isin(self._where, (PLACED, HELD)).sum())

    @property
    def picture(self) -> Image:
        """The picture of the table."""
        from gumption.envs.probsol.render import painted, picture_size

        return painted(self._drawn, picture_size(self._cells))

    def way(self, tables: Any) -> float:
        """How much the table has changed since this moment, in px."""
        import numpy as np

        from gumption.envs.probsol.geometry import HELD, PLACED

        there = np.isin(tables.where[0], (PLACED, HELD)) & (tables.where[0] == self._where)
        gone = np.linalg.norm(tables.place[0] - self._place, axis=1)[there].sum()
        handled = (tables.where[0] != self._where).sum() + (tables.theta[0] != self._turned).sum()
        return float(gone + HANDLED * handled)


def solution_moments(task: Task) -> list[Moment]:
    """What the recorded solution of a task comes through, without moments that look like the one before."""
    from gumption.envs.probsol.replay import recorded_solution, replay

    moments: list[Moment] = []

    def look(env: Any, done: str) -> None:
        change = moments[-1].way(env.tables) if moments else 0.0
        if not moments or change > 0.0:
            moments.append(Moment(env.tables, task, done, (moments[-1].change if moments else 0.0) + change))

    replay(recorded_solution(task), f"the solution of {task.name}", look)
    return moments


def chosen(moments: Sequence[Moment], count: int) -> list[Moment]:
    """So many of them, the first and the last among them, at equal shares of the change; repeated where there are
    fewer."""
    import numpy as np

    if len(moments) <= count:
        return [moments[place] for place in np.linspace(0, len(moments) - 1, count).round().astype(int).tolist()]
    changes = np.array([moment.change for moment in moments])
    places = np.searchsorted(changes, np.linspace(0.0, changes[-1], count) - 1e-9)
    for k in range(1, count):
        places[k] = max(places[k], places[k - 1] + 1)
    for k in range(count):
        places[-1 - k] = min(places[-1 - k], len(moments) - 1 - k)
    return [moments[place] for place in places.tolist()]


def below(strips: Sequence[Image]) -> Image:
    """Pictures below one another."""
    from PIL import Image as images

    high = sum(strip.height + GAP for strip in strips) - GAP
    sheet = images.new("RGB", (max(strip.width for strip in strips), high), PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height + GAP
    return sheet


def write_line(draw: Any, text: str, at: tuple[float, float], size: int, fill: str, wide: float) -> None:
    """A line of text whose middle is at a height; it is cut where it is too wide."""
    from PIL import ImageFont

    font = ImageFont.load_default(size=size)
    while draw.textlength(text, font=font) > wide:
        text = text[:-2] + "…"
    draw.text(at, text, font=font, fill=fill, anchor="lm")
