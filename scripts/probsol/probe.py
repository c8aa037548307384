"""`gumption probsol probe`: a curious agent tries discs out, and its memory is kept."""

from pathlib import Path
from typing import Annotated

import typer

from gumption.data.settings import Count, Whole
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command(epilog="Example: gumption probsol probe --out memories/curious")
def probe(
    out: Annotated[Path, typer.Option(help="The folder of the memory; it is made.")],
    tasks: Annotated[Count, typer.Option(help="Generated discovery tasks, a table each.")] = 60,
    seed: Annotated[Whole, typer.Option(help="Draws tasks and meetings.")] = 0,
    laws: Annotated[str, typer.Option(help="real, counterfactual, inert or shuffled.")] = "real",
) -> None:
    """Put discs side by side at random, alone on the table, and keep what is seen.

    `gumption kg build probsol --memory FOLDER` makes a graph of it.
    """
    from gumption.agents.probsol.discovery import curious, find_tasks, live_through
    from gumption.data.settings import check
    from gumption.envs.probsol.memory import Memory
    from gumption.envs.probsol.tasks import Laws

    law = check("laws", laws, Laws)
    live_through(find_tasks("monopoles", tasks, 100_000 + seed * 1000), curious(seed), law, out)
    memory = Memory.load(out)
    print(f"{len(memory)} steps on {len(memory.tasks)} tables, kept in {out}")
