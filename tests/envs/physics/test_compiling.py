"""That the physics is compiled is told once, and only when it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json
from gumption.envs.physics.simulator import Simulator

sim = Simulator({"sim": {"rules": ["move"]}, "entities": [{"id": "a", "type": "Ball"}]}, preset="compat")
sim.step()
print(json.dumps(sim.time.tolist()))
"""
OWN = """
from numba import njit
import gumption.envs.physics.contacts

njit(lambda x: x + 1)(1)
"""


@pytest.mark.slow
def test_the_line_is_told_once_and_not_when_numba_has_kept_the_code(tmp_path: Path) -> None:
    def ran(program: str) -> tuple[str, str]:
        command = [sys.executable, "-c", program]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=300)
        return done.stdout, done.stderr

    assert ran(PROGRAM) == ("[0.01]\n", "compiling the physics for the first use (about 15 s)\n")
    assert ran(PROGRAM) == ("[0.01]\n", "")
    assert ran(OWN) == ("", "")
