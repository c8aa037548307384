"""One line on stderr when the physics is compiled, which takes a while at the first use and is kept for later ones."""

import sys
from typing import Any

from numba.core import event

MESSAGE = "compiling the physics for the first use (about 15 s)"


class _Teller(event.Listener):
    """Is told when a function is compiled from its source, and not when it is read from numba's cache."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        """Tell the first compilation of the physics; a person's own functions are theirs."""
        module = event.data["dispatcher"].py_func.__module__ or ""
        if not self._told and module.startswith(f"{__package__}."):
            self._told = True
            print(MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing is told."""


event.register("numba:compile", _Teller())
