"""Training that was stopped goes on to the same bits, and several processes find what one finds."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gumption.data import InputError
from gumption.kg import ComplEx, evaluate_ranking
from gumption.kg.checkpoint import has_checkpoint, load_checkpoint, save_checkpoint
from gumption.kg.links.complex import STATE
from gumption.kg.vocabulary import Triple

SETTINGS: dict[str, Any] = {"rank": 16, "batch_size": 32, "relation_weight": 0.1, "device": "cpu"}


def facts(count: int = 400) -> list[Triple]:
    """Pairs of 40 numbers and their difference, modulo 40: what a rotation can learn."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(40, size=(count, 2)).tolist()
    return [(f"n{a}", f"plus{(b - a) % 40 % 4}", f"n{b}") for a, b in pairs]


VALID = facts(500)[400:]

# Trains and, each time a state has been written, says so; a hundred years are enough to be killed in.
ENDLESS = """
import sys, torch
from gumption.kg import ComplEx
from tests_facts import SETTINGS, VALID, facts
torch.set_num_threads(1)
ComplEx.fit(facts(), epochs=10**9, valid=VALID, valid_every=4, checkpoint=sys.argv[1], checkpoint_seconds=0, **SETTINGS)
"""


def same_bits(one: ComplEx, other: ComplEx) -> bool:
    return torch.equal(one.entity, other.entity) and torch.equal(one.relation, other.relation)


def runs(folder: Path, script: str) -> dict[str, str]:
    """Environment in which `script` finds what this module defines as tests_facts."""
    (folder / "tests_facts.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "script.py").write_text(script, encoding="utf-8")
    places = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(places)}


def wait_for(what: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert process.poll() is None, "the training ended by itself"
        assert time.monotonic() < deadline, "no state was written in a minute"
        time.sleep(0.01)


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    state = tmp_path / "state"
    process = subprocess.Popen([sys.executable, tmp_path / "script.py", state], env=runs(tmp_path, ENDLESS))
    try:
        wait_for(lambda: has_checkpoint(state) and load_checkpoint(state, STATE)[1]["epoch"] >= 3, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    reached = load_checkpoint(state, STATE)[1]["epoch"]
    assert reached >= 3
    settings: dict[str, Any] = {**SETTINGS, "epochs": reached + 10, "valid": VALID, "valid_every": 4}
    resumed = ComplEx.fit(facts(), checkpoint=state, **settings)
    at_once = ComplEx.fit(facts(), **settings)
    assert same_bits(resumed, at_once)
    assert resumed.origin == at_once.origin
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [".state.lock"]


def test_every_state_leads_to_the_same_end(tmp_path: Path) -> None:
    at_once = ComplEx.fit(facts(), epochs=9, **SETTINGS)
    for stop in (1, 4, 8, 9):
        ComplEx.fit(facts(), epochs=stop, checkpoint=tmp_path / str(stop), **SETTINGS)
        assert same_bits(ComplEx.fit(facts(), epochs=9, checkpoint=tmp_path / str(stop), **SETTINGS), at_once)


def test_a_finished_training_is_read_and_not_repeated(tmp_path: Path) -> None:
    settings: dict[str, Any] = {**SETTINGS, "epochs": 30, "valid": VALID, "valid_every": 2, "patience": 2}
    first = ComplEx.fit(facts(), checkpoint=tmp_path / "state", **settings)
    assert len(first.origin["history"]) < 30, "a test with nothing to stop"
    written = (tmp_path / "state" / "checkpoint.json").stat().st_mtime_ns
    assert same_bits(ComplEx.fit(facts(), checkpoint=tmp_path / "state", **settings), first)
    assert (tmp_path / "state" / "checkpoint.json").stat().st_mtime_ns == written


def test_a_state_of_something_else_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    ComplEx.fit(facts(), epochs=1, checkpoint=state, **SETTINGS)
    before = (state / "checkpoint.json").read_bytes()
    with pytest.raises(InputError, match="state is the state of training on other facts"):
        ComplEx.fit(facts()[1:], epochs=2, checkpoint=state, **SETTINGS)
    with pytest.raises(InputError, match=r"with other settings: rank 16 there, 8 here, seed 0 there, 1 here"):
        ComplEx.fit(facts(), epochs=2, checkpoint=state, **{**SETTINGS, "rank": 8, "seed": 1})
    with pytest.raises(InputError, match=r"with other settings: valid None there, '[0-9a-f]{64}' here"):
        ComplEx.fit(facts(), epochs=2, checkpoint=state, valid=VALID, **SETTINGS)
    with pytest.raises(InputError, match="`known` is left out when `valid` is ranked: give `valid`, too"):
        ComplEx.fit(facts(), epochs=2, known=VALID, **SETTINGS)
    assert (state / "checkpoint.json").read_bytes() == before
    tensors, meta = load_checkpoint(state, STATE)
    tensors["sum.entity"][0, 0] = torch.nan
    with pytest.raises(InputError, match=r"sum\.entity holds NaN"):
        save_checkpoint(state, tensors, meta)
    ComplEx.fit(facts(), epochs=1, **SETTINGS).save(tmp_path / "model")
    with pytest.raises(InputError, match="expected 'gumption/complex-training/1'"):
        ComplEx.fit(facts(), epochs=2, checkpoint=tmp_path / "model", **SETTINGS)


# ---- several processes

SHARED = """
import json, sys, torch
from torch import distributed
from gumption.kg import ComplEx
from gumption.kg.links import training
from tests_facts import SETTINGS, VALID, facts
torch.set_num_threads(1)
training.LOGITS_BYTES = 1 << 9  # a batch in several parts
distributed.init_process_group("gloo")
for reciprocal in (True, False):
    state = f"{sys.argv[1]}/{reciprocal}"
    settings = dict(SETTINGS, valid=VALID, valid_every=3, reciprocal=reciprocal, checkpoint=state)
    ComplEx.fit(facts(), epochs=3, **settings)
    model = ComplEx.fit(facts(), epochs=6, **settings)
    model.save(f"{state}{distributed.get_rank()}")
distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_give_the_model_of_one(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, tmp_path / "script.py", tmp_path],
        env=runs(tmp_path, SHARED), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for reciprocal in (True, False):
        alone = ComplEx.fit(facts(), epochs=6, valid=VALID, valid_every=3, reciprocal=reciprocal, **SETTINGS)
        both = [ComplEx.load(tmp_path / f"{reciprocal}{number}", device="cpu") for number in (0, 1)]
        assert same_bits(*both)
        torch.testing.assert_close(both[0].entity, alone.entity, rtol=0, atol=2e-3)
        mrr = [evaluate_ranking(model, VALID, known=[facts(), VALID])["mrr"] for model in (both[0], alone)]
        assert mrr[0] == pytest.approx(mrr[1], abs=1e-3)
        state = json.loads((tmp_path / str(reciprocal) / "checkpoint.json").read_text(encoding="utf-8"))
        assert state["epoch"] == 6
