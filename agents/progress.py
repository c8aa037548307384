"""The progress bar of everything that trains."""

import sys
from types import TracebackType


class Bar:
    """A progress bar on stderr, where that is a terminal."""

    def __init__(self, total: int, title: str, visible: bool = True) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.percentage:>3.0f}%"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )
        shown = visible and sys.stderr.isatty()
        self._bar = Progress(*columns, console=Console(stderr=True), disable=not shown, transient=True)
        self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def show(self, completed: int, told: str) -> None:
        """How much is done, and a few words about it."""
        self._bar.update(self._task, completed=completed, description=told)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()
