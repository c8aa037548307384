"""Pictures of an episode: text for a terminal, and an RGB array drawn without a display."""

from collections.abc import Mapping
from typing import Any

import numpy as np

COLUMNS, CARD, GAP, MARGIN = 4, (164, 52), 12, 18  # cards in a row; sizes in pixels
INK, PAPER, FAINT = (33, 37, 41), (250, 250, 247), (206, 208, 204)
GOAL, CHOSEN, WON, LOST = (222, 178, 65), (74, 124, 196), (64, 142, 87), (176, 66, 58)


def as_text(state: Mapping[str, Any], last: str = "") -> str:
    """`state` is an info of the environment: goal, table, selection, success; `last` tells the latest mix."""
    chosen = set(state["selection"])
    slots = [f"{'>' if name in chosen else ' '}{i:3d} {name}" for i, name in enumerate(state["table"])]
    lines = [f"goal: {state['goal']}", *slots, f"selected: {', '.join(state['selection']) or '-'}"]
    if last:
        lines.append(f"last: {last}")
    if state["success"]:
        lines.append("goal made")
    return "\n".join(lines) + "\n"


def as_picture(state: Mapping[str, Any], last: str = "") -> np.ndarray:
    """(H, W, 3) uint8; the size depends on the number of slots alone."""
    from PIL import Image, ImageDraw

    slots = len(state["action_mask"])
    rows = -(-slots // COLUMNS)
    width = 2 * MARGIN + COLUMNS * CARD[0] + (COLUMNS - 1) * GAP
    top = 84
    height = top + rows * (CARD[1] + GAP) + 58
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)

    def write(text: str, box: tuple[int, int, int, int], size: int, fill: tuple[int, int, int], anchor: str) -> None:
        """Text that shrinks, then is cut, to fit the box; anchor "mm" is its middle, "lm" the middle of its left."""
        font = _font(size)
        while draw.textlength(text, font=font) > box[2] - box[0]:
            if size > 8:
                size -= 1
                font = _font(size)
            else:
                text = text[:-2] + "…"
        x = box[0] if anchor[0] == "l" else (box[0] + box[2]) // 2
        draw.text((x, (box[1] + box[3]) // 2), text, font=font, fill=fill, anchor=anchor)

    draw.rounded_rectangle((MARGIN, 16, width - MARGIN, 68), 10, fill=GOAL)
    write(f"make: {state['goal']}", (MARGIN + 16, 16, width - MARGIN - 16, 68), 26, INK, "mm")
    for slot in range(slots):
        x = MARGIN + slot % COLUMNS * (CARD[0] + GAP)
        y = top + slot // COLUMNS * (CARD[1] + GAP)
        box = (x, y, x + CARD[0], y + CARD[1])
        if slot >= len(state["table"]):
            draw.rounded_rectangle(box, 8, outline=FAINT)
            continue
        name = state["table"][slot]
        chosen = name in state["selection"]
        draw.rounded_rectangle(box, 8, fill=CHOSEN if chosen else (255, 255, 255), outline=INK, width=2)
        ink = (255, 255, 255) if chosen else INK
        draw.text((x + 7, y + 4), str(slot), font=_font(12), fill=ink if chosen else (120, 124, 120))
        write(name, (x + 12, y + 6, x + CARD[0] - 12, y + CARD[1]), 19, ink, "mm")
    line = f"selected: {', '.join(state['selection']) or '-'}"
    write(line, (MARGIN, height - 58, width - MARGIN, height - 32), 17, INK, "lm")
    if last or state["success"]:
        line = f"{last}    goal made" if state["success"] else last
        write(line, (MARGIN, height - 34, width - MARGIN, height - 8), 17, WON if state["success"] else LOST, "lm")
    return np.asarray(image).copy()


def _font(size: int):
    from PIL import ImageFont

    return ImageFont.load_default(size=size)


def discoveries(state: Mapping[str, Any], total: int, mode: str) -> "str | np.ndarray":
    """Little Alchemy: how much is known, what is selected, and what the latest mix found."""
    lines = [
        f"discovered: {state['num_discovered']} of {total}",
        f"selected: {', '.join(state['selection']) or '-'}",
        f"found: {', '.join(state['found']) or '-'}",
    ]
    if mode == "ansi":
        return "\n".join([*lines, "known: " + ", ".join(state["table"])]) + "\n"
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (640, 150), PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((MARGIN, 56, 622, 68), fill=FAINT)
    draw.rectangle((MARGIN, 56, MARGIN + round(604 * state["num_discovered"] / total), 68), fill=GOAL)
    for y, line in zip((14, 84, 112), lines, strict=True):
        draw.text((MARGIN, y), line, font=_font(20), fill=INK)
    return np.asarray(image).copy()


def render(state: Mapping[str, Any], mode: str, last: str = "") -> "str | np.ndarray":
    """`mode` is "ansi" or "rgb_array"."""
    return as_text(state, last) if mode == "ansi" else as_picture(state, last)
