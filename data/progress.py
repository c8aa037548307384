"""Print progress and notes to stderr."""

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TextIO

from .errors import Note

LINES = 10  # lines of a whole job, if stderr is no terminal
SECONDS = 2.0  # least time between two lines
NOTES = 10  # printed notes of one kind


class Bar:
    """A progress bar on a terminal; elsewhere a line at about each tenth of the work, none in the first two seconds.

    :cvar open: number of open bars. While a bar is open, new ones stay hidden; a process of a pool counts its parent's.
    """

    open = 0

    def __init__(self, total: int, title: str, visible: bool = True) -> None:
        self.total, self.title, self.visible = total, title, (visible := visible and not Bar.open)
        self._bar = None
        self._started = self._printed_at = monotonic()
        self._tenth: int | None = None  # the last one printed
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
        Bar.open += 1
        if self._bar is not None:
            self._bar.start()
        return self

    def show(self, completed: int, words: str = "") -> None:
        """Show the amount of completed work, and a few words about it."""
        if self._bar is not None:
            self._bar.update(self._task, completed=completed, description=words or self.title)
            return
        now, tenth = monotonic(), LINES * completed // max(self.total, 1)
        if self.visible and now - self._printed_at >= SECONDS and tenth != self._tenth:
            self._printed_at, self._tenth = now, tenth
            parts = [f"{self.title}: {completed} of {self.total}", words, f"{now - self._started:.0f} s"]
            print(", ".join(filter(None, parts)), file=sys.stderr, flush=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        Bar.open -= 1
        if self._bar is not None:
            self._bar.stop()


def print_notes() -> Callable[[], None]:
    """Print each `Note` once from now on, as one line on stderr; other warnings keep Python's format.

    At most ten notes of one kind (class of notes and line of code) are printed.

    :returns: a function to call at the end, which prints the number of further notes of each kind.
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
            notes = kinds[category, filename, lineno]
            notes.append(str(message))
            if len(notes) <= NOTES:
                print(f"note: {message}", file=file or sys.stderr)

    def finish() -> None:
        for notes in kinds.values():
            if len(notes) > NOTES:
                print(f"note: {len(notes) - NOTES:,} more like this one: {notes[NOTES - 1]}", file=sys.stderr)

    warnings.showwarning = show
    # By default Python shows a warning once per line of code. Appended, so that `python -W` has precedence.
    warnings.simplefilter("always", Note, append=True)
    return finish
