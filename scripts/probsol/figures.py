"""The pictures of ProbSol's page: the six families, and a solution in motion.

python -m gumption.scripts.probsol.figures FOLDER     (scripts/results/figures in a checkout)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data.writing import whole_file
from gumption.envs.probsol.library import designed
from gumption.envs.probsol.replay import recorded_solution
from gumption.envs.probsol.tasks import FAMILIES

from .replay import animate
from .strip import solution_moments, write_line

if TYPE_CHECKING:
    from PIL.Image import Image

    from gumption.envs.probsol.tasks import Task

#: Pixels: of a table's height, between tables, and of the two lines below it.
HEIGHT, GAP, FOOT = 320, 14, 46
INK, PAPER, QUIET = "#1f2933", "#ffffff", "#5b6670"
#: What is to be done, in a few words.
ABOUT = {
    "Fishing": "get the golden disc out of the dark",
    "Curling": "send discs into targets in the dark",
    "FindTheDiff": "leave those on the table that differ",
    "FindTheSame": "leave those on the table that are alike",
    "Building": "a disc at rest in each block",
    "Modifying": "turn one building into another",
}


def draw_families(tasks: Sequence[Task]) -> Image:
    """Tables of tasks, three side by side, when most discs lie on them on the way of their solutions."""
    from PIL import Image as images
    from PIL import ImageDraw

    frames = []
    for task in tasks:
        moments = solution_moments(task)
        most = max(moment.on_table for moment in moments)
        full = [moment for moment in moments if moment.on_table == most]
        frames.append(full[len(full) // 2].picture)
    wide = round(frames[0].width * HEIGHT / frames[0].height)
    rows = -(-len(tasks) // 3)
    sheet = images.new("RGB", (3 * (wide + GAP) - GAP, rows * (HEIGHT + FOOT + GAP) - GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    for k, (task, frame) in enumerate(zip(tasks, frames, strict=True)):
        left, top = k % 3 * (wide + GAP), k // 3 * (HEIGHT + FOOT + GAP)
        sheet.paste(frame.resize((wide, HEIGHT), images.Resampling.LANCZOS), (left, top))
        write_line(draw, task.family, (left + 4, top + HEIGHT + 15), 18, INK, wide - 8)
        write_line(draw, ABOUT[task.family], (left + 4, top + HEIGHT + 35), 15, QUIET, wide - 8)
    return sheet


def draw_all(folder: Path) -> None:
    """Write probsol-families.png and probsol.gif."""
    families = draw_families([designed(family)[0] for family in FAMILIES])
    with whole_file(folder / "probsol-families.png") as beside:
        families.save(beside, format="PNG", optimize=True)
    animate(recorded_solution(designed("Fishing")[0]), folder / "probsol.gif")


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]))
