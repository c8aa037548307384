"""How a signal ends a command: by an exception, so that files, locks and workers are let go of, and in one line."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


class _Terminated(BaseException):
    """SIGTERM has come. No `except Exception` catches it."""


@contextmanager
def told_signals() -> Iterator[None]:
    """Within it Ctrl-C ends the program with exit code 130, and SIGTERM likewise with 143; each in a line on stderr."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except _Terminated:
        _end(signal.SIGTERM, "SIGTERM")
    except KeyboardInterrupt:
        _end(signal.SIGINT, "Ctrl-C")
    except SystemExit as ended:
        if ended.code == 128 + signal.SIGINT:  # which Typer makes of Ctrl-C
            _end(signal.SIGINT, "Ctrl-C")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
    multiprocessing = sys.modules.get("multiprocessing")  # what was not imported has no workers
    if multiprocessing is not None:  # Ctrl-C reaches them by itself; leaving their pool waits for them
        for worker in multiprocessing.active_children():
            worker.terminate()
    raise _Terminated


def _end(number: int, name: str) -> NoReturn:
    print(f"stopped by {name}: what was saved so far is whole", file=sys.stderr)
    sys.exit(128 + number)
