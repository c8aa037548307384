"""`gumption bench`: measure the speeds that gumption promises, beside a yardstick in the same run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gumption.data.settings import Count
from gumption.scripts.apps import App

from .bench_cases import all_cases, find_cases
from .measurement import BenchSettings, Case
from .own_options import own_options, with_options

app = App(add_completion=False)


def _options() -> dict[str, type[Any]]:
    """The options of the cases, by the heading that the help shows above them."""
    return {case.title: case.settings for case in all_cases().values()}


def bench(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help=f"A case ({', '.join(all_cases())}) or a world; without it, all of them."),
    ] = None,
    device: Annotated[str, typer.Option(help="Where training and ComplEx run: cpu or cuda.")] = "cpu",
    repeats: Annotated[Count, typer.Option(help="How often each short timing is taken.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as Markdown.")] = None,
    **given: Any,
) -> None:
    """Measure speeds of the worlds, of training, link prediction, stores and the command line.

    Every figure stands beside a yardstick taken in the same run; compare machines by the ratio.
    """
    from importlib.metadata import version

    from rich.console import Console
    from rich.table import Table

    from gumption.data.provenance import command_line, hardware, versions
    from gumption.data.writing import check_writable, write_json, write_text

    from .measurement import amount, markdown_tables, ratio, sections, verdict

    for written in (out, markdown):
        if written is not None:
            check_writable(written)
    cases = find_cases(name)
    titles = {case.title for case in cases.values()}
    options = own_options(context, given, _options(), titles, name or "the whole bench")
    measured = {}
    with Console(stderr=True).status("measuring") as status:

        def settings_of(name: str, case: Case) -> BenchSettings:
            def tell(text: str) -> None:
                status.update(f"measuring {name}: {text}")

            return case.settings(device=device, repeats=repeats, tell=tell, **options[case.title])

        settings = {each: settings_of(each, case) for each, case in cases.items()}
        alone = [each for each in settings if settings[each].alone]
        for each in alone or cases:
            status.update(f"measuring {each}")
            measured[each] = list(cases[each].measure(settings[each]))
    everything = [one for case in measured.values() for one in case]
    console = Console()
    for heading, group in sections(everything):
        table = Table("what", "median", "yardstick", "ratio", "target", "met", title=heading or None)
        for one in group:
            yardstick = f"{one.yardstick}: {amount(one.yardstick_median, one.unit)}"
            table.add_row(one.what, amount(one.median, one.unit), yardstick, ratio(one), one.target, verdict(one))
        console.print(table)

    peers = {package: version(package) for package in ("pykeen", "rdflib", "pyoxigraph")}
    header = {
        "command": command_line(sys.argv[1:]),
        "versions": {**versions(), **peers},
        "hardware": hardware(device),
    }
    if out is not None:
        figures = {case: [one.as_json() for one in ones] for case, ones in measured.items()}
        used = {key: _portable(value) for each in options.values() for key, value in each.items()}
        write_json(out, {**header, **used, "repeats": repeats, "cases": figures})
    if markdown is not None:
        machine = ", ".join(
            f"{key} {value}" for part in (header["hardware"], header["versions"]) for key, value in part.items()
        )
        lines = [*markdown_tables(everything), "", f"Command: `{header['command']}`", "", f"Measured on: {machine}"]
        write_text(markdown, "\n".join(lines) + "\n")


def _portable(value: Any) -> Any:
    """An option without the folders of this machine."""
    return Path(value).name if isinstance(value, str) else value


app.command(epilog="Example: gumption bench env --recipe-book alchemy2.json --markdown bench.md")(
    with_options(bench, _options())
)
