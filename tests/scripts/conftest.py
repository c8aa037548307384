"""What the tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gumption import data


@pytest.fixture
def one_thread() -> Iterator[None]:
    """torch on one thread: on small work, with other tests on the processor, more are slower by far."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def small_book(tmp_path_factory) -> Path:
    """A recipe file with a few of the shipped book's recipes, on words that have vectors."""
    lines = data.path("commonsense").read_text(encoding="utf-8").splitlines()
    path = tmp_path_factory.mktemp("book") / "book.tsv"
    path.write_text("\n".join(lines[:150]) + "\n", encoding="utf-8")
    return path
