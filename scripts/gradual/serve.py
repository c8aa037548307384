"""`gumption serve gradual`: a session with an agent that connects, or that is started here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gumption.data import InputError
from gumption.envs.gradual.remote import Host, RemoteSettings
from gumption.scripts.apps import App, from_config

if TYPE_CHECKING:
    from gumption.envs.gradual.remote import Wire
    from gumption.envs.gradual.session import Result

app = App(add_completion=False)


@app.command("gradual", epilog="Example: gumption serve gradual --tasks micro1,micro2 --out me.json")
@from_config(RemoteSettings, flags={"success_threshold": "threshold"})
def serve(*, config: RemoteSettings, out: Path = Path("gradual.json"), keep: bool = False) -> None:
    """Play with an agent that is a program of its own: it gets a reward and a byte at each step and sends a byte.

    The record is kept up to date while the run plays, and says how it ended, whatever the agent did.

    :param out: The run's record; a name that is taken gets a number.
    :param keep: After a run wait for the next agent, until Ctrl-C.
    """
    from gumption.data.writing import check_writable

    check_writable(out)
    config.curriculum()
    with Host(config, keep=keep) as host:
        if config.command is None:
            print(f"an agent can connect to {host.place} ({config.transport}); Ctrl-C ends it", flush=True)
        while True:
            try:
                with host.agent(_tell) as wire:
                    _play(config, wire, out)
            except InputError as problem:
                if not keep:
                    raise
                _tell(str(problem))
            if not keep:
                break


def _play(config: RemoteSettings, wire: Wire, out: Path) -> None:
    """One run.

    :raises InputError: the agent failed.
    """
    from gumption.data.progress import Bar
    from gumption.envs.gradual.remote import play

    from .results import Record, print_result

    record, count = Record(out, config), len(config.curriculum().tasks)
    with Bar(count, "tasks") as bar:

        def report(result: Result) -> None:
            bar.show(sum(task.passed for task in result.tasks), f"{result.tasks[-1].task}, {result.steps:,} steps")
            record.update(result)

        result = play(config, wire, report)
    print_result(result, f"; the record is {record.path}")
    if result.error is not None:
        where = f"at step {result.steps:,}, in {result.tasks[-1].task}"
        raise InputError(f"{result.error} ({where}); {record.path} is the record of the run")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
