"""Studies for the tests: small, over in seconds."""

import copy
from typing import Any

from gumption.scripts.people.study.files import Study

SMALL: dict[str, Any] = {
    "schema": 1,
    "name": "small",
    "title": "A small study",
    "instructions": ["Choose two words that make the goal.", "Take your time."],
    "consent": {"text": "You play a few tasks.\n\nYou can stop at any time.", "contact": "lab@example.org"},
    "quiz": {
        "tries": 3,
        "questions": [
            {"kind": "choice", "name": "how_many", "text": "How many words?", "options": ["one", "two"], "right": "two"}
        ],
    },
    "conditions": [
        {"name": "distractors", "between": True, "levels": {"one": {"distractors": 1}, "three": {"distractors": 3}}}
    ],
    "practice": [
        {"name": "practice", "title": "Practice task", "world": "wordcraft", "settings": {"part": "train"}, "tasks": 1,
         "drawn": True},
    ],
    "blocks": [
        {"name": "training", "title": "Training task", "world": "wordcraft", "settings": {"part": "train"}, "tasks": 2,
         "drawn": True},
        {"name": "test", "title": "Test task", "introduction": "Now without answers.", "world": "wordcraft",
         "settings": {"part": "test"}, "tasks": 2, "drawn": True, "feedback": False},
    ],
    "questions": [
        {"kind": "scale", "name": "hard", "text": "How hard was it?", "low_label": "easy", "high_label": "hard"},
        {"kind": "text", "name": "how", "text": "How did you choose?", "required": False},
    ],
    "end": {"text": "Thank you!"},
}  # fmt: skip


def small(**changes: Any) -> dict[str, Any]:
    """The content of a small study, with other values at some places: blocks__0__feedback=False."""
    content = copy.deepcopy(SMALL)
    for path, value in changes.items():
        *way, last = [int(step) if step.isdigit() else step for step in path.split("__")]
        place: Any = content
        for step in way:
            place = place[step]
        place[last] = value
    return content


def study(**changes: Any) -> Study:
    """The small study, read."""
    return Study.model_validate(small(**changes))
