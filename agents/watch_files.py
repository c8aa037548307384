"""Steps of an episode in a file: an animated GIF, or one HTML page that needs no network."""

from __future__ import annotations

import base64
import html
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gumption.data import InputError
from gumption.data.writing import write_text
from gumption.envs.gif import save_gif

from .watch import Candidate, Choice, Step

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

MOST, MOST_OF_PAGE = 5, 24  # candidates of a choice
PANEL, MARGIN, ROW, HEAD, TOP, FOOT = 560, 24, 62, 40, 56, 60  # pixels
SMALLEST = 480  # lower pictures are enlarged
INK, PAPER, QUIET, FAINT = (33, 37, 41), (255, 255, 255), (112, 118, 122), (226, 228, 226)
BAR, CHOSEN, WON, LOST = (164, 186, 218), (40, 98, 180), (46, 124, 70), (176, 66, 58)


def write_gif(steps: Iterable[Step], path: str | Path, *, milliseconds: int = 2000) -> None:
    """Write steps as a GIF: a frame each, all of one size; it stays longer on the end of an episode.

    :raises InputError: no steps, steps without pictures, or a file that cannot be written.
    """
    from PIL import Image as images

    steps = list(steps)
    if not steps:
        raise InputError("there are no steps to show")
    pictures = [_enlarged(step) for step in steps]
    choices = max(steps, key=lambda step: sum(map(_height, step.choices))).choices
    size = (
        max(picture.width for picture in pictures) + PANEL,
        max(*(picture.height for picture in pictures), TOP + sum(map(_height, choices)) + FOOT),
    )
    frames: list[Image] = []
    for step, picture in zip(steps, pictures, strict=True):
        frame = images.new("RGB", size, PAPER)
        frame.paste(picture, (0, (size[1] - picture.height) // 2))
        _draw_panel(frame, size[0] - PANEL, step)
        frames.append(frame.quantize(256, dither=images.Dither.NONE))
    durations = [milliseconds if step.choices else 2 * milliseconds for step in steps]
    save_gif(path, frames, durations, optimize=False)  # each step has its frame


def _enlarged(step: Step) -> Image:
    from PIL import Image as images

    if step.picture is None:
        raise InputError("these steps have no pictures: play them with pictures=True")
    picture = images.fromarray(step.picture)
    factor = -(-SMALLEST // picture.height)
    return picture.resize((factor * picture.width, factor * picture.height), images.Resampling.NEAREST)


def _height(choice: Choice) -> int:
    return HEAD + min(MOST, len(choice.candidates)) * ROW


def _draw_panel(frame: Image, left: int, step: Step) -> None:
    from PIL import ImageDraw

    draw = ImageDraw.Draw(frame)
    x, right, y = left + MARGIN, frame.width - MARGIN, TOP
    end = "" if step.choices else ", the end"
    _write(draw, f"episode {step.episode}, step {step.number}{end}", x, TOP / 2, 20, QUIET, right - x)
    for choice in step.choices:
        _write(draw, f"{choice.question}?", x, y + HEAD / 2, 24, INK, (right - x) / (2 if choice.weights else 1))
        y += HEAD
        if choice.weights:
            weights = ", ".join(f"{name} {value:.2f}" for name, value in choice.weights.items())
            _write(draw, f"lambda: {weights}", (x + right) / 2, y - HEAD / 2, 14, QUIET, (right - x) / 2)
        for one, chosen in choice.likeliest(MOST):
            _draw_candidate(draw, one, chosen, x, right, y, choice.own)
            y += ROW
    if not step.choices:
        told = "success" if step.success else "no success"
        _write(draw, told, x, frame.height / 2 - 24, 44, WON if step.success else LOST, right - x)
        _write(draw, f"reward of the episode {step.reward:g}", x, frame.height / 2 + 24, 22, INK, right - x)
    else:
        ink = WON if step.success else LOST if step.reward < 0 else INK
        _write(draw, step.told, x, frame.height - FOOT / 2, 24, ink, right - x)


def _draw_candidate(
    draw: ImageDraw, one: Candidate, chosen: bool, left: float, right: float, top: float, own: str
) -> None:
    """The name and the scores, and below them a bar as long as the candidate is likely."""
    figures = [] if one.own is None else [f"{own} {one.own:.2f}"]
    figures += [f"KG {score.relation} {score.value:.2f}" for score in one.scores]
    half = 0.36 * (right - left)
    ink = CHOSEN if chosen else INK
    _write(draw, one.label, left, top + 16, 22, ink, half)
    _write(draw, ", ".join(figures), left + half + 10, top + 17, 16, QUIET, right - left - half - 10)
    bar = (left, top + 33, right - 74, top + 49)
    draw.rounded_rectangle(bar, 4, fill=FAINT)
    if one.probability > 0.004:
        long = (bar[2] - bar[0]) * min(one.probability, 1)
        draw.rounded_rectangle((left, bar[1], left + max(4, long), bar[3]), 4, fill=CHOSEN if chosen else BAR)
    _write(draw, f"{one.probability:.1%}", right - 66, top + 41, 18, ink, 66)


def _write(draw: ImageDraw, text: str, x: float, y: float, size: int, fill: tuple[int, int, int], width: float) -> None:
    """A line whose middle is at y; it shrinks, then is cut, to fit the width."""
    from PIL import ImageFont

    font = ImageFont.load_default(size=size)
    while text and draw.textlength(text, font=font) > width:
        if size > 11:
            size -= 1
            font = ImageFont.load_default(size=size)
        else:
            text = text[:-2] + "…" if len(text) > 2 else ""
    draw.text((x, y), text, font=font, fill=fill, anchor="lm")


def write_html(steps: Iterable[Step], path: str | Path, *, title: str, milliseconds: int = 2000) -> None:
    """Write steps as a page with buttons and keys to go through them.

    :param milliseconds: of a step while the page plays by itself.
    :raises InputError: no steps, or a file that cannot be written.
    """
    told = {"milliseconds": milliseconds, "steps": [_step_to_json(step) for step in steps]}
    if not told["steps"]:
        raise InputError("there are no steps to show")
    # The text of a script ends at "</script>", and "<!--" changes how it is read: neither can stand in the data.
    data = json.dumps(told, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    page = Path(__file__).with_name("watch.html").read_text(encoding="utf-8")
    head, foot = page.split("{{data}}")
    write_text(Path(path), head.replace("{{title}}", html.escape(title)) + data + foot)


def _step_to_json(step: Step) -> dict[str, Any]:
    return {
        "episode": step.episode,
        "number": step.number,
        "text": step.text,
        "picture": None if step.picture is None else _png(step.picture),
        "choices": [_choice_to_json(choice) for choice in step.choices],
        "told": step.told,
        "reward": step.reward,
        "success": step.success,
    }


def _choice_to_json(choice: Choice) -> dict[str, Any]:
    return {
        "question": choice.question,
        "own": choice.own,
        "relations": choice.relations,
        "weights": {name: _figure(value) for name, value in choice.weights.items()},
        "left": max(0, len(choice.candidates) - MOST_OF_PAGE),
        "candidates": [
            {
                "label": one.label,
                "chosen": chosen,
                "own": _figure(one.own),
                "scores": {score.relation: _figure(score.value) for score in one.scores},
                "facts": [fact for score in one.scores for fact in score.facts],
                "logit": _figure(one.logit),
                "probability": one.probability,
            }
            for one, chosen in choice.likeliest(MOST_OF_PAGE)
        ],
    }


def _figure(value: float | None) -> float | str | None:
    """A number that JSON can hold; infinity as a word."""
    return value if value is None or math.isfinite(value) else str(value)


def _png(picture: np.ndarray) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
