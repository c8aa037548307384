"""The config of a run in any world: what is out of range is refused."""

from typing import Any

import pytest

from gumption.agents.settings import WorldConfig
from gumption.data import InputError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total_steps": 0}, "total_steps is 0; it is a whole number, at least 1"),
        ({"eval_interval": -1}, "eval_interval is -1; it is a whole number, at least 1"),
        ({"eval_episodes": 2.5}, r"eval_episodes is 2\.5; it is a whole number, at least 1"),
        ({"seed": -1}, "seed is -1; it is a whole number, at least 0"),
        ({"mixing": "max"}, "mixing is 'max'; it is linear, softmax, product or MODULE:NAME of a subclass"),
        ({"agent": "graph"}, "acts by a graph alone: add kg"),
        ({"mixing": "softmax"}, "that is for knowledge"),
        ({"overrides": (("momentum", 0.9),)}, "has no .momentum.; it has baseline_cost, batch_size"),
        ({"overrides": (("optimiser", "sgd"),)}, "optimiser is 'sgd'; it can be rmsprop, adam"),
        ({"overrides": (("reduction", "max"),)}, "reduction is 'max'; it can be sum, mean"),
        ({"overrides": (("batch_size", 0),)}, "batch_size is 0; it is a whole number from 1 to 1,000,000"),
        ({"overrides": (("learning_rate", float("inf")),)}, "learning_rate is inf; it is a finite number, at least 0"),
        ({"overrides": (("learning_rate", "fast"),)}, "learning_rate is 'fast'; it is a number, at least 0"),
        ({"overrides": (("discount", 1.1),)}, r"discount is 1\.1; it is a number from 0 to 1"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WorldConfig("shelf", **changes)
