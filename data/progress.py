"""How far something that takes long is, told on stderr."""

import sys
from time import monotonic
from types import TracebackType

LINES = 10  # where stderr is no terminal
SECONDS = 2.0  # between two of them, at least


class Bar:
    """A progress bar where stderr is a terminal; elsewhere a line at about each tenth of the work, which a log keeps.

    Work that takes less than two seconds has no lines.
    """

    def __init__(self, total: int, title: str, visible: bool = True) -> None:
        self.total, self.title, self.visible = total, title, visible
        self._bar = None
        self._started = self._told_at = monotonic()
        self._tenth: int | None = None  # that which was told last
        if visible and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.percentage:>3.0f}%"),
                BarColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(title, total=total)

    def __enter__(self) -> "Bar":
        if self._bar is not None:
            self._bar.start()
        return self

    def show(self, completed: int, told: str = "") -> None:
        """How much is done, and a few words about it."""
        if self._bar is not None:
            self._bar.update(self._task, completed=completed, description=told or self.title)
        elif self.visible:
            self._tell(completed, told)

    def _tell(self, completed: int, told: str) -> None:
        now, tenth = monotonic(), LINES * completed // max(self.total, 1)
        if now - self._told_at < SECONDS or tenth == self._tenth:
            return
        self._told_at, self._tenth = now, tenth
        parts = [f"{self.title}: {completed} of {self.total}", *filter(None, [told]), f"{now - self._started:.0f} s"]
        print(", ".join(parts), file=sys.stderr, flush=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
