"""A server that many tests share."""

from collections.abc import Iterator

import pytest

from tests.scripts.people.web.homes import Served, served


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on this machine, for tests that leave it as it was."""
    with served(tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture(scope="package")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that waits for half a second only, lets one tab be open, has two more names, and lists runs."""
    runs = tmp_path_factory.mktemp("runs")
    for name, config in {
        "a": '{"world": "wordcraft"}', "deep/b": '{"world": "halma"}', "c": "no JSON", "d": '{"world": "chess"}',
        "e": "[]",
    }.items():  # fmt: skip
        (runs / name).mkdir(parents=True)
        (runs / name / "config.json").write_text(config)
    (runs / "a" / "final.json").write_text("{}")
    constants = {"security.FIRST_REQUEST": 0.5, "server.FIRST_MESSAGE": 0.5, "server.SOCKETS": 1}
    options = ("--runs", str(runs), "--name", "lab.example", "--name", "www.lab.example")
    with served(tmp_path_factory.mktemp("home"), *options, constants=constants) as server:
        yield server
