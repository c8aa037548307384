"""The drawn pictures of the pages: how the parts work together, ProbSol's six families, and a solution in motion.

python -m tests.figures FOLDER     (scripts/papers/results/figures in a checkout)
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data.writing import whole_file
from gumption.envs.probsol.library import designed
from gumption.envs.probsol.replay import recorded_solution
from gumption.envs.probsol.tasks import FAMILIES
from gumption.scripts.papers.probsol.pictures import animate, solution_moments, write_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from PIL.Image import Image

    from gumption.envs.probsol.tasks import Task

# Face and edge of a box, by room.
COLOURS = {"envs": ("#E3EEF9", "#2F6DA8"), "kg": ("#E4F2E4", "#2E7D32"), "agents": ("#FCEBDD", "#B85C14")}
INK, WEAK = "#1F2933", "#5B6670"
WIDTH, HEIGHT = 2.5, 1.75
# Part: room, lower left corner, what it is.
BOXES = {
    "World": ("envs", (0.1, 3.1), "goal: steam; on the table:"),
    "Knowledge graph": ("kg", (3.9, 3.1), ""),
    "Scorer": ("kg", (7.7, 3.1), "ComplEx, a recipe model,\nmined rules or look-up;\nfrozen"),
    "Policy": ("agents", (11.5, 3.1), ""),
    "Memory": ("envs", (3.9, 0.2), "what the agent lived\nthrough, step by step"),
    "Tests": ("envs", (7.7, 0.2), "tasks that training left out;\nquestions whose answer\ncould be inferred"),
    "Evaluation": ("agents", (11.5, 0.2), "success on what nobody\nshowed, with intervals\nover seeds"),
}


def draw_concept(path: Path) -> None:
    """Draw how knowledge goes from a world into a policy and back, as .svg or .png."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "gumption", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(11.2, 4.5))
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, 14.1)
        axes.set_ylim(0, 5.66)
        axes.axis("off")
        for name in BOXES:
            _box(axes, name)
        _mini_table(axes)
        _mini_graph(axes)
        _mini_policy(axes)
        _arrows(axes)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        with whole_file(path) as beside:
            figure.savefig(beside, format=path.suffix[1:], dpi=150, facecolor="white", metadata=metadata)


