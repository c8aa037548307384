"""`gumption bench`: measure the speeds that gumption promises, beside a yardstick in the same run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: gumption bench env --recipe-book alchemy2.json --markdown bench.md")
def bench(
    name: Annotated[
        str | None, typer.Argument(help="env, train, complex, kg, halma or help; without it, all of them.")
    ] = None,
    recipe_book: Annotated[str, typer.Option(help="Name of a recipe book, or a file.")] = "commonsense",
    word_vectors: Annotated[str | None, typer.Option(help="File with word vectors, for the training case.")] = None,
    device: Annotated[str, typer.Option(help="Where training and ComplEx run: cpu or cuda.")] = "cpu",
    repeats: Annotated[int, typer.Option(min=1, help="How often each short timing is taken.")] = 5,
    total_steps: Annotated[int, typer.Option(min=1, help="Steps of the training case.")] = 3_000_000,
    wn18rr: Annotated[
        str | None, typer.Option(help="Folder with train.txt, valid.txt and test.txt, for the ranking of the case kg.")
    ] = None,
    triples: Annotated[int, typer.Option(min=100, help="Facts in each store of the case kg.")] = 500_000,
    halma_agent: Annotated[
        list[str] | None,
        typer.Option(help="HALMA: also time a whole training of this agent (minutes), alone; may be given again."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as Markdown.")] = None,
) -> None:
    """Measure speeds of the environment, training, link prediction, stores and the command line.

    Every figure stands beside a yardstick taken in the same run; compare machines by the ratio.
    """
    from importlib.metadata import version

    from rich.console import Console
    from rich.table import Table

    from gumption.data.provenance import command_line, hardware, versions
    from gumption.data.writing import write_json, write_text

    from .experiments.bench import CASES, find_cases
    from .experiments.measurement import BenchSettings, amount, markdown_tables, ratio, sections, verdict

    measured = {}
    with Console(stderr=True).status("measuring") as status:
        for case in find_cases(name):

            def tell(text: str, case: str = case) -> None:
                status.update(f"measuring {case}: {text}")

            status.update(f"measuring {case}")
            settings = BenchSettings(
                recipe_book,
                word_vectors,
                device,
                repeats,
                total_steps,
                wn18rr=wn18rr,
                triples=triples,
                halma_agents=tuple(halma_agent or ()),
                tell=tell,
            )
            measured[case] = list(CASES[case](settings))
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
        cases = {case: [one.as_json() for one in ones] for case, ones in measured.items()}
        write_json(out, {**header, "recipe_book": Path(recipe_book).name, "repeats": repeats, "cases": cases})
    if markdown is not None:
        machine = ", ".join(
            f"{key} {value}" for part in (header["hardware"], header["versions"]) for key, value in part.items()
        )
        lines = [*markdown_tables(everything), "", f"Command: `{header['command']}`", "", f"Measured on: {machine}"]
        write_text(markdown, "\n".join(lines) + "\n")
