"""Draw the last bytes of a stream as three rows, as in the document: input, output and reward."""

from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

WIDTH = 64  # bytes
_LINE = 18  # pixels


class History:
    """Keep the latest bytes of B streams: an output is below the input that it answers, its reward below both."""

    def __init__(self, size: int) -> None:
        self._sent, self._said = np.full((2, size, WIDTH), ord(" "), dtype=np.uint8)
        self._reward = np.zeros((size, WIDTH), dtype=np.int8)

    def begin(self, columns: np.ndarray, sent: np.ndarray) -> None:
        """Start the rows of new streams with their first bytes."""
        self._sent[columns], self._said[columns], self._reward[columns] = ord(" "), ord(" "), 0
        self._sent[columns, -1] = sent[columns]

    def add(self, said: np.ndarray, sent: np.ndarray, reward: np.ndarray, active: np.ndarray) -> None:
        """Add a step, (B,) each: the reply to the last byte, its reward, and the next byte."""
        self._said[active, -1], self._reward[active, -1] = said[active], reward[active]
        for rows in (self._sent, self._said, self._reward):
            rows[active] = np.roll(rows[active], -1, axis=1)
        self._sent[active, -1], self._said[active, -1], self._reward[active, -1] = sent[active], ord(" "), 0

    def draw(self, i: int, mode: str) -> Any:
        """Draw the rows of stream i: text ("ansi") or (H, W, 3) uint8 ("rgb_array")."""
        text = rows_of_text(bytes(self._sent[i]), bytes(self._said[i]), self._reward[i].tolist())
        return text if mode == "ansi" else _picture(text)


def rows_of_text(sent: bytes, said: bytes, rewards: list[int]) -> str:
    """Format three lines, with dots for control characters."""
    signs = "".join(" +-"[reward] for reward in rewards)
    return f"Input : {_shown(sent)}\nOutput: {_shown(said)}\nReward: {signs}"


def _shown(text: bytes) -> str:
    return "".join(character if character.isprintable() else "·" for character in text.decode("latin-1"))


def _picture(text: str) -> np.ndarray:
    font = ImageFont.load_default(size=_LINE - 4)
    width = int(max(font.getlength("M"), font.getlength("W"), 1) * 0.75)
    lines = text.split("\n")
    picture = Image.new("RGB", (width * (WIDTH + 9), _LINE * len(lines) + 8), "white")
    canvas = ImageDraw.Draw(picture)
    for row, line in enumerate(lines):
        for place, character in enumerate(line):  # fixed columns in any font
            colour = "green" if character == "+" else "black"
            canvas.text((4 + place * width, 4 + row * _LINE), character, font=font, fill=colour)
    return np.asarray(picture)
