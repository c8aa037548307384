"""A training has the threads that its learner says, whatever the machine does besides, and goes on with them."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gumption.agents.run import paying_threads
from gumption.agents.run_folder import RunFolder
from gumption.data.sealed import write_sealed


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield
    torch.set_num_threads(before)


def threads_of(learner: int | None, folder: RunFolder | None = None) -> int:
    made: Any = SimpleNamespace(threads=learner)
    with paying_threads(made, folder):
        within = torch.get_num_threads()
    assert torch.get_num_threads() == 4
    return within


def test_the_learner_says_how_many_pay() -> None:
    assert threads_of(1) == 1
    assert threads_of(None) == 4


def test_a_number_that_was_asked_for_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert threads_of(1) == 4


def test_a_run_goes_on_with_the_threads_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sealed(tmp_path / "manifest.json", {"threads": 2})
    folder = RunFolder(tmp_path, {})
    monkeypatch.setattr(RunFolder, "has_checkpoint", property(lambda self: True))
    assert threads_of(1, folder) == threads_of(None, folder) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert threads_of(1, folder) == 2
