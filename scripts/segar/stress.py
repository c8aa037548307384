"""`gumption segar stress`: millions of random pushes, with checks of what must always hold."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gumption.data.settings import Count, Seed
from gumption.scripts.apps import App

if TYPE_CHECKING:
    from .stress_cells import Cell, Found

app = App()

#: What a cell may take on the clock: this, and a second more for each so many steps.
SECONDS, SLOWEST = 60.0, 100


@app.command(epilog="Example: gumption segar stress --steps 100000 --out stress.json --markdown stress.md")
def stress(
    steps: Annotated[
        Count, typer.Option(help="Random steps, of five simulation steps each, in all cells.")
    ] = 10_000_000,
    seed: Annotated[Seed, typer.Option(help="Draws levels, scenes and pushes.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write what was found, cell by cell, as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as Markdown.")] = None,
) -> None:
    """Push at random on levels of all kinds, with tiny and with huge forces, and in scenes that are made to be hard.

    Checked: all numbers are finite, discs are inside the walls and out of one another, no speed is above MaxVelocity,
    and it ends in time. Exits with 1 where something of this fails.
    """
    import sys
    from dataclasses import asdict

    from gumption.data.progress import Bar
    from gumption.data.provenance import command_line, hardware, versions
    from gumption.data.writing import check_writable, write_json, write_text

    from .stress_cells import Cell, Found, cells

    for path in (out, markdown):
        if path is not None:
            check_writable(path)
    chosen, found = cells(), dict[Cell, Found]()
    share = -(-steps // len(chosen))
    with Bar(len(chosen), "cells") as bar, Worker() as worker:
        for done, cell in enumerate(chosen):
            bar.show(done, cell.name)
            found[cell] = worker.play(cell, share, seed, SECONDS + share / SLOWEST)
    rows = table(found)
    failures = [f"{cell.name}: {failure}" for cell, each in found.items() for failure in each.failures]
    made = {"command": command_line(sys.argv[1:]), "versions": versions(), "hardware": hardware()}
    for line in rows:
        print(line)
    if out is not None:
        figures = [{**asdict(cell), **asdict(each)} for cell, each in found.items()]
        write_json(out, {**made, "seed": seed, "cells": figures})
    if markdown is not None:
        told = ", ".join(f"{key} {value}" for part in ("hardware", "versions") for key, value in made[part].items())
        write_text(markdown, "\n".join([*rows, "", f"Command: `{made['command']}`", "", f"Measured on: {told}"]) + "\n")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


class Worker:
    """A process that plays cells, and is ended and replaced where a cell does not end."""

    def __enter__(self) -> Worker:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def play(self, cell: Cell, steps: int, seed: int, seconds: float) -> Found:
        """Play a cell; see `stress_cells.play`. That it does not end in time, or dies, is a failure."""
        from .stress_cells import Found, play

        try:
            return self._pool.submit(play, cell, steps, seed).result(timeout=seconds)
        except TimeoutError:
            # Compiled code does not listen to Python; the signal's default ends the process.
            os.kill(self._process, signal.SIGTERM)
            why = f"it did not end within {seconds:g} s"
        except BrokenProcessPool:
            why = "its process died"
        self._pool.shutdown(cancel_futures=True)
        self._start()
        return Found(failures=[why])

    def _start(self) -> None:
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        self._process = self._pool.submit(os.getpid).result()


def table(found: Mapping[Cell, Found]) -> list[str]:
    """Lines of a Markdown table with a row for each part, and one for all."""
    lines = [
        "| what | cells | steps | scenes checked | with an overlap | largest overlap | highest speed | failures |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for part in [*dict.fromkeys(cell.part for cell in found), "all"]:
        mine = [each for cell, each in found.items() if part in (cell.part, "all")]
        steps, checks, overlapping, failures = (
            sum(each) for each in zip(*((f.steps, f.checks, f.overlapping, len(f.failures)) for f in mine), strict=True)
        )
        overlap, speed = max(each.overlap for each in mine), max(each.speed for each in mine)
        counts = f"{len(mine)} | {steps:,} | {checks:,} | {overlapping / max(checks, 1):.2%}"
        lines.append(f"| {part} | {counts} | {overlap:.2%} | {speed:.3f} | {failures} |")
    return lines
