"""Steps as one HTML file: it needs no network, and runs nothing but the script that stands in it."""

import base64
import html
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from gumption.data import InputError
from gumption.data.writing import write_text

from .steps import Choice, Step

MOST = 24  # candidates of a choice
_TEMPLATE = Path(__file__).with_name("page.html")


def write_html(steps: Iterable[Step], path: str | Path, *, title: str, milliseconds: int = 2000) -> None:
    """Write steps as a page with buttons and keys to go through them.

    :param milliseconds: of a step while the page plays by itself.
    :raises InputError: no steps, or a file that cannot be written.
    """
    told = {"milliseconds": milliseconds, "steps": [step_to_json(step) for step in steps]}
    if not told["steps"]:
        raise InputError("there are no steps to show")
    # The text of a script ends at "</script>", and "<!--" changes how it is read: neither can stand in the data.
    data = json.dumps(told, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    page = _TEMPLATE.read_text(encoding="utf-8")
    head, foot = page.split("{{data}}")
    write_text(Path(path), head.replace("{{title}}", html.escape(title)) + data + foot)


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as the page's script reads it."""
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
        "left": max(0, len(choice.candidates) - MOST),
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
            for one, chosen in choice.likeliest(MOST)
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
