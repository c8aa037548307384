"""Render an episode as text for a terminal, or as an RGB array without a display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]  # left, top, right, bottom in pixels

COLUMNS, CARD, GAP, MARGIN = 4, (232, 72), 16, 28  # cards in a row; sizes in pixels
HEAD, LINE, MIX = 84, 44, 92  # heights in pixels: the goal; a title; the selection and the latest mix
WIDTH = 2 * MARGIN + COLUMNS * CARD[0] + (COLUMNS - 1) * GAP
GRIDS = ((COLUMNS, 6), (6, 10), (8, 16), (10, 24))  # (columns, rows) for Little Alchemy: the first that fits is used
GRID = GRIDS[-1]  # further entities are not shown
GRID_HEIGHT = 600
INK, PAPER, FAINT, QUIET = (33, 37, 41), (250, 250, 247), (206, 208, 204), (112, 118, 122)
WHITE, GOAL, CHOSEN, WON, LOST = (255, 255, 255), (222, 178, 65), (74, 124, 196), (64, 142, 87), (176, 66, 58)


def as_text(state: Mapping[str, Any], last: str = "") -> str:
    """Render an info of the environment (goal, table, selection, success) as text; `last` is the latest mix."""
    chosen = set(state["selection"])
    slots = [f"{'>' if name in chosen else ' '}{i:3d} {name}" for i, name in enumerate(state["table"])]
    lines = [f"goal: {state['goal']}", *slots, f"selected: {', '.join(state['selection']) or '-'}"]
    if last:
        lines.append(f"last: {last}")
    if state["success"]:
        lines.append("goal made")
    return "\n".join(lines) + "\n"


def as_picture(state: Mapping[str, Any], last: str = "") -> np.ndarray:
    """Draw an info of the environment as (H, W, 3) uint8; the size depends only on the number of slots."""
    from PIL import Image, ImageDraw

    slots = len(state["action_mask"])
    table = MARGIN + HEAD + LINE
    height = table + -(-slots // COLUMNS) * (CARD[1] + GAP) + LINE + MIX
    image = Image.new("RGB", (WIDTH, height), PAPER)
    draw = ImageDraw.Draw(image)
    won = state["success"]
    goal = (MARGIN, MARGIN, WIDTH - MARGIN, MARGIN + HEAD)
    draw.rounded_rectangle(goal, 12, fill=WON if won else GOAL)
    told = f"made: {state['goal']}" if won else f"make: {state['goal']}"
    _write(draw, told, _inside(goal), 38, WHITE if won else INK, "mm")
    _title(draw, "on the table: select two, and they are mixed", MARGIN, table)
    for slot in range(slots):
        x = MARGIN + slot % COLUMNS * (CARD[0] + GAP)
        y = table + slot // COLUMNS * (CARD[1] + GAP)
        box = (x, y, x + CARD[0], y + CARD[1])
        if slot >= len(state["table"]):
            draw.rounded_rectangle(box, 10, outline=FAINT, width=2)
            continue
        name = state["table"][slot]
        chosen = name in state["selection"]
        fill = CHOSEN if chosen else GOAL if won and name == state["goal"] else WHITE
        _card(draw, box, name, fill, 26, str(slot))
    _mixing(draw, height - MIX, state["selection"], "just mixed", last, WON if won else LOST)
    return np.asarray(image).copy()


def discoveries(
    state: Mapping[str, Any], total: int, mode: str, last: str = "", new: Sequence[str] = ()
) -> str | np.ndarray:
    """Render Little Alchemy: the known entities, their share of `total`, the selection, and the latest mix.

    :param state: an info of the environment; `total` is the number of reachable entities.
    :param last: the latest mix in words; `new` are the entities that it discovered.
    :returns: text, or (H, W, 3) uint8 of constant size.
    """
    known = state["table"]
    if mode == "ansi":
        lines = [
            f"discovered: {len(known)} of {total}",
            f"selected: {', '.join(state['selection']) or '-'}",
            f"last: {last or '-'}",
            "known: " + ", ".join(known),
        ]
        return "\n".join(lines) + "\n"
    from PIL import Image, ImageDraw

    top = MARGIN + HEAD + LINE
    height = top + GRID_HEIGHT + LINE + MIX
    image = Image.new("RGB", (WIDTH, height), PAPER)
    draw = ImageDraw.Draw(image)
    bar = (MARGIN, MARGIN, WIDTH - MARGIN, MARGIN + HEAD)
    done = bar[0] + (bar[2] - bar[0]) * len(known) / total
    draw.rounded_rectangle(bar, 12, fill=FAINT)
    draw.rounded_rectangle((bar[0], bar[1], max(done, bar[0] + 24), bar[3]), 12, fill=WON if state["success"] else GOAL)
    _write(draw, f"discovered: {len(known)} of {total}", _inside(bar), 38, INK, "mm")
    shown = _most_telling(known, [*state["selection"], *new], GRID[0] * GRID[1])
    more = f" (and {len(known) - len(shown)} more)" if len(shown) < len(known) else ""
    _title(draw, f"known{more}: select two, and they are mixed", MARGIN, top)
    columns = next((columns for columns, rows in GRIDS if len(shown) <= columns * rows), GRID[0])
    rows = -(-len(shown) // columns)
    gap = GAP if columns == COLUMNS else 6
    wide = (WIDTH - 2 * MARGIN + gap) / columns
    high = min(CARD[1] + GAP, GRID_HEIGHT / max(rows, 1))
    for i, name in enumerate(shown):
        x, y = MARGIN + i % columns * wide, top + i // columns * high
        fill = CHOSEN if name in state["selection"] else WON if name in new else WHITE
        _card(draw, (x, y, x + wide - gap, y + high - min(gap, 0.2 * high)), name, fill, 26)
    _mixing(draw, height - MIX, state["selection"], "latest mix", last, WON if new else LOST)
    return np.asarray(image).copy()


def _most_telling(names: Sequence[str], first: Sequence[str], most: int) -> list[str]:
    """Return at most `most` names in their order, including the names in `first`."""
    wanted = set(first)
    room = most - len(wanted.intersection(names))
    kept = []
    for name in names:
        if name in wanted:
            kept.append(name)
        elif room > 0:
            kept.append(name)
            room -= 1
    return kept


def _mixing(draw: ImageDraw, top: float, selection: Sequence[str], latest: str, last: str, ink: Colour) -> None:
    """Draw the selection and, to its right, the latest mix under the title `latest`."""
    box = (MARGIN, top, MARGIN + CARD[0], top + MIX - 2 * GAP)
    _title(draw, "selected", MARGIN, top)
    if selection:
        _card(draw, box, selection[0], CHOSEN, 26)
    else:
        draw.rounded_rectangle(box, 10, outline=FAINT, width=2)
        _write(draw, "nothing yet", _inside(box), 20, QUIET, "mm")
    x = MARGIN + CARD[0] + GAP
    _title(draw, latest, x, top)
    _write(draw, last or "-", (x, box[1], WIDTH - MARGIN, box[3]), 26, ink if last else QUIET, "lm")


def _card(draw: ImageDraw, box: Box, name: str, fill: Colour, size: int, number: str = "") -> None:
    ink = INK if fill in (WHITE, GOAL) else WHITE
    draw.rounded_rectangle(box, 10, fill=fill, outline=INK, width=2 if box[3] - box[1] > 40 else 1)
    if number:
        draw.text((box[0] + 9, box[1] + 5), number, font=_font(15), fill=QUIET if fill == WHITE else ink)
    _write(draw, name, _inside(box), min(size, int(0.6 * (box[3] - box[1]))), ink, "mm")


def _inside(box: Box) -> Box:
    """Return a box without the margin of its text."""
    return box[0] + 8, box[1], box[2] - 8, box[3]


def _title(draw: ImageDraw, text: str, x: float, below: float) -> None:
    """Write a small title line above the part that begins at `below`."""
    draw.text((x, below - LINE / 2 + 4), text, font=_font(18), fill=QUIET, anchor="lm")


def _write(draw: ImageDraw, text: str, box: Box, size: int, fill: Colour, anchor: str) -> None:
    """Write text in a box, shrunk and then cut to fit; anchor "mm" centres it, "lm" aligns it left."""
    font = _font(size)
    while draw.textlength(text, font=font) > box[2] - box[0]:
        if size > 8:
            size -= 1
            font = _font(size)
        else:
            text = text[:-2] + "…"
    x = box[0] if anchor[0] == "l" else (box[0] + box[2]) / 2
    draw.text((x, (box[1] + box[3]) / 2), text, font=font, fill=fill, anchor=anchor)


def _font(size: int):
    from PIL import ImageFont

    return ImageFont.load_default(size=size)
