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
        """Text that shrinks until it fits into the box; anchor "mm" is its middle, "lm" the middle of its left side."""
        font = _font(size)
        while size > 8 and draw.textlength(text, font=font) > box[2] - box[0]:
            size -= 1
            font = _font(size)
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


def render(state: Mapping[str, Any], mode: str, last: str = "") -> "str | np.ndarray":
    """`mode` is "ansi" or "rgb_array"."""
    return as_text(state, last) if mode == "ansi" else as_picture(state, last)
