"""A training has the threads that pay: as many as there are idle cores, and goes on with those that it began with."""

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from gumption.agents import run
from gumption.agents.run import paying_threads
from gumption.agents.run_folder import RunFolder
from gumption.data import Note
from gumption.data.provenance import busy_cores, usable_cores
from gumption.data.sealed import write_sealed


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """A machine with four cores, of which so many are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    monkeypatch.setattr(run, "usable_cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield lambda busy: monkeypatch.setattr(run, "busy_cores", lambda: busy)
    torch.set_num_threads(before)


@pytest.mark.parametrize(("busy", "threads"), [(0.1, 4), (0.9, 3), (2.2, 2), (4.0, 1), (3.9, 1)])
def test_a_busy_core_is_left_to_others(machine: Callable[[float], None], busy: float, threads: int) -> None:
    machine(busy)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with paying_threads(None):
            assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 4
    lines = [str(one.message) for one in told if one.category is Note]
    said = f"training runs on {threads} of 4 threads: {busy:.1f} of 4 cores are busy (OMP_NUM_THREADS=4 takes 4)"
    assert lines == ([] if threads == 4 else [said])


def test_one_thread_stays_one_and_nothing_is_measured(machine: Callable[[float], None]) -> None:
    machine(float("nan"))
    torch.set_num_threads(1)
    with paying_threads(None):
        assert torch.get_num_threads() == 1


def test_a_number_that_was_asked_for_is_followed(
    machine: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(4.0)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    with paying_threads(None):
        assert torch.get_num_threads() == 4


def test_a_run_goes_on_with_the_threads_that_it_began_with(
    machine: Callable[[float], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(0.0)
    write_sealed(tmp_path / "manifest.json", {"threads": 2})
    folder = RunFolder(tmp_path, {})
    monkeypatch.setattr(RunFolder, "has_checkpoint", property(lambda self: True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with paying_threads(folder):
            assert torch.get_num_threads() == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how busy its cores are")
def test_work_of_another_process_makes_a_core_busy() -> None:
    working = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert 0.3 < busy_cores(0.5) <= usable_cores() + 0.1
    finally:
        working.kill()
        working.wait()
