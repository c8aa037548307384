"""What is told on stderr: how far something that takes long is, and notes."""

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TextIO

from .errors import Note

LINES = 10  # where stderr is no terminal
SECONDS = 2.0  # between two of them, at least
NOTES = 10  # of one kind


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


def print_notes() -> Callable[[], None]:
    """From now on a warning that is a `Note` is one line on stderr, told once. All others keep Python's format.

    Ten notes of one kind are told: those of one class that the same line of code gives.

    :returns: tells how many more there were of each kind; to be called at the end.
    """
    others = warnings.showwarning
    kinds: defaultdict[tuple[type[Warning], str, int], list[str]] = defaultdict(list)
    known = set[str]()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, Note):
            others(message, category, filename, lineno, file, line)
        elif str(message) not in known:
            known.add(str(message))
            told = kinds[category, filename, lineno]
            told.append(str(message))
            if len(told) <= NOTES:
                print(f"note: {message}", file=file or sys.stderr)

    def finish() -> None:
        for told in kinds.values():
            if len(told) > NOTES:
                print(f"note: {len(told) - NOTES:,} more like this one: {told[NOTES - 1]}", file=sys.stderr)

    warnings.showwarning = show
    # Python would tell a warning once for each line that gives it; appended, so that `python -W` goes before it.
    warnings.simplefilter("always", Note, append=True)
    return finish
