"""The way of a fact from a recipe to the logits, as the page of the agents lists it."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gumption.agents import TrainConfig
from gumption.agents.wordcraft.setup import WordCraftSetup

REPOSITORY = Path(__file__).resolve().parents[3]
STEP = re.compile(r"^\| \d+ \| `([\w.]+)` \| `([\w./]+)` \|", re.MULTILINE)


def test_the_page_lists_the_functions_that_a_fact_passes_in_their_order(
    configure: Callable[..., TrainConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = STEP.findall((REPOSITORY / "agents" / "README.md").read_text(encoding="utf-8"))
    assert 5 < len(listed) <= 12
    steps = {(str(REPOSITORY / file), name): (name, file) for name, file in listed}
    passed: list[tuple[str, str]] = []

    def note(frame: Any, event: str, _: Any) -> None:
        step = steps.get((frame.f_code.co_filename, frame.f_code.co_qualname))
        if event == "return" and step is not None and step not in passed:
            passed.append(step)

    monkeypatch.setenv("GUMPTION_CACHE_DIR", str(tmp_path))  # where no predictor is yet
    sys.setprofile(note)
    try:
        setup = WordCraftSetup(configure(kg="train", kg_scores=("makes",)))
        setup.env.reset(seed=0)
        policy = setup.policy()
        policy(policy.read(setup.env))
    finally:
        sys.setprofile(None)
    assert passed == listed
