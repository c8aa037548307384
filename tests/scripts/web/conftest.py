"""A server that many tests share."""

from collections.abc import Iterator

import pytest

from .homes import Served, served


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on this machine, for tests that leave it as it was."""
    with served(tmp_path_factory.mktemp("home")) as server:
        yield server
