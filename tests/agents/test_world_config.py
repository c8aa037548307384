"""The config of a run in any world: what is out of range is refused."""

from typing import Any

import pytest

from gumption.agents.settings import WorldConfig
from gumption.data import InputError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total_steps": 0}, "total_steps is 0; it is a whole number, at least 1"),
        ({"mixing": "max"}, "mixing is 'max'; it is linear, softmax, product or MODULE:NAME of a subclass"),
        ({"agent": "graph"}, "acts by a graph alone: add kg"),
        ({"mixing": "softmax"}, "that is for knowledge"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WorldConfig("shelf", **changes)
