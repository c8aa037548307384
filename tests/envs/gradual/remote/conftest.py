"""What the tests of agents outside the process share: a small curriculum, and an environment that plays beside."""

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest

from gumption.data import InputError
from gumption.envs.gradual import Curriculum, Result, Solution, Task
from gumption.envs.gradual.remote import Host, RemoteSettings, play
from gumption.envs.gradual.settings import SessionSettings


def always(question: str) -> Any:
    def questions(_hidden: Any, _draw: Any) -> Iterator[str]:
        while True:
            yield question

    return questions


def nothing_hidden(_draw: Any) -> Iterator[dict[str, Any]]:
    while True:
        yield {}


COPY = Task(
    "copy", "say it again", nothing_hidden, always("é."),
    lambda question, _: Solution("é", right=("+;",), wrong=("-;",)), fixed_length=True,
)  # fmt: skip
YES = Task(
    "yes", "say yes.", nothing_hidden, always("?"),
    lambda question, _: Solution("yes.", right=("good.",), wrong=("bad.",)), cycle="mini",
)  # fmt: skip


class Environment:
    """A run in a thread.

    :ivar host: where it listens. :ivar results: of the runs so far. :ivar problems: of agents that did not play.
    :ivar told: of those that said nothing.
    """

    def __init__(self, runs: int, settings: dict[str, Any]) -> None:
        self.settings = RemoteSettings(**{"port": 0, "timeout": 10.0, **settings})
        self.host = Host(self.settings, keep=runs > 1)
        self.results: list[Result] = []
        self.problems: list[str] = []
        self.told: list[str] = []
        self._thread = Thread(target=self._run, args=(runs,), daemon=True)  # after a failed test it waits for ever
        self._thread.start()

    @property
    def port(self) -> int:
        assert self.host.place is not None
        return int(self.host.place.rpartition(":")[2])

    def _run(self, runs: int) -> None:
        with self.host:
            for _ in range(runs):
                try:
                    with self.host.agent(self.told.append) as wire:
                        self.results.append(play(self.settings, wire, lambda _: None))
                except InputError as problem:
                    self.problems.append(str(problem))

    def ended(self) -> "Environment":
        """The same after its last run."""
        self._thread.join(10)
        assert not self._thread.is_alive(), "the environment hangs"
        return self


@pytest.fixture
def environment() -> Callable[..., Environment]:
    """Starts an environment with such settings, which plays so many runs."""
    return lambda runs=1, **settings: Environment(runs, settings)


@pytest.fixture
def curriculum(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets what is played, in place of the tasks of the challenge: copy and yes, in some order."""

    def set_tasks(*names: str) -> None:
        tasks = tuple({"copy": COPY, "yes": YES}[name] for name in names)
        monkeypatch.setattr(SessionSettings, "curriculum", lambda _: Curriculum("small", tasks, 1))

    return set_tasks
