"""Configs of SEGAR's learners that train in a second."""

from typing import Any

import pytest

from gumption.agents.segar.config import SegarConfig

PPO: dict[str, Any] = {
    "observation": "state",
    "num_levels": 3,
    "test_levels": 4,
    "num_envs": 4,
    "n_steps": 8,
    "minibatches": 2,
    "total_steps": 128,
    "eval_interval": 64,
    "device": "cpu",
}


@pytest.fixture
def config():
    """Makes a config; the arguments replace settings of a small one."""
    return lambda **settings: SegarConfig(**{**PPO, **settings})
