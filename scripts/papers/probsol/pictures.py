"""Pictures of episodes: `gumption probsol replay` animates a record, and `gumption probsol strip` draws the recorded
solution of a task as a row of frames, as in the paper's Figure 2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gumption.data import InputError
from gumption.data.settings import Count
from gumption.scripts.apps import App, NewGif, NewPng

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PIL.Image import Image

    from gumption.envs.probsol.tasks import Task

app = App()

#: Physics steps between frames; durations in ms of a frame, of a frame after an action, and added to the last frame.
EVERY, MILLISECONDS, AFTER_ACTION, AT_END = 3, 50, 450, 2000
FRAMES = 8
#: Pixels: height of a frame, gap between frames, height of the line above a strip and of the captions below it.
HEIGHT, GAP, HEAD, FOOT = 264, 8, 30, 26
INK, PAPER, QUIET = "#1f2933", "#ffffff", "#5b6670"
#: px of movement that weigh as much as a change of a disc's state or direction in the choice of frames.
HANDLED = 60.0


@app.command(epilog="Example: gumption probsol replay mine.jsonl --gif mine.gif")
def replay(file: Path, *, episode: Count | None = None, gif: NewGif | None = None) -> None:
    """Play a recorded episode again; each state has to be the recorded one, bit for bit.

    :param file: Episodes, as --record and RecordMemory keep them.
    :param episode: Which of them, from 1.  [default: the last]
    :param gif: Save it as an animation.
    """
    from gumption.envs.records import read_episodes

    episodes = read_episodes(file)
    if not episodes:
        raise InputError(f"{file} holds no episode")
    number = len(episodes) if episode is None else episode
    if number > len(episodes):
        raise InputError(f"--episode is {number}, and {file} has {len(episodes)} episode{'s' * (len(episodes) > 1)}")
    record = episodes[number - 1]
    frames = animate(record, gif, f"{file}:{number}")
    result = record["result"]
    print(
        f"{record['task']['name']}: {len(record['actions'])} actions, each found the state that it had; "
        f"{result['end'] or 'not ended'} in trial {result['trials']}, {result['solve_time']:.1f} s"
    )
    if frames:
        print(f"saved: {gif}, {frames} frames")


def animate(record: Mapping[str, Any], gif: Path | None, where: str = "the record") -> int:
    """Replay a record, and save it as an animation if there is a path; return the number of frames."""
    from PIL import Image as images

    from gumption.envs.gif import save_gif
    from gumption.envs.probsol.render import painted, picture_size, shapes
    from gumption.envs.probsol.replay import replay as play_again

    frames: list[Image] = []
    durations: list[int] = []
    count = -1

    def look(env: Any, done: str) -> None:
        nonlocal count
        drawn = painted(shapes(env.tables, env.task()), picture_size(env.tables.cells))
        # The first frame contains the colours of all discs on few pixels each; other methods would mix them.
        method = None if frames else images.Quantize.MAXCOVERAGE
        frame = drawn.quantize(256, method, palette=frames[0] if frames else None, dither=images.Dither.NONE)
        acted, count = count != int(env.tables.actions[0]), int(env.tables.actions[0])
        if frames and frame == frames[-1]:
            durations[-1] += MILLISECONDS
        else:
            frames.append(frame)
            durations.append(AFTER_ACTION if acted else MILLISECONDS)

    play_again(record, where, None if gif is None else look, EVERY)
    if gif is not None:
        durations[-1] += AT_END
        save_gif(gif, frames, durations)
    return len(frames)


@app.command(epilog="Example: gumption probsol strip fishing/0 --out strip.png")
def strip(task: str, *, out: NewPng = Path("strip.png")) -> None:
    """Draw the recorded solution of a task: eight frames, at equal shares of all movement.

    :param task: A task, a file, or a family: a strip for each of its designed tasks.
    :param out: The picture, .png.
    """
    from PIL import Image as images

    from gumption.data.writing import whole_file
    from gumption.envs.probsol.library import find_tasks

    strips = [draw_strip(each) for each in find_tasks(task)]
    high = sum(each.height + GAP for each in strips) - GAP
    sheet, top = images.new("RGB", (max(each.width for each in strips), high), PAPER), 0
    for each in strips:
        sheet.paste(each, (0, top))
        top += each.height + GAP
    with whole_file(out) as beside:
        sheet.save(beside, format="PNG", optimize=True)
    print(f"saved: {out}, {len(strips)} strip{'s' if len(strips) > 1 else ''}")


def draw_strip(task: Task) -> Image:
    """Draw eight frames of a task's recorded solution with the actions, below a line that states the goal.

    :raises InputError: the task has no solution.
    """
    from PIL import Image as images
    from PIL import ImageDraw

    from gumption.envs.probsol.text import goal_text

    moments = chosen(solution_moments(task), FRAMES)
    frames = [moment.picture for moment in moments]
    wide = round(frames[0].width * HEIGHT / frames[0].height)
    sheet = images.new("RGB", (FRAMES * (wide + GAP) - GAP, HEAD + HEIGHT + FOOT), PAPER)
    draw = ImageDraw.Draw(sheet)
    write_line(draw, f"{task.name}: {goal_text(task)}", (4, HEAD / 2), 17, INK, sheet.width - 8)
    for k, (frame, moment) in enumerate(zip(frames, moments, strict=True)):
        left = k * (wide + GAP)
        sheet.paste(frame.resize((wide, HEIGHT), images.Resampling.LANCZOS), (left, HEAD))
        caption = moment.done or "the start"
        write_line(draw, caption, (left + 4, HEAD + HEIGHT + FOOT / 2), 15, QUIET, wide - 8)
    return sheet


class Moment:
    """A state during a solution.

    :ivar done: the last action. :ivar change: the sum of `way` since the beginning, in px.
    :ivar on_table: number of discs on the table.
    """

    def __init__(self, tables: Any, task: Task, done: str, change: float) -> None:
        from gumption.envs.probsol.render import shapes

        self._drawn, self._cells = shapes(tables, task), tables.cells
        self.done, self.change = done, change
        self._place, self._where, self._theta = tables.place[0].copy(), tables.where[0].copy(), tables.theta[0].copy()
        self.on_table = int(_lie(self._where).sum())

    @property
    def picture(self) -> Image:
        """Draw the picture of the table."""
        from gumption.envs.probsol.render import painted, picture_size

        return painted(self._drawn, picture_size(self._cells))

    def way(self, tables: Any) -> float:
        """Return the change of the table since this moment, in px."""
        same = tables.where[0] == self._where
        gone = ((tables.place[0] - self._place) ** 2).sum(axis=1) ** 0.5
        handled = (~same).sum() + (tables.theta[0] != self._theta).sum()
        return float(gone[_lie(tables.where[0]) & same].sum() + HANDLED * handled)


def _lie(where: Any) -> Any:
    """Return (M,) bool: the disc is on the table."""
    from gumption.envs.probsol.geometry import HELD, PLACED

    return (where == PLACED) | (where == HELD)


def solution_moments(task: Task) -> list[Moment]:
    """Return the moments of a task's recorded solution, without moments equal to the previous moment."""
    from gumption.envs.probsol.replay import recorded_solution
    from gumption.envs.probsol.replay import replay as play_again

    moments: list[Moment] = []

    def look(env: Any, done: str) -> None:
        change = moments[-1].way(env.tables) if moments else 0.0
        if not moments or change > 0.0:
            moments.append(Moment(env.tables, task, done, (moments[-1].change if moments else 0.0) + change))

    play_again(recorded_solution(task), f"the solution of {task.name}", look)
    return moments


def chosen(moments: Sequence[Moment], count: int) -> list[Moment]:
    """Select `count` moments at equal shares of the change, with the first and the last; repeat some if too few."""
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


def write_line(draw: Any, text: str, at: tuple[float, float], size: int, fill: str, wide: float) -> None:
    """Write a line of text, vertically centred at `at` and cut to a width."""
    from PIL import ImageFont

    font = ImageFont.load_default(size=size)
    while draw.textlength(text, font=font) > wide:
        text = text[:-2] + "…"
    draw.text(at, text, font=font, fill=fill, anchor="lm")