def _box(axes: "Axes", name: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    room, (x, y), text = BOXES[name]
    face, edge = COLOURS[room]
    style = "round,pad=0,rounding_size=0.12"
    axes.add_patch(FancyBboxPatch((x, y), WIDTH, HEIGHT, boxstyle=style, facecolor=face, edgecolor=edge, linewidth=1.4))
    axes.text(x + 0.14, y + HEIGHT - 0.14, name, fontsize=11, fontweight="bold", color=INK, va="top")
    axes.text(x + WIDTH - 0.12, y + 0.1, f"{room}/", fontsize=7.5, color=edge, ha="right", family="DejaVu Sans Mono")
    axes.text(x + 0.14, y + HEIGHT - 0.56, text, fontsize=8.6, color=INK, va="top", linespacing=1.35)


def _chip(axes: "Axes", name: str, place: tuple[float, float], room: str) -> None:
    pad = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": COLOURS[room][1], "linewidth": 1}
    axes.text(*place, name, fontsize=8, ha="center", va="center", color=INK, bbox=pad)


def _mini_table(axes: "Axes") -> None:
    x, y = BOXES["World"][1]
    for place, name in zip((0.5, 1.18, 1.9), ("water", "fire", "earth"), strict=True):
        _chip(axes, name, (x + place, y + 0.7), "envs")


def _mini_graph(axes: "Axes") -> None:
    """Two facts: fire and water are components of steam."""
    x, y = BOXES["Knowledge graph"][1]
    places = {"fire": (x + 0.5, y + 0.92), "water": (x + 0.5, y + 0.38), "steam": (x + 1.98, y + 0.65)}
    for name in ("fire", "water"):
        arrow = {"arrowstyle": "-|>", "color": COLOURS["kg"][1], "lw": 1.1, "shrinkA": 15, "shrinkB": 17}
        axes.annotate("", places["steam"], places[name], arrowprops=arrow)
    axes.text(x + 1.24, y + 1.05, "componentOf", fontsize=7, color=WEAK, ha="center")
    for name, place in places.items():
        _chip(axes, name, place, "kg")


def _mini_policy(axes: "Axes") -> None:
    """Its own preference and the scores, added for each choice."""
    x, y = BOXES["Policy"][1]
    axes.text(x + 0.14, y + 1.19, "its own view", fontsize=8.6, color="#B85C14", va="top")
    axes.text(x + 1.14, y + 1.19, "+ scores,", fontsize=8.6, color="#2E7D32", va="top")
    axes.text(x + 0.14, y + 0.95, "of each choice:", fontsize=8.6, color=INK, va="top")
    for row, (name, own, score) in enumerate((("water", 0.42, 0.7), ("fire", 0.5, 0.62), ("earth", 0.46, 0.08))):
        height = y + 0.56 - 0.19 * row
        axes.text(x + 0.14, height, name, fontsize=7.5, color=INK, va="center")
        axes.barh(height, own, left=x + 0.68, height=0.12, color="#E3A46F")
        axes.barh(height, score, left=x + 0.68 + own, height=0.12, color="#5DA561")


def _arrows(axes: "Axes") -> None:
    middle, right = {name: x + WIDTH / 2 for name, (_, (x, _), _) in BOXES.items()}, WIDTH
    top, low = BOXES["World"][1][1], BOXES["Memory"][1][1]

    def across(start: str, end: str, text: str) -> None:
        (x, y), (to, _) = BOXES[start][1], BOXES[end][1]
        _arrow(axes, (x + right, y + HEIGHT / 2), (to, y + HEIGHT / 2))
        place = ((x + right + to) / 2, y + HEIGHT / 2 + 0.1)
        axes.text(*place, text, fontsize=8, color=WEAK, ha="center", linespacing=1.25)

    across("World", "Knowledge graph", "facts, of\nthe training\npart")
    across("Knowledge graph", "Scorer", "fit, mine,\ninfer")
    across("Scorer", "Policy", "advice:\nscores of\neach choice")
    across("Memory", "Tests", "not seen,\nbut follows")
    across("Tests", "Evaluation", "are\nplayed")
    _arrow(axes, (middle["Memory"], low + HEIGHT), (middle["Knowledge graph"], top))
    between = (low + HEIGHT + top) / 2
    told = "knowledge bases:\nfacts with their evidence"
    axes.text(middle["Memory"] + 0.12, between, told, fontsize=8, color=WEAK, va="center", linespacing=1.25)
    _arrow(axes, (middle["Policy"], top), (middle["Evaluation"], low + HEIGHT))
    axes.text(middle["Policy"] + 0.12, between, "trained", fontsize=8, color=WEAK, va="center")
    # The policy acts in the world, above all boxes; what happens there goes into the memory, below.
    above, left = top + HEIGHT + 0.42, middle["World"]
    axes.plot([middle["Policy"], middle["Policy"], left], [top + HEIGHT, above, above], color=WEAK, lw=1.3)
    _arrow(axes, (left, above), (left, top + HEIGHT))
    axes.text((left + middle["Policy"]) / 2, above + 0.08, "chooses actions", fontsize=8, color=WEAK, ha="center")
    axes.plot([left, left], [top, low + HEIGHT / 2], color=WEAK, lw=1.3)
    _arrow(axes, (left, low + HEIGHT / 2), (BOXES["Memory"][1][0], low + HEIGHT / 2))
    axes.text(left + 0.12, low + HEIGHT / 2 + 0.1, "transitions", fontsize=8, color=WEAK)


def _arrow(axes: "Axes", start: tuple[float, float], end: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-|>", "color": WEAK, "lw": 1.3, "shrinkA": 0, "shrinkB": 1}
    axes.annotate("", end, start, arrowprops=arrow)


# ---- ProbSol

#: Pixels: of a table's height, between tables, and of the two lines below it.
TABLE_HEIGHT, GAP, FOOT = 320, 14, 46
PAPER = "#ffffff"
#: What is to be done, in a few words.
ABOUT = {
    "Fishing": "get the golden disc out of the dark",
    "Curling": "send discs into targets in the dark",
    "FindTheDiff": "leave those on the table that differ",
    "FindTheSame": "leave those on the table that are alike",
    "Building": "a disc at rest in each block",
    "Modifying": "turn one building into another",
}


def draw_families(tasks: Sequence["Task"]) -> "Image":
    """Tables of tasks, three side by side, when most discs lie on them on the way of their solutions."""
    from PIL import Image as images
    from PIL import ImageDraw

    frames = []
    for task in tasks:
        moments = solution_moments(task)
        most = max(moment.on_table for moment in moments)
        full = [moment for moment in moments if moment.on_table == most]
        frames.append(full[len(full) // 2].picture)
    wide = round(frames[0].width * TABLE_HEIGHT / frames[0].height)
    rows = -(-len(tasks) // 3)
    sheet = images.new("RGB", (3 * (wide + GAP) - GAP, rows * (TABLE_HEIGHT + FOOT + GAP) - GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    for k, (task, frame) in enumerate(zip(tasks, frames, strict=True)):
        left, top = k % 3 * (wide + GAP), k // 3 * (TABLE_HEIGHT + FOOT + GAP)
        sheet.paste(frame.resize((wide, TABLE_HEIGHT), images.Resampling.LANCZOS), (left, top))
        write_line(draw, task.family, (left + 4, top + TABLE_HEIGHT + 15), 18, INK, wide - 8)
        write_line(draw, ABOUT[task.family], (left + 4, top + TABLE_HEIGHT + 35), 15, WEAK, wide - 8)
    return sheet


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    draw_concept(folder / "concept.svg")
    families = draw_families([designed(family)[0] for family in FAMILIES])
    with whole_file(folder / "probsol-families.png") as beside:
        families.save(beside, format="PNG", optimize=True)
    animate(recorded_solution(designed("Fishing")[0]), folder / "probsol.gif")
