"""What commands tell people beside their answer: a line `note: ...` on stderr."""

import sys
import warnings
from typing import TextIO

from gumption.data import Note


def print_notes() -> None:
    """From now on a warning that is a `Note` is one line on stderr, told once. All others keep Python's format."""
    others, told = warnings.showwarning, set[str]()

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
        elif str(message) not in told:
            told.add(str(message))
            print(f"note: {message}", file=file or sys.stderr)

    warnings.showwarning = show
    # Python would tell a warning once for each line that gives it; appended, so that `python -W` goes before it.
    warnings.simplefilter("always", Note, append=True)
